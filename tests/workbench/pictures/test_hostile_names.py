"""Names and expressions come from events, which anybody can send: no format takes them for its own words."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path as FilePath
from xml.etree import ElementTree

import pytest
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    OperatorColumn,
    OperatorNode,
    Path,
    Step,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.diagrams import Arrow, Box, Picture, dot, mermaid
from support.lineage_paths import path

# Name -> how Mermaid and Graphviz get it. Real ones show each of them as the name that it is.
MERMAID = {
    "a\"b'c": "a#quot;b'c",
    "</script><script>alert(1)</script>": "#lt;/script#gt;#lt;script#gt;alert(1)#lt;/script#gt;",
    "a]b[c)(d}{e|f": "a]b[c)(d}{e|f",
    "a\nb\r\nc\u2028d": "a b  c d",
    "שלום\u202eevil\u202c": "שלום evil ",
    "": " ",
    "`a`": "#96;a#96;",
    '%%{init: {"themeCSS": "*{display:none}"}}%%': (
        "#37;#37;{init: {#quot;themeCSS#quot;: #quot;*{display:none}#quot;}}#37;#37;"
    ),
    "a --> b -- c": "a --#gt; b -- c",
    "a\x00b\x1b[31mc\x9b\ud800": "a b [31mc  ",
    "&amp;#35;": "#amp;amp;#35;35;",
    "$$x^2$$": "#36;#36;x^2#36;#36;",
    "fa:fa-car": "fa#58;fa-car",
    "style n0 fill:#f00": "style n0 fill#58;#35;f00",
    "a:b:c": "a:b:c",
    "x" * 150 + "y" * 10_000: "x" * 100 + "..." + "y" * 100,
}
DOT = {
    'a"b\\': '"a\\"b\\\\"',
    "\\N\\G": '"\\\\N\\\\G"',
    "&lt;b&gt;": '"&amp;lt;b&amp;gt;"',
    "<<b>x</b>>": '"<<b>x</b>>"',
    "a\nb\x00c": '"a b c"',
    "": '""',
    "x" * 10_000: f'"{"x" * 100}...{"x" * 100}"',
}
NAMES = sorted({*MERMAID, *DOT})


def of_name(name: str) -> Graph:
    """Return a graph in which everything is called so: tables, columns, a CTE, a job, an expression and a warning."""
    made, read, lone = (DatasetNode("n", f"{place}{name}", name) for place in "abc")
    columns = [ColumnNode(each.id, name, name) for each in (made, read) if name]
    ends = (column.id for column in columns) if columns else (made.id, read.id)
    source, target = ends
    part = OperatorNode("", 3, "SubqueryAlias", "CTE", name, (OperatorColumn(name, name),))
    job, kinds = JobNode("j", name), [Kind("DIRECT", subtype) for subtype in ("TRANSFORMATION", "AGGREGATION")]
    steps = (Step(part.text, name, name, name, kinds[0], "guessed", name), Step("", name, kind=kinds[1]))
    edges = (
        Edge(source, target, (Path(kinds[0], name, "guessed", steps),)),
        Edge(made.id, read.id, (path("FILTER", name),)),
        Edge(lone.id, job.id, job=job.id),
    )
    return Graph((made, read, lone, *columns, job, part), edges, (Diagnostic("unknown-operator", name, operator=name),))


@pytest.mark.parametrize("name", MERMAID, ids=range(len(MERMAID)))
def test_mermaid_shows_a_name_as_text(name: str) -> None:
    boxes = (Box(name, (("a", name),)), Box(name, key="b"))

    assert mermaid(Picture(boxes, (Arrow("a", "b", name),))).splitlines() == [
        "flowchart LR",
        f'  subgraph d0["{MERMAID[name]}"]',
        f'    n0["{MERMAID[name]}"]',
        "  end",
        f'  n1["{MERMAID[name]}"]',
        f'  n0 -->|"{MERMAID[name]}"| n1' if name else "  n0 --> n1",
    ]


@pytest.mark.parametrize("name", DOT, ids=range(len(DOT)))
def test_graphviz_shows_a_name_as_text(name: str) -> None:
    lines = dot(Picture((Box(name, key="a"), Box(name, key="b")), (Arrow("a", "b", name),))).splitlines()

    assert lines[3:-1] == [
        *(f"  n{at} [label={DOT[name]}];" for at in range(2)),
        f"  n0 -> n1 [label={DOT[name]}];",
    ]


@pytest.mark.parametrize("unfold", [False, True])
def test_every_line_of_mermaid_and_every_picture_is_well_formed(*, unfold: bool) -> None:
    text = r'"[^"\n<>`]*"'
    line = re.compile(rf"flowchart LR|  subgraph d\d+\[{text}\]|  end| +n\d+\[{text}\]|  n\d+ -\.?->(\|{text}\|)? n\d+")
    for name in NAMES:
        graph = of_name(name)
        lines = text_of_graph(graph, "mermaid", unfold=unfold).splitlines()
        assert [each for each in lines if not line.fullmatch(each)] == []
        picture = text_of_graph(graph, "svg", unfold=unfold)
        assert {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(picture).iter()} <= {  # noqa: S314 (our own)
            *("svg", "title", "style", "rect", "g", "path", "text"),
        }
        assert len(picture) < 40_000


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz is installed")
@pytest.mark.parametrize("unfold", [False, True])
def test_graphviz_itself_reads_every_name(tmp_path: FilePath, *, unfold: bool) -> None:
    path = tmp_path / "graphs.dot"
    path.write_text("".join(text_of_graph(of_name(name), "dot", unfold=unfold) for name in NAMES), encoding="utf-8")

    read = subprocess.run(["dot", "-Tplain", path], capture_output=True, text=True, check=False, timeout=60)
    assert (read.returncode, read.stderr) == (0, "")
    expected = [4 + 2 * bool(name) + unfold for name in NAMES]
    assert [len(re.findall("^node ", each, re.MULTILINE)) for each in read.stdout.split("stop\n")[:-1]] == expected
