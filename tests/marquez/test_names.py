"""Names that are hard to store, and a thousand columns: all of it is in a real Marquez, and all of it is connected."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.marquez, pytest.mark.long]

COLUMNS = ["plain", "with space", "with.dot", "größe 数量 🚀"]
LONG = "long" * 75
FOLDERS = ["with space", "with.dot", "größe 数量 🚀", "/".join(["d" * 99] * 3)]
WIDE = [f"c{number}" for number in range(1000)]


@pytest.fixture(scope="module")
def copies(sending: Any) -> Any:
    """Give the job, which has ended, and has told Marquez of all."""
    with sending.start("names.py", "team=a;stage b") as job:
        return job.end()


def test_every_event_is_taken(copies: Any, marquez: Any) -> None:
    assert (copies.code, copies.stdout) == (0, "")
    assert [line for status, line in marquez.answers() if status != 201] == []
    assert len(copies.events()) == 2 * (1 + 2 * (len(FOLDERS) + 1))


def test_each_job_is_there_once_below_an_application_with_a_name_of_300_characters(copies: Any, marquez: Any) -> None:
    jobs = marquez.jobs("team_a_stage_b")
    (application,) = {event["job"]["name"] for event in copies.application()}
    queries = {event["job"]["name"] for event in copies.queries()}

    assert set(jobs) == {application, *queries}
    assert {jobs[name]["parentJobName"] for name in queries} == {application}
    assert len(queries) == 2 * (len(FOLDERS) + 1)
    assert application.startswith("gr_e_der_l_den_xxx")
    runs = [run["state"] for name in jobs for run in marquez.runs("team_a_stage_b", name)]
    assert runs == ["COMPLETED"] * len(jobs)


@pytest.mark.parametrize("folder", FOLDERS, ids=["space", "dot", "unicode", "300 characters"])
def test_a_dataset_and_its_columns_are_found_under_their_names(copies: Any, marquez: Any, folder: str) -> None:
    source, target = (f"{copies.folder}/{side}/{folder}" for side in ("in", "out"))
    node = f"dataset:file:{target}"

    fields = [field["name"] for field in marquez.dataset(target)["fields"]]
    graph = {edge for edge in marquez.lineage(node) if node in edge or f"dataset:file:{source}" in edge}
    columns = marquez.column_lineage(node)

    (short,) = set(fields) - set(COLUMNS)
    assert sorted(fields) == sorted([*COLUMNS, short])
    assert columns == {(f"{source} {name}", f"{target} {name}") for name in fields}
    jobs = {event["outputs"][0]["name"]: f"job:team_a_stage_b:{event['job']['name']}" for event in copies.queries()}
    assert graph == {
        (jobs[source], f"dataset:file:{source}"),
        (f"dataset:file:{source}", jobs[target]),
        (jobs[target], node),
    }
    assert [len(marquez.versions(name)) for name in (source, target)] == [1, 1]


def test_a_column_with_a_name_of_300_characters_is_cut_to_what_marquez_stores(copies: Any, marquez: Any) -> None:
    """The schema holds the whole name beside it."""
    dataset = marquez.dataset(f"{copies.folder}/out/with space")

    (column,) = [field for field in dataset["facets"]["schema"]["fields"] if field["name"].startswith("long")]

    assert (len(column["name"]), column["description"]) == (255, LONG)
    assert dataset["facets"]["columnLineage"]["fields"][column["name"]]["inputFields"][0]["field"] == column["name"]


def test_a_thousand_columns_are_connected_one_by_one(copies: Any, marquez: Any) -> None:
    source, target = (f"{copies.folder}/{side}/wide" for side in ("in", "out"))

    fields = [field["name"] for field in marquez.dataset(target)["fields"]]
    columns = marquez.column_lineage(f"dataset:file:{target}")

    assert sorted(fields) == sorted(WIDE)
    assert columns == {(f"{source} {name}", f"{target} {name}") for name in WIDE}
