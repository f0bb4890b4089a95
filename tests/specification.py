"""The OpenLineage specification as a judge of events: its schemas, and the rules that no schema can say."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

Event = dict[str, Any]
FacetKey = tuple[str, str]

WITHOUT_SCHEMA = frozenset({("RunFacet", "spark_properties"), ("RunFacet", "spark_applicationDetails")})
"""Facets of the Java integration that have no schema of their own, by entity and name."""

_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_ACCEPTED_NAMESPACE = re.compile(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}")
_TERMINAL = frozenset({"COMPLETE", "FAIL", "ABORT"})
_VOCABULARY = {
    "DIRECT": {"IDENTITY", "TRANSFORMATION", "AGGREGATION"},
    "INDIRECT": {"FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"},
}


def facets_of(event: Event) -> Iterator[tuple[str, str, str, Event]]:
    """Give each facet of an event: where it stands, the entity that it is of, its name and itself."""
    places = [("run", "RunFacet", event["run"], "facets"), ("job", "JobFacet", event["job"], "facets")]
    for kind, own, own_key in (
        ("inputs", "InputDatasetFacet", "inputFacets"),
        ("outputs", "OutputDatasetFacet", "outputFacets"),
    ):
        for dataset in event.get(kind, []):
            where = f"{kind} {dataset['namespace']} {dataset['name']}"
            places += [(where, "DatasetFacet", dataset, "facets"), (where, own, dataset, own_key)]
    for where, entity, holder, key in places:
        for name, facet in holder.get(key, {}).items():
            yield where, entity, name, facet


class Specification:
    """The JSON Schemas of one folder, each compiled once.

    Args:
        folder: which holds `OpenLineage.json`, `facets` and `registry`.
    """

    def __init__(self, folder: Path) -> None:
        files = [folder / "OpenLineage.json"]
        files += [*folder.glob("facets/*.json"), *folder.glob("registry/*/facets/*.json")]
        documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        resources = [(document["$id"], Resource.from_contents(document)) for document in documents]
        self._registry = Registry().with_resources(resources).crawl()
        self._compiled: dict[str, Draft202012Validator] = {}
        self.schemas = {key: ref for document in documents[1:] for key, ref in _definitions(document)}

    def _messages(self, ref: str, value: object, where: str) -> list[str]:
        if ref not in self._compiled:
            self._compiled[ref] = Draft202012Validator(
                {"$ref": ref}, registry=self._registry, format_checker=Draft202012Validator.FORMAT_CHECKER
            )
        errors = self._compiled[ref].iter_errors(value)
        return [f"{where}: {error.json_path}: {error.message[:300]}" for error in errors]

    def violations(self, events: list[Event], custom: Collection[FacetKey] = ()) -> list[str]:
        """Give what the schemas have against some events; nothing where they are right.

        Args:
            events: as parsed from JSON.
            custom: entity and name of facets that may stand there without a schema of their own.
        """
        expected = WITHOUT_SCHEMA | set(custom)
        found: list[str] = []
        for event in events:
            label = f"{event.get('eventType')} {event.get('job', {}).get('name')}"
            found += self._messages(f"{_CORE}RunEvent", event, label)
            if event.get("schemaURL") != f"{_CORE}RunEvent":
                found.append(f"{label}: schemaURL is {event.get('schemaURL')}")
            for where, entity, name, facet in facets_of(event):
                place = f"{label}: {where}: {name}"
                ref = self.schemas.get((entity, name))
                if ref is None and (entity, name) not in expected:
                    found.append(f"{place}: no schema for a {entity} of this name")
                    continue
                ref = ref or f"{_CORE}{entity}"
                found += self._messages(ref, facet, place)
                if facet.get("_schemaURL") != ref and (entity, name) not in custom:
                    found.append(f"{place}: _schemaURL is {facet.get('_schemaURL')}, not {ref}")
        return found


def _definitions(document: Event) -> Iterator[tuple[FacetKey, str]]:
    """Give entity and name of each facet in a schema file, with the reference to its definition."""
    for name, body in document.get("properties", {}).items():
        pending = [body]
        while pending:
            part = pending.pop()
            pending += part.get("anyOf", []) + part.get("oneOf", [])
            local = part.get("$ref", "")
            if not local.startswith("#/$defs/"):
                continue
            definition = document["$defs"][local.removeprefix("#/$defs/")]
            pending += definition.get("oneOf", [])
            for base in definition.get("allOf", []):
                if base.get("$ref", "").startswith(_CORE):
                    yield (base["$ref"].removeprefix(_CORE), name), document["$id"] + local


def _paths(fields: list[Event]) -> Iterator[str]:
    """Give each dotted path to a field; the levels of arrays and maps may be left out of it."""
    for field in fields:
        yield field["name"]
        for inner in _paths(field.get("fields", [])):
            yield f"{field['name']}.{inner}"
            if field["name"] in {"_element", "key", "value"}:
                yield inner


def _source_fields(event: Event, output: Event) -> dict[tuple[str, str], set[str]]:
    """Give the fields that an output's columns may come from, by namespace and name of their dataset."""
    return {
        (dataset["namespace"], dataset["name"]): set(
            _paths(dataset.get("facets", {}).get("schema", {}).get("fields", []))
        )
        for dataset in [output, *event.get("inputs", [])]
    }


def _edges(facet: Event) -> Iterator[tuple[str, Event]]:
    for column, value in facet["fields"].items():
        for edge in value["inputFields"]:
            yield f"column {column!r}", edge
    for edge in facet.get("dataset", []):
        yield "dataset list", edge


def _lineage_violations(event: Event, output: Event) -> Iterator[str]:
    facet = output.get("facets", {}).get("columnLineage")
    if facet is None:
        return
    fields = _source_fields(event, output)
    columns = {field["name"] for field in output["facets"].get("schema", {}).get("fields", [])}
    for column in sorted(facet["fields"].keys() - columns):
        yield f"column {column!r} is not in the output's schema"
    for where, edge in _edges(facet):
        source = edge["namespace"], edge["name"]
        if source not in fields:
            yield f"{where}: dataset {source} is not in inputs"
        elif edge["field"] not in fields[source]:
            yield f"{where}: field {edge['field']!r} is not in the schema of {source}"
        if not edge.get("transformations"):
            yield f"{where}: {edge['field']!r} arrives in no way"
        for way in edge.get("transformations", []):
            if way.get("subtype") not in _VOCABULARY.get(way["type"], ()):
                yield f"{where}: {way['type']} {way.get('subtype')} is no transformation"
            if where == "dataset list" and way["type"] == "DIRECT":
                yield f"{where}: {edge['field']!r} is DIRECT"


def _event_violations(event: Event) -> Iterator[str]:
    identities = [("job", event["job"])]
    for kind in ("inputs", "outputs"):
        datasets = event.get(kind, [])
        identities += [(kind, dataset) for dataset in datasets]
        names = [(dataset["namespace"], dataset["name"]) for dataset in datasets]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{kind}: {name} stands there more than once"
        for dataset in datasets:
            links = dataset.get("facets", {}).get("symlinks", {}).get("identifiers", [])
            identities += [(f"symlink of {dataset['name']}", link) for link in links]
    for where, identity in identities:
        if not _ACCEPTED_NAMESPACE.fullmatch(identity["namespace"]):
            yield f"{where}: namespace {identity['namespace']!r} has characters that Marquez refuses"
        if not identity["name"]:
            yield f"{where}: the name is empty"
    for output in event.get("outputs", []):
        for violation in _lineage_violations(event, output):
            yield f"columnLineage of {output['name']}: {violation}"


def _order_violations(types: list[str]) -> Iterator[str]:
    """Say what is wrong with the event types of one run in their order."""
    terminal = [index for index, kind in enumerate(types) if kind in _TERMINAL]
    if types.count("START") != 1:
        yield f"{types.count('START')} START events"
    elif types[0] != "START":
        yield f"begins with {types[0]}"
    if len(terminal) != 1:
        yield f"{len(terminal)} terminal events"
    if terminal and terminal[0] != len(types) - 1:
        yield f"{types[terminal[0] + 1]} after {types[terminal[0]]}"


def violations(events: list[Event]) -> list[str]:
    """Give where some events break the rules that a schema can't say; nothing where they keep them.

    The events are those of whole runs in the order in which they were sent. Each run has one START, first,
    and one terminal event, last, and keeps its job. Every source of a column lineage is an input with that
    field in its schema, or the output itself. Transformations are the specification's; none in a `dataset`
    list is DIRECT.

    Args:
        events: as parsed from JSON.
    """
    found: list[str] = []
    runs: dict[str, list[Event]] = {}
    for event in events:
        runs.setdefault(event["run"]["runId"], []).append(event)
        label = f"{event['eventType']} of {event['job']['name']}"
        found += [f"{label}: {violation}" for violation in _event_violations(event)]
    for run, own in runs.items():
        jobs = sorted({(event["job"]["namespace"], event["job"]["name"]) for event in own})
        if len(jobs) > 1:
            found.append(f"run {run}: is of several jobs: {jobs}")
        order = _order_violations([event["eventType"] for event in own])
        found += [f"run {run} of {jobs[0][1]}: {violation}" for violation in order]
    return found
