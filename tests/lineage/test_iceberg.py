"""What the events of a real job say of Iceberg's tables, whose rows MERGE, UPDATE and DELETE change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.lakes import LAKE_JARS
from support.spark_jobs import SPARK_VERSION, Jobs, short_name

# Spark's version -> the Iceberg that is tested with it.
JARS = {
    "3.5": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.6.1",),
    "4.0": ("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",),
    "4.1": LAKE_JARS["4.1"][2:],
}
CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}


@pytest.fixture(scope="module")
def job(packaged, tmp_path_factory):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    lake = tmp_path_factory.mktemp("lake")
    conf = {**CATALOG, "spark.sql.catalog.ice.warehouse": str(lake), "spark.jars": packaged(JARS)}
    return jobs.run("iceberg.py", conf=conf)


@pytest.mark.parametrize(("table", "command"), [("copied", "replace_data"), ("marked", "write_delta")])
def test_merge_update_and_delete_tell_what_they_assign_and_what_decides(job, violations, said, table, command):
    assert job.code == 0
    assert violations(job.events()) == []
    done = [
        e for e in job.queries() if e["eventType"] == "COMPLETE" and short_name(e).endswith(f"{command}.db_{table}")
    ]
    merge, update, delete, taken = done
    assert said(merge) == (
        sorted(["news", table]),
        {
            "id": sorted([f"{table}.id IDENTITY", "news.id IDENTITY"]),
            "name": sorted([f"{table}.name IDENTITY", "news.name TRANSFORMATION"]),
            "pay": sorted([f"{table}.pay IDENTITY", f"{table}.pay TRANSFORMATION", "news.pay TRANSFORMATION"]),
        },
        sorted([f"{table}.id JOIN", "news.id JOIN", "news.op FILTER"]),
    )
    # The rows that it does not choose keep their value.
    kept = [f"{table}.pay IDENTITY", f"{table}.pay TRANSFORMATION"]
    assert said(update) == ([table], {"pay": kept}, [f"{table}.id FILTER"])
    assert said(delete) == ([table], {}, sorted([f"{table}.name FILTER", f"{table}.pay FILTER"]))
    assert said(taken) == (sorted(["news", table]), {"name": ["news.op AGGREGATION", "news.pay FILTER"]}, [])
    for event in done:
        assert "extractionError" not in event["run"]["facets"]


@pytest.mark.parametrize(("table", "command"), [("packed", "replace_data"), ("packed_marked", "write_delta")])
def test_an_update_tells_how_it_makes_what_it_sets_also_the_fields_of_structs(job, table, command):
    def told(event):
        fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        return {
            column: sorted(
                f"{source['name'].rpartition('/')[2]}.{source['field']} {each['subtype']} {each.get('description', '')}"
                for source in found["inputFields"]
                for each in source["transformations"]
            )
            for column, found in fields.items()
        }

    first, second = [
        told(e)
        for e in job.queries()
        if e["eventType"] == "COMPLETE" and short_name(e).endswith(f"{command}.db_{table}")
    ]
    pay, whole = f"(({table}.pay * 2) + {table}.box.a)", f"named_struct('a', {table}.box.a, 'b', upper({table}.box.b))"
    assert first == {
        "pay": [f"{table}.box TRANSFORMATION {pay}", f"{table}.pay IDENTITY ", f"{table}.pay TRANSFORMATION {pay}"],
        "box": [f"{table}.box IDENTITY ", f"{table}.box TRANSFORMATION {whole}"],
    }
    whole = f"named_struct('a', {table}.pay, 'b', {table}.box.b)"
    assert second == {
        "pay": ["news.pay AGGREGATION (SELECT max(pay) FROM ice.db.news)"],
        "box": [f"{table}.box TRANSFORMATION {whole}", f"{table}.pay TRANSFORMATION {whole}"],
        "box.a": [f"{table}.pay IDENTITY "],
        "box.b": [f"{table}.box TRANSFORMATION "],
    }


def test_a_table_is_one_dataset_from_the_query_that_makes_it_to_its_drop(job):
    done = [event for event in job.queries() if event["eventType"] == "COMPLETE"]
    written = {
        (event["job"]["name"].split(".")[1], output["namespace"], output["name"].rpartition("/")[2])
        for event in done
        for output in event["outputs"]
        if short_name(event).endswith(".db_one")
    }
    assert written == {
        (command, "file", "one") for command in ("create_table_as_select", "replace_table_as_select", "drop_table")
    }
    read = {
        output["name"].rpartition("/")[2]: [dataset["name"].rpartition("/")[2] for dataset in event["inputs"]]
        for event in done
        for output in event["outputs"]
        if output["name"].rpartition("/")[2].startswith("by_")
    }
    assert read == {way: ["one"] for way in ("by_name", "by_version", "by_path")}
    (made,) = [e for e in done if short_name(e).endswith("create_table_as_select.db_one")]
    (output,) = made["outputs"]
    links = [
        (link["namespace"].partition(":")[0], link["name"]) for link in output["facets"]["symlinks"]["identifiers"]
    ]
    assert links == [("file", "db.one"), ("ice", "db.one")]
    assert output["facets"]["columnLineage"]["fields"]["id"]["inputFields"][0]["name"].endswith("/db/news")


def test_an_altered_table_has_its_columns_after_each_change_inside_of_structs_too(job):
    def words(fields):
        return [f"{f['name']} {f['type']} {words(f['fields'])}" if f.get("fields") else f["name"] for f in fields]

    altered = [
        words(event["outputs"][0]["facets"]["schema"]["fields"])[3:]
        for event in job.queries()
        if event["eventType"] == "START" and short_name(event).endswith(("columns.db_copied", "column.db_copied"))
    ]
    assert altered == [
        ["more struct ['a', 'b']", "list array [\"_element struct ['c']\"]"],
        ["more struct ['z', 'b']", "list array [\"_element struct ['c']\"]"],
        ["more struct ['z']", "list array [\"_element struct ['c']\"]"],
        ["more struct ['z']", "list array [\"_element struct ['c', 'd']\"]"],
        ["more struct ['z']", "list array [\"_element struct ['c', 'd']\"]"],
    ]


def test_rows_that_pass_through_an_rdd_come_from_their_table_without_columns(job):
    (event,) = [
        e for e in job.queries() if e["eventType"] == "COMPLETE" and e["outputs"][0]["name"].endswith("/through_rdd")
    ]
    assert [each["name"].rpartition("/")[2] for each in event["inputs"]] == ["news"]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert [each["inputFields"] for each in fields.values()] == [[], [], [], []]
    (error,) = event["run"]["facets"]["extractionError"]["errors"]
    assert error["errorMessage"].startswith("the rows come from an RDD: its columns are unknown")


def test_a_table_that_an_earlier_application_has_made_is_not_made_again(packaged, tmp_path_factory):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    conf = {
        **CATALOG,
        "spark.sql.catalog.ice.warehouse": str(tmp_path_factory.mktemp("lake")),
        "spark.jars": packaged(JARS),
    }

    def told():
        done = [event for event in jobs.run("unless_there.py", conf=conf).queries() if event["eventType"] == "COMPLETE"]
        assert [event for event in done if "extractionError" in event["run"]["facets"]] == []
        return [
            (Path(output["name"]).name, output["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange"))
            for event in done
            for output in event["outputs"]
            if event["job"]["name"].split(".")[1].startswith("create_table")
        ]

    names = ["empty", "full", "altered", "full", "made"]
    assert told() == list(zip(names, ["CREATE", "CREATE", "CREATE", None, "CREATE"], strict=True))
    again = dict(told())
    assert (again["full"], again["altered"], again["made"]) == (None, None, None)


@pytest.mark.skipif(
    SPARK_VERSION >= "4", reason="since Spark 4, a CALL runs in its analysis, and nothing is told of it"
)
def test_a_procedure_is_a_run_of_the_table_that_it_changes(packaged, tmp_path_factory, said):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    lake = tmp_path_factory.mktemp("lake")
    conf = {**CATALOG, "spark.sql.catalog.ice.warehouse": str(lake), "spark.jars": packaged(JARS)}
    job = jobs.run("calls.py", conf=conf)

    assert job.stdout == "[0, 0, 1, 1]\n"
    calls = {
        short_name(event).removeprefix("calls.call_"): event
        for event in job.queries()
        if event["eventType"] == "COMPLETE" and ".call_" in event["job"]["name"]
    }
    words = ("rollback_to_snapshot", "set_current_snapshot", "rewrite_data_files", "add_files", "expire_snapshots")
    assert {name: [Path(read["name"]).name for read in event["inputs"]] for name, event in calls.items()} == {
        f"{word}.db_t": ["plain" if word == "add_files" else "t"] for word in words
    }
    assert said(calls["add_files.db_t"]) == (["plain"], {"id": ["plain.id IDENTITY"]}, [])
    for event in calls.values():
        assert [(output["namespace"], output["name"]) for output in event["outputs"]] == [("file", f"{lake}/db/t")]
        assert "extractionError" not in event["run"]["facets"]
