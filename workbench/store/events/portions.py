"""Makes portions of rows of lines that should be events: what is merged into a store in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.events.read import InvalidEventError
from openlineage_pyspark.workbench.store.events.parts import PartParser
from openlineage_pyspark.workbench.store.events.rows import (
    described_rows,
    descriptions_of,
    named_rows,
    parse_event,
    read_event,
    rejected,
)
from openlineage_pyspark.workbench.store.tables import schema

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.rows import (
        DatasetMention,
        Description,
        EventRows,
        JobMention,
        Rows,
        TimeSpan,
    )

_MOST_LINES = 5000
_MOST_CHARACTERS = 32_000_000


@attrs.frozen
class EventLine:
    """
    What should be an event.

    Args:
        source: where it is, for people: a file and a line.
        text: its text.
        problem: why it is none; empty if only its parsing will say.
    """

    source: str
    text: str
    problem: str = ""


@attrs.frozen
class Portion:
    """
    What is merged into a store in one transaction.

    Args:
        rows: the rows of all tables but those that `described_rows` makes.
        descriptions: what these rows are made of, each one different from the others.
    """

    rows: Rows
    descriptions: tuple[Description, ...]

    @property
    def events(self) -> int:
        """Return how many lines were events."""
        return len(self.rows.get(schema.EVENT.name, ()))

    @property
    def reasons(self) -> list[str]:
        """Return why the other lines are none, with their places."""
        return [f"{source}: {reason}" for _, reason, source, _ in self.rows.get(schema.REJECTED.name, ())]

    def all_rows(self) -> Rows:
        """Return the rows of all tables."""
        return {**self.rows, **described_rows(self.descriptions)}


def line_batches(lines: Iterable[EventLine]) -> Iterator[list[EventLine]]:
    """
    Yield lines by as many as make a portion.

    Args:
        lines: the lines. Empty ones are left out.
    """
    found: list[EventLine] = []
    characters = 0
    for line in lines:
        if not line.text.strip():
            continue
        found.append(line)
        characters += len(line.text)
        if len(found) >= _MOST_LINES or characters >= _MOST_CHARACTERS:
            yield found
            found, characters = [], 0
    if found:
        yield found


def portions(lines: Iterable[EventLine]) -> Iterator[Portion]:
    """
    Yield the portions of lines.

    Args:
        lines: the lines. Empty ones are left out; of those that are no events come rows of `rejected`.
    """
    maker = PortionMaker()
    for batch in line_batches(lines):
        yield maker.portion(batch)


class PortionMaker:
    """Makes portions, and remembers what the last events said: the next ones say most of it again."""

    def __init__(self) -> None:
        self._parser = PartParser()

    def portion(self, lines: Iterable[EventLine]) -> Portion:
        """Return the rows of lines."""
        made = _Gathered()
        for line in lines:
            self._read(line, made)
        return made.portion()

    def _read(self, line: EventLine, made: _Gathered) -> None:
        if line.problem:
            made.add(rejected(line.text, line.problem, line.source))
            return
        try:
            found = read_event(self._parser.parse(line.text) or parse_event(line.text))
        except InvalidEventError as problem:
            made.add(rejected(line.text, str(problem), line.source))
        except RecursionError:
            made.add(rejected(line.text, "nested too deeply", line.source))
        else:
            made.take(found)


class _Gathered:
    """
    The rows of several events.

    What several of them say of a job or a dataset makes its rows once: the START and the end of a run say nearly the
    same, and so do the runs of a job.
    """

    def __init__(self) -> None:
        self._rows: Rows = {}
        self._mentions: dict[JobMention | DatasetMention, TimeSpan] = {}

    def add(self, rows: Rows) -> None:
        """Add rows that are an event's own."""
        for table, found in rows.items():
            self._rows.setdefault(table, []).extend(found)

    def take(self, found: EventRows) -> None:
        """Take what was read from an event."""
        self.add(found.rows)
        # What the START of a run mentions, its end mentions too: then all of it was said at the same times.
        before: TimeSpan | None = None
        both = found.span
        for mention in found.mentions:
            known = self._mentions.get(mention)
            if known is None:
                self._mentions[mention] = found.span
                continue
            if known is not before:
                before, both = known, known | found.span
            self._mentions[mention] = both

    def portion(self) -> Portion:
        """Return the rows of all that was taken."""
        self.add(named_rows(self._mentions))
        return Portion(self._rows, descriptions_of(self._mentions))
