"""The command line, a module per command: `doctor`, `show`, `validate`, `send`, `replay`, `spool ls` and `spool rm`."""
