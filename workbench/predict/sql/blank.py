"""Blank parts of a text without moving the rest: a message still names the right line and column."""

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens


def blanked(text: str) -> str:
    """Return a text of the same length in which only the whitespace is left."""
    return "".join(character if character.isspace() else " " for character in text)


def with_blank_comments(text: str) -> str:
    """Return a text of SQL with blanks for its comments."""
    return "".join(blanked(each.text) if each.kind is TokenKind.COMMENT else each.text for each in tokens(text))
