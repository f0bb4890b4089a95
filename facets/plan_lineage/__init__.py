"""The lineage of a plan: its inputs, its outputs, and the edges between their columns."""
