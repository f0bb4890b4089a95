"""The picture of a graph as SVG: what it shows, in words and lines, and that no name does harm."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from openlineage_pyspark.workbench.model.change import ChangeMark
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    Path,
    RunNode,
    Step,
    column_id,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.pictures.figure import FigureTable, ShownGraph, figure
from openlineage_pyspark.workbench.pictures.plain import shown
from openlineage_pyspark.workbench.pictures.scene import Bounds
from openlineage_pyspark.workbench.pictures.svg import svg
from support.large_graph import large_graph
from support.lineage_paths import path

NAMESPACE = "{http://www.w3.org/2000/svg}"
ORDERS, TOTALS, JOB = DatasetNode("lake", "orders", "shop.orders"), DatasetNode("lake", "totals", "totals"), "daily"
UNREAD = "It passes code that can't be read: MapInPandas#2."
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&]]>"
RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd\u202eevil\u202c"


def edge(read: str, written: str, how: Path, job: str) -> Edge:
    return Edge(column_id(ORDERS.id, read), column_id(TOTALS.id, written), (how,), job)


def small(*, job: bool) -> Graph:
    """Return a graph with an edge of each look, and a job that failed if it has one."""
    columns = [ColumnNode(ORDERS.id, name, "bigint") for name in ("id", "amount", "day")]
    columns += [ColumnNode(TOTALS.id, name) for name in ("total", "score")]
    opaque = path("TRANSFORMATION", "f(amount)", "opaque", [Step("MapInPandas#2", certainty="opaque")])
    daily = JobNode("jobs", JOB)
    by = daily.id if job else ""
    edges = [
        edge("amount", "total", path("AGGREGATION", "sum(amount)"), by),
        edge("amount", "score", opaque, by),
        edge("day", "", path("FILTER", "(day > 1)"), by),
    ]
    if not job:
        return Graph((ORDERS, TOTALS, *columns), tuple(edges))
    edges += [
        Edge(ORDERS.id, by, job=by),
        Edge(by, TOTALS.id, job=by),
    ]
    warning = Diagnostic("unknown-operator", "no rule for this operator", node=by, operator="MapInPandas#2")
    return Graph((ORDERS, TOTALS, *columns, daily, RunNode("r1", by, "FAIL")), tuple(edges), (warning,))


def seen(graph: Graph, **more: object) -> ElementTree.Element:
    """Return the picture of a graph, parsed."""
    return ElementTree.fromstring(svg(graph, **more))  # type: ignore[arg-type]  # noqa: S314 (our own text)


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{NAMESPACE}text")]


def labels(picture: ElementTree.Element, role: str) -> list[str]:
    return [each.attrib["aria-label"] for each in picture.iter() if each.get("role") == role]


def lines(picture: ElementTree.Element) -> list[tuple[str, str]]:
    """Return the look of each line, with what it says of itself."""
    found = [(each.attrib["class"], each.find(f"{NAMESPACE}title")) for each in picture.iter(f"{NAMESPACE}path")]
    return [(look, title.text or "") for look, title in found if title is not None]


@pytest.mark.parametrize("job", [True, False], ids=["with its job", "of a query"])
def test_the_picture(golden: Callable[[str, str], None], *, job: bool) -> None:
    golden(f"graph/picture{'-of-a-job' if job else ''}.svg", svg(small(job=job)) + "\n")


def test_lines_tell_values_influences_and_doubt_apart_and_say_how() -> None:
    assert lines(seen(small(job=False))) == [
        ("doubt", f"shop.orders.amount → totals.score: TRANSFORMATION f(amount). {UNREAD}"),
        ("influence", "shop.orders.day → totals: FILTER (day > 1)"),
        ("value", "shop.orders.amount → totals.total: AGGREGATION sum(amount)"),
    ]


def test_what_came_went_and_changed_has_colours_and_says_so() -> None:
    graph = small(job=False)
    signs: dict[tuple[str, str, str], ChangeMark] = {graph.edges[0].key: "added", graph.edges[1].key: "removed"}
    picture = seen(graph, marks=signs)

    assert lines(picture) == [
        ("doubt removed", f"removed: shop.orders.amount → totals.score: TRANSFORMATION f(amount). {UNREAD}"),
        ("influence", "shop.orders.day → totals: FILTER (day > 1)"),
        ("value added", "added: shop.orders.amount → totals.total: AGGREGATION sum(amount)"),
    ]
    assert texts(picture)[-5:] == [
        "a value that arrives",
        "decides about rows or values",
        "uncertain",
        "added",
        "removed",
    ]
    assert "path.added{stroke:var(--good)}" in svg(graph, marks=signs)


def test_a_screen_reader_says_what_each_column_is_made_from() -> None:
    picture = seen(small(job=True))

    assert labels(picture, "group") == [
        "Lineage graph: 2 tables, 1 job, 3 edges",
        "Table shop.orders",
        "Table totals, every row: FILTER of shop.orders.day",
        "Job daily, its last run: failed, 1 not understood",
    ]
    assert labels(picture, "img") == [
        "Column id bigint",
        "Column amount bigint",
        "Column day bigint",
        "Column total, AGGREGATION of shop.orders.amount",
        "Column score, TRANSFORMATION of shop.orders.amount",
    ]


def test_lines_lead_through_the_job_and_what_was_not_understood_stands_below() -> None:
    picture = seen(small(job=True))

    assert len(lines(picture)) == 6
    assert texts(picture)[-1] == "not understood: MapInPandas#2: no rule for this operator"
    assert [each.attrib["class"] for each in picture.iter(f"{NAMESPACE}svg")][1:] == ["table", "table", "job bad"]


def test_jobs_whose_names_end_alike_show_the_part_that_tells_them_apart() -> None:
    names = [
        f"app.{name}" for name in ("create.default_daily", "execute_insert.default_daily", "insert.default_weekly")
    ]
    jobs = [JobNode("n", name) for name in names] + [JobNode("m", "a."), JobNode("n", "a.")]
    edges = [Edge(ORDERS.id, job.id, job=job.id) for job in jobs]

    assert sorted(texts(seen(Graph((ORDERS, *jobs), tuple(edges))))) == [
        *("a. (a)", "a. (a)", "default_daily (create)", "default_daily (insert)", "default_weekly", ORDERS.label),
    ]


def test_a_table_that_is_made_from_itself_has_a_line_to_itself() -> None:
    columns = (ColumnNode(ORDERS.id, "id"), ColumnNode(ORDERS.id, "amount"))
    back = Edge(columns[0].id, columns[1].id, (path("IDENTITY"),))
    picture = seen(Graph((ORDERS, *columns), (back,)))
    (drawn,) = [each for each in picture.iter(f"{NAMESPACE}path") if each.find(f"{NAMESPACE}title") is not None]
    start, end = re.findall(r"(\d+),\d+", drawn.attrib["d"])[:1], re.findall(r"(\d+),\d+$", drawn.attrib["d"])

    assert start == end


def test_a_column_that_is_made_from_itself_has_a_loop() -> None:
    column = ColumnNode(ORDERS.id, "id")
    picture = seen(Graph((ORDERS, column), (Edge(column.id, column.id, (path("IDENTITY"),)),)))
    (drawn,) = [each for each in picture.iter(f"{NAMESPACE}path") if each.find(f"{NAMESPACE}title") is not None]
    heights = [int(y) for y in re.findall(r"\d+,(\d+)", drawn.attrib["d"])]

    assert heights[0] == heights[-1]
    assert heights[1] < heights[0] < heights[2]


@pytest.mark.parametrize("name", [HOSTILE, "\x00\x1b[31m\ud800\ufffe", "y" * 10_000, "漢" * 10_000])
def test_a_hostile_name_is_shown_as_text_and_cut(name: str) -> None:
    table = DatasetNode("lake", "t", name)
    job, columns = JobNode("j", name), (ColumnNode(table.id, name, name), ColumnNode(table.id, "plain"))
    edges = (
        Edge(
            columns[0].id,
            columns[1].id,
            (path("TRANSFORMATION", name, "guessed", [Step(name, certainty="guessed")]),),
            job.id,
        ),
        Edge(job.id, table.id, job=job.id),
    )
    text = svg(
        Graph((table, *columns, job), edges, (Diagnostic("unknown-operator", name, node=job.id, operator=name),))
    )
    picture = ElementTree.fromstring(text)  # noqa: S314 (our own text)

    assert {each.tag.removeprefix(NAMESPACE) for each in picture.iter()} == {
        *("svg", "title", "style", "rect", "g", "path", "text"),
    }
    assert "<script" not in text
    assert max(map(len, texts(picture))) <= 110
    assert float(picture.attrib["width"]) < 1600
    assert len(text.encode()) < 20_000


def test_signs_that_turn_the_direction_are_not_left() -> None:
    assert shown(RIGHT_TO_LEFT, 20) == "\u05e9\u05dc\u05d5\u05dd\ufffdevil\ufffd"
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", svg(Graph((DatasetNode("n", "t", RIGHT_TO_LEFT),), ())))


def test_a_long_text_is_cut_at_its_end_or_at_its_beginning() -> None:
    assert shown("abcdef", 6) == "abcdef"
    assert shown("abcdefg", 6) == "abcde…"
    assert shown("abcdefg", 6, end=True) == "…cdefg"
    # An East Asian character takes the room of two.
    assert shown("漢字漢字", 6) == "漢字…"


def test_a_large_graph_shows_what_is_near_and_says_what_was_left_out() -> None:
    graph = large_graph(300)
    about = next(node for node in graph.nodes if isinstance(node, DatasetNode) and node.name == "db20/table_100")
    picture = seen(graph, around=about.id, bounds=Bounds(boxes=20, rows=4, lines=30))
    groups = labels(picture, "group")

    assert (len(groups), groups[0]) == (21, "Lineage graph: 15 tables, 5 jobs, 3,080 edges")
    assert f"Table {about.label}" in "\n".join(groups)
    assert "… 6 more" in texts(picture)
    assert texts(picture)[-2] == f"shown: the 20 tables and jobs closest to {about.label}; 560 more are left out"
    assert re.fullmatch(r"\d+ edges that are less certain have no line", texts(picture)[-1])


def test_nothing_is_said_to_be_nothing() -> None:
    assert texts(seen(Graph((), ()))) == ["no lineage"]


def test_several_pictures_can_stand_in_one_page() -> None:
    """They have no ids, and no style that applies outside of them."""
    text = svg(small(job=True))
    style = re.search("<style>(.*?)</style>", text)
    assert style is not None
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"@media [^{]+\{([^{}]+\{[^{}]*\})\}", r"\1", style[1]))

    assert " id=" not in text
    assert all(".openlineage-graph" in part for selector in selectors for part in selector.split(","))


def test_a_figure_has_its_tables_beneath_it_with_all_texts_escaped() -> None:
    rows = [["total", HOSTILE, "sum(a)"]]
    table = FigureTable(("column", "from", "expression"), rows, "totals", ("reads the view v",))
    text = figure(small(job=False), [table], title="daily completed", notes=["paths are relative"])

    assert text.index("<p>daily completed</p>") < text.index("<svg") < text.index("<table ")
    assert text.index("<p>reads the view v</p>") < text.index("<table ") < text.index("<p>paths are relative</p>")
    assert "<bdi>&lt;/title&gt;&lt;script&gt;alert(1)" in text
    assert "<code>sum(a)</code>" in text
    assert "script>" not in text.replace("&lt;script&gt;", "").replace("&lt;/script&gt;", "")


def test_a_figure_holds_its_picture_as_an_image_too_for_notebooks_that_are_not_trusted() -> None:
    # Without the picture's own style nothing shows the first, whose words Jupyter would leave in a heap.
    graph = small(job=True)
    found = re.search(
        '<style>(.*?)</style><div class="openlineage-drawn" style="display:none">(<svg.*</svg>)</div>'
        '<img class="openlineage-image" style="max-width:none" alt="([^"]*)" '
        'src="data:image/svg[+]xml;base64,([^"]*)">',
        figure(graph),
    )

    assert found is not None
    style, drawn, alternative, image = found.groups()
    assert style == (
        ".openlineage-drawn:has(svg){display:block!important}"
        ".openlineage-drawn:has(svg)+.openlineage-image{display:none!important}"
    )
    assert drawn == svg(graph) == base64.b64decode(image).decode()
    assert alternative == "Lineage graph: 2 tables, 1 job, 3 edges"


def test_a_figure_needs_no_script_and_nothing_from_elsewhere() -> None:
    # JupyterLab takes scripts out, and VS Code's policy loads nothing.
    table = FigureTable(("column", "expression"), [["total", "sum(a)"]], "totals")
    text = figure(small(job=True), [table], title="daily completed")
    names = set(re.findall(r"<([a-z]+)", text))
    attributes = set(re.findall(r' ([a-z:-]+)="', text))

    assert names <= {*"svg g rect path text title style div p img table caption thead tbody tr th td bdi code".split()}
    assert attributes & {"href", "xlink:href", "id"} == set()
    assert [each[:26] for each in re.findall('src="([^"]*)"', text)] == ["data:image/svg+xml;base64,"]
    assert not [name for name in attributes if name.startswith("on")]
    assert [
        found for found in ("url(", "@import", "@font-face", "http") if found in text.replace(NAMESPACE[1:-1], "")
    ] == []
    # JupyterLab gives all columns of a table the same width, unless the table says otherwise.
    assert '<table style="table-layout:auto">' in text


def test_a_figure_shows_the_first_rows_of_a_long_table() -> None:
    text = figure(Graph((), ()), [FigureTable(("n",), [[str(number)] for number in range(600)])])

    assert text.count("<tr>") == 501
    assert "<p>100 more rows are not shown</p>" in text


def test_a_graph_shows_itself_in_a_notebook() -> None:
    graph = small(job=True)

    shown = ShownGraph(graph.nodes, graph.edges, graph.diagnostics)._repr_html_()
    assert svg(graph) in shown
    assert re.findall(r"<th [^>]*>(.*?)</th>", shown) == ["from", "to", "how", "expression", "certainty", "job"]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown)[1:]]
    assert [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows] == [
        ["shop.orders.amount", "totals.total", "AGGREGATION", "sum(amount)", "", "daily"],
        ["shop.orders.amount", "totals.score", "TRANSFORMATION", "f(amount)", "opaque", "daily"],
        ["shop.orders.day", "totals (every row)", "FILTER", "(day &gt; 1)", "", "daily"],
    ]


def test_a_graph_of_tables_alone_tells_which_jobs_read_and_write_them() -> None:
    job = JobNode("jobs", "daily")
    edges = (
        Edge(ORDERS.id, job.id, job=job.id),
        Edge(job.id, TOTALS.id, job=job.id),
    )
    shown = ShownGraph((ORDERS, TOTALS, job), edges)._repr_html_()

    assert re.findall(r"<bdi>(.*?)</bdi>", shown) == [
        *(ORDERS.label, "job daily", "read"),
        *("job daily", TOTALS.label, "written"),
    ]
    assert "<table" not in ShownGraph((ORDERS,), ())._repr_html_()
