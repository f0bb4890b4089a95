"""The tables of the store, as data, and what holds their rows together."""
