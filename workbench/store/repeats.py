"""
What is said again, run by run: its rows are there, and only their times move.

The runs of an unchanged job say the same of the columns of their datasets. To merge each row of that, SQLite would look
for it by its key and compare all of its values. This remembers which rows a connection has merged, and moves their
times at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractContextManager

    from openlineage_pyspark.workbench.store.events.rows import Description, Row, TimeSpan

# Of each, so that what is remembered takes a few dozen MB.
_MOST = 20_000
_MOVE_COLUMNS = (
    "UPDATE dataset_column SET first_time = min(first_time, ?), last_time = max(last_time, ?) WHERE name_id = ?"
)
_COLUMNS_OF = "SELECT name_id, column_name, type, position FROM dataset_column WHERE name_id IN ({})"
_MOVE_EDGES = "UPDATE column_lineage SET last_time = ?, last_run = ? WHERE rowid BETWEEN ? AND ?"
_LAST_PLACE = "SELECT coalesce(max(rowid), 0) FROM column_lineage"
_NEW_EDGES = (
    "SELECT job_id, output_id, min(rowid), max(rowid), count(*) FROM column_lineage WHERE rowid > ? "
    "GROUP BY job_id, output_id"
)
_EDGES_OF = (
    "SELECT rowid, output_column, input_id, input_column, type, subtype, masking, expression FROM column_lineage "
    "WHERE output_id = ? AND job_id = ? AND last_time = ? AND last_run = ? ORDER BY rowid"
)


@attrs.frozen
class Repeated:
    """
    The descriptions of which rows are there already.

    Args:
        columns: those whose rows of `dataset_column` are.
        edges: those whose rows of `column_lineage` are.
    """

    columns: frozenset[Description]
    edges: frozenset[Description]


@attrs.frozen
class _Edges:
    """
    The edges that a job last told of a dataset.

    Args:
        digest: that of the description which told them.
        count: how many they are.
        span: when they were told.
        places: their rowids, as the first and the last one of each range; None if they were not looked for. It is
            empty if the rows do not say what the description says, as where another one told some of them later.
        is_moved: whether only the times of these rows are to be moved now.
    """

    digest: bytes
    count: int
    span: TimeSpan
    places: tuple[tuple[int, int], ...] | None = None
    is_moved: bool = False


class Repeats:
    """
    Moves the times of what was said before over the same connection, while no other one writes.

    Args:
        connection: the store.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._writes_of_others = -1
        self._has_places = False
        self._last_place = 0
        # The columns of a name, if these are all that the store has of it.
        self._columns: dict[int, tuple[Row, ...]] = {}
        self._edges: dict[tuple[int | None, int], _Edges] = {}

    def forget(self) -> None:
        """Forget all, because the tables are made anew."""
        self._columns.clear()
        self._edges.clear()
        # An earlier version of the package made this table without rowids.
        sql = "SELECT sql FROM sqlite_master WHERE name = 'column_lineage' AND sql NOT LIKE '%WITHOUT ROWID%'"
        self._has_places = self._connection.execute(sql).fetchone() is not None

    @contextmanager
    def kept_with(self, transaction: AbstractContextManager[None]) -> Iterator[None]:
        """Forget all if a transaction, in which something is moved and learned, is undone."""
        is_done = False
        try:
            with transaction:
                yield
            is_done = True
        finally:
            if not is_done:
                self._writes_of_others = -1

    def move(self, told: Sequence[Description]) -> Repeated:
        """
        Move the times of the rows that are there. To be called in the transaction, before the other rows are merged.

        Args:
            told: what is said.

        Returns:
            Those of which these rows need not be merged.
        """
        self._begin()
        return Repeated(
            self._move_columns(each for each in told if each.columns),
            self._move_edges([each for each in told if each.edges]),
        )

    def learn(self, told: Sequence[Description], repeated: Repeated) -> None:
        """
        Remember what was merged. To be called in the transaction, after that.

        Args:
            told: what was said.
            repeated: what `move` returned.
        """
        columns: dict[int, set[tuple[Row, ...]]] = {}
        for each in told:
            if each.columns and each not in repeated.columns:
                columns.setdefault(each.name_id, set()).add(each.columns)
        self._learn_columns(columns)
        self._learn_new_edges()

    def _learn_columns(self, columns: dict[int, set[tuple[Row, ...]]]) -> None:
        for listed in id_lists(columns):
            stored: dict[int, set[Row]] = {}
            for row in self._connection.execute(_COLUMNS_OF.format(listed)):
                stored.setdefault(row[0], set()).add(row)
            for name_id, rows in stored.items():
                self._columns.pop(name_id, None)
                # Another one may have told further columns, or other places of them since.
                for told in columns[name_id]:
                    if set(told) == rows:
                        self._columns[name_id] = told

    def _learn_new_edges(self) -> None:
        """Remember where the rows are that one description made: then they say what it says, and nothing else."""
        if not self._has_places:
            return
        for *key, first, last, count in self._connection.execute(_NEW_EDGES, (self._last_place,)):
            known = self._edges.get((key[0], key[1]))
            if known is not None and count == known.count == last - first + 1:
                self._edges[key[0], key[1]] = attrs.evolve(known, places=((first, last),))

    def _begin(self) -> None:
        (writes,) = self._connection.execute("PRAGMA data_version").fetchone()
        if writes != self._writes_of_others or max(len(self._columns), len(self._edges)) > _MOST:
            self.forget()
        self._writes_of_others = writes
        if self._has_places:
            (self._last_place,) = self._connection.execute(_LAST_PLACE).fetchone()

    def _move_columns(self, told: Iterable[Description]) -> frozenset[Description]:
        repeated = set()
        times: dict[int, tuple[int, int]] = {}
        for each in told:
            if self._columns.get(each.name_id) == each.columns:
                repeated.add(each)
                first, last = times.get(each.name_id, (each.span.first_time, each.span.last_time))
                times[each.name_id] = min(first, each.span.first_time), max(last, each.span.last_time)
        self._connection.executemany(_MOVE_COLUMNS, [(*when, name_id) for name_id, when in times.items()])
        return frozenset(repeated)

    def _move_edges(self, told: Sequence[Description]) -> frozenset[Description]:
        if not self._has_places:
            return frozenset()
        count = Counter((each.job_id, each.name_id) for each in told)
        repeated = set()
        moves: list[tuple[int, str, int, int]] = []
        for each in told:
            key = (each.job_id, each.name_id)
            if count[key] > 1:
                # One may change what the other one told.
                self._edges.pop(key, None)
                continue
            known = self._edges[key] = self._known(each, self._edges.get(key))
            if known.is_moved:
                repeated.add(each)
                moves += [(each.span.last_time, each.span.last_run, *place) for place in known.places or ()]
        self._connection.executemany(_MOVE_EDGES, moves)
        return frozenset(repeated)

    def _known(self, told: Description, known: _Edges | None) -> _Edges:
        """Return what is known of the edges of a job into a dataset, with what it says now."""
        count, span = len(told.edges), told.span
        if known is None or known.digest != told.digest:
            return _Edges(told.digest, count, span)
        before = known.span
        if span.first_time <= before.first_time or span.last_time <= before.last_time:
            # It was said at another time than others of these rows.
            return _Edges(told.digest, count, before | span)
        places = self._places(told, before) if known.places is None else known.places
        return _Edges(told.digest, count, before | span, places, is_moved=bool(places))

    def _places(self, told: Description, span: TimeSpan) -> tuple[tuple[int, int], ...]:
        """Return where the edges are, if they say what the description said when it was merged last, and no more."""
        rows = self._connection.execute(
            _EDGES_OF, (told.name_id, told.job_id, span.last_time, span.last_run)
        ).fetchall()
        edges = {(*edge[1:4], *edge[5:]) for edge in told.edges}
        if len(rows) != len(edges) or {row[1:] for row in rows} != edges:
            return ()
        return tuple(_ranges(row[0] for row in rows))


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield ascending numbers as ranges: the first and the last one of each."""
    begin = end = None
    for number in numbers:
        if begin is None or end is None:
            begin = number
        elif number != end + 1:
            yield begin, end
            begin = number
        end = number
    if begin is not None and end is not None:
        yield begin, end
