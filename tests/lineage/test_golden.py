"""Each operator and expression has the lineage that is true of it: all edges and no others.

The cases stand in cases/*.yaml, one list a theme, over the tables of tables.yaml:

- id: unique
  states: what the case shows, as a sentence
  setup: statements that come before, as views
  sql: one statement
  python: in its place, a snippet that leaves a DataFrame or a statement in `query`; it has `spark`, `F`, `Window`
  columns: every output column in its order, each with all its edges, "table.column KIND" and "masked" behind it
  rows: the edges that decide about all rows
  reads: datasets that are read without an edge
  output: the dataset that is written; absent for a query
  outputs: in place of columns, rows and output: several datasets that are written, each with its columns and rows
  min_spark: the first Spark version that knows the syntax
"""

from __future__ import annotations

import runpy
from pathlib import Path

import attrs
import pytest
import yaml
from openlineage_pyspark import lineage
from pyspark.sql import Window, functions

CASES = sorted(Path(__file__).parent.joinpath("cases").glob("*.yaml"))


def _cases() -> list:
    return [
        pytest.param(case, id=f"{file.stem}-{case['id']}")
        for file in CASES
        for case in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _short(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _words(edge) -> str:
    masked = " masked" if edge.masking else ""
    return f"{_short(edge.source)}.{edge.source_column} {edge.subtype}{masked}"


def _outputs_of(result) -> dict:
    """What each output has, by its name; a query's by None."""
    found = {}
    for at, names in enumerate(result.to_dict()["columns"]):
        dataset, column_lineage = result.outputs[at]
        columns: dict = {name: [] for name in names}
        part = attrs.evolve(result, outputs=((dataset, column_lineage),))
        rows = []
        for edge in part.edges:
            (rows if edge.column is None else columns[edge.column]).append(_words(edge))
        name = _short(dataset.identifier.name) if dataset is not None else None
        found[name] = {"columns": [(n, sorted(e)) for n, e in columns.items()], "rows": sorted(rows)}
    return found


def _expected_of(case) -> dict:
    return {
        name: {
            "columns": [(column, sorted(edges)) for column, edges in output["columns"].items()],
            "rows": sorted(output.get("rows", [])),
        }
        for name, output in _outputs(case).items()
    }


def _outputs(case) -> dict:
    return case["outputs"] if "outputs" in case else {case.get("output"): case}


def _read_by(case) -> list[str]:
    """The datasets that the expected edges name, and those that are read without one."""
    named = {
        edge.partition(".")[0]
        for output in _outputs(case).values()
        for edges in (*output["columns"].values(), output.get("rows", []))
        for edge in edges
    }
    return sorted(named | set(case.get("reads", [])))


@pytest.mark.parametrize("case", _cases())
def test_every_edge_of_a_case_is_found_and_no_other(session, case, tmp_path):
    """Sources, kinds, masking, what decides about rows, and the datasets that are read and written."""
    if _version(session.version) < _version(case.get("min_spark", "3.5")):
        pytest.skip(f"Spark {session.version} doesn't know the syntax: it came with {case['min_spark']}")
    spark = session.newSession()
    for statement in case.get("setup", []):
        spark.sql(statement)
    query = case.get("sql")
    if query is None:
        snippet = tmp_path / "snippet.py"
        snippet.write_text(case["python"], encoding="utf-8")
        scope = {"spark": spark, "F": functions, "Window": Window}
        query = runpy.run_path(str(snippet), scope, "__main__")["query"]
    result = lineage(spark, query)
    assert _outputs_of(result) == _expected_of(case)
    assert sorted(_short(dataset.identifier.name) for dataset in result.inputs) == _read_by(case)
    assert [f"{remark.task}: {remark.message}" for remark in result.gaps] == []


def test_every_case_has_an_id_of_its_own():
    ids = [case.values[0]["id"] for case in _cases()]
    assert len(ids) == len(set(ids))
    assert len(ids) > 300
