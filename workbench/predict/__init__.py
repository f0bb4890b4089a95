"""The lineage of queries and of files of SQL, which are not run."""
