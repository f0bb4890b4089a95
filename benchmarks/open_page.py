"""
How fast the page of a large graph opens, and how long its frames take: in a headless Chromium, on made-up tables.

Run it with the interpreter of an environment that has the package and selenium, in the root of the repository.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from openlineage_pyspark.workbench.page.html import page_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.browser import started
from support.large_graph import large_graph
from support.page_speed import ACTIONS, frames, opened

_FRAMES = 90
_UNFOLD = """
const begin = performance.now();
page.goToGroup([...page.picture.boxes.keys()][0], 'open');
return performance.now() - begin;
"""
_CLICK = """
const begin = performance.now();
page.go(page.lineage.datasets.get(page.lineage.busiest()).columns[0].id);
return performance.now() - begin;
"""
_TYPE = """
const begin = performance.now(), box = document.getElementById('search');
box.value = 'table_19'; box.dispatchEvent(new Event('input'));
return performance.now() - begin;
"""


def measured(tables: int) -> dict[str, Any]:
    """
    Open the page of a large graph and use it.

    Args:
        tables: how many tables it has.

    Returns:
        What was measured, in milliseconds unless its name says otherwise.
    """
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as browser:
        path = Path(folder, "large.html")
        path.write_text(page_of(large_graph(tables)), encoding="utf-8")
        begin = time.perf_counter()
        browser.get(path.as_uri())
        found: dict[str, Any] = {
            "file, MB": path.stat().st_size / 1e6,
            "open, whole": (time.perf_counter() - begin) * 1000,
            "open, as the page says": opened(browser),
            "boxes shown": browser.execute_script("return page.picture.boxes.size"),
            "elements drawn": browser.execute_script("return document.querySelectorAll('#canvas *').length"),
            "search, one key": browser.execute_script(_TYPE),
            **_frames(browser, "all of it"),
            "click on a group": browser.execute_script(_UNFOLD),
            **_frames(browser, "a group unfolded"),
            "click on a column": browser.execute_script(_CLICK),
        }
        found |= _frames(browser, "a column lit")
        errors = [entry["message"] for entry in browser.get_log("browser")]
        if errors:
            raise SystemExit(f"the console says: {errors}")
        return found


def _frames(browser: Any, what: str) -> dict[str, float]:
    """Return below how many milliseconds 95 % of the frames are while what is shown is moved and enlarged."""
    return {f"{what}, {action}": frames(browser, action, _FRAMES)[1] for action in ACTIONS}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=5000, help="how many tables of ten columns; default: 5000")
    for name, value in measured(parser.parse_args().tables).items():
        print(f"{name:28} {value:10.1f}")


if __name__ == "__main__":
    main()
