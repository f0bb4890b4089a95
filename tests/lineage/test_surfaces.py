"""
One lineage on all surfaces: a store, its tables, `show`, `view`, the questions, differences, a notebook, Markdown.

Each surface is read back to its edges, and all are compared with what the events' facets say, which the test reads by
itself. The events are those of the recorded plans, one job and one output for each, and some by other producers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.lineage_events import dataset, lineage, run_event
from support.recorded_events import recorded_events
from support.surfaces import SURFACES, Surface, Told, in_between, in_diff, in_markdown, in_notebook, in_upstream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def foreign_events() -> list[dict[str, Any]]:
    """Return events as other producers write them: one edge in several ways, masked, without a kind, to itself."""
    ways = lineage(a=[("src", "x", "IDENTITY"), ("src", "y", "TRANSFORMATION")], b=[("dst", "b", "IDENTITY")])
    ways["fields"]["a"]["inputFields"][0]["transformations"].append(
        {"type": "INDIRECT", "subtype": "CONDITIONAL", "description": "", "masking": False}
    )
    ways["fields"]["a"]["inputFields"][1]["transformations"][0]["masking"] = True
    bare = {"fields": {"c": {"inputFields": [{"namespace": "lake", "name": "src", "field": "z"}]}}}
    rows = lineage(d=[("src", "x", "IDENTITY")], _rows=[("src", "x", "FILTER"), ("src", "x", "SORT")])
    read = (dataset("src", columns=("x", "y", "z")),)
    made = {"several": ways, "bare": bare, "rows": rows}
    return [
        run_event(
            name,
            "COMPLETE",
            minute,
            inputs=read,
            outputs=(dataset(f"dst_{name}", columns=("a", "b", "c", "d"), columnLineage=facet),),
        )
        for minute, (name, facet) in enumerate(made.items())
    ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told([*recorded_events(), *foreign_events()], tmp_path_factory.mktemp("surfaces"))


# `between` is asked for each two ends of an edge, and these three for each node.
LONG = (in_between, in_diff, in_markdown, in_upstream)
EACH = [pytest.param(each, marks=pytest.mark.long) if each in LONG else each for each in SURFACES]


@pytest.mark.parametrize("surface", EACH)
def test_a_surface_tells_the_edges_that_the_events_state(told: Told, surface: Surface) -> None:
    found = surface(told)

    assert len(told.stated) > 1400
    assert (told.stated - found, found - told.stated) == (set(), set())


@pytest.mark.long
def test_a_notebook_shows_the_edges_that_the_events_state(tmp_path: Path) -> None:
    few = Told([*recorded_events()[:60], *foreign_events()], tmp_path)
    found, stated = in_notebook(few), {(*edge[:2], "", edge[3]) for edge in few.stated}

    assert len(stated) > 150
    assert (stated - found, found - stated) == (set(), set())
