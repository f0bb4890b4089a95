"""
Make the page of a graph.

Everything is in one file: the graph as JSON, the scripts and the styles. The file's own policy
(https://www.w3.org/TR/CSP3/) lets the browser run only these scripts, and load nothing. Names in a graph are untrusted
text: they are only in the JSON, in which every `<` is escaped, and the scripts show them as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.answer import answer_of_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import NodeId

LIBRARY = "vendor/dagre.min.js"
"""The library that places the boxes; the build of the wheel downloads it from npm."""

_LICENSE = "vendor/dagre-LICENSE.txt"
_COMMENT = re.compile(r"^[ \t]*/\*\*.*?\*/[ \t]*\n|^[ \t]*//[^\n]*\n", re.DOTALL | re.MULTILINE)
_SCRIPTS = ("model.js", "arrange.js", "scene.js", "panel.js", "search.js", "export.js", "main.js")


def page_of(
    graph: Graph,
    *,
    before: Graph | None = None,
    around: str = "",
    unfold: bool = False,
    rows: Mapping[NodeId, int] | None = None,
    owners: Mapping[NodeId, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """
    Return the page of a graph, as HTML.

    Args:
        graph: the graph.
        before: the graph at an earlier time, for a comparison.
        around: the dataset or the column that the page shows first, unless its address names another.
        unfold: whether the page first shows CTEs, views and subqueries, unless its address decides otherwise.
        rows: how many rows were last written to datasets, by the ids of their nodes; None if that is unknown.
        owners: the owners of datasets and jobs, each with the type of ownership, by the ids of their nodes; None if
            they are unknown.
    """
    style, library, script = _read("page.css"), _library(), _script()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(library)} {_digest(script)}",
            f"style-src {_digest(style)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    data = _data("graph", answer_of_graph(graph).to_json())
    if before is not None:
        data += _data("before", answer_of_graph(before).to_json())
    if around:
        data += _data("around", json.dumps(around))
    for name, known in (("rows", rows), ("owners", owners)):
        if known:
            data += _data(name, json.dumps(dict(known), ensure_ascii=False))
    if unfold:
        data += _data("unfold", "true")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Lineage</title>\n<style>{style}</style>\n</head>\n<body>\n{_read('body.html')}"
        f"{data}<script>{library}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _data(name: str, text: str) -> str:
    """Return JSON as an element that the browser does not run. Without `<`, nothing in it can end the element."""
    return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>\n'


def _library() -> str:
    return f"/*\n{_read(_LICENSE).strip()}\n*/\n{_read(LIBRARY)}"


def _script() -> str:
    """Return the scripts as one, without comments on separate lines, which are for readers of the source."""
    return '"use strict";\n' + _COMMENT.sub("", "".join(_read(name) for name in _SCRIPTS))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
