"""The Spark session of a store: the only module of the store that imports PySpark."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.store.errors import StoreError
from openlineage_pyspark.store.spark.rows import write_package

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

_NAME = "openlineage-pyspark store"
_LONGEST_REASON = 2000
# The store's own statements are no lineage of the user's, unless she asks for it.
_QUIET = {"spark.openlineage.disabled": "true", "spark.ui.showConsoleProgress": "false"}


def active_or_new_session(conf: Mapping[str, str], *, is_session_catalog: bool = False) -> SparkSession:
    """
    Return the active session if nothing is asked of it, or else a new one.

    Args:
        conf: Spark properties, as `spark-submit --conf` takes them.
        is_session_catalog: whether the store lies in Spark's own catalog, which a metastore must keep.

    Raises:
        StoreError: PySpark is not installed, or no session starts.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise StoreError("a store in Spark's tables needs PySpark, from 3.5 on") from None
    active = SparkSession.getActiveSession()
    if active is not None and not conf:
        return active
    builder = SparkSession.builder.appName(_NAME)
    for key, value in {**_QUIET, **conf}.items():
        builder = builder.config(key, value)
    if is_session_catalog and "spark.sql.catalogImplementation" not in conf:
        builder = builder.enableHiveSupport()
    with told("no Spark session starts"):
        return builder.getOrCreate()


def prepare_executors(session: SparkSession) -> None:
    """
    Send the executors of a cluster what they need of this package; those of a local session have it.

    Raises:
        StoreError: the modules are not found as files.
    """
    context = session.sparkContext
    if context.master.startswith("local"):
        return
    archive = Path(tempfile.mkdtemp(prefix="openlineage-store-")) / "openlineage_pyspark_store.zip"
    write_package(archive)
    context.addPyFile(str(archive))


def keep_on_disk(data: DataFrame) -> None:
    """
    Let Spark compute data once, and keep them on the executors' disks.

    Spark's default brings a whole partition back into memory when it is read. The events of one partition may take more
    than an executor has.
    """
    from pyspark import StorageLevel

    data.persist(StorageLevel.DISK_ONLY)


@contextmanager
def told(what: str) -> Iterator[None]:
    """
    Turn what Spark raises into a StoreError.

    Args:
        what: says what could not be done.

    Raises:
        StoreError: Spark raised something.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as problem:
        raise StoreError(f"{what}: {spark_reason_of(problem)}") from problem


def spark_reason_of(problem: BaseException) -> str:
    """Return why Spark refused something: its message without the stack of the JVM."""
    lines = str(problem).strip().splitlines()
    kept = [line for line in lines if not line.startswith(("\tat ", "\t... "))]
    return "\n".join(kept)[:_LONGEST_REASON]
