"""The listener's thread: what it does in which order, what it waits for, and what it says was lost. No Spark."""

from __future__ import annotations

import datetime as dt
import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import CustomFacets, Provider
from openlineage_pyspark.facets.model.run import Engine, Outcome, RunReference, RunState
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.worker import Worker
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.memory import MemoryTransport

RUN = RunReference("01941f29-7c00-7000-8000-000000000001", "team", "app")
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
PATIENCE = 30.0
RDD_START = {
    "k": "rdd_start",
    "job": 5,
    "time": 1000,
    "write": True,
    "path": "file:/out",
    "format": "x.TextOutputFormat",
}
RDD_END = {"k": "rdd_end", "job": 5, "time": 2000, "written": [4, 80]}


class Records:
    """Gives records as a probe does: those that were put in, or an error that was."""

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[list[str] | BaseException] = queue.SimpleQueue()
        self.dropped = 0

    def put(self, *records: dict[str, Any] | str) -> None:
        """Let the next `take` give these."""
        self._given.put([text if isinstance(text, str) else json.dumps(text) for text in records])

    def fail(self, problem: BaseException) -> None:
        """Let the next `take` raise."""
        self._given.put(problem)

    def take(self, wait_milliseconds: int) -> list[str]:
        """Give what was put in next."""
        try:
            given = self._given.get(timeout=wait_milliseconds / 1000) if wait_milliseconds else self._given.get_nowait()
            while given == []:
                given = self._given.get_nowait()
        except queue.Empty:
            return []
        if isinstance(given, BaseException):
            raise given
        return given

    def wake(self) -> None:
        """Make a `take` that waits return."""
        self._given.put([])

    @property
    def gone(self) -> tuple[type[Exception], ...]:
        """Give what a call raises once the JVM has ended."""
        return (ConnectionError,)

    def lost(self) -> int:
        """Give how many records had no room."""
        return self.dropped


class Listener:
    """A worker with the two ends that a test holds."""

    def __init__(self, *providers: Provider, ends_with_context: bool = False) -> None:
        self.records = Records()
        self.transport = MemoryTransport()
        delivery, guard = Delivery(self.transport), Guard()
        application = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.3.0"))
        pipeline = Pipeline(application, EventOptions(), providers, delivery, guard)
        records: Any = self.records
        self.worker = Worker(records, application, pipeline, delivery, guard, lambda: ends_with_context)
        self.settled: list[float] = []

    def begin(self) -> threading.Thread:
        """Work on a thread."""
        thread = threading.Thread(target=self.worker.run, daemon=True)
        thread.start()
        return thread

    def finish(self, outcome: Outcome | None = None) -> bool:
        """End the application."""
        return self.worker.finish(outcome or Outcome("COMPLETE"), self.settled.append, PATIENCE)

    @property
    def told(self) -> list[tuple[str, str]]:
        """Type and job of each event that arrived."""
        bodies = [json.loads(event.body) for event in self.transport.events]
        return [(body["eventType"], body["job"]["name"]) for body in bodies]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What the last event says was lost."""
        facet = json.loads(self.transport.events[-1].body)["run"]["facets"].get("extractionError", {"errors": []})
        return [(error["task"], error["errorMessage"]) for error in facet["errors"]]


@pytest.fixture
def listeners() -> Iterator[Callable[..., Listener]]:
    """Give what makes listeners; each is ended with the test."""
    made: list[Listener] = []

    def make(*providers: Provider, **how: bool) -> Listener:
        made.append(Listener(*providers, **how))
        return made[-1]

    yield make
    for listener in made:
        listener.finish()


def test_the_application_is_around_its_runs_and_its_end_is_the_last_event(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(RDD_START, RDD_END)
    listener.begin()

    assert listener.finish()
    assert listener.told == [
        ("START", "app"),
        ("START", "app.save_rdd.out"),
        ("COMPLETE", "app.save_rdd.out"),
        ("COMPLETE", "app"),
    ]
    assert listener.worker.faults == ()
    assert (listener.worker.metrics().events, listener.worker.has_ended) == (4, True)
    assert [0 < seconds <= PATIENCE for seconds in listener.settled] == [True]


def test_the_terminal_event_of_the_application_tells_what_was_counted(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(RDD_START, RDD_END)
    listener.begin()
    listener.finish()

    told = [json.loads(event.body)["run"]["facets"].get("pyspark_metrics") for event in listener.transport.events]
    assert told[:-1] == [None] * 3
    facet = {name: value for name, value in told[-1].items() if not name.startswith("_")}
    [receiver] = facet.pop("receivers")
    assert facet == {
        "events": 3,
        "runs": 1,
        "edges": 0,
        "edgesInDoubt": 0,
        "remarks": 0,
        "opaqueCode": {"rdds": 1},
        "faults": 0,
        "lostRecords": 0,
        "droppedBySpark": 0,
    }
    assert (receiver["made"], receiver["sent"] + receiver["waiting"]) == (3, 3)
    assert receiver.keys() == {
        *("receiver", "made", "sent", "waiting", "dropped", "refused", "secondsBehind", "retries")
    }
    [now] = listener.worker.metrics().receivers
    assert (now.made, now.sent, now.waiting) == (4, 4, 0)


APPLICATION_END = {"k": "application_end", "time": 3000}


def test_a_jvm_that_ends_after_its_context_was_stopped_is_no_fault(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(APPLICATION_END)
    listener.records.fail(ConnectionRefusedError("gone"))
    listener.begin()
    listener.finish(Outcome("FAIL", "no"))

    assert (listener.told[-1], listener.errors, listener.worker.metrics().faults) == (("FAIL", "app"), [], 0)


def test_where_the_application_ends_with_its_context_nobody_has_to_end_it(listeners: Callable[..., Listener]) -> None:
    listener = listeners(ends_with_context=True)
    listener.records.put(RDD_START, APPLICATION_END)
    listener.begin().join()

    assert listener.worker.has_ended
    assert listener.finish()
    assert [kind for kind, _ in listener.told] == ["START", "START", "ABORT", "COMPLETE"]


def test_a_run_without_an_end_is_aborted_before_the_application_ends(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(RDD_START)
    listener.begin()
    listener.finish(Outcome("FAIL", "no", "Traceback"))

    assert [kind for kind, _ in listener.told] == ["START", "START", "ABORT", "FAIL"]
    error = json.loads(listener.transport.events[-1].body)["run"]["facets"]["errorMessage"]
    assert (error["message"], error["programmingLanguage"]) == ("no", "PYTHON")


def test_what_spark_reports_while_it_settles_is_in_the_events(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.begin()
    listener.worker.finish(Outcome("COMPLETE"), lambda _seconds: listener.records.put(RDD_START, RDD_END), PATIENCE)

    assert [kind for kind, _ in listener.told] == ["START", "START", "COMPLETE", "COMPLETE"]


def test_after_a_flush_what_was_reported_before_has_arrived(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.begin()
    listener.records.put(RDD_START)

    assert listener.worker.flush(PATIENCE)
    assert listener.told == [("START", "app"), ("START", "app.save_rdd.out")]


def test_a_text_that_is_no_record_costs_itself_and_is_counted(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(RDD_START, "{", '{"k":"begin"}', RDD_END)
    listener.begin()

    assert listener.finish()
    assert [kind for kind, _ in listener.told] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert listener.errors == [("handling a record: InvalidRecordError", "2 times")]
    assert listener.worker.faults == ("handling a record: InvalidRecordError: 2 times",)


def test_a_gap_of_any_event_is_a_fault_once(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    record = {**RDD_START, "sources": ["?KafkaRDD"]}
    listener.records.put(record, RDD_END, {**record, "job": 6}, {**RDD_END, "job": 6})
    listener.begin()
    listener.finish()

    assert listener.worker.faults == ("RDD (KafkaRDD): a source without a resolver: what it reads is unknown",)
    assert listener.errors == []


def test_what_spark_and_the_probe_drop_is_said(
    listeners: Callable[..., Listener], caplog: pytest.LogCaptureFixture
) -> None:
    listener = listeners()
    listener.records.put({"k": "dropped", "count": 2})
    listener.records.put({"k": "dropped", "count": 5})
    listener.records.dropped = 3
    with caplog.at_level(logging.WARNING, "openlineage_pyspark"):
        listener.begin()
        listener.finish()

    key = "spark.scheduler.listenerbus.eventqueue.openlineage.capacity"
    assert listener.errors == [
        ("events", f"Spark dropped 5 events because the listener's queue was full: raise {key}"),
        ("records", "the probe dropped 3 records that the listener did not read in time"),
    ]
    assert [key in record.getMessage() for record in caplog.records] == [True]


def test_a_jvm_that_does_not_answer_costs_no_more_than_what_it_would_have_said(
    listeners: Callable[..., Listener],
) -> None:
    listener = listeners()
    listener.records.put(RDD_START)
    listener.records.fail(OSError("gone"))
    listener.begin()
    # Until then it has been asked in vain.
    listener.worker.flush(PATIENCE)
    listener.records.put(RDD_END)
    listener.finish()

    assert [kind for kind, _ in listener.told] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert listener.errors == [("taking records: OSError", "1 times")]


class Killed(BaseException):
    """What kills a thread is no Exception."""


def test_a_thread_in_the_place_of_a_killed_one_goes_on_where_that_was(listeners: Callable[..., Listener]) -> None:
    listener = listeners()
    listener.records.put(RDD_START)
    listener.records.fail(Killed())
    listener.records.put(RDD_END)
    with pytest.raises(Killed):
        listener.worker.run()
    listener.begin()
    listener.finish()

    assert [kind for kind, _ in listener.told] == ["START", "START", "COMPLETE", "COMPLETE"]


def test_what_was_taken_by_a_thread_that_is_killed_is_handled_by_the_next(listeners: Callable[..., Listener]) -> None:
    def killing(state: RunState) -> CustomFacets:
        if state.event_type == "START" and state.job.type == "RDD_JOB" and not killed:
            killed.append(state)
            raise Killed
        return CustomFacets()

    killed: list[RunState] = []
    listener = listeners(Provider("killing", lambda: killing))
    listener.records.put(RDD_START, RDD_END)
    with pytest.raises(Killed):
        listener.worker.run()
    listener.begin()
    listener.finish()

    assert [kind for kind, _ in listener.told] == ["START", "COMPLETE", "COMPLETE"]
