"""What the public functions raise where there is no JVM to speak of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openlineage_pyspark import LineageError, ProbeError, RegistrationError, lineage, register
from openlineage_pyspark.listener.probe.client import as_os_error, as_probe_error

# Of the kind of Spark Connect, whose sessions have no SparkContext; and one whose SparkContext has let go of its JVM.
CONNECT = SimpleNamespace(createDataFrame=None)
STOPPED = SimpleNamespace(createDataFrame=None, _sc=SimpleNamespace(_gateway=object(), _jsc=None))
CASES = pytest.mark.parametrize(
    ("session", "message"),
    [
        pytest.param(
            CONNECT,
            r"^a Spark Connect session has no driver JVM: use a session on the driver itself, or put "
            r"spark\.openlineage\.transport\.type and its options where the Connect server starts, such as its "
            r"spark-defaults\.conf \(docs/limits\.md says which servers\)$",
            id="connect",
        ),
        pytest.param(
            STOPPED,
            r"^this session is stopped: create a new one with SparkSession\.builder\.getOrCreate\(\)$",
            id="stopped",
        ),
    ],
)


@CASES
def test_a_session_without_a_jvm_is_not_registered(session: SimpleNamespace, message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        register(session)


@CASES
def test_a_session_without_a_jvm_has_no_lineage(session: SimpleNamespace, message: str) -> None:
    with pytest.raises(ProbeError, match=message):
        lineage(session, "SELECT 1")


@pytest.mark.parametrize("wrong", [None, "local[2]", {"spark.openlineage.transport.type": "console"}])
def test_what_is_no_session_is_a_wrong_argument(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"^expected a SparkSession, got {type(wrong).__name__}$"):
        register(wrong)


@pytest.mark.parametrize(
    "arguments", [("SELECT 1", CONNECT), (SimpleNamespace(_jdf=None), CONNECT)], ids=["text first", "frame first"]
)
def test_swapped_arguments_are_told(arguments: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"^lineage\(spark, query\) takes the session first and the query second$"):
        lineage(*arguments)


@pytest.mark.spark
@pytest.mark.any_spark
@pytest.mark.parametrize("error", ["Py4JError", "Py4JNetworkError"])
def test_what_py4j_raises_becomes_an_error_of_ours_without_credentials(error: str) -> None:
    from py4j import protocol

    with pytest.raises(LineageError) as raised, as_probe_error():
        raise getattr(protocol, error)("no answer from https://shop:s3cr3t@db/orders\nat line 1")

    assert type(raised.value) is ProbeError
    assert "s3cr3t" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.spark
@pytest.mark.any_spark
def test_a_missing_client_of_an_object_store_is_named_with_its_package() -> None:
    from py4j.protocol import Py4JError

    missing = "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
    with (
        pytest.raises(
            OSError, match=r"not found; start the job with --packages org\.apache\.hadoop:hadoop-aws:VERSION$"
        ),
        as_os_error(),
    ):
        raise Py4JError(missing)
    with pytest.raises(OSError, match=r"^java.io.IOException: S3AFileSystem is closed$"), as_os_error():
        raise Py4JError("java.io.IOException: S3AFileSystem is closed")
