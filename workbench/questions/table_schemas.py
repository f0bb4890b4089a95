"""The tables that a store knows with their columns, for analyzing a statement without the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.store.names import QueriedTables

_NAMES = (
    "SELECT i.dataset_id, d.name_id, d.namespace, d.name FROM dataset_identity i "
    "JOIN dataset d ON d.name_id = i.name_id ORDER BY i.dataset_id, d.name_id"
)
_COLUMNS = (
    "SELECT i.dataset_id, c.column_name, c.type, c.last_time, c.position FROM dataset_identity i "
    "JOIN stated_column c ON c.name_id = i.name_id"
)
_DROPS = (
    "SELECT i.dataset_id, max(w.time) FROM sink_snapshot_lineage w JOIN dataset_identity i ON i.name_id = w.name_id "
    "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' WHERE w.change = 'DROP' GROUP BY i.dataset_id"
)
_UNKNOWN = "STRING"
_WORD = re.compile(r"\w+")
_MOST_PARTS = 4


@attrs.frozen
class TableSchema:
    """
    A table by one of its names.

    Args:
        parts: the name, such as `("db", "orders")`.
        namespace: the namespace of the dataset's own name.
        name: the dataset's own name.
        columns: its columns in order by the latest schema: each name with its type, as DDL has it.
        is_dropped: whether it was dropped, and no run has reported columns since.
    """

    parts: tuple[str, ...]
    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...]
    is_dropped: bool = False


def table_schemas(tables: QueriedTables) -> tuple[TableSchema, ...]:
    """
    Return each dataset that has columns, under each of its names that is a table's.

    They are sorted by the names; of one name, the dataset comes last whose columns were reported last.
    """
    columns, drops = _columns(tables), dict(tables.query(_DROPS))
    own: dict[int, tuple[str, str]] = {}
    names: dict[int, list[str]] = {}
    for dataset_id, name_id, namespace, name in tables.query(_NAMES):
        if dataset_id == name_id:
            own[dataset_id] = (namespace, name)
        names.setdefault(dataset_id, []).append(name)
    found = {
        TableSchema(tuple(name.split(".")), *own[id_], columns[id_][1], columns[id_][0] <= drops.get(id_, -1)): columns[
            id_
        ][0]
        for id_, each in names.items()
        if id_ in own and columns.get(id_)
        for name in each
        if _is_table(name)
    }
    return tuple(sorted(found, key=lambda each: (each.parts, found[each], each.namespace, each.name)))


def names_of_several(schemas: Iterable[TableSchema]) -> tuple[str, ...]:
    """Return the names that tables with different columns have in common, sorted."""
    columns: dict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = {}
    for each in schemas:
        columns.setdefault(each.parts, set()).add(each.columns)
    return tuple(sorted(".".join(parts) for parts, several in columns.items() if len(several) > 1))


def names_of_dropped(schemas: Iterable[TableSchema]) -> tuple[str, ...]:
    """Return the names whose tables were all dropped, sorted: a run may create them again, with other columns."""
    known = {each.parts for each in schemas if not each.is_dropped}
    return tuple(sorted({".".join(each.parts) for each in schemas if each.parts not in known}))


def names_in_texts(names: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """Return those names of tables whose last parts are in some text; all of them if there is no text."""
    if not texts or not names:
        return names
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    return [each for each in names if words.issuperset(_WORD.findall(each.rpartition(".")[2].lower()))]


def dataset_columns(tables: QueriedTables) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Yield each dataset that has columns under each of its names: the namespace, the name, and the columns."""
    columns = _columns(tables)
    for dataset_id, _, namespace, name in tables.query(_NAMES):
        if columns.get(dataset_id):
            yield namespace, name, columns[dataset_id][1]


def _is_table(name: str) -> bool:
    """Return whether a name may be a table in a catalog, and not a path or a topic."""
    parts = name.split(".")
    return all(parts) and "/" not in name and len(parts) <= _MOST_PARTS


def _columns(tables: QueriedTables) -> dict[int, tuple[int, tuple[tuple[str, str], ...]]]:
    """Return the time and the columns of the latest schema of each dataset."""
    rows: dict[int, list[tuple[int, int, str, str]]] = {}
    for dataset_id, column, type_, time, position in tables.query(_COLUMNS):
        rows.setdefault(dataset_id, []).append((time, position, column, type_))
    found = {}
    for dataset_id, each in rows.items():
        latest = max(row[0] for row in each)
        current = sorted((position, column, type_) for time, position, column, type_ in each if time == latest)
        found[dataset_id] = latest, tuple(_top({column: type_ for _, column, type_ in current}))
    return found


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
