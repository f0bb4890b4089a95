"""
Takes the pictures of docs/page.md and docs/notebook.md, in a headless Chromium.

Run it with the interpreter of an environment that has the package and selenium, in the root of the repository. The
picture of the notebook needs PySpark, nbconvert and ipykernel too. With --marquez it takes that of Marquez's own page,
to which it sends the demo's events first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs
import requests
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.page.html import page_of
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.report import lineage_of
from openlineage_pyspark.workbench.store_api import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import recorded_plans
from support.browser import started
from support.large_graph import large_graph
from support.lineage_events import taken
from support.marquez_graph import columns_of, flows_of, told_of
from support.notebooks import execute
from support.shop import later, shop

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph
    from selenium import webdriver

ROOT = Path(__file__).parents[1]
_DELAY = "default.carrier_scorecard.mean_arrival_delay"
_EMAIL = "landing/pilots.csv.email"
_SCORECARD = "/demo/warehouse/carrier_scorecard"
_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
_OPEN = "document.querySelectorAll('#panel details').forEach((each) => { each.open = true; })"
_DRAWN = "return document.querySelectorAll('[data-testid=zoom-pan-group] :is(text, foreignObject)').length"
_PATIENCE_SECONDS = 30
_CELLS = {
    "begin": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("notebook").getOrCreate()
spark.sql("CREATE TABLE customers (id BIGINT, name STRING, country STRING) USING parquet")
spark.sql("CREATE TABLE orders (id BIGINT, customer BIGINT, amount DOUBLE, status STRING) USING parquet")
%load_ext openlineage_pyspark
""",
    "ask": """
%%lineage
CREATE TABLE revenue USING parquet AS
SELECT c.country, sum(o.amount) AS net, count(DISTINCT md5(c.name)) AS buyers
FROM orders o JOIN customers c ON o.customer = c.id
WHERE o.status = 'paid'
GROUP BY c.country
""",
}
_WITHOUT_LOG = "<style>[data-mime-type='application/vnd.jupyter.stderr'] {display: none}</style>"
_LAYERS = ("raw", "stg", "int", "dim", "fct", "mart")
_LISTENING = {"spark.openlineage.transport.type": "file"}


@attrs.frozen
class Shot:
    """
    A picture to take.

    Args:
        page: the page; its URL if it begins with `http`.
        address: what follows its address.
        dark: whether the user likes dark colours.
        size: of the window, in pixels.
        script: what is done with it first.
        wait_for: a script whose answer is true as soon as it can be seen.
    """

    page: str
    address: str = ""
    dark: bool = False
    size: tuple[int, int] = (1280, 720)
    script: str = ""
    wait_for: str = ""

    def take(self, browser: webdriver.Chrome, folder: Path, target: Path) -> None:
        """Open the page in a browser, and write what is on the screen as PNG."""
        width, height = self.size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1.5, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        colours = [{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
        if self.page.startswith("http"):
            browser.get(self.page)
        else:
            path = folder / f"{target.stem}.html"
            path.write_text(self.page, encoding="utf-8")
            browser.get(path.as_uri() + self.address)
        end = time.monotonic() + _PATIENCE_SECONDS
        while self.wait_for and not browser.execute_script(self.wait_for):
            if time.monotonic() > end:
                raise SystemExit(f"{self.page} shows nothing")
            time.sleep(0.2)
        if self.wait_for:
            # Marquez's page moves its picture into place, and has no sign for the end of that.
            time.sleep(3)
        browser.execute_async_script(_FRAMES)
        if self.script:
            browser.execute_script(self.script)
        browser.save_screenshot(str(target))


def graph_of_events(events: list[dict[str, Any]]) -> Graph:
    """Return the graph of events."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lineage.db")
        taken(path, events)
        with Store.open(path) as store:
            return with_diagnostics(store.graph())


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the events of the demo, as if its folder were `/demo`: the pictures are the same wherever it has run."""
    text = path.read_text(encoding="utf-8").replace(str(path.resolve().parent), "/demo")
    return [json.loads(line) for line in text.splitlines()]


def pictures(events: Path) -> dict[str, Shot]:
    """
    Return the pictures of our page, by their names.

    Args:
        events: the events of the demo.
    """
    demo = page_of(graph_of_events(events_of(events)))
    first, second = graph_of_events(shop()), graph_of_events([*shop(), *later()])
    return {
        "demo": Shot(demo, f"#lit={_DELAY}"),
        "overview": Shot(demo),
        "masked": Shot(demo, f"#focus={_EMAIL}&lit={_EMAIL}&depth=all&indirect=1"),
        "tables": Shot(demo, "#lit=default.daily_operations.worst_delay", dark=True),
        "states": Shot(page_of(first)),
        "compared": Shot(page_of(second, before=first)),
        "ways": Shot(page_of(statement()), "#lit=%28query%29.max_ts&parts=1", script=_OPEN),
        "groups": Shot(page_of(large_graph(5000))),
        "one-schema": Shot(page_of(large_graph(300, name=_in_layers))),
        "large": Shot(page_of(large_graph(2000)), "#focus=db20.table_100&depth=1&level=tables"),
    }


def beside_marquez(url: str, events: Path) -> dict[str, Shot]:
    """
    Send the events of the demo to Marquez, and return the picture of its page.

    Args:
        url: of Marquez's page, which also answers for its API.
        events: the events of the demo.

    Raises:
        SystemExit: Marquez tells another graph than ours.
    """
    posted = events_of(events)
    for event in posted:
        requests.post(f"{url}/api/v1/lineage", json=event, timeout=60).raise_for_status()
    graph = graph_of_events(posted)

    def ask(path: str, **query: Any) -> Any:
        answer = requests.get(f"{url}/api/v1/{path}", params=query, timeout=60)
        answer.raise_for_status()
        return answer.json()

    if told_of(graph, ask) != (flows_of(graph), columns_of(graph)):
        raise SystemExit("Marquez has another graph: does it know of other runs of this demo?")
    place = f"file/{quote(_SCORECARD, safe='')}"
    column = quote(f"datasetField:file:{_SCORECARD}:mean_arrival_delay", safe="")
    size = (1000, 620)
    return {
        "marquez-columns": Shot(
            f"{url}/datasets/column-level/{place}?depth=20&column={column}", size=size, wait_for=_DRAWN
        ),
    }


def _in_layers(number: int) -> str:
    """Return the name of one of 300 tables in a schema, whose names begin with those of their layers."""
    return f"lake.{_LAYERS[number * len(_LAYERS) // 300]}_table_{number}"


def statement() -> Graph:
    """Return the graph of a statement with a CTE and a function of Python, from its recorded plan."""
    plan = decode_plan(recorded_plans.read("4.3", "graph")["cte-grouped-function"])
    return lineage_of(lineage_of_plan(plan, session_settings_of(plan, None), paths=True), plan).graph()


def notebook() -> str:
    """Return the page of a notebook that is executed for it."""
    with tempfile.TemporaryDirectory() as folder:
        execute(Path(folder), _CELLS, conf=_LISTENING | {"spark.openlineage.transport.location": f"{folder}/events"})
        return Path(folder, "done.html").read_text(encoding="utf-8").replace("</head>", f"{_WITHOUT_LOG}</head>", 1)


def main() -> None:
    """Take the pictures, and name the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events", type=Path, default=ROOT / "demo-output" / "events.ndjson", help="those of ./run demo"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures", help="default: docs/pictures")
    parser.add_argument("--notebook", action="store_true", help="only the picture of the notebook")
    parser.add_argument("--marquez", metavar="URL", help="only that of Marquez's page, which is there")
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    if options.marquez:
        shots = beside_marquez(options.marquez.rstrip("/"), options.events)
    else:
        shots = {} if options.notebook else pictures(options.events)
        shots["notebook"] = Shot(notebook(), "#cell-id=ask", size=(1000, 720))
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as browser:
        # Marquez's page asks for its fonts there, and would wait for them.
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*fonts.googleapis.com*"]})
        for name, shot in shots.items():
            target = options.output / f"{name}.png"
            shot.take(browser, Path(folder), target)
            sys.stdout.write(f"{target}\n")


if __name__ == "__main__":
    main()
