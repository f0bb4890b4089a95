"""Lineage from the text of a statement, where Spark can't analyze it."""
