"""What each command writes."""
