"""The lineage of queries and SQL files, which are not run."""
