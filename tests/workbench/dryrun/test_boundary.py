"""What the replacements of readers and writers keep of their calls for a comparison of two scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.dryrun.empty_spark.boundary import Reader, TableWriter, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace

URL = "jdbc:postgresql://h/d"


def reading(call: Callable[[Any], Any]) -> str:
    """Return the manner of a read."""
    return str(call(Reader("parquet", "/", lambda _place, _schema, reader: reader.manner(), lambda *_: "")))


def is_whole(call: Callable[[Any], Any]) -> bool:
    """Return whether a write replaces everything."""
    found: list[bool] = []
    writer = Writer(
        "parquet", "/", lambda _, each: found.append(each.replaces), lambda _, each, __: found.append(each.replaces)
    )
    call(writer)
    return found[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda r: r.jdbc(URL, "t", ["a < 1"], "{}"), lambda r: r.jdbc(URL, "t", ["a < 2"], "{}")),
        (lambda r: r.jdbc(URL, "t", "{user=a}"), lambda r: r.jdbc(URL, "t", "{user=b}")),
        (lambda r: r.jdbc(URL, "t", "id", 0, 9, 2, "{}"), lambda r: r.jdbc(URL, "t", "id", 0, 8, 2, "{}")),
        (lambda r: r.option("a", 1).load("p"), lambda r: r.option("a", 2).load("p")),
        (lambda r: r.format("csv").load("p"), lambda r: r.format("json").load("p")),
    ],
)
def test_all_that_a_read_gets_counts(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> None:
    assert reading(one) == reading(one) != ""
    assert reading(one) != reading(other)


def test_a_version_at_the_end_of_a_path_is_no_part_of_the_path_and_counts() -> None:
    places: list[tuple[tuple[str, ...], str]] = []

    def load(place: DataPlace, _schema: object, reader: Reader) -> None:
        places.append((place.paths, reader.manner()))

    for format_, path in (("delta", "/t"), ("delta", "/t@v1"), ("delta", "/t@v2"), ("parquet", "/t@v1")):
        Reader("parquet", "/", load, lambda *_: None).format(format_).load(path)
    assert [paths for paths, _ in places] == [("/t",), ("/t",), ("/t",), ("/t@v1",)]
    assert len({manner for _, manner in places}) == 4


def test_an_object_that_does_not_describe_itself_is_unknown() -> None:
    assert reading(lambda r: r.jdbc(URL, "t", object())) == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda w: w.mode("overwrite").save("p"), True),
        (lambda w: w.format("DELTA").mode("overwrite").save("p"), True),
        (lambda w: w.mode("overwrite").saveAsTable("t"), True),
        (lambda w: w.mode("overwrite").partitionBy("a").saveAsTable("t"), False),
        (lambda w: w.mode("append").save("p"), False),
        # Their readers get other values if only an option or the partitions change.
        (lambda w: w.format("csv").mode("overwrite").save("p"), False),
        (lambda w: w.format("jdbc").mode("overwrite").save(), False),
        (lambda w: w.mode("overwrite").partitionBy("a").save("p"), False),
        (lambda w: w.mode("overwrite").insertInto("t"), False),
        (lambda w: w.format("delta").option("replaceWhere", "a > 1").mode("overwrite").save("p"), False),
        (lambda w: w.format("iceberg").option("overwrite-mode", "dynamic").mode("overwrite").save("a.t"), False),
        # Each write adds rows, although its mode is that of a new table.
        (lambda w: w.format("kafka").option("topic", "t").save(), False),
        (lambda w: w.format("org.example.store").mode("overwrite").save("t"), False),
    ],
)
def test_a_write_replaces_everything_only_where_readers_get_it_as_it_was_written(
    call: Callable[[Any], Any],
    expected: bool,  # noqa: FBT001 (of a table of cases)
) -> None:
    assert is_whole(call) is expected


def test_the_format_of_a_new_table_decides_whether_readers_get_it_as_it_was_written() -> None:
    manners: list[str] = []
    writers = [TableWriter("t", "parquet", "/", lambda _name, _mode, manner: manners.append(manner)) for _ in range(3)]
    for writer, format_ in zip(writers, ("parquet", "ICEBERG", "csv"), strict=True):
        writer.using(format_).create()
    assert [each.replaces for each in writers] == [True, True, False]
    assert len(set(manners)) == 3
