"""From a plan's operators and expressions to the edges between columns."""
