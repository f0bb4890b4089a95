"""Users add facets of their own through an entry point, and a faulty provider costs only its own."""

from __future__ import annotations

import json

import attrs
import pytest
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    documentation_job,
)
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import CustomFacets, Provider, contribute, failed, providers
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.events.read import facets_of

ORDERS = Identifier("s3://shop", "warehouse/orders")
TOTALS = Identifier("file", "/data/totals")
EVERYWHERE = CustomFacets(
    run={"shop_night": RunFacet()},
    job={"shop_job": JobFacet()},
    inputs={ORDERS: {"shop_age": DatasetFacet(), "shop_read": InputDatasetFacet()}},
    outputs={TOTALS: {"shop_kept": DatasetFacet(), "shop_written": OutputDatasetFacet()}},
)
NAMES = {
    ("RunFacet", "shop_night"),
    ("JobFacet", "shop_job"),
    ("DatasetFacet", "shop_age"),
    ("InputDatasetFacet", "shop_read"),
    ("DatasetFacet", "shop_kept"),
    ("OutputDatasetFacet", "shop_written"),
}


@attrs.define
class Loose(RunFacet):
    value: object = attrs.field(kw_only=True)


def gives(facets):
    return Provider("shop", lambda: lambda _state: facets)


def as_json(state, *contributions, options=None):
    return json.loads(serialise(build_event(state, options or EventOptions(), contributions)))


def test_facets_of_a_provider_stand_where_it_puts_them(full_run, specification):
    event = as_json(full_run[0], contribute(gives(EVERYWHERE), full_run[0]))
    assert specification.violations([event], custom=NAMES) == []
    orders, rates = event["inputs"]
    assert "shop_night" in event["run"]["facets"]
    assert "shop_job" in event["job"]["facets"]
    assert "shop_age" in orders["facets"]
    assert orders["inputFacets"].keys() == {"shop_read"}
    assert "inputFacets" not in rates
    assert "shop_kept" in event["outputs"][0]["facets"]
    assert event["outputs"][0]["outputFacets"].keys() == {"shop_written"}


def test_a_facet_of_a_provider_is_disabled_by_its_name_like_any_other(full_run):
    options = EventOptions(disabled=frozenset(name for _, name in NAMES))
    event = as_json(full_run[0], contribute(gives(EVERYWHERE), full_run[0]), options=options)
    assert {name for _, (_, name), _ in facets_of(event) if name.startswith("shop_")} == set()


def test_the_facets_of_a_provider_do_not_change_once_they_are_given():
    facets = {"a": RunFacet()}
    given = CustomFacets(run=facets, inputs={ORDERS: facets})
    facets.clear()
    assert (list(given.run), list(given.inputs[ORDERS])) == (["a"], ["a"])
    with pytest.raises(TypeError, match="does not support item assignment"):
        given.run["b"] = RunFacet()  # type: ignore[index]


def test_a_facet_of_a_provider_takes_the_place_of_one_of_the_same_name(full_run):
    said = CustomFacets(job={"documentation": documentation_job.DocumentationJobFacet(description="better")})
    options = EventOptions(job_documentation="good")
    event = as_json(full_run[0], contribute(gives(said), full_run[0]), options=options)
    assert event["job"]["facets"]["documentation"]["description"] == "better"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ({}, TypeError, r"it returned a dict: return a CustomFacets"),
        (
            CustomFacets(run={"a": JobFacet()}),
            TypeError,
            "its run facet 'a' is a JobFacet: make it a RunFacet",
        ),
        (
            CustomFacets(inputs={ORDERS: {"a": OutputDatasetFacet()}}),
            TypeError,
            "its input facet 'a' is a OutputDatasetFacet: make it a DatasetFacet or InputDatasetFacet",
        ),
        (CustomFacets(run={"a": Loose(value={1})}), TypeError, r"a facet holds a builtins\.set"),
        (CustomFacets(run={"a": Loose(value=float("nan"))}), ValueError, "not JSON compliant"),
        (
            CustomFacets(inputs={TOTALS: {}}),
            ValueError,
            "input facets for file /data/totals, which is not an input",
        ),
        (
            CustomFacets(outputs={ORDERS: {}}),
            ValueError,
            "for s3://shop warehouse/orders, which is not an output",
        ),
    ],
)
def test_an_answer_that_can_not_be_sent_is_refused_with_what_is_wrong(full_run, answer, error, message):
    with pytest.raises(error, match=message):
        contribute(gives(answer), full_run[0])


def test_a_provider_that_failed_is_named_and_the_event_is_whole(full_run, specification):
    state = attrs.evolve(full_run[0], gaps=())
    event = as_json(state, failed(gives(None), "KeyError"))
    assert specification.violations([event]) == []
    facet = event["run"]["facets"]["extractionError"]
    assert [(error["task"], error["errorMessage"]) for error in facet["errors"]] == [
        ("facet provider shop", "its facets are missing: KeyError, see the log")
    ]
    assert "columnLineage" in event["outputs"][0]["facets"]


def test_providers_are_found_by_entry_point_in_the_order_of_their_names(full_run, tmp_path, monkeypatch):
    """A broken provider is found as well, and raises only when it is called."""
    (tmp_path / "shop_facets.py").write_text(
        "from openlineage.client.facet_v2 import RunFacet\n"
        "from openlineage_pyspark.facets.events.providers import CustomFacets\n"
        "def night(state):\n"
        "    return CustomFacets(run={'shop_' + state.event_type: RunFacet()})\n"
    )
    metadata = tmp_path / "shop-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[openlineage_pyspark.facets]\nshop_b = shop_facets:night\nshop_a = shop_facets:day\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    broken, good = (provider for provider in providers() if provider.name.startswith("shop_"))
    assert (broken.name, good.name) == ("shop_a", "shop_b")
    assert contribute(good, full_run[0]).facets.run.keys() == {"shop_START"}
    with pytest.raises(AttributeError, match="day"):
        contribute(broken, full_run[0])
