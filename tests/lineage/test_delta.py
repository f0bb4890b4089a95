"""What the events of a real job say of Delta Lake's tables, whose rows MERGE, UPDATE and DELETE change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.lakes import LAKE_JARS
from support.spark_jobs import Jobs

# Spark's version -> the Delta Lake that is tested with it.
JARS = {
    "3.5": ("io.delta:delta-spark_2.12:3.3.2", "io.delta:delta-storage:3.3.2"),
    "4.0": ("io.delta:delta-spark_2.13:4.0.0", "io.delta:delta-storage:4.0.0"),
    "4.1": LAKE_JARS["4.1"][:2],
}
CATALOG = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # A table's log is read in fifty parts otherwise, and its folder listed in two hundred.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.shuffle.partitions": "1",
}


def run(commands, jars, mktemp):
    """Run the job with its commands that change rows, with those that tidy up, or with writes of a generated column."""
    jobs = Jobs(Path(__file__).parent / "jobs", mktemp)
    done = jobs.run("delta.py", str(mktemp("lake")), commands, conf={**CATALOG, "spark.jars": jars})
    assert done.code == 0
    return done


def completed(job):
    """Give the runs that were completed, by what they did and to what."""
    found = {}
    for event in job.queries():
        if event["eventType"] == "COMPLETE":
            found.setdefault(tuple(event["job"]["name"].split(".")[-2:]), []).append(event)
    return found


@pytest.fixture(scope="module")
def job(packaged, tmp_path_factory):
    return run("changed", packaged(JARS), tmp_path_factory.mktemp)


@pytest.fixture(scope="module")
def runs(job):
    return completed(job)


def test_merge_tells_what_it_assigns_and_what_decides(runs, said):
    both, inserting = runs["execute_merge_into_command", "default_staff"]

    assert said(both) == (
        ["news", "staff"],
        {
            "id": ["news.id IDENTITY", "staff.id IDENTITY"],
            "name": ["news.name TRANSFORMATION", "staff.name IDENTITY"],
            "pay": ["news.pay TRANSFORMATION", "staff.pay IDENTITY", "staff.pay TRANSFORMATION"],
        },
        ["news.id JOIN", "news.op FILTER", "staff.id JOIN"],
    )
    assert said(inserting) == (
        ["news", "staff"],
        {"id": ["news.id IDENTITY"], "name": [], "pay": ["news.pay IDENTITY"]},
        ["news.id JOIN", "staff.id JOIN"],
    )


def test_what_a_merge_sets_and_on_which_rows_is_told_in_terms_of_both_tables(runs):
    both, _ = runs["execute_merge_into_command", "default_staff"]
    facet = both["outputs"][0]["facets"]["columnLineage"]

    def texts(fields):
        return sorted({t["description"] for f in fields for t in f["transformations"] if t.get("description")})

    assert {name: texts(column["inputFields"]) for name, column in facet["fields"].items()} == {
        "id": [],
        "name": ["upper(news.name)"],
        "pay": ["(staff.pay + news.pay)"],
    }
    assert texts(facet["dataset"]) == ["(news.op = 'd')", "(staff.id = news.id)"]


def test_merge_by_deltas_own_interface_into_a_path_is_the_same(runs, said):
    ((name, (merge,)),) = [(name, events) for name, events in runs.items() if "paid" in name[1] and "merge" in name[0]]

    assert name[0] == "execute_merge_into_command"
    assert said(merge) == (
        ["news", "paid"],
        {"pay": ["news.pay TRANSFORMATION", "paid.pay IDENTITY", "paid.pay TRANSFORMATION"]},
        ["news.id JOIN", "paid.id JOIN"],
    )


def test_a_column_that_a_merge_adds_to_the_table_is_no_source_of_itself(runs, said):
    (merge,) = runs["execute_merge_into_command", "default_wide"]

    assert said(merge) == (
        ["news", "wide"],
        {
            "id": ["news.id IDENTITY", "wide.id IDENTITY"],
            "pay": ["news.pay IDENTITY", "wide.pay IDENTITY"],
            "op": ["news.op TRANSFORMATION"],
        },
        ["news.id JOIN", "wide.id JOIN"],
    )
    schema = [output["facets"]["schema"] for output in merge["outputs"]]
    assert [[field["name"] for field in each["fields"]] for each in schema] == [["id", "pay", "op"]]


def test_update_and_delete_tell_what_they_set_and_what_decides(runs, said):
    (update,) = runs["execute_update_command", "default_staff"]
    (delete,) = runs["execute_delete_command", "default_staff"]

    # The rows that it does not choose keep their value.
    assert said(update) == (["staff"], {"pay": ["staff.pay IDENTITY", "staff.pay TRANSFORMATION"]}, ["staff.id FILTER"])
    assert said(delete) == (["staff"], {}, ["staff.name FILTER", "staff.pay FILTER"])


ALL = {
    "id": ["news.id IDENTITY"],
    "name": ["news.name IDENTITY"],
    "total": ["news.pay IDENTITY"],
    "d": ["news.id IDENTITY"],
}


def test_what_is_inserted_by_name_goes_into_the_columns_of_those_names(runs, said):
    appended = [said(event) for event in runs["append_data", "default_parts"]]

    some = {name: ALL[name] for name in ("id", "total")}
    assert [(reads, {c: e for c, e in columns.items() if e}, rows) for reads, columns, rows in appended] == [
        (["news"], columns, []) for columns in (some, ALL, ALL, some)
    ]


def test_partitions_that_are_overwritten_are_those_of_the_output(runs, said):
    overwritten = runs["execute_delta_dynamic_partition_overwrite_command", "default_parts"]

    assert [said(event) for event in overwritten] == [(["news"], ALL, [])] * 2
    for event in overwritten:
        facets = event["outputs"][0]["facets"]
        assert "lifecycleStateChange" not in facets
        assert facets["pyspark_replaced"]["part"] == "partitions"


def test_nothing_is_unknown(job, runs, violations):
    assert violations(job.events()) == []
    assert [name for name, events in runs.items() if "extractionError" in events[0]["run"]["facets"]] == []
    assert len(runs) == 13


@pytest.mark.long
def test_a_generated_column_has_its_sources_in_writes_by_path(packaged, tmp_path_factory, violations, said):
    job = run("generated", packaged(JARS), tmp_path_factory.mktemp)
    runs = completed(job)
    found = [
        each
        for events in runs.values()
        for each in events
        if each["inputs"] and each["outputs"][0]["name"].endswith("/paid")
    ]

    assert violations(job.events()) == []
    assert [event["job"]["facets"]["jobType"]["processingType"] for event in found] == ["BATCH", "STREAMING"]
    for event in found:
        columns = {"pay": ["news.pay IDENTITY"], "twice": ["news.pay TRANSFORMATION"]}
        assert said(event) == (["news"], columns, [])
        fields = event["outputs"][0]["facets"]["schema"]["fields"]
        assert [(field["name"], field["type"]) for field in fields] == [("pay", "int"), ("twice", "int")]


@pytest.mark.long
def test_the_changes_of_a_table_are_read_from_its_own_columns(packaged, tmp_path_factory, violations, said):
    job = run("fed", packaged(JARS), tmp_path_factory.mktemp)
    runs = completed(job)
    found = {name[1]: events[-1] for name, events in runs.items() if name[1] in ("default_by_name", "default_by_path")}

    assert violations(job.events()) == []
    assert {name: said(event) for name, event in found.items()} == {
        "default_by_name": (["paid"], {"pay": ["paid.pay IDENTITY"], "change": []}, []),
        "default_by_path": (["paid"], {"pay": ["paid.pay IDENTITY"], "_commit_version": []}, []),
    }
    for event in found.values():
        (read,) = event["inputs"]
        assert [field["name"] for field in read["facets"]["schema"]["fields"]] == ["pay"]


@pytest.mark.long
def test_what_tidies_up_or_restores_a_table_is_a_run_and_nothing_is_unknown(packaged, tmp_path_factory, violations):
    job = run("tidied", packaged(JARS), tmp_path_factory.mktemp)
    runs = completed(job)

    assert violations(job.events()) == []
    assert [name for name, events in runs.items() if "extractionError" in events[0]["run"]["facets"]] == []
    tidied = {
        command: [
            (Path(read["name"]).name, Path(to["name"]).name) for read in event["inputs"] for to in event["outputs"]
        ]
        for (command, _), (event, *_) in runs.items()
        if any(word in command for word in ("optimize", "vacuum", "restore", "convert"))
    }
    assert tidied == {
        **{f"execute_{word}_table_command": [("staff", "staff")] for word in ("optimize", "vacuum", "restore")},
        "execute_convert_to_delta_command": [("paid", "paid")],
    }
    assert len(runs) == 9


@pytest.mark.long
def test_a_clone_has_the_columns_and_the_version_of_its_table(packaged, tmp_path_factory, said):
    runs = completed(run("tidied", packaged(JARS), tmp_path_factory.mktemp))
    ((clone,),) = [events for (_, table), events in runs.items() if table == "default_twin"]

    assert said(clone) == (["staff"], {name: [f"staff.{name} IDENTITY"] for name in ("id", "name", "pay")}, [])
    assert clone["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    # Its first version is followed by those of OPTIMIZE's, VACUUM's and ADD CONSTRAINT's, and that of RESTORE.
    assert int(clone["inputs"][0]["facets"]["version"]["datasetVersion"]) > 0
