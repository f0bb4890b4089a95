"""Transports by name: first those of this package, then those of entry points."""

from __future__ import annotations

import functools
import re
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.options import TYPE, InnerOptions, Option, not_such_a_word, prefix_of, warn_of_unused

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY_POINT_GROUP = "openlineage_pyspark.transports"

_HERE = "openlineage_pyspark.transport"
# Import paths and not classes, so that a driver imports only the transport that it uses.
_BUILT_IN = {
    "http": f"{_HERE}.http.transport:HttpTransport",
    # openlineage-python's own async_http sends in the background; here the delivery does that for every transport.
    "async_http": f"{_HERE}.http.transport:HttpTransport",
    "kafka": f"{_HERE}.kafka:KafkaTransport",
    "file": f"{_HERE}.file.transport:FileTransport",
    "store": "openlineage_pyspark.workbench.store.sqlite.transport:StoreTransport",
    "composite": f"{_HERE}.composite:CompositeTransport",
    "datadog": f"{_HERE}.openlineage.adapter:DatadogTransport",
    "gcplineage": f"{_HERE}.openlineage.adapter:GcpLineageTransport",
    "amazon_datazone_api": f"{_HERE}.openlineage.adapter:DataZoneTransport",
    "console": f"{_HERE}.console:ConsoleTransport",
    "noop": f"{_HERE}.noop:NoopTransport",
    "memory": f"{_HERE}.memory:MemoryTransport",
}
_CLASS_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_OF_A_CLASS = f"{_HERE}.openlineage.adapter:ClassTransport"
_OF_OTHER_CLIENTS = frozenset({"dataplex", "gcs", "kinesis", "msk-iam", "s3", "transform"})


def open_transport(name: str, options: Mapping[str, object]) -> Transport:
    """
    Return a new transport, and log a warning for each option that it does not read.

    Args:
        name: the value of `spark.openlineage.transport.type`; a value such as `module.Class` is the path of a
            transport class for openlineage-python.
        options: the options below `spark.openlineage.transport`, nested, in the spelling of the
            OpenLineage Java client (or, where it differs, of the Python client).

    Raises:
        TransportConfigError: there is no such transport, or an option can't be used.
    """
    transport = _load(_find(name))
    warn_of_unused(options, transport.OPTIONS, name)
    return transport.from_options(InnerOptions({**options, TYPE.name: name}, prefix_of(options)))


def built_in_transports() -> dict[str, type[Transport]]:
    """Return the transports of this package, by name, in the order of the documents."""
    return {name: _load(EntryPoint(name, path, ENTRY_POINT_GROUP)) for name, path in _BUILT_IN.items()}


@functools.cache
def every_option() -> tuple[Option[Any], ...]:
    """Return the options of all transports, those of this package first; entry points that fail are left out."""
    found = [TYPE, *(option for transport in built_in_transports().values() for option in transport.OPTIONS)]
    for plugin in entry_points(group=ENTRY_POINT_GROUP):
        attempt(functools.partial(_collect, plugin, found))
    return tuple(found)


def _collect(plugin: EntryPoint, found: list[Option[Any]]) -> None:
    found += _load(plugin).OPTIONS


def _load(found: EntryPoint) -> type[Transport]:
    name = found.name
    try:
        loaded = found.load()
    except (ImportError, AttributeError) as exc:
        problem = f"is {name!r}, whose class {found.value} can't be imported ({exc})"
        raise TransportConfigError("type", problem, "Install what it needs, or use another transport.") from exc
    if not (isinstance(loaded, type) and issubclass(loaded, Transport)):
        problem = f"is {name!r}, but {found.value} is not a subclass of {Transport.__module__}.Transport"
        raise TransportConfigError("type", problem, "Correct the entry point in the package that provides it.")
    if not all(isinstance(option, Option) for option in loaded.OPTIONS):
        problem = f"is {name!r}, but OPTIONS of {found.value} may only hold {Option.__module__}.Option"
        raise TransportConfigError("type", problem, "Correct the package that provides it.")
    return loaded


def _find(name: str) -> EntryPoint:
    if name in _BUILT_IN:
        return EntryPoint(name, _BUILT_IN[name], ENTRY_POINT_GROUP)
    plugins = {plugin.name: plugin for plugin in entry_points(group=ENTRY_POINT_GROUP)}
    if name in plugins:
        return plugins[name]
    if _CLASS_PATH.fullmatch(name):
        return EntryPoint(name, _OF_A_CLASS, ENTRY_POINT_GROUP)
    known = sorted({*_BUILT_IN, *plugins})
    problem, hint = not_such_a_word(name, known)
    if name in _OF_OTHER_CLIENTS:
        problem = f"is {name!r}, a transport of other OpenLineage clients that is not supported yet"
    raise TransportConfigError("type", problem, f"{hint}Use one of: {', '.join(known)}.")
