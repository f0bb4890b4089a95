"""Checks of a driver's environment with this interpreter: Python, the package and its hook, Spark and Java."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import site
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.delivery.spark_conf import numbers
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis
from openlineage_pyspark.command.doctor.driver import LAUNCHER, driver_python
from openlineage_pyspark.command.doctor.inspection import hook_is_active, places_of
from openlineage_pyspark.facets.events.encode import PACKAGE_VERSION
from openlineage_pyspark.workbench.extras import WORKBENCH, install_command, missing_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.command.delivery.spark_conf import SparkPlace

_DISTRIBUTION = "openlineage-pyspark"
_HOOK = "openlineage_pyspark.pth"
_OLDEST_SPARK, _NEWEST_SPARK = (3, 5), (4, 3)
_JAVA_SECONDS = 60


def look_at_python(spark: SparkPlace) -> Iterator[Diagnosis]:
    """
    Check this interpreter.

    Args:
        spark: the Spark that it would start.
    """
    here = f"{platform.python_version()}, {sys.executable}"
    removed = sys.version_info >= (3, 12) and importlib.util.find_spec("distutils") is None
    if removed and numbers(spark.version or spark.package_version or "") == _OLDEST_SPARK:
        yield Diagnosis(
            PROBLEM, "Python", f"{here}: Spark 3.5 needs distutils", "Use Python 3.11, or install setuptools."
        )
    else:
        yield Diagnosis(OK, "Python", here)


def look_at_package(spark: SparkPlace, conf: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """
    Check this package, and the hook that attaches the listener to a new SparkContext.

    Args:
        spark: the Spark that the hook acts on.
        conf: the Spark configuration.
        environ: the environment.
    """
    here = Path(__file__).parents[2]
    yield Diagnosis(
        OK,
        "package",
        f"{_DISTRIBUTION} {PACKAGE_VERSION} with openlineage-python {_version_of('openlineage-python')}, {here}",
    )
    yield from _of_copies("package", "openlineage_pyspark", _DISTRIBUTION)
    folders = {Path(folder) for folder in (*site.getsitepackages(), site.getusersitepackages())}
    files = sorted(str(found) for folder in folders for found in folder.glob(f"*{_HOOK}"))
    where = ", ".join(files) or f"no {_HOOK} in {', '.join(sorted(map(str, folders)))}"
    source, driver = driver_python(conf, environ)
    if Path(driver).name == LAUNCHER:
        yield Diagnosis(OK, "hook", f"provided by the launcher, which {source} names")
    elif spark.package is None:
        yield Diagnosis(NOTE, "hook", f"{where}; whether it works can't be checked without pyspark")
    elif hook_is_active(spark.package):
        yield Diagnosis(OK, "hook", f"active in this interpreter, {where}")
    else:
        remedy = (
            f"Install the wheel of {_DISTRIBUTION} into this environment, "
            f"or start the driver with spark.pyspark.driver.python={LAUNCHER}, "
            "or call openlineage_pyspark.register(spark) in the job."
        )
        yield Diagnosis(PROBLEM, "hook", f"not active, so configuration alone has no effect: {where}", remedy)


def look_at_extra() -> Iterator[Diagnosis]:
    """Check the extra that reads the columns of JDBC queries, and that most commands need."""
    missing = missing_of(WORKBENCH)
    if "sqlglot" in missing:
        remedy = f"For the columns too: {install_command(WORKBENCH)}"
        yield Diagnosis(NOTE, "JDBC queries", "tables only: sqlglot, which reads the columns, is not installed", remedy)
    else:
        yield Diagnosis(OK, "JDBC queries", f"tables and columns, with sqlglot {_version_of('sqlglot')}")
    if missing:
        found = f"the extra {WORKBENCH} is not installed (missing: {', '.join(missing)})"
        remedy = f"To query lineage here: {install_command(WORKBENCH)}"
        yield Diagnosis(NOTE, "workbench", f"{found}; the listener does not need it", remedy)


def look_at_spark(spark: SparkPlace, conf: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """
    Check which Spark there is, and whether the probe can be loaded into it.

    Args:
        spark: where it is.
        conf: the Spark configuration.
        environ: the environment.
    """
    if spark.package is None:
        remedy = "Install it (pip install pyspark), or run this command where spark-submit runs the job."
        yield Diagnosis(PROBLEM, "PySpark", "can't be imported in this interpreter", remedy)
    else:
        yield Diagnosis(OK, "PySpark", f"{spark.package_version or 'of an unknown version'}, {spark.package}")
        yield from _of_copies("PySpark", "pyspark", "PySpark")
    remote = "spark.remote" in conf or environ.get("SPARK_REMOTE")
    if remote or environ.get("SPARK_CONNECT_MODE_ENABLED"):
        remedy = "Put the listener on the Connect server."
        yield Diagnosis(PROBLEM, "Spark Connect", "the driver runs elsewhere, and this Python has no JVM", remedy)
    if spark.version is None:
        if spark.home is not None and not remote:
            remedy = "Set SPARK_HOME to a complete Spark, or install pyspark instead of pyspark-client."
            yield Diagnosis(PROBLEM, "Spark", f"{spark.home} has no jars of Spark", remedy)
        return
    yield _of_version(spark, spark.version)
    if spark.package_version and numbers(spark.package_version) != numbers(spark.version):
        yield _of_versions(spark, spark.package_version, spark.version)
    if spark.jar_version("janino") is None:
        remedy = "Use an unmodified Spark distribution: the probe is compiled with the Janino that it contains."
        yield Diagnosis(PROBLEM, "Janino", f"{spark.jars} contains no jar of it", remedy)
    java_listener = spark.jar_version("openlineage-spark")
    if java_listener is not None:
        found = f"openlineage-spark {java_listener} is in {spark.jars}"
        yield Diagnosis(NOTE, "Java listener", f"{found}; it does nothing unless spark.extraListeners names it")


def _of_copies(subject: str, package: str, name: str) -> Iterator[Diagnosis]:
    """Check whether a package could be imported from several places."""
    first, *others = places_of(package) or [Path()]
    if others:
        hidden = ", ".join(map(str, others))
        remedy = "Keep one of them: check PYTHONPATH and the installed packages."
        yield Diagnosis(WARNING, subject, f"{name} was found {len(others) + 1} times: {first} hides {hidden}", remedy)


def _of_versions(spark: SparkPlace, python: str, jars: str) -> Diagnosis:
    """Judge a PySpark and a Spark of two versions: if the major versions differ, no context can be created."""
    level = PROBLEM if numbers(python)[:1] != numbers(jars)[:1] else WARNING
    found = f"PySpark has version {python}, but Spark in {spark.home} has {jars}"
    remedy = "Unset SPARK_HOME, or install the PySpark of that version."
    return Diagnosis(level, "versions", found, remedy)


def _of_version(spark: SparkPlace, version: str) -> Diagnosis:
    found = f"{version}, {spark.home}"
    if numbers(version) < _OLDEST_SPARK:
        return Diagnosis(PROBLEM, "Spark", f"{found}: older than 3.5", "Use Spark 3.5 or newer.")
    if numbers(version) > _NEWEST_SPARK:
        remedy = f"Check whether there is a newer {_DISTRIBUTION}."
        return Diagnosis(
            WARNING, "Spark", f"{found}: newer than the versions that this package was tested with", remedy
        )
    return Diagnosis(OK, "Spark", found)


def look_at_java(spark: SparkPlace, environ: Mapping[str, str]) -> Diagnosis:
    """
    Check the Java that Spark would start.

    Args:
        spark: the Spark, which determines the Java that is needed.
        environ: the environment, for JAVA_HOME.
    """
    home = environ.get("JAVA_HOME", "").strip()
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=environ.get("PATH"))
    where = f"{java}{' by JAVA_HOME' if home else ''}"
    oldest, newest = _javas(numbers(spark.version or spark.package_version or ""))
    remedy = f"Install Java {oldest} or newer{f', up to {newest}' if newest else ''}, or set JAVA_HOME to it."
    if java is None:
        return Diagnosis(PROBLEM, "Java", "JAVA_HOME is not set, and no java is on the PATH", remedy)
    try:
        started = subprocess.run(  # noqa: S603 - the Java that Spark itself would start
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_JAVA_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else type(problem).__name__
        return Diagnosis(PROBLEM, "Java", f"{where} can't be run ({reason})", remedy)
    found = re.search(r"version \"([^\"]+)\"", started.stderr + started.stdout)
    if found is None:
        return Diagnosis(WARNING, "Java", f"{where} does not report its version", remedy)
    number = int((re.match(r"(?:1\.)?(\d+)", found[1]) or ["", "0"])[1])
    if number < oldest or (newest and number > newest):
        return Diagnosis(PROBLEM, "Java", f"{found[1]}, {where}: this Spark does not run on it", remedy)
    return Diagnosis(OK, "Java", f"{found[1]}, {where}")


def _javas(spark: tuple[int, ...]) -> tuple[int, int]:
    """Return the oldest and the newest Java that a Spark runs on; 0 if there is no newest one."""
    # Java 24 removed the security manager, which Spark up to 4.0 calls.
    return 8 if spark == (3, 5) else 17, 23 if spark in {(3, 5), (4, 0)} else 0


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "(missing)"
