"""How events get into a store: they are read from files, parsed, and turned into rows."""
