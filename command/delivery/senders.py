"""The senders of waiting events: the configured one, and earlier ones for the same receiver."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from openlineage_pyspark.command.delivery.configured import open_without_driver
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.listener.start.delivery import sender
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.composite import independent_parts
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.spool.content import Content

Senders = frozenset[tuple[str, str]]
"""Each receiver with the sender that follows from the configuration."""


def senders(parts: Sequence[Transport], settings: Settings) -> Senders:
    """Return the receivers of some transports, each with its sender."""
    return frozenset((part.destination, sender(settings, part)) for part in parts)


def configured_senders(settings: Settings) -> Senders:
    """Return the configured receivers, each with its sender; none if no transport can be opened."""
    if "type" not in settings.transport:
        return frozenset()
    try:
        parts = independent_parts(open_without_driver(settings.transport))
    except TransportConfigError:
        return frozenset()
    found = senders(parts, settings)
    for part in parts:
        attempt(functools.partial(part.close, 0.0))
    return found


def is_of_another_sender(each: Content, ours: Senders) -> bool:
    """Return whether events wait for a configured receiver, and were left by another sender than the configured one."""
    return (
        bool(each.waiting)
        and not each.in_use
        and any(each.destination == destination for destination, _ in ours)
        and not any(each.is_meant_for(*pair) for pair in ours)
    )


def of_another_sender(left: Collection[Content]) -> Iterator[str]:
    """Yield, for each receiver, how many events another sender left for it, and what to do."""
    for destination in sorted({each.destination for each in left}):
        waiting = sum(each.waiting for each in left if each.destination == destination)
        to = destination if destination.startswith("http") else "URL"
        yield (
            f"{counted(waiting, 'event')} for {destination} were left with another key, header or URL parameter, "
            f"that is, by another sender; if only that has changed: openlineage-pyspark replay --to {to}"
        )
