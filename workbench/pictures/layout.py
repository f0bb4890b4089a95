"""
Place boxes in layers, from left to right.

This is the method of Sugiyama, Tagawa and Toda (1981): links that close a cycle are reversed; each box gets the layer
of the longest path to it; a link over several layers crosses each of them; boxes are ordered within their layers by
the barycentre of their neighbours, so that few links cross; and each is placed at the height of its neighbours, if
there is room. The same boxes and links always get the same places.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import attrs

BoxKey = TypeVar("BoxKey", bound=Hashable)

_SWEEPS = 8


@attrs.frozen
class Size:
    """The size of a box, in pixels."""

    width: int
    height: int


@attrs.frozen
class Gaps:
    """
    The space between boxes, in pixels.

    Args:
        across: between two layers.
        down: between two boxes of a layer.
    """

    across: int = 80
    down: int = 20


@attrs.frozen
class Layout(Generic[BoxKey]):
    """
    The positions of boxes, in pixels.

    Args:
        places: the left and the top of each box.
        bends: for each link, the points at which it enters and leaves each layer that it crosses, from its source to
            its target.
        backward: the links that lead from right to left.
        width: the total width.
        height: the total height.
    """

    places: Mapping[BoxKey, tuple[int, int]]
    bends: Mapping[tuple[BoxKey, BoxKey], tuple[tuple[int, int], ...]]
    backward: frozenset[tuple[BoxKey, BoxKey]]
    width: int
    height: int


def layered(sizes: Mapping[BoxKey, Size], links: Mapping[tuple[BoxKey, BoxKey], int], gaps: Gaps) -> Layout[BoxKey]:
    """
    Return the positions of boxes.

    Args:
        sizes: the boxes.
        links: pairs of different boxes, of which the first should be to the left of the second -> the height in pixels
            that the link needs where it crosses a layer.
        gaps: the space between boxes.
    """
    keys = list(sizes)
    number = {key: place for place, key in enumerate(keys)}
    pairs = {(number[a], number[b]): height for (a, b), height in links.items()}
    turned = _closing(len(keys), list(pairs))
    forward: dict[tuple[int, int], int] = {}
    for (a, b), height in pairs.items():
        pair = (b, a) if (a, b) in turned else (a, b)
        forward[pair] = max(height, forward.get(pair, 0))
    passed = _Passed([box.height for box in sizes.values()], forward)
    rows = _ordered(passed)
    tops = _tops(passed, rows, gaps.down)
    boxes = list(sizes.values())
    widths = [max((boxes[each].width for each in row if each < len(boxes)), default=0) for row in rows]
    lefts = [sum(widths[:layer]) + gaps.across * layer for layer in range(len(rows))]
    places = {
        key: (lefts[layer] + (widths[layer] - box.width) // 2, tops[at])
        for at, (key, box, layer) in enumerate(zip(keys, boxes, passed.layers, strict=False))
    }
    bends: dict[tuple[BoxKey, BoxKey], tuple[tuple[int, int], ...]] = {}
    for a, b in pairs:
        points: list[tuple[int, int]] = []
        for each in passed.placeholders[(b, a) if (a, b) in turned else (a, b)]:
            left, middle = lefts[passed.layers[each]], tops[each] + passed.heights[each] // 2
            points += [(left, middle), (left + widths[passed.layers[each]], middle)]
        bends[keys[a], keys[b]] = tuple(reversed(points) if (a, b) in turned else points)
    return Layout(
        places,
        bends,
        frozenset((keys[a], keys[b]) for a, b in turned),
        lefts[-1] + widths[-1] if rows else 0,
        max((top + height for top, height in zip(tops, passed.heights, strict=True)), default=0),
    )


def _neighbours(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Return, for each number, those before it and those after it."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        after[a].append(b)
        before[b].append(a)
    return before, after


def _closing(count: int, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs that close a cycle, found by depth-first search from boxes without incoming links."""
    before, after = _neighbours(count, pairs)
    found: set[tuple[int, int]] = set()
    state = [0] * count
    for start in sorted(range(count), key=lambda each: bool(before[each])):
        stack = [(start, 0)] if not state[start] else []
        while stack:
            at, place = stack.pop()
            state[at] = 1
            if place == len(after[at]):
                state[at] = 2
                continue
            stack.append((at, place + 1))
            following = after[at][place]
            if state[following] == 1:
                found.add((at, following))
            elif state[following] == 0:
                stack.append((following, 0))
    return found


def _layers(count: int, forward: Sequence[tuple[int, int]]) -> list[int]:
    """
    Return the layer of each box: the length of the longest path to it.

    A box without incoming links is in the layer before that of its nearest target.
    """
    before, after = _neighbours(count, forward)
    missing = [len(each) for each in before]
    ready = [each for each in range(count) if not missing[each]]
    layers = [0] * count
    for at in ready:
        for following in after[at]:
            layers[following] = max(layers[following], layers[at] + 1)
            missing[following] -= 1
            if not missing[following]:
                ready.append(following)
    for at in range(count):
        if not before[at] and after[at]:
            layers[at] = min(layers[each] for each in after[at]) - 1
    return layers


class _Passed:
    """
    The boxes, and a placeholder for each link in each layer that it crosses.

    Attributes:
        layers: the layer of each; the boxes come first.
        heights: the height of each.
        placeholders: those of each link, from left to right.
        before: the neighbours of each in the layer to its left.
        after: the neighbours of each in the layer to its right.
    """

    def __init__(self, heights: Sequence[int], links: Mapping[tuple[int, int], int]) -> None:
        self.layers = _layers(len(heights), list(links))
        self.heights = list(heights)
        self.placeholders: dict[tuple[int, int], list[int]] = {}
        steps: list[tuple[int, int]] = []
        for (a, b), height in links.items():
            between = range(self.layers[a] + 1, self.layers[b])
            own = list(range(len(self.layers), len(self.layers) + len(between)))
            self.layers += between
            self.heights += [height] * len(between)
            self.placeholders[a, b] = own
            points = [a, *own, b]
            steps += itertools.pairwise(points)
        self.before, self.after = _neighbours(len(self.layers), steps)


def _ordered(passed: _Passed) -> list[list[int]]:
    """Return the content of each layer, from the top, in an order in which few links cross."""
    rows: list[list[int]] = [[] for _ in range(max(passed.layers, default=-1) + 1)]
    for each, layer in enumerate(passed.layers):
        rows[layer].append(each)
    best, fewest = [list(row) for row in rows], _crossings(passed, rows)
    for sweep in range(_SWEEPS):
        to_right = sweep % 2 == 0
        beside = passed.before if to_right else passed.after
        inner = range(1, len(rows)) if to_right else range(len(rows) - 2, -1, -1)
        for layer in inner:
            fixed = rows[layer - 1 if to_right else layer + 1]
            place = {each: at for at, each in enumerate(fixed)}
            middle = {each: _mean([place[other] for other in beside[each]]) for each in rows[layer]}
            # A box without a neighbour in that layer stays where it is.
            own = {each: at for at, each in enumerate(rows[layer])}
            rows[layer].sort(key=lambda each: (own[each] if middle[each] is None else middle[each], own[each]))
        crossings = _crossings(passed, rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(passed: _Passed, rows: Sequence[Sequence[int]]) -> int:
    """Return how many links cross."""
    found = 0
    for row, following in itertools.pairwise(rows):
        place = {each: at for at, each in enumerate(following)}
        ends: list[int] = []
        for each in row:
            own = sorted(place[other] for other in passed.after[each])
            found += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return found


def _tops(passed: _Passed, rows: Sequence[Sequence[int]], gap: int) -> list[int]:
    """Return the top of each, at the height of its neighbours where there is room; the smallest is 0."""
    heights = passed.heights
    tops = [0.0] * len(heights)
    for row in rows:
        top = 0.0
        for each in row:
            tops[each] = top
            top += heights[each] + gap
    for sweep in range(_SWEEPS):
        to_right = sweep % 2 == 0
        beside = passed.before if to_right else passed.after
        for row in rows if to_right else reversed(rows):
            wanted = []
            for each in row:
                middle = _mean([tops[other] + heights[other] / 2 for other in beside[each]])
                wanted.append(tops[each] if middle is None else middle - heights[each] / 2)
            for each, top in zip(row, _apart(wanted, [heights[each] + gap for each in row]), strict=True):
                tops[each] = top
    least = min(tops, default=0.0)
    return [round(top - least) for top in tops]


def _apart(wanted: Sequence[float], needed: Sequence[int]) -> list[float]:
    """
    Return the heights that are closest to the desired ones, by the sum of squares, with enough room between them.

    After subtracting the room that is needed before each, this is isotonic regression, which pooling neighbours solves.
    """
    offsets = [sum(needed[:at]) for at in range(len(needed))]
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    flat = [total / count for total, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(flat, offsets, strict=True)]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
