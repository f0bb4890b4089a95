"""Tables and permanent views are opened in a real Marquez by the names that people know, and are in one graph."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest

pytestmark = pytest.mark.marquez

NAMES = ["air.flights", "air.late", "air.later", "air.report"]
FLIGHTS, REPORT = "warehouse/air.db/flights", "warehouse/air.db/report"
GRAPH = {
    ("make flights", FLIGHTS),
    (FLIGHTS, "make late"),
    ("make late", "air.late"),
    (FLIGHTS, "make later"),
    ("air.late", "make later"),
    ("make later", "air.later"),
    (FLIGHTS, "make report"),
    ("air.late", "make report"),
    ("air.later", "make report"),
    ("make report", REPORT),
}
COLUMNS = {
    "air.late": {(f"{FLIGHTS} id", "air.late flight"), (f"{FLIGHTS} delay", "air.late delay")},
    "air.later": {(f"{FLIGHTS} id", "air.later flight"), (f"{FLIGHTS} delay", "air.later more")},
    "air.report": {(f"{FLIGHTS} delay", f"{REPORT} worst")},
}


@attrs.frozen
class Opened:
    """
    Questions to Marquez about what a job made.

    Args:
        job: the job, which has ended.
        marquez: the server.
    """

    job: Any
    marquez: Any

    def node(self, name: str) -> str:
        """Give the node of a table or view by its name."""
        return f"dataset:file://{self.job.folder}/warehouse:{name}"

    def short(self, edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Give edges with names as short as they can be."""
        return {(self._short(origin), self._short(destination)) for origin, destination in edges}

    def _short(self, name: str) -> str:
        name = re.sub(r"^job:tables:tables\..*\.air_(\w+)$", r"make \1", name).removeprefix("dataset:")
        for prefix in (f"file://{self.job.folder}/warehouse:", "file:", f"{self.job.folder}/"):
            name = name.removeprefix(prefix)
        return name


@pytest.fixture(scope="module")
def opened(sending: Any, marquez: Any) -> Opened:
    with sending.start("tables.py", "tables") as job:
        return Opened(job.end(), marquez)


def test_every_event_is_taken(opened: Opened) -> None:
    assert (opened.job.code, opened.job.stdout) == (0, "")
    assert [line for status, line in opened.marquez.answers() if status != 201] == []
    assert len(opened.job.events()) == 2 * (1 + len(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_table_or_view_has_the_whole_graph_under_its_name(opened: Opened, name: str) -> None:
    """The graph shows who uses a view, and which tables it reads."""
    assert opened.short(opened.marquez.lineage(opened.node(name))) == GRAPH


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_or_view_has_the_graph_of_its_columns_under_its_name(opened: Opened, name: str) -> None:
    assert opened.short(opened.marquez.column_lineage(opened.node(name))) == COLUMNS[name]
