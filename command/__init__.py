"""The command line, one module a command: `openlineage-pyspark doctor`, `replay`, `spool ls`, `validate` and `show`."""
