"""One night's job below an Airflow task, in a real Marquez: jobs, runs, facets, versions, and the graph at any time."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import attrs
import pytest

pytestmark = pytest.mark.marquez

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.0"
DAG_RUN, TASK_RUN = "0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002"
APPLICATION = "nightly.report.shop_night"
INSERT = "execute_insert_into_hadoop_fs_relation_command"
AS_SELECT = "execute_create_data_source_table_as_select_command"
REPORT = f"{APPLICATION}.{INSERT}.default_revenue"
GRAPH = {
    (f"{AS_SELECT}.default_customers", "warehouse/customers"),
    (f"{AS_SELECT}.default_orders", "warehouse/orders"),
    ("execute_create_data_source_table_command.default_revenue", "warehouse/revenue"),
    ("warehouse/customers", f"{INSERT}.default_revenue"),
    ("warehouse/orders", f"{INSERT}.default_revenue"),
    (f"{INSERT}.default_revenue", "warehouse/revenue"),
    ("warehouse/revenue", f"{INSERT}.export"),
    (f"{INSERT}.export", "export"),
}
COLUMNS = {
    ("warehouse/customers country", "warehouse/revenue country"),
    ("warehouse/orders amount", "warehouse/revenue net"),
    ("warehouse/customers name", "warehouse/revenue buyers"),
    ("warehouse/revenue country", "export land"),
    ("warehouse/revenue net", "export gross"),
}


def facet(name: str, **fields: Any) -> dict[str, Any]:
    return {"_producer": AIRFLOW, "_schemaURL": f"https://openlineage.io/spec/facets/{name}", **fields}


def airflow(state: str, run: str, job: str, kind: str, parent: str | None = None) -> dict[str, Any]:
    """Give what Airflow's provider says of a DAG's run, or of a task's with its DAG's as parent."""
    job_type = facet(
        "2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
        processingType="BATCH",
        integration="AIRFLOW",
        jobType=kind,
    )
    above = {}
    if parent is not None:
        dag = {"run": {"runId": parent}, "job": {"namespace": "airflow", "name": job.partition(".")[0]}}
        above = {"parent": facet("1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet", **dag, root=dag)}
    return {
        "eventType": state,
        "eventTime": dt.datetime.now(dt.timezone.utc).isoformat(),
        "producer": AIRFLOW,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": above},
        "job": {"namespace": "airflow", "name": job, "facets": {"jobType": job_type}},
        "inputs": [],
        "outputs": [],
    }


def instant(time: str) -> dt.datetime:
    """Give the instant, which two spellings may mean."""
    return dt.datetime.fromisoformat(time.replace("Z", "+00:00"))


PARENTS = {
    "parentRunId": TASK_RUN,
    "parentJobNamespace": "airflow",
    "parentJobName": "nightly.report",
    "rootParentRunId": DAG_RUN,
    "rootParentJobNamespace": "airflow",
    "rootParentJobName": "nightly",
}


@attrs.frozen
class Night:
    """
    What a night has left.

    Args:
        ended: the job.
        marquez: which was told of it.
        folder: that dataset names begin with.
        during: edges of the graph and of the columns, while the report ran for the second time.
        running: the states of the report's runs then.
    """

    ended: Any
    marquez: Any
    folder: str
    during: tuple[set[tuple[str, str]], set[tuple[str, str]]]
    running: list[str]

    def run(self, event: dict[str, Any]) -> Any:
        """Give what Marquez has of an event's run."""
        return self.marquez.get(f"jobs/runs/{event['run']['runId']}")


def edges(marquez: Any, folder: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Give the edges around the exported files and behind their columns, with names as short as they can be."""
    node = f"dataset:file:{folder}/export"

    def short(name: str) -> str:
        for prefix in (f"job:shop:{APPLICATION}.", f"dataset:file:{folder}/", f"{folder}/"):
            name = name.removeprefix(prefix)
        return re.sub(r"\.\w+_export_[0-9a-f]{6}$", ".export", name)

    graph, columns = marquez.lineage(node), marquez.column_lineage(node)
    graph_of, columns_of = ({(short(a), short(b)) for a, b in found} for found in (graph, columns))
    return graph_of, columns_of | {
        (short(a), short(b)) for a, b in marquez.column_lineage(f"dataset:file:{folder}/warehouse/revenue")
    }


@pytest.fixture(scope="module")
def night(sending: Any, marquez: Any) -> Night:
    marquez.post(airflow("START", DAG_RUN, "nightly", "DAG"))
    marquez.post(airflow("START", TASK_RUN, "nightly.report", "TASK", DAG_RUN))
    with sending.start("shop.py", "shop", PARENTS) as job:
        job.wait_for("running")

        def states() -> list[str]:
            known = marquez.runs("shop", REPORT) if REPORT in marquez.jobs("shop") else []
            return [run["state"] for run in known]

        marquez.wait_until(lambda: len(states()) == 2, "the second run of the report")
        running = states()
        during = edges(marquez, str(job.folder))
        (job.folder / "go").touch()
        ended = job.end()
    marquez.post(airflow("COMPLETE", TASK_RUN, "nightly.report", "TASK", DAG_RUN))
    marquez.post(airflow("COMPLETE", DAG_RUN, "nightly", "DAG"))
    return Night(ended, marquez, str(ended.folder), during, running)


def test_the_job_ends_as_it_does_without_lineage(night: Night) -> None:
    assert (night.ended.code, night.ended.stdout) == (0, "refused: PythonException\n")


def test_every_event_is_taken(night: Night) -> None:
    sent = night.ended.events()
    answers = night.marquez.answers()

    assert [line for status, line in answers if status != 201] == []
    assert len(sent) == 2 * (1 + 7)
    assert len(answers) >= len(sent) + 4


def test_every_event_is_kept_as_it_was_sent(night: Night, specification: Any, violations: Any) -> None:
    sent = night.ended.events()
    kept = night.marquez.events("shop")

    def by_identity(events: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
        known = {(event["run"]["runId"], event["eventType"]): event for event in events}
        assert len(known) == len(events)
        return {key: {**event, "eventTime": instant(event["eventTime"])} for key, event in known.items()}

    assert by_identity(kept) == by_identity(sent)
    assert specification.violations(sent) == violations(sent) == []


def test_each_job_is_there_once_under_its_full_name_and_below_its_parent(night: Night) -> None:
    """Marquez names a job after its parent: an application below a task would be there twice otherwise."""
    jobs = night.marquez.jobs("shop")
    sent = {event["job"]["name"] for event in night.ended.events()}
    queries = sent - {APPLICATION}

    assert set(jobs) == sent
    assert {name: jobs[name]["parentJobName"] for name in queries} == dict.fromkeys(queries, APPLICATION)
    assert jobs[APPLICATION]["parentJobName"] == "nightly.report"
    assert len(queries) == 5
    above = night.marquez.jobs("airflow")
    assert {name: job["parentJobName"] for name, job in above.items()} == {"nightly": None, "nightly.report": "nightly"}


def test_each_run_is_there_once_with_its_state_and_times(night: Night) -> None:
    known = {
        run["id"]: (job, run["state"]) for job in night.marquez.jobs("shop") for run in night.marquez.runs("shop", job)
    }
    ends = {"COMPLETE": "COMPLETED", "FAIL": "FAILED"}
    terminal = [event for event in night.ended.events() if event["eventType"] != "START"]

    assert known == {event["run"]["runId"]: (event["job"]["name"], ends[event["eventType"]]) for event in terminal}
    assert [run["state"] for run in night.marquez.runs("shop", REPORT)] == ["COMPLETED", "COMPLETED", "FAILED"]
    for run_id in known:
        run = night.marquez.get(f"jobs/runs/{run_id}")
        assert run["startedAt"] <= run["endedAt"]
    states = [run["state"] for job in ("nightly", "nightly.report") for run in night.marquez.runs("airflow", job)]
    assert states == ["COMPLETED", "COMPLETED"]


def test_a_failed_run_says_why(night: Night) -> None:
    (failed,) = [event for event in night.ended.events() if event["eventType"] == "FAIL"]

    told = night.run(failed)["facets"]["errorMessage"]

    assert told == failed["run"]["facets"]["errorMessage"]
    assert "ValueError: *** (withheld" in told["message"]


def test_the_facets_of_runs_jobs_and_statistics_are_those_that_were_sent(night: Night) -> None:
    for event in night.ended.events():
        if event["eventType"] == "START":
            continue
        run = night.run(event)
        # Only the START tells how the application was started, and Marquez keeps it.
        kept = {name: facet for name, facet in run["facets"].items() if name != "pyspark_submission"}
        assert kept == event["run"]["facets"]
        job = night.marquez.get(f"jobs/runs/{run['id']}/facets", type="JOB")["facets"]
        assert job == event["job"]["facets"]
        for side in ("input", "output"):
            sent = {each["name"]: each.get(f"{side}Facets", {}) for each in event[f"{side}s"]}
            kept = {each["datasetVersionId"]["name"]: each["facets"] for each in run[f"{side}DatasetVersions"]}
            assert kept == sent


def test_the_facets_of_a_dataset_are_those_that_were_sent(night: Night) -> None:
    """Those of what is written and not read: a later input would add its own."""
    (complete,) = [
        event
        for event in night.ended.events()
        if event["eventType"] == "COMPLETE" and any(out["name"].endswith("/export") for out in event["outputs"])
    ]
    (sent,) = complete["outputs"]

    kept = night.marquez.dataset(f"{night.folder}/export")

    assert kept["facets"] == sent["facets"]
    fields = sent["facets"]["schema"]["fields"]
    assert sorted((field["name"], field["type"]) for field in kept["fields"]) == sorted(
        (field["name"], field["type"]) for field in fields
    )


@pytest.mark.parametrize(
    ("dataset", "changes"),
    [
        ("warehouse/customers", ["CREATE"]),
        ("warehouse/orders", ["CREATE"]),
        ("warehouse/revenue", ["CREATE", "OVERWRITE", "OVERWRITE", "OVERWRITE"]),
        ("export", ["OVERWRITE"]),
    ],
)
def test_a_dataset_has_one_version_for_each_run_that_wrote_it(night: Night, dataset: str, changes: list[str]) -> None:
    name = f"{night.folder}/{dataset}"
    runs = [
        event["run"]["runId"]
        for event in night.ended.events()
        if event["eventType"] == "START" and any(written["name"] == name for written in event["outputs"])
    ]

    versions = night.marquez.versions(name)

    assert [version["createdByRun"]["id"] for version in versions] == runs
    assert [version["lifecycleState"] for version in versions] == changes
    # What a failed run wrote is not what is there.
    current = versions[-2] if len(versions) > 1 else versions[-1]
    assert night.marquez.dataset(name)["currentVersion"] == current["version"]


def test_the_graph_has_the_edges_of_the_job_and_no_others(night: Night) -> None:
    graph, columns = edges(night.marquez, night.folder)

    assert graph == GRAPH
    assert columns == COLUMNS


def test_the_graph_is_whole_while_a_run_is_in_flight(night: Night) -> None:
    """A START that says less than the run before it would take edges away until the COMPLETE."""
    assert night.running == ["COMPLETED", "RUNNING"]
    assert night.during == (GRAPH, COLUMNS)
