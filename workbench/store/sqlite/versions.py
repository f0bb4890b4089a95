"""Store whatever the runs of jobs repeat once in a SQLite file: each description and each version of a job."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.store.events.rows import DatasetMention, JobMention, digest_of, version_digest
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql, id_lists, marked_lists
from openlineage_pyspark.workbench.store.tables.stored import NO_RUN

if TYPE_CHECKING:
    import sqlite3

    from openlineage_pyspark.workbench.store.events.rows import EventRows, Mentioned, Mentions, Row, TimeSpan

# A row of values is compared as a whole, and each expression sees the values before the statement.
_MOVE_DESCRIPTION = (
    "UPDATE description SET "
    "first_run = CASE WHEN (?1, ?2) < (first_time, first_run) THEN ?2 ELSE first_run END, "
    "first_time = min(first_time, ?1), "
    "last_run = CASE WHEN (?3, ?4) > (last_time, last_run) THEN ?4 ELSE last_run END, "
    "last_time = max(last_time, ?3) WHERE description = ?5"
)
_MOVE_VERSION = (
    "UPDATE job_version SET first_time = min(first_time, ?1), last_time = max(last_time, ?2), "
    "alone_time = max(coalesce(alone_time, ?3), coalesce(?3, alone_time)) WHERE version = ?4"
)
_ADD_DESCRIPTION = "INSERT INTO description VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_PATH = "INSERT INTO path VALUES (?, ?, ?, ?)"
_ADD_VERSION = "INSERT INTO job_version VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_RUN = (
    "INSERT INTO run_version VALUES (?, ?, ?) ON CONFLICT (run, version) DO UPDATE SET "
    "first_time = min(first_time, excluded.first_time)"
)
_VERSIONS_OF_RUNS = "SELECT run, version FROM run_version WHERE run IN ({ids})"
_ADD_PAIR = "INSERT OR IGNORE INTO version_pair VALUES (?, ?)"
_ADD_PARTS = {
    "reading": "INSERT OR IGNORE INTO reading VALUES (?, ?)",
    "writing": "INSERT OR IGNORE INTO writing VALUES (?, ?, ?, ?)",
    "field": "INSERT INTO field VALUES (?, ?, ?, ?)",
    "edge": "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "gap": "INSERT INTO gap VALUES (?, ?, ?, ?)",
    "version_description": "INSERT OR IGNORE INTO version_description VALUES (?, ?)",
}
_MOST_KEYS = 200_000


class Versions:
    """
    The versions of jobs over one connection.

    Args:
        connection: the store.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._descriptions = _Numbers(connection, "description")
        self._versions = _Numbers(connection, "job_version", "version")
        self._paths = _Numbers(connection, "path")
        self._pairs = set[tuple[int, int]]()
        # By the identity of the mentions, which are kept here, so that the identity is not used again.
        self._digests: dict[tuple[object, ...], tuple[Mentioned, bytes]] = {}

    def forget(self) -> None:
        """Drop the cache, because other processes may have changed the tables."""
        self._descriptions.forget()
        self._versions.forget()
        self._paths.forget()
        self._pairs.clear()

    def add(self, events: Sequence[EventRows], mentions: Mentions) -> list[int]:
        """
        Store the mentions of jobs and datasets in events, in a transaction.

        Args:
            events: the events.
            mentions: all of their mentions -> when.

        Returns:
            The version of each event.
        """
        described = {each: span for each, span in mentions.items() if isinstance(each, DatasetMention)}
        numbers = self._add_descriptions(described)
        digests = [self._digest(each) for each in events]
        first: dict[bytes, EventRows] = {}
        times: dict[bytes, tuple[int, int, int | None]] = {}
        for digest, event in zip(digests, events, strict=True):
            first.setdefault(digest, event)
            time = event.span.first_time
            begin, end, alone = times.get(digest, (time, time, None))
            if not event.span.first_run:
                alone = time if alone is None else max(alone, time)
            times[digest] = min(begin, time), max(end, time), alone
        known, new = self._versions.of(first)
        self._connection.executemany(
            _MOVE_VERSION, [(*times[digest], number) for digest, number in known.items() if digest not in new]
        )
        rows, parts, gaps = [], [], []
        for digest in new:
            event, number = first[digest], known[digest]
            job = next((each.job_id for each in event.mentions if isinstance(each, JobMention)), None)
            rows.append((number, digest, job, event.producer, *times[digest]))
            datasets = (each for each in event.mentions if isinstance(each, DatasetMention))
            parts += [(number, numbers[each.digest]) for each in datasets]
            gaps += [(number, place, *gap) for place, gap in enumerate(event.gaps)]
        self._connection.executemany(_ADD_VERSION, rows)
        self._connection.executemany(_ADD_PARTS["version_description"], parts)
        self._connection.executemany(_ADD_PARTS["gap"], gaps)
        return [known[digest] for digest in digests]

    def add_runs(self, stated: Iterable[tuple[int, int, int]]) -> None:
        """
        Store which versions runs have, in a transaction.

        Args:
            stated: the number of a run, the version of one of its events, and the event's time.
        """
        first: dict[tuple[int, int], int] = {}
        for run, version, time in stated:
            first[run, version] = min(time, first.get((run, version), time))
        self._connection.executemany(_ADD_RUN, [(*key, time) for key, time in first.items()])
        of_run: dict[int, set[int]] = {}
        for listed in id_lists(run for run, _ in first if run != NO_RUN):
            for run, version in self._connection.execute(checked_sql(_VERSIONS_OF_RUNS, ids=listed)):
                of_run.setdefault(run, set()).add(version)
        alone = {(version, version) for _, version in first}
        pairs = alone.union(*(itertools.product(versions, versions) for versions in of_run.values()))
        if len(self._pairs) > _MOST_KEYS:
            self._pairs.clear()
        self._connection.executemany(_ADD_PAIR, sorted(pairs - self._pairs))
        self._pairs |= pairs

    def _digest(self, event: EventRows) -> bytes:
        key = (event.producer, event.gaps, id(event.mentions))
        found = self._digests.get(key)
        if found is None:
            if len(self._digests) > _MOST_KEYS:
                self._digests.clear()
            found = self._digests[key] = event.mentions, version_digest(event)
        return found[1]

    def _add_descriptions(self, mentions: Mapping[DatasetMention, TimeSpan]) -> dict[bytes, int]:
        """Store descriptions, and return their numbers by their digests."""
        known, new = self._descriptions.of(each.digest for each in mentions)
        paths = self._add_paths(edge[-2:] for each in mentions if each.digest in new for edge in each.lines.edges)
        moved = []
        rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _ADD_PARTS}
        added = []
        for each, span in mentions.items():
            number, lines = known[each.digest], each.lines
            when = (span.first_time, span.first_run, span.last_time, span.last_run)
            if each.digest not in new:
                moved.append((*when, number))
                continue
            added.append((number, each.digest, each.job_id, lines.name_id, *when))
            rows["reading"] += [(name_id, number) for name_id in lines.read]
            rows["writing"] += [(name_id, number, lines.change, lines.states_sources) for name_id in lines.written]
            rows["field"] += [(number, position, name, type_) for _, name, type_, position in lines.columns]
            rows["edge"] += [
                (number, place, *edge[1:4], *edge[5:-2], paths.get(edge[-2:])) for place, edge in enumerate(lines.edges)
            ]
        self._connection.executemany(_MOVE_DESCRIPTION, moved)
        self._connection.executemany(_ADD_DESCRIPTION, added)
        for name, found in rows.items():
            self._connection.executemany(_ADD_PARTS[name], found)
        return known

    def _add_paths(self, paths: Iterable[Row]) -> dict[Row, int]:
        """Store paths, and return their numbers by their certainty and their steps."""
        every = {path: digest_of(f"{path[0]} {path[1]}") for path in dict.fromkeys(paths) if path[1] is not None}
        known, new = self._paths.of(every.values())
        rows = [(known[digest], digest, *path) for path, digest in every.items() if digest in new]
        self._connection.executemany(_ADD_PATH, rows)
        return {path: known[digest] for path, digest in every.items()}


class _Numbers:
    """
    The numbers of rows by their digests.

    Args:
        connection: the store.
        table: the table.
        column: the column of the number.
    """

    def __init__(self, connection: sqlite3.Connection, table: str, column: str = "") -> None:
        self._connection = connection
        column = column or table
        self._column, self._table = column, table
        self._last = checked_sql("SELECT coalesce(max({column}), 0) FROM {table}", column=column, table=table)
        self._known: dict[bytes, int] = {}

    def forget(self) -> None:
        """Forget all."""
        self._known.clear()

    def of(self, digests: Iterable[bytes]) -> tuple[dict[bytes, int], set[bytes]]:
        """Return the numbers of rows by their digests, and the new digests: the caller must add their rows."""
        wanted = list(dict.fromkeys(digests))
        if len(self._known) > _MOST_KEYS:
            self._known.clear()
        unknown = [each for each in wanted if each not in self._known]
        for marks, part in marked_lists(unknown):
            sql = "SELECT digest, {column} FROM {table} WHERE digest IN ({marks})"
            asked = checked_sql(sql, column=self._column, table=self._table, marks=marks)
            self._known |= dict(self._connection.execute(asked, part))
        new = [each for each in unknown if each not in self._known]
        if new:
            last = int(self._connection.execute(self._last).fetchone()[0])
            self._known |= {digest: number for number, digest in enumerate(new, last + 1)}
        return {each: self._known[each] for each in wanted}, set(new)
