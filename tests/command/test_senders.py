"""Whose events the commands and the listener send: those of the same sender, unless a receiver is named."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.listener.settings.settings import Settings, load
from openlineage_pyspark.listener.start.delivery import open_delivery, sender
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "spark.openlineage"


def conf(receiver: Any, key: str, **more: str) -> dict[str, str]:
    return {
        f"{PREFIX}.transport.type": "http",
        f"{PREFIX}.transport.url": receiver.url,
        f"{PREFIX}.transport.auth.type": "api_key",
        f"{PREFIX}.transport.auth.apiKey": key,
        **{f"{PREFIX}.{name.replace('_', '.')}": value for name, value in more.items()},
    }


def settings(given: dict[str, str]) -> Settings:
    return load(given, {}, ())


@pytest.fixture
def left(root: Path, receiver: Any, run_of: Any) -> Path:
    """Leave what a tenant with another key has left."""
    transport = open_transport("http", settings(conf(receiver, "key-of-a")).transport)
    spool = Spool.create(root, transport.destination, transport.sender)
    for event in run_of("START", "COMPLETE"):
        spool.append(event)
    spool.close()
    return spool.directory


def replay(run: Any, root: Path, given: dict[str, str], *arguments: str) -> int:
    options = [word for key, value in given.items() for word in ("-c", f"{key}={value}")]
    code, _, _ = run("replay", "--spool", str(root), *options, *arguments)
    return int(code)


def test_replay_leaves_what_another_tenant_left_until_the_receiver_is_named(
    run: Any, root: Path, receiver: Any, left: Path
) -> None:
    assert replay(run, root, conf(receiver, "key-of-b")) == 1
    assert receiver.received == []
    assert content(left).waiting == 2
    assert replay(run, root, conf(receiver, "key-of-b"), "--to", f"{receiver.url}/api/v1/lineage") == 0
    assert len(receiver.received) == 2
    assert directories(root) == []


def call(run: Any, root: Path, given: dict[str, str], *command: str) -> tuple[int, str]:
    options = [word for key, value in given.items() for word in ("-c", f"{key}={value}")]
    code, shown, _ = run(*command, "--spool", str(root), *options)
    return code, shown


def cause(receiver: Any) -> str:
    address = f"{receiver.url}/api/v1/lineage"
    return (
        f"2 events for {address} were left with another key, header or URL parameter, "
        f"that is, by another sender; if only that has changed: openlineage-pyspark replay --to {address}"
    )


@pytest.mark.usefixtures("left")
def test_replay_names_the_cause_where_a_key_was_replaced(run: Any, root: Path, receiver: Any) -> None:
    code, shown = call(run, root, conf(receiver, "key-of-b"), "replay")

    assert code == 1
    assert shown.splitlines() == [
        f"no events in {root} wait for {receiver.url}/api/v1/lineage",
        f"2 still waiting in {root}: `openlineage-pyspark spool ls --spool {root}` lists them",
        cause(receiver),
    ]


@pytest.mark.usefixtures("left")
def test_spool_ls_names_the_same_cause(run: Any, root: Path, receiver: Any) -> None:
    code, shown = call(run, root, conf(receiver, "key-of-b"), "spool", "ls")
    assert (code, shown.splitlines()[-1]) == (0, cause(receiver))
    assert "another sender" not in call(run, root, conf(receiver, "key-of-a"), "spool", "ls")[1]
    assert "another sender" not in call(run, root, {}, "spool", "ls")[1]

    for key, other in (("key-of-b", True), ("key-of-a", False)):
        document = json.loads(call(run, root, conf(receiver, key), "spool", "ls", "--format", "json")[1])["result"]
        assert [each["otherSender"] for each in document["applications"]] == [other]


@pytest.mark.usefixtures("left")
def test_doctor_names_the_same_cause(doctor: Any, root: Path, receiver: Any) -> None:
    given = conf(receiver, "key-of-b", spool_path=str(root))
    _, found, _, shown = doctor(*(f"{key}={value}" for key, value in given.items()))

    said, _, remedy = cause(receiver).partition("; ")
    (level, _) = found["spool"][0]
    words = re.sub(r"\s+", " ", shown)
    assert (level, len(found["spool"])) == ("warning", 1)
    assert f"{said} -> I{remedy[1:]}" in words


def test_replay_sends_what_the_same_key_left(run: Any, root: Path, receiver: Any, left: Path) -> None:
    assert replay(run, root, conf(receiver, "key-of-a")) == 0
    assert len(receiver.received) == 2


def test_a_named_sender_counts_in_place_of_the_key(run: Any, root: Path, receiver: Any, run_of: Any) -> None:
    before = settings(conf(receiver, "old", spool_path=str(root), spool_sender="sales"))
    after = settings(conf(receiver, "new", spool_path=str(root), spool_sender="sales"))
    transports = [open_transport("http", each.transport) for each in (before, after)]
    assert len({transport.sender for transport in transports}) == 2
    assert len({sender(each, one) for each, one in zip((before, after), transports, strict=True)}) == 1
    spool = Spool.create(root, transports[0].destination, sender(before, transports[0]))
    for event in run_of("START", "COMPLETE"):
        spool.append(event)
    spool.close()
    assert replay(run, root, conf(receiver, "new", spool_sender="others")) == 1
    delivery = open_delivery(after)
    delivery.start()
    while (counts := delivery.counts()).recovering or counts.pending:
        delivery.flush(0.1)
    assert delivery.close(60) == 0
    assert delivery.counts().sent == 2


def test_the_limits_of_the_spool_are_those_of_the_settings(root: Path, receiver: Any, left: Path) -> None:
    small = conf(receiver, "key-of-b", spool_path=str(root), spool_maxTotalBytes="1")
    delivery = open_delivery(settings(small))
    delivery.start()
    while delivery.counts().recovering:
        delivery.flush(0.1)
    assert delivery.close(60) == 0
    assert delivery.counts().deleted == 2
    assert directories(root) == []
