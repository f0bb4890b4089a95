"""Read OpenLineage events of any producer."""
