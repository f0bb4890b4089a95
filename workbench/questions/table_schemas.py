"""The tables that a store knows with their columns, for analyzing a statement without the tables."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.workbench.store.names import name_with_namespace, rows_by_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.store.names import QueriedTables

_NAMES = (
    "SELECT i.dataset_id, d.name_id, d.namespace, d.name FROM dataset_identity i "
    "JOIN dataset d ON d.name_id = i.name_id ORDER BY i.dataset_id, d.name_id"
)
# Each mention of a dataset by one job: how it changes the dataset, and if its last run failed. A streaming query that
# fails has written its micro-batches before.
_STATEMENTS = (
    "SELECT i.dataset_id, d.description, d.first_time, d.last_time, "
    "(SELECT max(w.change) FROM writing w WHERE w.description = d.description), "
    "EXISTS (SELECT 1 FROM run r WHERE r.run_id = d.last_run AND r.state IN ('FAIL', 'ABORT')) "
    "AND NOT EXISTS (SELECT 1 FROM sink_snapshot_lineage w WHERE w.run_id = d.last_run) "
    "FROM dataset_identity i JOIN description d ON d.name_id = i.name_id"
)
_FIELDS = "SELECT description, column_name, type FROM field ORDER BY description, position"
_WRITES = (
    "SELECT i.dataset_id, w.time FROM dataset_identity i JOIN sink_snapshot_lineage w ON w.name_id = i.name_id "
    "AND w.change <> 'DROP' WHERE i.dataset_id IN ({ids})"
)
_DROPS = (
    "SELECT i.dataset_id, max(w.time) FROM sink_snapshot_lineage w JOIN dataset_identity i ON i.name_id = w.name_id "
    "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' WHERE w.change = 'DROP' GROUP BY i.dataset_id"
)
# The names that tables had before they were renamed, and when each was used last.
_OLD_NAMES = (
    "SELECT s.name_id, o.dataset_id, i.dataset_id, max(w.time), max(d.last_time) FROM sink_snapshot_lineage w "
    "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' "
    "JOIN source_snapshot_lineage s ON s.run_id = w.run_id AND s.name_id <> w.name_id "
    "JOIN dataset_identity i ON i.name_id = w.name_id JOIN dataset_identity o ON o.name_id = s.name_id "
    "JOIN dataset d ON d.name_id = s.name_id WHERE w.change = 'RENAME' GROUP BY s.name_id, o.dataset_id, i.dataset_id"
)
_UNKNOWN = "STRING"
_WORD = re.compile(r"\w+")
_MOST_PARTS = 4


class Uncertainty(enum.Enum):
    """Why a table may have other columns than those that are known, or not be there."""

    NONE = enum.auto()
    GONE = enum.auto()
    """It was dropped or renamed, and no run has reported columns since."""
    FAILED = enum.auto()
    """Only runs that failed to write it have reported columns."""
    PARTLY_READ = enum.auto()
    """Runs have read fewer columns than the last run stated that wrote it."""
    PARTLY_APPENDED = enum.auto()
    """The last run that wrote it appended rows, without some columns of the run before."""


@attrs.frozen
class TableSchema:
    """
    A table by one of its names, or another dataset.

    Args:
        parts: the name, such as `("db", "orders")`; empty if the dataset is no table.
        namespace: the namespace of the dataset's own name.
        name: the dataset's own name.
        columns: its columns in order by the latest schema: each name with its type, as DDL has it.
        uncertainty: why the table may have other columns now, or not be there.
    """

    parts: tuple[str, ...]
    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...]
    uncertainty: Uncertainty = Uncertainty.NONE


def table_schemas(tables: QueriedTables, current: Mapping[int, CurrentColumns]) -> tuple[TableSchema, ...]:
    """
    Return each dataset that has columns, under each of its names that is a table's, or once if it has none.

    They are sorted by the names; of one name, the dataset comes last whose columns were reported last.

    Args:
        tables: a store in a file or in memory.
        current: what `current_columns` returns for it.
    """
    gone, old = dict(tables.query(_DROPS)), set[int]()
    for name_id, before, after, time, last_use in tables.query(_OLD_NAMES):
        if before != after:
            gone[before] = max(time, gone.get(before, time))
        elif last_use <= time:
            # A table that is named by its location keeps its dataset.
            old.add(name_id)
    own: dict[int, tuple[str, str]] = {}
    names: dict[int, list[tuple[int, str]]] = {}
    for dataset_id, name_id, namespace, name in tables.query(_NAMES):
        if dataset_id == name_id:
            own[dataset_id] = (namespace, name)
        names.setdefault(dataset_id, []).append((name_id, name))
    found: dict[TableSchema, int] = {}
    for id_, each in names.items():
        schema = current.get(id_)
        if id_ in own and schema is not None:
            is_gone = schema.time <= gone.get(id_, -1)
            tables_of = [(name_id, tuple(name.split("."))) for name_id, name in each if _is_table(name)]
            for name_id, parts in tables_of or [(id_, ())]:
                uncertainty = Uncertainty.GONE if is_gone or name_id in old else schema.uncertainty
                found[TableSchema(parts, *own[id_], schema.columns, uncertainty)] = schema.time
    return tuple(sorted(found, key=lambda each: (each.parts, found[each], each.namespace, each.name)))


def names_of_several(schemas: Iterable[TableSchema]) -> tuple[str, ...]:
    """Return the names that tables with different columns have in common, sorted."""
    columns: dict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = {}
    for each in schemas:
        columns.setdefault(each.parts, set()).add(each.columns)
    return tuple(sorted(".".join(parts) for parts, several in columns.items() if parts and len(several) > 1))


def uncertain_names(schemas: Iterable[TableSchema], why: Uncertainty) -> tuple[str, ...]:
    """Return the names whose datasets are all uncertain, the last one for this reason, sorted."""
    last: dict[str, list[Uncertainty]] = {}
    for each in schemas:
        last.setdefault(".".join(each.parts) or name_with_namespace(each.namespace, each.name), []).append(
            each.uncertainty
        )
    return tuple(sorted(name for name, of in last.items() if Uncertainty.NONE not in of and of[-1] is why))


def names_in_texts(names: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """Return those names of tables and paths whose last parts are in some text; all of them if there is no text."""
    if not texts or not names:
        return names
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    return [each for each in names if words.issuperset(_WORD.findall(_last_part(each).lower()))]


def _last_part(name: str) -> str:
    return name.rpartition("/" if "/" in name else ".")[2]


def dataset_columns(
    tables: QueriedTables, current: Mapping[int, CurrentColumns]
) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """
    Yield each dataset that has columns under each of its names: the namespace, the name, and the columns.

    Args:
        tables: as for `table_schemas`.
        current: as for `table_schemas`.
    """
    for dataset_id, _, namespace, name in tables.query(_NAMES):
        if dataset_id in current:
            yield namespace, name, current[dataset_id].columns


def _is_table(name: str) -> bool:
    """Return whether a name may be a table in a catalog, and not a path or a topic."""
    parts = name.split(".")
    return all(parts) and "/" not in name and len(parts) <= _MOST_PARTS


class CurrentColumns(NamedTuple):
    """The columns of a dataset, when they were stated, and why they are uncertain."""

    time: int
    columns: tuple[tuple[str, str], ...]
    uncertainty: Uncertainty


class _Statement(NamedTuple):
    """
    A statement of a dataset's columns, ordered by how likely these are the current ones.

    Args:
        time: when it was true last, as far as is known.
        is_written: 1 if it is of a run that writes the dataset: what the same run reads is the state before.
        is_exact: 1 if no later run repeats it that failed.
        description: the mention of the dataset.
        change: how the run changes the dataset; empty if it appends rows, and None if it reads them.
    """

    time: int
    is_written: int
    is_exact: int
    description: int
    change: str | None


def current_columns(tables: QueriedTables) -> dict[int, CurrentColumns]:
    """Return the columns of each dataset that has some, as the last run states them that did not fail to write it."""
    fields: dict[int, dict[str, str]] = {}
    for description, column, type_ in tables.query(_FIELDS):
        fields.setdefault(description, {})[column] = type_
    rows = [row for row in tables.query(_STATEMENTS) if row[1] in fields]
    writes: dict[int, list[int]] = {}
    for dataset, time in rows_by_id(tables, _WRITES, {row[0] for row in rows if row[4] is not None and row[5]}):
        writes.setdefault(dataset, []).append(time)
    every: dict[int, list[_Statement]] = {}
    failed: dict[int, list[_Statement]] = {}
    for dataset, description, first, last, change, has_failed in rows:
        is_written = int(change is not None)
        if not (is_written and has_failed):
            every.setdefault(dataset, []).append(_Statement(last, is_written, 1, description, change))
        elif done := [time for time in writes.get(dataset, ()) if first <= time <= last]:
            every.setdefault(dataset, []).append(_Statement(max(done), is_written, 0, description, change))
        else:
            failed.setdefault(dataset, []).append(_Statement(last, is_written, 0, description, change))
    return {
        **{dataset: _schema(Uncertainty.FAILED, each, fields) for dataset, each in failed.items()},
        **{dataset: _schema(Uncertainty.NONE, each, fields) for dataset, each in every.items()},
    }


def _schema(why: Uncertainty, statements: Iterable[_Statement], fields: Mapping[int, dict[str, str]]) -> CurrentColumns:
    """Return the columns of a dataset by some statements, and why they are uncertain, if it is not for `why`."""
    in_order = sorted(statements)
    latest, written = in_order[-1], [each for each in in_order if each.is_written]
    if written and fields[latest.description].keys() < fields[written[-1].description].keys():
        latest, why = written[-1], Uncertainty.PARTLY_READ
    elif written[-1:] == [latest] and latest.change == "":
        before = written[-2:][0]
        if not fields[before.description].keys() <= fields[latest.description].keys():
            why = Uncertainty.PARTLY_APPENDED
    return CurrentColumns(latest.time, tuple(_top(fields[latest.description])), why)


def _top(types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the columns that are not fields of others."""
    for path in types:
        parts = path.split(".")
        if not any(".".join(parts[:end]) in types for end in range(1, len(parts))):
            yield path, _ddl(path, types)


def _ddl(path: str, types: dict[str, str]) -> str:
    """Return the type of a column or a field, including the types of its fields."""
    type_ = types[path].strip()
    below = {each[len(path) + 1 :]: each for each in types if each.startswith(f"{path}.")}
    fields = {name: _ddl(each, types) for name, each in below.items() if _is_direct(name, below)}
    word = type_.lower()
    if word == "struct":
        inner = ", ".join(f"`{name.replace('`', '``')}`: {of}" for name, of in fields.items())
        return f"STRUCT<{inner}>"
    if word == "array":
        return f"ARRAY<{fields.get('_element', _UNKNOWN)}>"
    if word == "map":
        return f"MAP<{fields.get('key', _UNKNOWN)}, {fields.get('value', _UNKNOWN)}>"
    return type_ or _UNKNOWN


def _is_direct(name: str, below: Iterable[str]) -> bool:
    parts = name.split(".")
    return not any(".".join(parts[:end]) in below for end in range(1, len(parts)))
