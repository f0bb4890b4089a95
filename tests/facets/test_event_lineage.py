"""The columnLineage facet says what the lineage says, in the form that was asked for."""

from __future__ import annotations

import json

import attrs
import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.dataset import column_lineage_facet
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation

T = Identifier("file", "/t")
COPY = Transformation("DIRECT", "IDENTITY", "a")
SUM = Transformation("DIRECT", "AGGREGATION", "sum(a)", masking=True)
FILTER = Transformation("INDIRECT", "FILTER", "a > 1")


def as_json(lineage, **options):
    facet = json.loads(serialise(column_lineage_facet(lineage, EventOptions(**options))))
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def field(name, *ways):
    return {"namespace": "file", "name": "/t", "field": name, "transformations": list(ways)}


def way(kind, subtype, description=None, *, masking=False):
    text = {} if description is None else {"description": description}
    return {"type": kind, "subtype": subtype, **text, "masking": masking}


def test_dataset_wide_edges_stand_once_in_the_dataset_list():
    columns = OutputColumn("x", (InputField(T, "a", (COPY,)),)), OutputColumn("y", ())
    assert as_json(ColumnLineage(columns, (InputField(T, "b", (FILTER,)),))) == {
        "fields": {
            "x": {"inputFields": [field("a", way("DIRECT", "IDENTITY", "a"))]},
            "y": {"inputFields": []},
        },
        "dataset": [field("b", way("INDIRECT", "FILTER", "a > 1"))],
    }


def test_in_the_older_form_dataset_wide_edges_stand_on_every_column():
    """An edge to a source that the column has already joins that source's entry."""
    columns = OutputColumn("x", (InputField(T, "a", (COPY,)),)), OutputColumn("y", ())
    lineage = ColumnLineage(columns, (InputField(T, "a", (FILTER,)),))
    copy, filtered = way("DIRECT", "IDENTITY", "a"), way("INDIRECT", "FILTER", "a > 1")
    assert as_json(lineage, dataset_lineage_enabled=False) == {
        "fields": {
            "x": {"inputFields": [field("a", copy, filtered)]},
            "y": {"inputFields": [field("a", filtered)]},
        },
    }


def test_without_dataset_wide_edges_there_is_no_dataset_list():
    assert as_json(ColumnLineage((OutputColumn("x", ()),))) == {"fields": {"x": {"inputFields": []}}}


def test_descriptions_can_be_left_out():
    lineage = ColumnLineage((OutputColumn("x", (InputField(T, "a", (SUM,)),)),), (InputField(T, "b", (FILTER,)),))
    assert as_json(lineage, descriptions_enabled=False) == {
        "fields": {"x": {"inputFields": [field("a", way("DIRECT", "AGGREGATION", masking=True))]}},
        "dataset": [field("b", way("INDIRECT", "FILTER"))],
    }


@pytest.mark.parametrize(("described", "shown"), [(True, {"transformationDescription": "count(1)"}), (False, {})])
def test_a_column_without_a_source_has_its_expression(described, shown):
    lineage = ColumnLineage((OutputColumn("n", (), "count(1)"),))
    assert as_json(lineage, descriptions_enabled=described) == {"fields": {"n": {"inputFields": [], **shown}}}


def test_two_columns_of_one_name_share_an_entry_that_has_the_edges_of_both():
    columns = OutputColumn("x", (InputField(T, "a", (COPY,)),)), OutputColumn("x", (InputField(T, "a", (COPY, SUM)),))
    copied, summed = way("DIRECT", "IDENTITY", "a"), way("DIRECT", "AGGREGATION", "sum(a)", masking=True)
    expected = field("a", copied, summed)
    assert as_json(ColumnLineage(columns)) == {"fields": {"x": {"inputFields": [expected]}}}


@pytest.mark.parametrize(("limit", "shown"), [(3, True), (2, False)])
def test_an_output_with_more_columns_than_the_limit_has_no_lineage_and_says_so(full_run, limit, shown):
    state = attrs.evolve(full_run[0], gaps=())
    event = json.loads(serialise(build_event(state, EventOptions(schema_size_limit=limit))))
    assert ("columnLineage" in event["outputs"][0]["facets"]) is shown
    errors = event["run"]["facets"].get("extractionError", {}).get("errors", [])
    message = (
        "columnLineage left out: 3 columns are more than the limit of 2; "
        "raise columnLineage.schemaSizeLimit to include it"
    )
    expected = [] if shown else [{"errorMessage": message, "task": "/data/totals"}]
    assert errors == expected
    assert event["outputs"][0]["facets"]["schema"]["fields"][0]["name"] == "buyer"


def test_a_command_that_carries_no_data_has_no_lineage(full_run):
    output = attrs.evolve(full_run[0].outputs[0], lineage=None)
    event = json.loads(serialise(build_event(attrs.evolve(full_run[0], outputs=(output,)), EventOptions())))
    assert "columnLineage" not in event["outputs"][0]["facets"]
