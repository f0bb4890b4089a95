"""Several processes write and read one store at once: drivers, `ingest`, and people who ask."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, taken, text_of_events

_DRIVER = """
import json, sys
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
delivery = Delivery(open_transport("store", {"path": sys.argv[1]}))
for line in open(sys.argv[2]):
    event = json.loads(line)
    delivery.submit(Event(event["run"]["runId"], event["eventType"], line.strip().encode()))
assert delivery.close(120) == 0
counts = delivery.counts()
assert (counts.failed, counts.dropped, counts.pending) == (0, 0, 0), counts
"""
_INGEST = """
import sys
from openlineage_pyspark.command.main import main
for _ in range(3):
    assert main(["ingest", sys.argv[2], "--store", sys.argv[1]]) == 0
"""
_READER = """
import sys
from pathlib import Path
from openlineage_pyspark.workbench.store_api import Store
asked = 0
while asked < 5 or not Path(sys.argv[2]).exists():
    with Store.open(sys.argv[1]) as store:
        for line in store.datasets().result.rows[:5]:
            store.downstream(line.name)
            store.history(line.name)
        store.runs(limit=10)
    asked += 1
"""


@pytest.mark.slow
def test_two_writers_and_five_readers_use_one_file_without_an_error(tmp_path: Path) -> None:
    store, done = str(tmp_path / "s.db"), tmp_path / "done"
    events = [event for seed in range(5) for event in company(seed)]
    taken(tmp_path / "s.db", events[:10])
    (tmp_path / "sent.ndjson").write_text(text_of_events(events[:200]))
    (tmp_path / "given.ndjson").write_text(text_of_events(events[200:]))

    def started(script: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", "-c", script, store, *arguments]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    readers = [started(_READER, str(done)) for _ in range(5)]
    writers = [started(_DRIVER, str(tmp_path / "sent.ndjson")), started(_INGEST, str(tmp_path / "given.ndjson"))]
    ends = [(each.communicate()[1], each.returncode) for each in writers]
    done.touch()
    ends += [(each.communicate()[1], each.returncode) for each in readers]
    assert ends == [("", 0)] * 7
    taken(tmp_path / "straight.db", events)
    with Store.open(store) as found, Store.open(tmp_path / "straight.db") as straight:
        assert found.runs().result == straight.runs().result
        assert found.datasets().result == straight.datasets().result
