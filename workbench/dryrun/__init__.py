"""The lineage of a PySpark script before it really runs: a separate process runs it without its data."""
