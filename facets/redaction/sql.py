"""
Redact SQL: remove comments and credentials, and every literal if asked.

An allow-list grammar over the tokens of `sql_lexer`. In lists of options and properties a value is kept only if its
name is known to hold no secret; elsewhere a string is hidden if a name, an assignment, a comparison or the surrounding
call (`CallContext`) says that it is a secret. The text need not be valid: statements that failed, were cut, or can't be
parsed by `sqlglot` are shown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.redaction.names import is_login, is_secret, is_shown_option, is_shown_property
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, quoted, tokens, unquoted
from openlineage_pyspark.facets.urls import REDACTED, without_credentials

MASK = "?"
"""Replaces a literal if literals are masked."""

_LISTS = frozenset(
    "OPTIONS TBLPROPERTIES DBPROPERTIES SERDEPROPERTIES PROPERTIES CREDENTIAL CREDENTIALS WITH FORMAT_OPTIONS "
    "COPY_OPTIONS".split()
)
_SIGNS = frozenset("= < > ! =>".split())
_COMPARE = frozenset("IN LIKE ILIKE RLIKE REGEXP".split())
_QUERY = frozenset("SELECT WITH FROM".split())
_VARIABLES = frozenset("VAR VARIABLE".split())
_BEGIN_STATEMENT = frozenset("BEGIN THEN ELSE DO".split())
_SET_NO_PROPERTY = frozenset("ROLE CATALOG TIME PATH NAMES".split())
_QUERIES = ("query", "dbtable", "table")
_NO_SECRET = frozenset("true false null".split())
_SHORTEST_SECRET = 4
_LONGEST_NAME = 200
# A text without any of these has nothing to hide.
_MARK = re.compile(r"['\"`$@]|--|/\*|=>|(?i:\bset\b|\bdeclare\b|\bwith\b|options|properties|credential)")

_WITH_KEY = frozenset("aes_encrypt aes_decrypt try_aes_decrypt aesencrypt aesdecrypt".split())
"""Functions whose second argument is a key."""
_KEYED = "hmac"
"""Prefix of the names that users give to keyed hash functions; any argument may be the key."""
_WITH_OPTIONS = frozenset(
    "from_json to_json schema_of_json from_csv to_csv schema_of_csv from_xml to_xml schema_of_xml from_avro to_avro "
    "schema_of_avro from_protobuf to_protobuf".split()
)
"""Functions that take the options of a source as a map."""


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


def redact_sql(text: str, redact: Callable[[str], str], *, mask: bool = False) -> SqlText:
    """
    Redact a text in Spark SQL: a statement, a part of one, or an expression.

    Args:
        text: the SQL, complete or cut anywhere.
        redact: removes the credentials from the value of a string.
        mask: whether to replace every literal by `?`.
    """
    if not mask and _MARK.search(text) is None:
        return SqlText(text)
    reading = _SqlRedactor(text, redact, mask=mask)
    reading.read()
    return SqlText(without_credentials("".join(reading.shown)), frozenset(reading.hidden))


@attrs.define
class CallContext:
    """
    An open parenthesis, and what it says about the strings in it.

    Args:
        function: the token before it, in lower case.
        in_secret: whether all strings in it are secret.
        in_options: whether a map in it holds the options of a source.
        argument: the index of the current argument.
        named_secret: whether the last name in a map of names and values names a secret.
    """

    function: str
    in_secret: bool
    in_options: bool
    argument: int = 0
    named_secret: bool = False

    @property
    def holds_secret(self) -> bool:
        """Return whether the next string is secret."""
        as_value = self.named_secret and self.argument % 2 == 1
        as_key = self.argument == 1 and self.function in _WITH_KEY
        return self.in_secret or as_value or as_key or self.function.startswith(_KEYED)

    def read(self, text: str) -> None:
        """Note a string of the current argument: in a map it may be the name of the next value."""
        if self.function == "map" and self.argument % 2 == 0:
            shown = is_shown_option(text) if self.in_options else not (is_secret(text) or is_login(text))
            self.named_secret = not shown


def call_context(function: str, around: CallContext | None, *, in_secret: bool) -> CallContext:
    """
    Return the context that an opening parenthesis begins.

    Args:
        function: the token before the parenthesis, often a function's name.
        around: the context that it is in; None at the top.
        in_secret: whether everything in it is known to be secret.
    """
    if around is None:
        return CallContext(function.lower(), in_secret, in_options=False)
    in_options = around.in_options or around.function in _WITH_OPTIONS
    return CallContext(function.lower(), in_secret or around.holds_secret, in_options)


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
        self._open: list[CallContext] = []
        # The position of the parenthesis around the values that a secret is compared with.
        self._secret_parenthesis = -1
        self._redact = redact
        self._mask = mask
        silent = (TokenKind.SPACE, TokenKind.COMMENT)
        self._places = [place for place, token in enumerate(self.all) if token.kind not in silent]

    def read(self) -> None:
        """Redact all tokens."""
        at, begins = 0, True
        while at < len(self._places):
            token = self._token(at)
            if token.kind is TokenKind.SIGN:
                begins = token.text == ";"
                self._bracket(at, token.text)
                at += 1
                continue
            word = token.text.upper() if token.kind is TokenKind.WORD else ""
            if begins and word == "SET":
                at = self._set(at + 1)
            elif begins and word == "DECLARE":
                at = self._declare(at + 1)
            else:
                at = self._next(at, word)
            begins = word in _BEGIN_STATEMENT

    def _next(self, at: int, word: str) -> int:
        """Redact what begins at a position; return the position after it."""
        if word in _LISTS and self._text(at + 1) == "(":
            return self._options(at + 2)
        value = self._value_of_secret(at)
        if value is not None:
            self._plain(at)
            self._plain_all(at + 1, value)
            self._hide(value, value + 1)
            return value + 1
        if self._is_string(at) and self._open and self._open[-1].holds_secret:
            self._hide(at, at + 1)
            return at + 1
        if self._is_string(at) and self._open:
            self._open[-1].read(unquoted(self._token(at)))
        self._plain(at)
        return at + 1

    def _bracket(self, at: int, sign: str) -> None:
        """Update the call context at a sign."""
        if sign == "(":
            function = self._text(at - 1) if at > 0 else ""
            around = self._open[-1] if self._open else None
            self._open.append(call_context(function, around, in_secret=at == self._secret_parenthesis))
        elif self._open and sign == ",":
            self._open[-1].argument += 1
        elif self._open and sign == ")":
            self._open.pop()

    def _token(self, at: int) -> Token:
        return self.all[self._places[at]]

    def _text(self, at: int) -> str:
        return self._token(at).text if at < len(self._places) else ""

    def _is_string(self, at: int) -> bool:
        return at < len(self._places) and self._token(at).kind is TokenKind.STRING

    def _name(self, begin: int, end: int) -> str:
        """Return the name that some tokens form: words with dots, or a string."""
        quotes = (TokenKind.STRING, TokenKind.NAME)
        parts = (self._token(at) for at in range(begin, end))
        return "".join(unquoted(token) if token.kind in quotes else token.text for token in parts)

    def _end(self, begin: int, *signs: str) -> int:
        """Return the position of the first of some signs outside inner parentheses, or of the closing parenthesis."""
        depth = 0
        for at in range(begin, len(self._places)):
            text = self._text(at)
            if depth == 0 and (text in signs or text == ")"):
                return at
            depth += {"(": 1, ")": -1}.get(text, 0)
        return len(self._places)

    def _plain(self, at: int) -> None:
        """Redact a token about which its surroundings say nothing."""
        token = self._token(at)
        literal = token.kind in (TokenKind.STRING, TokenKind.NUMBER)
        if literal and self._mask:
            self._show(at, MASK)
        elif token.kind is TokenKind.STRING:
            value = unquoted(token)
            shown = self._redact(value) if token.whole else REDACTED
            if shown != value:
                self._show(at, quoted(shown))
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
        self.shown[first:last] = [MASK if self._mask else quoted(REDACTED), *[""] * (last - first - 1)]

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
        equals = self._end(begin, "=", "=>")
        has_sign = equals < end
        value = equals + 1 if has_sign else self._end_of_name(begin, end)
        name = self._name(begin, equals if has_sign else value)
        if self._mask:
            self._plain_all(begin, value)
        if not is_shown_option(name):
            self._hide(value, end)
        elif name.lower() in _QUERIES and end - value == 1 and self._is_string(value) and not self._mask:
            inner = redact_sql(unquoted(self._token(value)), self._redact)
            self.hidden |= inner.hidden
            self._show(value, quoted(self._redact(inner.text)))
        else:
            self._plain_all(value, end)

    def _end_of_name(self, begin: int, end: int) -> int:
        at = begin + 1
        while at + 1 < end and not self._is_string(begin) and self._text(at) in (".", "-", ":"):
            at += 2
        return min(at, end)

    def _value_of_secret(self, at: int) -> int | None:
        """
        Return the position of the string that the name at a position says is a secret; None if there is none.

        It finds `password 'x'`, `token => 'x'`, `'key' = 'x'` and `password = 'x'`. In `api_key IN ('x', 'y')` and
        `pin = f('x')` it notes the parenthesis, in which all strings are then secret.
        """
        token = self._token(at)
        if token.kind not in (TokenKind.WORD, TokenKind.NAME, TokenKind.STRING):
            return None
        quotes = token.kind is TokenKind.STRING
        behind = at + 1 if self._is_string(at + 1) and not quotes else at + 2
        is_pair = behind == at + 1 or self._text(at + 1) == ("=" if quotes else "=>")
        if is_pair and self._is_string(behind):
            name = self._name(at, at + 1)
            return behind if is_secret(name) or is_login(name) else None
        if quotes or (value := self._operand(at + 1)) is None or not is_secret(self._name(at, at + 1)):
            return None
        if self._is_string(value):
            return value
        bracket = value if self._text(value) == "(" else value + 1
        if self._text(bracket) == "(" and self._text(bracket + 1).upper() not in _QUERY:
            self._secret_parenthesis = bracket
        return None

    def _operand(self, at: int) -> int | None:
        """Return where the value begins that the preceding name is compared with or set to; None if there is none."""
        begin = at
        while at < begin + 3 and self._text(at) in _SIGNS:
            at += 1
        if at > begin:
            return at
        at += self._text(at).upper() == "NOT"
        return at + 1 if self._text(at).upper() in _COMPARE else None

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
            return begin
        # If the text is this statement only, its value may hold semicolons; if SET comes later, the text is a script.
        places = range(begin, len(self._places))
        ends = len(self._places) if begin == 1 else next((at for at in places if self._text(at) == ";"), None)
        end = len(self._places) if ends is None else ends
        self._plain_all(begin, equals)
        self._hide(equals + 1, end)
        return end


def _spaced(token: Token) -> str:
    """Return the text of a token, and white space for a comment."""
    if token.kind is not TokenKind.COMMENT:
        return token.text
    return "" if token.text.startswith("--") else " "
