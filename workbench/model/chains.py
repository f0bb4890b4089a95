"""Join the segments of paths that a plan has to paths through CTEs, views and subqueries."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.graph import Path, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.model.kinds import Certainty, Kind

MOST_PATHS = 8
"""The maximum number of paths through relations that are made of one path."""

_Place: TypeAlias = "tuple[str, str]"
"""An operator, and a column of its rows."""


@attrs.frozen
class Segment:
    """
    A part of a path: from one of its ends, or from a column of a relation, to the next.

    Args:
        source: the column of a relation where it begins; None if that is the source of the edge.
        target: the column of a relation where it ends; None if that is the target of the edge.
        kind: how a value comes from its beginning to its end.
        certainty: how sure that is.
        expression: the text that computes its end; empty if there is none.
        passing: the operators of relations that it passes, but by none of their columns, in order.
    """

    source: _Place | None
    target: _Place | None
    kind: Kind
    certainty: Certainty = "exact"
    expression: str = ""
    passing: tuple[str, ...] = ()


def paths_of(path: Path, segments: Sequence[Segment], relations: Mapping[str, str]) -> tuple[tuple[Path, ...], int]:
    """
    Return the paths through relations that the segments of a path make; each segment is on one of them.

    Args:
        path: the path, with its operators.
        segments: the parts; none if it passes no relation.
        relations: the operators of relations, each with the name of the relation.

    Returns:
        The paths, and how many segments are on none of them because there would be too many paths.
    """
    if not segments:
        return (path,), 0
    chains, left_out = _chains(segments)
    return tuple(attrs.evolve(path, steps=_steps(path.steps, chain, relations)) for chain in chains), left_out


def _chains(segments: Sequence[Segment]) -> tuple[list[tuple[Segment, ...]], int]:
    """
    Return chains from the source to the target that together contain each segment, and how many segments are on none.

    A recursive CTE makes a circle of segments, of which a chain contains each only once.
    """
    into: dict[_Place | None, list[Segment]] = {}
    out_of: dict[_Place | None, list[Segment]] = {}
    for segment in segments:
        into.setdefault(segment.target, []).append(segment)
        out_of.setdefault(segment.source, []).append(segment)
    before, after = _nearest(out_of, forward=True), _nearest(into, forward=False)
    chains: list[tuple[Segment, ...]] = []
    open_ = dict.fromkeys(segments)
    for segment in segments:
        if segment not in open_:
            continue
        begin = () if segment.source is None else before.get(segment.source)
        end = () if segment.target is None else after.get(segment.target)
        if begin is None or end is None or len(chains) == MOST_PATHS:
            continue
        chain = (*begin, segment, *end)
        chains.append(chain)
        for each in chain:
            open_.pop(each, None)
    return chains, len(open_)


def _nearest(following: Mapping[_Place | None, list[Segment]], *, forward: bool) -> dict[_Place, tuple[Segment, ...]]:
    """Return the shortest chain from the source to each column; backward, from each column to the target."""
    found: dict[_Place, tuple[Segment, ...]] = {}
    waiting: deque[tuple[_Place | None, tuple[Segment, ...]]] = deque([(None, ())])
    while waiting:
        at, chain = waiting.popleft()
        for segment in following.get(at, ()):
            end = segment.target if forward else segment.source
            if end is not None and end not in found:
                found[end] = (*chain, segment) if forward else (segment, *chain)
                waiting.append((end, found[end]))
    return found


def _steps(operators: Iterable[Step], chain: Iterable[Segment], relations: Mapping[str, str]) -> tuple[Step, ...]:
    """Return the steps of a path with the relations on a chain, these in the order of the chain."""
    passed: list[Step] = []
    for segment in chain:
        expression = segment.expression
        for operator, column in (*((each, "") for each in segment.passing), segment.target or ("", "")):
            name = relations.get(operator, operator)
            passed.append(Step(operator, expression, name, column, segment.kind, segment.certainty))
            expression = ""
    *inner, last = passed
    rest = list(operators)
    found: list[Step] = []
    passes = {step.operator for step in rest}
    for step in inner:
        if passes and step.operator not in passes:
            # It is on the path of a value that decides about this one, as in a subquery that names outer columns.
            continue
        places = [place for place, each in enumerate(rest) if each.operator == step.operator]
        if places:
            # An operator that only passes the value on is the relation; another one computes its column.
            found += rest[: places[0]]
            found += [rest[place] for place in places if not rest[place].is_passing]
            del rest[: places[-1] + 1]
        found.append(step)
    return (*found, *rest, attrs.evolve(last, relation="", column=""))
