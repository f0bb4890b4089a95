"""The SQL of files as text: split into statements, with variables replaced, and rewritten for Spark."""
