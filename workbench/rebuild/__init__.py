"""What a change of files makes necessary: which tables must be made again, and which are proved to stay as they are."""
