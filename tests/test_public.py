"""The public surface: its names, their signatures, and what they cost; a change here is one for the users."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import attrs
import openlineage_pyspark
import pytest
from openlineage_pyspark import Store

NAMES = [
    "AmbiguousNameError",
    "Answer",
    "BatchSink",
    "BatchSource",
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
# Each is another word for other types.
ALIASES = [
    "Certainty",
    "Code",
    "EventType",
    "GraphFormat",
    "JobType",
    "Level",
    "Lifecycle",
    "Node",
    "NodeId",
    "ProcessingType",
    "Replaced",
    "Use",
    "Writer",
]


def public(kind: type) -> list[str]:
    """Return the names of a class that begin with no underscore, without those of its parents."""
    return sorted(name for name in vars(kind) if not name.startswith("_"))


def test_the_root_has_these_names_and_no_others() -> None:
    assert openlineage_pyspark.__all__ == NAMES
    assert set(NAMES) <= set(dir(openlineage_pyspark))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name: str) -> None:
    assert getattr(openlineage_pyspark, name) is not None


@pytest.mark.parametrize("name", sorted({*NAMES} - {*ALIASES}))
def test_each_class_and_function_has_its_own_name_and_is_documented(name: str) -> None:
    found = getattr(openlineage_pyspark, name)

    assert found.__name__ == name
    assert found.__doc__


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Pipeline'"):
        _ = openlineage_pyspark.Pipeline


def test_the_functions_take_these_arguments() -> None:
    functions = ("last_run", "lineage", "register")
    signatures = {name: str(inspect.signature(getattr(openlineage_pyspark, name))) for name in functions}

    assert signatures == {
        "last_run": "(spark: 'SparkSession', timeout_seconds: 'float' = 10.0) -> 'FinishedRun | None'",
        "lineage": "(spark: 'SparkSession', query: 'DataFrame | str', *, from_text: 'bool' = True, "
        "sources: 'Mapping[str, DataFrame] | None' = None) -> 'Lineage'",
        "register": "(spark: 'SparkSession', options: 'Mapping[str, str] | None' = None) -> 'Handle'",
    }


_REACH = "depth=None, by=None, direct=False, as_of='', ever=False, since=''"
QUESTIONS = {
    "between": "source, target, *, direct=False, as_of='', ever=False, since=''",
    "blame": "table, *, where=None, key=(), limit=100",
    "datasets": "containing=''",
    "diff": "before, after",
    "downstream": f"ref, *, {_REACH}",
    "graph": "around='', *, depth=None, direct=False, as_of='', ever=False, since=''",
    "history": "dataset",
    "jobs": "containing='', *, failed=False, late=False, as_of=''",
    "recover": "dataset, *, version='', run='', batch=None, time='', mode='incremental', column='', expired=(), "
    "correction=()",
    "runs": "job='', *, state=(), failed=False, unfinished=False, late=False, since='', limit=50, as_of=''",
    "sql": "query, *, dialect='spark', timeout=60",
    "unused": "containing='', *, by='column', since='', ever=False",
    "upstream": f"ref, *, {_REACH}",
}


def test_the_questions_of_a_store_take_these_arguments() -> None:
    """The command line and other people's code give them by name."""
    taken = {}
    for name, method in vars(Store).items():
        if hasattr(method, "__signature__"):
            signature = inspect.signature(method)
            bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
            taken[name] = str(inspect.Signature(bare)).removeprefix("(self, ").removesuffix(")")

    assert taken == QUESTIONS


def test_a_handle_can_be_closed_flushed_and_asked() -> None:
    handle = openlineage_pyspark.Handle

    assert public(handle) == ["close", "flush", "is_open", "last_run", "metrics"]
    assert str(inspect.signature(handle.close)) == "(self) -> 'bool'"
    assert str(inspect.signature(handle.flush)) == "(self, timeout_seconds: 'float' = 10.0) -> 'bool'"
    assert str(inspect.signature(handle.last_run)) == "(self, timeout_seconds: 'float' = 10.0) -> 'RunState | None'"
    assert str(inspect.signature(handle.metrics)) == "(self) -> 'Metrics'"
    assert isinstance(handle.is_open, property)


def test_the_values_have_these_fields() -> None:
    fields = {
        kind.__name__: [field.name for field in attrs.fields(kind)]
        for kind in (
            openlineage_pyspark.CustomFacets,
            openlineage_pyspark.Event,
            openlineage_pyspark.FinishedRun,
            openlineage_pyspark.Identifier,
            openlineage_pyspark.Lineage,
            openlineage_pyspark.Metrics,
            openlineage_pyspark.ReceiverMetrics,
        )
    }

    assert fields == {
        "CustomFacets": ["run", "job", "inputs", "outputs"],
        "Event": ["run_id", "event_type", "body", "parent_run_id", "id", "reads", "writes"],
        "FinishedRun": ["job", "job_namespace", "run_id", "state", "ended", "error", "lineage"],
        "Identifier": ["namespace", "name"],
        "Lineage": ["inputs", "outputs", "gaps", "_walked"],
        "Metrics": [
            "events",
            "runs",
            "edges",
            "edges_in_doubt",
            "remarks",
            "opaque_code",
            "faults",
            "lost_records",
            "dropped_by_spark",
            "receivers",
        ],
        "ReceiverMetrics": [
            "receiver",
            "made",
            "sent",
            "waiting",
            "dropped",
            "refused",
            "seconds_behind",
            "retries",
        ],
    }


def test_a_transport_is_written_from_these() -> None:
    assert public(openlineage_pyspark.Transport) == [
        "CONNECTIONS",
        "OPTIONS",
        "SPOOLED",
        "close",
        "destination",
        "from_options",
        "held",
        "reach",
        "send",
        "sender",
    ]
    assert openlineage_pyspark.Transport.__abstractmethods__ == {"send", "close"}


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the functions of the public names, and the methods of the classes; not what a class has from another."""
    for name in openlineage_pyspark.__all__:
        value = getattr(openlineage_pyspark, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for own, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if inspect.isfunction(function) and not own.startswith("_"):
                    yield f"{name}.{own}", function


FUNCTIONS = dict(public_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_says_what_it_takes_returns_and_raises(name: str) -> None:
    """A single sentence is enough where it names the only parameter; what is returned may stand in the first one."""
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    sentence = text.partition("\n")[0]
    signature = inspect.signature(function)
    taken = [each for each in signature.parameters if each not in ("self", "cls") and not each.startswith("_")]
    raised = set(re.findall(r"\braise (\w+Error)\b", inspect.getsource(inspect.unwrap(function))))

    assert re.match(r"[A-Z][a-z]+ .*[.:]", sentence), sentence
    assert sentence.split()[0] not in {"The", "A", "An", "This", "It", "Returns", "Gets", "Makes"}
    if len(taken) > 1 or "\n" in text:
        assert [each for each in taken if not re.search(rf"^ +{each}: \S", text, re.MULTILINE)] == []
    if signature.return_annotation not in ("None", None, inspect.Signature.empty):
        # What opens or makes something returns that.
        assert sentence.startswith(("Return ", "Whether ", "Open ", "Make ")) or "\nReturns:\n" in text
    assert {each for each in raised if each not in text} == set()


def modules_after(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has after a statement, and not before."""
    code = f"import sys, json; before = set(sys.modules); {statement}; print(json.dumps([*{{*sys.modules}} - before]))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_root_imports_nothing_before_a_name_is_asked_for() -> None:
    """The hook imports it in every Python process that imports pyspark."""
    assert {name.split(".")[0] for name in modules_after("import openlineage_pyspark")} <= {
        "openlineage_pyspark",
        "typing",
        "__future__",
        *sys.stdlib_module_names,
    }
    assert [
        name for name in modules_after("import openlineage_pyspark") if name.startswith("openlineage_pyspark.")
    ] == []


def test_an_error_costs_no_more_than_its_module() -> None:
    """A job may name one in an `except` without any lineage."""
    found = modules_after("import openlineage_pyspark; openlineage_pyspark.RegistrationError")

    assert {name for name in found if name.startswith("openlineage_pyspark")} == {
        "openlineage_pyspark",
        "openlineage_pyspark.errors",
    }


SWITCHED_OFF = """
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.start.prepare import Preparation
try:
    Preparation(None, {"spark.openlineage.disabled": "true"}, Guard()).result()
except Exception as problem:
    assert type(problem).__name__ == "NotConfiguredError", problem
"""


def test_an_application_that_is_switched_off_loads_its_settings_alone() -> None:
    found = modules_after(f"exec({SWITCHED_OFF!r})")
    ours = {name.removeprefix("openlineage_pyspark.") for name in found if name.startswith("openlineage_pyspark.")}

    assert {name for name in ours if name.startswith("facets.")} & {
        "facets.class_rules",
        "facets.commands",
        "facets.datasets",
        "facets.plan_lineage",
        "facets.trace",
    } == set()
    assert {name for name in ours if name.startswith("listener.probe")} == {"listener.probe", "listener.probe.limits"}
    assert {name.split(".")[0] for name in found} & {"openlineage", "sqlglot", "requests", "py4j", "rich"} == set()
