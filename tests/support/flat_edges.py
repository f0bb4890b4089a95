"""The paths of lineage as rows, with the names of both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openlineage_pyspark.workbench.model.graph import place_of_id

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.report import Lineage


class FlatEdge(NamedTuple):
    """A path; the column is None for all rows. Tables have the names that people know, and a query has no output."""

    source: str
    source_table: str
    source_column: str
    output: str | None
    output_table: str | None
    column: str | None
    type: str
    subtype: str
    masking: bool
    expression: str
    certainty: str
    steps: tuple[dict[str, Any], ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators on the path, from the source to the output."""
        return tuple(step["operator"] for step in self.steps)


def flat(lineage: Lineage) -> list[FlatEdge]:
    """Return the paths of all edges."""
    return flat_of(lineage.to_dict())


def flat_of(document: dict[str, Any]) -> list[FlatEdge]:
    """Return the paths of all edges of a lineage's JSON: by columns, then by sources."""
    labels = {node["id"]: node["label"] for node in document["nodes"] if node["type"] == "dataset"}
    datasets = {node["id"]: node["dataset"] for node in document["nodes"] if node["type"] == "column"}
    found = []
    for edge in document["edges"]:
        (_, source, field), (_, output, column) = place_of_id(edge["source"]), place_of_id(edge["target"])
        is_query = output == "(query)"
        tables = [labels[datasets.get(end, end)] for end in (edge["source"], edge["target"])]
        found += [
            FlatEdge(
                source=source,
                source_table=tables[0],
                source_column=field,
                output=None if is_query else output,
                output_table=None if is_query else tables[1],
                column=column or None,
                type=path["type"],
                subtype=path["subtype"],
                masking=path["masking"],
                expression=path.get("expression", ""),
                certainty=path["certainty"],
                steps=tuple(path.get("steps", ())),
            )
            for path in edge["paths"]
        ]
    # The columns stay in their order.
    columns = {each.column: place for place, each in enumerate(reversed(found))}
    return sorted(found, key=lambda each: (-columns[each.column], *each[:3], *each[6:11]))
