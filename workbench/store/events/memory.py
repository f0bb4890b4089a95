"""
Remember the content of events, so that a repeated text is neither parsed nor read again.

A run's START and its terminal event mention nearly the same datasets, and so do the runs of a job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openlineage_pyspark.workbench.events.read import facts, sides_of
from openlineage_pyspark.workbench.store.events.rows import has_escaped_surrogate, parse_event

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.events.read import EventFacts, Sides
    from openlineage_pyspark.workbench.events.shapes import EventJson
    from openlineage_pyspark.workbench.store.events.rows import DatasetMention, EventContent

_Value = TypeVar("_Value")

_TAIL = '"inputs":'
# A key that no event has. It completes the text before the tail to an object, if the tail begins with a key of that.
_MARK = "\0"
_MARKED = f"{json.dumps(_MARK)}:0}}"
# A parsed tail takes many times its characters.
_MOST_OF_TAILS = 16_000_000
_MOST_OF_MENTIONS = 32_000_000


class _LastUsed(Generic[_Value]):
    """
    The most recently used values, up to a limit.

    Args:
        most: the limit, as the sum of the sizes that `keep` gets. Up to twice as much is remembered.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Hashable, _Value] = {}
        self._older: dict[Hashable, _Value] = {}
        self._size = 0

    def get(self, key: Hashable, size: int) -> _Value | None:
        """Return the cached value; None if there is none."""
        found = self._known.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.keep(key, found, size)
        return found

    def keep(self, key: Hashable, value: _Value, size: int) -> None:
        """Remember a value."""
        self._known[key] = value
        self._size += size
        if self._size > self._most:
            self._known, self._older, self._size = {}, self._known, 0


class _Tail:
    """
    The end of an event, from its inputs on.

    Attributes:
        values: its keys with their values.
        datasets: the facts of its datasets; None until they are first used.
        content: the mentions of the job and the datasets in events with this end, by the other values that decide them.
    """

    __slots__ = ("content", "datasets", "values")

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.datasets: Sides | None = None
        self.content: dict[tuple[object, ...], EventContent] = {}


class EventMemory:
    """The ends of the last events, and the datasets that these mention."""

    def __init__(self) -> None:
        self._tails: _LastUsed[_Tail] = _LastUsed(_MOST_OF_TAILS)
        self._mentions: _LastUsed[DatasetMention] = _LastUsed(_MOST_OF_MENTIONS)
        # The end of the last parsed event, if it contains all of the event's datasets.
        self._tail: _Tail | None = None

    def parse(self, text: str) -> EventJson:
        """
        Return an event, as `parse_event` does.

        Args:
            text: its JSON.

        Raises:
            InvalidEventError: it is not the JSON of an object.
        """
        self._tail = None
        begin = text.find(_TAIL)
        # An event is parsed as a whole if it is written unusually, or is wrong, so that the error shows the place.
        if begin < 0 or has_escaped_surrogate(text):
            return parse_event(text)
        try:
            head = json.loads(text[:begin] + _MARKED)
            end = text[begin:]
            tail = self._tails.get(end, len(end))
            if tail is None:
                tail = _Tail(json.loads(f"{{{end}"))
                self._tails.keep(end, tail, len(end))
        except (ValueError, RecursionError):
            return parse_event(text)
        if not isinstance(head, dict) or head.pop(_MARK, None) is None or not head.keys().isdisjoint(tail.values):
            return parse_event(text)
        self._tail = None if "outputs" in head else tail
        return head | tail.values

    def facts(self, text: str) -> EventFacts:
        """
        Return the facts of an event.

        Args:
            text: its JSON.

        Raises:
            InvalidEventError: it is not a valid event.
        """
        event = self.parse(text)
        tail = self._tail
        if tail is None:
            return facts(event)
        if tail.datasets is None:
            tail.datasets = sides_of(event)
        return facts(event, tail.datasets)

    def content(self, key: tuple[object, ...], read: Callable[[], EventContent], /) -> EventContent:
        """Return the facts of the last parsed event about its job and its datasets."""
        if self._tail is None:
            return read()
        found = self._tail.content.get(key)
        if found is None:
            found = self._tail.content[key] = read()
        return found

    def mention(self, key: tuple[object, ...], read: Callable[[], DatasetMention], /) -> DatasetMention:
        """Return the facts of an event about a dataset."""
        size = len(key[-1]) if isinstance(key[-1], bytes) else 0
        found = self._mentions.get(key, size)
        if found is None:
            found = read()
            self._mentions.keep(key, found, size)
        return found
