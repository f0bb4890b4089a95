"""What the configuration of an application becomes, from each place in which it can be set."""

import json
import re

import pytest
from openlineage_pyspark.facets.events.options import Tag
from openlineage_pyspark.facets.model.dataset import Trimming
from openlineage_pyspark.facets.model.run import RunReference
from openlineage_pyspark.listener.settings.settings import Settings, load

PARENT = RunReference("01941f29-7c00-7000-8000-000000000002", "airflow", "sales.load")
ROOT = RunReference("01941f29-7c00-7000-8000-000000000003", "airflow", "sales")
PARENT_KEYS = {
    "parentRunId": PARENT.run_id,
    "parentJobNamespace": PARENT.namespace,
    "parentJobName": PARENT.name,
}
ROOT_KEYS = {
    "rootParentRunId": ROOT.run_id,
    "rootParentJobNamespace": ROOT.namespace,
    "rootParentJobName": ROOT.name,
}
CONTEXT = {
    "parent": {
        "run": {"runId": PARENT.run_id},
        "job": {"namespace": "airflow", "name": "sales.load"},
        "root": {"run": {"runId": ROOT.run_id}, "job": {"namespace": "airflow", "name": "sales"}},
    }
}


def conf(**keys: str) -> dict[str, str]:
    return {f"spark.openlineage.{key}": value for key, value in keys.items()}


def from_conf(keys: dict[str, str]) -> Settings:
    return load(conf(**keys), {}, ())


def test_without_configuration_the_defaults_hold_and_nothing_warns():
    assert load({"spark.app.name": "app"}, {"HOME": "/root"}, ()) == Settings(
        disabled=False,
        transport={},
        namespace="default",
        app_name=None,
        application_run_id=None,
        parent=None,
        root=None,
        reads_enabled=False,
        rdd_events_disabled=False,
        captured_properties=("spark.master", "spark.app.name"),
        disabled_facets=frozenset(),
        dataset_lineage_enabled=True,
        descriptions_enabled=True,
        schema_size_limit=1000,
        job_owners=(),
        job_tags=(),
        run_tags=(),
        trimming=Trimming(("DateTrimmer", "KeyValueTrimmer", "MultiDirDateTrimmer", "YearMonthTrimmer"), None),
        views_enabled=True,
        append_command=True,
        append_dataset_name=True,
        replace_dot_with_underscore=False,
        job_documentation=None,
        start_timeout=10.0,
        flush_timeout=10.0,
        plan_max_nodes=100_000,
        plan_max_bytes=33_554_432,
        event_max_bytes=10_485_760,
        mask_literals=False,
        spool_path=None,
        spool_max_bytes=536_870_912,
        strict=False,
        class_cache_enabled=True,
        sources=(),
        warnings=(),
    )


def test_every_key_of_the_spark_configuration_is_read():
    settings = from_conf(
        {
            "disabled": "true",
            "transport.type": "file",
            "namespace": "team",
            "appName": "daily",
            "applicationRunId": "01941F29-7C00-7000-8000-000000000001",
            **PARENT_KEYS,
            **ROOT_KEYS,
            "reads.enabled": "TRUE",
            "capturedProperties": "spark.master, spark.executor.memory",
            "facets.sql.disabled": "true",
            "facets.schema.disabled": "false",
            "columnLineage.datasetLineageEnabled": "false",
            "columnLineage.descriptionsEnabled": "0",
            "columnLineage.schemaSizeLimit": "50",
            "job.owners.team": "Some Team",
            "job.tags": "a:1",
            "run.tags": "b:2",
            "dataset.disabledTrimmers": "io.openlineage.client.dataset.partition.trimmer.DateTrimmer;YearMonthTrimmer",
            "dataset.disabled_trimmers": "openlineage.client.dataset.trimmers.KeyValueTrimmer",
            "dataset.removePath.pattern": "(.*)(?<remove>/v[0-9]+)",
            "views.enabled": "false",
            "jobName.appendCommand": "false",
            "jobName.appendDatasetName": "false",
            "jobName.replaceDotWithUnderscore": "true",
            "filter.rddEventsDisabled": "true",
            "job.documentation": "Loads a day.",
            "flush.timeoutInMillis": "2500",
            "plan.maxNodes": "10",
            "plan.maxBytes": "1m",
            "event.maxBytes": "2m",
            "maskLiterals": "true",
            "spool.path": "/spool",
            "spool.maxBytes": "1g",
            "strict": "true",
            "classCache.enabled": "false",
        }
    )
    assert settings.warnings == ()
    assert settings.disabled
    assert settings.transport == {"type": "file"}
    assert (settings.namespace, settings.app_name) == ("team", "daily")
    assert settings.application_run_id == "01941f29-7c00-7000-8000-000000000001"
    assert (settings.parent, settings.root) == (PARENT, ROOT)
    assert (settings.reads_enabled, settings.rdd_events_disabled) == (True, True)
    assert settings.captured_properties == ("spark.master", "spark.executor.memory")
    assert settings.disabled_facets == {"sql"}
    assert not settings.dataset_lineage_enabled
    assert not settings.descriptions_enabled
    assert settings.schema_size_limit == 50
    assert settings.job_owners == (("team", "Some Team"),)
    assert settings.job_tags == (Tag("a", "1", "CONFIG"),)
    assert settings.run_tags == (Tag("b", "2", "CONFIG"),)
    assert settings.trimming == Trimming(("MultiDirDateTrimmer",), re.compile("(.*)(?P<remove>/v[0-9]+)"))
    assert not settings.views_enabled
    assert not settings.append_command
    assert not settings.append_dataset_name
    assert settings.replace_dot_with_underscore
    assert settings.job_documentation == "Loads a day."
    assert (settings.flush_timeout, settings.plan_max_nodes, settings.plan_max_bytes) == (2.5, 10, 1_048_576)
    assert settings.event_max_bytes == 2_097_152
    assert settings.mask_literals
    assert (settings.spool_path, settings.spool_max_bytes) == ("/spool", 1_073_741_824)
    assert settings.strict
    assert not settings.class_cache_enabled


def test_what_airflow_injects_gives_parent_root_and_transport():
    settings = from_conf(
        {
            **PARENT_KEYS,
            **ROOT_KEYS,
            "transport.type": "http",
            "transport.url": "http://marquez:5000",
            "transport.endpoint": "api/v1/lineage",
            "transport.timeoutInMillis": "5000",
            "transport.compression": "gzip",
            "transport.auth.type": "api_key",
            "transport.auth.apiKey": "Bearer key",
            "transport.headers.X-Dotted.Name": "a",
        }
    )
    assert settings.warnings == ()
    assert (settings.parent, settings.root) == (PARENT, ROOT)
    assert settings.transport == {
        "type": "http",
        "url": "http://marquez:5000",
        "endpoint": "api/v1/lineage",
        "timeoutInMillis": "5000",
        "compression": "gzip",
        "auth": {"type": "api_key", "apiKey": "Bearer key"},
        "headers": {"X-Dotted.Name": "a"},
    }


def test_the_composite_transport_that_airflow_injects_keeps_dotted_names_of_inner_properties():
    settings = from_conf(
        {
            "transport.type": "composite",
            "transport.continueOnFailure": "True",
            "transport.transports.first.url": "http://one",
            "transport.transports.second.properties.bootstrap.servers": "h:9092",
        }
    )
    assert settings.transport["transports"] == {
        "first": {"url": "http://one"},
        "second": {"properties": {"bootstrap.servers": "h:9092"}},
    }
    assert settings.warnings == ()


def test_the_context_wins_over_the_six_keys():
    other = dict.fromkeys([*PARENT_KEYS, *ROOT_KEYS], "01941f29-7c00-7000-8000-00000000000f")
    settings = from_conf({**other, "context": json.dumps(CONTEXT)})
    assert (settings.parent, settings.root, settings.warnings) == (PARENT, ROOT, ())


def test_a_context_without_root_makes_the_parent_the_root():
    without = {"parent": {key: value for key, value in CONTEXT["parent"].items() if key != "root"}}
    settings = from_conf({"context": json.dumps(without)})
    assert (settings.parent, settings.root, settings.warnings) == (PARENT, PARENT, ())


def test_facets_in_the_context_are_left_out_with_a_warning():
    run = {"runId": PARENT.run_id, "facets": {"x": {}}}
    settings = from_conf({"context": json.dumps({"parent": {**CONTEXT["parent"], "run": run}})})
    assert settings.parent == PARENT
    assert settings.warnings == (
        "spark.openlineage.context contains facets, which are not supported there yet and have no effect",
    )


@pytest.mark.parametrize(
    "context",
    [
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"parent": null}',
        '{"parent": {"run": {"runId": "no"}, "job": {"namespace": "a", "name": "b"}}}',
        '{"parent": {"run": {"runId": "01941f29-7c00-7000-8000-000000000002"}, "job": {"namespace": "a"}}}',
        json.dumps({"parent": {**CONTEXT["parent"], "root": {}}}),
    ],
)
def test_a_context_that_is_not_understood_warns_and_leaves_it_to_the_six_keys(context: str):
    settings = from_conf({**PARENT_KEYS, "context": context})
    assert (settings.parent, settings.root) == (PARENT, PARENT)
    (warning,) = settings.warnings
    assert warning.startswith("spark.openlineage.context is text that is not shown; it must be JSON, as ")
    assert warning.endswith("; it has no effect")


def test_a_root_without_parent_is_kept():
    settings = from_conf(ROOT_KEYS)
    assert (settings.parent, settings.root, settings.warnings) == (None, ROOT, ())


def test_an_incomplete_parent_has_no_effect_and_says_what_is_needed():
    settings = from_conf({"parentRunId": PARENT.run_id, "parentJobName": "sales.load"})
    assert settings.parent is None
    needed = "because parentRunId, parentJobNamespace, parentJobName are needed together"
    given = "spark.openlineage.parentRunId, spark.openlineage.parentJobName"
    assert settings.warnings == (f"{given}: no effect, {needed}",)


def test_a_parent_with_one_value_that_can_not_be_used_costs_one_warning():
    settings = from_conf({**PARENT_KEYS, "parentRunId": "run-7"})
    assert settings.parent is None
    assert settings.warnings == (
        "spark.openlineage.parentRunId is text that is not shown; it must be a UUID; it has no effect",
    )


@pytest.mark.parametrize(
    "key",
    [
        "spark.openlineage.tranport.type",
        "spark.openLineage.transport.type",
        "spark.openlinage.transport.type",
    ],
)
def test_a_misspelt_transport_warns_with_the_key_that_is_meant(key: str):
    (warning,) = load({key: "file"}, {}, ()).warnings
    assert warning.startswith(f"{key} is ")
    assert warning.endswith("did you mean spark.openlineage.transport.type?")
