"""`doctor` on Python, the hook, Spark and Java: on machines made of files, and on interpreters of their own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.command.delivery.spark_conf import SparkPlace
from openlineage_pyspark.command.doctor import runtime as doctor_runtime
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING


def spark_of(folder, *jars, package="4.1.0"):
    """Make a folder that looks like a Spark of some jars."""
    (folder / "jars").mkdir(parents=True)
    for jar in jars:
        (folder / "jars" / jar).write_bytes(b"")
    return SparkPlace(folder, package, folder)


def levels(found):
    return [(each.subject, each.level) for each in found]


def test_spark_is_known_by_its_jars(tmp_path):
    good = spark_of(tmp_path / "good", "spark-core_2.13-4.1.0.jar", "janino-3.1.9.jar")
    assert levels(doctor_runtime.look_at_spark(good, {}, {})) == [("PySpark", OK), ("Spark", OK)]

    old = spark_of(tmp_path / "old", "spark-core_2.12-3.3.1.jar", "janino-3.0.16.jar", package="3.5.9")
    assert levels(doctor_runtime.look_at_spark(old, {}, {})) == [
        ("PySpark", OK), ("Spark", PROBLEM), ("versions", WARNING),
    ]  # fmt: skip
    new = spark_of(tmp_path / "new", "spark-core_2.13-5.0.0.jar", package="5.0.0.dev1")
    assert levels(doctor_runtime.look_at_spark(new, {}, {})) == [
        ("PySpark", OK), ("Spark", WARNING), ("Janino", PROBLEM),
    ]  # fmt: skip
    both = spark_of(
        tmp_path / "both", "spark-core_2.13-4.1.0.jar", "janino-3.1.9.jar", "openlineage-spark_2.13-1.40.0.jar"
    )
    assert levels(doctor_runtime.look_at_spark(both, {}, {}))[-1] == ("Java listener", NOTE)


def test_a_python_without_spark_and_a_client_of_spark_connect_are_problems(tmp_path):
    assert levels(doctor_runtime.look_at_spark(SparkPlace(None, None, None), {}, {})) == [("PySpark", PROBLEM)]
    client = SparkPlace(tmp_path, "4.1.0", tmp_path)
    assert levels(doctor_runtime.look_at_spark(client, {}, {})) == [("PySpark", OK), ("Spark", PROBLEM)]
    assert levels(doctor_runtime.look_at_spark(client, {}, {"SPARK_REMOTE": "sc://x"})) == [
        ("PySpark", OK), ("Spark Connect", PROBLEM),
    ]  # fmt: skip


def java_of(folder, version):
    """Make a Java that tells its version and can do nothing else."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    ("spark", "java", "level"),
    [
        ("3.5.9", "1.8.0_402", OK),
        ("3.5.9", "17.0.15", OK),
        ("3.5.9", "24", PROBLEM),
        ("4.0.5", "11.0.2", PROBLEM),
        ("4.0.5", "24.0.1", PROBLEM),
        ("4.3.0", "17", OK),
        ("4.3.0", "25.0.1", OK),
        ("4.3.0", "unheard of", PROBLEM),
    ],
)
def test_java_is_judged_by_what_the_spark_runs_on(tmp_path, spark, java, level):
    place = spark_of(tmp_path / "spark", f"spark-core_2.13-{spark}.jar")

    found = doctor_runtime.look_at_java(place, java_of(tmp_path / "java", java))

    assert found.level == level
    assert found.found.startswith(f"{java}, {tmp_path}/java/bin/java by JAVA_HOME")
    assert bool(found.remedy) == (level == PROBLEM)


def test_a_java_that_is_not_there_or_does_not_run_is_a_problem(tmp_path):
    place = spark_of(tmp_path / "spark", "spark-core_2.13-4.0.0.jar")
    remedy = "Install Java 17 or newer, up to 23, or set JAVA_HOME to it."

    nowhere = doctor_runtime.look_at_java(place, {"PATH": str(tmp_path)})
    assert (nowhere.level, nowhere.found) == (PROBLEM, "JAVA_HOME is not set, and there is no java on the PATH")
    assert nowhere.remedy == remedy
    wrong = doctor_runtime.look_at_java(place, {"JAVA_HOME": str(tmp_path)})
    assert wrong.level == PROBLEM
    assert wrong.found == f"{tmp_path}/bin/java by JAVA_HOME can't be run (No such file or directory)"


def test_a_driver_of_another_python_is_named_and_one_of_the_same_environment_is_not():
    spark = SparkPlace(None, None, None)
    other = [*doctor_runtime.look_at_python(spark, {}, {"PYSPARK_DRIVER_PYTHON": "/bin/sh"})]
    assert levels(other) == [("Python", OK), ("driver's Python", WARNING)]
    assert other[1].remedy.endswith("/bin/sh -m openlineage_pyspark doctor")

    beside = str(Path(sys.executable).with_name("openlineage-pyspark"))
    for environ in ({"PYSPARK_PYTHON": sys.executable}, {"PYSPARK_DRIVER_PYTHON": beside}):
        assert levels(doctor_runtime.look_at_python(spark, {}, environ)) == [("Python", OK)]
    conf = {"spark.pyspark.driver.python": sys.executable}
    assert levels(doctor_runtime.look_at_python(spark, conf, {"PYSPARK_PYTHON": "/bin/sh"})) == [("Python", OK)]


WITHOUT_HOOK = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__module__", "") != "site"]
from openlineage_pyspark.command.main import main
sys.exit(main(["doctor", "-c", "spark.openlineage.transport.type=console", *sys.argv[1:]]))
"""


@pytest.mark.spark
def test_a_hook_that_does_not_act_is_a_problem_and_a_launcher_is_none(process):
    """This is so in an editable install, and where .pth files are not read."""
    code, shown, _ = process(sys.executable, "-c", WITHOUT_HOOK)
    assert code == 1
    assert re.search("problem +hook +not active, so that configuration alone does nothing", shown)

    launcher = "spark.pyspark.driver.python=/opt/bin/openlineage-pyspark-python"
    code, shown, _ = process(sys.executable, "-c", WITHOUT_HOOK, "-c", launcher)
    assert code == 0
    assert re.search("ok +hook +brought by the launcher, which spark.pyspark.driver.python names", shown)
