"""Proves what the workbench answers by execution: random work in a real Spark, with no expectation by hand."""
