"""The configuration of one application, read once and frozen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.listener.settings.catalog import find_key, nearest_key, why_without_effect
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.settings.reading import TRANSPORT, LayerReading, readers
from openlineage_pyspark.listener.settings.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openlineage_pyspark.listener.settings.given import Layer

__all__ = ["Settings", "default_search", "load"]


def default_search() -> tuple[Path, ...]:
    """Return the files that every OpenLineage client looks for: first in the working directory, then at home."""
    here = Path("openlineage.yml")
    try:
        return here.absolute(), Path.home() / ".openlineage" / "openlineage.yml"
    # The working directory was removed, or the user has no home directory.
    except (OSError, RuntimeError):
        return (here,)


def load(spark_conf: Mapping[str, str], environ: Mapping[str, str], search: Sequence[Path]) -> Settings:
    """
    Read the configuration from the environment, then the YAML file, then the Spark configuration; the last one wins.

    This never raises: a value that can't be used becomes a warning, and the default applies.

    Args:
        spark_conf: the whole Spark configuration; keys other than `spark.openlineage.*` are not read.
        environ: the environment; `OPENLINEAGE__A__B` sets the key `a.b`.
        search: the YAML files to look for after `OPENLINEAGE_CONFIG`; see `default_search`.
    """
    layers = read_sources(spark_conf, environ, search)
    reading = LayerReading(layers)
    reading.warnings += _problems_of_names(layers, has_transport=f"{TRANSPORT}type" in reading.given)
    read = {field: reader.read(reading, *reader.keys) for field, reader in readers(Settings).items()}
    return Settings(
        **read,
        transport=reading.transport(),
        sources=tuple(sorted((name, given[-1].origin) for name, given in reading.given.items())),
        warnings=tuple(dict.fromkeys(reading.warnings)),
    )


def _problems_of_names(layers: Sequence[Layer], *, has_transport: bool) -> Iterator[str]:
    """Yield a warning for each unknown key, and for each key that only has an effect elsewhere."""
    for layer in layers:
        for given in layer.given:
            # The transport checks its own options, if there is one.
            if given.name.startswith(TRANSPORT) and has_transport:
                continue
            why = why_without_effect(given.name, layer.suggestion)
            if why and not given.name.startswith(TRANSPORT):
                yield f"{given.label} {why}"
            if why or find_key(given.name) is not None:
                continue
            near = nearest_key(given.name)
            hint = f"; did you mean {layer.suggestion(near)}?" if near else ""
            yield f"{given.label} is unknown and has no effect{hint}"
