"""Through Spark Connect, whose server is in a Python driver, statements have the lineage that they have without it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.public_cases import every_case, needed
from support.spark_jobs import SPARK_VERSION, Ended, Jobs

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SPARK_VERSION < "4", reason="the server of Spark 3.5 is no part of pyspark"),
    pytest.mark.skipif(
        importlib.util.find_spec("grpc") is None, reason="it needs grpcio: pip install pyspark[connect]"
    ),
]
MOST = 20


def cases() -> dict[str, list[str]]:
    """Return the statements of some public cases that write, spread over all of them."""
    found = {}
    for case in every_case():
        run, setup, expect = case["run"], case.get("setup") or [], case.get("expect") or {}
        if case.get("requires") or case.get("min_spark") or expect.get("fails") or not expect.get("output"):
            continue
        if isinstance(run, dict) and "sql" in run and all(isinstance(each, str) for each in setup):
            asked = run["sql"] if isinstance(run["sql"], list) else [run["sql"]]
            found[case["id"]] = [*setup, *asked]
    chosen = list(found)[:: max(1, len(found) // MOST)][:MOST]
    return {each: found[each] for each in chosen}


@pytest.fixture(scope="module")
def ended(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    needed()
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    conf = {
        "spark.sql.legacy.createHiveTableByDefault": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.openlineage.reads.enabled": "true",
    }
    files = {"cases.json": json.dumps(cases())}
    done = {how: jobs.run("connect.py", how, conf=conf, files=files, submit=False) for how in ("classic", "remote")}
    assert [each.code for each in done.values()] == [0, 0], done["remote"].stderr[-3000:]
    return done


def lineage(done: Ended) -> list[str]:
    """Return what the ends of runs tell: the job, what it reads and writes, and each edge; without the folder."""
    found = []
    for event in done.queries():
        if event["eventType"] not in ("COMPLETE", "FAIL"):
            continue
        told = {
            "type": event["eventType"],
            "job": event["job"]["name"],
            "inputs": sorted((each["namespace"], each["name"]) for each in event["inputs"]),
            "outputs": [
                {"name": each["name"], **{key: each["facets"].get(key) for key in ("columnLineage", "schema")}}
                for each in event["outputs"]
            ],
        }
        found.append(json.dumps(told, sort_keys=True).replace(str(done.folder), "{folder}"))
    return found


def test_twenty_public_cases_have_the_lineage_of_a_classic_session(ended: dict[str, Ended]) -> None:
    classic, remote = lineage(ended["classic"]), lineage(ended["remote"])
    assert len(cases()) == MOST
    assert sum('"columnLineage": {' in each for each in classic) >= MOST
    assert sorted(remote) == sorted(classic)


def test_the_session_of_the_job_is_one_of_connect(ended: dict[str, Ended]) -> None:
    def session(how: str) -> str:
        return next(line for line in ended[how].stdout.splitlines() if line.startswith("session "))

    assert session("remote") == "session pyspark.sql.connect.session"
    assert session("classic") == "session pyspark.sql.session"


def test_each_event_keeps_the_rules(
    ended: dict[str, Ended], violations: Callable[[list[dict[str, Any]]], list[str]]
) -> None:
    assert violations(ended["remote"].events()) == []


def test_register_and_lineage_say_where_the_keys_belong(ended: dict[str, Ended]) -> None:
    refused = [line for line in ended["remote"].stdout.splitlines() if line.startswith("refused ")]
    assert len(refused) == 2
    assert all("where the Connect server starts" in line for line in refused)
