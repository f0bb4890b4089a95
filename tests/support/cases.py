"""The cases of tests/lineage/cases, and what a lineage is compared by; `test_golden` says what stands in a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import yaml

try:
    # libyaml's parser, where it is built in, takes a tenth of the time.
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]

from support.flat_edges import flat

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.report import Lineage

    from support.flat_edges import FlatEdge

EVERY_ROW = "(every row)"
FOLDER = Path(__file__).parents[1] / "lineage"


def _read(file: Path) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), SafeLoader)


TABLES: dict[str, str] = _read(FOLDER / "tables.yaml")


@attrs.frozen
class Case:
    """
    One case.

    Args:
        theme: name of the file that it stands in, without its ending.
        content: its keys and values.
    """

    theme: str
    content: dict[str, Any]

    @property
    def id(self) -> str:
        """Return its id, which no other case has."""
        return str(self.content["id"])

    @property
    def name(self) -> str:
        """Return its name as a test."""
        return f"{self.theme}-{self.id}"

    def runs_on(self, version: str) -> bool:
        """Return whether a version of Spark knows its syntax."""
        return _numbers(version) >= _numbers(self.content.get("min_spark", "3.5"))

    def expected(self) -> dict[str, Any]:
        """Return its lineage, in the form that `comparable` gives."""
        outputs = self._outputs()
        named = {
            edge.partition(".")[0]
            for output in outputs.values()
            for edges in (*output["columns"].values(), output.get("rows", []))
            for edge in edges
        }
        return {
            "outputs": {
                name: {
                    "columns": [(column, sorted(edges)) for column, edges in output["columns"].items()],
                    "rows": sorted(output.get("rows", [])),
                }
                for name, output in outputs.items()
            },
            "inputs": sorted(named | set(self.content.get("reads", []))),
            "gaps": self.content.get("remarks", []),
        }

    def _outputs(self) -> dict[str | None, dict[str, Any]]:
        if "outputs" in self.content:
            return dict(self.content["outputs"])
        return {self.content.get("output"): self.content}


def all_cases() -> list[Case]:
    """Return every case, file by file."""
    return [
        Case(file.stem, content) for file in sorted(FOLDER.joinpath("cases").glob("*.yaml")) for content in _read(file)
    ]


def comparable(lineage: Lineage) -> dict[str, Any]:
    """Return a lineage with short names, its edges as words: what is written by its name, a query's result by None."""
    outputs: dict[str | None, Any] = {}
    for at, names in enumerate(lineage.to_dict()["columns"]):
        dataset, column_lineage = lineage.outputs[at]
        columns: dict[str, list[str]] = {name: [] for name in names}
        rows: list[str] = []
        # Paths of one text, such as those from both sides of a self join, are one edge in a case.
        edges = flat(attrs.evolve(lineage, outputs=((dataset, column_lineage),)))
        for column, words, _ in dict.fromkeys((edge.column, _words(edge), edge.expression) for edge in edges):
            (rows if column is None else columns[column]).append(words)
        name = _short(dataset.identifier.name) if dataset is not None else None
        outputs[name] = {"columns": [(n, sorted(e)) for n, e in columns.items()], "rows": sorted(rows)}
    return {
        "outputs": outputs,
        "inputs": sorted(_short(dataset.identifier.name) for dataset in lineage.inputs),
        "gaps": [f"{gap.task}: {gap.message}" for gap in lineage.gaps],
    }


def of_columns(told: dict[str, Any]) -> dict[str, Any]:
    """Return a comparable lineage with the columns of fields in the place of the fields, each edge once."""
    outputs = {
        name: {
            "columns": [(column, _of_columns(edges)) for column, edges in output["columns"]],
            "rows": _of_columns(output["rows"]),
        }
        for name, output in told["outputs"].items()
    }
    return {**told, "outputs": outputs}


def _of_columns(edges: list[str]) -> list[str]:
    """Return edges between columns: what is taken out of a struct is no copy of that."""
    found = set()
    for edge in edges:
        source, _, words = edge.partition(" ")
        table, column, *path = source.split(".")
        found.add(f"{table}.{column} {words.replace('IDENTITY', 'TRANSFORMATION') if path else words}")
    return sorted(found)


def texts(lineage: Lineage) -> dict[str, list[str]]:
    """Return the texts of each column's edges, and of those of all rows, each once; none for a plain copy."""
    found: dict[str, set[str]] = {}
    for edge in flat(lineage):
        if edge.expression:
            found.setdefault(edge.column or EVERY_ROW, set()).add(edge.expression)
    return {name: sorted(known) for name, known in found.items()}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _short(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _words(edge: FlatEdge) -> str:
    masked = " masked" if edge.masking else ""
    return f"{_short(edge.source)}.{edge.source_column} {edge.subtype}{masked}"
