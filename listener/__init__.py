"""The Spark side: the probe, the one edge to the JVM, the assembly of runs, registration and settings."""
