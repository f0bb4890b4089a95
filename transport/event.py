"""The unit of delivery: one finished OpenLineage event."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable

import attrs

TERMINAL_TYPES = frozenset({"COMPLETE", "FAIL", "ABORT"})


def _one_line(_event: Event, _field: attrs.Attribute[bytes], body: bytes) -> None:
    if b"\n" in body:
        raise ValueError("the body of an event holds a line break: serialise it as compact JSON on one line")


def _id(event: Event) -> str:
    digest = hashlib.sha256(event.body).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"openlineage:{event.run_id}/{event.event_type}/{digest}"))


def dataset_keys(datasets: Iterable[tuple[str, str]]) -> frozenset[str]:
    """
    Return a short key for each dataset: 16 hexadecimal digits.

    Args:
        datasets: namespace and name of each.
    """
    texts = (f"{namespace}\n{name}".encode("utf-8", "surrogatepass") for namespace, name in datasets)
    return frozenset(hashlib.blake2b(text, digest_size=8).hexdigest() for text in texts)


@attrs.frozen
class Event:
    """
    One OpenLineage event, ready to ship.

    Args:
        run_id: of its run (`run.runId`).
        event_type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER (`eventType`).
        body: the event as compact JSON in UTF-8, without a line break.
        parent_run_id: the run whose START the receiver must have before it gets this event; None if there is none.
        id: a UUID, the same however often the event is sent; computed from the content by default.
        reads: the datasets that the run reads, as `dataset_keys` returns them; they order its START after other runs.
        writes: the datasets that the run writes, likewise.

    Raises:
        ValueError: the body holds a line break.
    """

    run_id: str
    event_type: str
    body: bytes = attrs.field(validator=_one_line, repr=False)
    parent_run_id: str | None = None
    id: str = attrs.field(default=attrs.Factory(_id, takes_self=True))
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
