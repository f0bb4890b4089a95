"""`doctor` on Python, the hook, Spark and Java: on machines made of files, and on interpreters of their own."""

from __future__ import annotations

import json
import platform
import re
import sys
import venv
from pathlib import Path

import openlineage_pyspark
import pytest
from openlineage_pyspark.command.delivery.spark_conf import SparkPlace
from openlineage_pyspark.command.doctor import runtime as doctor_runtime
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING
from openlineage_pyspark.command.doctor.driver import look_at_driver

ROOT = Path(openlineage_pyspark.__file__).parent.resolve()
HOOK = Path(__file__).parents[2] / "openlineage_pyspark.pth"


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
    assert (nowhere.level, nowhere.found) == (PROBLEM, "JAVA_HOME is not set, and no java is on the PATH")
    assert nowhere.remedy == remedy
    wrong = doctor_runtime.look_at_java(place, {"JAVA_HOME": str(tmp_path)})
    assert wrong.level == PROBLEM
    assert wrong.found == f"{tmp_path}/bin/java by JAVA_HOME can't be run (No such file or directory)"


NOTHING = SparkPlace(None, None, None)


def python_of(folder, *paths, hook=False):
    """Make an environment that imports from some folders too, and give the path of its Python."""
    venv.create(folder, symlinks=True)
    (packages,) = (folder / "lib").glob("python3*/site-packages")
    (packages / "paths.pth").write_text("\n".join(map(str, paths)))
    if hook:
        (packages / "zz_hook.pth").write_text(HOOK.read_text())
    return str(folder / "bin" / "python")


@pytest.fixture
def site(tmp_path):
    """Give a folder that holds this package, and nothing that may be installed beside it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "openlineage_pyspark").symlink_to(ROOT)
    return folder


def pyspark_in(folder, version="4.1.0"):
    """Make a PySpark that can be found, and no more."""
    (folder / "pyspark" / "core").mkdir(parents=True)
    (folder / "pyspark" / "__init__.py").write_text("")
    (folder / "pyspark" / "version.py").write_text(f'__version__ = "{version}"')
    (folder / "pyspark" / "core" / "context.py").write_text("")
    return folder


def judged(conf, **environ):
    return [*look_at_driver(NOTHING, conf, environ)]


@pytest.mark.parametrize("key", ["spark.pyspark.python", "spark.pyspark.driver.python"])
@pytest.mark.parametrize("variable", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"])
def test_a_drivers_python_that_is_not_there_is_a_problem(key, variable):
    (found,) = judged({key: "/nope/python"}, **{variable: sys.executable})
    assert (found.level, found.found) == (PROBLEM, f"{key} is /nope/python, which does not exist")
    assert found.remedy == f"Correct {key}, or remove it."
    (found,) = judged({}, **{variable: "/nope/python"})
    assert (found.level, found.found) == (PROBLEM, f"{variable} is /nope/python, which does not exist")


def test_a_drivers_python_of_this_environment_is_checked_as_this_one():
    beside = str(Path(sys.executable).with_name("openlineage-pyspark"))
    for environ in ({"PYSPARK_PYTHON": sys.executable}, {"PYSPARK_DRIVER_PYTHON": beside}):
        assert judged({}, **environ) == []
    assert judged({"spark.pyspark.driver.python": sys.executable}, PYSPARK_PYTHON="/nope/python") == []


def test_a_drivers_python_on_the_cluster_alone_is_no_problem():
    cases = ({"spark.submit.deployMode": "cluster"}, {"spark.archives": "env.tar.gz#environment"})
    for more in cases:
        (found,) = judged({"spark.pyspark.python": "./environment/bin/python", **more})
        assert (found.level, found.subject) == (NOTE, "driver's Python")
        assert found.found.endswith("which is on the cluster and can't be run from here")


def test_another_drivers_python_is_asked_whether_it_has_the_package(tmp_path, site):
    version = platform.python_version()
    bare, without = python_of(tmp_path / "bare"), python_of(tmp_path / "without", site)
    (found,) = judged({}, PYSPARK_PYTHON=bare)
    assert found.level == PROBLEM
    assert found.found == f"PYSPARK_PYTHON is {bare}: Python {version}, without openlineage-pyspark"
    assert found.remedy.startswith("Install the wheel of this package there, or name the Python of this command: ")

    (found,) = judged({}, PYSPARK_PYTHON=without)
    has = f"PYSPARK_PYTHON is {without}: Python {version}, openlineage-pyspark in {ROOT}"
    assert (found.level, found.found) == (NOTE, f"{has}; whether the hook works can't be checked without pyspark")


def test_another_drivers_python_is_asked_whether_the_hook_acts(tmp_path, site):
    spark = pyspark_in(tmp_path / "spark")
    inactive = python_of(tmp_path / "inactive", site, spark)
    active = python_of(tmp_path / "active", site, spark, *sys.path[1:], hook=True)
    (found,) = judged({}, PYSPARK_PYTHON=inactive)
    assert found.level == PROBLEM
    assert found.found.endswith(f"openlineage-pyspark in {ROOT}, where the hook is not active")

    (found,) = judged({}, PYSPARK_PYTHON=active)
    assert (found.level, found.remedy) == (OK, "")
    assert found.found.endswith(f"openlineage-pyspark in {ROOT}, where the hook is active")
    home = SparkPlace(None, None, tmp_path / "home")
    pyspark_in(tmp_path / "home" / "python")
    (found,) = look_at_driver(home, {}, {"PYSPARK_PYTHON": python_of(tmp_path / "submitted", site)})
    assert found.level == PROBLEM


def test_the_python_beside_a_jupyter_is_asked_and_no_other_program_is_run(tmp_path):
    python_of(tmp_path / "bare")
    for name in ("jupyter-lab", "editor"):
        program = tmp_path / "bare" / "bin" / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
        program.chmod(0o755)
    (found,) = judged({}, PYSPARK_DRIVER_PYTHON=str(tmp_path / "bare" / "bin" / "jupyter-lab"))
    assert (found.level, found.found.rpartition(", ")[2]) == (PROBLEM, "without openlineage-pyspark")
    (found,) = judged({}, PYSPARK_DRIVER_PYTHON=str(tmp_path / "bare" / "bin" / "editor"))
    assert (found.level, found.found.rpartition(", ")[2]) == (WARNING, "which is not a Python interpreter")
    assert not (tmp_path / "was-run").exists()


def test_a_drivers_python_that_does_not_run_is_a_problem(tmp_path):
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\necho 'no library for it' >&2\nexit 127\n")
    broken.chmod(0o755)
    (found,) = judged({}, PYSPARK_PYTHON=str(broken))
    assert (found.level, found.found) == (
        PROBLEM,
        f"PYSPARK_PYTHON is {broken}, which can't be run (no library for it)",
    )


def test_two_pysparks_are_seen(tmp_path, monkeypatch):
    first, second = pyspark_in(tmp_path / "first", "3.5.9"), pyspark_in(tmp_path / "second")
    monkeypatch.setattr(sys, "path", [str(first), str(second), *sys.path[1:]])
    place = spark_of(tmp_path / "spark", "spark-core_2.13-4.1.0.jar", "janino-3.1.9.jar")

    found = [each for each in doctor_runtime.look_at_spark(place, {}, {}) if each.subject == "PySpark"]
    assert [each.level for each in found] == [OK, WARNING]
    assert found[1].found.startswith("PySpark was found ")
    assert f"times: {first}/pyspark hides {second}/pyspark" in found[1].found


def test_a_spark_home_of_another_major_version_is_a_problem(tmp_path):
    place = spark_of(tmp_path / "spark", "spark-core_2.12-3.5.9.jar", "janino-3.1.9.jar", package="4.3.0")
    (found,) = [each for each in doctor_runtime.look_at_spark(place, {}, {}) if each.subject == "versions"]
    assert (found.level, found.found) == (
        PROBLEM,
        f"PySpark has version 4.3.0, but Spark in {tmp_path}/spark has 3.5.9",
    )


@pytest.mark.parametrize("named", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"])
def test_doctor_fails_where_the_drivers_python_can_have_no_lineage(run, monkeypatch, named):
    monkeypatch.setenv(named, "/nope/python")
    code, shown, _ = run("doctor", "--format", "json", "-c", "spark.openlineage.transport.type=console")

    driver = [each for each in json.loads(shown)["result"]["found"] if each["subject"] == "driver's Python"]
    assert (code, [each["level"] for each in driver]) == (1, [PROBLEM])


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
    assert re.search("problem +hook +not active, so configuration alone has no effect", shown)

    beside = Path(sys.executable).with_name("openlineage-pyspark-python")
    launcher = f"spark.pyspark.driver.python={beside}"
    code, shown, _ = process(sys.executable, "-c", WITHOUT_HOOK, "-c", launcher)
    assert code == 0
    assert re.search("ok +driver's Python +spark.pyspark.driver.python is", shown)
    assert re.search("ok +hook +provided by the launcher, which spark.pyspark.driver.python names", shown)
