"""The edges of a script, of the events of a real run and of a run without data, in one form: a line for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

_ENDS = ("COMPLETE", "RUNNING")


def edges_of_events(file: Path, folder: Path) -> list[str]:
    """Return the edges that the events in a file have, in order; paths are relative to the script's folder."""
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    tables: dict[tuple[str, str], str] = {}
    for dataset in (each for event in events for each in (*event.get("inputs", []), *event.get("outputs", []))):
        links = dataset.get("facets", {}).get("symlinks", {}).get("identifiers", [])
        for link in links:
            if link["type"] == "TABLE":
                tables[dataset["namespace"], dataset["name"]] = link["name"]

    def name(dataset: dict[str, Any]) -> str:
        at = dataset["namespace"], dataset["name"]
        return tables.get(at) or _name(*at, folder)

    lines = (
        line
        for event in events
        if event["eventType"] in _ENDS
        for output in event.get("outputs", [])
        for line in _lines_of_facet(output, name)
    )
    return sorted(set(lines))


def _lines_of_facet(output: dict[str, Any], name: Any) -> Iterator[str]:
    facet = output.get("facets", {}).get("columnLineage", {})
    columns = {column: each["inputFields"] for column, each in facet.get("fields", {}).items()}
    for column, fields in (*columns.items(), ("*", facet.get("dataset", []))):
        for field in fields:
            for way in field["transformations"]:
                ways = (way["type"], way["subtype"], way.get("masking", False), way.get("description", ""))
                yield _line(f"{name(field)}.{field['field']}", f"{name(output)}.{column}", ways)


def edges_of_lineage(found: Iterable[StatementLineage], folder: Path) -> list[str]:
    """Return the edges of the statements of a script, in order; paths are relative to the script's folder."""
    lines: set[str] = set()
    for lineage in (each.lineage for each in found if each.lineage is not None):
        written = [dataset for dataset, _ in lineage.outputs if dataset is not None]
        tables = {
            each.identifier: next((link.name for link in each.symlinks if link.type == "TABLE"), None)
            for each in (*lineage.inputs, *written)
        }

        def name(at: Any, tables: dict[Any, str | None] = tables) -> str:
            return tables.get(at) or _name(at.namespace, at.name, folder)

        for output, columns in lineage.outputs:
            if output is None:
                continue
            for column, edges in (*((each.name, each.edges) for each in columns.columns), ("*", columns.dataset)):
                for edge in edges:
                    for way in edge.transformations:
                        ways = (way.type, way.subtype, way.masking, way.description)
                        target = f"{name(output.identifier)}.{column}"
                        lines.add(_line(f"{name(edge.dataset)}.{edge.field}", target, ways))
    return sorted(lines)


def _line(source: str, target: str, way: tuple[str, str, bool, str]) -> str:
    kind, subtype, masking, text = way
    return " ".join(
        [source, "->", target, kind, subtype, *(["masking"] if masking else []), " ".join(text.split())]
    ).strip()


def _name(namespace: str, name: str, folder: Path) -> str:
    if namespace == "file":
        return name.removeprefix(f"{folder}/")
    # A table of the session's catalog that has no place of its own, such as a view.
    return name if namespace in ("spark_catalog", f"file://{folder}/warehouse") else f"{namespace}/{name}"
