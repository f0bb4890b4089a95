"""Statements, and what they do to tables, in the form in which they are compared."""

from __future__ import annotations

import functools

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

_LEFT_OUT = (TokenKind.SPACE, TokenKind.COMMENT)
_RANDOM = frozenset({"RAND", "RANDN", "RANDOM", "RANDSTR", "SHUFFLE", "TABLESAMPLE", "UNIFORM", "UUID"})


@attrs.frozen
class ScriptWrite:
    """
    A write of a script.

    Args:
        name: the full name of the target.
        place: the line that writes it, as `FILE:LINE`.
        columns: the written columns, as a text; empty if they are unknown.
    """

    name: str
    place: str
    columns: str = ""


@attrs.frozen
class FileStep:
    """
    A statement, or a script as a whole.

    Args:
        file: the file.
        line: the line, from 1.
        text: its text.
        kind: the class of its parsed plan; `script` for a script.
        shape: its analyzed plan, as `PlanShape.java` writes it; empty if there is none.
        targets: the full names of the tables that it creates, drops or changes.
        reads: the tables that it reads, if it has no plan; None if they are unknown.
        is_known: whether everything that it does is known; otherwise it may affect any table.
        is_declaration: whether it only declares an existing table.
        within: the current catalog and database.
        writes: the writes of a script.
        code: everything, beside the tables, that decides what it does; by default its text without comments and white
            space.
    """

    file: str
    line: int
    text: str
    kind: str
    shape: str = ""
    targets: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    is_known: bool = True
    is_declaration: bool = False
    within: str = ""
    writes: tuple[ScriptWrite, ...] = ()
    code: str = ""

    @property
    def key(self) -> str:
        """Return a key that is equal for two statements that differ only in comments and white space."""
        return self.code or plain_text(self.text)

    @property
    def words(self) -> tuple[str, ...]:
        """Return its words without comments, and in capitals, except for quoted names and strings."""
        return _words(self.text)

    @property
    def header(self) -> str:
        """Return the text before the query of a statement that creates a table from it."""
        words = []
        depth = 0
        for text in self.words:
            depth += {"(": 1, ")": -1}.get(text, 0)
            if depth == 0 and text in ("AS", "SELECT", "WITH", "FROM", "VALUES"):
                break
            words.append(text)
        return " ".join(words)

    @property
    def is_random(self) -> bool:
        """Return whether one of its words may be a random function."""
        return not _RANDOM.isdisjoint(self.words)

    @property
    def reads_old_version(self) -> bool:
        """Return whether it reads an earlier version of a table."""
        return ("AS", "OF") in zip(self.words, self.words[1:], strict=False)


def plain_text(text: str) -> str:
    """
    Return a statement without comments and white space, and with its words in capitals. Hints stay.

    Args:
        text: the statement.
    """
    return " ".join(_words(text))


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a statement; cached, because a comparison of two sequences needs them many times."""
    kept = (each for each in tokens(text) if each.kind not in _LEFT_OUT or each.text.startswith("/*+"))
    return tuple(each.text.upper() if each.kind is TokenKind.WORD else each.text for each in kept)
