"""The offsets of streams: the versions and the topics that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard


def version_read(offset: str | None) -> str | None:
    """
    Return the last version that a stream of Iceberg or Delta Lake has read from, up to an offset.

    Iceberg's `StreamingOffset` has a snapshot and how many of its files were read. If none was, the snapshot before was
    the last one, and the offset does not state which that is. Delta Lake's `DeltaSourceOffset` has a version and the
    index of the last file of it that was read. Below the first file, it has read all of the version before; in the
    snapshot that a query begins with, nothing.

    Returns:
        The version as text; None if the offset does not state it, as for any other source.
    """
    fields = _mapping(offset)
    snapshot, position = fields.get("snapshot_id"), fields.get("position")
    if _is_number(snapshot) and _is_number(position):
        return str(snapshot) if snapshot >= 0 and position > 0 else None
    version, index = fields.get("reservoirVersion"), fields.get("index")
    if not _is_number(version) or not _is_number(index):
        return None
    if index >= 0:
        return str(version)
    begins = fields.get("isStartingVersion") is True
    return None if begins or version < 1 else str(version - 1)


def by_topic(offset: str | None) -> Mapping[str, Mapping[str, int]] | None:
    """
    Return the content of a Kafka source's offset: topic -> partition -> offset.

    Args:
        offset: the offset as JSON (`KafkaSourceOffset`).

    Returns:
        None if it is no such offset.
    """
    fields = _mapping(offset)
    topics = {topic: each for topic, each in fields.items() if isinstance(each, dict)}
    whole = len(topics) == len(fields) and all(_is_number(n) for each in topics.values() for n in each.values())
    return topics if topics and whole else None


def of_topic(offset: str | None, topic: str) -> str | None:
    """
    Return the part of a Kafka source's offset that is about one topic.

    Returns:
        The part, as JSON; None if the offset does not have the topic.
    """
    found = (by_topic(offset) or {}).get(topic)
    return None if found is None else json.dumps({topic: found}, separators=(",", ":"))


def messages_between(start: str | None, end: str | None, topic: str) -> int | None:
    """Return how far a topic's offsets are apart; None if they are unknown. There may be fewer messages than that."""
    before, after = (by_topic(each) or {} for each in (start, end))
    if topic not in after or topic not in before or after[topic].keys() != before[topic].keys():
        return None
    return sum(after[topic][partition] - before[topic][partition] for partition in after[topic])


def _mapping(offset: str | None) -> dict[str, Any]:
    try:
        found = json.loads(offset or "null")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
