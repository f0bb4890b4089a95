"""The tables and functions that statements may name: what Spark is given of them before it analyzes a statement."""
