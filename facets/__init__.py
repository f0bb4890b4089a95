"""What plans and runs mean in OpenLineage's words: pure, without Spark, JVM or network."""
