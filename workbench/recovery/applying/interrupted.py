"""
What an earlier process has begun and not ended: the statements of a step, and an application's writes.

What such an application wrote is undone before it runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.applying.checkpoint import last_batches
from openlineage_pyspark.workbench.recovery.model.statements import emptied, is_version, roll_back, sql_name

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.checks import TableSession
    from openlineage_pyspark.workbench.recovery.applying.live import LiveVersion
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep, TableId

_LAKES = ("iceberg", "delta")


@attrs.frozen
class StepProgress:
    """
    The progress of a step that somebody else does, such as an application.

    Args:
        tables: the tables with versions that it writes, as far as they exist.
        same_files: the names of the tables without versions that have the files that they had.
        new_files: the names of those that have other files.
        queries: the streaming queries that it continues.
    """

    tables: tuple[TableProgress, ...] = ()
    same_files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    queries: tuple[QueryProgress, ...] = ()

    @property
    def problem(self) -> str:
        """Return why the step is not done, as a sentence; empty if it is."""
        if self.tables and not self.is_begun:
            return "its tables have no new version, so it is not done yet."
        missing = [each.problem for each in self.tables if each.problem]
        missing += [f"{', '.join(self.same_files)} has no other files"] * bool(self.same_files)
        missing += [each.problem for each in self.queries if each.problem]
        is_twice = any(len(each.since) > each.wanted > 0 for each in self.tables)
        so = "so it may have run twice." if is_twice else "so it is not done yet, or only in part."
        return f"{', and '.join(missing)}, {so}" if missing else ""

    @property
    def is_begun(self) -> bool:
        """Return whether it has written a table."""
        return bool(self.new_files or self.moved) or any(each.since for each in self.tables)

    @property
    def moved(self) -> tuple[QueryProgress, ...]:
        """Return the queries that have begun a micro-batch since: undoing that resets their checkpoints too."""
        return tuple(each for each in self.queries if each.begun != each.before)

    @property
    def undo(self) -> tuple[str, ...]:
        """Return the statements that remove what it has written, where the versions allow that."""
        return tuple(each.undo for each in self.tables if each.undo)

    @property
    def undo_lines(self) -> tuple[str, ...]:
        """Return these statements, each with the versions that it removes: one of them may be somebody else's."""
        lines: list[str] = []
        for each in self.tables:
            if each.undo:
                lines.append(each.undo)
                lines += (f"  removes version {made}" for made in each.since)
        lines += (each.undo for each in self.moved)
        return tuple(lines)

    @property
    def by_hand(self) -> tuple[str, ...]:
        """Return what a person must undo."""
        created = [sql_name(each.table) for each in self.tables if each.since and not each.undo]
        return (
            *(f"{name} was not there before: drop it by hand" for name in created),
            *(f"{name} keeps no versions: remove by hand what it wrote there" for name in self.new_files),
        )


@attrs.frozen
class QueryProgress:
    """
    A streaming query that a step continues.

    Args:
        checkpoint: the folder of its checkpoint.
        before: the last micro-batch that it had begun before the step; None for none.
        begun: the last one that it has begun; None for none.
        ended: the last one that it has ended; None for none.
    """

    checkpoint: str
    before: int | None = None
    begun: int | None = None
    ended: int | None = None

    @property
    def problem(self) -> str:
        """Return that it was interrupted; empty if it was not."""
        if self.begun is None or (self.ended is not None and self.begun <= self.ended):
            return ""
        return f"the query of {self.checkpoint} has not ended its micro-batch {self.begun}"

    @property
    def undo(self) -> str:
        """Return how its checkpoint gets its former state again, in words."""
        if self.before is None:
            return f"move the checkpoint {self.checkpoint} away"
        return f"reset the checkpoint {self.checkpoint} to micro-batch {self.before}"


def queries_since(begun: Mapping[str, int | None]) -> tuple[QueryProgress, ...]:
    """
    Return the streaming queries that a step continues, with what they have done since it began.

    Args:
        begun: their checkpoints -> the last micro-batch that they had begun then.
    """
    return tuple(QueryProgress(path, before, *last_batches(Path(path))) for path, before in begun.items())


@attrs.frozen
class TableProgress:
    """
    A table with versions that a step writes.

    Args:
        table: the table.
        since: the versions that it has got since the step began, the newest first.
        wanted: how many the runs made that are repeated; 0 if that is unknown.
        undo: the statement that removes what was written since; empty if nothing was, or no statement does that.
    """

    table: TableId
    since: tuple[LiveVersion, ...] = ()
    wanted: int = 0
    undo: str = ""

    def is_made_by(self, application: str) -> bool:
        """Return whether an application may have made one of the versions."""
        return any(each.application in ("", application) for each in self.since)

    @property
    def problem(self) -> str:
        """Return what is missing, or too much; empty if it was written as often as by the runs that are repeated."""
        name, count = sql_name(self.table), len(self.since)
        if not count:
            return f"{name} has no new version"
        versions = "version" if count == 1 else "versions"
        return f"{name} has {count} new {versions} and not {self.wanted}" if self.wanted not in (0, count) else ""


def written_since(step: RecoveryStep, before: Mapping[str, str], session: TableSession) -> Iterator[TableProgress]:
    """
    Yield the tables with versions that a step writes, with what they have got since it began.

    Args:
        step: the step.
        before: its tables -> their versions before; without those that did not exist.
        session: the Spark session.
    """
    wanted = {check.table: len(check.known) for check in step.after if check.check == "made"}
    for table in step.writes:
        if table.format not in _LAKES or (live := session.table(table)) is None:
            continue
        then = before.get(sql_name(table))
        since = tuple(live.since(then or ""))
        undo = ""
        if since and then == "":
            undo = emptied(sql_name(table))
        elif since and then is not None and is_version(then):
            undo = roll_back(table, then, is_ancestor=then in {each.version for each in live.line})
        yield TableProgress(table, since, wanted.get(table, 0), undo)
