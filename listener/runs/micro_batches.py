"""
Collect the micro-batches of a streaming query's run between two events.

The writes of a batch are known from its executions; its reads and its commit from Spark's progress, which comes after
them. The collected batches are bounded: the run reports them in a RUNNING event before there are too many.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier, TableVersions
from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery
from openlineage_pyspark.facets.model.run import EventType, Gap, RunInput, RunOutput
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.listener.probe.records import (
    BatchExecution,
    Commit,
    ExecutionMetrics,
    SourceProgress,
    StreamProgressed,
)
from openlineage_pyspark.listener.runs.statistics import OutputStatistics, RunStatistics, by_output
from openlineage_pyspark.listener.runs.stream_sources import SourceNames, batch_sources_of, reads_no_dataset

MOST_BATCHES = 1000
"""The maximum number of micro-batches in one event."""
MOST_CHARACTERS = 256 * 1024
"""The maximum number of characters of these; a single batch may take more."""
_TASK = "micro-batches"
# About how many characters an event has for each batch, and for each source or sink, besides their texts.
_BATCH_CHARACTERS = 120
_PART_CHARACTERS = 90
_TICK = datetime.timedelta(microseconds=1)


@attrs.define
class _BatchOutput:
    """
    The writes of a batch to one output so far.

    Args:
        written: the counts since the last commit.
        change: the change of the dataset.
        sinks: the commits.
    """

    written: OutputStatistics = attrs.Factory(OutputStatistics)
    change: str | None = None
    sinks: list[BatchSink] = attrs.Factory(list)


@attrs.define
class _WaitingBatch:
    """
    A batch that waits for the next event.

    Args:
        batch: the batch.
        places: for each of its sources, the index of the source in Spark's list.
        size: roughly how many characters it takes in the event.
    """

    batch: MicroBatch
    places: tuple[int, ...]
    size: int


@attrs.define
class _RunningBatch:
    """
    A batch that is not committed yet.

    Args:
        counted: what its executions read and wrote.
        wrote: their writes, by output.
    """

    counted: RunStatistics = attrs.Factory(RunStatistics)
    wrote: dict[Identifier, _BatchOutput] = attrs.Factory(dict)

    def sinks(self) -> tuple[BatchSink, ...]:
        return tuple(sink for identifier, wrote in self.wrote.items() for sink in _sinks(identifier, wrote))


@attrs.define
class MicroBatches:
    """
    The micro-batches of one run that no event has reported yet.

    Args:
        run: Spark's id of the query's run.
        names: finds the inputs of the sources.
        id: the query's id; None until it is known.
        name: the name that the user gave it, if any.
        checkpoint: the URI of its checkpoint; None if it is unknown.
        continues: whether it continues from the checkpoint of an earlier run.
    """

    run: str
    names: SourceNames
    id: str | None = None
    name: str | None = None
    checkpoint: str | None = None
    continues: bool = False
    _running: dict[int, _RunningBatch] = attrs.field(factory=dict, init=False)
    _collected: list[_WaitingBatch] = attrs.field(factory=list, init=False)
    _size: int = attrs.field(default=0, init=False)
    _last: int | None = attrs.field(default=None, init=False)
    _reported: datetime.datetime | None = attrs.field(default=None, init=False)
    _gaps: dict[Gap, None] = attrs.field(factory=dict, init=False)
    _forgotten: int = attrs.field(default=0, init=False)
    _versions: dict[Identifier, str] = attrs.field(factory=dict, init=False)
    _committed: dict[Identifier, BatchSink] = attrs.field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._collected)

    def begin(self, batch: BatchExecution | None, plan_lineage: PlanLineage) -> None:
        """
        Learn about the query from an execution of a batch.

        Args:
            batch: which batch it is; None if that is unknown.
            plan_lineage: the lineage of its plan.
        """
        inputs = [dataset.identifier for dataset in plan_lineage.inputs]
        self.names.learn(inputs, plan_lineage.streamed)
        if batch is not None:
            self.checkpoint = self.checkpoint or batch.checkpoint

    def count(
        self,
        batch: int,
        metrics: ExecutionMetrics,
        parts: Iterable[PlanLineage],
        outputs: tuple[Identifier, ...],
    ) -> None:
        """
        Add the metrics of one execution of a batch; call this only if it did not fail.

        Args:
            batch: the number of the batch.
            metrics: the metrics of the execution.
            parts: the lineage of the plans to which its scans may belong.
            outputs: the output of each of its writes, in their order; empty if these are unknown.
        """
        running = self._running.setdefault(batch, _RunningBatch())
        running.counted.add(metrics, parts)
        for output, written in by_output(metrics, outputs).items():
            if output is not None:
                running.wrote.setdefault(output, _BatchOutput()).written.add(written)

    def wrote(self, batch: int, output: Identifier, change: str | None) -> None:
        """
        Add an output that an execution of a batch has written, even if the amount is unknown.

        Args:
            batch: the number of the batch.
            output: the output.
            change: the change of that dataset as a whole, such as OVERWRITE; None for an append.
        """
        wrote = self._running.setdefault(batch, _RunningBatch()).wrote.setdefault(output, _BatchOutput())
        wrote.change = change or wrote.change

    def commit(self, batch: int, output: Identifier, commits: Iterable[Commit]) -> None:
        """Add the commits that an execution of a batch has made; call this after `count`."""
        wrote = self._running.setdefault(batch, _RunningBatch()).wrote.setdefault(output, _BatchOutput())
        made = list(commits)
        statistics = wrote.written.statistics
        counted = statistics.rows if statistics is not None and len(made) == 1 else None
        for each in made:
            rows = counted if counted is not None else each.rows
            wrote.sinks.append(BatchSink(output, None, each.version, each.parent, rows, wrote.change))
        if made:
            wrote.written, wrote.change = OutputStatistics(), None

    def completed(self, progress: StreamProgressed) -> MicroBatch | None:
        """Return the batch that a trigger has completed; None if it had nothing to do."""
        self.id, self.name = self.id or progress.query, self.name or progress.name
        is_new = self._last is None or progress.batch > self._last
        if not is_new or not (progress.executed or progress.batch in self._running):
            return None
        if self._last is not None and progress.batch > self._last + 1:
            self._report(
                f"Spark did not report the batches {self._last + 1} to {progress.batch - 1}: they are not listed"
            )
        self._last = progress.batch
        running = self._running.pop(progress.batch, _RunningBatch())
        for older in [number for number in self._running if number < progress.batch]:
            del self._running[older]
        self.names.find(progress.sources)
        sinks = running.sinks() or ((BatchSink(description=progress.sink),) if progress.sink else ())
        rows, of_source = self._rows(progress, running, wrote=any(sink.rows for sink in sinks))
        return MicroBatch(
            id=progress.batch,
            time=progress.began,
            duration=progress.duration,
            rows=rows,
            watermark=progress.watermark,
            sources=tuple(part for parts in self._sources(progress, of_source) for part in parts),
            sinks=sinks,
        )

    def has_room(self, batch: MicroBatch) -> bool:
        """Return whether an event can list a further batch."""
        return not self._collected or (
            len(self._collected) < MOST_BATCHES and self._size + _size(batch) <= MOST_CHARACTERS
        )

    def add(self, batch: MicroBatch, progress: StreamProgressed) -> None:
        """Collect a batch that `completed` has returned, for the next event."""
        places = tuple(
            place for place, source in enumerate(progress.sources) for _ in range(max(1, self._parts(source)))
        )
        self._collected.append(_WaitingBatch(batch, places, _size(batch)))
        self._size += _size(batch)

    def forget_oldest(self) -> None:
        """Forget the oldest batch; its run has written nothing so far, and may never begin."""
        self._size -= self._collected.pop(0).size
        self._forgotten += 1

    def is_due(self, now: datetime.datetime, interval: float) -> bool:
        """
        Return whether it is time to report the collected batches.

        Args:
            now: the time (timezone-aware).
            interval: the seconds between two events; if it is negative, only a full list is reported.
        """
        if not self._collected or len(self._collected) >= MOST_BATCHES:
            return bool(self._collected)
        # The clock may be a tick behind the time of the previous event.
        return interval >= 0 and (
            self._reported is None or max(0.0, (now - self._reported).total_seconds()) >= interval
        )

    def later(self, time: datetime.datetime) -> datetime.datetime:
        """Return a time, or one just after the previous event, because two events of a run have different times."""
        return time if self._reported is None else max(time, self._reported + _TICK)

    def taken(self, event_type: EventType, time: datetime.datetime) -> tuple[StreamingQuery | None, tuple[Gap, ...]]:
        """
        Return the collected batches for the next event, and drop them.

        Args:
            event_type: the event's type; a START reports no batches.
            time: the event's time (timezone-aware).

        Returns:
            The query with the batches since the previous event, or None if its id is unknown; and the gaps.
        """
        self._reported = time
        batches: tuple[MicroBatch, ...] = ()
        if event_type != "START":
            batches = tuple(self._named(each) for each in self._collected)
            self._collected, self._size = [], 0
        if event_type in ("FAIL", "ABORT"):
            self._report_partial_commits()
        gaps = list(self._gaps)
        if self._forgotten:
            gaps.append(Gap(_TASK, f"{self._forgotten} batches before the first write are not listed"))
        if self.id is None:
            return None, tuple(gaps)
        query = StreamingQuery(self.id, self.run, self.name, self.checkpoint, self.continues, batches)
        return query, tuple(gaps)

    def at_version(self, read: RunInput) -> RunInput:
        """Return an input with the latest version that a batch has read, if one is known."""
        version, layer = self._versions.get(read.dataset.identifier), read.dataset.storage_layer
        if version is None or layer is None:
            return read
        return attrs.evolve(read, dataset=attrs.evolve(read.dataset, versions=TableVersions(layer, (version,))))

    def as_committed(self, output: RunOutput) -> RunOutput:
        """Return an output with the latest version that a reported batch has committed."""
        sink, layer = self._committed.get(output.dataset.identifier), output.dataset.storage_layer
        if sink is None or sink.version is None or layer is None:
            return output
        versions = TableVersions(layer, (sink.version,), parent=sink.parent)
        return attrs.evolve(output, dataset=attrs.evolve(output.dataset, versions=versions))

    def _report(self, message: str) -> None:
        # One message per source or per loss; a run that loses thousands reports the first ones.
        if len(self._gaps) < MOST_BATCHES:
            self._gaps[Gap(_TASK, message)] = None

    def _report_partial_commits(self) -> None:
        """Report the versions that uncompleted batches have committed to their sinks: Spark repeats the batches."""
        for number, running in self._running.items():
            for sink in running.sinks():
                if sink.version is not None and sink.dataset is not None:
                    what = f"version {sink.version} of {sink.dataset.name}"
                    self._report(f"batch {number} was not completed, and is not listed; it has committed {what}")

    def _rows(
        self, progress: StreamProgressed, running: _RunningBatch, *, wrote: bool
    ) -> tuple[int | None, list[int | None]]:
        """
        Return the rows that a batch read, of all sources and of each.

        Spark reports 0 if it can't assign its metrics to the sources, as on Spark 3.5 if one of them is idle. The
        counts then come from the batch's executions. If these have no rows either, although the batch `wrote` some,
        the sink has computed the rows by itself, as Delta Lake does on Spark 4.1: they are not counted.
        """
        if progress.rows:
            return progress.rows, [source.rows for source in progress.sources]
        found: list[int | None] = []
        for place, source in enumerate(progress.sources):
            name = self.names.name_of(place)
            read = running.counted.read.get(name) if name is not None else None
            moved = source.start != source.end
            found.append((read[0] if read is not None else None) if moved else 0)
        if wrote and not any(found):
            found = [None if s.start != s.end else 0 for s in progress.sources]
        known = [each for each in found if each is not None]
        return (sum(known) if len(known) == len(found) else None), found

    def _parts(self, source: SourceProgress) -> int:
        return len(self.names.topics_of(source))

    def _sources(self, progress: StreamProgressed, rows: list[int | None]) -> list[list[BatchSource]]:
        if progress.cut:
            self._report(f"only the first {len(progress.sources)} sources are listed")
        found = []
        for source, read in zip(progress.sources, rows, strict=True):
            if source.cut:
                self._report("an offset is left out because it is too long")
            found.append(batch_sources_of(source, self.names.topics_of(source), read))
        return found

    def _named(self, collected: _WaitingBatch) -> MicroBatch:
        """Return a batch with the names of its sources; perhaps only a later batch has shown some of them."""
        batch, sources = collected.batch, []
        for place, source in zip(collected.places, collected.batch.sources, strict=True):
            name = source.dataset or self.names.name_of(place)
            sources.append(source if name == source.dataset else attrs.evolve(source, dataset=name))
            if name is not None and source.version is not None:
                self._versions[name] = source.version
            if name is None and not reads_no_dataset(source.description):
                self._report(f"it is unknown which input the source {source.description} is")
        self._committed.update((sink.dataset, sink) for sink in batch.sinks if sink.dataset is not None)
        return attrs.evolve(batch, sources=tuple(sources))


def _sinks(identifier: Identifier, wrote: _BatchOutput) -> list[BatchSink]:
    """Return the commits to an output; without versions, all writes are one entry."""
    if wrote.sinks:
        return wrote.sinks
    statistics = wrote.written.statistics
    rows = statistics.rows if statistics is not None else None
    return [BatchSink(identifier, rows=rows, change=wrote.change)]


def _size(batch: MicroBatch) -> int:
    texts = 0
    for source in batch.sources:
        texts += _PART_CHARACTERS + len(source.description) + len(source.start or "") + len(source.end or "")
        texts += len(source.dataset.namespace) + len(source.dataset.name) if source.dataset is not None else 0
    for sink in batch.sinks:
        texts += _PART_CHARACTERS + len(sink.description or "")
        texts += len(sink.dataset.namespace) + len(sink.dataset.name) if sink.dataset is not None else 0
    return _BATCH_CHARACTERS + texts
