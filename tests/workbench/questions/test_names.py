"""What an answer calls datasets and jobs: by their shortest names that nothing else in it has."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.store.names import DatasetName, with_unique_labels
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, symlink

Fill = Callable[..., Store]


def two_catalogs() -> tuple[dict[str, Any], ...]:
    """Tables of one name in two catalogs, the one made from the other."""
    one, two = (
        dataset(f"/data/{catalog}/db/t", namespace="file", columns=("a",), symlinks=symlink("db.t", namespace=catalog))
        for catalog in ("i1wh", "i2wh")
    )
    return (
        run_event("copy", "COMPLETE", 1, run="r1", inputs=(one,), outputs=(two,)),
        run_event("last", "COMPLETE", 2, run="r2", inputs=(two,), outputs=(dataset("end"),)),
    )


def cells(answer: Answer[Any], *names: str) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(answer.to_text("csv")))]


def test_two_tables_of_one_name_are_told_apart_in_text_csv_and_markdown(filled: Fill) -> None:
    answer = filled(*two_catalogs()).downstream("/data/i1wh/db/t")

    assert [line.split() for line in answer.to_text("table").splitlines()[:-1]] == [
        ["depth", "from", "to", "job"],
        ["1", "i1wh/db/t", "i2wh/db/t", "copy"],
        ["2", "i2wh/db/t", "end", "last"],
    ]
    assert cells(answer, "source", "target") == [("i1wh/db/t", "i2wh/db/t"), ("i2wh/db/t", "end")]
    assert "| `1` | `i1wh/db/t` | `i2wh/db/t` | `copy` |" in answer.to_text("markdown")


def test_the_short_name_stays_where_it_is_enough(filled: Fill) -> None:
    answer = filled(*two_catalogs()).upstream("end", depth=1)

    assert cells(answer, "source", "target") == [("db.t", "end")]


@pytest.mark.parametrize("question", ["datasets", "unused"])
def test_lists_tell_them_apart(filled: Fill, question: str) -> None:
    rows = getattr(filled(*two_catalogs()), question)().result
    labels = [getattr(row, "label", "") or row.dataset for row in rows]
    assert len(set(labels)) == len(labels)


def test_a_history_and_a_difference_tell_them_apart(filled: Fill) -> None:
    store = filled(*two_catalogs())

    [version] = store.history("/data/i2wh/db/t").result
    assert [read.dataset for read in version.inputs] == ["i1wh/db/t"]
    assert store.history("/data/i2wh/db/t").result.dataset.label == "i2wh/db/t"
    names = {change.name for change in store.diff("2025-01-01", "now").result.changes}
    assert "i1wh/db/t -> i2wh/db/t" in names


def test_jobs_of_one_name_are_told_apart(filled: Fill) -> None:
    other = run_event("copy", "COMPLETE", 2, run="r2", inputs=(dataset("b"),), outputs=(dataset("c"),))
    other["job"]["namespace"] = "elsewhere"
    answer = filled(run_event("copy", "COMPLETE", 1, inputs=(dataset("a"),), outputs=(dataset("b"),)), other)

    assert cells(answer.downstream("a"), "job") == [("jobs/copy",), ("elsewhere/copy",)]
    assert cells(answer.downstream("b"), "job") == [("copy",)]


PLACES = st.tuples(st.sampled_from(["s3://x", "s3://y"]), st.text("ab/", min_size=1, max_size=7))


@given(st.dictionaries(PLACES, st.sampled_from(["", "t", "a/b"]), max_size=9))
def test_no_two_datasets_have_one_label(names: dict[tuple[str, str], str]) -> None:
    known = {
        number: DatasetName(number, namespace, name, (("c", other),) if other else ())
        for number, ((namespace, name), other) in enumerate(sorted(names.items()))
        # What differs in slashes at its ends alone has one address.
        if name.strip("/") == name
    }

    labels = [each.label for each in with_unique_labels(known).values()]
    assert len(set(labels)) == len(labels) == len(known)
