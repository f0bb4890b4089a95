"""Spark's results for statements, kept for the next time: on what each depends, and when it still holds."""
