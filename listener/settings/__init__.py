"""What the configuration says; `keys` declares each key once."""
