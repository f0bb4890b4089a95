"""The commands that read files of events."""
