"""The command `doctor`, and what it checks."""
