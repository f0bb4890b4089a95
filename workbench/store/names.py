"""Resolve a name to a dataset or a column."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import attrs
from openlineage_pyspark.errors import AmbiguousNameError, NameNotFoundError
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    MOST_IN_A_LIST,
    CheckedSql,
    checked_sql,
    id_lists,
    marked_lists,
    marks_for,
    sql_list,
)
from openlineage_pyspark.workbench.store.tables.schema import LAST_PART

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DROPPED = CheckedSql("expired_run")
"""The table of the runs that are no longer kept; it exists once some were dropped."""
ALL_DROPPED = "SELECT namespace, name, name_id, sum(runs), max(last_time)"
"""The beginning of the query for its rows: each expiry adds its own."""

_SHOWN = 10
_MOST = 5
_LEAST = 0.7
# A name that contains the whole text is similar, however long it is.
_CONTAINS = 0.75
# Equal ends are weaker evidence than equal whole names.
_END = 0.95


class DroppedRuns(NamedTuple):
    """
    Runs of a job that are no longer kept.

    Args:
        namespace: the namespace of the job.
        name: the name of the job.
        name_id: a dataset that they read or wrote, by one of its names; 0 for runs without one.
        runs: how many runs there were.
        last_time: the time of the last event of these runs, microseconds since 1970.
    """

    namespace: str
    name: str
    name_id: int
    runs: int
    last_time: int


class QueriedTables(Protocol):
    """The tables of an engine that questions query."""

    def query(self, sql: str, parameters: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; each `?` is a parameter."""

    @property
    def damage(self) -> str:
        """Return the damage found in the stored tables; empty if there is none, or if no check has run."""

    def dropped(self) -> list[DroppedRuns]:
        """Return the runs that are no longer kept, by jobs and datasets."""


@attrs.frozen
class DatasetName:
    """
    A dataset with all of its names.

    Args:
        id: its id.
        namespace: the namespace of its own name.
        name: its own name.
        others: its other names, with their namespaces, newest first.
        shown: the shortest name that no other dataset of the same lookup has; empty for `shortest`.
    """

    id: int
    namespace: str
    name: str
    others: tuple[tuple[str, str], ...] = ()
    shown: str = ""

    @property
    def label(self) -> str:
        """Return a short name, which no other dataset of the same lookup has."""
        return self.shown or self.shortest

    @property
    def shortest(self) -> str:
        """Return a short name: the table's, if it has one, else the end of its path."""
        return self.others[0][1] if self.others else "/".join(self.name.split("/")[-2:])

    @property
    def longer(self) -> Iterator[str]:
        """Yield longer and longer names: more and more of its path, and at last all of it with the namespace."""
        parts = self.name.split("/")
        yield from ("/".join(parts[-count:]) for count in range(3, len(parts) + 1))
        yield self.address

    @property
    def address(self) -> str:
        """Return its own name with its namespace, as one text."""
        return name_with_namespace(self.namespace, self.name)


@attrs.frozen
class ResolvedPlace:
    """
    The meaning of a name.

    Args:
        dataset: the dataset.
        column: the column; empty for the dataset as a whole.
    """

    dataset: DatasetName
    column: str = ""


def name_with_namespace(namespace: str, name: str) -> str:
    """Return a name with its namespace, such as `s3://bucket/path` or `file:/path`."""
    if namespace in ("file", "dbfs"):
        return f"{namespace}:{name}"
    return f"{namespace.rstrip('/')}/{name.lstrip('/')}"


def rows_by_id(
    tables: QueriedTables, constant: str, ids: Iterable[int], parameters: Sequence[str | int] = (), **parts: str | int
) -> Iterator[tuple[Any, ...]]:
    """
    Yield the rows of a query for ids; it is made again for each few hundred of them.

    Args:
        tables: the store.
        constant: the text of the query, as for `checked_sql`; its part `ids` is a list of them.
        ids: the ids.
        parameters: the values of its parameters.
        parts: its other parts.
    """
    for listed in id_lists(ids):
        yield from tables.query(checked_sql(constant, ids=listed, **parts), parameters)


def rows_by_text(
    tables: QueriedTables, constant: str, texts: Iterable[str], parameters: Sequence[str | int] = (), **parts: str | int
) -> Iterator[tuple[Any, ...]]:
    """
    Yield the rows of a query for texts, such as the ids of runs; it is made again for each few hundred of them.

    Args:
        tables: the store.
        constant: the text of the query, as for `checked_sql`; its part `marks` is a list of parameters for them.
        texts: the texts, in the order in which they are asked for.
        parameters: the values of its other parameters, which come after them.
        parts: its other parts.
    """
    for marks, listed in marked_lists(texts):
        yield from tables.query(checked_sql(constant, marks=marks, **parts), (*listed, *parameters))


def datasets(tables: QueriedTables, ids: Iterable[int]) -> dict[int, DatasetName]:
    """Return datasets by their ids, with all of their names. No two of them have one label."""
    own: dict[int, tuple[str, str]] = {}
    others: dict[int, list[tuple[str, str]]] = {}
    sql = (
        "SELECT i.dataset_id, d.name_id, d.namespace, d.name FROM dataset_identity i "
        "JOIN dataset d ON d.name_id = i.name_id WHERE i.dataset_id IN ({ids}) "
        "ORDER BY d.last_time DESC, d.namespace, d.name"
    )
    for dataset_id, name_id, namespace, name in rows_by_id(tables, sql, ids):
        if name_id == dataset_id:
            own[dataset_id] = (namespace, name)
        else:
            others.setdefault(dataset_id, []).append((namespace, name))
    return with_unique_labels({id_: DatasetName(id_, *names, tuple(others.get(id_, ()))) for id_, names in own.items()})


def datasets_by_name(tables: QueriedTables, names: Iterable[int]) -> dict[int, int]:
    """Return the dataset of each of some names, all by their ids; unknown names are left out."""
    sql = "SELECT name_id, dataset_id FROM dataset_identity WHERE name_id IN ({ids})"
    return dict(rows_by_id(tables, sql, names))


def names_of_datasets(tables: QueriedTables, ids: Iterable[int]) -> set[int]:
    """Return the ids of all names of some datasets."""
    sql = "SELECT name_id FROM dataset_identity WHERE dataset_id IN ({ids})"
    return {name_id for (name_id,) in rows_by_id(tables, sql, ids)}


def with_unique_labels(found: dict[int, DatasetName]) -> dict[int, DatasetName]:
    """Give each dataset the shortest label that no other dataset has."""
    alike: dict[str, list[DatasetName]] = {}
    for each in found.values():
        alike.setdefault(each.shortest, []).append(each)
    taken = set(alike)
    for same in alike.values():
        if len(same) > 1:
            often = Counter(name for each in same for name in set(each.longer))
            for each in same:
                shown = next((name for name in each.longer if often[name] == 1 and name not in taken), each.address)
                found[each.id] = attrs.evolve(each, shown=shown)
                taken.add(shown)
    return found


def find(tables: QueriedTables, text: str) -> ResolvedPlace:
    """
    Return the dataset, or the column of a dataset, that a text names.

    Args:
        tables: the store.
        text: a name as an event has it, with or without its namespace; the end of such a name, from a dot or a slash
            on; and any of these followed by a dot and a column. Case matters only if a name in the store has the same.
            Backquotes, a slash at the end, and the schemes s3a and file:// may be written as for Spark.

    Raises:
        NameNotFoundError: nothing has this name, or several datasets have it.
    """
    if found := _dataset(tables, text):
        return ResolvedPlace(_only(text, found))
    # The last dot is tried first: a column's name rarely has one, but the path to a field of a struct does.
    for end in [place for place, character in enumerate(text) if character == "."][::-1]:
        table, column = text[:end], text[end + 1 :]
        named = _dataset(tables, table) if table and column else []
        having = {each: called for each in named if (called := _column_called(tables, each.id, column))}
        if having:
            dataset = _only(text, tuple(having))
            return ResolvedPlace(dataset, having[dataset])
        if named:
            dataset = _only(table, named)
            columns = tuple(columns_of_dataset(tables, dataset.id))
            listed = ", ".join(columns) or "none that an event states"
            message = f"{dataset.label} has no column {column!r}; its columns: {listed}"
            raise NameNotFoundError(message, ref=text, candidates=columns)
    near = _near(tables, text)
    hint = f"; near it: {', '.join(near)}" if near else ""
    raise NameNotFoundError(f"nothing is called {text!r}{hint}", ref=text, candidates=near, listing="datasets")


def find_dataset(tables: QueriedTables, text: str) -> DatasetName:
    """
    Return the dataset that a text names, as `find` takes it.

    Raises:
        NameNotFoundError: nothing has this name, several datasets have it, or it is a column's.
    """
    found = find(tables, text)
    if found.column:
        label = found.dataset.label
        raise NameNotFoundError(f"{text} is a column: name its dataset, {label}", ref=text, candidates=(label,))
    return found.dataset


def columns_of_dataset(tables: QueriedTables, dataset_id: int) -> list[str]:
    """Return the columns of a dataset by its latest schema, in their order."""
    rows = tables.query(
        "SELECT c.column_name, max(c.position), c.last_time FROM dataset_identity i "
        "JOIN stated_column c ON c.name_id = i.name_id WHERE i.dataset_id = ? GROUP BY c.column_name, c.last_time",
        (dataset_id,),
    )
    latest = max((time for _, _, time in rows), default=0)
    return [column for column, _, time in sorted(rows, key=lambda row: row[1]) if time == latest]


def _dataset(tables: QueriedTables, text: str) -> list[DatasetName]:
    """Return the datasets that a text names: by a whole name if there is one, else by the end of one."""
    return _called(tables, text) or (_called(tables, plain) if (plain := _as_events_have_it(text)) != text else [])


def _as_events_have_it(text: str) -> str:
    """Return a name that is written as for Spark, as events have it."""
    scheme, separator, rest = text.replace("`", "").rstrip("/").partition("://")
    if scheme == "file" and separator:
        return f"file:/{rest.lstrip('/')}"
    return f"{'s3' if scheme in ('s3a', 's3n') and separator else scheme}{separator}{rest}"


def _called(tables: QueriedTables, text: str) -> list[DatasetName]:
    whole = (
        "SELECT DISTINCT dataset_id FROM dataset_identity WHERE name_id IN (SELECT name_id FROM dataset "
        "WHERE name IN ({marks}) AND (name = ? OR namespace || name = ? "
        "OR namespace || '/' || name = ? OR namespace || ':' || name = ?))"
    )
    # Each end of the text may be the name, and the text before it the namespace: the index on names finds them.
    ends = [text[begin:] for begin in range(min(len(text), MOST_IN_A_LIST))] or [text]
    ids = [row[0] for row in tables.query(checked_sql(whole, marks=marks_for(ends)), (*ends, *(text,) * 4))]
    if not ids:
        end = text.lstrip("/")
        ending = checked_sql(
            "SELECT DISTINCT dataset_id FROM dataset_identity WHERE name_id IN (SELECT name_id FROM dataset "
            "WHERE {last_part} = lower(?) "
            "AND (lower(substr(name, -?)) = lower(?) AND substr(name, -?, 1) IN ('.', '/') "
            "OR lower(?) IN (lower(name), lower(namespace || name), lower(namespace || '/' || name), "
            "lower(namespace || ':' || name))))",
            last_part=CheckedSql(LAST_PART),
        )
        # The index on the last parts of names finds the few that may have this end.
        last = re.split(r"[./]", end)[-1]
        ids = [row[0] for row in tables.query(ending, (last, len(end), end, len(end) + 1, text))] if end else []
    return list(datasets(tables, ids).values())


def _column_called(tables: QueriedTables, dataset_id: int, column: str) -> str:
    """Return the column of a dataset with a name, if necessary in another case; empty if there is none."""
    for compared in (_AS_IT_IS, _IN_ANY_CASE):
        queries = [
            checked_sql(_COLUMN_OF, table=table, names=names, column=name, compared=compared)
            for table, names, name in _PLACES_OF_COLUMNS
        ]
        first = checked_sql("{every} ORDER BY 1 LIMIT 1", every=sql_list(queries, " UNION "))
        rows = tables.query(first, (dataset_id, column) * len(queries))
        if rows:
            return str(rows[0][0])
    return ""


_COLUMN_OF = (
    "SELECT {column} FROM {table} WHERE {names} IN (SELECT name_id FROM dataset_identity WHERE dataset_id = ?) "
    "AND {compared}({column}) = {compared}(?)"
)
_AS_IT_IS, _IN_ANY_CASE = CheckedSql(""), CheckedSql("lower")
_PLACES_OF_COLUMNS = (
    ("stated_column", "name_id", "column_name"),
    ("stated_edge", "input_id", "input_column"),
    ("stated_edge", "output_id", "output_column"),
)


def _only(text: str, found: Sequence[DatasetName]) -> DatasetName:
    if len(found) == 1:
        return found[0]
    candidates = tuple(sorted(each.address for each in found))
    listed = "".join(f"\n  {each}" for each in candidates[:_SHOWN])
    rest = f"\n  and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    message = f"{text!r} may mean any of these; give more of its name:{listed}{rest}"
    raise AmbiguousNameError(message, ref=text, candidates=candidates)


def _near(tables: QueriedTables, text: str) -> tuple[str, ...]:
    """Return the columns that have this name, and similar names."""
    every = datasets(tables, (row[0] for row in tables.query("SELECT DISTINCT dataset_id FROM dataset_identity")))
    columns = _columns_called(tables, every, text)
    labels = [each.label for each in every.values()]
    # The part after a dot may be a column of a similar table.
    table, _, column = text.rpartition(".")
    found = dict.fromkeys([*columns[:_SHOWN], *similar_names(text, labels)])
    if not found and table and column:
        found = dict.fromkeys(similar_names(table, labels))
    if not found:
        # No dataset has a similar name, but a column may have one.
        names = similar_names(text, (row[0] for row in tables.query("SELECT DISTINCT column_name FROM stated_column")))
        found = dict.fromkeys(each for name in names for each in _columns_called(tables, every, name)[:1])
    return tuple(found)


def _columns_called(tables: QueriedTables, every: dict[int, DatasetName], name: str) -> list[str]:
    """Return the columns that have a name, with their datasets."""
    having = tables.query(
        "SELECT DISTINCT i.dataset_id, c.column_name FROM stated_column c "
        "JOIN dataset_identity i ON i.name_id = c.name_id WHERE lower(c.column_name) = lower(?)",
        (name,),
    )
    return sorted(f"{every[id_].label}.{column}" for id_, column in having if id_ in every)


# Suggest known names that are similar to an unknown one, the most similar first.


def similar_names(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """
    Return names that are similar to a text, the most similar first.

    Args:
        text: the text that the user wrote.
        names: the known names.
    """
    wanted = text.lower().rstrip("/")
    matcher, of_end = SequenceMatcher(autojunk=False), SequenceMatcher(autojunk=False)
    # `SequenceMatcher` prepares its second text only once.
    matcher.set_seq2(wanted)
    of_end.set_seq2(_end_of(wanted))
    scored = ((_score(matcher, of_end, wanted, each), each) for each in dict.fromkeys(names))
    found = heapq.nsmallest(_MOST, ((-score, each) for score, each in scored if score >= _LEAST))
    return tuple(each for _, each in found)


def _score(matcher: SequenceMatcher[str], of_end: SequenceMatcher[str], wanted: str, name: str) -> float:
    """Return how similar a name is, 1 for the same."""
    plain = name.lower()
    found = _CONTAINS if wanted and wanted in plain else 0.0
    for each, text, weight in ((matcher, plain, 1.0), (of_end, _end_of(plain), _END)):
        each.set_seq1(text)
        # The quick ratios rule most names out at no cost.
        if weight * each.real_quick_ratio() > max(found, _LEAST) and weight * each.quick_ratio() > max(found, _LEAST):
            found = max(found, weight * each.ratio())
    return found


def _end_of(name: str) -> str:
    return re.split(r"[./]", name)[-1]
