"""Events as objects of openlineage-python, for transports that expect them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openlineage.client import event_v2, facet_v2

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_event(body: bytes) -> event_v2.RunEvent:
    """
    Return an event as an object of openlineage-python, which its `Serde` turns back into the same JSON document.

    Facets stay plain mappings, except for `parent`, whose attributes the client's own code reads.

    Raises:
        KeyError: the event lacks a required field.
        ValueError: the body is not JSON, or its event type is not one of the specification.
    """
    document = json.loads(body)
    run, job = document["run"], document["job"]
    facets = run.get("facets")
    if facets and "parent" in facets:
        facets = {**facets, "parent": _parent(facets["parent"])}
    event = event_v2.RunEvent(
        eventType=event_v2.RunState(document["eventType"]) if "eventType" in document else None,
        eventTime=document["eventTime"],
        producer=document["producer"],
        run=event_v2.Run(runId=run["runId"], facets=facets),
        job=event_v2.Job(namespace=job["namespace"], name=job["name"], facets=job.get("facets")),
        inputs=_datasets(document, "inputs", event_v2.InputDataset, "inputFacets"),
        outputs=_datasets(document, "outputs", event_v2.OutputDataset, "outputFacets"),
    )
    # The class sets the schema URL of the client's own version of the specification.
    event.schemaURL = document["schemaURL"]
    return event


def _datasets(document: Mapping[str, Any], name: str, kind: type, own_facets: str) -> list[Any] | None:
    if name not in document:
        return None
    return [
        kind(
            namespace=dataset["namespace"],
            name=dataset["name"],
            facets=dataset.get("facets"),
            **{own_facets: dataset.get(own_facets)},
        )
        for dataset in document[name]
    ]


def _parent(facet: Mapping[str, Any]) -> object:
    """Return the facet as its class if the class has a place for all of it; else unchanged."""
    run, job, root = facet.get("run", {}), facet.get("job", {}), facet.get("root")
    known = {"_producer", "_schemaURL", "run", "job", "root"}
    parts = [(run, {"runId"}), (job, {"namespace", "name"})]
    if root is not None:
        parts += [
            (root, {"run", "job"}),
            (root.get("run", {}), {"runId"}),
            (root.get("job", {}), {"namespace", "name"}),
        ]
    if facet.keys() != (known if root is not None else known - {"root"}) or any(
        p.keys() != names for p, names in parts
    ):
        return facet
    parent_run = facet_v2.parent_run
    made = parent_run.ParentRunFacet(
        run=parent_run.Run(**run, facets=None),
        job=parent_run.Job(**job, facets=None),
        root=parent_run.Root(
            run=parent_run.RootRun(**root["run"], facets=None), job=parent_run.RootJob(**root["job"], facets=None)
        )
        if root is not None
        else None,
        producer=facet["_producer"],
    )
    made._schemaURL = facet["_schemaURL"]
    return made
