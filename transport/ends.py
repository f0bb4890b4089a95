"""Which ends of runs a run that begins must wait for: those of runs that touched what it touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openlineage_pyspark.transport.waiting import Entry

# Of one application's events: those of another have no order with them.
_Key = tuple[int, str]


class Ends:
    """The terminal events that have not left yet, by the datasets of their runs. Not for several threads.

    A receiver such as Marquez takes events as they come: a reader's START that overtakes the writer's COMPLETE is
    tied to the version of the dataset that was there before. Runs that share no dataset, or only read the same ones,
    have no order.
    """

    def __init__(self) -> None:
        # In the order in which they came, so that the first one is the oldest.
        self._writers: dict[_Key, dict[int, Entry]] = {}
        self._readers: dict[_Key, dict[int, Entry]] = {}

    def add(self, end: Entry) -> None:
        """Note a terminal event, newer than all others of its application."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                table.setdefault((id(end.spool), dataset), {})[end.sequence] = end

    def remove(self, end: Entry) -> None:
        """Forget one, which may be forgotten already."""
        for table, datasets in ((self._writers, end.writes), (self._readers, end.reads)):
            for dataset in datasets:
                key = (id(end.spool), dataset)
                ends = table.get(key, {})
                ends.pop(end.sequence, None)
                if not ends:
                    table.pop(key, None)

    def before(self, start: Entry) -> Entry | None:
        """Give a terminal event that must leave before a START may, None where there is none."""
        for table, datasets in ((self._writers, start.reads | start.writes), (self._readers, start.writes)):
            for dataset in datasets:
                ends = table.get((id(start.spool), dataset))
                oldest = next(iter(ends.values())) if ends else None
                if oldest is not None and oldest.sequence < start.sequence and oldest.run_id != start.run_id:
                    return oldest
        return None
