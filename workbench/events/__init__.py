"""Reads OpenLineage events, whoever made them."""
