"""Spark's results for statements, cached for later runs: what each depends on, and when it is still valid."""
