"""Which formats of a graph can show CTEs, views and subqueries. This module imports nothing that draws."""

UNFOLDED_FORMATS = ("mermaid", "dot", "svg", "html")
"""The formats that can show CTEs, views and subqueries."""


def why_not_unfolded(format: str) -> str:  # noqa: A002 (the word of the command line)
    """Return why a format can't show CTEs, views and subqueries, as a sentence without its subject; empty if it can."""
    if format in UNFOLDED_FORMATS:
        return ""
    always = " always has them" if format == "json" else " has no place for them"
    return f"shows CTEs, views and subqueries in {', '.join(UNFOLDED_FORMATS)}; {format}{always}"
