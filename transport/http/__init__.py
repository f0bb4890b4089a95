"""Events to an HTTP endpoint."""
