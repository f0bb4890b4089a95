"""Scripts that would do harm, that do not end as they should, or that read what nobody knows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from support.script_edges import edges_of_lineage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

# What the guard refuses is tested without a Spark too (`test_guard.py`).
pytestmark = [pytest.mark.any_spark, pytest.mark.long]

SCRIPTS = Path(__file__).parent / "hostile"


@attrs.frozen
class Seen:
    """What a script has told: its problems by line and code, the datasets that it writes, and the statements."""

    problems: list[tuple[int, str]]
    written: list[str]
    found: tuple[StatementLineage, ...]
    last: str

    def message(self, line: int) -> str:
        """Return the message of the first problem on a line."""
        return next(each.problem.message for each in self.found if each.problem and each.problem.line == line)


@pytest.fixture(scope="module")
def runner(real_spark: None) -> Iterator[ScriptRunner]:
    """Give what runs scripts without data."""
    with ScriptRunner({}) as found:
        yield found


def seen(runner: ScriptRunner, folder: Path, name: str, text: str = "", seconds: int = 60) -> Seen:
    """Run a script in a folder of its own, which must be afterwards as it was before."""
    script = folder / f"{name}.py"
    if text:
        script.write_text(text, "utf-8")
    else:
        shutil.copy(SCRIPTS / script.name, script)
    (folder / "victim.txt").write_text("still here", "utf-8")
    source, here = script.read_text("utf-8"), str(folder)
    told = runner.run(ScriptRequest(script.name, str(script), source, (), here, "", here, seconds=seconds))
    assert sorted(each.name for each in folder.iterdir()) == sorted([script.name, "victim.txt"])
    found = lineage_of_script(told, ())
    problems = [(each.problem.line, each.problem.code) for each in found if each.problem is not None]
    outputs = (dataset for each in found if each.lineage is not None for dataset, _ in each.lineage.outputs)
    written = [each.identifier.name.removeprefix(f"{here}/") for each in outputs if each is not None]
    return Seen(problems, written, found, told[-1]["k"])


def test_what_reaches_out_of_the_process_is_refused_and_named_by_its_line(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, "reaches_out")
    assert found.problems == [
        *((line, "NOT_DONE") for line in (24, 25, 26, 27)),
        *((line, "REFUSED") for line in (28, 29, 30, 19, 32, 33, 34, 35)),
        (36, "NOT_DONE"),
        (37, "REFUSED"),
        (38, "NOT_DONE"),
    ]
    assert found.message(32) == "the script tried to connect to 192.0.2.1, which a dry run does not allow"
    assert found.message(34).endswith("/.ssh/id_rsa, which a dry run does not allow")
    assert found.written == ["out"]
    assert found.last == "end"


def test_what_is_not_known_leaves_the_rest_as_it_is(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, "unknown")
    assert found.problems == [
        (8, "UNKNOWN_SCHEMA"),
        (13, "UNKNOWN_TABLE"),
        (13, "STAND_IN"),
        (14, "PATTERN"),
    ]
    assert '--schemas FILE containing {"not_declared": "id INT, ..."}' in found.message(8)
    assert found.written == ["out/one", "default.joined", "out/two", "out/three", "out/four"]
    assert edges_of_lineage(found.found, tmp_path) == ["known.name -> out/four.name DIRECT IDENTITY"]


def test_merges_of_lakes_are_the_statements_that_they_are(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, "lakes")
    assert found.problems == []
    assert set(found.written) == {"prices", "shop.latest"}
    direct = {line.split(" DIRECT ")[0] for line in edges_of_lineage(found.found, tmp_path) if " DIRECT " in line}
    assert direct == {
        "s3://lake/changes.id -> s3://lake/prices.id",
        "s3://lake/changes.price -> s3://lake/prices.price",
        "s3://lake/prices.id -> s3://lake/prices.id",
        "s3://lake/prices.price -> s3://lake/prices.price",
        "s3://lake/changes.id -> lake.shop.latest.id",
        "s3://lake/changes.price -> lake.shop.latest.price",
        "lake.shop.latest.id -> lake.shop.latest.id",
        "lake.shop.latest.price -> lake.shop.latest.price",
    }


def test_services_secrets_and_absent_modules_have_stand_ins(runner: ScriptRunner, tmp_path: Path) -> None:
    found = seen(runner, tmp_path, "stubs")
    stand_ins = [(line, "STAND_IN") for line in (5, 6, 7, 20, 23)]
    assert found.problems == sorted([*stand_ins, (18, "DECISION")])
    assert [str(each.lineage.inputs[0].identifier) for each in found.found if each.lineage] == [
        "Identifier(namespace='s3://{LAKE_BUCKET}', name='in/today')"
    ]


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("early", [(8, "SCRIPT_ENDED")]),
        ("raises", [(8, "SCRIPT_FAILED")]),
        ("loud", [(12, "SCRIPT_FAILED")]),
        ("endless", [(7, "TIME_OVER")]),
    ],
)
def test_a_script_that_ends_as_it_should_not_has_told_its_writes(
    runner: ScriptRunner, tmp_path: Path, name: str, problems: list[tuple[int, str]]
) -> None:
    found = seen(runner, tmp_path, name, seconds=10)
    assert found.problems == problems
    assert found.written == ["out"]


def test_a_script_that_can_not_begin_says_why(runner: ScriptRunner, tmp_path: Path) -> None:
    (broken := tmp_path / "broken").mkdir()
    found = seen(runner, broken, "broken", "x = 1\ndef (\n")
    assert (found.problems, found.message(2)) == (
        [(2, "SCRIPT_FAILED")],
        "the script is not valid Python: invalid syntax",
    )
    (ends := tmp_path / "ends").mkdir()
    found = seen(runner, ends, "ends")
    assert found.problems == [(7, "ARGUMENTS"), (7, "SCRIPT_ENDED")]
    assert "the following arguments are required: day" in found.message(7)
