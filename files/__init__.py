"""The lineage of files of SQL, which are not run."""
