"""
One lineage on all surfaces: a store, its tables, `show`, `view`, the questions, differences, a notebook, Markdown.

Each surface is read back to its edges, and all are compared with what the events' facets say, which the test reads by
itself. The events are those of the recorded plans, one job and one output for each, and some by other producers.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.run import Engine, Job, RedactedState, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from support import cases, recorded_plans
from support.lineage_events import BEGIN, dataset, lineage, run_event
from support.surfaces import SURFACES, Surface, Told, in_notebook

if TYPE_CHECKING:
    from pathlib import Path


def recorded_events() -> list[dict[str, Any]]:
    """Return an event for each recorded plan of the newest Spark. Each writes datasets that no other one writes."""
    version = recorded_plans.versions()[-1]
    found = []
    for case in cases.all_cases():
        if case.runs_on(version):
            plan = decode_plan(recorded_plans.read(version, case.theme)[case.id])
            said = lineage_of_plan(plan, session_settings_of(plan, None), paths=True)
            written = [(each.write.dataset, each.lineage) for each in said.outputs]
            if said.columns is not None:
                fields = tuple(Field(each, "string") for each in dict.fromkeys(c.name for c in said.columns.columns))
                written = [(Dataset(Identifier("cases", "answer"), fields), said.columns)]
            # Each has a name that no other case writes, so that none replaces what another has written.
            outputs = tuple(
                RunOutput(
                    attrs.evolve(each, identifier=Identifier("made", f"{case.id}/{at}"), symlinks=()), lineage=its
                )
                for at, (each, its) in enumerate(written)
            )
            state = RunState(
                event_type="COMPLETE",
                event_time=BEGIN,
                run_id=str(uuid.uuid5(uuid.NAMESPACE_URL, case.id)),
                job=Job("cases", case.name, "SQL_JOB"),
                engine=Engine("4.3.0", application=()),
                inputs=tuple(RunInput(each) for each in said.inputs),
                outputs=outputs,
                gaps=said.gaps,
                operators=said.operators,
            )
            found.append(json.loads(serialise(build_event(RedactedState(state), EventOptions()))))
    return found


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


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_tells_the_edges_that_the_events_state(told: Told, surface: Surface) -> None:
    found = surface(told)

    assert len(told.stated) > 1400
    assert (told.stated - found, found - told.stated) == (set(), set())


def test_a_notebook_shows_the_edges_that_the_events_state(tmp_path: Path) -> None:
    few = Told([*recorded_events()[:60], *foreign_events()], tmp_path)
    found, stated = in_notebook(few), {(*edge[:2], "", edge[3]) for edge in few.stated}

    assert len(stated) > 150
    assert (stated - found, found - stated) == (set(), set())
