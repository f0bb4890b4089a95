"""Spark and its configuration, as they are found without starting either."""

from __future__ import annotations

from importlib import metadata

import pytest
from openlineage_pyspark.command.delivery.spark_conf import find_spark, properties


@pytest.mark.spark
def test_the_spark_that_pyspark_would_start_is_found(tmp_path):
    own = find_spark({})
    assert own.home == own.package
    assert own.package_version == own.version == metadata.version("pyspark")
    assert own.jar_version("janino")
    assert find_spark({"SPARK_HOME": str(tmp_path)}).home == tmp_path


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("a b", ("a", "b")),
        ("a=b", ("a", "b")),
        ("  a : b = c", ("a", "b = c")),
        ("a\t\tb c", ("a", "b c")),
        ("a", ("a", "")),
        ("a\\=b=c", ("a=b", "c")),
        ("a=\\u00e4\\tb", ("a", "ä\tb")),
        ("a=b,\\\n   c", ("a", "b,c")),
        ("a=b\\\\", ("a", "b\\")),
    ],
)
def test_a_properties_file_is_read_as_java_does(text, pair):
    assert [*properties(f"# no\n! neither\n\n{text}\r\n")] == [pair]
