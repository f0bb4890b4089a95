"""One import in the script, on a driver whose Python reads no `.pth` file: from a zip of `--py-files`, and late."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

ROOT = Path(__file__).parents[2]
DISTRIBUTION = "openlineage-pyspark"
NOT_SHIPPED = {"tests", "benchmarks", "demo", "docs", "build", "setup.py"}


def distributions(name: str, known: dict[str, importlib.metadata.Distribution]) -> None:
    """Collect a distribution and all that it requires here, by their normalised names."""
    key = canonicalize_name(name)
    if key not in known:
        known[key] = importlib.metadata.distribution(name)
        for requirement in known[key].requires or ():
            needed = Requirement(requirement)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                distributions(needed.name, known)


def files_of(distribution: importlib.metadata.Distribution) -> Iterator[tuple[Path, str]]:
    """Yield each file below the folder of packages, with its name there."""
    for file in distribution.files or ():
        if file.parts[0] != ".." and "__pycache__" not in file.parts:
            yield Path(str(distribution.locate_file(file))), str(file)


def files_of_the_package(package: Path) -> Iterator[tuple[Path, str]]:
    """Yield the package's own files; of an editable install the folder holds more than the package."""
    for file in package.rglob("*"):
        parts = file.relative_to(package).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if file.is_file() and not hidden and parts[0] not in NOT_SHIPPED:
            yield file, str(Path("openlineage_pyspark", *parts))


@pytest.fixture(scope="module")
def archive(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give what `pip install --target` lays out, as a zip."""
    needed: dict[str, importlib.metadata.Distribution] = {}
    distributions(DISTRIBUTION, needed)
    del needed[DISTRIBUTION]
    folder = tmp_path_factory.mktemp("zip")
    for files in (files_of_the_package(package), *map(files_of, needed.values())):
        for file, name in files:
            target = folder / "target" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    # It has the folders as well, without which Python finds no package that has no `__init__.py`.
    return Path(shutil.make_archive(str(folder / "packages"), "zip", folder / "target"))


@pytest.fixture(scope="module")
def job(archive: Path, bare: Path, jobs_in: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return jobs_in(tmp_path_factory.mktemp("job")).run(
        "by_import.py", conf={"spark.submit.pyFiles": str(archive)}, environment={"PYSPARK_PYTHON": str(bare)}
    )


def test_a_job_whose_first_line_imports_the_package_from_the_zip_is_listened_to(job: Any) -> None:
    assert (job.code, job.stdout) == (0, "")
    assert [event["eventType"] for event in job.events()] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert job.queries()[-1]["outputs"][0]["name"] == str(job.folder / "out")


def test_all_of_it_comes_out_of_the_zip(job: Any, archive: Path) -> None:
    """This job reads the probe's source and the libraries too. Otherwise the test before would prove nothing."""
    seen = json.loads((job.folder / "seen.json").read_text())

    assert seen["package"] == str(archive / "openlineage_pyspark" / "auto.py")
    assert seen["client"] == str(archive / "openlineage_pyspark" / "transport" / "http" / "transport.py")
    assert seen["attrs"] == str(archive / "attrs" / "__init__.py")


def test_the_import_does_nothing_in_a_python_worker(job: Any) -> None:
    seen = json.loads((job.folder / "seen.json").read_text())

    assert "OpenLineageFinder" in seen["driver"]
    assert "OpenLineageFinder" not in seen["worker"]


def test_what_is_imported_after_the_context_has_stopped_still_comes_out_of_the_zip(job: Any, archive: Path) -> None:
    """Spark puts a copy of its own first on the import path, and deletes it with the context."""
    seen = json.loads((job.folder / "seen.json").read_text())

    assert (seen["copied"], seen["copy is left"]) == ("packages.zip", False)
    assert seen["late"] == str(archive / "requests" / "help.py")


def test_an_import_after_the_session_takes_up_the_one_that_runs_and_those_to_come(
    bare: Path, package: Path, jobs_in: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "openlineage_pyspark").symlink_to(package)
    packages = [str(tmp_path), *(place for place in sys.path if Path(place).name == "site-packages")]

    job = jobs_in(tmp_path).run(
        "late_import.py", environment={"PYSPARK_PYTHON": str(bare), "PYTHONPATH": os.pathsep.join(packages)}
    )

    assert (job.code, job.stdout) == (0, "")
    assert [Path(event["outputs"][0]["name"]).name for event in job.queries()] == ["during", "during", "again", "again"]
