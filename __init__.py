"""
Column-level lineage of PySpark jobs as OpenLineage events.

`register` attaches the listener to a running session. `lineage` returns the sources of each column of a DataFrame or an
SQL statement, without running it. Configuration keys attach the listener without a call of `register`. `Store` answers
questions about recorded lineage. The other names are for authors of facets, transports and sources.
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
    from openlineage_pyspark.facets.model.dataset import (
        Catalog,
        Dataset,
        Field,
        Identifier,
        Statistics,
        Symlink,
        TableVersions,
    )
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation
    from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery
    from openlineage_pyspark.facets.model.run import (
        CallSite,
        Engine,
        EventType,
        Failure,
        Gap,
        Job,
        JobType,
        Lifecycle,
        Parent,
        ProcessingType,
        Raised,
        Replaced,
        RunInput,
        RunOutput,
        RunReference,
        RunState,
        Submission,
    )
    from openlineage_pyspark.facets.model.session import StatementSession
    from openlineage_pyspark.listener.metrics import Metrics
    from openlineage_pyspark.listener.start.register import Handle, register
    from openlineage_pyspark.transport.base import Reached, Transport
    from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics
    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.options import Option
    from openlineage_pyspark.transport.registry import open_transport
    from openlineage_pyspark.workbench.answer import Answer, Result, Rows, Values, Writer
    from openlineage_pyspark.workbench.blame.made import BlamedRow, BlameRow
    from openlineage_pyspark.workbench.finished_run import FinishedRun, last_run
    from openlineage_pyspark.workbench.model.graph import (
        ColumnNode,
        DatasetNode,
        Edge,
        Graph,
        JobNode,
        Node,
        OperatorColumn,
        OperatorNode,
        Path,
        RunNode,
        Step,
        VersionNode,
    )
    from openlineage_pyspark.workbench.model.kinds import Certainty, Code, Diagnostic, Kind, Level, NodeId
    from openlineage_pyspark.workbench.model.reach import Reach
    from openlineage_pyspark.workbench.page.formats import GraphFormat
    from openlineage_pyspark.workbench.pictures.outline import Tree
    from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
    from openlineage_pyspark.workbench.predict.query import lineage
    from openlineage_pyspark.workbench.questions.changes import BelowChange, ChangeRow, Diff
    from openlineage_pyspark.workbench.questions.datasets import DatasetRow
    from openlineage_pyspark.workbench.questions.history import History, InputVersion, VersionRow
    from openlineage_pyspark.workbench.questions.jobs import JobRow
    from openlineage_pyspark.workbench.questions.runs import RunRow
    from openlineage_pyspark.workbench.questions.sql import QueryRows
    from openlineage_pyspark.workbench.questions.unused import UnusedRow, Use
    from openlineage_pyspark.workbench.recovery.model.plan import (
        CheckpointMove,
        Mode,
        Pin,
        RecoveryPlan,
        RecoveryStep,
        RepeatedRun,
        TableCheck,
        TableId,
        TouchedDataset,
    )
    from openlineage_pyspark.workbench.report import Lineage
    from openlineage_pyspark.workbench.store_api import Store

__all__ = [
    "AmbiguousNameError",
    "Answer",
    "BatchSink",
    "BatchSource",
    "BelowChange",
    "BlameRow",
    "BlamedRow",
    "CallSite",
    "Catalog",
    "Certainty",
    "ChangeRow",
    "CheckpointError",
    "CheckpointMove",
    "Code",
    "ColumnLineage",
    "ColumnNode",
    "CustomFacets",
    "Dataset",
    "DatasetNode",
    "DatasetRow",
    "DeliveryError",
    "Diagnostic",
    "Diff",
    "Edge",
    "Engine",
    "Error",
    "Event",
    "EventError",
    "EventType",
    "FacetProvider",
    "Failure",
    "Field",
    "FinishedRun",
    "Gap",
    "Graph",
    "GraphFormat",
    "Handle",
    "History",
    "Identifier",
    "InputField",
    "InputVersion",
    "InvalidEventError",
    "Job",
    "JobNode",
    "JobRow",
    "JobType",
    "Kind",
    "Level",
    "Lifecycle",
    "Lineage",
    "LineageError",
    "Metrics",
    "MicroBatch",
    "MissingExtraError",
    "Mode",
    "NameNotFoundError",
    "Node",
    "NodeId",
    "NotConfiguredError",
    "OperatorColumn",
    "OperatorNode",
    "Option",
    "OutputColumn",
    "Parent",
    "Path",
    "Pin",
    "ProbeError",
    "ProcessingType",
    "QueryError",
    "QueryRows",
    "Raised",
    "Reach",
    "Reached",
    "ReceiverMetrics",
    "RecoveryError",
    "RecoveryPlan",
    "RecoveryStep",
    "RegistrationError",
    "RepeatedRun",
    "Replaced",
    "Result",
    "Rows",
    "RunInput",
    "RunNode",
    "RunOutput",
    "RunReference",
    "RunRow",
    "RunState",
    "SchemaError",
    "SpoolError",
    "StatementSession",
    "Statistics",
    "Step",
    "StepFailedError",
    "Store",
    "StoreError",
    "StreamingQuery",
    "Submission",
    "Symlink",
    "TableCheck",
    "TableColumn",
    "TableId",
    "TableVersions",
    "TextError",
    "TextTable",
    "TouchedDataset",
    "Transformation",
    "Transport",
    "TransportConfigError",
    "TransportError",
    "Tree",
    "UnusedRow",
    "Use",
    "Values",
    "VersionNode",
    "VersionRow",
    "Writer",
    "last_run",
    "lineage",
    "open_transport",
    "register",
]

_NAMES = {
    "errors": (
        "AmbiguousNameError CheckpointError DeliveryError Error EventError InvalidEventError LineageError "
        "MissingExtraError NameNotFoundError NotConfiguredError ProbeError QueryError RecoveryError RegistrationError "
        "SchemaError SpoolError StepFailedError StoreError TextError TransportConfigError TransportError"
    ),
    "facets.events.providers": "CustomFacets FacetProvider",
    "facets.model.dataset": "Catalog Dataset Field Identifier Statistics Symlink TableVersions",
    "facets.model.lineage": "ColumnLineage InputField OutputColumn Transformation",
    "facets.model.micro_batch": "BatchSink BatchSource MicroBatch StreamingQuery",
    "facets.model.session": "StatementSession",
    "facets.model.run": (
        "CallSite Engine EventType Failure Gap Job JobType Lifecycle Parent ProcessingType Raised Replaced RunInput "
        "RunOutput RunReference RunState Submission"
    ),
    "listener.metrics": "Metrics",
    "listener.start.register": "Handle register",
    "transport.base": "Reached Transport",
    "transport.delivery.counts": "ReceiverMetrics",
    "transport.event": "Event",
    "transport.options": "Option",
    "transport.registry": "open_transport",
    "workbench.answer": "Answer Result Rows Values Writer",
    "workbench.finished_run": "FinishedRun last_run",
    "workbench.model.graph": (
        "ColumnNode DatasetNode Edge Graph JobNode Node OperatorColumn OperatorNode Path RunNode Step VersionNode"
    ),
    "workbench.model.kinds": "Certainty Code Diagnostic Kind Level NodeId",
    "workbench.model.reach": "Reach",
    "workbench.page.formats": "GraphFormat",
    "workbench.predict.query": "lineage",
    "workbench.questions.changes": "BelowChange ChangeRow Diff",
    "workbench.pictures.outline": "Tree",
    "workbench.pictures.table": "TableColumn TextTable",
    "workbench.blame.made": "BlamedRow BlameRow",
    "workbench.questions.datasets": "DatasetRow",
    "workbench.questions.history": "History InputVersion VersionRow",
    "workbench.questions.jobs": "JobRow",
    "workbench.questions.runs": "RunRow",
    "workbench.questions.sql": "QueryRows",
    "workbench.questions.unused": "UnusedRow Use",
    "workbench.recovery.model.plan": (
        "CheckpointMove Mode Pin RecoveryPlan RecoveryStep RepeatedRun TableCheck TableId TouchedDataset"
    ),
    "workbench.report": "Lineage",
    "workbench.store_api": "Store",
}
"""The public names of each module."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


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
