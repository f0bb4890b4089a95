"""Between the listener and a transport: order, retries, time limits, counts."""
