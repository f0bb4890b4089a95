"""The specification: as openlineage-python's classes tell it, and as its own JSON Schemas do where the user has them.

The classes say what must be there, and of which kind each value is; the schemas say more.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import json
import pkgutil
import re
import types
import typing
from typing import TYPE_CHECKING, Any

import attr
from openlineage.client import generated
from openlineage.client.generated import base

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jsonschema import Draft202012Validator
    from openlineage_pyspark.command.event_file import Event

FacetKey = tuple[str, str]
"""The entity that a facet is of, such as `RunFacet`, and the facet's name."""

_ENTITIES = ("InputDatasetFacet", "OutputDatasetFacet", "DatasetFacet", "JobFacet", "RunFacet")
# The classes leave these to a default of their own; the specification asks for them.
_ALWAYS_THERE = frozenset({"producer", "schemaURL", "_producer", "_schemaURL"})
# Where a facet's name is not that of its class.
_OTHER_NAMES = {"datasetversion": "version", "inputsubset": "subset", "outputsubset": "subset"}
_KINDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}
_CORE_FILE = "OpenLineage.json"
_LONGEST_MESSAGE = 300
_FORMATS = frozenset({"date-time", "uri", "uuid"})


class SchemaError(Exception):
    """The specification's schemas can't be used; the text says why and what to do."""


def facets_of(event: Event) -> Iterator[tuple[str, FacetKey, Any]]:
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


def class_problems(event: Event) -> list[str]:
    """Return what the classes have against a run event; nothing where it has the shape that they describe.

    Required fields, kinds of values, enumerations, run ids and times are checked, and that no facet stands
    where one of another entity belongs.

    Args:
        event: as parsed from JSON.
    """
    found = list(_mismatches(base.RunEvent, event, ""))
    if found:
        return found
    for where, (entity, name), facet in facets_of(event):
        place = f"{where}: {name}"
        own = class_of((entity, name))
        others = [other for other in _ENTITIES if class_of((other, name))]
        if own is None and others:
            found.append(f"{place}: is a facet of {' and '.join(others)}, and stands among those of {entity}")
        elif own is not None:
            found += _mismatches(own, facet, place)
    return found


def class_of(key: FacetKey) -> type | None:
    """Return the class of a facet, None where openlineage-python has none."""
    return _classes().get((key[0], _plain(key[1])))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@functools.cache
def _classes() -> dict[FacetKey, type]:
    found: dict[FacetKey, type] = {}
    for module in pkgutil.iter_modules(generated.__path__):
        loaded = importlib.import_module(f"{generated.__name__}.{module.name}")
        for name, kind in inspect.getmembers(loaded, inspect.isclass):
            entity = next((each for each in _ENTITIES if issubclass(kind, getattr(base, each))), None)
            if entity is not None and name not in _ENTITIES:
                plain = _plain(re.sub(f"({'|'.join(_ENTITIES)})$", "", name))
                found[entity, _OTHER_NAMES.get(plain, plain)] = kind
    return found


@functools.cache
def _fields(kind: type) -> tuple[tuple[attr.Attribute[Any], Any], ...]:
    """Return the fields of a class, each with its type."""
    hints = typing.get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in attr.fields(kind))


def _mismatches(kind: Any, value: object, where: str) -> Iterator[str]:
    """Yield where a value is not of a type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return
    if origin in (typing.Union, types.UnionType):
        # The classes say None for what may be absent; no schema of the specification takes a null.
        kinds = [argument for argument in arguments if argument is not types.NoneType]
        complaints = [list(_mismatches(each, value, where)) for each in kinds]
        yield from complaints[0] if all(complaints) else ()
    elif origin in (dict, list):
        yield from _wrong(origin, value, where)
        for place, inner in _parts(value):
            yield from _mismatches(arguments[-1], inner, f"{where}{place}")
    elif attr.has(kind):
        yield from _wrong(dict, value, where)
        yield from _of_class(kind, value, where) if isinstance(value, dict) else ()
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        if value not in [member.value for member in kind]:
            yield f"{where}: is none of {', '.join(str(member.value) for member in kind)}"
    else:
        yield from _wrong(kind, value, where)


def _parts(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(f".{name}", inner) for name, inner in value.items()]
    return [(f"[{place}]", inner) for place, inner in enumerate(value)] if isinstance(value, list) else []


def _wrong(kind: Any, value: object, where: str) -> Iterator[str]:
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        yield f"{where or 'the event'}: is not {_KINDS.get(kind, getattr(kind, '__name__', kind))}"


def _of_class(kind: type, value: dict[str, object], where: str) -> Iterator[str]:
    for field, type_ in _fields(kind):
        place = f"{where}.{field.name}".lstrip(".")
        if field.name not in value:
            if field.default is attr.NOTHING or field.name in _ALWAYS_THERE:
                yield f"{where or 'the event'}: {field.name!r} is missing"
            continue
        wrong = list(_mismatches(type_, value[field.name], place))
        yield from wrong
        if field.validator is not None and not wrong:
            yield from _refused(field, value[field.name], place)


def _refused(field: attr.Attribute[Any], value: object, where: str) -> Iterator[str]:
    try:
        # The validators look at the value alone.
        typing.cast("Any", field.validator)(None, field, value)
    except ValueError:
        yield f"{where}: {value!r} is not what {field.name} must be"


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
        SchemaError: it holds no such files, or the package that reads them is missing.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from jsonschema import Draft202012Validator
            from referencing import Registry, Resource
        except ImportError as problem:
            raise SchemaError(
                f"JSON Schemas need {problem.name}, which is not installed: pip install 'openlineage-pyspark[validate]'"
            ) from problem
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
        self._validator = Draft202012Validator
        self._compiled: dict[str, Draft202012Validator] = {}
        self.by_facet = {
            key: reference for document in documents[1:] for key, reference in _definitions(document, self._core)
        }

    @property
    def unchecked_formats(self) -> list[str]:
        """The formats of the specification that need a further package to be checked, which is not installed."""
        return sorted(_FORMATS - self._validator.FORMAT_CHECKER.checkers.keys())

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
            for parent in definition.get("allOf", []):
                if parent.get("$ref", "").startswith(core):
                    yield (parent["$ref"].removeprefix(core), name), document["$id"] + local
