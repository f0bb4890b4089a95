"""
Column-level lineage of PySpark jobs as OpenLineage events.

`register` listens to a session that runs already; `lineage` says where the columns of a DataFrame or of an SQL
statement come from without running it. Registration by configuration needs neither: see the README.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openlineage_pyspark.facets.report import Lineage, LineageEdge
    from openlineage_pyspark.listener.start.prepare import RegistrationError
    from openlineage_pyspark.listener.start.register import Handle, register
    from openlineage_pyspark.listener.static import lineage

__all__ = ["Handle", "Lineage", "LineageEdge", "RegistrationError", "lineage", "register"]

_HOMES = {
    "Handle": "listener.start.register",
    "Lineage": "facets.lineage_table",
    "LineageEdge": "facets.lineage_table",
    "RegistrationError": "listener.start.prepare",
    "lineage": "listener.static",
    "register": "listener.start.register",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: every Python process of the environment may import this package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
