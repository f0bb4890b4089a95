"""Events on their way into a store: read from files, taken apart, and made rows."""
