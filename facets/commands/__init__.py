"""The rules of commands: what each command writes."""
