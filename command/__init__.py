"""The command line, a module per command: `openlineage-pyspark doctor`, `replay`, `spool ls`, `validate` and `show`."""
