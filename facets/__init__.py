"""Translate plans and runs to OpenLineage: pure, without Spark, JVM or network."""
