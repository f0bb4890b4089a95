"""PySpark's classes as a script sees them: each call that needs data gets an answer without data."""
