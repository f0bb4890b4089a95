"""
Check events against the specification, by JSON Schemas and the package jsonschema.

The specification's own schemas are not part of this package: the user names a folder of them. Without it, events are
checked against `SHAPE`: the core requirements of the specification for every event, and the fields that the rules of
`openlineage_pyspark.workbench.events.rules` read.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import SchemaError
from openlineage_pyspark.workbench.events.read import facets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jsonschema import Draft202012Validator
    from openlineage_pyspark.workbench.events.shapes import EventJson

FacetKey = tuple[str, str]
"""The entity to which a facet belongs, such as `RunFacet`, and the facet's name."""

_CORE_FILE = "OpenLineage.json"
_LONGEST_MESSAGE = 300
_FORMATS = frozenset({"date-time", "uri", "uuid"})
_VERSION = re.compile(r"/\d+-\d+-\d+/")


def _object(*required: str, **properties: object) -> EventJson:
    """Return the schema of an object by its properties, some of them required."""
    return {"type": "object", "properties": properties, "required": list(required)}


def _map(values: EventJson, **known: object) -> EventJson:
    """Return the schema of an object whose values have the same schema, except for some known keys."""
    return {"type": "object", "properties": known, "additionalProperties": values}


def _list(items: EventJson) -> EventJson:
    return {"type": "array", "items": items}


def _part(name: str) -> EventJson:
    return {"$ref": f"#/$defs/{name}"}


_TEXT = {"type": "string"}
_URI = {"type": "string", "format": "uri"}
_UUID = {"type": "string", "format": "uuid"}
_DATE_TIME = {"type": "string", "format": "date-time"}
_EVENT_TYPE = {"type": "string", "enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]}

SHAPE: EventJson = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:openlineage-pyspark:shape",
    "$defs": {
        "RunEvent": _object(
            "eventTime",
            "producer",
            "schemaURL",
            "run",
            "job",
            eventTime=_DATE_TIME,
            producer=_URI,
            schemaURL=_URI,
            eventType=_EVENT_TYPE,
            run=_object("runId", runId=_UUID, facets=_map(_part("Facet"))),
            job=_object("namespace", "name", namespace=_TEXT, name=_TEXT, facets=_map(_part("Facet"))),
            inputs=_list(_part("Dataset")),
            outputs=_list(_part("Dataset")),
        ),
        "Dataset": _object(
            "namespace",
            "name",
            namespace=_TEXT,
            name=_TEXT,
            facets=_map(
                _part("Facet"),
                schema=_part("Schema"),
                symlinks=_part("Symlinks"),
                columnLineage=_part("ColumnLineage"),
            ),
            inputFacets=_map(_part("Facet")),
            outputFacets=_map(_part("Facet")),
        ),
        "Facet": _object("_producer", "_schemaURL", _producer=_URI, _schemaURL=_URI),
        "Schema": {**_part("Facet"), **_object(fields=_list(_part("Field")))},
        "Field": _object("name", name=_TEXT, fields=_list(_part("Field"))),
        "Symlinks": {
            **_part("Facet"),
            **_object(identifiers=_list(_object("namespace", "name", namespace=_TEXT, name=_TEXT))),
        },
        "ColumnLineage": {
            **_part("Facet"),
            **_object(
                "fields",
                fields=_map(_object("inputFields", inputFields=_list(_part("Edge")))),
                dataset=_list(_part("Edge")),
            ),
        },
        "Edge": _object(
            "namespace",
            "name",
            "field",
            namespace=_TEXT,
            name=_TEXT,
            field=_TEXT,
            transformations=_list(_object("type", type=_TEXT, subtype=_TEXT)),
        ),
    },
}
"""The shape of a run event: what every event must have, and the parts of facets that other rules read."""


class Shape:
    """Checks events against `SHAPE` alone.

    Attributes:
        checked: a description of the check, for the command's summary.
    """

    checked = "required fields and their types; for the full JSON Schemas use --spec DIR"

    def __init__(self) -> None:
        self._definitions = _Definitions([SHAPE])

    @property
    def unchecked_formats(self) -> list[str]:
        """The formats that are not checked, because that needs a package that is not installed."""
        return self._definitions.unchecked_formats

    def problems(self, event: EventJson) -> list[str]:
        """Return the deviations of an event from the shape.

        Args:
            event: as parsed from JSON.
        """
        return list(self._definitions.messages(f"{SHAPE['$id']}#/$defs/RunEvent", event))

    def custom_facets(self, event: EventJson) -> list[str]:  # noqa: ARG002
        """Return no names: which facets the specification has is unknown here."""
        return []


class Schemas:
    """Checks events and their facets against the JSON Schemas of one folder.

    Args:
        folder: a copy of the folder `spec` of the OpenLineage repository: `OpenLineage.json`, with `facets`
            and `registry` beside it.

    Attributes:
        checked: a description of the check, for the command's summary.
        by_facet: the reference to the definition of each facet.

    Raises:
        SchemaError: the folder holds no such files.
    """

    def __init__(self, folder: Path) -> None:
        try:
            documents = [json.loads(file.read_text(encoding="utf-8")) for file in _files(folder)]
            self._core = f"{documents[0]['$id']}#/$defs/"
            self.by_facet = {
                key: reference for document in documents[1:] for key, reference in _facets_in(document, self._core)
            }
            self._definitions = _Definitions(documents)
        except (OSError, ValueError, TypeError, KeyError) as problem:
            why = (
                f"there is no {problem.filename}"
                if isinstance(problem, FileNotFoundError)
                else f"{type(problem).__name__}: {problem}"
            )
            raise SchemaError(
                f"{folder} holds no OpenLineage schemas ({why}): name the folder that has {_CORE_FILE} and facets/"
            ) from problem
        self.checked = f"{len(documents)} JSON Schemas of {folder}"
        self._references = {_without_version(reference) for reference in self.by_facet.values()}

    @property
    def unchecked_formats(self) -> list[str]:
        """The formats that are not checked, because that needs a package that is not installed."""
        return self._definitions.unchecked_formats

    def problems(self, event: EventJson) -> list[str]:
        """Return the violations of the schemas by a run event; empty if it is valid.

        A facet without a schema is checked against that of its entity, unless it names one of these schemas. The
        version in an event's `schemaURL` or `_schemaURL` may differ from that of these schemas.

        Args:
            event: as parsed from JSON.
        """
        found = list(self._definitions.messages(f"{self._core}RunEvent", event))
        if found:
            return found
        if _without_version(event["schemaURL"]) != _without_version(f"{self._core}RunEvent"):
            found.append(f"schemaURL is {event['schemaURL']}, not {self._core}RunEvent")
        for where, key, facet in facets_of(event):
            place = f"{where}: {key[1]}: "
            reference = self.by_facet.get(key)
            named = _without_version(facet["_schemaURL"])
            if reference is None and named in self._references:
                found.append(f"{place}no schema for a {key[0]} of this name")
                continue
            found += self._definitions.messages(reference or f"{self._core}{key[0]}", facet, place)
            if reference is not None and named != _without_version(reference):
                found.append(f"{place}_schemaURL is {facet['_schemaURL']}, not {reference}")
        return found

    def custom_facets(self, event: EventJson) -> list[str]:
        """Return the names of an event's facets that have no schema of their own.

        Args:
            event: as parsed from JSON, without problems.
        """
        return [key[1] for _, key, _ in facets_of(event) if key not in self.by_facet]


class _Definitions:
    """The definitions in some JSON Schemas, each compiled when it is first needed.

    Args:
        documents: the schemas, each with its `$id`.
    """

    def __init__(self, documents: Sequence[EventJson]) -> None:
        from jsonschema import Draft202012Validator
        from referencing import Registry, Resource

        resources = [(document["$id"], Resource.from_contents(document)) for document in documents]
        self._registry: Registry[Any] = Registry().with_resources(resources).crawl()
        self._validator = Draft202012Validator
        self._compiled: dict[str, Draft202012Validator] = {}

    @property
    def unchecked_formats(self) -> list[str]:
        return sorted(_FORMATS - self._validator.FORMAT_CHECKER.checkers.keys())

    def messages(self, reference: str, value: object, place: str = "") -> Iterator[str]:
        """Yield the violations of a definition by a value, each after the path of the value."""
        from referencing.exceptions import Unresolvable

        if reference not in self._compiled:
            self._compiled[reference] = self._validator(
                {"$ref": reference}, registry=self._registry, format_checker=self._validator.FORMAT_CHECKER
            )
        try:
            for error in self._compiled[reference].iter_errors(value):
                yield f"{place}{error.json_path}: {error.message[:_LONGEST_MESSAGE]}"
        except Unresolvable as problem:
            raise SchemaError(
                f"a schema refers to {problem.ref}, which is missing: name a complete copy of the folder `spec`"
            ) from problem


def _files(root: Path) -> list[Path]:
    """Return the files of schemas, the core's first."""
    registries = root.joinpath("registry")
    folders = [root.joinpath("facets")]
    folders += [each.joinpath("facets") for each in registries.iterdir()] if registries.is_dir() else []
    files = [file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.name.endswith(".json")]
    return [root.joinpath(_CORE_FILE), *sorted(files, key=lambda file: file.name)]


def _without_version(url: str) -> str:
    return _VERSION.sub("/", url)


def _facets_in(document: EventJson, core: str) -> Iterator[tuple[FacetKey, str]]:
    """Yield the key of each facet that a schema file defines, with the reference to its definition."""
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
            for parent in definition.get("allOf", []):
                if parent.get("$ref", "").startswith(core):
                    yield (parent["$ref"].removeprefix(core), name), document["$id"] + local
