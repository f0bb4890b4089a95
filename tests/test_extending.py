"""The examples of docs/extending.md, installed as a distribution of somebody else's and used."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark import DeliveryError, Event, TransportError, open_transport
from openlineage_pyspark.facets.datasets.source import SOURCES, Session
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import contribute, providers
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, Output, Plan
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.probe import readings
from openlineage_pyspark.transport.delivery.worker import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
LONGEST = 30


def block(section: str, language: str) -> str:
    """Return the one block of a language in a section of the page."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", SECTIONS[section], re.DOTALL | re.MULTILINE)
    return text


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the modules of the page, and their entry points, as pip would."""
    metadata = tmp_path / "shop_lineage-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-lineage\nVersion: 1.0\n", "utf-8")
    lines: list[str] = []
    modules = []
    for section, text in SECTIONS.items():
        group, name, target = re.findall(r'^\[project\.entry-points\."(.*)"\]\n(\w+) = "(.*)"$', text, re.MULTILINE)[0]
        lines += [f"[{group}]", f"{name} = {target}"]
        modules.append(target.partition(":")[0])
        # Another test may have one of this name.
        sys.modules.pop(modules[-1], None)
        assert f"`{modules[-1]}.py`:" in text
        (tmp_path / f"{modules[-1]}.py").write_text(block(section, "python"), "utf-8")
    (metadata / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for module in modules:
        sys.modules.pop(module, None)


@pytest.mark.parametrize("section", SECTIONS)
def test_an_example_fits_on_a_page(section: str) -> None:
    code = [line for line in block(section, "python").splitlines() if line.strip()]

    assert len(code) <= LONGEST


def test_the_provider_of_the_page_adds_its_facets(
    installed: None,
    full_run,
    specification,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RELEASE", "2026.4")
    start, _ = full_run

    event = json.loads(serialise(build_event(start, EventOptions(), tuple(contribute(p, start) for p in providers()))))

    assert event["run"]["facets"]["shop_release"]["version"] == "2026.4"
    assert event["outputs"][0]["outputFacets"]["shop_review"]["needed"] is True
    custom = {("RunFacet", "shop_release"), ("OutputDatasetFacet", "shop_review")}
    assert specification.violations([event], custom=custom) == []


def test_the_transport_of_the_page_is_opened_by_its_name_and_gets_the_events(
    installed: None,
    tmp_path: Path,
) -> None:
    box = tmp_path / "box"
    box.mkdir()
    event = Event("0190a000-0000-7000-8000-000000000002", "START", b'{"eventType":"START"}')
    delivery = Delivery(open_transport("mailbox", {"directory": str(box)}))

    delivery.submit(event)

    assert delivery.close(60) == 0
    assert {file.name: file.read_bytes() for file in box.iterdir()} == {f"{event.id}.json": event.body}


def test_the_transport_of_the_page_fails_as_a_transport_must(
    installed: None,
    tmp_path: Path,
) -> None:
    with pytest.raises(DeliveryError, match=r"^spark\.openlineage\.transport\.directory is not set\. Name a directory"):
        open_transport("mailbox", {})
    transport = open_transport("mailbox", {"directory": str(tmp_path / "absent")})
    with pytest.raises(TransportError) as raised:
        transport.send(Event("0190a000-0000-7000-8000-000000000002", "START", b"{}"))
    assert raised.value.retryable


def test_the_source_of_the_page_names_what_is_read(
    installed: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for registry in ("_rules", "_full_names", "readings"):
        monkeypatch.setattr(SOURCES, registry, dict(getattr(SOURCES, registry)))
    readings.load_plugins.cache_clear()
    relation = Described("com.example.orders.OrdersRelation", {"server": "host:1", "table": "paid"})
    leaf = Operator(
        "LogicalRelation",
        "org.apache.spark.sql.execution.datasources.LogicalRelation",
        {"relation": relation},
        (Output(1, "id"),),
    )

    read_by_the_probe = readings.table().split("\n")
    found = lineage_of_plan(Plan((leaf,), (), {1: Attribute("id", "int")}), Session("file:/warehouse"))
    readings.load_plugins.cache_clear()

    assert "describe\tcom.example.orders.OrdersRelation\tserver\toptions.server" in read_by_the_probe
    assert [(each.identifier.namespace, each.identifier.name) for each in found.inputs] == [("orders://host:1", "paid")]
    assert found.gaps == ()
