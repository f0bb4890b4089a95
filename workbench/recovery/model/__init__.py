"""What a recovery is about, as values: facts, the plan, and its statements. Pure."""
