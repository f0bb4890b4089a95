"""What a script finds by Hadoop's file system and by `dbutils.fs` are the places with known columns."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.facets.datasets.naming import location
from openlineage_pyspark.workbench.dryrun.sandbox.listed_files import JavaFiles, JavaPath, listed
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.script.places import key_of_dataset
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATHS = ("s3a://lake/raw/orders", "s3a://lake/raw/x/2024-01-01", "s3a://lake/raw/x/2024-01-02", "/data/a.csv")


class Found:
    """A stage with known places, and the codes of what it has recorded."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._out = os.open(file, os.O_WRONLY | os.O_CREAT)
        columns = {key_of_dataset(location(path)): (("id", "INT"),) for path in PATHS}
        request = ScriptRequest("job.py", "/job.py", "", (), "/", str(file.parent), "/", columns=columns)
        self.stage = Stage(request, self._out)
        self.files = JavaFiles(self.stage, StandIn("fs"))

    def codes(self) -> list[str]:
        """Return the codes of the problems that it has recorded."""
        lines = map(json.loads, self._file.read_text("utf-8").splitlines())
        return [each["code"] for each in lines if each["k"] == "problem"]

    def close(self) -> None:
        """Close the file of the records."""
        os.close(self._out)


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Found]:
    """Give a stage with known places."""
    made = Found(tmp_path / "records")
    yield made
    made.close()


def walked(files: Any, path: str) -> Iterator[str]:
    """Yield the files below a folder as scripts do."""
    for each in files.listStatus(JavaPath(files, path)):
        if each.isDirectory():
            yield from walked(files, each.getPath().toString())
        else:
            yield each.getPath().toString()


def test_a_walk_over_folders_finds_the_known_places(found: Found) -> None:
    assert list(walked(found.files, "s3a://lake/raw")) == list(PATHS[:3])
    assert found.codes() == ["STAND_IN"] * 2


def test_an_iterator_of_files_and_a_pattern_find_the_known_places(found: Found) -> None:
    files = found.files.listFiles(JavaPath(found.files, "s3a://lake", "raw"), recursive=True)
    names = []
    while files.hasNext():
        names.append(files.next().getPath().getName())
    assert names == ["orders", "2024-01-01", "2024-01-02"]
    assert [str(each.getPath()) for each in found.files.globStatus("s3a://lake/raw/x/*-02")] == [PATHS[2]]


def test_a_place_exists_if_it_is_known_and_any_other_answer_is_a_decision(found: Found) -> None:
    assert [found.files.exists(path) for path in ("s3a://lake/raw", PATHS[0], "/data/", "/data/b.csv")] == [
        *[True] * 3,
        False,
    ]
    assert found.codes() == ["DECISION"]


def test_a_folder_without_known_places_is_a_stand_in(found: Found) -> None:
    assert isinstance(found.files.listStatus("s3a://other"), StandIn)
    assert isinstance(found.files.delete("s3a://other"), StandIn)
    assert listed(found.stage, "s3a://other") == found.codes() == []


def test_databricks_marks_folders_in_their_names(found: Found) -> None:
    assert [(each.name, each.path, each.isDir()) for each in listed(found.stage, "s3a://lake/raw/")] == [
        ("orders", "s3a://lake/raw/orders", False),
        ("x/", "s3a://lake/raw/x/", True),
    ]


def test_a_path_has_the_parts_that_hadoop_gives_it(found: Found) -> None:
    path = JavaPath(found.files, "s3a://lake/raw/x/2024-01-01")
    assert (str(path.getParent()), path.getName(), path.toUri().getPath()) == (
        "s3a://lake/raw/x",
        "2024-01-01",
        "/raw/x/2024-01-01",
    )
    assert path.getFileSystem() is found.files
