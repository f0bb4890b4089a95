"""
The ingest by Spark from where events of many jobs come together: a real Kafka broker, and a real server of S3.

Each is the command line in a process of its own, as a user starts it. It takes minutes, so it has a command of its own.
"""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.spark.tables import SparkTables
from openlineage_pyspark.workbench.store.sqlite.database import Database
from support import kafka, process_jvm, s3
from support.lakes import LAKE_CONF, LAKE_JARS
from support.lineage_events import company, text_of_events
from support.maven import fetched_with_all
from support.spark_jobs import QUICK, SPARK_VERSION, clean_environment
from support.spark_stores import HAS_LAKES, differing

pytestmark = [
    pytest.mark.own_jvm,
    pytest.mark.skipif("LIVE_INGEST" not in os.environ, reason="it takes minutes: LIVE_INGEST=1 asks for it"),
]

SPARK = SPARK_VERSION[:3]
CATALOG = "ice." if HAS_LAKES else ""
LINES = text_of_events(company(7, tables=8, jobs=20)).splitlines()
# Both deliver at least once.
LINES = [*LINES[:30], *LINES[:10], *LINES[25:]]
FIRST = 20
SECONDS = 300


@attrs.frozen
class Origin:
    """
    A place of events.

    Args:
        address: as `--from` takes it.
        checkpoint: where a stream from it notes how far it is.
        seen: the same as a folder of this machine.
        limit: the option of the source with which the first lines are more than one batch.
        put: adds lines, under a name.
    """

    address: str
    checkpoint: str
    seen: Path
    limit: str
    put: Callable[[str, list[str]], None]


@pytest.fixture(scope="module")
def server(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.Server]:
    """Return a server of S3."""
    with s3.serving(tmp_path_factory.mktemp) as found:
        yield found


@pytest.fixture(scope="module")
def conf(
    broker: kafka.Broker, server: s3.Server, packaged: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Return the Spark properties: sources of Kafka and S3, and tables of Iceberg, else of a metastore that stays."""
    folder = tmp_path_factory.mktemp("spark")
    jars = [packaged(kafka.CONNECTOR), str(broker.jars / f"kafka-clients-{kafka.VERSION}.jar")]
    client = fetched_with_all(f"s3a/{SPARK}", s3.CLIENT[SPARK], tmp_path_factory.mktemp("maven"), without=s3.NOT_NEEDED)
    jars += map(str, client.iterdir())
    found = {
        **QUICK,
        **server.conf,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    }
    if HAS_LAKES:
        jars.append(packaged(LAKE_JARS))
        found |= {**LAKE_CONF, "spark.sql.catalog.ice.warehouse": str(folder / "ice")}
    return {**found, "spark.jars": ",".join(jars)}


@pytest.fixture(scope="module")
def origins(broker: kafka.Broker, server: s3.Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Origin]:
    """Return the two places of events."""
    broker.create("lineage")
    checkpoint = tmp_path_factory.mktemp("checkpoint")

    def put_objects(name: str, lines: list[str]) -> None:
        half = len(lines) // 2
        texts = ["".join(f"{line}\n" for line in part).encode() for part in (lines[:half], lines[half:])]
        server.put(f"events/{name}/a.ndjson", texts[0])
        server.put(f"events/{name}/b.ndjson.gz", gzip.compress(texts[1]))

    return {
        "kafka": Origin(
            f"kafka://{broker.address}/lineage",
            str(checkpoint),
            checkpoint,
            f"maxOffsetsPerTrigger={FIRST // 2}",
            lambda _, lines: broker.write("lineage", *lines),
        ),
        "s3": Origin(
            f"s3a://{s3.BUCKET}/events/",
            f"s3a://{s3.BUCKET}/checkpoint",
            server.bucket / "checkpoint",
            "maxFilesPerTrigger=1",
            put_objects,
        ),
    }


class Command:
    """
    `ingest --spark`.

    Args:
        conf: the Spark properties.
        folder: where it is started.
    """

    def __init__(self, conf: dict[str, str], folder: Path) -> None:
        self._settings = [f"--conf={key}={value}" for key, value in conf.items()]
        self._folder = folder

    def start(self, schema_name: str, origin: Origin, *options: str) -> subprocess.Popen[str]:
        """Start it."""
        command = [sys.executable, "-m", "openlineage_pyspark", "ingest", "--spark", "--store", schema_name]
        command += ["--from", origin.address, *options, *self._settings]
        with (self._folder / "stderr").open("w") as errors:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=clean_environment(),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def run(self, schema_name: str, origin: Origin, *options: str) -> int:
        """Run it to its end: it finds one line that is no event. Return how many events it took."""
        with self.start(schema_name, origin, *options) as process:
            said = process.communicate(timeout=SECONDS)[0]
        found = re.fullmatch(rf"(\d+) events added to {re.escape(schema_name)}\n", said)
        errors = (self._folder / "stderr").read_text()
        assert process.returncode == 1, errors[-3000:]
        assert "1 of the lines is not an event" in errors
        assert found is not None, said
        return int(found[1])

    def kill_when(self, reached: Callable[[], bool], schema_name: str, origin: Origin, *options: str) -> None:
        """Kill it, and its JVM, as soon as something is reached."""
        with self.start(schema_name, origin, *options) as process:
            end = time.monotonic() + SECONDS
            while not reached() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            is_running = process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
        assert is_running, (self._folder / "stderr").read_text()[-3000:]
        assert reached()


@pytest.fixture(scope="module")
def command(conf: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Return the command with the properties."""
    return Command(conf, tmp_path_factory.mktemp("ingest"))


@pytest.fixture(scope="module")
def taken(command: Command, origins: dict[str, Origin]) -> dict[str, tuple[int, int]]:
    """
    Fill a store from each place by a stream that is killed in its second batch, and another one at once.

    Returns:
        How many events the second run of the stream took, and how many the ingest at once.
    """
    found = {}
    for name, origin in origins.items():
        origin.put("first", LINES[:FIRST])
        stream = ("--stream", "--checkpoint", origin.checkpoint)
        streamed, whole = f"{CATALOG}{name}_stream", f"{CATALOG}{name}_once"
        second_batch = (origin.seen / "offsets" / "1").exists
        command.kill_when(second_batch, streamed, origin, *stream, "--source-option", origin.limit)
        origin.put("second", [*LINES[FIRST:], "no event"])
        found[name] = (command.run(streamed, origin, *stream), command.run(whole, origin))
    return found


@pytest.mark.parametrize("name", ["kafka", "s3"])
def test_a_stream_goes_on_where_its_checkpoint_is(taken: dict[str, tuple[int, int]], name: str) -> None:
    after, whole = taken[name]
    assert whole == len(LINES)
    # The first batch was complete, and the second one was not. Kafka's limit is shared by the partitions, and rounded.
    assert len(LINES) - FIRST // 2 <= after < len(LINES)


def test_nothing_is_lost_and_nothing_doubled(
    taken: dict[str, tuple[int, int]], conf: dict[str, str], tmp_path: Path
) -> None:
    from openlineage_pyspark.workbench.store.spark.session import active_or_new_session

    with process_jvm.with_jars(conf["spark.jars"]), Database(tmp_path / "lineage.db") as lite:
        take(lite, [EventLine("test", line) for line in [*LINES, "no event"]])
        session = active_or_new_session(conf, is_session_catalog=True)
        try:
            found = {
                schema_name: differing(SparkTables(session, f"{CATALOG}{schema_name}"), lite)
                for schema_name in (f"{name}_{way}" for name in taken for way in ("stream", "once"))
            }
        finally:
            session.stop()
    assert found == {"kafka_stream": [], "kafka_once": [], "s3_stream": [], "s3_once": []}
