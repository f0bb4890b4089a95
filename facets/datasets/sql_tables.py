"""
The tables that a text in any SQL names after FROM and JOIN, for a query that can't be parsed.

It needs one pass, linear in the length of the text, and takes what it finds for granted: a name is no table if it is a
function's, a common table expression's, or stands in a string, a comment or a function such as EXTRACT(YEAR FROM day).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

_PART = r"""(?:"[^"]*"|`[^`]*`|\[[^\[\]]*\]|[^\W\d][\w$\#@]*|[\#@]+\w+)"""
_NAME = re.compile(rf"{_PART}(?:\s*\.+\s*{_PART})*", re.VERBOSE)
_PIECE = re.compile(
    rf"""
    (?P<skipped>\s+(?!\() | --[^\n]* | /\*.*?(?:\*/|\Z) | '[^']*(?:'|\Z))
    | (?P<name>{_PART}(?:\s*\.+\s*{_PART})*)
    | (?P<sign>\s\(|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(rf"\s*{_PART}(?:\s*\.+\s*{_PART})*\s*", re.VERBOSE)
# Words that end the list of tables after FROM.
_ENDS = frozenset(
    "WHERE GROUP ORDER HAVING LIMIT UNION EXCEPT INTERSECT MINUS SELECT ARRAY WINDOW QUALIFY PREWHERE".split()
)
_BEFORE_NAME = frozenset({"LATERAL", "ONLY", "TABLE"})
_BEFORE_QUERY = frozenset({"AS", "NOT", "MATERIALIZED"})


def is_name(text: str) -> bool:
    """Return whether a text is the name of a table and nothing else, perhaps quoted and with a schema."""
    return _PLAIN.fullmatch(text) is not None


def named_tables(text: str, *, cut: bool = False) -> tuple[str, ...]:
    """
    Return the names of the tables in a text, each once.

    Args:
        text: SQL, a part of it, or anything else.
        cut: whether the end of the text is missing, and so perhaps of its last name.
    """
    scan = _Scan()
    for piece in _pieces(text):
        scan.take(piece)
    if not cut:
        scan.take(";")
    return tuple(name for name in scan.found if name.lower() not in scan.queries)


def _pieces(text: str) -> Iterator[str]:
    for found in _PIECE.finditer(text):
        if found.lastgroup != "skipped":
            yield found.group()


@attrs.define
class _Bracket:
    """
    A bracket, or the whole text.

    Args:
        query: whether FROM begins a clause in it; None before its first word.
        tables: whether a comma in it separates tables.
        owner: the name before it.
    """

    query: bool | None
    tables: bool = False
    owner: str = ""


@attrs.define
class _Scan:
    """
    What is known of a text so far.

    Args:
        found: the names after FROM and JOIN.
        queries: the names of common table expressions, in lower case.
    """

    found: dict[str, None] = attrs.Factory(dict)
    queries: set[str] = attrs.Factory(set)
    _brackets: list[_Bracket] = attrs.Factory(lambda: [_Bracket(query=True)])
    # Whether a table is next; a name that is a table unless a bracket follows; the last word; the last name.
    _expected: bool = False
    _waiting: str = ""
    _before: str = ""
    _owner: str = ""

    def take(self, piece: str) -> None:
        """Add the next piece of the text."""
        name, self._waiting = self._waiting, ""
        # A bracket right after a name makes it a function; after a space it may hold a hint.
        if name and piece != "(":
            self.found[name] = None
        if piece[-1] == "(":
            self._open(name)
        elif piece == ")":
            self._close()
        elif piece == ",":
            self._expected = self._brackets[-1].tables
        elif _NAME.match(piece):
            self._name(piece)
        word = piece.upper()
        self._before = "AS" if word in _BEFORE_QUERY else word

    def _open(self, name: str) -> None:
        if self._before == "AS" and self._owner:
            self.queries.add(self._owner.lower())
        joins = self._expected and not name
        self._brackets.append(_Bracket(True if joins else None, joins, name or self._owner))

    def _close(self) -> None:
        closed = self._brackets.pop() if len(self._brackets) > 1 else self._brackets[0]
        self._expected, self._owner = False, closed.owner

    def _name(self, name: str) -> None:
        here, word = self._brackets[-1], name.upper()
        if here.query is None or word in ("SELECT", "WITH"):
            here.query = word in ("SELECT", "WITH", "VALUES")
        if self._before != "ARRAY" and (
            word == "JOIN" or (word == "FROM" and here.query and self._before != "DISTINCT")
        ):
            self._expected = here.tables = True
        elif word in _ENDS:
            self._expected = here.tables = False
        elif self._expected and word not in _BEFORE_NAME:
            self._expected, self._waiting = False, name
        if word not in _BEFORE_QUERY:
            self._owner = name
