"""The commands: what each of them writes."""
