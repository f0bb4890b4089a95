"""The change of a pull request, judged by the command: its plan, its gates, its comment and its annotations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from openlineage_pyspark.command.main import main
from support.lineage_events import dataset, lineage, run_event, taken
from support.spark_jobs import without_foreign
from support.valid_answers import valid_answer

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.usefixtures("real_spark"), pytest.mark.any_spark]

ROOT = Path(__file__).parents[3]
MARK = "<!-- openlineage-pyspark lineage -->"
DDL = "CREATE TABLE people (id INT, mail STRING, born DATE, town STRING) USING delta;\n"
BASE = {
    "sql/1.sql": "CREATE TABLE known AS SELECT id, sha2(mail, 256) AS who, town, year(born) AS born FROM people;\n",
    "sql/2.sql": "CREATE TABLE towns AS SELECT town, count(*) AS n FROM known GROUP BY town;\n"
    "CREATE TABLE young AS SELECT id, who FROM known WHERE id > 3;\n",
}
CHANGED = {
    "sql/1.sql": "-- Whose mail it is.\n"
    "CREATE TABLE known AS SELECT id, mail AS who, town, CAST(year(born) AS STRING) AS born FROM people;\n",
}
GATES = "masked-to-unmasked,dropped-column-in-use,type-changed,rebuild"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, process_jvm: Any, git: str) -> Path:
    """Give a repository whose files differ from its last commit, and a store with a job that reads a table."""
    folder = tmp_path_factory.mktemp("repository")
    for name, text in {"ddl/a.sql": DDL, **BASE}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    command = [git, "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*command, *arguments], check=True, cwd=folder)
    for name, text in CHANGED.items():
        (folder / name).write_text(text, "utf-8")
    columns = lineage(letter=[("default.young", "who", "IDENTITY")])
    output = dataset("letters", columns=("letter",), columnLineage=columns)
    taken(
        folder / "lineage.db",
        [run_event("send", "COMPLETE", 2, inputs=(dataset("default.young"),), outputs=(output,))],
    )
    return folder


@pytest.fixture
def judged(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Give what calls the command there, and returns its exit code and what it has written. Spark is asked once."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(repository)
        capsys.readouterr()
        code = main(["lineage", "sql", "--ddl", "ddl", "--diff", "HEAD", "--plan", "--cache", ".cache", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_the_plan_names_what_is_made_again_in_order_and_what_stays_and_why(
    judged: Callable[..., tuple[int, str, str]],
) -> None:
    code, shown, said = judged()

    assert (code, said) == (3, "")
    assert shown.partition("\n\n")[2].splitlines() == [
        "2 tables to rebuild, 1 downstream table proven unchanged:",
        "  1. rebuild or update default.known (who, born): its rows and its other columns do not change",
        "       sql/1.sql:2",
        "  2. rebuild or update default.young (who): its rows and its other columns do not change",
        "       sql/2.sql:2",
        "  keep default.towns: it reads only unchanged columns of default.known",
    ]


def test_the_page_shows_what_is_printed(judged: Callable[..., tuple[int, str, str]]) -> None:
    """Its example is this repository."""
    page = (ROOT / "docs" / "judged-change.md").read_text("utf-8")

    assert f"```\n{judged()[1]}```\n" in page


def test_the_json_has_the_plan_and_the_findings_with_their_places(
    judged: Callable[..., tuple[int, str, str]],
) -> None:
    _, shown, _ = judged("--format", "json", "--store", "lineage.db")

    result = valid_answer(shown)["result"]
    assert [(each["table"], each["action"]) for each in result["plan"]["tables"]] == [
        ("default.known", "columns"),
        ("default.towns", "keep"),
        ("default.young", "columns"),
    ]
    assert result["plan"]["elsewhere"] == ["letters"]
    assert [(each["finding"], each["level"], each["file"], each["line"]) for each in result["findings"]] == [
        ("masked-to-unmasked", "error", "sql/1.sql", 2),
        ("masked-to-unmasked", "error", "sql/2.sql", 2),
        ("type-changed", "warning", "sql/1.sql", 2),
        ("rebuild", "note", "sql/1.sql", 2),
        ("rebuild", "note", "sql/2.sql", 2),
    ]


@pytest.mark.parametrize(
    ("gates", "code"),
    [("never", 3), ("dropped-column-in-use", 3), ("masked-to-unmasked", 1), ("type-changed,any", 1), ("rebuild", 1)],
)
def test_a_gate_of_a_change_is_the_exit_code_and_says_why(
    judged: Callable[..., tuple[int, str, str]], gates: str, code: int
) -> None:
    ended, _, said = judged("--fail-on", gates)

    assert ended == code
    assert bool(said) == (code == 1)
    assert judged("--fail-on", gates, "--check")[0] == (0 if code == 3 else 1)


def test_a_value_that_is_no_longer_masked_comes_first_in_the_comment(
    judged: Callable[..., tuple[int, str, str]],
) -> None:
    _, shown, _ = judged("--format", "comment")

    lines = shown.splitlines()
    assert lines[0] == MARK
    assert lines[1] == (
        "**2 values no longer masked; 3 changes of lineage; 1 column downstream; 2 tables to rebuild, "
        "1 downstream table proven unchanged.**"
    )
    assert lines[3] == (
        "- **masked to unmasked** `sql/1.sql:2` `default.people.mail -> default.known.who: the value is no longer "
        "masked: TRANSFORMATION (masked) sha2(CAST(people.mail AS BINARY), 256) => IDENTITY`"
    )
    assert shown.count("```mermaid\n") == 1


def test_the_findings_are_annotations_of_their_lines(judged: Callable[..., tuple[int, str, str]]) -> None:
    _, shown, _ = judged("--format", "github")

    assert [line.partition("::")[2].partition(",title=")[0] for line in shown.splitlines()] == [
        "error file=sql/1.sql,line=2,col=1",
        "error file=sql/2.sql,line=2,col=1",
        "warning file=sql/1.sql,line=2,col=1",
        "notice file=sql/1.sql,line=2,col=1",
        "notice file=sql/2.sql,line=2,col=1",
    ]


def test_the_findings_are_results_of_sarif(judged: Callable[..., tuple[int, str, str]]) -> None:
    _, shown, _ = judged("--format", "sarif")

    (run,) = json.loads(shown)["runs"]
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == ["masked-to-unmasked", "rebuild", "type-changed"]
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("masked-to-unmasked", "error"),
        ("masked-to-unmasked", "error"),
        ("type-changed", "warning"),
        ("rebuild", "note"),
        ("rebuild", "note"),
    ]


def test_a_column_that_is_gone_is_named_with_what_still_reads_it(
    judged: Callable[..., tuple[int, str, str]], repository: Path
) -> None:
    kept = (repository / "sql" / "2.sql").read_text("utf-8")
    try:
        (repository / "sql" / "2.sql").write_text(kept.replace("SELECT id, who", "SELECT id"), "utf-8")
        code, _, said = judged("--fail-on", "dropped-column-in-use", "--store", "lineage.db")
    finally:
        (repository / "sql" / "2.sql").write_text(kept, "utf-8")

    assert (code, said) == (1, "sql/2.sql:2: default.young.who was removed, but is still read by letters.letter\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--plan"], "--plan needs --diff: it shows what a change affects"),
        (["--check"], "--check needs --diff: it concerns what is downstream of a change"),
        (["--fail-on", "type-changed"], "--fail-on type-changed needs --diff: it is about a change"),
        (
            ["--diff", "HEAD", "--fail-on", "rebuild"],
            "--fail-on rebuild needs --plan: it is about the tables that must be rebuilt",
        ),
        (["--format", "comment"], "--format comment needs --diff: it is the comment of a pull request"),
    ],
)
def test_what_means_nothing_is_refused(
    arguments: list[str],
    why: str,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(repository)

    code = main(["lineage", "sql", *arguments])

    assert (code, capsys.readouterr().err) == (2, f"openlineage-pyspark: {why}\n")


GH = """\
#!/usr/bin/env bash
# Writes down what it is asked, and answers as GitHub does where one comment of ours is there, or none.
echo "$*" >>"$ASKED"
[[ "$*" == *--jq* ]] && [ -n "$THERE" ] && echo "$THERE"
exit 0
"""


def step(name: str) -> str:
    """Return the commands of a step of the action."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    (found,) = [each["run"] for each in action["runs"]["steps"] if each["name"] == name]
    return str(found)


def shell(folder: Path, commands: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run commands as a workflow does."""
    path = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {name: value for name, value in without_foreign().items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands],
        cwd=folder,
        env={**own, "PATH": path, "JAVA_HOME": "/nowhere", **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.long
def test_the_action_judges_and_writes_one_comment_that_it_writes_anew(
    judged: Callable[..., tuple[int, str, str]], repository: Path, tmp_path: Path
) -> None:
    """Its cache has what Spark has said; so its commands need none here."""
    judged("--cache", f"{tmp_path}/lineage-cache")
    files = {each: str(tmp_path / each) for each in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "ASKED")}
    (repository / "bin").mkdir(exist_ok=True)
    (repository / "bin" / "gh").write_text(GH, "utf-8")
    (repository / "bin" / "gh").chmod(0o755)
    given = {"FILES": "sql", "ARGUMENTS": "--ddl ddl", "BASE": "HEAD", "FAIL_ON": "never", "RUNNER_TEMP": str(tmp_path)}

    done = shell(repository, step("judge"), **given, **files)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::error file=sql/1.sql,line=2,col=1,title=masked-to-unmasked::")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "status=3\n"
    written = (repository / "lineage.md").read_text("utf-8")
    assert written.startswith(f"{MARK}\n**2 values no longer masked;")
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == written
    places = {"COMMENTS": "repos/o/r/issues/7/comments", "COMMENT": "repos/o/r/issues/comments"}
    for there in ("", "41"):
        assert shell(repository, step("comment"), THERE=there, **places, **files).returncode == 0
    asked = [line for line in (tmp_path / "ASKED").read_text().splitlines() if "--jq" not in line]
    assert asked == [
        "api --method POST repos/o/r/issues/7/comments --field body=@lineage.md --silent",
        "api --method PATCH repos/o/r/issues/comments/41 --field body=@lineage.md --silent",
    ]
    assert [shell(repository, step("result"), STATUS=each).returncode for each in "0312"] == [0, 0, 1, 1]


@pytest.mark.long
def test_the_action_ends_with_the_reason_if_nothing_can_be_compared(repository: Path, tmp_path: Path) -> None:
    files = {each: str(tmp_path / each) for each in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    given = {"FILES": "sql", "ARGUMENTS": "", "BASE": "nowhere", "FAIL_ON": "never", "RUNNER_TEMP": str(tmp_path)}

    done = shell(repository, step("judge"), **given, **files)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "openlineage-pyspark: git: there is no revision nowhere\n"


@pytest.mark.long
def test_the_component_of_gitlab_judges_too(judged: Callable[..., tuple[int, str, str]], repository: Path) -> None:
    head, body = yaml.safe_load_all((ROOT / "templates" / "lineage.yml").read_text("utf-8"))
    inputs = {name: each["default"] for name, each in head["spec"]["inputs"].items()}
    inputs |= {"arguments": "--ddl ddl", "fail-on": "masked-to-unmasked"}
    job = body["lineage"]
    commands = re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda found: inputs[found.group(1)], "\n".join(job["script"]))
    judged("--cache", ".lineage-cache")

    done = shell(repository, commands, BASE="HEAD")

    assert (done.returncode, job["allow_failure"]["exit_codes"]) == (1, 3)
    assert done.stdout.startswith(f"{MARK}\n**2 values no longer masked;")
    assert done.stdout == (repository / "lineage.md").read_text("utf-8")


@pytest.mark.long
def test_the_hook_for_a_commit_fails_if_a_value_is_no_longer_masked(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    (entry,) = [each["entry"] for each in hooks if each["id"] == "lineage-change"]
    arguments = entry.split()[2:]
    main_arguments = ["--ddl", "ddl", "sql/1.sql", "sql/2.sql"]
    monkeypatch.chdir(repository)
    code = main(["lineage", *arguments, "--cache", ".hook", *main_arguments])

    done = shell(repository, f"{entry} --cache .hook {' '.join(main_arguments)}")

    assert code == done.returncode == 1
    assert done.stderr.startswith(
        "sql/1.sql:2: default.people.mail -> default.known.who: the value is no longer masked"
    )


def test_what_decides_about_models_of_dbt_is_compared_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    process_jvm: Any,
    git: str,
) -> None:
    base = {
        "dbt_project.yml": "name: shop\n",
        "macros/cents.sql": "{% macro cents(column) %} ({{ column }} * 100) {% endmacro %}",
        "models/paid.sql": "select id, {{ cents('amount') }} as amount from {{ source('raw', 'orders') }}",
        "models/kinded.sql": "select kind from {{ ref('kinds') }} qualify 1 = 1",
        "models/people.sql": "select id from {{ source('raw', 'people') }} qualify 1 = 1",
        "models/py.py": "def model(dbt, session):\n    return dbt.ref('people')\n",
        "seeds/kinds.csv": "id,kind\n1,a\n",
    }
    for name, text in base.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [git, "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*command, *arguments], check=True, cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "models")

    def made(changed: str, text: str) -> tuple[set[str], str]:
        """Return what a change of a file rebuilds, beside the model that may read everything, and what is said."""
        (tmp_path / changed).write_text(text, "utf-8")
        capsys.readouterr()
        main(["lineage", ".", "--diff", "HEAD", "--plan", "--format", "json", "--cache", str(tmp_path / ".cache")])
        shown, said = capsys.readouterr()
        assert shown, said
        (tmp_path / changed).write_text(base[changed], "utf-8")
        tables = json.loads(shown)["result"]["plan"]["tables"]
        return {each["table"] for each in tables if each["action"] != "keep"} - {"default.py"}, said

    tables, said = made("macros/cents.sql", "{% macro cents(column) %} ({{ column }} * 1000) {% endmacro %}")
    assert tables == {"default.paid"}
    assert "../macros/cents.sql has changed: what it changes in models of dbt is seen only in compiled models\n" in said
    assert made("seeds/kinds.csv", "id,kind\n1,b\n")[0] == {"default.kinds", "default.kinded"}
    assert made("dbt_project.yml", "name: shop\nmodels: {+schema: x}\n")[0] == {
        "default.paid",
        "default.kinded",
        "default.people",
    }
