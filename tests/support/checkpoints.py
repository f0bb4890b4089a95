"""The checkpoint of a streaming query: what its logs say of each micro-batch."""

from __future__ import annotations

from pathlib import Path

import attrs


@attrs.frozen
class Range:
    """
    What a micro-batch read from one source.

    Args:
        batch: the number of the batch.
        source: the place of the source.
        start: the offset before the batch, as JSON; None if there is none.
        end: the offset after it, likewise.
    """

    batch: int
    source: int
    start: str | None
    end: str | None


def query_id(folder: Path) -> str:
    """Give the id of the query, whose file is `{"id":"..."}`."""
    return (folder / "metadata").read_text("utf-8").split('"')[3]


def ranges(folder: Path) -> list[Range]:
    """Give what each batch that was committed read, in order."""
    found: list[Range] = []
    before: list[str | None] = []
    for batch in sorted(int(file.name) for file in (folder / "commits").glob("[0-9]*")):
        # A version, the batch's own metadata, and a line for each source.
        lines = (folder / "offsets" / str(batch)).read_text("utf-8").splitlines()[2:]
        offsets = [None if line == "-" else line for line in lines]
        before = before or [None] * len(offsets)
        found += [Range(batch, at, before[at], end) for at, end in enumerate(offsets)]
        before = offsets
    return found
