"""The exceptions: one tree, with fields, that other processes can take."""

from __future__ import annotations

import ast
import inspect
import pickle
from pathlib import Path

import openlineage_pyspark
import pytest
from openlineage_pyspark import errors
from support.sources import tree_of

ROOT = Path(__file__).parents[1]
ALL = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.Error)]
TREE = {
    "Error": {
        "LineageError": {"RegistrationError": {"NotConfiguredError": {}}, "ProbeError": {}, "TextError": {}},
        "StoreError": {"NameNotFoundError": {"AmbiguousNameError": {}}, "QueryError": {}},
        "RecoveryError": {"StepFailedError": {}, "CheckpointError": {}},
        "EventError": {"InvalidEventError": {}, "SchemaError": {}},
        "DeliveryError": {"TransportError": {}, "TransportConfigError": {}, "SpoolError": {}},
        "MissingExtraError": {},
    }
}
# What a caller never sees: it is caught where it is raised, or becomes a value.
PRIVATE = {
    "facets/foreign_sql/reader.py": {"UnreadableError"},
    "facets/foreign_sql/effort.py": {"TooLargeError"},
    "facets/sql_parser.py": {"UnparsableError"},
    "listener/probe/client.py": {"StatementRefusedError"},
    "listener/probe/records.py": {"InvalidRecordError"},
    "listener/start/prepare.py": {"StillPreparingError"},
    "transport/attempt.py": {"ForeignError"},
    "transport/http/client.py": {"_SendingTimedOutError"},
    "workbench/dryrun/script/fingerprint.py": {"UnknownPartError"},
    # A script that is refused something sees what the system would say.
    "workbench/dryrun/sandbox/guard.py": {"RefusedError"},
    "workbench/predict/sql/variables.py": {"UnknownVariableError"},
    "workbench/rebuild/shape.py": {"IncomparableError"},
}
EXAMPLES = [
    errors.TextError("a.sql can't be read: Permission denied", path="a.sql"),
    errors.NameNotFoundError("nothing is called 'x'", ref="x", candidates=("xs",), listing="datasets"),
    errors.AmbiguousNameError("'x' may mean any of these", ref="x", candidates=("a.x", "b.x")),
    errors.QueryError("the query can't be answered: no such table", query="SELECT 1 FROM x"),
    errors.StepFailedError("step 2 was begun", step=2, statement="DELETE FROM x"),
    errors.EventError("x.ndjson can't be read", place="x.ndjson"),
    errors.InvalidEventError("`eventTime` is missing or not a string", place="eventTime"),
    errors.TransportError("no answer", retryable=True, status=503, answer="busy", retry_after=2.0, lasting=True),
    errors.TransportConfigError("url", "is not set", "Set it."),
    errors.SpoolError("x can't be read", damaged=True),
    errors.MissingExtraError("workbench", ("rich",), "pip install rich"),
    *(kind("x") for kind in ALL if kind.__init__ is Exception.__init__),
]


def below(kind: type[BaseException]) -> dict[str, object]:
    """Return the tree below a class."""
    return {each.__name__: below(each) for each in kind.__subclasses__() if each.__module__ == errors.__name__}


def test_all_exceptions_have_one_root() -> None:
    assert {"Error": below(errors.Error)} == TREE


def test_all_exceptions_of_the_tree_are_public() -> None:
    assert {each.__name__ for each in ALL} <= set(openlineage_pyspark.__all__)


def test_the_module_shows_its_tree() -> None:
    lines = (errors.__doc__ or "").splitlines()
    assert {word for line in lines for word in line.split() if word.endswith("Error")} - {
        "openlineage_pyspark.Error",
        "ValueError)",
    } == {each.__name__ for each in ALL} - {"Error"}


def test_those_of_wrong_values_and_missing_packages_are_also_pythons() -> None:
    assert [each.__name__ for each in ALL if issubclass(each, ValueError)] == [
        "InvalidEventError",
        "TextError",
        "TransportConfigError",
    ]
    assert issubclass(errors.MissingExtraError, ImportError)


@pytest.mark.slow
def test_no_module_has_a_root_of_its_own() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if (
            name == "errors.py"
            or name.split("/")[0] in ("tests", "benchmarks", "build", "demo", "docs")
            or name.startswith(".")
        ):
            continue
        classes = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
        bases = {node.name: {base.id for base in node.bases if isinstance(base, ast.Name)} for node in classes}
        own = {each for each, of in bases.items() if any(base.endswith(("Error", "Exception")) for base in of)}
        if own:
            found[name] = own
    assert found == PRIVATE


@pytest.mark.parametrize("problem", EXAMPLES, ids=lambda problem: type(problem).__name__)
def test_an_exception_reaches_another_process_with_its_fields(problem: errors.Error) -> None:
    """As those of Spark's executors do."""
    there = pickle.loads(pickle.dumps(problem))  # noqa: S301 (our own bytes)

    assert type(there) is type(problem)
    assert (str(there), vars(there)) == (str(problem), vars(problem))


def test_each_exception_with_a_constructor_of_its_own_has_an_example() -> None:
    own = {each for each in ALL if "__init__" in vars(each)}

    assert own <= {type(each) for each in EXAMPLES}
