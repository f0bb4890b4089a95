"""Real services that keep tables, a Java process each: Hive's metastore over thrift, and a REST catalog of Iceberg."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import attrs
import pytest

from support.maven import fetched
from support.ports import free_ports
from support.spark_jobs import pyspark_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# The server of Iceberg's own tests, with all that it needs; its tables are those of a JDBC catalog in memory.
REST_SERVER = "org.apache.iceberg:iceberg-open-api:1.10.1"
START_SECONDS = 240


@attrs.frozen
class Service:
    """
    A service that runs.

    Args:
        port: where it listens on 127.0.0.1.
        warehouse: the folder of its tables.
    """

    port: int
    warehouse: Path

    @property
    def thrift(self) -> str:
        """Return the address of a metastore."""
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def rest(self) -> str:
        """Return the address of a REST catalog."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def metastore(make_folder: Callable[[str], Path]) -> Iterator[Service]:
    """
    Run Hive's metastore, from the jars of the installed Spark.

    Args:
        make_folder: makes a folder of that name, as `tmp_path_factory.mktemp` does.
    """
    folder, port = make_folder("metastore"), free_ports(1)[0]
    settings = {
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{folder}/tables",
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
    }
    words = [word for key, value in settings.items() for word in ("--hiveconf", f"{key}={value}")]
    # Its own configuration of logs asks for a library that Spark has not.
    command = ["-Dhive.async.log.enabled=false", "-cp", f"{pyspark_folder()}/jars/*"]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port), *words]
    with _running(command, folder, port, {}):
        yield Service(port, folder / "tables")


@contextlib.contextmanager
def rest_catalog(make_folder: Callable[[str], Path]) -> Iterator[Service]:
    """
    Run a REST catalog of Iceberg, whose jar is fetched.

    Args:
        make_folder: makes a folder of that name, as `tmp_path_factory.mktemp` does.
    """
    jar, folder, port = fetched(REST_SERVER, make_folder("maven")), make_folder("rest"), free_ports(1)[0]
    variables = {"CATALOG_WAREHOUSE": f"{folder}/tables", "CATALOG_REST_PORT": str(port)}
    with _running(["-jar", str(jar)], folder, port, variables):
        yield Service(port, folder / "tables")


@contextlib.contextmanager
def _running(command: Sequence[str], folder: Path, port: int, variables: dict[str, str]) -> Iterator[None]:
    """Run a Java program from the moment it listens on."""
    java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    with running([*java, *command], folder, port, os.environ | variables):
        yield


@contextlib.contextmanager
def running(
    command: Sequence[str], folder: Path, port: int, env: dict[str, str] | None = None, user: int | None = None
) -> Iterator[None]:
    """
    Run a server from the moment it listens on.

    Args:
        command: its program and arguments.
        folder: where it runs, and where its log is.
        port: where it listens on 127.0.0.1.
        env: its environment; None for that of this process.
        user: who runs it; None for the user of this process.
    """
    log = folder / "server.log"
    with log.open("ab") as opened:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=opened, stderr=opened, user=user)
    try:
        end = time.monotonic() + START_SECONDS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the service did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait(60)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
    except OSError:
        return False
    return True
