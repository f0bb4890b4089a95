"""Lineage from the text of a statement that Spark can't analyze."""
