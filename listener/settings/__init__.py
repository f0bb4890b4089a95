"""What the configuration says. `keys` has each key once."""
