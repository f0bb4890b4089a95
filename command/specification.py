"""
The specification, as its own JSON Schemas tell it.

Those of the version that this package is made for lie in the folder `spec`; the user may name a folder of another one.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.abc import Traversable
    from pathlib import Path

    from jsonschema import Draft202012Validator
    from openlineage_pyspark.command.event_file import EventJson

FacetKey = tuple[str, str]
"""The entity that a facet is of, such as `RunFacet`, and the facet's name."""

_CORE_FILE = "OpenLineage.json"
_LONGEST_MESSAGE = 300
_FORMATS = frozenset({"date-time", "uri", "uuid"})
_VERSION = re.compile(r"/\d+-\d+-\d+/")


class SchemaError(Exception):
    """The specification's schemas can't be used; the text says why and what to do."""


def facets_of(event: EventJson) -> Iterator[tuple[str, FacetKey, Any]]:
    """Yield each facet of an event: where it stands, its key and itself.

    Args:
        event: as parsed from JSON, of the right shape but for the facets themselves.
    """
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
            yield where, (entity, name), facet


class Schemas:
    """The JSON Schemas of one folder, each compiled once.

    Args:
        folder: a copy of the folder `spec` of the OpenLineage repository: `OpenLineage.json`, with `facets`
            and `registry` beside it. None for the schemas of this package.

    Attributes:
        folder: that folder.
        count: how many files there are.
        by_facet: the reference to the definition of each facet.

    Raises:
        SchemaError: it holds no such files, or the package that reads them is missing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        try:
            from jsonschema import Draft202012Validator
            from referencing import Registry, Resource
        except ImportError as problem:
            raise SchemaError(
                f"validate needs {problem.name}, which is not installed: pip install 'openlineage-pyspark[validate]'"
            ) from problem
        root = folder or importlib.resources.files("openlineage_pyspark.command").joinpath("spec")
        try:
            documents = [json.loads(file.read_text(encoding="utf-8")) for file in _files(root)]
            resources = [(document["$id"], Resource.from_contents(document)) for document in documents]
        except (OSError, ValueError, TypeError, KeyError) as problem:
            raise SchemaError(
                f"{folder} holds no OpenLineage schemas ({type(problem).__name__}: {problem}): "
                f"name the folder that has {_CORE_FILE} and facets/"
            ) from problem
        self.folder = folder
        self.count = len(documents)
        self._core = f"{documents[0]['$id']}#/$defs/"
        self._registry: Registry[Any] = Registry().with_resources(resources).crawl()
        self._validator = Draft202012Validator
        self._compiled: dict[str, Draft202012Validator] = {}
        self.by_facet = {
            key: reference for document in documents[1:] for key, reference in _definitions(document, self._core)
        }
        self._references = {_without_version(reference) for reference in self.by_facet.values()}

    @property
    def unchecked_formats(self) -> list[str]:
        """The formats of the specification that need a further package to be checked, which is not installed."""
        return sorted(_FORMATS - self._validator.FORMAT_CHECKER.checkers.keys())

    def problems(self, event: EventJson) -> list[str]:
        """Return what the schemas have against a run event; nothing where it is right.

        A facet that has no schema is judged by that of its entity, unless it says to have one of these schemas. The
        version that an event names in `schemaURL` or `_schemaURL` may be another than that of these schemas.

        Args:
            event: as parsed from JSON.
        """
        found = list(self._messages(f"{self._core}RunEvent", event, ""))
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
            found += self._messages(reference or f"{self._core}{key[0]}", facet, place)
            if reference is not None and named != _without_version(reference):
                found.append(f"{place}_schemaURL is {facet['_schemaURL']}, not {reference}")
        return found

    def _messages(self, reference: str, value: object, place: str) -> Iterator[str]:
        from referencing.exceptions import Unresolvable

        if reference not in self._compiled:
            self._compiled[reference] = self._validator(
                {"$ref": reference}, registry=self._registry, format_checker=self._validator.FORMAT_CHECKER
            )
        try:
            for error in self._compiled[reference].iter_errors(value):
                yield f"{place}{error.json_path}: {error.message[:_LONGEST_MESSAGE]}"
        except Unresolvable as problem:
            raise SchemaError(f"a schema refers to one that is not there: {problem.ref}") from problem


def _files(root: Path | Traversable) -> list[Path | Traversable]:
    """Return the files of schemas, the core's first."""
    registries = root.joinpath("registry")
    folders = [root.joinpath("facets")]
    folders += [each.joinpath("facets") for each in registries.iterdir()] if registries.is_dir() else []
    files = [file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.name.endswith(".json")]
    return [root.joinpath(_CORE_FILE), *sorted(files, key=lambda file: file.name)]


def _without_version(url: str) -> str:
    return _VERSION.sub("/", url)


def _definitions(document: EventJson, core: str) -> Iterator[tuple[FacetKey, str]]:
    """Yield entity and name of each facet in a schema file, with the reference to its definition."""
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
