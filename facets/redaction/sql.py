"""
Redact SQL: remove comments and credentials, and every literal if asked.

An allow-list grammar over the tokens of `sql_lexer`. In lists of options and properties a value is kept only if its
name is known to hold no secret; elsewhere a string is hidden if a name, an assignment, a comparison or the surrounding
call (`CallContext`) says that it is a secret. The text need not be valid: statements that failed, were cut, or can't be
parsed by `sqlglot` are shown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import attrs
from openlineage_pyspark.facets.redaction.conditions import secret_literals
from openlineage_pyspark.facets.redaction.names import is_secret, is_shown_option, is_shown_property
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, string_literal, tokens, unquoted
from openlineage_pyspark.facets.urls import REDACTED, reduced, without_credentials

MASK = "?"
"""Replaces a literal if literals are masked."""

_LISTS = frozenset(
    "OPTIONS TBLPROPERTIES DBPROPERTIES SERDEPROPERTIES PROPERTIES CREDENTIAL CREDENTIALS WITH FORMAT_OPTIONS "
    "COPY_OPTIONS".split()
)
_VARIABLES = frozenset("VAR VARIABLE".split())
_BEGIN_STATEMENT = frozenset("BEGIN THEN ELSE DO".split())
_SET_NO_PROPERTY = frozenset("ROLE CATALOG TIME PATH NAMES".split())
_QUERIES = ("query", "dbtable", "table")
_NO_SECRET = frozenset("true false null".split())
_SHORTEST_SECRET = 4
_LONGEST_NAME = 200
# A text without any of these has nothing to hide, but for a number beside the name of a secret.
_MARK = re.compile(r"['\"`$@]|--|/\*|=>|(?i:\bset\b|\bdeclare\b|\bwith\b|options|properties)")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d]\w*")
# Numbers of other databases, which are names for Spark.
_FOREIGN_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|0[bB][01]+|0[oO][0-7]+|\d+(?:_\d+)+")


@attrs.frozen
class SqlText:
    """
    Redacted SQL.

    Args:
        text: the SQL.
        hidden: the values that were removed from it; a message about the statement may repeat them.
    """

    text: str
    hidden: frozenset[str] = attrs.field(default=frozenset(), repr=False)


def redact_sql(
    text: str,
    redact: Callable[[str], str],
    *,
    mask: bool = False,
    secret: bool = False,
    columns: Sequence[str] = (),
    hidden: frozenset[str] = frozenset(),
) -> SqlText:
    """
    Redact a text in Spark SQL: a statement, a part of one, or an expression.

    Args:
        text: the SQL, complete or cut anywhere.
        redact: removes the credentials from the value of a string.
        mask: whether to replace every literal by `?`.
        secret: whether the whole text is the value of a secret, so that all strings in it are hidden.
        columns: the columns of the table that it writes.
        hidden: strings to hide wherever they occur.
    """
    if not mask and not secret and not _may_hold_secret(text):
        return SqlText(text)
    reading = _SqlRedactor(text, redact, mask=mask)
    reading.read(secret=secret, columns=columns, hidden=hidden)
    return SqlText(without_credentials("".join(reading.shown)), frozenset(reading.hidden))


def _may_hold_secret(text: str) -> bool:
    """Return whether a text has anything in it that redaction may have to hide."""
    if _MARK.search(text) is not None:
        return True
    return _DIGIT.search(text) is not None and any(is_secret(found.group()) for found in _WORD.finditer(text))


class _SqlRedactor:
    """
    One pass over the tokens of a text.

    Positions (`at`, `begin`, `end`) count tokens without white space and comments; they index `_places`.

    Attributes:
        all: the tokens.
        shown: what replaces each of them.
        hidden: the values that were removed.
    """

    def __init__(self, text: str, redact: Callable[[str], str], *, mask: bool) -> None:
        self.all = list(tokens(text))
        self.shown = [_spaced(token) for token in self.all]
        self.hidden: set[str] = set()
        self._secret: frozenset[int] = frozenset()
        self._hidden_before: frozenset[str] = frozenset()
        self._redact = redact
        self._mask = mask
        silent = (TokenKind.SPACE, TokenKind.COMMENT)
        self._places = [place for place, token in enumerate(self.all) if token.kind not in silent]

    def read(self, *, secret: bool, columns: Sequence[str], hidden: frozenset[str]) -> None:
        """Redact all tokens."""
        self._hidden_before = hidden
        if not self._mask:
            significant = [self.all[place] for place in self._places]
            self._secret = secret_literals(significant, all_strings=secret, columns=columns)
        at, begins = 0, True
        while at < len(self._places):
            token = self._token(at)
            if token.kind is TokenKind.SIGN:
                begins = token.text == ";"
                at += 1
                continue
            word = token.text.upper() if token.kind is TokenKind.WORD else ""
            if begins and word == "SET":
                at = self._set(at + 1)
            elif begins and word == "DECLARE":
                at = self._declare(at + 1)
            elif word in _LISTS and self._text(at + 1) == "(":
                at = self._options(at + 2)
            else:
                # No word is a literal, but numbers of other languages, which Spark reads as words.
                if not word or word[0].isdigit():
                    self._literal(at)
                at += 1
            begins = word in _BEGIN_STATEMENT

    def _literal(self, at: int) -> None:
        """Redact a token that stands in no list and no SET."""
        if at in self._secret:
            self._hide(at, at + 1)
        elif self._text(at - 1).upper() == "IMMEDIATE" and self._is_string(at) and not self._mask:
            self._query(at)
        else:
            self._plain(at)

    def _token(self, at: int) -> Token:
        return self.all[self._places[at]]

    def _text(self, at: int) -> str:
        return self._token(at).text if 0 <= at < len(self._places) else ""

    def _is_string(self, at: int) -> bool:
        return at < len(self._places) and self._token(at).kind is TokenKind.STRING

    def _name(self, begin: int, end: int) -> str:
        """Return the name that some tokens form: words with dots, or a string."""
        quotes = (TokenKind.STRING, TokenKind.NAME)
        parts = (self._token(at) for at in range(begin, end))
        return "".join(unquoted(token) if token.kind in quotes else token.text for token in parts)

    def _end(self, begin: int, *signs: str, before: int | None = None) -> int:
        """Return the position of the first of these characters outside inner parentheses, or of the closing one."""
        depth = 0
        for at in range(begin, len(self._places) if before is None else before):
            text = self._text(at)
            if depth == 0 and (text in signs or text == ")"):
                return at
            depth += {"(": 1, ")": -1}.get(text, 0)
        return len(self._places) if before is None else before

    def _plain(self, at: int) -> None:
        """Redact a token about which its surroundings say nothing."""
        token = self._token(at)
        literal = token.kind in (TokenKind.STRING, TokenKind.NUMBER)
        if (literal and self._mask) or (
            self._mask and token.kind is TokenKind.WORD and _FOREIGN_NUMBER.fullmatch(token.text) is not None
        ):
            self._show(at, MASK)
        elif token.kind is TokenKind.STRING:
            value = unquoted(token)
            if not token.whole or value in self._hidden_before:
                self._show(at, string_literal(REDACTED))
            elif (shown := self._redact(_reduced(value))) != value:
                self._show(at, string_literal(shown))
        elif token.kind is TokenKind.NAME and not token.whole:
            self._show(at, f"`{REDACTED}`")

    def _plain_all(self, begin: int, end: int) -> None:
        """Redact tokens about which their surroundings say nothing."""
        for at in range(begin, end):
            self._plain(at)

    def _show(self, at: int, text: str) -> None:
        self.shown[self._places[at]] = text

    def _hide(self, begin: int, end: int) -> None:
        """Replace a value of any number of tokens by one mark; true, false and null stay."""
        if begin >= end or (end - begin == 1 and self._text(begin).lower() in _NO_SECRET):
            return
        first, last = self._places[begin], self._places[end - 1] + 1
        values = [unquoted(self._token(at)) for at in range(begin, end) if self._is_string(at)]
        if end - begin > 1 or not values:
            values.append("".join(token.text for token in self.all[first:last]))
        self.hidden.update(value for value in values if len(value) >= _SHORTEST_SECRET)
        self.shown[first:last] = [MASK if self._mask else string_literal(REDACTED), *[""] * (last - first - 1)]

    def _options(self, begin: int) -> int:
        """Redact a list of names and values in parentheses; return the position after it."""
        while begin < len(self._places):
            end = self._end(begin, ",")
            self._option(begin, end)
            begin = end + 1
            if self._text(end) == ")":
                break
        return begin

    def _option(self, begin: int, end: int) -> None:
        equals = self._end(begin, "=", "=>", before=end)
        has_sign = equals < end
        value = equals + 1 if has_sign else self._end_of_name(begin, end)
        name = self._name(begin, equals if has_sign else value)
        if self._mask:
            self._plain_all(begin, value)
        if not is_shown_option(name):
            self._hide(value, end)
        elif name.lower() in _QUERIES and end - value == 1 and self._is_string(value) and not self._mask:
            self._query(value)
        else:
            self._plain_all(value, end)

    def _query(self, at: int) -> None:
        """Redact a string that is SQL itself."""
        inner = redact_sql(unquoted(self._token(at)), self._redact)
        self.hidden |= inner.hidden
        self._show(at, string_literal(self._redact(inner.text)))

    def _end_of_name(self, begin: int, end: int) -> int:
        at = begin + 1
        while at + 1 < end and not self._is_string(begin) and self._text(at) in (".", "-", ":"):
            at += 2
        return min(at, end)

    def _equals(self, begin: int) -> int | None:
        """Return the position of the equals sign after the name that begins at a position; None if there is none."""
        places = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        found = next((at for at in places if self._text(at) in ("=", ";")), None)
        return None if found is None or self._text(found) == ";" else found

    def _variables(self, at: int) -> int:
        """Hide the values that SET VARIABLE gives to variables with secret names; return the position after them."""
        while (equals := self._equals(at)) is not None and is_secret(self._name(at, equals)):
            end = self._end(equals + 1, ",", ";")
            self._plain_all(at, equals)
            self._hide(equals + 1, end)
            if self._text(end) != ",":
                return end
            at = end + 1
        return at

    def _declare(self, begin: int) -> int:
        """Hide the default in DECLARE VARIABLE if the name says it is secret; return the position after it."""
        places = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        value = next((at for at in places if self._text(at).upper() in ("DEFAULT", "=", ";")), None)
        if value is None or not any(is_secret(self._name(at, at + 1)) for at in range(begin, value)):
            return begin
        end = self._end(value, ";")
        self._plain_all(begin, value)
        self._hide(value + 1, end)
        return end

    def _set(self, begin: int) -> int:
        """Hide the value of a property in SET unless it may be shown; it reaches to the end of the statement."""
        first = self._text(begin).upper()
        if first in _VARIABLES:
            return self._variables(begin + 1)
        equals = self._equals(begin)
        if equals is None or first in _LISTS | _SET_NO_PROPERTY:
            return begin
        name = self._name(begin, equals)
        if is_shown_property(name) or ("." not in name and not is_secret(name)):
            return self._shown_property(begin, equals)
        end = self._end_of_property(begin)
        self._plain_all(begin, equals)
        self._hide(equals + 1, end)
        return end

    def _end_of_property(self, begin: int) -> int:
        # If the text is this statement only, its value may hold semicolons; if SET comes later, the text is a script.
        if begin == 1:
            return len(self._places)
        return next((at for at in range(begin, len(self._places)) if self._text(at) == ";"), len(self._places))

    def _shown_property(self, begin: int, equals: int) -> int:
        """Hide the value of a property that may be shown if it holds a secret; return where to go on."""
        end = self._end_of_property(begin)
        if equals + 1 < end:
            value = "".join(token.text for token in self.all[self._places[equals + 1] : self._places[end - 1] + 1])
            if not value.startswith(("'", '"')) and self._redact(value) != value:
                self._plain_all(begin, equals)
                self._hide(equals + 1, end)
                return end
        return begin


def _reduced(value: str) -> str:
    """Return a string that is a JDBC URL without credentials; quotes and blanks in it belong to the URL."""
    return reduced(value) if value[:5].lower() == "jdbc:" and "\n" not in value else value


def _spaced(token: Token) -> str:
    """Return the text of a token, and white space for a comment."""
    if token.kind is not TokenKind.COMMENT:
        return token.text
    return "" if token.text.startswith("--") else " "
