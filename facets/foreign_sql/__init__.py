"""Reads queries in the SQL of other databases: their tables, and where each of their columns comes from."""
