"""The lineage graph as pictures and tables that need no browser."""
