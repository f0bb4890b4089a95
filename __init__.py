"""
Column-level lineage of PySpark jobs as OpenLineage events.

`register` attaches the listener to a running session; `lineage` returns where the columns of a DataFrame or of an SQL
statement come from, without running it. Registration by configuration needs neither. The other names are for authors
of facets and of transports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openlineage_pyspark.errors import (
        AmbiguousNameError,
        CheckpointError,
        DeliveryError,
        Error,
        EventError,
        InvalidEventError,
        LineageError,
        MissingExtraError,
        NameNotFoundError,
        NotConfiguredError,
        ProbeError,
        QueryError,
        RecoveryError,
        RegistrationError,
        SchemaError,
        SpoolError,
        StepFailedError,
        StoreError,
        TextError,
        TransportConfigError,
        TransportError,
    )
    from openlineage_pyspark.facets.events.providers import CustomFacets, FacetProvider
    from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
    from openlineage_pyspark.facets.model.run import RunState
    from openlineage_pyspark.listener.metrics import Metrics
    from openlineage_pyspark.listener.start.register import Handle, register
    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics
    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.registry import open_transport
    from openlineage_pyspark.workbench.finished_run import FinishedRun, last_run
    from openlineage_pyspark.workbench.predict.query import lineage
    from openlineage_pyspark.workbench.report import Lineage, LineageEdge, LineageStep
    from openlineage_pyspark.workbench.store_api import Store

__all__ = [
    "AmbiguousNameError",
    "CheckpointError",
    "CustomFacets",
    "Dataset",
    "DeliveryError",
    "Error",
    "Event",
    "EventError",
    "FacetProvider",
    "Field",
    "FinishedRun",
    "Handle",
    "Identifier",
    "InvalidEventError",
    "Lineage",
    "LineageEdge",
    "LineageError",
    "LineageStep",
    "Metrics",
    "MissingExtraError",
    "NameNotFoundError",
    "NotConfiguredError",
    "ProbeError",
    "QueryError",
    "ReceiverMetrics",
    "RecoveryError",
    "RegistrationError",
    "RunState",
    "SchemaError",
    "SpoolError",
    "StepFailedError",
    "Store",
    "StoreError",
    "TextError",
    "Transport",
    "TransportConfigError",
    "TransportError",
    "last_run",
    "lineage",
    "open_transport",
    "register",
]

_HOMES = {
    "AmbiguousNameError": "errors",
    "CheckpointError": "errors",
    "CustomFacets": "facets.events.providers",
    "Dataset": "facets.model.dataset",
    "DeliveryError": "errors",
    "Error": "errors",
    "Event": "transport.event",
    "EventError": "errors",
    "FacetProvider": "facets.events.providers",
    "Field": "facets.model.dataset",
    "FinishedRun": "workbench.finished_run",
    "Handle": "listener.start.register",
    "Identifier": "facets.model.dataset",
    "InvalidEventError": "errors",
    "Lineage": "workbench.report",
    "LineageEdge": "workbench.report",
    "LineageError": "errors",
    "LineageStep": "workbench.report",
    "Metrics": "listener.metrics",
    "MissingExtraError": "errors",
    "NameNotFoundError": "errors",
    "NotConfiguredError": "errors",
    "ProbeError": "errors",
    "QueryError": "errors",
    "ReceiverMetrics": "transport.delivery.counts",
    "RecoveryError": "errors",
    "RegistrationError": "errors",
    "RunState": "facets.model.run",
    "SchemaError": "errors",
    "SpoolError": "errors",
    "StepFailedError": "errors",
    "Store": "workbench.store_api",
    "StoreError": "errors",
    "TextError": "errors",
    "Transport": "transport.base",
    "TransportConfigError": "errors",
    "TransportError": "errors",
    "last_run": "workbench.finished_run",
    "lineage": "workbench.predict.query",
    "open_transport": "transport.registry",
    "register": "listener.start.register",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: every Python process of the environment may import this package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics `%lineage` and `%%lineage`: IPython calls this for `%load_ext openlineage_pyspark`."""
    from openlineage_pyspark.workbench.notebook import register_magics

    register_magics(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Remove the magics: IPython calls this for `%unload_ext openlineage_pyspark`."""
    from openlineage_pyspark.workbench.notebook import remove_magics

    remove_magics(ipython)


def __dir__() -> list[str]:
    """Return the public names, which are not defined before they are used."""
    return sorted({*globals(), *__all__})
