"""Blank parts of a text without moving the rest: a message still names the right line and column."""


def blanked(text: str) -> str:
    """Return a text of the same length in which only the whitespace is left."""
    return "".join(character if character.isspace() else " " for character in text)
