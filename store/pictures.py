"""Answers as text that other programs draw or read: Mermaid (which GitHub draws in Markdown), DOT and CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.store.reached import Answer, Node


def mermaid(answer: Answer) -> str:
    """Return an answer as a Mermaid flowchart: a box for each dataset with its columns, an arrow for each edge."""
    ids = _ids(answer)
    lines = ["flowchart LR"]
    for number, nodes in enumerate(_by_dataset(answer)):
        if nodes[0].kind in ("column", "version") or len(nodes) > 1:
            lines.append(f"  subgraph d{number}[{_mermaid_text(nodes[0].dataset)}]")
            lines += [f"    {ids[node]}[{_mermaid_text(_part(node))}]" for node in nodes]
            lines.append("  end")
        else:
            lines.append(f"  {ids[nodes[0]]}[{_mermaid_text(nodes[0].label)}]")
    for source, target, label in _arrows(answer):
        text = f"|{_mermaid_text(label)}|" if label else ""
        lines.append(f"  {ids[source]} -->{text} {ids[target]}")
    return "\n".join(lines) + "\n"


def dot(answer: Answer) -> str:
    """Return an answer in Graphviz's language."""
    ids = _ids(answer)
    lines = ["digraph lineage {", "  rankdir=LR;", "  node [shape=box];"]
    for number, nodes in enumerate(_by_dataset(answer)):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_dot_text(nodes[0].dataset)};")
        lines += [f"    {ids[node]} [label={_dot_text(_part(node))}];" for node in nodes]
        lines.append("  }")
    for source, target, label in _arrows(answer):
        lines.append(f"  {ids[source]} -> {ids[target]} [label={_dot_text(label)}];")
    return "\n".join([*lines, "}"]) + "\n"


def table_of_csv(answer: Answer) -> str:
    """Return the edges of an answer as CSV with a header."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns, rows = answer.table()
    writer.writerows([columns, *rows])
    return stream.getvalue()


FORMATS: dict[str, Callable[[Answer], str]] = {"csv": table_of_csv, "dot": dot, "mermaid": mermaid}
"""The formats of an answer besides a table and JSON, by their names."""


def _part(node: Node) -> str:
    """Return what a node is of its dataset."""
    if node.kind == "version":
        return node.version or "before the first version that is known"
    return node.label if node.kind in ("job", "run") else node.column or "every row"


def _ids(answer: Answer) -> dict[Node, str]:
    return {node: f"n{number}" for number, node in enumerate(answer.all_nodes)}


def _by_dataset(answer: Answer) -> list[list[Node]]:
    """Return the nodes of each dataset, closest first."""
    found: dict[tuple[str, ...], list[Node]] = {}
    for node in answer.all_nodes:
        of_dataset = (node.namespace, node.name)
        found.setdefault(of_dataset if node.dataset else (node.id,), []).append(node)
    return list(found.values())


def _arrows(answer: Answer) -> list[tuple[Node, Node, str]]:
    """Return each pair of nodes once, with the kinds of all edges between them."""
    labels: dict[tuple[Node, Node], dict[str, None]] = {}
    for link in answer.links:
        kinds = ("kept",) if link.kept else link.kinds
        labels.setdefault((link.source, link.target), {}).update(dict.fromkeys(kinds))
    return [(source, target, ", ".join(filter(None, kinds))) for (source, target), kinds in labels.items()]


def _mermaid_text(text: str) -> str:
    """Return a text in quotes. Mermaid reads entities, and would take quotes and markup for its own."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    for sign, entity in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        plain = plain.replace(sign, entity)
    return f'"{plain}"'


def _dot_text(text: str) -> str:
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
