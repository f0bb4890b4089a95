"""What is wrong in the lineage that a text tells, by that which Spark tells of the same statement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.from_text.text import NAMES_OF_QUERY, ROWS_UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField
    from openlineage_pyspark.workbench.report import Lineage

_OF_ROWS = ("FILTER", "JOIN", "GROUP_BY", "SORT")

Edges = set[tuple[str, str, str]]


def faults(text: Lineage, spark: Lineage) -> list[str]:
    """
    Return what is wrong in the lineage of a text.

    Args:
        text: that lineage.
        spark: what Spark tells of the statement.
    """
    said = " ".join(gap.message for gap in text.gaps)
    outputs, expected = _by_dataset(text), _by_dataset(spark)
    found = [f"writes {name}, which Spark does not write" for name in outputs.keys() - expected.keys()]
    found += [f"does not write {name}, which Spark writes" for name in expected.keys() - outputs.keys()]
    for name in outputs.keys() & expected.keys():
        found += _column_faults(outputs[name], expected[name], said)
        found += _row_faults(outputs[name], expected[name], said)
    inputs, read = ({each.identifier.name for each in lineage.inputs} for lineage in (text, spark))
    found += [f"reads {each}, which Spark does not read" for each in sorted(inputs - read)]
    # A MERGE and an UPDATE name their target alone.
    written = {each for each in expected if each}
    found += [f"does not read {each}, which Spark reads" for each in sorted(read - inputs - written)]
    return found


def told_share(text: Lineage, spark: Lineage) -> Counter[str]:
    """Return how many edges of values Spark has, and how many of them the text tells."""
    outputs, expected = _by_dataset(text), _by_dataset(spark)
    whole = {(d, *pair) for d, lineage in expected.items() for pair in _values(lineage)}
    told = {(d, *pair) for d, lineage in outputs.items() for pair in _values(lineage)}
    return Counter({"pairs of Spark": len(whole), "of these told": len(whole & told)})


def _by_dataset(lineage: Lineage) -> dict[str, ColumnLineage]:
    return {_name(dataset): columns for dataset, columns in lineage.outputs}


def _name(dataset: Dataset | None) -> str:
    return "" if dataset is None else dataset.identifier.name


def _values(lineage: ColumnLineage) -> Iterator[tuple[str, str, str]]:
    for column in lineage.columns:
        for table, name, how in _edges(column.edges):
            if how.startswith("DIRECT"):
                yield column.name.lower(), table, name


def _edges(found: Iterable[InputField]) -> Edges:
    """Return edges as the table, the column and how it arrives: a field counts as its column."""
    return {
        (edge.dataset.name, edge.field.partition(".")[0].lower(), f"{each.type} {each.subtype}")
        for edge in found
        for each in edge.transformations
    }


def _column_faults(text: ColumnLineage, spark: ColumnLineage, said: str) -> Iterator[str]:
    if NAMES_OF_QUERY in said:
        return
    names = Counter(column.name.lower() for column in spark.columns)
    expected = {column.name.lower(): _edges(column.edges) for column in spark.columns}
    for column in text.columns:
        key = column.name.lower()
        if key.startswith("_c") or names[key] > 1:
            continue
        if key not in expected:
            yield f"has the column {key}, which Spark does not have"
            continue
        yield from _differences(key, _edges(column.edges), expected[key], lacks_rows=ROWS_UNKNOWN in said)


def _row_faults(text: ColumnLineage, spark: ColumnLineage, said: str) -> Iterator[str]:
    ours, theirs = _edges(text.dataset), _edges(spark.dataset)
    for each in sorted(ours - theirs):
        yield f"rows <- {each}: Spark does not have it"
    if ROWS_UNKNOWN not in said:
        for each in sorted(theirs - ours):
            yield f"rows: lacks {each}"


def _differences(name: str, ours: Edges, theirs: Edges, *, lacks_rows: bool) -> Iterator[str]:
    # Only types say whether a cast changes a value.
    ours, theirs = (
        {(t, c, how.replace("TRANSFORMATION", "IDENTITY")) for t, c, how in edges} for edges in (ours, theirs)
    )
    for each in sorted(ours - theirs):
        yield f"{name} <- {each}: Spark does not have it"
    for each in sorted(theirs - ours):
        if not (lacks_rows and each[2].endswith(_OF_ROWS)):
            yield f"{name}: lacks {each}"
