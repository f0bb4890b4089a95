"""
An archive of the classes of Spark's JVM, in the environment: with it, a JVM of the tests starts in half of the time.

It is Java's own (class data sharing, `-XX:ArchiveClassesAtExit`). Called as a script, this module runs one job and
keeps the classes that it loaded. Where there is no archive, or one of another Java or Spark, a JVM loads its classes as
always: tests are slower, and nothing else. It appears at once, so JVMs may start while it is made.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

JVM = (
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
)
"""
The options that make a JVM start quickly, and whose classes an archive can hold: it belongs to one collector.

To verify the classes of Spark takes a fifth of a small job. The size is the usual one: with one compiler alone the JVM
takes a fifth of it, and writes to stdout when that is full.
"""
SILENT = "-Xshare:auto -Xlog:cds*=off"
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings with which Spark interprets expressions: to compile code for small tables takes a fifth of a job's time."""
GENERATE = "TESTS_GENERATE_CODE"
"""The variable with which Spark generates code, as it does for its users."""
JOB = Path(__file__).parent / "jobs" / "classes.py"
CONF = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


def archive() -> Path:
    """Return where the archive is for this environment, and for the Java that its Spark finds; it may not be there."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    of = (java.resolve(), java.stat().st_mtime_ns if java.exists() else 0, _pyspark())
    return Path(sys.prefix, f"spark-classes-{hashlib.sha256(repr(of).encode()).hexdigest()[:16]}.jsa")


def _pyspark() -> str:
    found = importlib.util.find_spec("pyspark")
    return str(Path(found.origin or "").parent) if found is not None else ""


def java_options() -> str:
    """Return the options of a quick JVM: with the archive if there is one, and without generated code by default."""
    found = archive()
    options = f'{JVM} "-XX:SharedArchiveFile={found}" {SILENT}' if found.exists() else JVM
    interpreted = "" if os.environ.get(GENERATE) else "".join(f" -D{key}={value}" for key, value in INTERPRETED.items())
    return f"{options}{interpreted}"


def make() -> None:
    """Run the job, and keep the classes that it loaded."""
    target = archive()
    with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        made = Path(folder, "classes.jsa")
        variables = {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": _pyspark(),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": f'{JVM} "-XX:ArchiveClassesAtExit={made}" {SILENT}',
        }
        # It ends when the JVM has ended, which writes the archive last.
        command = [
            str(Path(_pyspark(), "bin", "spark-submit")),
            *(f"--conf={key}={value}" for key, value in CONF.items()),
            # Spark's default is a URL, which it takes for a path: if this one has a space, a folder with %20 beside it.
            f"--conf=spark.sql.warehouse.dir={Path(folder, 'warehouse')}",
        ]
        subprocess.run([*command, str(JOB)], cwd=folder, env=os.environ | variables, check=True, capture_output=True)
        made.rename(target)


if __name__ == "__main__":
    if not archive().exists():
        make()
