"""The specification as openlineage-python's classes tell it: what must be there, and of which kind each value is."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
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
