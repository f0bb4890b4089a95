"""The page as a file: what a browser may run of it, and what stands in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.answer import answer_of_graph
from openlineage_pyspark.workbench.model.graph import DatasetNode, Graph
from openlineage_pyspark.workbench.page.html import LIBRARY, page_of

ROOT = Path(__file__).parents[3]
EMPTY = Graph((), ())
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "' onload='alert(1)",
    "\u202egnp.exe",
    "x" * 10_000,
    "line\nend\u2028",
    "שלום",
)


class Elements(HTMLParser):
    """The elements of a page with their attributes and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._open = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

        self._open = True

    def handle_endtag(self, _tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self.found and self._open:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_library_is_the_one_that_the_lock_names() -> None:
    pinned = json.loads((ROOT / "workbench" / "page" / "package.json").read_text())["bundled"]["dist/dagre.min.js"]
    bundled = resources.files("openlineage_pyspark.workbench.page").joinpath(LIBRARY).read_bytes()

    assert (
        hashlib.sha256(bundled).hexdigest()
        == pinned
        == ("54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578")
    )


def test_the_librarys_licence_travels_with_the_wheel_and_with_each_page() -> None:
    licence = resources.files("openlineage_pyspark.workbench.page").joinpath("vendor/dagre-LICENSE.txt").read_text()

    assert "Permission is hereby granted, free of charge" in licence
    assert licence.strip() in page_of(EMPTY)


def test_a_browser_runs_the_scripts_of_the_page_and_no_others_and_loads_nothing() -> None:
    page = Elements(page_of(EMPTY, before=EMPTY, around="a"))
    (policy,) = [each["content"] for each, _ in page.all("meta") if "http-equiv" in each]
    scripts = [text for attributes, text in page.all("script") if "type" not in attributes]
    ((_, style),) = page.all("style")

    assert policy == (
        f"default-src 'none'; script-src {digest(scripts[0])} {digest(scripts[1])}; style-src {digest(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    assert len(scripts) == 2
    assert [name for _, attributes, _ in page.found for name in attributes if name in ("src", "href", "style")] == []
    assert [name for _, attributes, _ in page.found for name in attributes if name.startswith("on")] == []


def test_the_scripts_hold_nothing_that_ends_their_element() -> None:
    page = page_of(EMPTY)

    assert len(re.findall("</script", page, re.IGNORECASE)) == page.count("<script") == 3
    assert "<!--" not in page


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_data(name: str) -> None:
    graph = Graph((DatasetNode(name, name, name),), ())
    page = Elements(page_of(graph, around=name))
    data = {attributes["id"]: json.loads(text) for attributes, text in page.all("script") if "type" in attributes}

    assert data == {"graph": answer_of_graph(graph).to_dict(), "around": name}
    assert [tag for tag, _, _ in page.found] == [tag for tag, _, _ in Elements(page_of(EMPTY, around="a")).found]


def test_a_page_is_small_beside_its_data() -> None:
    assert len(page_of(EMPTY).encode()) < 200_000


def test_the_same_graph_gives_the_same_page() -> None:
    graph = Graph((DatasetNode("n", "a", "a"),), ())

    assert page_of(graph) == page_of(graph)
