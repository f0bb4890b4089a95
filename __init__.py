"""
Column-level lineage of PySpark jobs as OpenLineage events.

`register` attaches the listener to a running session; `lineage` returns where the columns of a DataFrame or of an SQL
statement come from, without running it. Registration by configuration needs neither. The other names are for authors
of facets and of transports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openlineage_pyspark.errors import MissingExtraError
    from openlineage_pyspark.facets.events.providers import CustomFacets, FacetProvider
    from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
    from openlineage_pyspark.facets.model.run import RunState
    from openlineage_pyspark.listener.errors import LineageError, ProbeError, RegistrationError
    from openlineage_pyspark.listener.metrics import Metrics
    from openlineage_pyspark.listener.start.register import Handle, register
    from openlineage_pyspark.transport.base import Transport, TransportConfigError, TransportError
    from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics
    from openlineage_pyspark.transport.errors import DeliveryError
    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.registry import open_transport
    from openlineage_pyspark.workbench.errors import StoreError
    from openlineage_pyspark.workbench.finished_run import FinishedRun, last_run
    from openlineage_pyspark.workbench.predict.query import lineage
    from openlineage_pyspark.workbench.report import Lineage, LineageEdge, LineageStep
    from openlineage_pyspark.workbench.store_api import Store

__all__ = [
    "CustomFacets",
    "Dataset",
    "DeliveryError",
    "Event",
    "FacetProvider",
    "Field",
    "FinishedRun",
    "Handle",
    "Identifier",
    "Lineage",
    "LineageEdge",
    "LineageError",
    "LineageStep",
    "Metrics",
    "MissingExtraError",
    "ProbeError",
    "ReceiverMetrics",
    "RegistrationError",
    "RunState",
    "Store",
    "StoreError",
    "Transport",
    "TransportConfigError",
    "TransportError",
    "last_run",
    "lineage",
    "open_transport",
    "register",
]

_HOMES = {
    "CustomFacets": "facets.events.providers",
    "Dataset": "facets.model.dataset",
    "DeliveryError": "transport.errors",
    "Event": "transport.event",
    "FacetProvider": "facets.events.providers",
    "Field": "facets.model.dataset",
    "FinishedRun": "workbench.finished_run",
    "Handle": "listener.start.register",
    "Identifier": "facets.model.dataset",
    "Lineage": "workbench.report",
    "LineageEdge": "workbench.report",
    "LineageStep": "workbench.report",
    "LineageError": "listener.errors",
    "Metrics": "listener.metrics",
    "MissingExtraError": "errors",
    "ProbeError": "listener.errors",
    "ReceiverMetrics": "transport.delivery.counts",
    "RegistrationError": "listener.errors",
    "RunState": "facets.model.run",
    "Store": "workbench.store_api",
    "StoreError": "workbench.errors",
    "Transport": "transport.base",
    "TransportConfigError": "transport.base",
    "TransportError": "transport.base",
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
