"""Recovery: what must be done again, in which order, after a dataset got a wrong version."""
