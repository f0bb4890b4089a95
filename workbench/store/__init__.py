"""The lineage store: tables made from OpenLineage events."""
