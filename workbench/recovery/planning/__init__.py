"""How a plan of recovery is made: what is decided, in which order, and how it is put into steps. Pure."""
