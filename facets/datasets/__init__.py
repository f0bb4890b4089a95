"""The datasets that each source reads, and their names."""
