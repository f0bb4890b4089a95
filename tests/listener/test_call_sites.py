"""The line of a statement is that of the thread which waits for it, or none."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from openlineage_pyspark.facets.model.run import CallSite
from openlineage_pyspark.listener.call_sites import CallSites

# What py4j does: its caller waits inside of a method of this name, in a file of this name.
_PY4J: dict[str, Any] = {}
exec(  # noqa: S102 (code of another file)
    compile(
        "class JavaMember:\n"
        "    def __init__(self, name, entered, left):\n"
        "        self.name, self.entered, self.left = name, entered, left\n"
        "    def __call__(self):\n"
        "        self.entered.set()\n"
        "        self.left.wait()\n",
        "/opt/spark/python/lib/py4j/java_gateway.py",
        "exec",
    ),
    _PY4J,
)
# A job, and a cell of a notebook.
_JOB: dict[str, Any] = {}
exec(compile("\n\ndef run(call):\n    call()\n", "/home/ann/etl.py", "exec"), _JOB)  # noqa: S102
_CELL: dict[str, Any] = {}
exec(compile("\ndef run(call):\n    call()\n", "/var/ipykernel_7/123.py", "exec"), _CELL)  # noqa: S102
# The table of lines has another form before Python 3.11, and in that of 3.10 another name than its contents have.
_NO_LINES: dict[str, Any] = {"co_linetable": b""}
ETL = CallSite("/home/ann/etl.py", 4, "saveAsTable")


@contextmanager
def waiting(method: str, job: dict[str, Any] = _JOB) -> Iterator[None]:
    """Have a thread wait in a call of a method."""
    entered, left = threading.Event(), threading.Event()
    thread = threading.Thread(target=job["run"], args=(_PY4J["JavaMember"](method, entered, left),))
    thread.start()
    entered.wait()
    try:
        yield
    finally:
        left.set()
        thread.join()


def start(execution: int, call: str | None = "saveAsTable", root: int | None = None) -> str:
    called = f',"call":"{call}"' if call is not None else ""
    return f'{{"k":"start","id":{execution},"root":{execution if root is None else root},"time":1{called},"read":true}}'


def found(records: list[str], *threads: str, ended: tuple[int, ...] = ()) -> dict[int, CallSite | None]:
    """Return the lines that are found for the executions 1 and 2 while threads wait in calls of these methods."""
    sites = CallSites(lambda execution: execution not in ended)
    with ExitStack() as stack:
        for method in threads:
            stack.enter_context(waiting(method))
        sites.look(records)
    return {execution: site for execution in (1, 2) if (site := sites.of(execution)) is not None}


def test_the_line_is_that_of_the_thread_that_waits_for_the_method() -> None:
    assert found([start(1)], "saveAsTable") == {1: ETL}
    assert found([start(1)], "saveAsTable", "sql") == {1: ETL}


def test_statements_of_two_threads_are_told_apart_by_their_methods() -> None:
    assert found([start(1), start(2, "sql")], "saveAsTable", "sql") == {
        1: ETL,
        2: CallSite("/home/ann/etl.py", 4, "sql"),
    }


@pytest.mark.parametrize(
    ("records", "threads", "ended"),
    [
        pytest.param([start(1)], (), (), id="nobody waits"),
        pytest.param([start(1)], ("sql",), (), id="somebody waits for another method"),
        pytest.param([start(1)], ("saveAsTable", "saveAsTable"), (), id="two wait for it"),
        pytest.param([start(1), start(2)], ("saveAsTable",), (), id="two run, and one waits"),
        pytest.param([start(1)], ("saveAsTable",), (1,), id="it has ended meanwhile"),
        pytest.param([start(1, root=0)], ("saveAsTable",), (), id="it is part of another"),
        pytest.param([start(1, "start")], ("start",), (), id="it is a batch of a stream"),
        pytest.param([start(1, None)], ("saveAsTable",), (), id="the method is not known"),
        pytest.param(['{"k":"end","id":1,"time":1}'], ("saveAsTable",), (), id="it is no start"),
    ],
)
def test_what_is_not_certain_is_not_told(records: list[str], threads: tuple[str, ...], ended: tuple[int, ...]) -> None:
    assert found(records, *threads, ended=ended) == {}


def test_of_two_statements_in_one_batch_the_one_that_still_runs_has_the_line() -> None:
    assert found([start(1), start(2)], "saveAsTable", ended=(1,)) == {2: ETL}


def test_a_line_is_told_once() -> None:
    sites = CallSites(lambda _execution: True)
    with waiting("sql"):
        sites.look([start(1, "sql")])
    assert [sites.of(1), sites.of(1)] == [CallSite("/home/ann/etl.py", 4, "sql"), None]


def test_a_line_of_a_notebook_is_in_the_cell_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(execution_count=3)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    sites = CallSites(lambda _execution: True)
    with waiting("sql", _CELL):
        sites.look([start(1, "sql")])
    assert sites.of(1) == CallSite("cell [3]", 3, "sql")


@pytest.mark.every_python
def test_nothing_that_was_looked_at_is_kept() -> None:
    sites = CallSites(lambda _execution: True)
    entered, left = threading.Event(), threading.Event()
    member = _PY4J["JavaMember"]("sql", entered, left)
    kept = weakref.ref(member)
    thread = threading.Thread(target=_JOB["run"], args=(member,))
    thread.start()
    entered.wait()
    gc.collect()
    gc.disable()
    try:
        sites.look([start(1, "sql")])
        left.set()
        thread.join()
        del member, thread
        assert sites.of(1) is not None
        assert kept() is None
    finally:
        gc.enable()


def test_code_without_lines_has_no_line() -> None:
    function = _JOB["run"]
    bare = FunctionType(function.__code__.replace(**_NO_LINES), {})
    sites = CallSites(lambda _execution: True)
    with waiting("sql", {"run": bare}):
        sites.look([start(1, "sql")])
    assert sites.of(1) is None
