"""The tables of the store, as data, and how their rows are identified."""
