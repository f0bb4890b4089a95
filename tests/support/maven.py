"""Jars that tests need, from Maven Central."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openlineage-pyspark-tests"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>
"""


def fetched(artifact: str, folder: Path) -> Path:
    """
    Give the jar of an artifact, from the cache or from Maven Central; skip if it can't be had.

    Args:
        artifact: group, name and version; where the jar is another than the first one, `jar` and its classifier too.
        folder: where it may be fetched to.
    """
    _, name, version, *of = artifact.split(":")
    ready = CACHE / f"{'-'.join([name, version, *of[1:]])}.jar"
    if not ready.exists():
        _run_maven(f"{PLUGIN}:copy", [f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], folder, ready)
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.move(str(folder / ready.name), ready)
    return ready


def fetched_with_all(name: str, artifacts: Sequence[str], folder: Path, *, without: Sequence[str] = ()) -> Path:
    """
    Give the folder with the jars of artifacts and of all that they need; skip if they can't be had.

    Args:
        name: that of the folder in the cache.
        artifacts: group, name and version of each.
        folder: where they may be fetched to.
        without: group and name of what the first artifact names, and is not to be fetched.
    """
    ready = CACHE / name
    if not ready.is_dir():
        excluded = "".join(f"<exclusion>{_named(each)}</exclusion>" for each in without)
        first, *others = (_named(each) for each in artifacts)
        found = [f"{first}<exclusions>{excluded}</exclusions>", *others]
        (folder / "pom.xml").write_text(POM.format("".join(f"<dependency>{each}</dependency>" for each in found)))
        how = ["-f", str(folder), "-DincludeScope=runtime", f"-DoutputDirectory={folder}/jars"]
        _run_maven(f"{PLUGIN}:copy-dependencies", how, folder, ready)
        ready.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(str(folder / "jars"), ready)
    return ready


def _named(artifact: str) -> str:
    parts = zip(("groupId", "artifactId", "version"), artifact.split(":"), strict=False)
    return "".join(f"<{key}>{value}</{key}>" for key, value in parts)


def _run_maven(goal: str, options: Sequence[str], folder: Path, ready: Path) -> None:
    if shutil.which("mvn") is None:
        pytest.skip(f"there is no {ready}, and no mvn command that fetches it from Maven Central")
    command = ["mvn", "-B", "-q", goal, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.skip(f"{ready.name} could not be fetched from Maven Central: {done.stdout[-300:]}")
