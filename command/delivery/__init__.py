"""The commands that deliver events, and those that look after the spool."""
