"""The commands that deliver events, and those that maintain the spool."""
