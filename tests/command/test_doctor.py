"""`doctor` as a whole, on the machine that the tests run on."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM
from support.valid_answers import valid_answer

pytestmark = [pytest.mark.spark, pytest.mark.any_spark, pytest.mark.usefixtures("wide")]

FILE = ("spark.openlineage.transport.type=file", "spark.openlineage.transport.location=lineage.ndjson")


def test_a_job_that_will_have_lineage_is_found_to_be_well(doctor, machine):
    code, found, keys, shown = doctor(*FILE)

    assert code == 0
    assert {level for rows in found.values() for level, _ in rows} == {OK, NOTE}
    assert found["Python"] == [(OK, f"{'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}")]
    version = metadata.version("openlineage-pyspark")
    assert found["package"][0][1].startswith(f"openlineage-pyspark {version} with openlineage-python 1.")
    assert found["Spark"][0][1].startswith(f"{metadata.version('pyspark')}, ")
    assert found["configuration"] == [(OK, "lineage is switched on, with the transport file")]
    assert found["receiver"] == [(OK, f"file {machine}/lineage.ndjson can be written")]
    assert found["spool"] == [(NOTE, "off, as this transport needs none")]
    assert keys == [
        ["spark.openlineage.transport.location", "lineage.ndjson", "--conf"],
        ["spark.openlineage.transport.type", "file", "--conf"],
    ]
    assert shown.endswith("\n\nno problems\n")


def test_without_a_transport_there_is_no_lineage_and_the_remedy_is_said(doctor):
    code, found, keys, shown = doctor()

    assert code == 1
    assert found["configuration"] == [(PROBLEM, "no transport is set, so there is no lineage")]
    assert "-> Set spark.openlineage.transport.type in spark-defaults.conf, openlineage.yml or with --conf." in shown
    assert keys == [["none"]] or keys == []
    assert shown.endswith("\n\n1 problem\n")


def test_programs_get_json(run, machine):
    code, shown, errors = run("doctor", "--format", "json", "-c", FILE[0], "-c", FILE[1])

    assert (code, errors) == (0, "")
    told = valid_answer(shown)["result"]
    assert {"level": "ok", "subject": "receiver", "found": f"file {machine}/lineage.ndjson can be written",
            "remedy": ""} in told["found"]  # fmt: skip
    assert {"name": "transport.type", "value": "file", "source": "--conf"} in told["keys"]


def test_warnings_are_counted_too(run):
    assert run("doctor", "-c", FILE[0], "-c", FILE[1], "-c", "spark.openlineage.namspace=x")[1].endswith(
        "\n\nno problems, 1 warning\n"
    )


def test_at_80_columns_no_line_is_longer_and_no_word_is_lost(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    lines = run("doctor")[1].splitlines()

    assert max(map(len, lines)) <= 80
    assert "spark.openlineage.transport.type in" in " ".join(line.strip() for line in lines)


def test_the_module_is_the_command(machine, process):
    """It checks the interpreter that runs it, whatever is on the PATH."""
    (machine / "openlineage.yml").write_text("transport: {type: console}\n")

    code, shown, errors = process(sys.executable, "-m", "openlineage_pyspark", "doctor")

    assert (code, errors) == (0, "")
    assert shown.endswith("\n\nno problems\n")
    version = f"openlineage-pyspark {metadata.version('openlineage-pyspark')}\n"
    assert process(sys.executable, "-m", "openlineage_pyspark", "--version") == (0, version, "")


def test_a_properties_file_that_is_not_there_is_told(run, tmp_path):
    code, shown, _ = run("doctor", "--properties-file", str(tmp_path / "absent"), "-c", FILE[0], "-c", FILE[1])

    assert code == 0
    assert f"warning  Spark's defaults  {tmp_path}/absent does not exist" in shown
