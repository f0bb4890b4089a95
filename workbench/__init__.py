"""Answers about lineage, recorded or predicted."""
