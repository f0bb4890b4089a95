"""Transports of openlineage-python behind our own interface, against real servers."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage.client.event_v2 import RunEvent
from openlineage.client.facet_v2 import parent_run
from openlineage.client.serde import Serde
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.openlineage.run_event import run_event
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "spark.openlineage.transport"
RUN = "0190a1b2-0000-7000-8000-000000000001"
PARENT: dict[str, Any] = {
    "_producer": "https://example.com/p",
    "_schemaURL": "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet",
    "run": {"runId": "0190a1b2-0000-7000-8000-000000000002"},
    "job": {"namespace": "dags", "name": "daily.load"},
    "root": {"run": {"runId": "0190a1b2-0000-7000-8000-000000000003"}, "job": {"namespace": "dags", "name": "daily"}},
}
DOCUMENT = {
    "eventTime": "2026-11-21T10:00:00.123Z",
    "producer": "https://example.com/p",
    "schemaURL": "https://openlineage.io/spec/9-9-9/OpenLineage.json#/$defs/RunEvent",
    "eventType": "COMPLETE",
    "run": {
        "runId": RUN,
        "facets": {"zebra": {"_producer": "p", "n": 1.5, "none": [[], {"a": "ß"}]}, "parent": PARENT},
    },
    "job": {"namespace": "sales", "name": "größe", "facets": {"jobType": {"integration": "SPARK", "jobType": "JOB"}}},
    "inputs": [{"namespace": "file", "name": "/a", "inputFacets": {"s": {"rowCount": 2**60}}}],
    "outputs": [{"namespace": "file", "name": "/b", "facets": {}, "outputFacets": {}}, {"namespace": "f", "name": "c"}],
}


def event_of(document: dict[str, Any]) -> Event:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Event(document["run"]["runId"], document.get("eventType", "OTHER"), body)


EVENT = event_of(DOCUMENT)


def failure(transport: Any) -> TransportError:
    with pytest.raises(TransportError) as caught:
        transport.send(EVENT)
    return caught.value


def config_error(name: str, **options: object) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport(name, options)
    return str(caught.value)


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT,
        {name: value for name, value in DOCUMENT.items() if name not in ("inputs", "outputs", "eventType")},
        {**DOCUMENT, "run": {"runId": RUN}, "job": {"namespace": "n", "name": "j"}, "inputs": [], "outputs": []},
        *(
            {**DOCUMENT, "run": {"runId": RUN, "facets": {"parent": parent}}}
            for parent in (
                {name: value for name, value in PARENT.items() if name != "root"},
                {**PARENT, "more": 1},
                {**PARENT, "job": {**PARENT["job"], "facets": {"a": {"b": 1}}}},
                {},
            )
        ),
    ],
    ids=["full", "bare", "no facets", "parent without root", "parent with more", "parent with facets", "no parent"],
)
def test_an_event_is_the_same_document_after_the_clients_own_classes(document: dict[str, Any]) -> None:
    made = run_event(event_of(document).body)
    assert isinstance(made, RunEvent)
    assert json.loads(Serde.to_json(made)) == document


def test_the_clients_code_finds_run_job_and_parent_where_it_looks() -> None:
    made = run_event(EVENT.body)
    parent = made.run.facets["parent"]
    assert isinstance(parent, parent_run.ParentRunFacet)
    assert (parent.root.job.namespace, parent.root.job.name, parent.job.name) == ("dags", "daily", "daily.load")
    assert (made.run.runId, made.job.name, made.eventType.value) == (RUN, "größe", "COMPLETE")
    assert [dataset.name for dataset in made.outputs] == ["/b", "c"]


def test_datadog_gets_events_with_its_key(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DD_SITE", receiver.url)
    transport = open_transport("datadog", {"apiKey": "key-canary"})
    assert (transport.SPOOLED, transport.destination) == (True, f"datadog at {receiver.url}")
    transport.send(EVENT)
    (got,) = receiver.received
    assert (got.path, json.loads(got.body)) == ("/api/v1/lineage", DOCUMENT)
    assert (got.headers["Authorization"], got.headers["Content-Encoding"]) == ("Bearer key-canary", "gzip")
    transport.close(5.0)


@pytest.mark.parametrize(
    ("status", "headers", "retryable", "seconds"),
    [
        (422, {}, False, None),
        (403, {}, True, None),
        (429, {"Retry-After": "9"}, True, 9.0),
        (503, {}, True, None),
        (409, {}, True, None),
    ],
)
def test_the_answer_to_datadogs_transport_decides_about_a_retry_and_it_makes_none_itself(
    receiver: Any, answer: Any, status: int, headers: dict[str, str], seconds: float | None, *, retryable: bool
) -> None:
    receiver.answers.append(answer(status=status, text="key-canary", headers=headers))
    options = {"site": receiver.url, "apiKey": "key-canary", "retry": {"status_forcelist": [409]}}
    error = failure(open_transport("datadog", options))
    assert (str(error), error.status) == (f"datadog at {receiver.url} answered {status}", status)
    assert (error.retryable, error.retry_after) == (retryable, seconds)
    assert len(receiver.received) == 1


def test_a_client_without_an_answer_says_where_it_failed_and_not_with_what(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(close=True))
    error = failure(open_transport("datadog", {"site": receiver.url, "apiKey": "key-canary"}))
    assert str(error).startswith(f"datadog at {receiver.url} failed with ConnectionError at ")
    assert (error.status, error.retryable) == (None, True)


def test_datadogs_options_are_checked_and_what_has_no_effect_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DD_API_KEY", raising=False)
    assert config_error("datadog") == (f"{PREFIX}.apiKey is not set. Set it, or the environment variable DD_API_KEY.")
    message = config_error("datadog", apiKey="key-canary", site="nowhere")
    assert message.startswith(
        f"{PREFIX}.type is 'datadog', which openlineage-python can't create from these options (ValueError at "
    )
    assert "canary" not in message
    caplog.clear()
    open_transport(
        "datadog",
        {"apiKey": "k", "async_transport_rules": {"*": {"*": True}}, "max_queue_size": 5, "retry": {"total": 9}},
    )
    not_yet = "is an option of openlineage-python and has no effect here"
    assert [record.getMessage() for record in caplog.records] == [
        f"{PREFIX}.async_transport_rules.*.* {not_yet}",
        f"{PREFIX}.max_queue_size {not_yet}",
        f"{PREFIX}.retry: only status_forcelist has an effect, because failed events are always sent again",
    ]


@pytest.fixture
def _no_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="the package boto3, which the DataZone transport needs, is not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id-canary")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-canary")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


@pytest.mark.usefixtures("_no_amazon")
@pytest.mark.slow
def test_datazone_gets_events_through_amazons_client(receiver: Any, answer: Any) -> None:
    options = {"domainId": "dzd_1", "endpointOverride": receiver.url}
    transport = open_transport("amazon_datazone_api", options)
    receiver.answers.append(answer(status=200, text='{"id":"e1","domainId":"dzd_1"}'))
    transport.send(EVENT)
    (got,) = receiver.received
    assert (got.path, json.loads(got.body)) == ("/v2/domains/dzd_1/lineage/events", DOCUMENT)
    receiver.answers.extend([answer(status=403, text="{}"), answer(status=503, text="{}")])
    refused, away = failure(transport), failure(transport)
    assert [(str(error), error.status, error.retryable) for error in (refused, away)] == [
        ("DataZone domain dzd_1 answered 403", 403, True),
        ("DataZone domain dzd_1 answered 503", 503, True),
    ]
    assert (refused.lasting, away.lasting) == (True, False)
    transport.close(5.0)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_amazon")
def test_datazone_without_an_answer_is_worth_another_try(receiver: Any, answer: Any) -> None:
    transport = open_transport("amazon_datazone_api", {"domainId": "dzd_1", "endpointOverride": receiver.url})
    receiver.answers.append(answer(close=True))
    error = failure(transport)
    assert str(error).startswith("DataZone domain dzd_1 failed with RuntimeError at ")
    assert (error.status, error.retryable) == (None, True)
    assert "canary" not in f"{error!r}"


def test_what_a_transport_needs_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_error("gcplineage") == f"{PREFIX}.projectId is not set. Set it to the Google Cloud project."
    assert config_error("amazon_datazone_api") == f"{PREFIX}.domainId is not set. Set it to the domain's id."
    # As where the packages are not installed.
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert config_error("gcplineage", projectId="p") == (
        f"{PREFIX}.type is 'gcplineage', which needs the package google-cloud-datacatalog-lineage."
        " Run pip install google-cloud-datacatalog-lineage."
    )
    assert config_error("amazon_datazone_api", domainId="d") == (
        f"{PREFIX}.type is 'amazon_datazone_api', which needs the package boto3. Run pip install boto3."
    )


@pytest.fixture
def own_module(tmp_path: Path) -> Iterator[str]:
    """Give a module as a user writes it for openlineage-python."""
    name = "own_openlineage_transports_for_test"
    (tmp_path / f"{name}.py").write_text(
        """
import os
import attr
from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Config, Transport

@attr.define
class LetterConfig(Config):
    box: str
    stamp: dict

    @classmethod
    def from_dict(cls, params):
        return cls(params["box"], params["stamp"])

class Answer:
    headers = {}
    def __init__(self, status):
        self.status_code = status

class ClientError(Exception):
    def __init__(self, status, code):
        super().__init__("secret-canary")
        if status:
            self.response = Answer(status)
        if code:
            self.code = code

class LetterBox(Transport):
    kind = "letter"
    config_class = LetterConfig

    def __init__(self, config):
        self.config = config
        self.last = True
        self.closed = []

    def emit(self, event):
        stamp = self.config.stamp
        if stamp.get("own") or os.path.exists(stamp.get("while", "")):
            raise ClientError(stamp.get("status"), stamp.get("code"))
        if self.config.stamp.get("torn"):
            raise self.config.stamp["torn"]("secret-canary")
        with open(self.config.box, "a") as box:
            box.write(Serde.to_json(event) + "\\\\n")

    def wait_for_completion(self, timeout=-1):
        return not self.config.stamp.get("slow")

    def close(self, timeout=-1):
        with open(self.config.box, "a") as box:
            box.write("closed\\\\n")
        return True
""".replace("\\\\n", "\\n")
    )
    sys.path.insert(0, str(tmp_path))
    yield name
    sys.path.remove(str(tmp_path))
    sys.modules.pop(name, None)


def test_a_class_is_named_by_its_path_and_gets_its_options_as_they_are(own_module: str, tmp_path: Path) -> None:
    box = tmp_path / "box"
    path = f"{own_module}.LetterBox"
    transport = open_transport(path, {"type": path, "box": str(box), "stamp": {"a.b": {"c": 1}}})
    assert (transport.SPOOLED, transport.destination) == (True, path)
    # The class tells receivers apart, and its options tell senders apart.
    assert json.loads(transport.sender) == {"options": {"box": str(box), "stamp": {"a.b": {"c": 1}}}}
    transport.close(1.0)
    assert not box.exists()
    transport.send(EVENT)
    assert json.loads(box.read_text()) == DOCUMENT
    transport.close(1.0)
    assert box.read_text().splitlines()[1] == "closed"


def test_a_class_that_is_late_or_fails_is_worth_another_try(own_module: str, tmp_path: Path) -> None:
    def error(stamp: dict[str, object]) -> TransportError:
        path = f"{own_module}.LetterBox"
        return failure(open_transport(path, {"box": str(tmp_path / "box"), "stamp": stamp}))

    late = error({"slow": True})
    assert (str(late), late.retryable) == (f"{own_module}.LetterBox did not receive the event in time", True)
    for kind in (OSError, RuntimeError, TimeoutError):
        torn = error({"torn": kind})
        assert str(torn).startswith(f"{own_module}.LetterBox failed with {kind.__name__} at {tmp_path}")
        assert torn.retryable is True
        assert "canary" not in str(torn)


def test_an_exception_of_a_clients_own_is_worth_another_try_unless_it_tells_a_final_status(
    own_module: str, tmp_path: Path
) -> None:
    """Most clients raise such errors if a server can't be reached."""
    path = f"{own_module}.LetterBox"
    transport = open_transport(path, {"box": str(tmp_path / "box"), "stamp": {"own": True}})
    away = failure(transport)
    assert str(away).startswith(f"{path} failed with ClientError at {tmp_path}")
    assert (away.status, away.retryable) == (None, True)
    for status, retryable in ((400, False), (401, True), (503, True)):
        transport = open_transport(path, {"box": str(tmp_path / "box"), "stamp": {"own": True, "status": status}})
        told = failure(transport)
        assert (str(told), told.status, told.retryable) == (f"{path} answered {status}", status, retryable)
    odd = open_transport(path, {"box": str(tmp_path / "box"), "stamp": {"own": True, "code": 7}})
    assert (failure(odd).status, failure(odd).retryable) == (None, True)


def test_an_outage_that_a_class_tells_by_an_exception_of_its_own_costs_no_event(
    own_module: str, tmp_path: Path
) -> None:
    box, away = tmp_path / "box", tmp_path / "away"
    away.touch()
    transport = open_transport(f"{own_module}.LetterBox", {"box": str(box), "stamp": {"while": str(away)}})
    delivery = Delivery(transport)
    runs = [f"{RUN[:-1]}{number}" for number in range(3)]
    for run in runs:
        delivery.submit(event_of({**DOCUMENT, "run": {"runId": run}}))
    end = time.monotonic() + 60
    while delivery.counts().retries < 3:
        assert time.monotonic() < end, "it was not tried again within a minute"
        time.sleep(0.01)
    away.unlink()
    assert delivery.close(60) == 0
    assert (delivery.counts().sent, delivery.counts().failed) == (3, 0)
    *lines, closed = box.read_text().splitlines()
    assert sorted(json.loads(line)["run"]["runId"] for line in lines) == runs
    assert closed == "closed"


def test_an_event_that_the_clients_classes_can_not_hold_is_final(own_module: str, tmp_path: Path) -> None:
    path = f"{own_module}.LetterBox"
    transport = open_transport(path, {"box": str(tmp_path / "box"), "stamp": {}})
    with pytest.raises(TransportError) as caught:
        transport.send(Event("r", "START", b'{"run":"canary"}'))
    text = str(caught.value)
    assert text.startswith(f"{path} only takes events of openlineage-python, which this is not (KeyError at ")
    assert caught.value.retryable is False
    assert "canary" not in text


def test_a_class_that_can_not_be_made_says_so_without_its_options(own_module: str) -> None:
    made = "which openlineage-python can't create from these options"
    remedy = "See its options: https://openlineage.io/docs/client/python/configuration."
    for path, kind in (
        (f"{own_module}.inner.Transport", "ImportError"),
        (f"{own_module}.Nothing", "ImportError"),
        (f"{own_module}.LetterConfig", "TypeError"),
        (f"{own_module}.LetterBox", "KeyError"),
    ):
        message = config_error(path, colour="key-canary")
        assert message.startswith(f"{PREFIX}.type is {path!r}, {made} ({kind} at ")
        assert message.endswith(f"). {remedy}")
        assert "canary" not in message
