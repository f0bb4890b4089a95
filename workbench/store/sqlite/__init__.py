"""The store in one SQLite file: the file, its tables, the texts of events in it, and whether it is damaged."""
