"""
One lineage on all surfaces: what each of them says of edges, read back, to be compared with what events state.

A reader here knows its surface alone, and nothing of how it came about.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.store_api import Store

from support.lineage_events import run_event, text_of_events

if TYPE_CHECKING:
    from collections.abc import Iterable

End = tuple[str, str]
"""A dataset, as `namespace|name`, and one of its columns; an empty one stands for all of its rows."""
Edge = tuple[End, End, str, bool]
"""Where a value comes from, where it goes, the transformation's subtype, and whether it masks the value."""

PathOf: TypeAlias = "tuple[End, End, dict[str, Any]]"
"""Where a value comes from, where it goes, and a path between them as JSON."""


class Told:
    """
    Events, told in all ways.

    Args:
        events: the events.
        folder: an empty folder, for a file and for a store of them.
    """

    def __init__(self, events: Iterable[dict[str, Any]], folder: Path) -> None:
        self.events = [*events]
        self.file, self.nothing, self.store = (folder / name for name in ("e.ndjson", "nothing.ndjson", "lineage.db"))
        self.file.write_text(text_of_events(self.events), "utf-8")
        self.nothing.write_text(text_of_events([run_event("nothing", "COMPLETE", 0)]), "utf-8")
        self.asked("ingest", str(self.file), "--store", str(self.store))

    def asked(self, *arguments: str) -> str:
        """Return what the command line prints."""
        out = StringIO()
        with redirect_stdout(out):
            main([*arguments])
        return out.getvalue()

    @property
    def stated(self) -> set[Edge]:
        """The edges that the facets of all events state."""
        return {edge for event in self.events for edge in _stated(event)}

    @property
    def names(self) -> dict[str, str]:
        """The name that people see -> the dataset."""
        with Store.open(self.store) as store:
            nodes = [node for node in store.graph().result.to_dict()["nodes"] if node["type"] == "dataset"]
        names = {node["label"]: f"{node['namespace']}|{node['name']}" for node in nodes}
        assert len(names) == len(nodes)
        return names


def _stated(event: dict[str, Any]) -> Iterator[Edge]:
    """Give the edges that the facets of an event state."""
    for output in event["outputs"]:
        target = f"{output['namespace']}|{output['name']}"
        facet = output["facets"].get("columnLineage", {})
        by_column = {name: field["inputFields"] for name, field in facet.get("fields", {}).items()}
        for column, sources in {**by_column, "": facet.get("dataset", [])}.items():
            for source in sources:
                origin = (f"{source['namespace']}|{source['name']}", source["field"])
                for way in source.get("transformations") or [{}]:
                    yield origin, (target, column), way.get("subtype", ""), bool(way.get("masking"))


def _end_of(node: str) -> End:
    """Return an end of an edge from the id of its node."""
    kind, *parts = (re.sub("%(..)", lambda found: chr(int(found[1], 16)), part) for part in node.split("|"))
    assert kind in ("column", "dataset")
    return f"{parts[0]}|{parts[1]}", parts[2] if kind == "column" else ""


def _of_graph(document: dict[str, Any]) -> Iterator[PathOf]:
    """Give the paths of the edges between columns in a graph's JSON."""
    for edge in document["result"]["edges"]:
        yield from ((_end_of(edge["source"]), _end_of(edge["target"]), path) for path in edge.get("paths", ()))


def paths_in_show(told: Told, *options: str) -> Iterator[PathOf]:
    """Read `show --format json`, with further options."""
    document = json.loads(told.asked("show", str(told.file), "--format", "json", *options))["result"]
    for output in document["outputs"]:
        for column in output["columns"]:
            target = (f"{output['namespace']}|{output['name']}", column["column"] or "")
            for source in column["sources"]:
                origin = (f"{source['namespace']}|{source['name']}", source["field"])
                yield from ((origin, target, path) for path in source["paths"])


def paths_in_view(told: Told) -> Iterator[PathOf]:
    """Read `view EVENTS --format json`."""
    return _of_graph(json.loads(told.asked("view", str(told.file), "--format", "json", "-o", "-")))


def paths_in_graph(told: Told) -> Iterator[PathOf]:
    """Read `Store.graph`."""
    with Store.open(told.store) as store:
        yield from _of_graph({"result": store.graph().result.to_dict()})


def paths_in_page(told: Told) -> Iterator[PathOf]:
    """Read the document inside the page."""
    page = told.asked("view", str(told.file), "-o", "-")
    [document] = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[:1]
    return _of_graph(json.loads(document))


def _paths_in_answers(told: Told, question: str, names: Iterable[str]) -> Iterator[PathOf]:
    """Give the paths in the answers about some datasets, no further than one job."""
    with Store.open(told.store) as store:
        for name in sorted({*names}):
            answer = getattr(store, question)(name.replace("|", "/", 1), by="column", depth=1)
            yield from _of_graph(answer.to_dict())


def paths_in_upstream(told: Told) -> Iterator[PathOf]:
    """Read `Store.upstream` of each output."""
    return _paths_in_answers(told, "upstream", (target[0] for _, target, *_ in told.stated))


def paths_in_downstream(told: Told) -> Iterator[PathOf]:
    """Read `Store.downstream` of each input."""
    return _paths_in_answers(told, "downstream", (source[0] for source, *_ in told.stated))


def paths_in_between(told: Told) -> Iterator[PathOf]:
    """Read `Store.between` of each column and each output between which `show` has an edge, without others."""
    pairs = {(source, target[0]) for source, target, *_ in paths_in_show(told)}
    with Store.open(told.store) as store:
        for source, made in sorted(pairs):
            names = [name.replace("|", "/", 1) for name in (source[0], made)]
            answer = store.between(f"{names[0]}.{source[1]}", names[1]).to_dict()
            yield from (each for each in _of_graph(answer) if (each[0], each[1][0]) == (source, made))


Surface: TypeAlias = "Callable[[Told], set[Edge]]"
PATHS: dict[str, Callable[[Told], Iterator[PathOf]]] = {
    "show": paths_in_show,
    "view": paths_in_view,
    "graph": paths_in_graph,
    "page": paths_in_page,
    "upstream": paths_in_upstream,
    "downstream": paths_in_downstream,
    "between": paths_in_between,
}
"""The surfaces that have each path in full."""


def _read(surface: str) -> Surface:
    def read(told: Told) -> set[Edge]:
        return {(source, target, path["subtype"], path["masking"]) for source, target, path in PATHS[surface](told)}

    read.__name__ = f"in_{surface}"
    return read


in_show, in_view, in_graph, in_page, in_upstream, in_downstream, in_between = map(_read, PATHS)


def in_diff(told: Told) -> set[Edge]:
    """Read `diff NOTHING EVENTS --format json`."""
    changes = json.loads(told.asked("diff", str(told.nothing), str(told.file), "--format", "json"))["result"]["changes"]
    rows = [(each["name"], each["after"]) for each in changes if each["what"] == "edge"]
    return _of_rows(told, rows)


def in_markdown(told: Told) -> set[Edge]:
    """Read `diff NOTHING EVENTS --format markdown`."""
    text = told.asked("diff", str(told.nothing), str(told.file), "--format", "markdown")
    rows = re.findall(r"^\| added \| edge \| (`+.*?`+) \|  \| (.*) \|$", text, re.MULTILINE)
    return _of_rows(told, [(_in_code(name), _in_code(how)) for name, how in rows])


def _in_code(span: str) -> str:
    """Return what a code span in a table says; one of several backquotes has a blank inside of them."""
    text = span.strip("`").replace("\\|", "|")
    return text.strip(" ") if span.startswith("``") else text


# The texts of several paths of one kind stand behind that, with the same sign between them as kinds have.
_KIND = re.compile(
    r"; (?=(?:IDENTITY|TRANSFORMATION|AGGREGATION|JOIN|GROUP_BY|FILTER|SORT|WINDOW|CONDITIONAL|DIRECT|INDIRECT)\b)"
)


def _of_rows(told: Told, rows: Iterable[tuple[str, str]]) -> set[Edge]:
    """Return edges from their names and their words, which begin with the subtype."""
    names = told.names
    return {
        (_named(source, names), _named(target, names), *_kind_of(how))
        for name, words in rows
        for source, _, target in [name.partition(" -> ")]
        for how in _KIND.split(words)
    }


def _kind_of(how: str) -> tuple[str, bool]:
    """Return the subtype that a text begins with, and whether it goes on with `(masked)`; then comes the certainty."""
    found = re.match(r"([A-Z_]*)( \(masked\))?", how)
    assert found is not None
    return found[1], found[2] is not None


def _named(text: str, names: dict[str, str]) -> End:
    """Return an end of an edge from the text that people see: a dataset, or a dataset, a dot and a column."""
    if text in names:
        return names[text], ""
    [found] = [(names[name], text[len(name) + 1 :]) for name in names if text.startswith(f"{name}.")]
    return found


def in_notebook(told: Told) -> set[Edge]:
    """Read the table beneath the graph in a notebook; it has no subtypes, and 500 rows at most."""
    names = told.names
    with Store.open(told.store) as store:
        shown = store.graph().result
    # Without an edge there is no table.
    tables = re.findall("<table.*?</table>", shown._repr_html_(), re.DOTALL)  # type: ignore[attr-defined]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for table in tables for row in table.split("<tr>")]
    cells = [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in rows if row]
    return {
        (_named(row[0], names), _named(row[1].removesuffix(" (every row)"), names), "", "masked" in row[2])
        for row in cells
        if row[2] not in ("read", "written")
    }


SURFACES: tuple[Surface, ...] = (
    *(in_show, in_view, in_graph, in_page),
    *(in_upstream, in_downstream, in_between, in_diff, in_markdown),
)
