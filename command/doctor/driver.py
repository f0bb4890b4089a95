"""Check the interpreter that the driver would run in, if the configuration names one, by running it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.delivery.spark_conf import numbers
from openlineage_pyspark.command.doctor import inspection
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.command.delivery.spark_conf import SparkPlace

LAUNCHER = "openlineage-pyspark-python"
# The keys for the driver's Python, strongest first, as spark-submit looks them up.
_CONF = ("spark.pyspark.driver.python", "spark.pyspark.python")
_VARIABLES = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")
_SUBJECT = "driver's Python"
_SECONDS = 60


def driver_python(conf: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the setting that names the driver's Python, and its value; both empty if there is none."""
    named = [(key, conf[key]) for key in _CONF if conf.get(key)]
    named += [(variable, environ[variable]) for variable in _VARIABLES if environ.get(variable)]
    return named[0] if named else ("", "")


def look_at_driver(spark: SparkPlace, conf: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """
    Run the interpreter that the configuration names for the driver, if it is not this one, and check its packages.

    Args:
        spark: the Spark that would start it.
        conf: the Spark configuration.
        environ: the environment.
    """
    source, command = driver_python(conf, environ)
    if not command or _is_this_python(command):
        return
    named = f"{source} is {command}"
    found = shutil.which(command, path=environ.get("PATH"))
    if found is None and _is_elsewhere(command, conf):
        remedy = f"Run doctor there, in a job: {command} -m openlineage_pyspark doctor"
        yield Diagnosis(NOTE, _SUBJECT, f"{named}, which is on the cluster and can't be run from here", remedy)
        return
    if found is None:
        yield Diagnosis(PROBLEM, _SUBJECT, f"{named}, which does not exist", f"Correct {source}, or remove it.")
        return
    python = _interpreter_of(Path(found))
    if python is None:
        remedy = f"Run doctor there too, with the Python of {command}."
        yield Diagnosis(WARNING, _SUBJECT, f"{named}, which is not a Python interpreter", remedy)
        return
    answer = _ask(str(python), spark, environ)
    if isinstance(answer, str):
        remedy = f"Correct {source}, or remove it."
        yield Diagnosis(PROBLEM, _SUBJECT, f"{named}, which can't be run ({answer})", remedy)
    else:
        yield _judge(named, answer, spark)


def _judge(named: str, answer: Mapping[str, Any], spark: SparkPlace) -> Diagnosis:
    found = f"{named}: Python {answer['python']}"
    other = f"or name the Python of this command: {sys.executable}"
    if not answer["package"]:
        remedy = f"Install the wheel of this package there, {other}"
        return Diagnosis(PROBLEM, _SUBJECT, f"{found}, without openlineage-pyspark", remedy)
    found = f"{found}, openlineage-pyspark in {answer['package']}"
    if answer["removed"] and numbers(spark.version or spark.package_version or "") == (3, 5):
        return Diagnosis(
            PROBLEM, _SUBJECT, f"{found}: Spark 3.5 needs distutils", "Use Python 3.11, or install setuptools."
        )
    if answer["pyspark"] is None:
        return Diagnosis(NOTE, _SUBJECT, f"{found}; whether the hook works can't be checked without pyspark")
    if not answer["hook"]:
        remedy = f"Install the wheel there, start the driver with {LAUNCHER}, {other}"
        return Diagnosis(PROBLEM, _SUBJECT, f"{found}, where the hook is not active", remedy)
    return Diagnosis(OK, _SUBJECT, f"{found}, where the hook is active")


def _is_this_python(command: str) -> bool:
    found = shutil.which(command)
    # Compared by folder, because python, python3 and jupyter of one environment count as one; links are not followed,
    # because the interpreters of two environments may be links to the same file.
    same = found is not None and Path(found).absolute().parent == Path(sys.executable).absolute().parent
    return same and Path(command).name != LAUNCHER


def _is_elsewhere(command: str, conf: Mapping[str, str]) -> bool:
    """Return whether an interpreter may exist only on the machines of the cluster."""
    unpacked = any(conf.get(key) for key in ("spark.archives", "spark.yarn.dist.archives"))
    return conf.get("spark.submit.deployMode") == "cluster" or (unpacked and not Path(command).is_absolute())


def _interpreter_of(program: Path) -> Path | None:
    """Return the interpreter that a program is or, as for jupyter and ipython, is beside; None if there is none."""
    if program.name == LAUNCHER or program.name.startswith(("python", "pypy")):
        return program
    if program.name.partition("-")[0] not in ("jupyter", "ipython", "ipython3"):
        return None
    return next((each for name in ("python3", "python") if (each := program.with_name(name)).exists()), None)


def _ask(python: str, spark: SparkPlace, environ: Mapping[str, str]) -> dict[str, Any] | str:
    """Return the report of an interpreter about itself; if there is none, the reason, as a text."""
    program = Path(inspection.__file__).read_text("utf-8")
    # As spark-submit starts it.
    submitted = [spark.home / "python", *(spark.home / "python" / "lib").glob("py4j-*-src.zip")] if spark.home else []
    path = [*(str(each) for each in submitted if each.exists()), environ.get("PYTHONPATH", "")]
    given = {**environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    try:
        done = subprocess.run(  # noqa: S603 - the Python that Spark itself would start
            [python, "-c", program], env=given, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            check=True,
        )  # fmt: skip
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except subprocess.CalledProcessError as problem:
        return (str(problem.stderr).strip().splitlines() or [f"exit status {problem.returncode}"])[-1]
    except (OSError, subprocess.SubprocessError, ValueError, LookupError) as problem:
        return str(problem.strerror if isinstance(problem, OSError) else type(problem).__name__)
