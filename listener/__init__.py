"""The Spark side: the probe, the one boundary to the JVM, the assembly of runs, registration and settings."""
