"""
Find the input of a streaming query that belongs to each of its sources.

Spark's progress only describes the sources. The descriptions of some of them name what they read; the others are in the
same order in the plans of the micro-batches, where a source without new data is a leaf without a dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import attrs
from openlineage_pyspark.facets.datasets import naming, stream_offsets
from openlineage_pyspark.facets.model.dataset import Identifier, Trimming
from openlineage_pyspark.facets.model.micro_batch import BatchSource
from openlineage_pyspark.listener.probe.records import SourceProgress

_HASH = re.compile(r"@[0-9a-f]{1,8}$")
_PATH = re.compile(r"(?:FileStreamSource|DeltaSource)\[(.*)\]", re.DOTALL)
_SOCKET = re.compile(r"TextSocket\w*\[host: (.*), port: (\d+)\]")
_KAFKA = re.compile(r"Kafka\w*\[")
# Sources whose rows come from no dataset.
_ROWS = re.compile(r"(?:Rate\w*|\w*MemoryStream\w*)(?:\[|$)")


@attrs.define
class SourceNames:
    """
    Finds the inputs of a run's sources, and remembers them, because the sources of a run do not change.

    Args:
        trimming: the rules that shorten the names of datasets.
    """

    _trimming: Trimming
    _inputs: dict[Identifier, None] = attrs.field(factory=dict, init=False)
    _streamed: dict[Identifier, None] = attrs.field(factory=dict, init=False)
    _leaves: tuple[tuple[Identifier, ...], ...] = attrs.field(default=(), init=False)
    _known: dict[int, Identifier] = attrs.field(factory=dict, init=False)
    _idle: dict[int, Identifier] = attrs.field(factory=dict, init=False)

    def learn(self, inputs: Iterable[Identifier], leaves: tuple[tuple[Identifier, ...], ...]) -> None:
        """
        Learn the datasets in the plan of a micro-batch.

        Args:
            inputs: the datasets that it reads.
            leaves: the datasets of each of its leaves that is a stream, in order.
        """
        self._inputs.update(dict.fromkeys(inputs))
        self._streamed.update(dict.fromkeys(each for leaf in leaves for each in leaf))
        self._leaves = leaves

    def find(self, sources: Sequence[SourceProgress]) -> None:
        """Find the inputs of a batch's sources; call this for the batch whose plan was learned last."""
        for place, source in enumerate(sources):
            if place in self._known or reads_no_dataset(source.description):
                continue
            described = self._described(source)
            found = described if described in self._inputs else None
            if described is not None and source.start == source.end:
                # The source is idle, so perhaps no plan has shown it yet.
                self._idle[place] = described
            if found is None and len(self._leaves) == len(sources) and len(self._leaves[place]) == 1:
                found = self._leaves[place][0]
            if found is not None:
                self._known[place] = found
        open_ = [p for p, s in enumerate(sources) if p not in self._known and not _reads_no_table(s.description)]
        left = [each for each in self._streamed if each not in self._known.values() and not _is_topic(each)]
        if len(open_) == len(left) == 1:
            self._known[open_[0]] = left[0]

    def name_of(self, place: int) -> Identifier | None:
        """Return the input of the source at an index; None while it is unknown."""
        return self._known.get(place) or self._idle.get(place)

    def topics_of(self, source: SourceProgress) -> list[Identifier]:
        """Return the inputs of a Kafka source, perhaps several; empty for any other source."""
        if not _KAFKA.match(source.description):
            return []
        named = stream_offsets.by_topic(source.end) or stream_offsets.by_topic(source.start) or {}
        topics = [each for each in self._inputs if _is_topic(each)]
        clusters = {each.namespace for each in topics}
        # The description does not name the cluster.
        return [each for each in topics if each.name in named] if len(clusters) == 1 else []

    def _described(self, source: SourceProgress) -> Identifier | None:
        """Return the input that the description of a source names."""
        path, socket = _PATH.match(source.description), _SOCKET.match(source.description)
        found = None
        if path is not None:
            found = self._trimming.trimmed(naming.location(path[1]), is_path=True)
        elif socket is not None:
            found = Identifier(f"socket://{socket[1]}:{socket[2]}", "lines")
        topics = self.topics_of(source)
        if len(topics) == 1:
            found = topics[0]
        return found


def batch_sources_of(source: SourceProgress, topics: Sequence[Identifier], rows: int | None) -> list[BatchSource]:
    """
    Return the reads of a micro-batch from one source: one part, or one for each topic.

    Args:
        source: its progress.
        topics: its inputs, if it reads several topics.
        rows: how many rows were read from the source; None if it is unknown.
    """
    description = _HASH.sub("", source.description)
    if len(topics) < 2:
        version = stream_offsets.version_read(source.end)
        return [BatchSource(description, None, source.start, source.end, version, rows)]
    counts = [stream_offsets.messages_between(source.start, source.end, each.name) for each in topics]
    # Transaction markers are not messages, so the offsets may count more messages than were read.
    exact = None not in counts and sum(filter(None, counts)) == rows
    return [
        BatchSource(
            description,
            topic,
            stream_offsets.of_topic(source.start, topic.name),
            stream_offsets.of_topic(source.end, topic.name),
            rows=count if exact else None,
        )
        for topic, count in zip(topics, counts, strict=True)
    ]


def reads_no_dataset(description: str) -> bool:
    """Return whether the rows of a source come from no dataset, because they are generated or held in memory."""
    return _ROWS.match(description) is not None


def _reads_no_table(description: str) -> bool:
    return reads_no_dataset(description) or _KAFKA.match(description) is not None


def _is_topic(identifier: Identifier) -> bool:
    return identifier.namespace.startswith("kafka://")
