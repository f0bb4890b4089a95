"""A declarative pipeline's application is called by the pipeline's name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.listener.start.application import named_by_pipeline, pipeline_name


def test_the_name_stands_in_the_specification_that_is_given_or_lies_around(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: daily sales\nstorage: file:///x\n")
    (tmp_path / "other.yaml").write_text("name: other\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)

    assert pipeline_name(["run"], inner) == "daily sales"
    assert pipeline_name(["run", "--spec", "other.yaml"], tmp_path) == "other"
    assert pipeline_name(["run", f"--spec={tmp_path}/other.yaml", "--full-refresh-all"], inner) == "other"


@pytest.mark.parametrize("text", ["", "name: 3", "name: [a]", "- name", "name: 'x", "name: ' '", "\x00"])
def test_a_specification_without_a_name_names_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "spark-pipeline.yaml").write_text(text)
    assert pipeline_name(["run"], tmp_path) is None
    assert pipeline_name(["run", "--spec", "absent.yml"], tmp_path) is None


def test_only_sparks_own_program_is_named_so(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: daily\n")
    program = tmp_path / "pyspark" / "pipelines" / "cli.py"
    program.parent.mkdir(parents=True)
    module = "openlineage_pyspark.listener.start.application"
    text = f"from {module} import named_by_pipeline as n; print(n('PySparkShell'), n('cli.py'), n('mine'))"
    for script in (program, tmp_path / "job.py"):
        script.write_text(text)
    said = [
        subprocess.run([sys.executable, str(s), "run"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for s in (program, tmp_path / "job.py")
    ]

    assert said == ["daily daily mine\n", "PySparkShell cli.py mine\n"]
    assert named_by_pipeline("PySparkShell") == "PySparkShell"
