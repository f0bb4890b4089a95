"""
Takes the pictures of docs/page.md and docs/notebook.md, in a headless Chromium.

Run it with the interpreter of an environment that has the package and selenium, in the root of the repository. The
picture of the notebook needs PySpark, nbconvert and ipykernel too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.facets.report import lineage_of
from openlineage_pyspark.listener.analyses import session_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.page.html import page_of
from openlineage_pyspark.store.answers import Store
from openlineage_pyspark.store.events.ingest import lines_of, take
from openlineage_pyspark.store.sqlite import Database

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import recorded_plans
from support.browser import started
from support.large_graph import large_graph
from support.lineage_events import taken
from support.notebooks import execute
from support.shop import later, shop

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.graph.model import Graph

ROOT = Path(__file__).parents[1]
_SCORECARD = "#focus=default.carrier_scorecard&depth=all&lit=default.carrier_scorecard.mean_arrival_delay"
_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
_OPEN = "document.querySelectorAll('#panel details').forEach((each) => { each.open = true; })"
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
_LISTENING = {"spark.openlineage.transport.type": "file"}


def graph_of(fill: Callable[[Path], Any]) -> Graph:
    """Return the graph of a store that is filled for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lineage.db")
        fill(path)
        with Store.open(path) as store:
            return store.graph()


def _fill_from(events: Path) -> Callable[[Path], None]:
    def fill(path: Path) -> None:
        with Database(path) as database:
            take(database, lines_of(events))

    return fill


def pictures(events: Path) -> dict[str, tuple[str, str, bool]]:
    """
    Return the pictures: a name -> the page, what follows its address, and whether it is dark.

    Args:
        events: the events of the demo.
    """
    demo = page_of(graph_of(_fill_from(events)))
    first, second = graph_of(lambda path: taken(path, shop())), graph_of(lambda path: taken(path, [*shop(), *later()]))
    return {
        "demo": (demo, _SCORECARD, False),
        "tables": (demo, "#level=tables&lit=default.daily_operations.worst_delay", True),
        "states": (page_of(first), "", False),
        "compared": (page_of(second, before=first), "", False),
        "ways": (page_of(statement()), "#lit=%28query%29.max_ts&parts=1", False),
        "large": (page_of(large_graph(2000)), "#focus=db20.table_100&depth=1", False),
    }


def statement() -> Graph:
    """Return the graph of a statement with a CTE and a function of Python, from its recorded plan."""
    plan = decode_plan(recorded_plans.read("4.3", "graph")["cte-grouped-function"])
    return lineage_of(lineage_of_plan(plan, session_of(plan, None), paths=True), plan).graph()


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
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    made = {} if options.notebook else pictures(options.events)
    made["notebook"] = (notebook(), "#cell-id=ask", False)
    for dark in (False, True):
        with tempfile.TemporaryDirectory() as folder, started(Path(folder), size="1400,820", dark=dark) as browser:
            for name, (page, address, is_dark) in made.items():
                if is_dark is dark:
                    path = Path(folder, f"{name}.html")
                    path.write_text(page, encoding="utf-8")
                    browser.get(path.as_uri() + address)
                    browser.execute_async_script(_FRAMES)
                    if name == "ways":
                        browser.execute_script(_OPEN)
                    browser.save_screenshot(str(options.output / f"{name}.png"))
                    sys.stdout.write(f"{options.output / name}.png\n")


if __name__ == "__main__":
    main()
