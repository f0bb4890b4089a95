"""Where the configuration of a job may stand, whom it names as parent, and what a newcomer's first errors say."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.any_spark

PARENT = {
    "run": {"runId": "01941f29-7c00-7000-8000-000000000002"},
    "job": {"namespace": "airflow", "name": "sales.load"},
}
ROOT = {"run": {"runId": "01941f29-7c00-7000-8000-000000000003"}, "job": {"namespace": "airflow", "name": "sales"}}
PREFIX = "spark.openlineage."
TO_DO = (
    "the shortest configuration is spark.openlineage.transport.type=file with spark.openlineage.transport.location=PATH"
)


def to_file(name: str, **more: str) -> dict[str, str]:
    """Give the properties for the file transport; of `a_b` in `more` the key is `a.b`."""
    own = {"transport.type": "file", "transport.location": name, **more}
    return {PREFIX + key.replace("_", "."): value for key, value in own.items()}


CONTEXTS = {
    "builder": {"conf": to_file("builder.ndjson", namespace="built")},
    "environment": {
        "environment": {
            "OPENLINEAGE__TRANSPORT__TYPE": "file",
            "OPENLINEAGE__TRANSPORT__LOCATION": "environment.ndjson",
            "OPENLINEAGE_NAMESPACE": "from_outside",
        }
    },
    "yaml": {"files": {"openlineage.yml": "transport: {type: file, location: yaml.ndjson}\nnamespace: of_a_file\n"}},
    "parents": {
        "conf": to_file(
            "parents.ndjson",
            parentRunId=PARENT["run"]["runId"],
            parentJobNamespace="airflow",
            parentJobName="sales.load",
            rootParentRunId=ROOT["run"]["runId"],
            rootParentJobNamespace="airflow",
            rootParentJobName="sales",
        )
    },
    "parent alone": {
        "conf": to_file(
            "parent alone.ndjson",
            parentRunId=PARENT["run"]["runId"],
            parentJobNamespace="airflow",
            parentJobName="sales.load",
        )
    },
    "context": {"conf": to_file("context.ndjson", context=json.dumps({"parent": {**PARENT, "root": ROOT}}))},
}


@pytest.fixture(scope="module")
def contexts(jobs: Any) -> Any:
    """One process, in which each context follows the stop of another."""
    return jobs.run("contexts.py", json.dumps(list(CONTEXTS.values())), submit=False, lineage=False)


def written(job: Any, name: str) -> tuple[str, int]:
    """Give what the one write of a context wrote, and how many rows, from events that are whole."""
    start, complete = job.queries(f"{name}.ndjson")
    ends = [event["eventType"] for event in (start, complete, *job.application(f"{name}.ndjson"))]
    assert ends == ["START", "COMPLETE", "START", "COMPLETE"]
    output = complete["outputs"][0]
    return Path(output["name"]).name, output["outputFacets"]["outputStatistics"]["rowCount"]


@pytest.mark.parametrize("name", CONTEXTS)
def test_each_context_of_a_process_is_heard_wherever_its_configuration_stands(contexts: Any, name: str) -> None:
    """A listener that stayed on a stopped context would tell of it in the wrong file."""
    number = list(CONTEXTS).index(name)

    assert written(contexts, name) == (f"out{number}", number + 1)


def test_many_contexts_one_after_the_other_disturb_nothing(contexts: Any) -> None:
    expected = "".join(f"context {number} rows {number + 1}\n" for number in range(len(CONTEXTS)))

    assert (contexts.code, contexts.stdout) == (0, expected)
    assert contexts.said() == []
    for name in CONTEXTS:
        facets = [event["run"]["facets"] for event in contexts.events(f"{name}.ndjson")]
        assert ["extractionError" in each for each in facets] == [False] * 4


@pytest.mark.parametrize(
    ("name", "namespace"), [("builder", "built"), ("environment", "from_outside"), ("yaml", "of_a_file")]
)
def test_further_keys_of_the_source_hold(contexts: Any, name: str, namespace: str) -> None:
    assert {event["job"]["namespace"] for event in contexts.events(f"{name}.ndjson")} == {namespace}


@pytest.mark.parametrize(("name", "root"), [("parents", ROOT), ("context", ROOT), ("parent alone", PARENT)])
def test_what_airflow_injects_is_the_parent_of_the_application_and_the_root_of_all(
    contexts: Any, name: str, root: dict, specification: Any, violations: Any
) -> None:
    events = contexts.events(f"{name}.ndjson")
    application, query = events[0], events[1]

    of_application = application["run"]["facets"]["parent"]
    of_query = query["run"]["facets"]["parent"]

    assert {key: of_application[key] for key in ("run", "job", "root")} == {**PARENT, "root": root}
    assert of_query["run"] == {"runId": application["run"]["runId"]}
    assert of_query["job"] == {key: application["job"][key] for key in ("namespace", "name")}
    assert of_query["root"] == root
    assert specification.violations(events) == violations(events) == []


@pytest.mark.long
def test_a_spark_defaults_file_is_enough(jobs: Any) -> None:
    """The launcher reads it before there is a Python process."""
    defaults = f"{PREFIX}transport.type file\n{PREFIX}transport.location events.ndjson\n{PREFIX}namespace defaults\n"
    job = jobs.run(
        "ending.py",
        "plain",
        lineage=False,
        files={"conf/spark-defaults.conf": defaults},
        environment={"SPARK_CONF_DIR": "conf"},
    )

    assert (job.code, job.stdout) == (0, "rows 10\nend\n")
    assert [event["eventType"] for event in job.events()] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert {event["job"]["namespace"] for event in job.events()} == {"defaults"}


def closed_port() -> int:
    """Give a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


URL = f"http://127.0.0.1:{closed_port()}"
TRANSPORTS = (
    "Use one of: amazon_datazone_api, async_http, composite, console, datadog, file, gcplineage, http, kafka, memory, "
    "noop, store."
)
NO_LINEAGE = "openlineage: no lineage of this application: "
# The last one says how it went at the end of the process.
MISTAKES: dict[str, tuple[dict[str, str], list[str]]] = {
    "a file that can't be written": (
        {"transport.type": "file", "transport.location": str(Path(__file__).parent)},
        [
            (
                f"{NO_LINEAGE}spark.openlineage.transport.location is {str(Path(__file__).parent)!r}, which can't be "
                "written (Is a directory). Name a file that this user may write."
            )
        ],
    ),
    "a misspelt key": (
        {"transport.type": "file", "transport.location": "misspelt.ndjson", "namspace": "x"},
        [
            (
                "openlineage: spark.openlineage.namspace is unknown and has no effect; did you mean "
                "spark.openlineage.namespace?"
            )
        ],
    ),
    "a misspelt transport": (
        {"transport.type": "htpp"},
        [(f"{NO_LINEAGE}spark.openlineage.transport.type is 'htpp', unknown. Did you mean 'http'? {TRANSPORTS}")],
    ),
    "a transport of other clients": (
        {"transport.type": "kinesis"},
        [
            (
                f"{NO_LINEAGE}spark.openlineage.transport.type is 'kinesis', a transport of other OpenLineage "
                f"clients that is not supported yet. {TRANSPORTS}"
            )
        ],
    ),
    "a misspelt type of the transport": (
        {"transport.typ": "file", "transport.location": "typ.ndjson"},
        [
            (
                "openlineage: spark.openlineage.transport.typ is unknown and has no effect; did you mean "
                "spark.openlineage.transport.type?"
            ),
            f"{NO_LINEAGE}no transport is configured; {TO_DO}",
        ],
    ),
    "no transport": ({"namespace": "shop"}, [f"{NO_LINEAGE}no transport is configured; {TO_DO}"]),
    "a misspelt prefix": (
        {"spark.openlinage.transport.type": "file"},
        [
            "openlineage: spark.openlinage.transport.type is not read; did you mean spark.openlineage.transport.type?",
            f"{NO_LINEAGE}no transport is configured; {TO_DO}",
        ],
    ),
    "the Java listener": (
        {
            "transport.type": "file",
            "transport.location": "java.ndjson",
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        },
        [
            (
                f"{NO_LINEAGE}spark.extraListeners names the Java listener, so this one stays off; remove it from "
                "spark.extraListeners to use this one"
            )
        ],
    ),
    "nothing wrong but switched off": ({"transport.type": "file", "disabled": "true"}, []),
    "a URL where nobody listens": (
        {"transport.type": "http", "transport.url": URL, "spool.path": "spool"},
        [
            f"openlineage: an event was not delivered: {URL}/api/v1/lineage",
            (
                f"openlineage: OpenLineage events for {URL}/api/v1/lineage: 0 sent, 0 refused, 0 dropped, 4 left "
                "unsent; what is left"
            ),
        ],
    ),
}


@pytest.fixture(scope="module")
def mistakes(jobs: Any) -> Any:
    entries = [
        {"conf": {key if key.startswith("spark.") else PREFIX + key: value for key, value in conf.items()}}
        for conf, _ in MISTAKES.values()
    ]
    return jobs.run("contexts.py", json.dumps(entries), submit=False, lineage=False)


@pytest.mark.long
def test_no_mistake_in_the_configuration_changes_the_job(mistakes: Any) -> None:
    expected = "".join(f"context {number} rows {number + 1}\n" for number in range(len(MISTAKES)))

    assert (mistakes.code, mistakes.stdout) == (0, expected)


@pytest.mark.long
@pytest.mark.parametrize("name", MISTAKES)
def test_a_first_error_says_what_is_wrong_and_what_to_do_once(mistakes: Any, name: str) -> None:
    number = list(MISTAKES).index(name)
    own = mistakes.stderr.split(f"context {number}\n")[1].split(f"context {number + 1}\n")[0]

    lines = [line for line in own.splitlines() if "openlineage" in line.lower()]

    expected = MISTAKES[name][1]
    assert len(lines) == len(expected), lines
    for line, text in zip(lines, expected, strict=True):
        assert text in line


@pytest.mark.long
def test_the_java_listener_gets_the_job_to_itself(mistakes: Any) -> None:
    assert not (mistakes.folder / "java.ndjson").exists()


@pytest.mark.long
def test_a_misspelt_key_costs_no_event(mistakes: Any) -> None:
    number = list(MISTAKES).index("a misspelt key")

    assert written(mistakes, "misspelt") == (f"out{number}", number + 1)
