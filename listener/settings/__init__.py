"""Reads the configuration; `keys` declares each key once."""
