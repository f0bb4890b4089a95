"""What a release and the checks of pull requests are made by: workflows, recipe, images, hooks, and the site's list."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = re.findall(r'^version = "(.*)"$', PYPROJECT, re.MULTILINE)[0]


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def steps(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job.get("steps", ()) if "run" in step]


def test_every_command_that_a_workflow_runs_is_one_of_run() -> None:
    door = (ROOT / "run").read_text("utf-8")
    known = {
        word for words in re.findall(r"^    ([a-z |]+)\) needs=", door, re.MULTILINE) for word in words.split(" | ")
    }

    called = {
        found
        for workflow in WORKFLOWS
        for job in yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
        for command in steps(job)
        for found in re.findall(r"\./run (\w+)", command)
    }

    assert called == {"dist", "docs", "lint", "schemas", "stranger", "test"}
    assert called <= known


def test_the_matrix_has_each_spark_on_a_python_that_it_runs_on() -> None:
    noxfile = (ROOT / "noxfile.py").read_text("utf-8")
    allowed = {
        "3.5": {"3.10", "3.11"},
        **{spark: {"3.10", "3.11", "3.12", "3.13"} for spark in ("4.0", "4.1", "4.2")},
        "4.3": {"3.11", "3.12", "3.13"},
    }
    jobs = loaded(".github/workflows/test.yml")["jobs"]

    wanted = [(entry["spark"], entry["python"]) for entry in jobs["spark"]["strategy"]["matrix"]["include"]]

    assert {spark for spark, _ in wanted} == set(allowed)
    assert [pair for pair in wanted if pair[1] not in allowed[pair[0]]] == []
    assert all(f'"{spark}"' in noxfile for spark in allowed)
    assert jobs["without-spark"]["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13"]


def test_a_release_is_published_without_a_token_and_with_attestations() -> None:
    jobs = loaded(".github/workflows/release.yml")["jobs"]

    publishing = [step["uses"] for step in jobs["publish"]["steps"] if "uses" in step]
    assert publishing[-1].startswith("pypa/gh-action-pypi-publish@")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    attesting = [step.get("uses", "").partition("@")[0] for step in jobs["build"]["steps"]]
    assert {"actions/attest-build-provenance", "actions/attest-sbom"} <= set(attesting)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_unless_a_job_needs_more(workflow: Path) -> None:
    assert yaml.safe_load(workflow.read_text("utf-8"))["permissions"] == {"contents": "read"}


def test_the_recipe_has_the_version_and_the_dependencies_of_the_package() -> None:
    recipe = loaded(".ci/conda/recipe.yaml")
    (declared,) = re.findall(r"^dependencies = (\[.*\])$", PYPROJECT, re.MULTILINE)

    assert recipe["context"]["version"] == VERSION
    run = {re.sub(r"\s", "", entry) for entry in recipe["requirements"]["run"] if not entry.startswith("python ")}
    assert run == set(ast.literal_eval(declared))


def test_the_hooks_for_other_repositories_call_commands_that_there_are() -> None:
    entries = [hook["entry"].split() for hook in loaded(".pre-commit-hooks.yaml")]

    assert {words[0] for words in entries} == {"openlineage-pyspark"}
    commands = re.findall(r'^    "(\w+)": \(', (ROOT / "command/main.py").read_text("utf-8"), re.MULTILINE)
    assert {words[1] for words in entries} <= set(commands)


def test_the_images_install_the_wheel_that_a_release_builds() -> None:
    for name in ("Dockerfile", "spark.Dockerfile"):
        text = (ROOT / ".ci/image" / name).read_text("utf-8")
        assert "/dist/openlineage_pyspark-*.whl" in text
        assert re.findall(r"^USER (\w+)$", text, re.MULTILINE)[-1] != "root"


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    listed = re.findall(
        r" ([\w-]+\.md)$", (ROOT / "docs/mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2], re.MULTILINE
    )
    pages = [page.name for page in (ROOT / "docs").glob("*.md")]

    assert sorted(name for name in listed if (ROOT / "docs" / name).exists()) == sorted(pages)


def test_every_address_of_the_repository_begins_with_the_one_of_the_settings() -> None:
    source = re.findall(r'^Source = "(.*)"$', PYPROJECT, re.MULTILINE)[0]
    owner, name = source.split("/")[-2:]
    pages = f"https://{owner}.github.io/{name}/"
    folders = (".ci", ".github", "command", "conf", "docs", "facets", "listener", "templates", "transport", "workbench")
    files = [*ROOT.iterdir(), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    texts = [path for path in files if path.is_file() and path.suffix in (".md", ".yml", ".yaml", ".toml", ".py", "")]

    named = {
        found
        for path in texts
        for found in re.findall(rf"https://[\w./-]*{name}[\w./-]*", path.read_text("utf-8"))
        if "pypi.org" not in found and "/openlineage_pyspark-" not in found
    }

    assert {each for each in named if not each.startswith((source, pages))} == set()
    assert f"{source}/security/advisories/new" in named


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_what_it_uses_by_the_hash_of_a_commit(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text("utf-8"))

    assert used
    assert [
        line
        for line in used
        if not line[0].startswith("./")
        and not (re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", line[0]) and re.fullmatch(r" # v\d+\.\d+\.\d+", line[1]))
    ] == []
