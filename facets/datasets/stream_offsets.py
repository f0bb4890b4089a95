"""The offsets of streams: the versions and the topics that they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard


def version_read(offset: str | None) -> str | None:
    """
    Return the last version of which a stream of Iceberg or Delta Lake has read files, up to an offset.

    Iceberg's `StreamingOffset` has a snapshot, and how many of its files were read. If none was, the last version is
    the previous snapshot, which the offset does not state. Delta Lake's `DeltaSourceOffset` has a version, and the
    index of the last of its files that was read. A negative index means that the whole previous version was read; in
    the snapshot with which a query begins, it means that nothing was read.

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
        None if it is not such an offset.
    """
    fields = _mapping(offset)
    topics = {topic: each for topic, each in fields.items() if isinstance(each, dict)}
    whole = len(topics) == len(fields) and all(_is_number(n) for each in topics.values() for n in each.values())
    return topics if topics and whole else None


def of_topic(offset: str | None, topic: str) -> str | None:
    """
    Return the part of a Kafka source's offset for one topic.

    Returns:
        The part, as JSON; None if the offset does not have the topic.
    """
    found = (by_topic(offset) or {}).get(topic)
    return None if found is None else json.dumps({topic: found}, separators=(",", ":"))


def messages_between(start: str | None, end: str | None, topic: str) -> int | None:
    """
    Return the difference of a topic's offsets, over all partitions; None if they are unknown.

    There may be fewer messages between them.
    """
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
