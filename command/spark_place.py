"""Which Spark a driver of this interpreter would start, read from files: neither Spark nor Java is started."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION_LINE = re.compile(r"^__version__\b.*?[\"']([^\"']+)", re.MULTILINE)


@attrs.frozen
class SparkPlace:
    """Where Spark is.

    Args:
        package: the folder of the Python package `pyspark`; None where it can't be imported.
        package_version: its version; None where it does not say.
        home: Spark's own folder: SPARK_HOME, or else the package, which holds a whole Spark where pip installed it.
    """

    package: Path | None
    package_version: str | None
    home: Path | None

    @property
    def jars(self) -> Path | None:
        """The folder of its jars; None where there is none, as with a client of Spark Connect."""
        if self.home is None:
            return None
        return next(
            (self.home / name for name in ("jars", "assembly/target/jars") if (self.home / name).is_dir()), None
        )

    @property
    def version(self) -> str | None:
        """The version of Spark by the name of its core jar; None where there is no such jar."""
        return self.jar_version("spark-core")

    def jar_version(self, name: str) -> str | None:
        """Return the version of a jar by its file's name; None where it is not there.

        Args:
            name: such as `janino`, without Scala's version.
        """
        pattern = re.compile(rf"{re.escape(name)}(?:_2\.1[23])?-(\d[^/]*)\.jar")
        found = (pattern.fullmatch(jar.name) for jar in self.jars.iterdir()) if self.jars else ()
        return next((match[1] for match in found if match), None)


def find_spark(environ: Mapping[str, str]) -> SparkPlace:
    """Look for Spark as `pyspark` does.

    Args:
        environ: the environment, for SPARK_HOME.
    """
    spec = importlib.util.find_spec("pyspark")
    package = Path(spec.origin).parent if spec is not None and spec.origin else None
    home = environ.get("SPARK_HOME", "").strip()
    return SparkPlace(package, _package_version(package), Path(home) if home else package)


def numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, such as 4 and 1 of `4.1.0.dev0`."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _package_version(package: Path | None) -> str | None:
    if package is None:
        return None
    try:
        found = _VERSION_LINE.search((package / "version.py").read_text("utf-8"))
    except OSError:
        return None
    return found[1] if found else None
