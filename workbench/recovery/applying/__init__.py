"""How a recovery plan is applied: it is checked, its statements run, and a journal records each step."""
