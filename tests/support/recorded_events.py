"""Events of the recorded plans."""

from __future__ import annotations

import json
import uuid
from typing import Any

import attrs
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.run import Engine, Job, RedactedState, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan

from support import cases, recorded_plans
from support.lineage_events import BEGIN


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
