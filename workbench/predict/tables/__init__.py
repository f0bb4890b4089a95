"""The tables and functions that statements may name, as they are declared to Spark before an analysis."""
