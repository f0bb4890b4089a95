"""How a recovery plan is made: what is repeated, in which order, and by which steps. Pure."""
