"""
Redaction reads any text in time that grows with its length, not with the square of it.

A regular expression holds Python's lock while it runs, so a quadratic one would stop the threads of the user's program.
Time is not measured: the calls are counted, and the patterns are read.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from openlineage_pyspark.facets import redaction, sql_lexer, urls
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.redaction.names import Named
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.facets.redaction.text import secrets_in

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as parser

OPEN = Redaction(known=("k9-known-value", "abc", "1234"))
MASKED = Redaction(mask_literals=True)
ENTRIES: dict[str, Callable[[str], Any]] = {
    "text": OPEN.text,
    "sql": OPEN.sql,
    "sql of a run that names a secret": lambda text: OPEN.sql(text, Named.SECRET_NUMBER),
    "message": OPEN.message,
    "masked sql": MASKED.sql,
    "masked message": MASKED.message,
    "secrets_in": lambda text: list(secrets_in(text)),
    "location": naming.location,
    "snake_case": naming.snake_case,
}
PIECES = """
    ~|a|A|1|:|'|"|`|\\|\\'|\\"|(|)|[|]|{|}|<|>|=|,|;|--|@|//|?|#|^|'x'~|b'|$$|/*|*/
    password|password~|password=|password='|password="|password=\\"|password=[|password={|password(|password: |pw~|key:~
    password=x;|password=x y;|password=none;|('password',~|[['a','b'],['password',|<password>|<password a=|value=
    <name>password</name><value>|name=password,|value='x',name=password~|'x' = password~|password in (|password~= '
    password 'x'~|--password~|'--password',|-u a:b~|mysql -p|token: Bearer~|Authorization:~|api key:~|password as~
    https://|https://a:|//a:|a:b@|a/b@|jdbc:|jdbc:a;b=c|jdbc:{|'jdbc:|https://hooks.|Map(|Map(a -> b,|{a=b,|[a=b,
    -----BEGIN PRIVATE KEY-----|eyJ-|bearer~|sk-a|Schema '|A.|aError|[AB_|== SQL ==|at a(|+- |X;|Caused by:~
    CASE~|CASE password WHEN 'x'~|END~|AND~|BETWEEN~|OPTIONS (|OPTIONS ('a' 'b',|'a' 'b',|SET a.b=|BEGIN SET~
    SET VAR pin =~|BEGIN DECLARE password~
    aes_encrypt(|map('password',|f(password,|(password,|password = (
    VALUES ('a','b'),|    INSERT INTO t (a, password) VALUES ('x','y')~
    WITH q(a, password) AS (SELECT 'x',|'x' AS password,|((1,|x ->~
"""
ADVERSARIES = [piece.replace("~", " ") for line in PIECES.split("\n") for piece in line.strip().split("|") if piece]
LINES = ["password:\n  ", "password: |\n  ", "password=\n", "password=a\\\n  ", "\n", "a:\n", "x';\n", "  at a(\n"]


def calls(entry: Callable[[str], Any], text: str) -> int:
    """Count the calls of functions, in Python and in C, that reading a text takes."""
    count = 0

    def note(_frame: FrameType, event: str, _function: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        entry(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_a_text_four_times_as_long_takes_about_four_times_as_many_steps(name: str, *, is_all: bool) -> None:
    entry = ENTRIES[name]
    entry("SET password = 'x'")
    grown = []
    for piece in (*ADVERSARIES, *LINES)[len(name) % 3 * (not is_all) :: 1 if is_all else 3]:
        for quote in ("", "'"):
            # A text that another entry has read may be known.
            few, many = (calls(entry, f"x'{name}{quote}" + piece * count) for count in (40, 160))
            if many > 5 * few + 200:
                grown.append((quote, piece, few, many))

    assert grown == []


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_two_hundred_kilobytes_of_anything_are_read(name: str) -> None:
    """A pass over the whole text for each of its parts would take hours here."""
    for piece in (
        "  ",
        "a",
        "':",
        "\\\\",
        "//a:",
        "password='\\",
        "pw=[",
        "jdbc:{",
        "OPTIONS ('a' 'b',",
        "CASE (",
        "A.A",
    ):
        assert ENTRIES[name](piece * (200_000 // len(piece))) is not None


# The patterns themselves: where two repeats without an end can take the same characters one after the other, a text of
# n such characters is divided between them in n ways.

CHARACTERS = frozenset(map(chr, range(128)))
UNBOUNDED = 1000
"""A repeat that may take more than this is taken to have no end."""


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    names = [f"{redaction.__name__}.{module.name}" for module in pkgutil.iter_modules(redaction.__path__)]
    for module in (*map(importlib.import_module, names), urls, sql_lexer, naming):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", value


def starts(items: Any) -> tuple[frozenset[str], bool]:
    """Return the characters with which a sequence of items can begin, and whether it can be empty."""
    found: frozenset[str] = frozenset()
    for kind, value in items:
        first, empty = starts_of(str(kind), value)
        found |= first
        if not empty:
            return found, False
    return found, True


def starts_of(kind: str, value: Any) -> tuple[frozenset[str], bool]:
    if kind in ("LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"):
        return single(kind, value), False
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        first, empty = starts(value[2])
        return first, empty or value[0] == 0
    if kind == "SUBPATTERN":
        return starts(value[3])
    if kind == "ATOMIC_GROUP":
        return starts(value)
    if kind == "BRANCH":
        branches = [starts(branch) for branch in value[1]]
        return frozenset().union(*(first for first, _ in branches)), any(empty for _, empty in branches)
    # Positions, assertions: they take no character. A conditional or a reference may take any.
    return (frozenset(), True) if kind in ("AT", "ASSERT", "ASSERT_NOT") else (CHARACTERS, True)


def single(kind: str, value: Any) -> frozenset[str]:
    """Return the characters that an item for one character takes."""
    if kind == "ANY":
        return CHARACTERS
    if kind == "LITERAL":
        return frozenset((chr(value).lower(), chr(value).upper()))
    if kind == "NOT_LITERAL":
        return CHARACTERS - {chr(value)}
    if kind == "RANGE":
        return frozenset(map(chr, range(value[0], min(value[1], 127) + 1)))
    if kind == "CATEGORY":
        code = {"SPACE": r"\s", "DIGIT": r"\d", "WORD": r"\w"}[str(value).rpartition("_")[2]]
        code = code.upper() if "NOT" in str(value) else code
        return frozenset(character for character in CHARACTERS if re.match(code, character))
    negated = bool(value) and str(value[0][0]) == "NEGATE"
    taken = frozenset().union(*(single(str(part), inner) for part, inner in value if str(part) != "NEGATE"))
    return CHARACTERS - taken if negated else taken


def clashes(pattern: str, flags: int = 0) -> list[str]:
    """Return the first characters of each repeat without an end that follows another one that may take them too."""
    found: list[str] = []
    walk(parser.parse(pattern, flags), [], found)
    return found


def walk(items: Any, before: list[frozenset[str]], found: list[str]) -> list[frozenset[str]]:
    """
    Read a sequence of items, and return the repeats without an end that may stand at its end.

    Args:
        items: as Python's parser gives them.
        before: the repeats that may stand before it.
        found: takes what is wrong.
    """
    for kind, value in items:
        name = str(kind)
        first, empty = starts_of(name, value)
        after = []
        if name == "SUBPATTERN":
            before = walk(value[3], before, found)
            continue
        if name == "BRANCH":
            before = [repeat for branch in value[1] for repeat in walk(branch, before, found)]
            continue
        if name in ("MAX_REPEAT", "MIN_REPEAT") and value[1] > UNBOUNDED:
            if any(first & other for other in before):
                found.append("".join(sorted(first)[:3]))
            # The next round follows this one.
            walk(value[2], walk(value[2], [], found), found)
            after = [first]
        before = [*(before if empty else []), *after]
    return before


@pytest.mark.parametrize(("name", "pattern"), [pytest.param(*each, id=each[0]) for each in patterns()])
def test_no_pattern_has_two_endless_repeats_of_the_same_characters_in_a_row(
    name: str, pattern: re.Pattern[str]
) -> None:
    assert clashes(pattern.pattern, pattern.flags & ~re.UNICODE) == []


def test_the_reading_of_patterns_sees_what_would_be_quadratic() -> None:
    assert clashes(r"\s*:?\s*x") == clashes(r"(\s*):?(a|\s+)x") == ["\t\n\x0b"]
    assert clashes(r"(?:a\w*)b?\d+") == clashes(r"(?:\d+)+") == ["012"]
    assert clashes(r"\s*:\s*x") == clashes(r"\s*\w+") == clashes(r"[^\\]*(?:\\.[^\\]*)*") == []
