"""
SQL text as it may be shown: without comments, without the credentials in it and, where asked, without any literal.

Values in lists of options and properties stand only behind names that are known to hold no secret. The text is read
token by token and need not be one that a parser takes: `sqlglot` gives up on some of what Spark accepts, on what was
cut and on what failed, and that is shown as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.redaction.names import is_login, is_secret, is_shown_option, is_shown_property
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, content, quoted, tokens
from openlineage_pyspark.facets.urls import REDACTED, without_credentials

_WITH_KEY = frozenset("aes_encrypt aes_decrypt try_aes_decrypt aesencrypt aesdecrypt".split())
"""Functions whose second argument is a key."""
_KEYED = "hmac"
"""How the functions begin that users have for keyed hashes; which of their arguments is the key, is not known."""
_WITH_OPTIONS = frozenset(
    "from_json to_json schema_of_json from_csv to_csv schema_of_csv from_xml to_xml schema_of_xml from_avro to_avro "
    "schema_of_avro from_protobuf to_protobuf".split()
)
"""Functions that take a source's options, as a map."""


@attrs.define
class Brackets:
    """
    Brackets that are open.

    Args:
        function: what stands before them, in lower case.
        in_secret: whether all strings in them are secret.
        in_options: whether a map in them holds the options of a source.
        argument: how many commas were passed.
        named_secret: whether the last name in a map of names and values is that of a secret.
    """

    function: str
    in_secret: bool
    in_options: bool
    argument: int = 0
    named_secret: bool = False

    @property
    def holds_secret(self) -> bool:
        """Whether a string that comes next is secret."""
        as_value = self.named_secret and self.argument % 2 == 1
        as_key = self.argument == 1 and self.function in _WITH_KEY
        return self.in_secret or as_value or as_key or self.function.startswith(_KEYED)

    def read(self, text: str) -> None:
        """Keep in mind a string that stands in them: in a map it may be the name of the next."""
        if self.function == "map" and self.argument % 2 == 0:
            shown = is_shown_option(text) if self.in_options else not (is_secret(text) or is_login(text))
            self.named_secret = not shown


def opened(function: str, around: Brackets | None, *, in_secret: bool) -> Brackets:
    """
    The brackets behind a function, or behind anything else.

    Args:
        function: what stands before them.
        around: those that they stand in.
        in_secret: whether what stands in them is known to be secret.
    """
    if around is None:
        return Brackets(function.lower(), in_secret, in_options=False)
    in_options = around.in_options or around.function in _WITH_OPTIONS
    return Brackets(function.lower(), in_secret or around.holds_secret, in_options)


MASK = "?"
"""What stands for a literal where literals are masked."""

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
# What a text must have for anything in it to be hidden.
_MARK = re.compile(r"['\"`$@]|--|/\*|=>|(?i:\bset\b|\bdeclare\b|\bwith\b|options|properties|credential)")


@attrs.frozen
class SqlText:
    """
    A text as it may be shown.

    Args:
        text: the SQL.
        hidden: values that were taken out of it, which a message about the statement may repeat.
    """

    text: str
    hidden: frozenset[str] = attrs.field(default=frozenset(), repr=False)


def shown_sql(text: str, phrase: Callable[[str], str], *, mask: bool = False) -> SqlText:
    """
    A text in Spark SQL as it may be shown: a statement, a part of one, an expression.

    Args:
        text: whole or cut anywhere.
        phrase: takes the credentials out of the value of a string.
        mask: whether every literal becomes `?`.
    """
    if not mask and _MARK.search(text) is None:
        return SqlText(text)
    reading = _Reading(text, phrase, mask=mask)
    reading.read()
    return SqlText(without_credentials("".join(reading.shown)), frozenset(reading.hidden))


class _Reading:
    """One pass over the tokens of a text: `shown` holds what stands in place of each."""

    def __init__(self, text: str, phrase: Callable[[str], str], *, mask: bool) -> None:
        self.all = list(tokens(text))
        self.shown = [_spaced(token) for token in self.all]
        self.hidden: set[str] = set()
        self._open: list[Brackets] = []
        # Where brackets open that hold what a secret is compared with.
        self._secret_bracket = -1
        self._phrase = phrase
        self._mask = mask
        silent = (TokenKind.SPACE, TokenKind.COMMENT)
        self._places = [place for place, token in enumerate(self.all) if token.kind not in silent]

    def read(self) -> None:
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
        """Show what begins at a place, and say where the next begins."""
        if word in _LISTS and self._text(at + 1) == "(":
            return self._options(at + 2)
        value = self._value_of_secret(at)
        if value is not None:
            self._plain(at)
            for between in range(at + 1, value):
                self._plain(between)
            self._hide(value, value + 1)
            return value + 1
        if self._is_string(at) and self._open and self._open[-1].holds_secret:
            self._hide(at, at + 1)
            return at + 1
        if self._is_string(at) and self._open:
            self._open[-1].read(content(self._token(at)))
        self._plain(at)
        return at + 1

    def _bracket(self, at: int, sign: str) -> None:
        """Keep in mind which argument of which function comes next."""
        if sign == "(":
            function = self._text(at - 1) if at > 0 else ""
            around = self._open[-1] if self._open else None
            self._open.append(opened(function, around, in_secret=at == self._secret_bracket))
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
        """The name that some tokens are: words with dots, or a string."""
        quotes = (TokenKind.STRING, TokenKind.NAME)
        parts = (self._token(at) for at in range(begin, end))
        return "".join(content(token) if token.kind in quotes else token.text for token in parts)

    def _end(self, begin: int, *signs: str) -> int:
        """Where the first of some signs stands that is in no brackets of its own, or the bracket that closes."""
        depth = 0
        for at in range(begin, len(self._places)):
            text = self._text(at)
            if depth == 0 and (text in signs or text == ")"):
                return at
            depth += {"(": 1, ")": -1}.get(text, 0)
        return len(self._places)

    def _plain(self, at: int) -> None:
        """A token of which nothing is known but itself."""
        token = self._token(at)
        literal = token.kind in (TokenKind.STRING, TokenKind.NUMBER)
        if literal and self._mask:
            self._show(at, MASK)
        elif token.kind is TokenKind.STRING:
            value = content(token)
            shown = self._phrase(value) if token.whole else REDACTED
            if shown != value:
                self._show(at, quoted(shown))
        elif token.kind is TokenKind.NAME and not token.whole:
            self._show(at, f"`{REDACTED}`")

    def _show(self, at: int, text: str) -> None:
        self.shown[self._places[at]] = text

    def _hide(self, begin: int, end: int) -> None:
        """Put one mark in place of a value, whatever it is made of; a truth value stays."""
        if begin >= end or (end - begin == 1 and self._text(begin).lower() in _NO_SECRET):
            return
        first, last = self._places[begin], self._places[end - 1] + 1
        values = [content(self._token(at)) for at in range(begin, end) if self._is_string(at)]
        if end - begin > 1 or not values:
            values.append("".join(token.text for token in self.all[first:last]))
        self.hidden.update(value for value in values if len(value) >= _SHORTEST_SECRET)
        self.shown[first:last] = [MASK if self._mask else quoted(REDACTED), *[""] * (last - first - 1)]

    def _options(self, begin: int) -> int:
        """A list of names and values in brackets."""
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
            for at in range(begin, value):
                self._plain(at)
        if not is_shown_option(name):
            self._hide(value, end)
        elif name.lower() in _QUERIES and end - value == 1 and self._is_string(value) and not self._mask:
            inner = shown_sql(content(self._token(value)), self._phrase)
            self.hidden |= inner.hidden
            self._show(value, quoted(self._phrase(inner.text)))
        else:
            for at in range(value, end):
                self._plain(at)

    def _end_of_name(self, begin: int, end: int) -> int:
        at = begin + 1
        while at + 1 < end and not self._is_string(begin) and self._text(at) in (".", "-", ":"):
            at += 2
        return min(at, end)

    def _value_of_secret(self, at: int) -> int | None:
        """
        Where the string stands that a name before it says is a secret.

        As in `password 'x'`, `token => 'x'`, `'key' = 'x'`, `password = 'x'`. Of `api_key IN ('x', 'y')` and
        `pin = f('x')` the brackets are kept in mind.
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
            self._secret_bracket = bracket
        return None

    def _operand(self, at: int) -> int | None:
        """Where that begins which a name before the place is compared with, or set to."""
        begin = at
        while at < begin + 3 and self._text(at) in _SIGNS:
            at += 1
        if at > begin:
            return at
        at += self._text(at).upper() == "NOT"
        return at + 1 if self._text(at).upper() in _COMPARE else None

    def _equals(self, begin: int) -> int | None:
        """Where the equals sign stands behind a name that begins at a place."""
        places = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        found = next((at for at in places if self._text(at) in ("=", ";")), None)
        return None if found is None or self._text(found) == ";" else found

    def _variables(self, at: int) -> int:
        """Variables that a statement sets: of those with the name of a secret the value, whatever it is made of."""
        while (equals := self._equals(at)) is not None and is_secret(self._name(at, equals)):
            end = self._end(equals + 1, ",", ";")
            self._hide(equals + 1, end)
            if self._text(end) != ",":
                return end
            at = end + 1
        return at

    def _declare(self, begin: int) -> int:
        """A variable that a statement declares: of one with the name of a secret the default."""
        places = range(begin, min(begin + _LONGEST_NAME, len(self._places)))
        value = next((at for at in places if self._text(at).upper() in ("DEFAULT", "=", ";")), None)
        if value is None or not any(is_secret(self._name(at, at + 1)) for at in range(begin, value)):
            return begin
        end = self._end(value, ";")
        self._hide(value + 1, end)
        return end

    def _set(self, begin: int) -> int:
        """A property that a statement sets: its value goes to the statement's end, whatever it is made of."""
        first = self._text(begin).upper()
        if first in _VARIABLES:
            return self._variables(begin + 1)
        equals = self._equals(begin)
        if equals is None or first in _LISTS | _SET_NO_PROPERTY:
            return begin
        name = self._name(begin, equals)
        if is_shown_property(name) or ("." not in name and not is_secret(name)):
            return begin
        # A text of one statement may have semicolons in its value; one of several is a script.
        places = range(begin, len(self._places))
        ends = len(self._places) if begin == 1 else next((at for at in places if self._text(at) == ";"), None)
        end = len(self._places) if ends is None else ends
        self._hide(equals + 1, end)
        return end


def _spaced(token: Token) -> str:
    """What stands in place of a token before anybody has looked at it: for a comment a space."""
    if token.kind is not TokenKind.COMMENT:
        return token.text
    return "" if token.text.startswith("--") else " "
