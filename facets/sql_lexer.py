"""
The tokens of a text in Spark SQL, by Spark's own lexical rules (SqlBaseLexer.g4).

Every text has tokens, even one that Spark's parser rejects or that was cut off. Joined, the tokens are the text again.
The lexer needs one pass, linear in the length of the text.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple


class TokenKind(enum.Enum):
    """The kind of a token."""

    SPACE = "white space"
    COMMENT = "a comment, or a hint"
    STRING = "a string: plain, raw, binary or dollar-quoted"
    NUMBER = "a number"
    NAME = "a name in backticks"
    WORD = "a keyword or a plain name"
    SYMBOL = "anything else: one character, or the arrow of a named argument (=>)"


class Token(NamedTuple):
    """
    One token.

    Args:
        kind: its kind.
        text: its characters.
        whole: whether it is complete; False for a string, name or comment that the end of the text cuts off.
    """

    kind: TokenKind
    text: str
    whole: bool = True


# The alternatives are named after the kinds. Each consumes all that it has scanned, so nothing is scanned twice.
_TOKEN = re.compile(
    r"""
    (?P<SPACE>\s+)
    | (?P<COMMENT>--[^\r\n\\]*(?:\\\n?[^\r\n\\]*)*)
    | (?P<open>/\*)
    | (?P<dollar>\$\w{0,64}\$)
    | (?P<STRING>[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z))
        | [xX]?(?:'[^'\\]*(?:(?:\\.|\\\Z|'')[^'\\]*)*(?:'|\Z)|"[^"\\]*(?:(?:\\.|\\\Z|"")[^"\\]*)*(?:"|\Z)))
    | (?P<NAME>`[^`]*(?:``[^`]*)*(?:`|\Z))
    | (?P<NUMBER>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LSYDFlsydf])?(?!\w))
    | (?P<WORD>\w+)
    | (?P<SYMBOL>=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"/\*|\*/")
_KINDS = {kind.name: kind for kind in TokenKind} | {"open": TokenKind.COMMENT, "dollar": TokenKind.STRING}
"""Name of an alternative -> the kind of its tokens."""


def tokens(text: str, begin: int = 0) -> Iterator[Token]:
    """
    Yield the tokens of a text; joined, they are the text again.

    Args:
        text: SQL, a part of it, or anything else.
        begin: the position of the first token.
    """
    at = begin
    # The last alternative matches any character, so there is a match until the end.
    while (found := _TOKEN.match(text, at)) is not None:
        name, end, whole = found.lastgroup or "SYMBOL", found.end(), True
        if name == "open":
            end, whole = _end_of_comment(text, at)
        elif name == "dollar":
            close = text.find(found.group(), end)
            whole = close >= 0
            end = close + len(found.group()) if whole else len(text)
        elif name in ("STRING", "NAME"):
            whole = end < len(text) or _is_closed(found.group())
        yield Token(_KINDS[name], text[at:end], whole)
        at = end


def unquoted(token: Token) -> str:
    """Return the value of a string, or the name in backticks: without quotes, with escapes resolved."""
    text = token.text
    raw = text[:1] in "rR" and text[1:2] in ("'", '"')
    if raw or text[:1] in "xX":
        text = text[1:]
    if text.startswith("$"):
        tag = text[: text.index("$", 1) + 1]
        return text[len(tag) :].removesuffix(tag) if token.whole else text[len(tag) :]
    quote, inner = text[:1], text[1:-1] if token.whole else text[1:]
    if raw:
        return inner
    inner = inner.replace(quote * 2, quote)
    return inner if quote == "`" or "\\" not in inner else _ESCAPE.sub(_unescaped, inner)


def dotted(text: str, begin: int = 0) -> tuple[str, ...]:
    """Return the parts of a dotted name, each perhaps in backticks; none if there is no name."""
    parts: list[str] = []
    wanted = True
    for token in tokens(text[begin:]):
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            continue
        is_name = token.kind in (TokenKind.WORD, TokenKind.NAME, TokenKind.NUMBER)
        if wanted and is_name:
            parts.append(unquoted(token) if token.kind is TokenKind.NAME else token.text)
        elif wanted or token.text != ".":
            break
        wanted = not wanted
    return tuple(parts)


def replaced(text: str, kinds: Collection[TokenKind], instead: str) -> str:
    """
    Return a text in which the tokens of some kinds are replaced.

    Args:
        text: the text.
        kinds: the kinds of the tokens to replace.
        instead: the text that replaces each of them.
    """
    return "".join(instead if token.kind in kinds else token.text for token in tokens(text))


def string_literal(value: str) -> str:
    """Return a value as a SQL string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([0-3][0-7]{2})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}


def _unescaped(found: re.Match[str]) -> str:
    unicode, octal, other = found.groups()
    if unicode or octal:
        return chr(int(unicode, 16) if unicode else int(octal, 8))
    return _LETTERS.get(other, other)


def _end_of_comment(text: str, start: int) -> tuple[int, bool]:
    """Return the end of a bracketed comment, and whether it is closed; Spark's comments nest."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end(), True
    return len(text), False


def _is_closed(text: str) -> bool:
    """Return whether a string or name at the very end of a text has its closing quote."""
    body = text[1:] if text[:1] in "rRxX" else text
    quote, inner = body[:1], body[1:-1]
    if len(body) < 2 or not body.endswith(quote):
        return False
    if text[:1] in "rR" and quote != "`":
        return True
    # The last quote closes the string unless it is escaped: by a backslash, or as the second of a pair.
    backslashes = 0 if quote == "`" else len(inner) - len(inner.rstrip("\\"))
    if backslashes % 2:
        return False
    pairs = len(inner) - len(inner.rstrip(quote))
    return pairs % 2 == 0 or (backslashes > 0 and pairs == 0)
