"""A tree as lines of text, fitted to a width: names on the left, details on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import attrs
from openlineage_pyspark.workbench.pictures.plain import cell_len, pieces_of, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Role: TypeAlias = Literal["heading", "guide", "name", "text", "mark", "job"]
"""The role of a piece of a line: `text` is an expression, `mark` is something to notice."""
Piece: TypeAlias = tuple[str, Role]

_GAP = 2
# Beyond this many levels, a number replaces the guides.
_MOST_GUIDES = 12
# The minimum room for the details of a name; if there is less, they begin on the next line.
_LEAST = 24


class Tree(Protocol):
    """An answer as a tree for people, fitted to a width."""

    @property
    def count(self) -> str:
        """The size of the answer: a sentence without its full stop."""

    @property
    def hint(self) -> str:
        """A sentence about what is only shown on demand; empty if everything is shown."""

    def lines(
        self, width: int, *, all_: bool = False, clean: Callable[[str], str] = plain
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        """
        Return its lines as pieces that fit a width.

        Args:
            width: the width.
            all_: whether to include what is only shown on demand.
            clean: makes an untrusted text safe for a terminal.

        Returns:
            The pieces of each line: a text, and its role.
        """

    def to_text(self, width: int = 120) -> str:
        """Return the tree as text."""


@attrs.frozen
class Branch:
    """
    A line of a tree.

    Args:
        name: the name at the left.
        about: its details: texts, each with its role.
        last: for each level above it and for its own, whether it is the last branch there; empty for a root.
        has_more: whether it has branches of its own.
    """

    name: str
    about: tuple[Piece, ...] = ()
    last: tuple[bool, ...] = ()
    has_more: bool = False

    @property
    def guide(self) -> str:
        """Return the guides that lead to it."""
        if not self.last:
            return ""
        return f"{_guides(self.last[:-1])}{'└─ ' if self.last[-1] else '├─ '}"

    @property
    def below(self) -> str:
        """Return the guides before its continuation lines."""
        return f"{_guides(self.last)}{'│  ' if self.has_more else ''}"


def _guides(last: Sequence[bool]) -> str:
    hidden = len(last) - _MOST_GUIDES
    more = f"…{hidden} " if hidden > 0 else ""
    return more + "".join("   " if each else "│  " for each in last[max(0, hidden) :])


@attrs.frozen
class Section:
    """
    A part of an answer.

    Args:
        branches: its lines.
        title: its heading; empty if it has none.
        on_demand: whether it is only shown on demand.
    """

    branches: tuple[Branch, ...]
    title: str = ""
    on_demand: bool = False


@attrs.frozen
class Outline:
    """
    An answer as a tree.

    Args:
        sections: its parts.
        count: a sentence without its full stop: the size of the answer.
        hint: a sentence about what is only shown on demand; empty if everything is shown.
    """

    sections: tuple[Section, ...]
    count: str
    hint: str = ""

    def shown(self, *, all_: bool = False) -> tuple[Section, ...]:
        """Return the parts to show; with `all_`, also those on demand."""
        return tuple(each for each in self.sections if all_ or not each.on_demand)

    def lines(
        self, width: int, *, all_: bool = False, clean: Callable[[str], str] = plain
    ) -> Iterator[tuple[Piece, ...]]:
        """
        Yield its lines as pieces that fit a width.

        Args:
            width: the width.
            all_: whether to include what is only shown on demand.
            clean: makes an untrusted text safe for a terminal.
        """
        for place, section in enumerate(self.shown(all_=all_)):
            if place:
                yield ()
            if section.title:
                yield ((section.title, "heading"),)
            branches = [
                attrs.evolve(each, name=clean(each.name), about=tuple((clean(text), role) for text, role in each.about))
                for each in section.branches
            ]
            widest = max((cell_len(each.guide + each.name) for each in branches if each.about), default=0)
            column = min(widest + _GAP, width * 9 // 20)
            for branch in branches:
                yield from _fitted(branch, column, width)

    def to_text(self, width: int = 120) -> str:
        """Return the answer as text, with its hint as the last line."""
        lines = ["".join(text for text, _ in line).rstrip() for line in self.lines(width)]
        return "".join(f"{line}\n" for line in (*lines, *filter(None, (self.hint,))))


def _fitted(branch: Branch, column: int, width: int) -> Iterator[tuple[Piece, ...]]:
    """Yield the lines of a branch: its details begin at a column, if its name leaves room for them."""
    left = cell_len(branch.guide + branch.name)
    line: list[Piece] = [(branch.guide, "guide"), (branch.name, "name")]
    column = max(column, cell_len(branch.below) + _GAP)
    free = width - column
    begin = left + _GAP if left + _GAP > column else column
    if branch.about and width - begin < _LEAST:
        yield tuple(line)
        line, left, begin = [(branch.below, "guide")], cell_len(branch.below), column
    words = [(word, role, not place) for text, role in branch.about for place, word in enumerate(text.split(" "))]
    at, is_first = begin, True
    for word, role, begins in words:
        for number, piece in enumerate([word] if cell_len(word) <= free else pieces_of(word, max(free, 8))):
            gap = 0 if is_first or number else _GAP if begins else 1
            if is_first:
                line.append((" " * (begin - left), "guide"))
            elif at + gap + cell_len(piece) > width:
                yield tuple(line)
                line = [(branch.below, "guide"), (" " * (column - cell_len(branch.below)), "guide")]
                at, gap = column, 0
            line.append((" " * gap + piece, role))
            at += gap + cell_len(piece)
            is_first = False
    yield tuple(line)
