"""The rebuild plan of a change: which tables must be rebuilt, and which are proven unchanged."""
