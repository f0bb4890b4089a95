"""The contexts, frames, sources and sinks of AWS Glue, on a session that only remembers what it is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

glue = pytest.importorskip(
    "openlineage_pyspark.workbench.dryrun.libraries.glue", reason="PySpark is not installed", exc_type=ImportError
)


class Remembering:
    """Accepts every call, and remembers the names and arguments of a chain of calls."""

    def __init__(self, asked: list[str], chain: str = "") -> None:
        self._asked = asked
        self._chain = chain

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Remembering(self._asked, f"{self._chain}.{name}")

    def __call__(self, *given: object, **named: object) -> Any:
        shown = ", ".join([*map(str, given), *(f"{name}={value}" for name, value in named.items())])
        self._asked.append(f"{self._chain}({shown})")
        return Remembering(self._asked, f"{self._chain}()")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give what the session of a context is asked."""
    found: list[str] = []
    session = Remembering(found)
    builder = SimpleNamespace(getOrCreate=lambda: session)
    monkeypatch.setattr(glue, "SparkSession", SimpleNamespace(builder=builder, sql=None, table=None))
    problems = SimpleNamespace(problem=lambda code, _message: found.append(code))
    monkeypatch.setattr(glue.DynamicFrame, "stage", problems, raising=False)
    monkeypatch.setattr(glue.DynamicFrame, "without_columns", staticmethod(lambda frame: frame), raising=False)
    return found


@pytest.mark.parametrize(
    ("database", "table", "expected"),
    [
        ("shop", "orders", "shop.orders"),
        ("raw-zone", "all-orders", "`raw-zone`.`all-orders`"),
        ("raw-{stage}", "orders", "raw-{stage}.orders"),
        ("2024", "a`b", "2024.`a``b`"),
    ],
)
def test_a_name_of_glue_may_have_any_characters(asked: list[str], database: str, table: str, expected: str) -> None:
    frame = glue.GlueContext().create_dynamic_frame.from_catalog(database=database, table_name=table)
    glue.GlueContext().write_dynamic_frame_from_catalog(frame, database, table)
    assert asked[0] == f".table({expected})"
    assert asked[-1].endswith(f".saveAsTable({expected})")


def test_the_function_for_batches_is_called_once_with_the_stream(asked: list[str]) -> None:
    context, batches = glue.GlueContext(), list[tuple[Any, int]]()
    frame = context.create_data_frame.from_catalog("shop", "orders")
    context.forEachBatch(frame=frame, batch_function=lambda *batch: batches.append(batch), options={})
    assert batches == [(frame, 0)]
    assert asked == [".table(shop.orders)"]


def test_a_source_reads_with_its_format(asked: list[str]) -> None:
    source = glue.GlueContext().getSource("file", paths=["s3://b/a"])
    source.setFormat("csv")
    source.getFrame()
    assert asked == [
        ".read.format(csv)",
        ".read.format().option(header, false)",
        ".read.format().option().load(['s3://b/a'])",
    ]


def test_a_context_of_glue_is_one_of_sql_and_of_java(asked: list[str]) -> None:
    context = glue.GlueContext()
    context.sql("SELECT 1")
    context._jsc.hadoopConfiguration()
    assert context._sc is not None
    assert asked == [".sql(SELECT 1)", ".sparkContext._jsc.hadoopConfiguration()"]
    with pytest.raises(AttributeError):
        context._other  # noqa: B018 (it is asked for)


def test_a_relationalized_frame_has_its_root_and_those_of_fields_with_lists(asked: list[str]) -> None:
    frame = glue.DynamicFrame(Remembering(asked), None)
    found = frame.relationalize("flat", "s3://b/temp")
    assert list(found.keys()) == ["flat", "flat_{field}"]
    assert found.select("flat_items") is found["flat"]
    assert list(frame.relationalize(staging_path="s3://b/temp", name="root")) == ["root", "root_{field}"]
    assert asked == ["UNKNOWN_SCHEMA", "UNKNOWN_SCHEMA"]
