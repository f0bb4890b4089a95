"""Statements, and what they do to tables, in the form in which they are compared."""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.databricks import manages_no_table
from openlineage_pyspark.workbench.predict.sql.versions import with_versions

if TYPE_CHECKING:
    from openlineage_pyspark.facets.sql_lexer import Token

_LEFT_OUT = (TokenKind.SPACE, TokenKind.COMMENT)
# Statements that change neither rows nor what later statements mean.
_INERT = frozenset(
    "ANALYZE COMMENT COMMIT DENY DESC DESCRIBE EXPLAIN GRANT KILL LIST LOCK OPTIMIZE REVOKE SHOW UNLOCK VACUUM".split()
)
# Statements that change only what later statements mean.
_OF_SESSION = frozenset("ADD DECLARE LET RESET RETURN SET USE".split())
# Statements that change only the table that they name.
_OF_ONE_TABLE = frozenset("ALTER CONVERT FSCK LOAD MSCK REORG RESTORE UNDROP".split())
_QUERIES = frozenset("( FROM SELECT TABLE VALUES WITH".split())
_WRITES = frozenset("DELETE INSERT INTO MERGE UPDATE".split())
# Pairs of words: a version of a table, and the newest rows or the history of each key.
_BESIDES = frozenset({("AS", "OF"), ("APPLY", "CHANGES"), ("AUTO", "CDC")})
_FUNCTIONS_OF_VERSIONS = frozenset(
    {"CLOUD_FILES", "READ_FILES", "READ_KAFKA", "TABLE_CHANGES", "TABLE_CHANGES_BY_PATH"}
)
"""Functions that are read as the tables or files that they name, without their other arguments."""
# Parts of the names of what makes values of the names of columns; a setting has any text as its value.
_MAKES_VALUES = re.compile("JSON|OBJECT|STRUCT|TYPEOF|UNPIVOT|VARIANT|XML")
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
        may_read: the names of what it may read, in lower case, and the pieces of these, if it has no plan; None if it
            may read anything.
        is_known: whether everything that it does is known; otherwise it may affect any table.
        is_declaration: whether it only declares an existing table.
        within: the current catalog and database.
        writes: the writes of a script.
        code: everything, beside the tables, that decides what it does; by default its text without comments and white
            space.
        words_of_names: what names of further tables may be made of that a script may write, in lower case; None if it
            writes nothing but its targets.
        script: the script, if it is one act of it; else empty.
        behind: everything that decides what an act does, for the case that its plan does not show all of it.
        settings: what the session has set at an act, and what else of the script an act depends on; for a model of dbt,
            what else of its project decides about it.
        is_whole: whether a write replaces everything in its target.
        names: the columns of the target in the order of a written DataFrame; empty if they have the same names.
        held: the tables and places of the DataFrames that the script has made before an act.
    """

    file: str
    line: int
    text: str
    kind: str
    shape: str = ""
    targets: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    may_read: frozenset[str] | None = None
    is_known: bool = True
    is_declaration: bool = False
    within: str = ""
    writes: tuple[ScriptWrite, ...] = ()
    code: str = ""
    words_of_names: frozenset[str] | None = None
    script: str = ""
    behind: str = ""
    settings: str = ""
    is_whole: bool = False
    names: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return a key that is equal for two statements that differ only in comments and white space."""
        return self.code or plain_text(self.text)

    @property
    def spelling(self) -> str:
        """Return its names as they are written, if it may make values of them, such as keys of JSON; else nothing."""
        is_setting = self.words[:1] == ("SET",)
        return spelled_text(self.text) if is_setting or _MAKES_VALUES.search(self.key.upper()) is not None else ""

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
    def is_inert(self) -> bool:
        """Return whether it changes neither rows nor what later statements mean."""
        first = self.words[0] if self.words and not self.kind else ""
        # A procedure of which everything is known changes no rows.
        return first in _INERT or (self.kind == "Call" and self.is_known)

    @property
    def may_change_any(self) -> bool:
        """Return whether a statement that names no target may change any table."""
        first = self.words[0] if self.words else ""
        if first in _QUERIES:
            return not _WRITES.isdisjoint(self.words)
        if first == "CREATE":
            # Of all that can be created, only a flow fills a table that exists.
            return "FLOW" in self.words[:2]
        return first not in _OF_SESSION and not manages_no_table(self.text)

    @property
    def is_query(self) -> bool:
        """Return whether it only queries: it changes no table, and nothing of the session."""
        return bool(self.words) and self.words[0] in _QUERIES and not self.may_change_any

    @property
    def names_its_table(self) -> bool:
        """Return whether its text has the name of the only table that it changes."""
        return not _OF_ONE_TABLE.isdisjoint(self.words[:1])

    @property
    def is_random(self) -> bool:
        """Return whether one of its words may be a random function."""
        return not _RANDOM.isdisjoint(self.words)

    @property
    def has_more_than_its_plan(self) -> bool:
        """Return whether the plan leaves out what it reads or keeps: another version, or the changes of each key."""
        words = _words(with_versions(self.text))
        pairs = itertools.pairwise(words)
        return not (_BESIDES.isdisjoint(pairs) and _FUNCTIONS_OF_VERSIONS.isdisjoint(words))


def plain_text(text: str) -> str:
    """Return a statement without comments and white space, and with its words in capitals. Hints stay."""
    return " ".join(_words(text))


def spelled_text(text: str) -> str:
    """Return a statement without white space; its words keep their case. A comment is a part of a setting's value."""
    kept = [each for each in tokens(text) if each.kind is not TokenKind.SPACE]
    begin = next((at for at, each in enumerate(kept) if each.kind is not TokenKind.COMMENT), len(kept))
    is_setting = [each.text.upper() for each in kept[begin : begin + 1]] == ["SET"]
    return " ".join(each.text for each in kept[begin + is_setting :] if is_setting or _is_kept(each))


def _is_kept(token: Token) -> bool:
    return token.kind not in _LEFT_OUT or token.text.startswith("/*+")


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a statement; cached, because a comparison of two sequences needs them many times."""
    kept = filter(_is_kept, tokens(text))
    return tuple(each.text.upper() if each.kind is TokenKind.WORD else each.text for each in kept)
