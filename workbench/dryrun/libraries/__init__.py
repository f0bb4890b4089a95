"""Libraries on top of PySpark: Databricks, AWS Glue, Delta Lake, and declarative pipelines."""
