"""Jars that tests need, from Maven Central."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openlineage-pyspark-tests"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def fetched(artifact: str, folder: Path) -> Path:
    """Give the jar of an artifact, from the cache or from Maven Central."""
    _, name, version = artifact.split(":")
    ready = CACHE / f"{name}-{version}.jar"
    if ready.exists():
        return ready
    if shutil.which("mvn") is None:
        pytest.skip(f"there is no {ready}, and no mvn command that fetches it from Maven Central")
    command = ["mvn", "-B", "-q", PLUGIN, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.skip(f"{artifact} could not be fetched from Maven Central: {done.stdout[-300:]}")
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.move(str(folder / ready.name), ready)
    return ready
