"""What the scans and writes of a run have counted, and its inputs and outputs with their share of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.lineage import Understanding
from openlineage_pyspark.facets.run import Input, Output

_READ = ("numOutputRows", "filesSize", "numFiles")
_WRITTEN = ("numOutputRows", "numOutputBytes", "numFiles")


@attrs.define
class Counted:
    """
    What a run has counted so far, as sums: a streaming query counts for as long as it runs.

    Args:
        read: rows, bytes and files by dataset.
        by_writes: rows, bytes and files, of the write commands.
        by_tasks: rows and bytes that tasks wrote, for sources whose writes count nothing themselves.
    """

    read: dict[Identifier, list[int | None]] = attrs.Factory(dict)
    by_writes: list[int | None] = attrs.Factory(lambda: [None, None, None])
    by_tasks: list[int] = attrs.Factory(lambda: [0, 0])

    def add(self, record: Mapping[str, Any], parts: Iterable[Understanding]) -> None:
        """
        Count what one execution or job did.

        Args:
            record: of its end, as the probe sends it.
            parts: what its plan and those around it say.
        """
        owner: dict[int, Identifier] = {}
        datasets: dict[Identifier, None] = {}
        for part in parts:
            owner.update(part.scanned)
            datasets.update((dataset.identifier, None) for dataset in part.inputs)
        for entry in record.get("metrics", ()):
            if entry["w"]:
                counted = dict(entry["m"])
                counted.setdefault("numOutputRows", counted.get("committedRows"))
                _add(self.by_writes, counted, _WRITTEN)
            elif "numOutputRows" in entry["m"]:
                found = next((owner[i] for i in entry["ids"] if i in owner), None)
                if found is None and not entry["ids"] and len(datasets) == 1:
                    found = next(iter(datasets))
                if found is not None:
                    _add(self.read.setdefault(found, [None, None, None]), entry["m"], _READ)
        for at, amount in enumerate(record.get("written", ())):
            self.by_tasks[at] += amount

    @property
    def written(self) -> Statistics | None:
        """What the write commands counted; else what the tasks did."""
        if self.by_writes[0] is None and self.by_tasks != [0, 0]:
            return Statistics(self.by_tasks[0], self.by_tasks[1] or None)
        return Statistics(*self.by_writes) if self.by_writes != [None, None, None] else None

    @property
    def nothing_written(self) -> bool:
        """Whether there is neither a row nor a file: a write of no rows makes a file or two all the same."""
        return not any(self.by_writes) and not any(self.by_tasks)


def inputs_of(parts: Iterable[Understanding], counted: Counted) -> tuple[Input, ...]:
    """
    The datasets that a run reads, each with what was read of it.

    Args:
        parts: what the run's plans say.
        counted: what it has counted, or nothing.
    """
    datasets: dict[Identifier, Dataset] = {}
    for part in parts:
        for dataset in part.inputs:
            datasets.setdefault(dataset.identifier, dataset)
    read = counted.read
    return tuple(
        Input(dataset, Statistics(*read[identifier]) if identifier in read else None)
        for identifier, dataset in datasets.items()
    )


def outputs_of(parts: Iterable[Understanding], counted: Counted, *, completed: bool) -> tuple[Output, ...]:
    """
    The datasets that a run writes, with what was written where there is only one.

    Args:
        parts: what the run's plans say.
        counted: what it has counted, or nothing.
        completed: whether it has ended well. What may be skipped (CREATE TABLE IF NOT EXISTS, `mode("ignore")`) and
            has counted nothing by then was skipped: it changed nothing, and has no lineage.
    """
    found: dict[Identifier, Output] = {}
    for part in parts:
        for output in part.outputs:
            write = output.write
            if completed and write.may_skip and counted.nothing_written:
                made = Output(write.dataset)
            else:
                made = Output(write.dataset, write.lifecycle, write.renamed_from, None, output.lineage)
            found.setdefault(write.dataset.identifier, made)
    if len(found) == 1:
        ((identifier, only),) = found.items()
        # Rows of an RDD have no columns, and so no lineage.
        if only.lineage is not None or counted.by_tasks != [0, 0]:
            found[identifier] = attrs.evolve(only, statistics=counted.written)
    return tuple(found.values())


def _add(sums: list[int | None], counted: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        if counted.get(name) is not None:
            sums[at] = (sums[at] or 0) + int(counted[name])
