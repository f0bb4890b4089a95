"""The values from the sources of the configuration, before they are read."""

from __future__ import annotations

import re

import attrs

PREFIX = "spark.openlineage."
ENVIRONMENT_PREFIX = "OPENLINEAGE__"
SPARK_CONF = "Spark configuration"


@attrs.frozen
class GivenValue:
    """
    A value as it was given.

    Args:
        name: the dotted key, without prefix.
        value: text, or what YAML or JSON parsed it to; never shown, because it may be a secret.
        label: the key as the user wrote it, and where.
        origin: SPARK_CONF, the path of a file, or the name of an environment variable.
    """

    name: str
    value: object = attrs.field(repr=False)
    label: str
    origin: str


@attrs.frozen
class Layer:
    """
    What one source gave.

    Args:
        given: its values.
        problems: what could not be read, as sentences without a full stop.
        transport_type: the transport that its options are for; None if it names none.
    """

    given: tuple[GivenValue, ...]
    problems: tuple[str, ...] = ()
    transport_type: str | None = None

    def suggestion(self, name: str) -> str:
        """Return the key of this name as it would be written in the source."""
        origin = self.given[0].origin if self.given else SPARK_CONF
        if origin == SPARK_CONF:
            return PREFIX + name
        if origin.startswith(ENVIRONMENT_PREFIX):
            return ENVIRONMENT_PREFIX + re.sub("(?<=[a-z])(?=[A-Z])", "_", name.replace(".", "__")).upper()
        return name
