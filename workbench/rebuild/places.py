"""The locations of tables and files: two names may mean the same place, or one may mean a part of the other's."""

from __future__ import annotations

import functools
import posixpath
import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.predict.acts import TEMPORARY
from openlineage_pyspark.workbench.predict.project_code import PIECE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from collections.abc import Set as AbstractSet

# What stands for several texts in a path: a glob of Hadoop, or a value that only data know.
_WILD = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[*?]+")
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"\w+")
_SHORT = 2
"""Longer words are found in a text because they belong to a name."""
_BEFORE = re.compile(r"^[^/]*/+")
_DATABASE = re.compile(r"(?:ALTER|CREATE) (?:DATABASE|NAMESPACE|SCHEMA) (?:IF NOT EXISTS )?(\S+(?: \. \S+)*)")
_MANAGED = re.compile(r"(?:^|/)(?:([^/]+)\.db|(?:spark-)?warehouse(?!/[^/]+\.db(?:/|$)))/([^/]+)")
# Words by which a definition decides about rows: where they are, how values are made that no statement sets, or, of a
# table that is only declared, a query that fills it.
_DECIDING = frozenset(
    """LOCATION OPTIONS EXTERNAL TBLPROPERTIES PATH LIKE CLONE GENERATED IDENTITY DEFAULT CHECK CONSTRAINT CHAR VARCHAR
    CHARACTER MASK SELECT VALUES""".split()
)
# Formats that return each value as it was written.
_FAITHFUL = frozenset({"PARQUET", "ORC", "DELTA", "ICEBERG"})
_FOREIGN = frozenset({"OPTIONS", "PATH", "TBLPROPERTIES"})


@attrs.frozen
class TableDefinition:
    """
    The definition in a statement that creates or declares a table, apart from the names and types of its columns.

    Args:
        words: the words of the statement.
    """

    words: tuple[str, ...]

    @property
    def may_decide_rows(self) -> bool:
        """Return whether the definition may decide about the rows."""
        return not _DECIDING.isdisjoint(self.words)

    @property
    def partitions(self) -> str:
        """Return the words of PARTITIONED BY, in lower case and without quotes; empty if there are none."""
        at = self.words.index("PARTITIONED") if "PARTITIONED" in self.words else len(self.words)
        end = self.words.index(")", at) if ")" in self.words[at:] else len(self.words)
        return " ".join(self.words[at:end]).replace("`", "").lower()

    @property
    def may_change_values(self) -> bool:
        """Return whether the format may return other values than were written: CSV returns NULL for an empty text."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return not {after for word, after in pairs if word in ("USING", "STORED", "ROW")} <= _FAITHFUL

    @property
    def is_faithful(self) -> bool:
        """Return whether the table returns each value as it was written."""
        # A partition has the same name for NULL as for an empty text.
        return not self.may_change_values and "PARTITIONED" not in self.words and not self.may_decide_rows

    @property
    def keeps_no_existing(self) -> bool:
        """Return whether the statement never keeps an existing table, as one with IF NOT EXISTS does."""
        return ("IF", "NOT") not in zip(self.words, self.words[1:], strict=False)

    @property
    def location(self) -> str:
        """Return the path of the rows; empty if the statement names none."""
        at = self.words.index("LOCATION") + 1 if "LOCATION" in self.words else len(self.words)
        return shared_path_of(self.words[at].strip("'\"")) if at < len(self.words) else ""

    @property
    def is_foreign(self) -> bool:
        """Return whether the rows may be anywhere."""
        return not _FOREIGN.isdisjoint(self.words)


def key_of_name(name: str) -> str:
    """
    Return the key of a full name: names that differ only in case mean the same table, unless they are paths.

    Args:
        name: the name, with its catalog.
    """
    table, slash, path = name.replace("`", "").partition("/")
    return f"{table.lower()}{slash}{path}".removeprefix("spark_catalog.")


def shared_path_of(name: str) -> str:
    """
    Return the path in the name of a dataset, without the file system; empty if the name is not a path.

    Args:
        name: a URI, a path, or a format with a path.
    """
    if "/" not in name:
        return ""
    # A path may be written with `//`, `.` or `..`.
    return posixpath.normpath(f"/{_BEFORE.sub('', name.replace('`', ''))}").strip("/").lower()


def database_of(words: Sequence[str]) -> tuple[str, str]:
    """
    Return the name of the database that a statement creates or moves, and the path of its new tables; or empty texts.

    Args:
        words: the words of the statement.
    """
    found = _DATABASE.match(" ".join(words))
    name = "" if found is None else found[1].replace(" ", "").replace("`", "").lower()
    return name.removeprefix("spark_catalog."), TableDefinition(tuple(words)).location


def managed_path_of(key: str) -> str:
    """Return the end of the path in Hive's warehouse at which a table is that names no location."""
    database, _, table = key.rpartition(".")
    return f"{database.rpartition('.')[2]}.db/{table}" if database else ""


def managed_table_at(path: str) -> str:
    """Return the key of the table that is at a path in Hive's warehouse; empty if none can be."""
    found = _MANAGED.search(path)
    return "" if found is None else f"{found[1] or 'default'}.{found[2]}"


def may_share(one: str, other: str) -> bool:
    """
    Return whether two paths may be the same place, or one a part of the other.

    Args:
        one: a path.
        other: another path.
    """
    short, long = sorted((one.strip("/").split("/"), other.strip("/").split("/")), key=len)
    found = range(len(long) - len(short) + 1)
    return any(all(map(_may_be_one_part, short, long[at:])) for at in found)


def is_pattern(name: str) -> bool:
    """
    Return whether a name stands for several ones.

    Args:
        name: the name of a table or a path, in which a script may have put values that only data know.
    """
    return _WILD.search(name) is not None


def may_be_one(pattern: str, name: str) -> bool:
    """Return whether a name of a table may be one of those for which a pattern stands."""
    return is_pattern(pattern) and _may_be_one_part(pattern, name)


def name_words(text: str) -> list[str]:
    """Return the words that names in a text are made of, in lower case."""
    return _WORD.findall(text.lower())


def may_be_made_of(name: str, words: Collection[str]) -> bool:
    """
    Return whether a text may contain the name of a table or a path, or a part of it.

    Args:
        name: the name.
        words: the words of the text, in lower case.
    """
    last = name_words(re.split(r"[./]", name.rstrip("/`"))[-1])
    return any(each in words for each in last if len(each) > _SHORT or len(last) == 1) or (
        len(last) > 1 and all(each in words for each in last)
    )


def is_named_by(name: str, names: AbstractSet[str]) -> bool:
    """
    Return whether a text may contain the last part of the name of a table or a path, or make it of pieces.

    Args:
        name: the name.
        names: the names in the text, in lower case, and the pieces, each after the mark `PIECE`.
    """
    return all(each in names or pieces <= names for each, pieces in _last_parts(name))


@functools.lru_cache(maxsize=65536)
def _last_parts(name: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return what the last part of a name consists of, each with its pieces; cached, since texts are many."""
    parts = _PART.findall(re.split(r"[./]", name.removeprefix(TEMPORARY).rstrip("/`"))[-1].lower())
    return tuple((each, frozenset(f"{PIECE}{piece}" for piece in name_words(each))) for each in parts)


def _may_be_one_part(one: str, other: str) -> bool:
    """Return whether two parts of paths may be the same: a pattern in them stands for any text."""
    if one == other:
        return True
    wild = [is_pattern(each) for each in (one, other)]
    if all(wild):
        return True
    pattern, text = (one, other) if wild[0] else (other, one)
    return any(wild) and re.fullmatch(".*".join(map(re.escape, _WILD.split(pattern))), text) is not None
