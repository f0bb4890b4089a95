"""The commands that fill, ask and keep a lineage store."""
