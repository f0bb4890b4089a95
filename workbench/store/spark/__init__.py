"""The store in tables of a catalog, through Spark."""
