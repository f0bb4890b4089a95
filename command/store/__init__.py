"""The commands that fill, query and keep a lineage store."""
