"""A Spark without rows: the session of a script, its replaced readers and writers, and frames of unknown columns."""
