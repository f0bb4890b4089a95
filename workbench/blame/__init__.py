"""Which run made each version of a table, and each of its rows."""
