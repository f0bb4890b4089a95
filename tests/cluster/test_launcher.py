"""The launcher: the driver's Python with the hook in it, where the environment's `.pth` files are not read."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.any_spark

SCRIPT = Path(__file__).parents[2] / "listener" / "launch" / "openlineage-pyspark-python"
PYTHON = f"python3.{sys.version_info[1]}"
HOOKED = "import sys; print([f.__name__ for f in sys.meta_path if isinstance(f, type)][0])"
WHICH = "import sys; print(sys.executable)"
ENDING = str(Path(__file__).parents[1] / "listener" / "jobs" / "ending.py")
# As `pip install --target` and an environment have it, each seen from the launcher's folder.
LAYOUTS = {"target": "../openlineage_pyspark", "environment": f"../lib/{PYTHON}/site-packages/openlineage_pyspark"}


@attrs.frozen
class Launcher:
    """
    A launcher in a folder of its own.

    Args:
        path: of it.
    """

    path: Path

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            [str(self.path), *arguments], env=clean() | variables, capture_output=True, text=True, check=False
        )


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}


@pytest.fixture(scope="module")
def install(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Launcher]:
    """Give what lays the launcher out, with the package at a place beside it, or without it."""

    def lay_out(place: str | None) -> Launcher:
        folder = tmp_path_factory.mktemp("launcher") / "bin"
        folder.mkdir()
        if place is not None:
            link = Path(os.path.normpath(folder / place))
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(package)
        return Launcher(Path(shutil.copy(SCRIPT, folder)))

    return lay_out


@pytest.fixture(scope="module")
def launcher(install: Callable[[str | None], Launcher]) -> Launcher:
    return install(LAYOUTS["target"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_hook_is_in_the_python_that_the_launcher_starts(
    install: Callable[[str | None], Launcher], bare: Path, layout: str
) -> None:
    started = install(LAYOUTS[layout]).run("-c", HOOKED, PYSPARK_PYTHON=str(bare))

    assert (started.stdout, started.stderr) == ("OpenLineageFinder\n", "")


def test_a_link_to_the_launcher_works_as_the_launcher_itself(launcher: Launcher, bare: Path, tmp_path: Path) -> None:
    link = tmp_path / "python-with-lineage"
    link.symlink_to(launcher.path)

    assert Launcher(link).run("-c", HOOKED, PYSPARK_PYTHON=str(bare)).stdout == "OpenLineageFinder\n"


def test_without_the_launcher_that_python_knows_nothing_of_the_package(bare: Path) -> None:
    code = "import importlib.util; print(importlib.util.find_spec('openlineage_pyspark'))"
    assert Launcher(bare).run("-c", code).stdout == "None\n"
    assert Launcher(bare).run("-c", HOOKED).stdout == "BuiltinImporter\n"


def test_flags_and_arguments_reach_the_interpreter_as_they_are(launcher: Launcher, bare: Path) -> None:
    code = "import sys; print(sys.flags.dont_write_bytecode, sys.warnoptions, sys.argv)"
    arguments = ["-B", "-W", "error", "-c", code, "a b", "", "$HOME", "*", "--conf=x"]

    through, straight = (Launcher(path).run(*arguments, PYSPARK_PYTHON=str(bare)) for path in (launcher.path, bare))

    assert through.stdout == straight.stdout == "1 ['error'] ['-c', 'a b', '', '$HOME', '*', '--conf=x']\n"


@pytest.mark.parametrize("script", ["raise SystemExit(7)", "1 / 0", "print('out')"])
def test_a_script_gives_the_same_exit_code_and_output(
    launcher: Launcher, bare: Path, tmp_path: Path, script: str
) -> None:
    file = tmp_path / "app.py"
    file.write_text(f"import sys\nprint(sys.argv, sys.path[0], __file__)\n{script}\n")

    through, straight = (Launcher(path).run(str(file), "x", PYSPARK_PYTHON=str(bare)) for path in (launcher.path, bare))

    assert (through.returncode, through.stdout, through.stderr) == (
        straight.returncode,
        straight.stdout,
        straight.stderr,
    )


def test_a_signal_reaches_the_interpreter_which_is_the_very_process_that_was_started(
    launcher: Launcher, bare: Path
) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    process = subprocess.Popen(
        [str(launcher.path), "-c", code], env=clean() | {"PYSPARK_PYTHON": str(bare)}, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)

    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("before", [pytest.param({}, id="unset"), pytest.param({"PYTHONPATH": "/a:/b"}, id="set")])
def test_the_environment_and_the_import_path_are_given_back(
    launcher: Launcher, bare: Path, before: dict[str, str]
) -> None:
    """Otherwise each Python process that the script starts would have the hook as well."""
    code = "import os, sys; print(os.environ.get('PYTHONPATH'), sys.path)"

    through, straight = (
        Launcher(path).run("-c", code, PYSPARK_PYTHON=str(bare), **before) for path in (launcher.path, bare)
    )

    assert through.stdout.replace(f", {str(launcher.path.parents[1])!r}]", "]") == straight.stdout
    assert straight.stdout.startswith(before.get("PYTHONPATH", "None"))


def test_the_packages_neighbours_hide_nothing_of_what_the_driver_has(
    launcher: Launcher, bare: Path, tmp_path: Path
) -> None:
    """The folder of the dependencies is the last one of the import path."""
    for folder in (tmp_path, launcher.path.parents[1]):
        (folder / "neighbour.py").write_text("")
    code = "import neighbour; print(neighbour.__file__)"

    started = launcher.run("-c", code, PYSPARK_PYTHON=str(bare), PYTHONPATH=str(tmp_path))

    assert started.stdout == f"{tmp_path / 'neighbour.py'}\n"


def test_a_sitecustomize_of_the_environment_has_its_turn(launcher: Launcher, bare: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine', __name__)")
    code = f"import sys; print(sys.modules['sitecustomize'].__file__); {HOOKED}"

    started = launcher.run("-c", code, PYSPARK_PYTHON=str(bare), PYTHONPATH=str(tmp_path))

    assert started.stdout == f"mine sitecustomize\n{tmp_path / 'sitecustomize.py'}\nOpenLineageFinder\n"


def test_the_python_is_that_of_the_executors_then_the_neighbour_then_that_of_the_path(
    install: Callable[[str | None], Launcher], bare: Path, tmp_path: Path
) -> None:
    launcher = install(LAYOUTS["target"])
    for place in (tmp_path / "python3", launcher.path.with_name("python3")):
        place.write_text(f"#!/bin/sh\necho {place}\n")
        place.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    assert launcher.run("-c", WHICH, PATH=path, PYSPARK_PYTHON=str(bare)).stdout == f"{bare}\n"
    assert launcher.run("-c", WHICH, PATH=path).stdout == f"{launcher.path.with_name('python3')}\n"
    assert launcher.run("-c", WHICH, PATH=path, PYSPARK_PYTHON="").stdout.endswith("bin/python3\n")
    itself = launcher.run("-c", WHICH, PATH=path, PYSPARK_PYTHON=str(launcher.path))
    assert itself.stdout == f"{launcher.path.with_name('python3')}\n"
    launcher.path.with_name("python3").unlink()
    assert launcher.run("-c", WHICH, PATH=path).stdout == f"{tmp_path / 'python3'}\n"


def test_without_the_package_the_script_runs_and_one_line_says_that_there_is_no_lineage(
    install: Callable[[str | None], Launcher], bare: Path
) -> None:
    launcher = install(None)

    started = launcher.run("-c", HOOKED, PYSPARK_PYTHON=str(bare))

    assert (started.returncode, started.stdout) == (0, "BuiltinImporter\n")
    problem = f"the package is not beside {launcher.path}"
    assert started.stderr == f"openlineage: no lineage of this application: {problem}\n"


def test_a_package_without_what_is_to_be_imported_costs_one_line(
    install: Callable[[str | None], Launcher], bare: Path, tmp_path: Path
) -> None:
    """This happens where another version lies on the driver's own import path."""
    (tmp_path / "openlineage_pyspark").mkdir()
    (tmp_path / "openlineage_pyspark" / "__init__.py").write_text("")

    started = install(LAYOUTS["target"]).run("-c", HOOKED, PYSPARK_PYTHON=str(bare), PYTHONPATH=str(tmp_path))

    assert (started.returncode, started.stdout) == (0, "BuiltinImporter\n")
    problem = "No module named 'openlineage_pyspark.auto'"
    assert started.stderr == f"openlineage: no lineage of this application: {problem}\n"


@pytest.fixture(scope="module")
def submitted(
    bare: Path, jobs_in: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[dict[str, str]], Any]:
    """Give what submits a job on the bare Python; all packages come by PYTHONPATH, whose `.pth` files nobody reads."""
    packages = [place for place in sys.path if Path(place).name == "site-packages"]
    environment = {"PYSPARK_PYTHON": str(bare), "PYTHONPATH": os.pathsep.join(packages)}

    def submit(conf: dict[str, str]) -> Any:
        return jobs_in(tmp_path_factory.mktemp("job")).run(ENDING, "exit-3", conf=conf, environment=environment)

    return submit


@pytest.mark.long
def test_spark_starts_its_driver_by_the_launcher_and_the_job_is_listened_to(
    launcher: Launcher, submitted: Callable[[dict[str, str]], Any]
) -> None:
    job = submitted({"spark.pyspark.driver.python": str(launcher.path)})

    assert (job.code, job.stdout) == (3, "rows 10\n")
    assert [event["eventType"] for event in job.events()] == ["START", "START", "COMPLETE", "FAIL"]


@pytest.mark.long
def test_without_the_launcher_that_driver_is_not_listened_to(submitted: Callable[[dict[str, str]], Any]) -> None:
    """Otherwise the test before would prove nothing."""
    job = submitted({})

    assert (job.code, job.stdout, job.events()) == (3, "rows 10\n", [])
