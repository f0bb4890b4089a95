"""
Redact SQL: remove comments, the literals of a text that names a secret, and on request every literal.

`names` decides whether a text names a secret; then all its literals are removed here, otherwise none. For lists of
options and properties, an allow-list decides: a value is kept only if its name is known to hold no secret. The text
need not be valid: statements that failed, were cut, or can't be parsed by `sqlglot` are shown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.redaction.names import (
    OPTION_LISTS,
    Named,
    is_secret,
    is_shown_option,
    is_shown_property,
    named_in,
)
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, string_literal, tokens, unquoted
from openlineage_pyspark.facets.urls import REDACTED, reduced, without_credentials

MASK = "?"
"""Replaces a literal if literals are masked."""

_VARIABLES = frozenset("VAR VARIABLE".split())
_BEGIN_STATEMENT = frozenset("BEGIN THEN ELSE DO".split())
_SET_NO_PROPERTY = frozenset("ROLE CATALOG TIME PATH NAMES".split())
_QUERIES = ("query", "dbtable", "table")
_WITH_OPTIONS = frozenset(
    "from_json to_json schema_of_json from_csv to_csv schema_of_csv from_xml to_xml schema_of_xml from_avro to_avro "
    "schema_of_avro from_protobuf to_protobuf".split()
)
"""Functions that take the options of a source as a map."""
_MAPS = frozenset("map named_struct".split())
_NO_SECRET = frozenset("true false null".split())
_SHORTEST_SECRET = 4
_LONGEST_NAME = 40
# A text without any of these has nothing to hide if it names no secret.
_MARK = re.compile(r"['\"`$@]|--|/\*|=>|(?i:\bset\b|\bdeclare\b|\bwith\b|options|properties|immediate)")
# Numbers in the notations of other databases, which Spark reads as names.
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
    named: Named = Named.NOTHING,
    hidden: frozenset[str] = frozenset(),
) -> SqlText:
    """
    Redact a text in Spark SQL: a statement, a part of one, or an expression.

    Args:
        text: the SQL, complete or cut anywhere.
        redact: removes the credentials from the value of a string.
        mask: whether to replace every literal by `?`.
        named: which secrets another text of the same run names; they count as if this text named them.
        hidden: strings to hide wherever they occur.
    """
    named = max(named, named_in(text))
    if not mask and not named and _MARK.search(text) is None:
        return SqlText(text)
    reading = _SqlRedactor(text, redact, mask=mask, named=named, hidden=hidden)
    reading.read()
    return SqlText(without_credentials("".join(reading.shown)), frozenset(reading.hidden))


class _SqlRedactor:
    """
    One pass over the tokens of a text.

    Positions (`at`, `begin`, `end`) count tokens without white space and comments; they index `_places`.

    Attributes:
        all: the tokens.
        shown: what replaces each of them.
        hidden: the values that were removed.
    """

    def __init__(
        self, text: str, redact: Callable[[str], str], *, mask: bool, named: Named, hidden: frozenset[str]
    ) -> None:
        self.all = list(tokens(text))
        self.shown = [_spaced(token) for token in self.all]
        self.hidden: set[str] = set()
        self._named = named
        self._hidden_before = hidden
        self._redact = redact
        self._mask = mask
        # The values that EXECUTE IMMEDIATE binds are hidden: their meaning is unknown.
        self._is_immediate = self._binds = False
        # How many brackets are open, and how many were when a function with options was called.
        self._depth = self._depth_of_options = 0
        silent = (TokenKind.SPACE, TokenKind.COMMENT)
        self._places = [place for place, token in enumerate(self.all) if token.kind not in silent]

    def read(self) -> None:
        """Redact all tokens."""
        at, begins = 0, True
        while at < len(self._places):
            token = self._token(at)
            word = token.text.upper() if token.kind is TokenKind.WORD else ""
            if token.kind is TokenKind.SYMBOL:
                self._symbol(at, token.text)
                at += 1
            elif begins and word == "SET":
                at = self._set(at + 1)
            elif begins and word == "DECLARE":
                at = self._assigned(at + 1)
            elif word in OPTION_LISTS and self._text(at + 1) == "(":
                at = self._options(at + 2)
            elif self._depth_of_options and token.text.strip("`").lower() in _MAPS and self._text(at + 1) == "(":
                at = self._map(at + 2)
            else:
                self._is_immediate = self._is_immediate or word == "IMMEDIATE"
                self._binds = self._binds or (self._is_immediate and word == "USING")
                # A word is not a literal, unless it is a number of another database, which Spark reads as a word.
                if not word or word[0].isdigit():
                    self._literal(at)
                at += 1
            begins = word in _BEGIN_STATEMENT or token.text == ";"

    def _symbol(self, at: int, symbol: str) -> None:
        if symbol == ";":
            self._is_immediate = self._binds = False
        elif symbol == "(":
            self._depth += 1
            if not self._depth_of_options and self._text(at - 1).strip("`").lower() in _WITH_OPTIONS:
                self._depth_of_options = self._depth
        elif symbol == ")" and self._depth:
            self._depth -= 1
            if self._depth < self._depth_of_options:
                self._depth_of_options = 0

    def _literal(self, at: int) -> None:
        """Redact a token that is neither in a list of options nor in a SET."""
        if self._text(at - 1).upper() == "IMMEDIATE" and self._is_string(at) and not self._mask and not self._named:
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

    def _end(self, begin: int, *symbols: str, before: int | None = None) -> int:
        """Return the position of the first of these symbols outside inner parentheses, or of the closing one."""
        depth = 0
        for at in range(begin, len(self._places) if before is None else before):
            text = self._text(at)
            if depth == 0 and (text in symbols or text == ")"):
                return at
            depth += {"(": 1, ")": -1}.get(text, 0)
        return len(self._places) if before is None else before

    def _plain(self, at: int) -> None:
        """Redact a token by itself, whatever is around it."""
        token = self._token(at)
        number = token.kind is TokenKind.NUMBER or (
            token.kind is TokenKind.WORD and _FOREIGN_NUMBER.fullmatch(token.text) is not None
        )
        if self._mask and (number or token.kind is TokenKind.STRING):
            self._show(at, MASK)
        elif number and (self._binds or self._named is Named.SECRET_NUMBER):
            self._hide(at, at + 1)
        elif token.kind is TokenKind.STRING:
            value = unquoted(token)
            if (self._named or self._binds) and value:
                self._hide(at, at + 1)
            elif not token.whole or value in self._hidden_before:
                self._show(at, string_literal(REDACTED))
            elif (shown := self._redact(_reduced(value))) != value:
                self._show(at, string_literal(shown))
        elif token.kind is TokenKind.NAME and not token.whole:
            self._show(at, f"`{REDACTED}`")

    def _plain_all(self, begin: int, end: int) -> None:
        """Redact each of some tokens by itself."""
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
        has_equals = equals < end
        value = equals + 1 if has_equals else self._end_of_name(begin, end)
        name = self._name(begin, equals if has_equals else value)
        if self._mask:
            self._plain_all(begin, value)
        if not is_shown_option(name):
            self._hide(value, end)
        elif name.lower() in _QUERIES and end - value == 1 and self._is_string(value) and not self._mask:
            self._query(value)
        else:
            self._plain_all(value, end)

    def _map(self, begin: int) -> int:
        """Redact the arguments of `map`: in turn a name and a value of an option; return the position after them."""
        name: str | None = None
        while begin < len(self._places):
            end = self._end(begin, ",")
            if name is None:
                name = self._name(begin, end)
                self._plain_all(begin, end)
            else:
                self._plain_all(begin, end)
                # The map may also hold data: only its strings can be values of options.
                for at in range(begin, end if not is_shown_option(name) and not self._mask else begin):
                    if self._is_string(at) and unquoted(self._token(at)):
                        self._hide(at, at + 1)
                name = None
            begin = end + 1
            if self._text(end) == ")":
                break
        return begin

    def _query(self, at: int) -> None:
        """Redact a string that is SQL itself."""
        inner = redact_sql(unquoted(self._token(at)), self._redact, named=self._named)
        self.hidden |= inner.hidden
        self._show(at, string_literal(self._redact(inner.text)))

    def _end_of_name(self, begin: int, end: int) -> int:
        at = begin + 1
        while at + 1 < end and not self._is_string(begin) and self._text(at) in (".", "-", ":"):
            at += 2
        return min(at, end)

    def _symbol_after(self, begin: int, *symbols: str) -> int | None:
        """Return the position of the first of these words or characters before a semicolon; None if there is none."""
        places = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        found = next((at for at in places if self._text(at).upper() in (*symbols, ";")), None)
        return None if found is None or self._text(found) == ";" else found

    def _assigned(self, begin: int) -> int:
        """Hide what SET VARIABLE or DECLARE assigns if a variable is secret; return where to continue."""
        value = self._symbol_after(begin, "DEFAULT", "=")
        if value is None:
            return begin
        near = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        names = (self._name(at, at + 1) for at in near if at < value or not self._is_string(at))
        if not any(map(is_secret, names)):
            return begin
        end = self._end(value, ";")
        self._plain_all(begin, value)
        self._hide(value + 1, end)
        return end

    def _set(self, begin: int) -> int:
        """Hide the value of a property in SET unless it may be shown; return where to continue."""
        first = self._text(begin).upper()
        if first in _VARIABLES:
            return self._assigned(begin + 1)
        equals = self._symbol_after(begin, "=")
        if equals is None or first in OPTION_LISTS | _SET_NO_PROPERTY:
            return begin
        name = self._name(begin, equals)
        if is_shown_property(name) or ("." not in name and not is_secret(name)):
            return self._shown_property(begin, equals)
        end = self._end_of_property(begin)
        self._plain_all(begin, equals)
        self._hide(equals + 1, end)
        return end

    def _end_of_property(self, begin: int) -> int:
        # If the text begins with SET, it is this statement only, whose value may hold semicolons; else it is a script.
        if begin == 1:
            return len(self._places)
        return next((at for at in range(begin, len(self._places)) if self._text(at) == ";"), len(self._places))

    def _shown_property(self, begin: int, equals: int) -> int:
        """Hide the value of a property that may be shown, if it holds a secret; return where to continue."""
        end = self._end_of_property(begin)
        if equals + 1 < end:
            value = "".join(token.text for token in self.all[self._places[equals + 1] : self._places[end - 1] + 1])
            if not value.startswith(("'", '"')) and self._redact(value) != value:
                self._plain_all(begin, equals)
                self._hide(equals + 1, end)
                return end
        return begin


def _reduced(value: str) -> str:
    """Remove the credentials from a string that is a JDBC URL; its quotes and blanks belong to the URL."""
    return reduced(value) if value[:5].lower() == "jdbc:" and "\n" not in value else value


def _spaced(token: Token) -> str:
    """Return the text of a token; for a comment, a space or nothing."""
    if token.kind is not TokenKind.COMMENT:
        return token.text
    return "" if token.text.startswith("--") else " "
