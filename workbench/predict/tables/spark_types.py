"""The types of columns that Spark knows, and those of other engines that are the same in Spark."""

from __future__ import annotations

import contextlib
import functools
import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

_PLAIN = frozenset(
    "BIGINT BINARY BOOLEAN BYTE CHAR CHARACTER DATE DEC DECIMAL DOUBLE FLOAT GEOGRAPHY GEOMETRY INT INTEGER LONG"
    " NUMERIC REAL SHORT SMALLINT STRING TIME TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT VARCHAR VARIANT"
    " VOID".split()
)
_WITH_LENGTH = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
_UNITS = frozenset("YEAR MONTH WEEK DAY HOUR MINUTE SECOND TO".split())
# The engines whose names of types may be meant.
_ENGINES = ("snowflake", "bigquery", "postgres", "trino", "tsql", "oracle", "clickhouse")
_LENGTH = re.compile(r"[-\w]+")


def is_spark_type(text: str) -> bool:
    """Return whether Spark knows a type, such as `ARRAY<DECIMAL(10,2)>`."""
    left = _Words(text)
    try:
        return left.take_type() and left.is_empty
    except RecursionError:
        return False


@functools.lru_cache(maxsize=4096)
def spark_type(text: str) -> str:
    """
    Return a type as Spark names it: one of Spark, or one of other engines.

    It is empty if no engine knows the type, or if it is one type here and another there, as INT8 is.
    """
    if is_spark_type(text):
        return text
    # It takes a while to import, and few types need it.
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    found = set()
    for engine in _ENGINES:
        with contextlib.suppress(SqlglotError, ValueError, RecursionError):
            found.add(exp.DataType.build(text, dialect=engine).sql(dialect="spark"))
    meant = {each for each in found if is_spark_type(each)}
    return meant.pop() if len(meant) == 1 else ""


class _Words:
    """
    The words of a type that are not read yet.

    Args:
        text: the type.
    """

    def __init__(self, text: str) -> None:
        kept = [each for each in tokens(text) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
        self._words = [each.text.upper() for each in reversed(kept)]

    @property
    def is_empty(self) -> bool:
        """Return whether all words are read."""
        return not self._words

    def take_type(self) -> bool:
        """Read a type, and return whether there was one."""
        if self._take("ARRAY"):
            return self._take("<") and self.take_type() and self._take(">")
        if self._take("MAP"):
            return self._take("<") and self.take_type() and self._take(",") and self.take_type() and self._take(">")
        if self._take("STRUCT"):
            return self._take("<") and (self._take(">") or self._take_fields())
        if self._take("INTERVAL"):
            while self._next in _UNITS:
                self._words.pop()
            return True
        if self._next not in _PLAIN:
            return False
        word = self._words.pop()
        if self._take("COLLATE"):
            return self._take_any()
        return self._take_lengths() if self._take("(") else word not in _WITH_LENGTH

    def _take_fields(self) -> bool:
        while True:
            if not self._take_any():
                return False
            self._take(":")
            if not self.take_type():
                return False
            if self._take("NOT") and not self._take("NULL"):
                return False
            if self._take("COMMENT"):
                self._take_any()
            if not self._take(","):
                return self._take(">")

    def _take_lengths(self) -> bool:
        while _LENGTH.fullmatch(self._next) is not None:
            self._words.pop()
            if not self._take(","):
                return self._take(")")
        return False

    @property
    def _next(self) -> str:
        return self._words[-1] if self._words else ""

    def _take(self, word: str) -> bool:
        """Read a word if it is the next one, and return whether it was."""
        is_next = self._next == word
        if is_next:
            self._words.pop()
        return is_next

    def _take_any(self) -> bool:
        """Read a word, such as a name, and return whether there was one."""
        is_there = not self.is_empty
        if is_there:
            self._words.pop()
        return is_there
