"""The lineage of a PySpark script before it runs: the script runs in a process of its own, and its data do not."""
