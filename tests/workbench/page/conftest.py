"""A browser for all tests of the page, and what they do with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.model.graph import Graph
from openlineage_pyspark.workbench.page.html import page_of
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.store_api import Store
from support import browser
from support.lineage_events import taken
from support.shop import later, shop

_PATIENCE_SECONDS = 60
_SHOWN = "return [...document.querySelectorAll(arguments[0])].map((each) => each.getAttribute('aria-label'))"
_CLICK = """
document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: arguments[1]}))
"""
_PLACE = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]"
# The page draws what the address says when it hears of it, which may be later than the change.
_MOVE = f"window.addEventListener('popstate', () => {{{browser.FRAMES}}}, {{once: true}}); "


class Seen:
    """A page as somebody sees it who has it open."""

    def __init__(self, chrome: Any, folder: Path, downloads: Path) -> None:
        self.chrome = chrome
        self.downloads = downloads
        self._folder = folder
        self._number = 0

    def open(self, graph: Graph, address: str = "", **more: Any) -> Seen:
        """Open the page of a graph."""
        self._number += 1
        path = self._folder / f"page{self._number}.html"
        path.write_text(page_of(graph, **more), encoding="utf-8")
        self.chrome.get(path.as_uri() + address)
        return self.settled()

    def go(self, address: str) -> Seen:
        """Follow a link to another part of the same page."""
        self.chrome.execute_async_script(f"{_MOVE} location.hash = arguments[0]", address)
        return self

    def back(self) -> Seen:
        """Go back to what the page showed before."""
        self.chrome.execute_async_script(f"{_MOVE} history.back()")
        return self

    def settled(self) -> Seen:
        """Wait until the next frames are drawn."""
        self.chrome.execute_async_script(browser.FRAMES)
        return self

    def script(self, text: str, *arguments: Any) -> Any:
        """Run a script of the test's own."""
        return self.chrome.execute_script(text, *arguments)

    def all(self, selector: str) -> list[str]:
        """Return the labels of elements that are on the screen, sorted."""
        return sorted(self.script(_SHOWN, selector))

    @property
    def tables(self) -> list[str]:
        """Return the names of the tables that are shown."""
        return sorted(label.removeprefix("Table ") for label in self.all("#canvas .box"))

    @property
    def jobs(self) -> list[str]:
        """Return the names of the jobs that are shown."""
        return sorted(label.removeprefix("Job ").split(",")[0] for label in self.all("#canvas .job"))

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that are shown."""
        return [label.split(" ")[1] for label in self.all("#canvas .row")]

    @property
    def lit(self) -> list[str]:
        """Return the names of the columns that are lit."""
        return [label.split(" ")[1] for label in self.all("#canvas .row.lit")]

    @property
    def panel(self) -> str:
        """Return the text of the side panel."""
        return str(self.script("return document.getElementById('panel').innerText"))

    @property
    def address(self) -> str:
        """Return what follows the `#` of the address."""
        return str(self.script("return location.hash"))

    @property
    def place(self) -> str:
        """Return where the picture stands."""
        return str(self.script("return document.querySelector('#canvas .scene').getAttribute('transform')"))

    def click(self, selector: str, *, shift: bool = False) -> Seen:
        """Click on an element."""
        self.script(_CLICK, selector, shift)
        return self.settled()

    def click_on(self, what: str, name: str, *, shift: bool = False) -> Seen:
        """Click on a column, a table or a job."""
        return self.click(f'#canvas [role=button][aria-label^="{what} {name}"]', shift=shift)

    def choose(self, control: str, value: str) -> Seen:
        """Choose a value of a control."""
        change = "const e = document.getElementById(arguments[0]); e.value = arguments[1]; "
        self.script(change + "e.dispatchEvent(new Event('change'))", control, value)
        return self.settled()

    def rectangle(self, selector: str) -> list[float]:
        """Return an element's x, y, width and height on the screen."""
        return [float(each) for each in self.script(_PLACE, selector)]

    def saved(self, name: str) -> bytes:
        """Wait for a file that the page saves, and return what is in it."""
        path = self.downloads / name
        end = time.monotonic() + _PATIENCE_SECONDS
        while not (path.exists() and path.stat().st_size) and time.monotonic() < end:
            time.sleep(0.02)
        content = path.read_bytes()
        # The browser would give the next file of this name another one.
        path.unlink()
        return content


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """Start a browser once for all tests."""
    if browser.found() is None:
        pytest.skip("there is no Chromium, or no chromedriver: apt-get install chromium-driver")
    downloads = tmp_path_factory.mktemp("downloads")
    with browser.started(downloads) as started:
        yield started, downloads


@pytest.fixture
def seen(chrome: tuple[Any, Path], tmp_path: Path) -> Iterator[Seen]:
    """Give a page to open; at its end the console must be empty."""
    driver, downloads = chrome
    driver.get_log("browser")
    yield Seen(driver, tmp_path, downloads)
    assert [entry["message"] for entry in driver.get_log("browser")] == []


@pytest.fixture(scope="session")
def of_events(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Graph]:
    """Give what makes the graph of events."""

    def made(events: list[dict[str, Any]]) -> Graph:
        path = tmp_path_factory.mktemp("store") / "store.db"
        taken(path, events)
        with Store.open(path) as store:
            return with_diagnostics(store.graph())

    return made


@pytest.fixture(scope="session")
def first(of_events: Callable[..., Graph]) -> Graph:
    """Give the shop's graph."""
    return of_events(shop())


@pytest.fixture(scope="session")
def second(of_events: Callable[..., Graph]) -> Graph:
    """Give the shop's graph of the next day."""
    return of_events([*shop(), *later()])
