"""The specification as its own JSON Schemas tell it, where the user has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from openlineage_pyspark.command.check import SchemaError
from openlineage_pyspark.command.classes import FacetKey, facets_of
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openlineage_pyspark.command.event_file import Event

_CORE_FILE = "OpenLineage.json"
_LONGEST_MESSAGE = 300
_FORMATS = frozenset({"date-time", "uri", "uuid"})


class Schemas:
    """The JSON Schemas of one folder, each compiled once.

    Args:
        folder: a copy of the folder `spec` of the OpenLineage repository: `OpenLineage.json`, with `facets`
            and `registry` beside it.

    Attributes:
        folder: that folder.
        count: how many files there are.
        by_facet: the reference to the definition of each facet.

    Raises:
        SchemaError: it holds no such files.
    """

    def __init__(self, folder: Path) -> None:
        files = [folder / _CORE_FILE]
        files += sorted([*folder.glob("facets/*.json"), *folder.glob("registry/*/facets/*.json")])
        try:
            documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
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
        self._compiled: dict[str, Draft202012Validator] = {}
        self.by_facet = {
            key: reference for document in documents[1:] for key, reference in _definitions(document, self._core)
        }

    @property
    def unchecked_formats(self) -> list[str]:
        """The formats of the specification that need a further package to be checked, which is not installed."""
        return sorted(_FORMATS - Draft202012Validator.FORMAT_CHECKER.checkers.keys())

    def problems(self, event: Event) -> list[str]:
        """Return what the schemas have against a run event; nothing where it is right.

        A facet that has no schema is judged by that of its entity, unless it says to have one of these schemas.

        Args:
            event: as parsed from JSON.
        """
        found = list(self._messages(f"{self._core}RunEvent", event, ""))
        if found:
            return found
        if event.get("schemaURL") != f"{self._core}RunEvent":
            found.append(f"schemaURL is {event.get('schemaURL')}, not {self._core}RunEvent")
        for where, key, facet in facets_of(event):
            place = f"{where}: {key[1]}: "
            reference = self.by_facet.get(key)
            named = facet.get("_schemaURL")
            if reference is None and named in self.by_facet.values():
                found.append(f"{place}no schema for a {key[0]} of this name")
                continue
            found += self._messages(reference or f"{self._core}{key[0]}", facet, place)
            if reference is not None and named != reference:
                found.append(f"{place}_schemaURL is {named}, not {reference}")
        return found

    def _messages(self, reference: str, value: object, place: str) -> Iterator[str]:
        if reference not in self._compiled:
            self._compiled[reference] = Draft202012Validator(
                {"$ref": reference}, registry=self._registry, format_checker=Draft202012Validator.FORMAT_CHECKER
            )
        try:
            for error in self._compiled[reference].iter_errors(value):
                yield f"{place}{error.json_path}: {error.message[:_LONGEST_MESSAGE]}"
        except Unresolvable as problem:
            raise SchemaError(f"a schema refers to one that is not there: {problem.ref}") from problem


def _definitions(document: Event, core: str) -> Iterator[tuple[FacetKey, str]]:
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
            for base in definition.get("allOf", []):
                if base.get("$ref", "").startswith(core):
                    yield (base["$ref"].removeprefix(core), name), document["$id"] + local
