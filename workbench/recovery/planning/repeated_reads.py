"""Decide which data a repeated run reads: a version, the current data, or data that are rebuilt before. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import Mode
from openlineage_pyspark.workbench.recovery.model.statements import NO_ROWS, is_version

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow, PlacedRead, Spread
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryRequest
    from openlineage_pyspark.workbench.recovery.model.statement_texts import StatementTexts
    from openlineage_pyspark.workbench.recovery.planning.groups import Group
    from openlineage_pyspark.workbench.recovery.planning.remade import Remade


@attrs.frozen
class PinnedRead:
    """
    The version to which a clean input is pinned.

    Args:
        version: the version; empty for the current data when the run reads.
        unpinned: why it is not the version that was read: that was lost with a DROP of the dataset, or expired, or the
            dataset keeps no versions and was written since. Empty if it is that version, or nothing was written since.
        wanted: the version that was read, if it is gone; empty if not.
    """

    version: str = ""
    unpinned: Literal["", "dropped", "expired", "no versions"] = ""
    wanted: str = ""


class RepeatedReads:
    """
    What runs read when they run again.

    Args:
        flow: the versions and their reads.
        found: the versions that hold bad data.
        again: the rebuilt datasets.
        texts: the statements of the runs.
        request: the request.
    """

    def __init__(
        self, flow: Flow, found: Spread, again: Remade, texts: StatementTexts, request: RecoveryRequest
    ) -> None:
        self._flow = flow
        self._facts = flow.facts
        self._found = found
        self._again = again
        self._texts = texts
        self._expired = request.expired
        self._is_side_by_side = request.mode is Mode.SIDE_BY_SIDE

    def is_corrected(self, placed: PlacedRead) -> bool:
        """Return whether the read data are rebuilt before."""
        return placed.key is not None and (placed.key in self._again.versions or placed.key in self._found.because)

    def named_a_version(self, placed: PlacedRead) -> bool:
        """Return whether a run read a version that was not the newest one when it began."""
        if placed.key is None or placed.read.inferred or self._flow.made(placed.key).version != placed.read.version:
            return False
        started = self._facts.run(placed.read.run_id).started
        return any(self._flow.made(each).time < started for each in self._flow.after(placed.key))

    def changed_since(self, placed: PlacedRead) -> bool:
        """Return whether the dataset was written after the version that was read, or that version is unknown."""
        if placed.key is None:
            return True
        after = self._flow.after(placed.key)
        return any(not self._flow.made(each).idle or self._flow.after(each) for each in after)

    def is_there_again(self, placed: PlacedRead, group: Group) -> bool:
        """Return whether a repeated application finds the version that was read: it runs before later ones are made."""
        first, base = self._again.firsts.get(placed.read.dataset), self._again.bases.get(placed.read.dataset)
        if first is None or self._is_side_by_side or (base is not None and base.replaced):
            # What its first repeated run replaces is not rolled back: until then it has its newest rows.
            return not self.changed_since(placed)
        before = self._flow.held(self._flow.before.get(HistoryPlace(placed.read.dataset, first)))
        return not group.too_late and self._flow.same_rows(placed.key)[-1:] == self._flow.same_rows(before)[-1:]

    def opened_views(self, unit: RunPart) -> dict[int, str]:
        """Return the views that a statement reads by their queries, because they may now show other rows."""
        views = self._texts.views_of(unit)
        if not views:
            return {}
        is_needed = any(
            self._is_side_by_side if self.is_corrected(placed) else self.changed_since(placed)
            for placed in self._flow.reads[unit]
            if placed.read.dataset in views or self._facts.datasets[placed.read.dataset].has_versions
        )
        return views if is_needed else {}

    def pinned(self, placed: PlacedRead) -> PinnedRead:
        """Return the version to which a clean input is pinned."""
        dataset = self._facts.datasets[placed.read.dataset]
        version = self._flow.made(placed.key).snapshot if placed.key else ""
        if placed.key and not version and self._flow.made(placed.key).is_between and is_version(placed.read.version):
            # The storage has no version of the writes after that one.
            version = placed.read.version
        if self.was_empty(placed):
            return PinnedRead(NO_ROWS)
        if placed.key and version and dataset.has_versions:
            if self._flow.is_dropped_after(placed.key):
                return PinnedRead("", "dropped", version)
            if (dataset.id, version) not in self._expired:
                return PinnedRead(version)
            return PinnedRead(self._nearest(placed.key), "expired", version)
        if self._facts.histories.get(dataset.id) and self.changed_since(placed):
            return PinnedRead("", "no versions")
        return PinnedRead()

    def was_empty(self, placed: PlacedRead) -> bool:
        """
        Return whether a run read a table that keeps versions but had none yet, such as a new Iceberg table.

        Its event then names no version, and the table can't be pinned to one.
        """
        if placed.key is None or not placed.read.inferred or not self._facts.datasets[placed.read.dataset].has_versions:
            return False
        made = self._flow.made(placed.key)
        return (
            (made.change, made.whole, made.empties, made.snapshot) == ("CREATE", True, True, "")
            and self._facts.has_maker(made)
            # No unknown writer made the first rows.
            and not any(self._facts.unknown_parent(self._flow.made(each)) for each in self._flow.after(placed.key))
        )

    def _nearest(self, expired: HistoryPlace) -> str:
        """Return the version nearest to one that expired: the next one after it, else the last one before."""
        dataset, place = expired
        history = self._facts.histories[dataset]
        for here in (*range(place + 1, len(history)), *range(place - 1, -1, -1)):
            version: str = history[here].snapshot
            is_there = version and (dataset, version) not in self._expired
            if is_there and (dataset, here) not in self._found.because:
                return version
        return ""
