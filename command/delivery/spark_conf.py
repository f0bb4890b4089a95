"""
The Spark that a driver with this interpreter would start, and its configuration, read from files and command lines.

Neither Spark nor Java is started.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEFAULTS = "spark-defaults.conf"
COMMAND_LINE = "--conf"
SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"

_PAIR = re.compile(r"((?:\\.|[^\\\s=:])+)(?:\s*[=:]\s*|\s+|$)(.*)", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_VERSION_LINE = re.compile(r"^__version__\b.*?[\"']([^\"']+)", re.MULTILINE)


@attrs.frozen
class SparkPlace:
    """
    The location of Spark.

    Args:
        package: the folder of the Python package `pyspark`; None if it can't be imported.
        package_version: its version; None if it is unknown.
        home: Spark's own folder: SPARK_HOME, or else the package, which contains a whole Spark if pip installed it.
    """

    package: Path | None
    package_version: str | None
    home: Path | None

    @property
    def jars(self) -> Path | None:
        """The folder of its jars; None if there is none, as in a Spark Connect client."""
        if self.home is None:
            return None
        return next(
            (self.home / name for name in ("jars", "assembly/target/jars") if (self.home / name).is_dir()), None
        )

    @property
    def version(self) -> str | None:
        """The version of Spark, from the name of its core jar; None if there is no such jar."""
        return self.jar_version("spark-core")

    def jar_version(self, name: str) -> str | None:
        """
        Return the version of a jar, from its file name; None if there is no such jar.

        Args:
            name: the jar's name without Scala's version, such as `janino`.
        """
        pattern = re.compile(rf"{re.escape(name)}(?:_2\.1[23])?-(\d[^/]*)\.jar")
        found = (pattern.fullmatch(jar.name) for jar in self.jars.iterdir()) if self.jars else ()
        return next((match[1] for match in found if match), None)


def find_spark(environ: Mapping[str, str]) -> SparkPlace:
    """
    Find Spark as `pyspark` does.

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


@attrs.frozen
class SparkConf:
    """
    Spark's configuration, and where each key is set.

    Args:
        values: the value of each key.
        sources: the source of each key: the path of a file, `--conf` or `PYSPARK_SUBMIT_ARGS`.
        file: the defaults file that was looked for; None if there is no Spark.
        problem: why it could not be read, as a clause without its subject; empty if it was read. A missing file is a
            problem only if the command line names it.
    """

    values: Mapping[str, str] = attrs.field(repr=False)
    sources: Mapping[str, str]
    file: Path | None
    problem: str = ""


def read_conf(
    spark: SparkPlace, environ: Mapping[str, str], given: Sequence[tuple[str, str]], file: Path | None
) -> SparkConf:
    """
    Read the configuration, strongest source last.

    Args:
        spark: the Spark whose folder `conf` is searched, unless SPARK_CONF_DIR names another.
        environ: the environment, for SPARK_CONF_DIR and PYSPARK_SUBMIT_ARGS.
        given: keys and values from the command line.
        file: the file to read instead of the defaults file.
    """
    folder = environ.get("SPARK_CONF_DIR", "").strip() or (spark.home and spark.home / "conf")
    path = file or (Path(folder) / DEFAULTS if folder else None)
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    problem = ""
    try:
        pairs = [*properties(path.read_text("utf-8"))] if path else []
    except FileNotFoundError:
        pairs = []
        problem = "does not exist" if file else ""
    except (OSError, UnicodeDecodeError) as error:
        pairs = []
        problem = f"can't be read ({error.strerror if isinstance(error, OSError) else 'it is not UTF-8'})"
    layers = ((str(path), pairs), (SUBMIT_ARGUMENTS, _submit_arguments(environ)), (COMMAND_LINE, given))
    for source, layer in layers:
        for key, value in layer:
            # Like spark-submit, ignore keys that are not Spark's.
            if key.startswith("spark."):
                values[key], sources[key] = value.strip(), source
    return SparkConf(values, sources, path, problem)


def properties(text: str) -> Iterator[tuple[str, str]]:
    """
    Yield the keys and values of a Java properties file (java.util.Properties.load).

    Args:
        text: the content of the file.
    """
    # An odd number of backslashes at its end joins a line to the next one, whose indentation is dropped.
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    for line in re.split(r"\r?\n|\r", joined):
        pair = _PAIR.fullmatch(line.lstrip())
        if pair and not pair[1].startswith(("#", "!")):
            yield _unescaped(pair[1]), _unescaped(pair[2])


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", character, text, flags=re.DOTALL)


def _submit_arguments(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    try:
        words = shlex.split(environ.get(SUBMIT_ARGUMENTS, ""))
    except ValueError:
        return []
    found = []
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, equals, inline = word.partition("=")
        pair = following if word in {"--conf", "-c"} else inline if equals and name == "--conf" else ""
        key, equals, value = pair.partition("=")
        if equals:
            found.append((key.strip(), value))
    return found
