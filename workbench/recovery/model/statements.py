"""The statements of a plan: what rolls back, empties or copies a table. `rewriting` has the user's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import attrs
from openlineage_pyspark.facets.sql_names import name_parts
from openlineage_pyspark.workbench.recovery.model.plan import TableId

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts

OVERWRITTEN_FORMATS = frozenset({"parquet", "orc", "avro", "csv", "json", "text"})
"""The formats of files without versions. A table of these may be external, which TRUNCATE TABLE refuses."""

FORMATS = OVERWRITTEN_FORMATS | {"iceberg", "delta", "hudi", "paimon"}
"""The formats that a statement may name after USING. Other formats that an event names are left out."""

# Files of text alter some rows: CSV cuts off blanks, and JSON parts of seconds. On Spark 3.5, a table without USING is
# a Hive table of text.
_UNALTERING = FORMATS - {"csv", "json", "text"}

_EMPTY = "_empty"
_KEPT = "_before_recovery"
_BESIDE = "_s1"
_MAKES = re.compile(r"CREATE TABLE ((?:`(?:[^`]|``)*`|[^`\s])+) ")
_DROPS = re.compile(r"DROP TABLE (?:IF EXISTS )?(.+)", re.DOTALL)
_COPIES = re.compile(r" AS SELECT \* FROM (.+?)(?: VERSION AS OF -?\d+| WHERE false)?\Z", re.DOTALL)

NO_ROWS = "no rows"
"""The pin of a table that had no version yet: it is read without its rows."""

WHOLE_TABLE = ("spark.sql.sources.partitionOverwriteMode", "STATIC")
"""The setting under which INSERT OVERWRITE replaces all rows of a table, and not those of some partitions."""

PLAIN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
"""The characters of a part of a name that needs no backquotes, in lower case."""


def table_in_sql(name: str) -> str:
    """Return a name of dotted parts as Spark accepts it: parts with other characters are in backquotes."""
    return ".".join(quoted_part(part) for part in name_parts(name))


def quoted_part(part: str) -> str:
    """Return a part of a name as statements have it: in backquotes unless it has only letters, digits and `_`."""
    return part if part and set(part.lower()) <= PLAIN_CHARACTERS else f"`{part.replace('`', '``')}`"


def table_id(dataset: DatasetFacts, copy: str = "") -> TableId:
    """
    Return what identifies a dataset's table, or a copy of it, in a step.

    Args:
        dataset: the dataset.
        copy: the name of the copy in statements; empty for the table itself.
    """
    location = "" if copy else dataset.location
    return TableId(name_parts(copy or dataset.sql), dataset.format, location)


def sql_name(table: TableId) -> str:
    """Return the name of a table as statements have it."""
    return ".".join(map(quoted_part, table.parts))


def all_rows(name: str, version: str = "") -> str:
    """Return the query for all rows that a table has, or had at a version; the name is as statements have it."""
    return f"SELECT * FROM {name}{f' VERSION AS OF {version}' if version else ''}"  # noqa: S608 (a quoted name)


def emptied(name: str) -> str:
    """Return the statement that deletes all rows of a table; the name is as statements have it."""
    return f"DELETE FROM {name}"  # noqa: S608 (a quoted name)


def place_of_files(location: str) -> str:
    """Return a location in one form: without the scheme of this machine's files, quotes of URLs, and a last slash."""
    parts = urlsplit(location)
    path = unquote(parts.path).rstrip("/")
    scheme = parts.scheme.lower()
    return path if scheme in ("", "file") else f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{parts.netloc}{path}"


def roll_back(table: TableId, version: str, *, is_ancestor: bool = True) -> str:
    """
    Return the statement that resets a table to a version.

    Args:
        table: the table.
        version: the version.
        is_ancestor: whether it is an ancestor of the current version. In an Iceberg table, it is not if a version
            between them expired.
    """
    if table.format == "delta":
        return f"RESTORE TABLE {sql_name(table)} TO VERSION AS OF {version}"
    parts = [quoted_part(part) for part in table.parts]
    catalog = f"{parts[0]}." if names_catalog(table) else ""
    # With its catalog: Iceberg takes the first part for a catalog, if the session has one of that name.
    name = ".".join(parts).replace("\\", "\\\\").replace("'", "\\'")
    procedure = "rollback_to_snapshot" if is_ancestor else "set_current_snapshot"
    return f"CALL {catalog}system.{procedure}('{name}', {version})"


def names_catalog(table: TableId) -> bool:
    """Return whether the name of a table contains its catalog; without one, the table is in the current catalog."""
    return len(table.parts) > 2


def kept_name(dataset: DatasetFacts) -> str:
    """Return the name of the copy that keeps the rows of a table before it is emptied."""
    return copy_name(dataset, _KEPT)


def beside_name(dataset: DatasetFacts) -> str:
    """Return the name of the copy that is made beside a table, and corrected instead of it."""
    return copy_name(dataset, _BESIDE)


def beside_path(location: str) -> str:
    """Return the path of such a copy for a dataset that only has a path."""
    return f"{location.rstrip('/')}{_BESIDE}"


def is_version(text: str) -> bool:
    """Return whether a text is a version of Iceberg or Delta Lake: a number, and nothing else."""
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal()


def empty(dataset: DatasetFacts) -> tuple[str, ...]:
    """Return the statements that remove all rows of a table; none if it has no name in SQL."""
    if not dataset.sql:
        return ()
    if is_overwritten(dataset):
        # Spark refuses to overwrite a table that the same statement reads.
        copy = empty_copy_name(dataset)
        return copied(dataset, copy, ""), *switched(dataset, copy)
    verb = "DELETE FROM" if dataset.has_versions else "TRUNCATE TABLE"
    return (f"{verb} {table_in_sql(dataset.sql)}",)


def empty_external(dataset: DatasetFacts, *, has_partitions: bool) -> tuple[str, ...]:
    """
    Return the statements that remove all rows of an external table of Hive's, which TRUNCATE TABLE refuses.

    If such a table has partitions, an INSERT OVERWRITE without rows silently removes nothing. So its files are removed,
    and then the partitions without files.

    Args:
        dataset: the table.
        has_partitions: whether it has some, which no event states.

    Returns:
        The statements; none if it has no name in SQL, or if they need its location and that is unknown.
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


def empty_copy_name(dataset: DatasetFacts) -> str:
    """Return the name of the copy without rows from which a table is overwritten to empty it."""
    return copy_name(dataset, _EMPTY)


def is_overwritten(dataset: DatasetFacts) -> bool:
    """Return whether a table is emptied by overwriting it with no rows."""
    return dataset.format in OVERWRITTEN_FORMATS and not is_table_of_path(dataset.sql)


def drop(dataset: DatasetFacts) -> str:
    """Return the statement that drops a table."""
    return f"DROP TABLE IF EXISTS {table_in_sql(dataset.sql)}"


def copy_name(dataset: DatasetFacts, suffix: str) -> str:
    """Return the name of a table's copy, as statements have it."""
    *above, last = name_parts(dataset.sql)
    return ".".join(map(quoted_part, (*above, f"{last.rstrip('/')}{suffix}")))


def copied(dataset: DatasetFacts, copy: str, version: str) -> str:
    """
    Return the statement that copies a table.

    Args:
        dataset: the table.
        copy: the name of the copy.
        version: the version to hold; empty for no rows.
    """
    return _copied(dataset, copy, f" VERSION AS OF {version}" if version else " WHERE false")


def copied_whole(dataset: DatasetFacts, copy: str) -> str:
    """Return the statement that copies all rows that a table has."""
    return _copied(dataset, copy, "")


def _copied(dataset: DatasetFacts, copy: str, which: str) -> str:
    using = f" USING {dataset.format if dataset.format in _UNALTERING else 'parquet'}"
    query = f"{all_rows(table_in_sql(dataset.sql))}{which}"
    return f"CREATE TABLE {table_in_sql(copy)}{using} AS {query}"


def partitioned(sql: str, partitions: Sequence[str]) -> str:
    """
    Return the statement that makes a copy of a table with its partitions.

    An INSERT OVERWRITE of some partitions would replace all rows of a copy without partitions.

    Args:
        sql: the statement of `copied` or `copied_whole`.
        partitions: what the table is partitioned by, as statements have it.
    """
    found = _COPIES.search(sql) if partitions else None
    if found is None:
        return sql
    return f"{sql[: found.start()]} PARTITIONED BY ({', '.join(partitions)}){sql[found.start() :]}"


def copied_table(sql: str) -> str:
    """
    Return the name of the table that a statement copies, as the statement has it; empty if it copies no table.

    Args:
        sql: the statement of `copied` or `copied_whole`.
    """
    found = _COPIES.search(sql)
    return "" if found is None else found[1]


def copy_made(sql: str) -> str:
    """Return the name of the copy that a statement of `copied` or `copied_whole` makes; empty for another statement."""
    found = _MAKES.match(sql) if copied_table(sql) else None
    return "" if found is None else found[1]


def table_dropped(sql: str) -> str:
    """Return the name of the table that a statement of `drop` or `switched` drops; empty for another statement."""
    found = _DROPS.fullmatch(sql)
    return "" if found is None else found[1]


def switched(dataset: DatasetFacts, copy: str) -> tuple[str, ...]:
    """Return the statements that give a table the rows of its corrected copy, and drop the copy if one can."""
    text = f"INSERT OVERWRITE {table_in_sql(dataset.sql)} {all_rows(table_in_sql(copy))}"
    return (text,) if is_table_of_path(copy) else (text, f"DROP TABLE {table_in_sql(copy)}")


def is_table_of_path(name: str) -> bool:
    """Return whether a name is a path, such as delta.`/path`: DROP TABLE silently keeps all files of such a table."""
    return "/" in name_parts(name)[-1]


def shell(words: Sequence[str]) -> str:
    """Return the words of a command, quoted for a shell."""
    return shlex.join(words)
