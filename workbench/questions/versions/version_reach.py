"""
What comes from rows of versions, and where such rows come from.

Rows of one version continue on two paths: a run reads them and makes another version, or the dataset's next version
keeps them. A stream reads only the rows that versions added, so rows that a version kept do not arrive there. This is
why a place here is a version together with a part of its rows.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.questions.reach.reach import Direction
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.versions import (
    VersionClosure,
    VersionEdge,
    VersionKey,
    VersionPlace,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def reach_versions(
    versions: StoredVersions,
    start: Iterable[VersionKey],
    direction: Direction,
    *,
    depth: int | None = None,
    as_of: int | None = None,
) -> VersionClosure:
    """
    Return what comes from the rows that versions added, or where all rows of versions come from.

    Args:
        versions: of the store.
        start: where to begin.
        direction: downstream or upstream.
        depth: how many runs to pass at most; None for all.
        as_of: ignore later versions, microseconds since 1970; None to ignore none.
    """
    # Downstream of what a version added is also what is downstream of what it kept; upstream it is the other way round.
    wider = direction is Direction.DOWNSTREAM
    return reach_places(versions, ((key, wider) for key in start), direction, depth=depth, as_of=as_of)


def reach_places(
    versions: StoredVersions,
    places: Iterable[VersionPlace],
    direction: Direction,
    *,
    depth: int | None,
    as_of: int | None,
) -> VersionClosure:
    """
    Return what comes from rows of versions, or where rows of versions come from.

    Args:
        versions: of the store.
        places: where to begin, as `StoredVersions.used` and `StoredVersions.made_from` take them.
        direction: as in `reach_versions`.
        depth: as in `reach_versions`.
        as_of: as in `reach_versions`.
    """
    down = wider = direction is Direction.DOWNSTREAM

    def shown(edge: VersionEdge) -> bool:
        return as_of is None or versions.get(edge.target).time <= as_of

    level: dict[VersionPlace, None] = dict.fromkeys(places)
    depths: dict[VersionKey, int] = {}
    seen, edges = set[VersionPlace](), dict[VersionEdge, None]()
    for passed in itertools.count():
        kept = list(level)
        while kept:
            seen |= set(kept)
            found = versions.kept((key for key, added in kept if down or not added), direction)
            edges |= dict.fromkeys(filter(shown, found))
            ends = [(edge.target if down else edge.source, False) for edge in filter(shown, found)]
            kept = [place for place in dict.fromkeys(ends) if not seen & {place, (place[0], wider)}]
            level |= dict.fromkeys(kept)
        depths |= {key: passed for key, _ in level if key not in depths}
        if not level or passed == depth:
            break
        using = list(filter(shown, versions.used(level) if down else versions.made_from(level)))
        edges |= dict.fromkeys(using)
        following = [(edge.target, True) if down else (edge.source, edge.added) for edge in using]
        level = dict.fromkeys(place for place in following if not seen & {place, (place[0], wider)})
    return VersionClosure(depths, tuple(edges), tuple(level))


def versions_lead_on(
    versions: StoredVersions, reached: VersionClosure, direction: Direction, as_of: int | None
) -> bool:
    """Return whether the lineage continues beyond the depth of a result; the rest is as in `reach_places`."""
    places = dict.fromkeys(reached.last)
    beyond = versions.used(places) if direction is Direction.DOWNSTREAM else versions.made_from(places)
    return any(as_of is None or versions.get(edge.target).time <= as_of for edge in beyond)
