"""The lineage store: tables made from OpenLineage events, and the questions that they answer."""
