"""What is told of the exception that ends a script: as Python prints it, and never more of it than fits."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import pytest
from openlineage_pyspark.facets.model.run import Engine, Failure
from openlineage_pyspark.facets.redaction.rows import WITHHELD, without_rows
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.start.script_end import failed_outcome
from support.assembled import NOW, RUN


class BadRowError(Exception):
    """An exception of the user's."""


def caused() -> None:
    try:
        int("x")
    except ValueError as problem:
        raise BadRowError("two\nlines") from problem


def during() -> None:
    try:
        os.environ["NO_SUCH_VARIABLE"]
    except KeyError:
        raise BadRowError  # noqa: B904


def alone() -> None:
    try:
        os.environ["NO_SUCH_VARIABLE"]
    except KeyError:
        raise BadRowError("alone") from None


def caught(raising: Callable[[], None]) -> Exception:
    try:
        raising()
    except Exception as problem:  # noqa: BLE001
        return problem
    raise AssertionError


@pytest.mark.parametrize("raising", [caused, during, alone, lambda: int("x")])
def test_the_trace_is_the_one_that_python_prints(raising: Callable[[], None]) -> None:
    problem = caught(raising)

    outcome = failed_outcome("FAIL", problem)

    assert outcome.stack_trace == "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))
    assert outcome.message == "".join(traceback.format_exception_only(type(problem), problem)).strip()


def test_of_a_message_of_25_megabytes_the_beginning_is_told_and_of_each_frame_all() -> None:
    problem = caught(caused)
    problem.args = ("x" * 25_000_000,)

    outcome = failed_outcome("FAIL", problem)

    name = f"{BadRowError.__module__}.BadRowError"
    assert outcome.message == f"{name}: {'x' * (20_000 - len(name) - 2)}..."
    assert outcome.stack_trace is not None
    assert len(outcome.stack_trace) < 25_000
    assert outcome.stack_trace.count(", in caused\n") == 2


def test_a_circle_of_causes_is_told_once() -> None:
    one, two = BadRowError("one"), BadRowError("two")
    one.__cause__, two.__cause__ = two, one

    assert [raised.message for raised in failed_outcome("FAIL", one).raised] == ["two", "one"]


def of_pyspark(name: str, **members: object) -> Exception:
    """Give an exception such as PySpark makes of one of the JVM."""
    made: Exception = type(name, (Exception,), {"__module__": "pyspark.errors.exceptions.captured"})(
        "quotes 123-45-6789"
    )
    vars(made).update(members)
    return made


TASK = "\tat org.apache.spark.executor.Executor$TaskRunner.run(Executor.scala:9)"
EVALUATION = "\tat org.apache.spark.sql.catalyst.expressions.Cast.eval(Cast.scala:1)"


@pytest.mark.parametrize(
    ("problem", "of_rows"),
    [
        (of_pyspark("PythonException", _stackTrace=""), True),
        (
            of_pyspark("NumberFormatException", _stackTrace=TASK),
            True,
        ),
        (of_pyspark("IllegalArgumentException", stackTrace="\tat a.b.C.d(C.scala:1)"), False),
        (
            of_pyspark("AnalysisException", _stackTrace=EVALUATION),
            False,
        ),
        (BadRowError("x"), False),
    ],
)
def test_pysparks_stack_of_the_jvm_tells_where_it_was_raised(problem: Exception, *, of_rows: bool) -> None:
    assert [raised.of_rows for raised in failed_outcome("FAIL", problem).raised] == [of_rows]


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/lib/pyspark/sql/pandas/conversion.py", f"ValueError: {WITHHELD}"),
        ("/lib/pyspark/sql/dataframe.py", "ValueError: 123-45-6789"),
    ],
)
def test_what_fails_where_pyspark_converts_rows_quotes_none(file: str, shown: str) -> None:
    code = compile("raise ValueError('123-45-6789')", file, "exec")
    outcome = failed_outcome("FAIL", caught(lambda: exec(code)))  # noqa: S102

    assert without_rows(Failure(outcome.message, "PYTHON", outcome.stack_trace, outcome.raised)).message == shown


def test_the_end_of_the_application_quotes_no_row() -> None:
    problem = of_pyspark("NumberFormatException", _stackTrace="Executor$TaskRunner")
    application = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.0.0"))
    state = application.ended_state(failed_outcome("FAIL", problem), NOW, (), 0)

    assert state.failure is not None
    shown = without_rows(state.failure)
    assert shown.message == f"pyspark.errors.exceptions.captured.NumberFormatException: {WITHHELD}"
    assert "123-45" not in str(shown)
