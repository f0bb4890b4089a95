"""The statements of a plan: what rolls back, empties or copies a table. `rewriting` has the user's own."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.facts import DatasetFacts

OVERWRITTEN_FORMATS = frozenset({"parquet", "orc", "avro", "csv", "json", "text"})
"""The formats of files without versions. A table of these may be external, which TRUNCATE TABLE refuses."""

_EMPTY = "_empty"

PLAIN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
"""What a part of a name may have without backquotes, and in lower case."""


def table_in_sql(name: str) -> str:
    """Return a name of dotted parts as Spark takes it: parts with other characters stand in backquotes."""
    return ".".join(_quoted(part) for part in name_parts(name))


def _quoted(part: str) -> str:
    return part if part and set(part.lower()) <= PLAIN_CHARACTERS else f"`{part.replace('`', '``')}`"


def name_parts(name: str) -> list[str]:
    """Return the parts of a name, of which those in backquotes may have dots."""
    parts, quote = [""], False
    for sign in name:
        if sign == "`":
            quote = not quote
        elif sign == "." and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def roll_back(dataset: DatasetFacts, version: str) -> str:
    """Return the statement that makes a table what it was at a version."""
    name = table_in_sql(dataset.sql)
    if dataset.format == "delta":
        return f"RESTORE TABLE {name} TO VERSION AS OF {version}"
    parts = [_quoted(part) for part in name_parts(dataset.sql)]
    catalog = f"{parts.pop(0)}." if names_catalog(dataset) else ""
    table = ".".join(parts).replace("\\", "\\\\").replace("'", "\\'")
    return f"CALL {catalog}system.rollback_to_snapshot('{table}', {version})"


def names_catalog(dataset: DatasetFacts) -> bool:
    """Return whether the name of a dataset in statements has its catalog; without one, it is in the current one."""
    return len(name_parts(dataset.sql)) > 2


def is_version(text: str) -> bool:
    """Return whether a text is a version of Iceberg or Delta Lake: a number, and nothing else."""
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal()


def empty(dataset: DatasetFacts) -> tuple[str, ...]:
    """Return the statements that remove all rows of a table; none if it has no name in SQL."""
    if not dataset.sql:
        return ()
    if is_overwritten(dataset):
        # Spark refuses to overwrite what the same statement reads.
        copy = copy_name(dataset, _EMPTY)
        return copied(dataset, copy, ""), *switched(dataset, copy)
    verb = "DELETE FROM" if dataset.has_versions else "TRUNCATE TABLE"
    return (f"{verb} {table_in_sql(dataset.sql)}",)


def empty_external(dataset: DatasetFacts, *, has_partitions: bool) -> tuple[str, ...]:
    """
    Return the statements that remove all rows of an external table of Hive's, which TRUNCATE TABLE refuses.

    Of such a table with partitions, an INSERT OVERWRITE without rows removes nothing and says nothing. So its files are
    removed, and then the partitions without files.

    Args:
        dataset: the table.
        has_partitions: whether it has some; no event says so.

    Returns:
        None if it has no name in SQL, or if they need its location and that is not known.
    """
    if not dataset.sql or (has_partitions and not dataset.location):
        return ()
    if not has_partitions:
        copy = copy_name(dataset, _EMPTY)
        return copied(attrs.evolve(dataset, format="parquet"), copy, ""), *switched(dataset, copy)
    place = dataset.location.replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"INSERT OVERWRITE DIRECTORY '{place}' USING text SELECT '' WHERE false",
        f"MSCK REPAIR TABLE {table_in_sql(dataset.sql)} SYNC PARTITIONS",
    )


def is_overwritten(dataset: DatasetFacts) -> bool:
    """Return whether a table is emptied by overwriting it with no rows."""
    return dataset.format in OVERWRITTEN_FORMATS and not is_table_of_path(dataset.sql)


def drop(dataset: DatasetFacts) -> str:
    """Return the statement that drops a table."""
    return f"DROP TABLE IF EXISTS {table_in_sql(dataset.sql)}"


def copy_name(dataset: DatasetFacts, suffix: str) -> str:
    """Return the name of a table's copy, as statements have it."""
    *above, last = name_parts(dataset.sql)
    return table_in_sql(".".join(f"`{part}`" for part in (*above, f"{last.rstrip('/')}{suffix}")))


def copied(dataset: DatasetFacts, copy: str, version: str) -> str:
    """
    Return the statement that copies a table.

    Args:
        dataset: the table.
        copy: the name of the copy.
        version: what it is to hold; empty for no rows.
    """
    using = f" USING {dataset.format}" if dataset.format else ""
    rows = f"VERSION AS OF {version}" if version else "WHERE false"
    query = f"SELECT * FROM {table_in_sql(dataset.sql)} {rows}"  # noqa: S608 (it is shown to a person first)
    return f"CREATE TABLE {table_in_sql(copy)}{using} AS {query}"


def switched(dataset: DatasetFacts, copy: str) -> tuple[str, ...]:
    """Return the statements that give a table the rows of its corrected copy, and drop that if a statement can."""
    text = f"INSERT OVERWRITE {table_in_sql(dataset.sql)} SELECT * FROM {table_in_sql(copy)}"  # noqa: S608 (as above)
    return (text,) if is_table_of_path(copy) else (text, f"DROP TABLE {table_in_sql(copy)}")


def is_table_of_path(name: str) -> bool:
    """Return whether a name is a path, such as delta.`/path`: DROP TABLE leaves all files of such a table, silently."""
    return "/" in name_parts(name)[-1]


def shell(words: Sequence[str]) -> str:
    """Return a command as a shell takes it."""
    return shlex.join(words)
