"""What is configured and where: each key of the lineage with its source, and what stands in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.command.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis
from openlineage_pyspark.listener.setting_catalog import find_key
from openlineage_pyspark.listener.setting_kinds import LIST, OPTIONAL_UUID
from openlineage_pyspark.listener.setting_sources import SPARK_CONF, read_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from openlineage_pyspark.command.spark_conf import SparkConf
    from openlineage_pyspark.listener.settings import Settings

_JAVA_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
_JAVA_JAR = "openlineage-spark"
# Whose text is no secret; beside these, numbers, switches and ids are shown.
_HARMLESS = frozenset(
    {
        "namespace", "appName", "parentJobNamespace", "parentJobName", "rootParentJobNamespace", "rootParentJobName",
        "spool.path", "transport.type", "transport.auth.type", "transport.compression",
    }
)  # fmt: skip


@attrs.frozen
class SetKey:
    """A key that is set.

    Args:
        name: dotted, without prefix.
        value: what it is set to, or in angle brackets why that is not shown.
        source: where it stands.
    """

    name: str
    value: str
    source: str


def set_keys(conf: SparkConf, environ: Mapping[str, str], search: Sequence[Path], settings: Settings) -> list[SetKey]:
    """Return the keys of the lineage that are set, by name; of one that is set twice what holds.

    Args:
        conf: the Spark configuration.
        environ: the environment.
        search: the YAML files to look for.
        settings: what was made of all these.
    """
    holding = dict(settings.sources)
    found = {
        given.name: SetKey(
            given.name,
            _shown(given.name, given.value),
            conf.sources.get(given.label, SPARK_CONF) if given.origin == SPARK_CONF else given.origin,
        )
        for layer in read_sources(conf.values, environ, search)
        for given in layer.given
        if holding.get(given.name) == given.origin
    }
    return sorted(found.values(), key=lambda key: key.name)


def _shown(name: str, value: object) -> str:
    key = find_key(name)
    if key is None:
        return "<unknown key>"
    try:
        converted = key.kind.convert(value)
    except (ValueError, TypeError):
        return "<not usable>"
    harmless = name in _HARMLESS or key.kind in (LIST, OPTIONAL_UUID) or isinstance(converted, int)
    return str(value) if harmless else "<not shown>"


def look_at_configuration(conf: SparkConf, settings: Settings) -> Iterator[Diagnosis]:
    """Look at the keys: whether lineage is asked for, and what has no effect.

    Args:
        conf: the Spark configuration.
        settings: what was made of it and of the other sources.
    """
    if conf.problem:
        level = PROBLEM if conf.problem.startswith("can't") else WARNING
        yield Diagnosis(level, "Spark's defaults", f"{conf.file} {conf.problem}", "Mend it, or name another file.")
    for warning in settings.warnings:
        yield Diagnosis(WARNING, "configuration", warning)
    if settings.disabled:
        source = dict(settings.sources).get("disabled", "")
        remedy = "Set spark.openlineage.disabled to false, or take it out."
        yield Diagnosis(PROBLEM, "configuration", f"lineage is switched off ({source})", remedy)
    elif "type" not in settings.transport:
        remedy = (
            "Set spark.openlineage.transport.type in spark-defaults.conf, openlineage.yml or by --conf; "
            "what the job sets itself can't be seen from here: pass it on with --conf KEY=VALUE."
        )
        yield Diagnosis(PROBLEM, "configuration", "no transport is set, so that there is no lineage", remedy)
    else:
        yield Diagnosis(OK, "configuration", f"lineage is asked for, by transport {settings.transport['type']}")


def look_at_java_listener(conf: SparkConf) -> Iterator[Diagnosis]:
    """Look whether the Java integration is configured too.

    Args:
        conf: the Spark configuration.
    """
    if _JAVA_LISTENER in conf.values.get("spark.extraListeners", ""):
        found = f"spark.extraListeners names it ({conf.sources['spark.extraListeners']}), and the job is left to it"
        remedy = f"Take {_JAVA_LISTENER} out of spark.extraListeners."
        yield Diagnosis(PROBLEM, "Java listener", found, remedy)
    for key in ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"):
        if _JAVA_JAR in conf.values.get(key, ""):
            found = f"{key} brings its jar ({conf.sources[key]}), which is not needed"
            yield Diagnosis(NOTE, "Java listener", found)
