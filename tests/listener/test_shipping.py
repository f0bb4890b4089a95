"""From the settings to a delivery: which spool it has, and what happens where there can be none."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from openlineage_pyspark.listener.settings.settings import load
from openlineage_pyspark.listener.start.delivery import open_delivery, spool_root
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import default_root, directories

NOWHERE = {"transport.type": "http", "transport.url": "http://127.0.0.1:9"}


def settings(**keys: str):
    return load({f"spark.openlineage.{key}": value for key, value in keys.items()}, {}, ())


@pytest.mark.parametrize(
    ("keys", "root"),
    [
        (NOWHERE, default_root()),
        ({"transport.type": "console"}, None),
        (NOWHERE | {"spool.path": "NONE"}, None),
        (NOWHERE | {"spool.path": "/var/spool/lineage"}, Path("/var/spool/lineage")),
        ({"transport.type": "console", "spool.path": "here"}, Path("here")),
        (NOWHERE | {"spool.path": "~/spool"}, Path.home() / "spool"),
    ],
)
def test_a_receiver_over_a_network_has_a_spool_and_the_configuration_decides(keys: dict[str, str], root: Path | None):
    chosen = settings(**keys)
    assert spool_root(chosen, open_transport(chosen.transport["type"], chosen.transport)) == root


def test_what_can_not_be_delivered_stays_in_the_spool_that_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    delivery = open_delivery(settings(**NOWHERE, **{"spool.path": str(tmp_path)}))
    delivery.submit(Event("r", "START", b"{}"))
    # Another thread warns that it can't be delivered: not only when another test looks at the log.
    end = time.monotonic() + 60
    while not caplog.records and time.monotonic() < end:
        time.sleep(0.01)
    assert delivery.close(0) == 1
    [directory] = directories(tmp_path)
    found = content(directory)
    assert (found.waiting, found.destination) == (1, "http://127.0.0.1:9/api/v1/lineage")


def test_without_a_place_for_the_spool_the_listener_says_so_and_works(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        delivery = open_delivery(settings(**{"transport.type": "noop", "spool.path": str(tmp_path / "file" / "x")}))
    [record] = caplog.records
    assert record.getMessage() == (
        "openlineage: no spool, so events are kept in memory only:"
        f" {tmp_path}/file/x can't be made or written (Not a directory)"
    )
    delivery.submit(Event("r", "START", b"{}"))
    assert delivery.close(60) == 0
    assert delivery.counts().sent == 1
