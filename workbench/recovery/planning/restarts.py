"""Decide which streaming queries are reset, and where they continue. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
    from openlineage_pyspark.workbench.recovery.planning.groups import Group
    from openlineage_pyspark.workbench.recovery.planning.remade import Base

# In an offset of an Iceberg source.
_SNAPSHOT = re.compile(r'"snapshot_id"\s*:\s*(-?\d+)')


@attrs.frozen
class Restart:
    """
    Where a streaming query continues.

    Args:
        job: its job.
        checkpoint: the place of its checkpoint; empty if it is unknown.
        after: the last remaining micro-batch; None if it starts from scratch.
        last: the last one that it made.
        offsets: for each source, its name and the offset after which it is read; empty if no event states it.
        restored: its sources that are reset, each with the version to which it is rolled back; empty for one that is
            emptied.
    """

    job: str
    checkpoint: str
    after: int | None
    last: int
    offsets: tuple[tuple[str, str], ...]
    restored: tuple[tuple[DatasetFacts, str], ...]


class Restarts:
    """
    The streaming queries that are reset, or continue elsewhere.

    Args:
        flow: the versions and their reads.
        bases: from where each dataset is rebuilt.
        groups: what is repeated.
    """

    def __init__(self, flow: Flow, bases: dict[int, Base], groups: Iterable[Group]) -> None:
        self._flow = flow
        self._bases = bases
        self.repeated = _repeated(flow, groups)
        """The micro-batches that are repeated, by query, in order."""
        self.moved_on = [
            query
            for query, units in flow.batches.items()
            if query not in self.repeated
            and any(self._can_not_pass(units, known, version) for known, version in self._restored(query))
        ]
        """The queries that are not reset, but whose sources are, so that the position in these is gone."""

    def of(self, query: str) -> Restart:
        """Return where a query continues: before the micro-batches that are repeated, or at its end if none are."""
        batches = self._flow.batches[query]
        units = self.repeated.get(query, [])
        runs = [self._flow.facts.run(unit.run_id) for unit in batches]
        offsets = {
            placed.read.dataset: (self._flow.facts.label(placed.read.dataset), placed.read.offset_from)
            for placed in self._flow.read_by(units[:1])
        }
        checkpoint = next((run.checkpoint for run in reversed(runs) if run.checkpoint), "")
        last = batches[-1][1]
        after = None if self._starts_from_scratch(query) else units[0][1] - 1 if units else last
        return Restart(
            runs[-1].shown_job, checkpoint, after, last, tuple(offsets.values()), tuple(self._restored(query))
        )

    def reads_as_source(self, dataset: int) -> bool:
        """Return whether a micro-batch that is repeated reads a dataset as the source of its query."""
        placed = self._flow.read_by(unit for units in self.repeated.values() for unit in units)
        return any(each.read.is_source and each.read.dataset == dataset for each in placed)

    def _starts_from_scratch(self, query: str) -> bool:
        units = self.repeated.get(query)
        if not units:
            return False
        goes_back = any(self._bases[each].version for each in self._flow.written(units) if each in self._bases)
        # The first micro-batch that the store knows may not be the query's first.
        return units[0][1] == 0 or (self._flow.batches[query][0] == units[0] and not goes_back)

    def _restored(self, query: str) -> list[tuple[DatasetFacts, str]]:
        """Return the sources of a query that are reset, with the version to which each is rolled back."""
        found: dict[int, tuple[DatasetFacts, str]] = {}
        for placed in self._flow.read_by(self._flow.batches[query]):
            dataset = self._flow.facts.datasets[placed.read.dataset]
            base = self._bases.get(dataset.id)
            if not placed.read.is_source:
                continue
            if dataset.has_versions and base is not None and not base.replaced and dataset.location:
                found[dataset.id] = dataset, base.version
        return list(found.values())

    def _can_not_pass(self, units: Sequence[RunPart], known: DatasetFacts, version: str) -> bool:
        """Return whether a query can't continue after its source was rolled back to a version."""
        if known.format == "delta":
            # RESTORE removes rows, which a stream refuses.
            return True
        kept: set[str] = set()
        here = next((key for key in self._flow.line(known.id) if self._flow.made(key).snapshot == version), None)
        while here is not None:
            kept.add(self._flow.made(here).snapshot)
            here = self._flow.before.get(here)
        gone = {made.snapshot for made in self._flow.facts.histories[known.id]} - kept
        ends = (each.read for each in self._flow.read_by(units[::-1]))
        last = next((read.offset_to for read in ends if read.dataset == known.id and read.offset_to), "")
        found = _SNAPSHOT.search(last)
        return found is not None and found[1] in gone


def _repeated(flow: Flow, groups: Iterable[Group]) -> dict[str, list[RunPart]]:
    found: dict[str, list[RunPart]] = {}
    for group in groups:
        for unit in group.units:
            if unit.is_batch and (query := flow.facts.run(unit.run_id).query):
                found.setdefault(query, []).append(unit)
    for units in found.values():
        units.sort(key=lambda unit: (unit.batch_id, flow.facts.run(unit.run_id).started))
    return found
