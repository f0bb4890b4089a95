"""Frozen values and nothing else: plans, datasets, lineage, runs."""
