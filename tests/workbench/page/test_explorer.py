"""The page as an explorer: the first picture, groups, hops, edges, and panels that say what the store answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, JobNode
from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.store_api import Store
from selenium.webdriver.common.keys import Keys
from support.large_graph import large_graph
from support.lineage_events import company, taken
from support.lineage_paths import path
from support.shop import shop
from workbench.page.test_browser import press

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]
PAGE = Path(__file__).parents[3] / "workbench" / "page"

_BOXES = "return [...page.picture.boxes.values()].map((box) => page.lineage.label(box.id)).sort()"
_LINKS = """
return page.picture.flows.map(({ends, count}) => [...ends.map((id) => page.lineage.label(id)), count]).sort()
"""
_ITEMS = "return [...document.querySelectorAll('#panel .edge-item')].map((each) => each.innerText.split('\\n')[0])"
_CLICK_ON = """
const all = document.querySelectorAll("#canvas [data-id]");
all[arguments[0]]?.dispatchEvent(new MouseEvent('click', {bubbles: true}))
"""
_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
  .then(({violations, passes}) =>
    done([violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((each) => each.html)}`), passes.length]));
"""


def tables(names: list[str], *links: tuple[str, str]) -> Graph:
    """Return tables of a column each, and a job for each link between them."""
    nodes = {name: DatasetNode("lake", name, name) for name in names}
    columns = {name: ColumnNode(node.id, "x") for name, node in nodes.items()}
    jobs, edges = [], []
    for source, target in links:
        job = JobNode("n", f"app.{source}_{target}")
        jobs.append(job)
        edges += [Edge(nodes[source].id, job.id, job=job.id), Edge(job.id, nodes[target].id, job=job.id)]
        edges.append(Edge(columns[source].id, columns[target].id, (path("IDENTITY"),), job.id))
    return Graph((*nodes.values(), *columns.values(), *jobs), tuple(edges))


LAYERS = tables(
    ["raw.a", "raw.b", "gold.fact.c", "gold.fact.d", "gold.dim.e"],
    ("raw.a", "gold.fact.c"),
    ("raw.b", "gold.fact.c"),
    ("raw.b", "gold.fact.d"),
    ("gold.fact.d", "gold.dim.e"),
)


ONE_SCHEMA = partial(str.format, "lake.t{}")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: LAYERS, id="five tables"),
        pytest.param(lambda: large_graph(300), id="300 tables"),
        pytest.param(lambda: large_graph(300, name=ONE_SCHEMA), id="300 tables of one schema"),
        pytest.param(lambda: large_graph(2000), id="2,000 tables"),
        pytest.param(lambda: large_graph(5000, name=ONE_SCHEMA), id="5,000 tables of one schema"),
    ],
)
def test_the_first_picture_is_whole_and_can_be_read(seen, made: Callable[[], Graph]) -> None:
    seen.open(made())
    assert seen.script("return page.view.scale >= 0.62")
    note = seen.script("return document.getElementById('note').hidden")
    width, height = seen.rectangle("#canvas")[2:]
    assert note
    right, bottom = seen.script(
        "const {x, y, scale} = page.view; return [x + page.picture.width * scale, y + page.picture.height * scale]"
    )
    assert (right <= width + 1, bottom <= height + 1) == (True, True)


def test_groups_sum_their_links_and_unfold_and_fold(seen) -> None:
    seen.open(LAYERS, "#level=tables&jobs=0&groups=1")
    assert seen.script(_BOXES) == ["gold", "raw"]
    assert seen.script(_LINKS) == [["raw", "gold", 3]]

    seen.click('#canvas .group[aria-label^="Group gold"]')
    assert seen.script(_BOXES) == ["dim", "fact", "raw"]
    assert seen.script(_LINKS) == [["fact", "dim", 1], ["raw", "fact", 3]]
    assert seen.panel.startswith("Group gold\n\n3 tables in 2 groups.")
    seen.click('#panel button[data-how="open"]')
    assert seen.script(_BOXES) == ["gold", "raw"]

    seen.click('#canvas .group[aria-label^="Group raw"]')
    assert seen.script(_BOXES) == ["gold", "raw.a", "raw.b"]
    assert seen.address == "#level=tables&jobs=0&groups=1&open=raw"


def chain(*names: str) -> Graph:
    """Return tables of which each is made from the one before."""
    return tables(list(names), *pairwise(names))


def test_a_single_schema_opens_with_the_beginnings_of_names_or_else_with_steps(seen) -> None:
    layers = ("raw", "stg", "mart")
    seen.open(chain(*(f"lake.{layer}_t_{number}" for layer in layers for number in range(20))))
    assert seen.script(_BOXES) == ["mart_…", "raw_…", "stg_…"]
    assert seen.script(_LINKS) == [["raw_…", "stg_…", 1], ["stg_…", "mart_…", 1]]
    seen.click('#canvas .group[aria-label^="Group mart"]')
    assert len(seen.script(_BOXES)) == 22
    address = seen.address
    seen.open(LAYERS)
    seen.open(chain(*(f"lake.{layer}_t_{number}" for layer in layers for number in range(20))), address)
    assert len(seen.script(_BOXES)) == 22

    seen.open(chain(*(f"lake.t{number}" for number in range(60))))
    assert seen.script(_BOXES) == [
        "sources to step 9",
        *("steps 10 to 19", "steps 20 to 29", "steps 30 to 39", "steps 40 to 49", "steps 50 to 59"),
    ]
    assert "Groups\nsources to step 9 10 tables\nsteps 10 to 19" in seen.panel


def test_a_single_schema_of_several_applications_opens_with_these(seen) -> None:
    names = [f"lake.t{number}" for number in range(60)]
    graph = tables(names, *pairwise(names))
    jobs = [each for each in graph.nodes if isinstance(each, JobNode)]
    renamed = {each.id: attrs.evolve(each, name=f"app{n % 3}.x{n}") for n, each in enumerate(jobs)}

    def end(id_: str) -> str:
        return renamed[id_].id if id_ in renamed else id_

    edges = (attrs.evolve(e, source=end(e.source), target=end(e.target), job=end(e.job)) for e in graph.edges)
    seen.open(Graph((*graph.nodes[:120], *renamed.values()), tuple(edges)))
    assert seen.script(_BOXES) == ["by app0", "by app1", "by app2", "lake.t0"]


@pytest.mark.parametrize("count", [31, 99, 250])
def test_a_circle_of_tables_in_a_single_schema_opens_with_all_of_them(seen, count: int) -> None:
    names = [f"lake.t{number}" for number in range(count)]
    seen.open(tables(names, *zip(names, [*names[1:], names[0]], strict=True)))
    sizes = "return [...page.picture.boxes.keys()].map((id) => page.lineage.groups.get(id)?.size ?? 1)"
    assert sum(seen.script(sizes)) == count
    assert seen.script("return page.view.scale >= 0.62")


def test_a_group_is_unfolded_by_keys_and_says_so(seen) -> None:
    seen.open(LAYERS, "#level=tables&jobs=0&groups=1")
    assert seen.script("return document.querySelector('#canvas .group').getAttribute('aria-expanded')") == "false"
    seen.script("page.take([...page.picture.boxes.keys()].find((id) => page.lineage.label(id) === 'raw'))")
    press(seen, Keys.ENTER)
    assert seen.script(_BOXES) == ["gold", "raw.a", "raw.b"]


def test_jobs_can_be_hidden_and_lines_between_columns_stay(seen) -> None:
    seen.open(LAYERS, "#level=columns&jobs=0")
    assert (seen.jobs, len(seen.tables)) == ([], 5)
    assert seen.script("return document.querySelectorAll('#canvas .edge').length") == 4


def test_a_click_shows_what_lies_one_hop_further(seen) -> None:
    seen.open(LAYERS, "#focus=raw.a&depth=1&level=tables")
    assert seen.tables == ["gold.fact.c", "raw.a"]
    seen.click("#canvas .hop[data-grow^='<'] circle")
    assert seen.tables == ["gold.fact.c", "raw.a", "raw.b"]
    seen.click("#canvas .hop[data-grow^='>'] circle")
    assert seen.tables == ["gold.fact.c", "gold.fact.d", "raw.a", "raw.b"]
    address = seen.address
    assert seen.open(LAYERS, address).tables == ["gold.fact.c", "gold.fact.d", "raw.a", "raw.b"]


def test_a_line_says_what_it_is_when_it_is_pointed_at_and_clicked(seen) -> None:
    seen.open(LAYERS, "#level=columns&jobs=0")
    titles = "return [...document.querySelectorAll('#canvas .line title')].map((each) => each.textContent).sort()"
    assert seen.script(titles)[0] == "gold.fact.d.x → gold.dim.e.x\ncopied"
    seen.click("#canvas .line .hit")
    assert seen.panel.startswith("Edge\n")
    seen.open(LAYERS, "#level=tables&jobs=0&groups=1").click("#canvas .line .hit")
    assert seen.panel.splitlines()[0] == "Link"
    assert "3 links" in seen.panel
    assert seen.panel.count("by app.") == 3


def test_title_and_heading_name_the_application(seen, first) -> None:
    seen.open(LAYERS)
    heading = "return [document.title, document.querySelector('h1').textContent]"
    assert seen.script(heading) == ["app, lineage", "app: lineage"]
    seen.open(first).click_on("Column", "daily.total")
    assert seen.script(heading) == ["daily.total - shop, lineage", "shop: lineage"]


def test_a_comparison_opens_at_its_changes(seen, first, second) -> None:
    seen.open(second, before=first)
    assert seen.tables == ["clean", "daily", "guessed", "new", "report", "shop.orders", "slow", "wide"]
    before = tables(["a", "b", "c", "d"], ("a", "b"), ("c", "d"))
    after = tables(["a", "b", "c", "d", "e"], ("a", "b"), ("c", "d"), ("d", "e"))
    seen.open(after, before=before)
    assert seen.tables == ["c", "d", "e"]
    seen.click("#all")
    assert seen.tables == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("column", ["daily.total", "clean.amount", "guessed.score", "shop.orders.id", "clean.day"])
def test_the_panel_of_a_column_says_what_the_store_answers(seen, tmp_path: Path, column: str) -> None:
    taken(tmp_path / "s.db", shop())
    with Store.open(tmp_path / "s.db") as store:
        graph = with_diagnostics(store.graph())
        answers = {way: getattr(store, way)(column).result for way in ("upstream", "downstream")}
    told = {
        (found.label(edge.source), found.label(edge.target) + ("" if found.column(edge.target) else " (every row)"))
        for found in answers.values()
        for edge in found.graph.edges
    }

    seen.open(graph, "#indirect=1").script(f"page.go(page.lineage.find('{column}')[0])")

    while seen.script(
        "const more = [...document.querySelectorAll('#panel button')].find((each) => "
        "each.textContent === 'more' && !each.hidden); more?.click(); return Boolean(more)"
    ):
        pass
    items = seen.script(_ITEMS)
    assert {tuple(item.split(" → ")) for item in items} == told


def test_a_table_says_by_what_it_is_made_and_how_many_rows_it_has(seen, tmp_path: Path) -> None:
    events = shop()
    events[3]["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 1234}}
    file, page = tmp_path / "e.ndjson", tmp_path / "p.html"
    file.write_text("".join(json.dumps(each) + "\n" for each in events), encoding="utf-8")
    assert main(["view", str(file), "-o", str(page)]) == 0
    seen.chrome.get(f"{page.as_uri()}#lit=daily")
    assert seen.settled().script("return document.querySelector('#panel .sentence').textContent") == (
        "Made by shop.daily, ✓ COMPLETE 2026-01-01 00:04:00Z (60.0 s) from 1 table; "
        "read by 3 jobs, 3 tables made from it. Last written: 1,234 rows."
    )


_LISTS = """
const found = {};
for (const title of document.querySelectorAll('#panel h3')) {
  const list = title.nextElementSibling;
  if (list?.tagName !== 'UL') continue;
  found[title.textContent.replace(/ \\(\\d+\\)$/, '')] = [...list.querySelectorAll(':scope > li')].map((each) =>
    (each.querySelector('bdi') || each).textContent).sort();
}
return found;
"""


@pytest.mark.parametrize("events", [shop(), company(3, tables=9, jobs=14)], ids=["shop", "company"])
def test_the_panels_of_tables_and_jobs_and_of_all_say_what_the_store_answers(
    seen, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    taken(tmp_path / "s.db", events)
    shown: dict[str, dict[str, list[str]]] = {}
    with Store.open(tmp_path / "s.db") as store:
        seen.open(with_diagnostics(store.graph()))
        every = {row.label: row for row in store.datasets().result}
        jobs = {row.name: row for row in store.jobs().result}
        runs = store.runs(limit=100).result
        found = {name: store.upstream(name, by="table", depth=1).result for name in every}
        links = {
            (reach.label(edge.source), name, reach.job(edge)[1])
            for name, reach in found.items()
            for edge in reach.graph.edges
            if reach.label(edge.target) == name
        }

        def panel(name: str = "") -> dict[str, list[str]]:
            one = f"page.asked.lit = ''; page.go(page.lineage.find('{name}')[0])"
            seen.script(one if name else "document.getElementById('all').click()")
            return dict(seen.script(_LISTS))

        shown = {name: panel(name) for name in (*every, *jobs, "")}

    for name, row in every.items():
        lists = shown[name]
        assert lists.get("Comes from", []) == sorted({source for source, target, _ in links if target == name}), name
        assert lists.get("Goes to", []) == sorted({target for source, target, _ in links if source == name}), name
        assert (len(lists.get("Written by", [])), len(lists.get("Read by", []))) == (row.writers, row.readers), name
        assert lists.get("Written by", []) == sorted({job for _, target, job in links if target == name}), name
    for name, job in jobs.items():
        lists = shown[name]
        assert lists.get("Reads", []) == sorted({source for source, _, by in links if by == name}), name
        assert lists.get("Writes", []) == sorted({target for _, target, by in links if by == name}), name
        assert len(lists["Last runs"]) == job.runs
        assert all(job.last_state in each for each in lists["Last runs"])
    assert shown[""].get("Failed runs", []) == sorted(run.job for run in runs if run.state in ("FAIL", "ABORT"))
    assert shown[""].get("Runs without an end", []) == sorted(run.job for run in runs if run.ended is None)
    counts = seen.script("return document.querySelector('#panel .sentence').textContent")
    assert counts.startswith(f"{len(every)} tables, ")
    assert counts.endswith(f", {len(jobs)} jobs")


def test_owners_are_named_in_the_panels_of_tables_columns_and_jobs(seen, tmp_path: Path) -> None:
    events = shop()
    owners = {"owners": [{"name": "team:sales", "type": "MAINTAINER"}, {"name": "<b>ann</b>"}]}
    events[3]["job"]["facets"]["ownership"] = {"owners": [{"name": "team:finance", "type": "OWNER"}]}
    events[4]["inputs"][0]["facets"]["ownership"] = owners
    alone = {
        "eventTime": events[8]["eventTime"],
        "producer": "p",
        "dataset": {"namespace": "file", "name": "/lake/orders"},
    }
    alone["dataset"]["facets"] = {"ownership": {"owners": [{"name": "team:shop"}, {"type": "nobody"}]}}
    file, page = tmp_path / "e.ndjson", tmp_path / "p.html"
    file.write_text("".join(json.dumps(each) + "\n" for each in [*events, alone]), encoding="utf-8")
    main(["view", str(file), "-o", str(page)])
    seen.chrome.get(page.as_uri())

    def owned(name: str) -> str:
        seen.script(f"page.asked.lit = ''; page.go(page.lineage.find('{name}')[0])")
        return str(seen.script("return document.querySelector('#panel .owners')?.textContent || ''"))

    assert owned("daily") == owned("daily.total") == "Owned by team:sales (MAINTAINER), <b>ann</b>."
    assert owned("shop.daily") == "Owned by team:finance (OWNER)."
    assert owned("shop.orders") == "Owned by team:shop."
    assert (owned("clean"), owned("shop.clean")) == ("", "")


def test_a_column_says_that_its_values_are_masked_on_each_path_into_it(seen) -> None:
    node = [DatasetNode("lake", name, name) for name in ("people", "hashed", "plain")]
    mail, key, both = (ColumnNode(each.id, "mail", "string") for each in node)
    hidden = attrs.evolve(path("TRANSFORMATION"), kind=Kind("DIRECT", "TRANSFORMATION", masking=True))
    edges = (Edge(mail.id, key.id, (hidden,)), Edge(mail.id, both.id, (hidden, path("IDENTITY"))))
    seen.open(Graph((*node, mail, key, both), edges))
    types = "return [...document.querySelectorAll('#canvas .row .type')].map((each) => each.textContent).sort()"
    assert seen.script(types) == ["string", "string", "string, masked"]
    seen.click_on("Column", "people.mail")
    assert "computed, masked" in seen.panel


def test_what_is_called_so_is_found_before_what_is_part_of_it(seen) -> None:
    node = DatasetNode("lake", "bronze.rates", "bronze.rates")
    columns = [ColumnNode(node.id, name) for name in ("product", "ratio", "rated")]
    seen.open(Graph((node, *columns), ()))
    press(seen, "/", "rat")
    found = "return [...document.querySelectorAll('#results bdi')].map((each) => each.textContent)"
    assert seen.script(found) == ["bronze.rates", *("bronze.rates.ratio", "bronze.rates.rated"), "bronze.rates.product"]


HARD = {
    "one table": tables(["t"]),
    "cycle": tables(["a", "b", "c"], ("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")),
    "two thousand columns": Graph(
        (DatasetNode("lake", "t", "t"), *(ColumnNode("dataset|lake|t", f"c{number}") for number in range(2000))), ()
    ),
    "right to left": tables(["שלום.עולם", "مرحبا.العالم\u202e"], ("שלום.עולם", "مرحبا.العالم\u202e")),
    "long": tables(["s." + "n" * 400, "x" * 400 + ".t"], ("s." + "n" * 400, "x" * 400 + ".t")),
    "markup": tables(["<b>.<i>x</i>", "__proto__.constructor", "a\nb.c\nd"], ("<b>.<i>x</i>", "__proto__.constructor")),
    "dots alone": tables(["...", ".", "/", "a//b/"], ("...", ".")),
}


@pytest.mark.parametrize("graph", HARD.values(), ids=HARD.keys())
@pytest.mark.parametrize(
    "address",
    ["", "#groups=1&level=tables&jobs=0", "#level=columns"],
)
def test_hard_graphs_are_shown_and_all_that_is_in_them_can_be_clicked(seen, graph: Graph, address: str) -> None:
    seen.open(graph, address)
    assert seen.script("return page.picture.boxes.size") > 0
    for number in range(min(8, seen.script("return document.querySelectorAll('#canvas [data-id]').length"))):
        seen.script(_CLICK_ON, number)
        seen.settled()
    assert seen.script("return document.querySelectorAll('#canvas b, #canvas i, #panel b, #panel i').length") == 0


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the script of axe-core, which npm brings."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm, which brings axe-core")
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PAGE / name, folder)
    install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefer-offline"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ})
    if done.returncode:
        pytest.skip(f"npm can't install axe-core: {done.stderr.strip()[:300]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text("utf-8")


def test_axe_finds_nothing(seen, first, second, axe: str) -> None:
    def found(graph: Graph, address: str = "", **more: Any) -> list[str]:
        seen.open(graph, address, **more)
        seen.script(axe)
        violations, passed = seen.chrome.execute_async_script(_AXE)
        assert passed > 15
        return list(violations)

    assert found(first) == []
    assert found(first, "#lit=daily.total&indirect=1") == []
    assert found(LAYERS, "#groups=1&level=tables&jobs=0") == []
    assert found(LAYERS, "#focus=raw.a&depth=1") == []
    assert found(second, before=first) == []
