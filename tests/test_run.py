"""`./run`, with a Java and a Python that only write down how they are called, and what noxfile.py makes of it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
PROGRAM = """#!/bin/sh
{ printf '%s' "${0##*/}"; printf '|%s' "$@"; printf '|%s\\n' "JAVA_HOME=${JAVA_HOME:-}"; } >>"$CALLS"
case "$*" in "-m venv "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;; esac
"""
JAVA = """#!/bin/sh
echo "    java.specification.version = {version}"
echo "    java.home = /jdk-{version}"
"""


def nothing(*words: object, **more: object) -> Callable[[Any], Any]:
    """Stand in for a decorator of nox, which leaves the function as it is."""
    return words[0] if words and callable(words[0]) else nothing


@pytest.fixture
def noxfile(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give noxfile.py as a module; nox is in no environment of the tests."""
    nox = ModuleType("nox")
    vars(nox).update(session=nothing, options=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "nox", nox)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OWN", "3.12")
    monkeypatch.setattr(module, "interpreter", {version: version for version in ("3.12", "3.11")}.get)
    return module


class Tree:
    """A clone with nothing in it but `./run` and noxfile.py, in a folder whose name has a space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "with a space"
        self.programs = folder / "programs"
        for place in (self.folder, self.programs):
            place.mkdir()
        (self.folder / "demo").mkdir()
        for name in ("run", "noxfile.py", "demo/flights.py"):
            shutil.copy(ROOT / name, self.folder / name)
        self.put("python3.13", PROGRAM)
        # Without this, root would install a Java by apt-get, and a Chromium.
        self.put("id", "#!/bin/sh\necho 1000\n")
        self._calls = folder / "calls"
        self._environment = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "HOME": str(folder),
            "CALLS": str(self._calls),
        }

    def put(self, name: str, text: str) -> None:
        """Put a program on the PATH."""
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def start(self, *words: str, status: int = 0) -> str:
        """Run `./run` in the clone and give what it prints."""
        done = subprocess.run(
            [f"{self.folder}/run", *words],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def calls(self) -> list[list[str]]:
        """Give all calls of the Python and of the one in nox's environment, each with its arguments."""
        return [line.split("|") for line in self._calls.read_text().splitlines()] if self._calls.exists() else []


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_door_is_thin() -> None:
    assert len((ROOT / "run").read_text().splitlines()) <= 100


def test_a_clone_may_lie_in_a_folder_whose_name_has_a_space(tree: Tree) -> None:
    printed = tree.start("lint", "--python", "3.13")

    runner = f"{tree.folder}/.nox/runner"
    assert printed.startswith(f"making .nox/runner with {tree.programs}/python3.13 ... ")
    made = [call for call in tree.calls() if "venv" in call or "pip" in call]
    assert made == [
        ["python3.13", "-m", "venv", "--clear", runner, "JAVA_HOME="],
        ["python", "-Im", "pip", "install", "--quiet", "nox>=2025.11.12", "uv>=0.5", "JAVA_HOME="],
    ]
    assert tree.calls()[-1] == ["python", "-I", f"{tree.folder}/noxfile.py", "lint", "--python", "3.13", "JAVA_HOME="]


def test_a_second_call_makes_nothing(tree: Tree) -> None:
    tree.start("lint")
    before = tree.calls()

    assert tree.start("lint") == ""
    assert tree.calls() == [*before, before[-1]]


@pytest.mark.parametrize(
    ("words", "home"),
    [
        pytest.param(["test", "-k", "merge plan"], "/jdk-25", id="default"),
        pytest.param(["demo", "--spark", "4.1"], "/jdk-25", id="4.1"),
        pytest.param(["test", "--fast"], "", id="fast"),
        pytest.param(["test", "--all", "--list"], "", id="list"),
    ],
)
def test_what_needs_a_java_gets_one(tree: Tree, words: list[str], home: str) -> None:
    tree.put("java", JAVA.format(version=25))

    tree.start(*words)
    assert tree.calls()[-1] == ["python", "-I", f"{tree.folder}/noxfile.py", *words, f"JAVA_HOME={home}"]


def only_these_javas(tree: Tree) -> None:
    """Hide the machine's own installations from `./run`."""
    door = tree.folder / "run"
    text = door.read_text()
    assert "/usr/lib/jvm/*/bin/java" in text
    door.write_text(text.replace("/usr/lib/jvm/*/bin/java", ""))


@pytest.mark.parametrize(
    ("words", "version", "spark"),
    [
        pytest.param(["demo"], 11, "4.3", id="too old"),
        pytest.param(["test", "--spark", "3.5", "-k", "merge"], 25, "3.5", id="too new"),
        pytest.param(["bench", "--spark=4.0"], 24, "4.0", id="too new, in one word"),
    ],
)
def test_a_java_that_is_missing_is_told_before_anything_is_downloaded(
    tree: Tree, words: list[str], version: int, spark: str
) -> None:
    only_these_javas(tree)
    tree.put("java", JAVA.format(version=version))

    remedy = "install it (Debian, Ubuntu: openjdk-17-jre-headless) or set JAVA_HOME"
    assert tree.start(*words, status=1) == f"run: Spark {spark} needs Java 17 or newer: {remedy}\n"
    assert tree.calls() == []


def test_a_python_is_installed_for_root_on_debian(tree: Tree) -> None:
    (tree.programs / "python3.13").unlink()
    tree.put("python3.14", PROGRAM)
    door = tree.folder / "run"
    # The machine's own Python is none here.
    door.write_text(door.read_text().replace("python3.12 python3.11 python3.10 python3 python ", ""))
    found = "run: Spark needs Python 3.13, 3.12, 3.11 or 3.10: install one of them\n"
    assert tree.start("lint", status=1) == found
    tree.put("id", "#!/bin/sh\necho 0\n")
    installs = (
        f'#!/bin/sh\ncase "$*" in *python3-venv*) mv {tree.programs}/python3.14 {tree.programs}/python3.13 ;; esac\n'
    )
    tree.put("apt-get", installs)

    printed = tree.start("lint")
    assert printed.startswith("installing Python ... ")
    assert f"making .nox/runner with {tree.programs}/python3.13 ... " in printed


def test_each_command_of_the_usage_gets_through_the_door(tree: Tree) -> None:
    usage = tree.start("help")
    commands = dict.fromkeys(re.findall(r"^(?:usage:)? +\./run (\w+)", usage, re.MULTILINE))
    tree.put("java", JAVA.format(version=21))

    assert {"demo", "test", "truth", "pythons"} <= commands.keys()
    for command in commands:
        tree.start(command)
        assert tree.calls()[-1][:4] == ["python", "-I", f"{tree.folder}/noxfile.py", command]


def test_help_is_the_usage_of_the_noxfile(tree: Tree) -> None:
    printed = tree.start("help")

    assert printed.startswith("usage: ./run demo ")
    assert printed.endswith("take --python 3.N.\n")
    assert tree.start("tset", status=2) == printed


@pytest.mark.parametrize(
    ("words", "called"),
    [
        pytest.param("lint", "-s lint", id="lint"),
        pytest.param("lint --fast --python 3.11", "-P 3.11 -s lint", id="lint without a Spark"),
        pytest.param("lint --spark=3.5 --python 3.11", "-P 3.11 -s lint", id="lint on another Python"),
        pytest.param("test", "-x -s lint test-4.3 --", id="test"),
        pytest.param("test --python 3.12", "-x -s test-4.3 --", id="nox's own Python"),
        pytest.param("test --spark 3.5 -k merge", "-x -s lint test-3.5 -- -k merge", id="pytest's arguments"),
        pytest.param("test --python=3.11 -x", "-P 3.11 -x -s test-4.3 -- -x", id="Python"),
        pytest.param("test --fast tests/facets", "-x -s lint fast -- tests/facets", id="fast"),
        pytest.param("test --coverage", "-x -s lint coverage --", id="coverage"),
        pytest.param("test --oldest", "-x -s oldest-4.3 --", id="oldest"),
        pytest.param("test --marquez --all", "-x -s lint test-4.3 -- tests/marquez --marquez -rs --all", id="marquez"),
        pytest.param("test --spark 3.5 --all", "-x -s lint test-3.5 -- --all", id="all the tests of a Spark"),
        pytest.param("test --all", "-s parts --", id="parts"),
        pytest.param("test --all oldest hive", "-s parts -- oldest hive", id="named parts"),
        pytest.param("demo --spark 4.1", "-s demo-4.1 --", id="demo"),
        pytest.param("demo --marquez http://localhost:5000", "-s demo-4.3 -- http://localhost:5000", id="to Marquez"),
        pytest.param("python docs/generate.py --write", "-s python-4.3 -- docs/generate.py --write", id="script"),
        pytest.param(
            "bench --spark 3.5 tpcds --pairs 9",
            "-s python-3.5 -- -E -s benchmarks/overhead.py --output build/bench/overhead-3.5.json tpcds --pairs 9",
            id="bench",
        ),
    ],
)
def test_a_command_calls_sessions(noxfile: Any, words: str, called: str) -> None:
    command, *rest = words.split()

    assert noxfile.arguments_of_nox(command, rest) == called.split()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("demo --spark 2.4", "argument --spark: invalid choice: '2.4' (choose from "),
        ("test --spark", "argument --spark: expected one argument"),
        ("demo now", "demo takes only --spark, --python, --marquez, not 'now'"),
        ("lint now", "lint takes only --spark, --python, --fast, not 'now'"),
        ("test --fast --spark 3.5", "--fast uses no Spark: leave out --spark"),
        ("test --coverage --spark 3.5", "--coverage uses no Spark: leave out --spark"),
        (
            "test --python 3.10",
            "there is no Python 3.10 here for Spark 4.3: ./run pythons --spark 4.3 lists the installed ones",
        ),
    ],
)
def test_what_can_not_be_done_is_said_in_a_sentence(
    noxfile: Any, words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = words.split()
    with pytest.raises(SystemExit) as stopped:
        noxfile.arguments_of_nox(command, rest)

    assert str(stopped.value).replace("'3.5',", "").startswith(f"run: {said}")
    assert capsys.readouterr() == ("", "")


def test_without_a_python_for_the_newest_spark_the_one_before_is_taken(
    noxfile: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(noxfile, "OWN", "3.10")
    monkeypatch.setattr(noxfile, "interpreter", {"3.10": "/usr/bin/python3.10"}.get)

    assert noxfile.arguments_of_nox("demo", []) == ["-s", "demo-4.2", "--"]
    assert capsys.readouterr().out == "Spark 4.2: 4.3 needs Python 3.11 or newer, here is /usr/bin/python3.10\n"
    with pytest.raises(SystemExit, match=r"Spark 4\.3 needs Python 3\.13 or 3\.12 or 3\.11: install one of them"):
        noxfile.arguments_of_nox("demo", ["--spark", "4.3"])


def test_a_folder_of_pyenvs_that_can_not_be_looked_into_is_passed_over(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYENV_ROOT", "/" + 5000 * "a")

    assert [found for found in request.getfixturevalue("noxfile").FOUND if "aaa" in found] == []


def test_the_installed_pythons_of_a_spark_are_listed(noxfile: Any, capsys: pytest.CaptureFixture[str]) -> None:
    noxfile.main("pythons")
    noxfile.main("pythons", "--spark", "3.5")

    assert capsys.readouterr().out == "3.12\n3.11\n3.11\n"


def test_a_part_has_a_session_a_reason_and_a_name_of_its_own(noxfile: Any) -> None:
    names = [part.name for part in noxfile.PARTS]

    assert len(set(names)) == len(names)
    # Airflow has a session that decides by itself on a Spark.
    assert {part.session.partition("-")[2] for part in noxfile.PARTS} <= {"", *noxfile.PYTHONS_OF}
    assert all(part.why.endswith(".") for part in noxfile.PARTS)


def test_the_parts_about_tpc_queries_have_all_of_them(noxfile: Any) -> None:
    """TPC-DS is long: without `--all`, TPC-H alone is asked."""
    asking = [part.arguments.split() for part in noxfile.PARTS if "tests/tpc" in part.arguments.split()]

    assert [words[-1] for words in asking] == ["--all", "--all"]


def test_the_fingerprint_is_that_of_what_gets_into_the_wheel(noxfile: Any, tmp_path: Path) -> None:
    for name in ("facets/trace.py", "tests/test_trace.py", "setup.py", "docs/demo.md", "facets/docs/demo.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def changed(name: str) -> bool:
        before = noxfile.fingerprint.__wrapped__(tmp_path)
        (tmp_path / name).write_text("changed")
        return bool(noxfile.fingerprint.__wrapped__(tmp_path) != before)

    assert [changed(name) for name in ("facets/trace.py", "setup.py", "facets/docs/demo.md", "README.md")] == [True] * 4
    assert [changed(name) for name in ("tests/test_trace.py", "docs/demo.md", "run", ".gitignore")] == [False] * 4


def test_the_lowest_versions_are_those_that_pyproject_allows(noxfile: Any) -> None:
    declared = ["attrs>=22.2", "openlineage-python>=1.52,<2", "jsonschema[format]>=4.21", "anything"]

    assert noxfile.lowest_versions(declared) == ("attrs==22.2", "openlineage-python==1.52", "jsonschema[format]==4.21")


def test_coverage_is_counted_by_package(noxfile: Any) -> None:
    def counts(lines: int, of: int, branches: int, of_branches: int) -> dict[str, dict[str, int]]:
        names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
        return {"summary": dict(zip(names, (lines, of, branches, of_branches), strict=True))}

    inside = ".nox/coverage/lib/python3.11/site-packages/openlineage_pyspark"
    files = {
        f"{inside}/auto.py": counts(1, 2, 0, 0),
        f"{inside}/facets/trace/rows.py": counts(8, 10, 1, 2),
        f"{inside}/facets/trace/deep/er.py": counts(9, 10, 2, 2),
        f"{inside}/page/html.py": counts(4, 4, 0, 0),
    }

    table, total = noxfile.coverage_by_package(files)

    rows = ["| (root) | 50.0 % |", "| facets/trace | 83.3 % |", "| page | 100.0 % |", "| all | 83.3 % |"]
    assert table.splitlines() == ["| Package | Covered |", "|---|---|", *rows]
    assert total == pytest.approx(100 * 25 / 30)


class Session:
    """A session of nox that runs nothing, and keeps how it was asked to."""

    def __init__(self, folder: Path, posargs: list[str], invoked_from: Path) -> None:
        self.env_dir = Path(".nox/demo-4.1")
        self.bin = str(folder / self.env_dir / "bin")
        self.cache_dir = folder / ".nox" / ".cache"
        self.env: dict[str, str | None] = {}
        self.posargs = posargs
        self.invoked_from = str(invoked_from)
        self.venv_backend = "uv"
        self.installed: list[tuple[str, ...]] = []
        self.ran: list[tuple[str, ...]] = []

    def install(self, *words: str, **_: object) -> None:
        self.installed.append(words)

    def run(self, *words: str, **_: object) -> None:
        self.ran.append(words)

    def chdir(self, _: Path) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def run_install(self, *words: str, **_: object) -> str:
        if "build" in words:
            Path(words[-2]).mkdir()
            Path(words[-2], "openlineage_pyspark-0-py3-none-any.whl").touch()
        return ""


@pytest.fixture
def start_demo(noxfile: Any, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Session]:
    """Give what runs the demo's session in the clone."""
    monkeypatch.chdir(tree.folder)
    monkeypatch.setattr(noxfile, "ROOT", tree.folder)
    monkeypatch.setattr(noxfile, "settings_of_pip", dict)
    monkeypatch.setenv("JAVA_HOME", "/jdk-17")
    pyspark = tree.folder / ".nox/demo-4.1/lib/python3.13/site-packages/pyspark"
    pyspark.mkdir(parents=True)

    def start(*posargs: str, invoked_from: Path = tree.folder) -> Session:
        session = Session(tree.folder, list(posargs), invoked_from)
        noxfile.demo(session, "4.1")
        return session

    return start


@pytest.mark.parametrize("more", [(), ("http://localhost:5000",)])
def test_the_command_that_the_demo_prints_is_the_one_that_it_runs(
    start_demo: Callable[..., Session], capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    session = start_demo(*more)

    printed = capsys.readouterr().out
    command = printed[printed.index("\n$ rm -rf") :].split("\n$ ")[2].split("\n\n")[0]
    assert session.ran[1] == ("sh", "-c", command)
    assert command.startswith("SPARK_HOME=")
    assert "JAVA_HOME=/jdk-17 PYSPARK_PYTHON=.nox/demo-4.1/bin/python .nox/demo-4.1/bin/spark-submit \\\n" in command
    assert command.endswith(" \\\n    demo/flights.py demo-output/landing demo-output/exports")
    to_marquez = "--conf spark.openlineage.transport.transports.marquez.url=http://localhost:5000 " in command
    assert [to_marquez, 'tables: namespace "file"' in printed] == [bool(more)] * 2


def test_the_demo_ends_with_answers_and_a_plan_of_recovery(start_demo: Callable[..., Session]) -> None:
    session = start_demo()

    *asked, _, _ = [words[-1].split()[:2] for words in session.ran[2:]]
    program = ".nox/demo-4.1/bin/openlineage-pyspark"
    assert asked == [
        [program, question] for question in ("show", "ingest", "downstream", "downstream", "recover", "view")
    ]
    assert session.ran[-1][-1].split(f"{program}' ")[1].startswith("lineage flights.py --diff HEAD --plan")


def test_the_demo_changes_its_job_as_it_says(start_demo: Callable[..., Session], noxfile: Any, tree: Tree) -> None:
    start_demo()

    before, after = (tree.folder / each / "flights.py" for each in ("demo", "demo-output/change"))
    assert before.read_text().replace(noxfile.HASHED, noxfile.BARE) == after.read_text() != before.read_text()


def test_the_demo_installs_no_tools_for_tests_and_nothing_a_second_time(
    start_demo: Callable[..., Session], tree: Tree
) -> None:
    installed = start_demo().installed

    (wheel,) = tree.folder.glob(".nox/.cache/wheels/*/openlineage_pyspark-0-py3-none-any.whl")
    assert installed == [
        ("pyspark==4.1.*",),
        (f"openlineage-pyspark[spark,demo,workbench] @ {wheel.as_uri()}", "pyspark==4.1.*"),
        ("--no-deps", "--force-reinstall", str(wheel)),
    ]
    assert start_demo().installed == []


def test_started_elsewhere_the_demo_says_where_its_command_runs(
    start_demo: Callable[..., Session], tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    start_demo(invoked_from=Path("/"))

    printed = capsys.readouterr().out
    assert f"\n$ cd '{tree.folder}'\n$ rm -rf" in printed
    assert f"SPARK_HOME='{tree.folder}/.nox/demo-4.1/lib/" in printed


def test_variables_of_the_caller_that_belong_to_another_spark_are_left_out(start_demo: Callable[..., Session]) -> None:
    environment = start_demo().env

    unset = ("PYTHONPATH", "PYTHONHOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_DRIVER_PYTHON")
    assert [environment[name] for name in unset] == [None] * 5
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"


class GitSession:
    """A session of nox that runs its commands."""

    def __init__(self, *posargs: str) -> None:
        self.posargs = posargs

    def run(self, *command: str, **_more: object) -> None:
        subprocess.run(command, check=True, capture_output=True)


def test_the_json_schemas_are_those_of_the_pinned_commit(
    noxfile: Any, tmp_path: Path, git: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the specification says beside its schemas is left out, and what was fetched before is replaced."""
    repository = tmp_path / "OpenLineage"
    call = (git, "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run([git, "init", "-q", str(repository)], check=True)
    subprocess.run([*call, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    commits = []
    for text in ("pinned", "later"):
        for name in ("spec/OpenLineage.json", "spec/facets/A.json", "spec/Naming.md", "spec/tests/A/1.json", "x.json"):
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_text(text)
        subprocess.run([*call, "add", "."], check=True)
        subprocess.run([*call, "commit", "-q", "-m", text], check=True)
        commits.append(subprocess.run([*call, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout)
    clone = tmp_path / "clone"
    stale = clone / ".nox/spec/facets/Stale.json"
    stale.parent.mkdir(parents=True)
    stale.touch()
    monkeypatch.setattr(noxfile, "ROOT", clone)
    monkeypatch.setattr(noxfile, "SPECIFICATION", ("https://invalid/", commits[0].strip()))

    noxfile.schemas(GitSession(repository.as_uri()))

    fetched = {path.relative_to(clone).as_posix(): path.read_text() for path in clone.rglob("*") if path.is_file()}
    assert fetched == {".nox/spec/OpenLineage.json": "pinned", ".nox/spec/facets/A.json": "pinned"}


def test_the_specification_is_pinned_by_a_commit(noxfile: Any) -> None:
    repository, commit = noxfile.SPECIFICATION

    assert repository == "https://github.com/OpenLineage/OpenLineage"
    assert re.fullmatch("[0-9a-f]{40}", commit)


def test_an_environment_for_editors_has_this_tree_and_the_wanted_spark(noxfile: Any) -> None:
    assert noxfile.arguments_of_nox("env", []) == ["-s", "env", "--", "4.3", "3.12"]
    assert noxfile.arguments_of_nox("env", ["--spark", "3.5"]) == ["-s", "env", "--", "3.5", "3.11"]
    assert noxfile.arguments_of_nox("schemas", ["/a/clone"]) == ["-s", "schemas", "--", "/a/clone"]


def test_the_sbom_names_the_library_of_the_page_as_what_the_package_brings(noxfile: Any, tmp_path: Path) -> None:
    sbom = tmp_path / "sbom.json"
    known = {"ref": "root-component", "dependsOn": ["requests==2"]}
    sbom.write_text(
        json.dumps(
            {"metadata": {"component": {"bom-ref": "root-component"}}, "components": [], "dependencies": [known]}
        )
    )

    noxfile.add_library_of_the_page(sbom)

    found = json.loads(sbom.read_text())
    lock = json.loads((ROOT / "workbench/page/package-lock.json").read_text())
    version = lock["packages"]["node_modules/@dagrejs/dagre"]["version"]
    (library,) = found["components"]
    assert (library["name"], library["version"]) == ("@dagrejs/dagre", version)
    assert library["licenses"] == [{"license": {"id": "MIT"}}]
    assert found["dependencies"] == [
        {"ref": "root-component", "dependsOn": [library["purl"], "requests==2"]},
        {"ref": library["purl"]},
    ]
