"""The outcomes of the events that were submitted, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs
from openlineage_pyspark.transport.delivery.queue import DropReason


def _read_only(drops: Mapping[DropReason, int]) -> Mapping[DropReason, int]:
    """Return an immutable copy."""
    return MappingProxyType(dict(drops))


@attrs.frozen
class DeliveryCounts:
    """
    The outcomes of all events; each event is in exactly one of the first four numbers.

    Args:
        sent: taken by the receiver.
        failed: refused for good; they are in the spool's dead letters if there is a spool.
        dropped: given up without a final answer.
        pending: waiting, or being sent at this moment.
        drops: the dropped events by reason, read-only.
        recovered: how many of all events come from orphaned spools.
        recovered_failed: how many of the failed ones do.
        recovered_pending: how many of the pending ones do.
        recovering: whether more orphaned spools may be taken over.
        retries: failed attempts that were followed by another; a number of attempts, not of events.
        deleted: events of earlier applications that were deleted unsent to keep the limits of the spool's root; they
            are in no other number.
    """

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    pending: int = 0
    drops: Mapping[DropReason, int] = attrs.field(factory=dict, converter=_read_only)
    recovered: int = 0
    recovered_failed: int = 0
    recovered_pending: int = 0
    recovering: bool = False
    retries: int = 0
    deleted: int = 0

    @classmethod
    def total(cls, each: Iterable[DeliveryCounts]) -> DeliveryCounts:
        """Return the sums over several receivers."""
        each = tuple(each)
        drops: Counter[DropReason] = Counter()
        for counts in each:
            drops.update(counts.drops)
        numbers = (field.name for field in attrs.fields(cls) if field.name not in ("drops", "recovering"))
        return cls(
            **{name: sum(getattr(counts, name) for counts in each) for name in numbers},
            drops=drops,
            recovering=any(counts.recovering for counts in each),
        )


@attrs.frozen(kw_only=True)
class ReceiverMetrics:
    """
    The outcomes of this application's own events at one receiver; those of earlier applications are not in them.

    `made` is always the sum of `sent`, `waiting`, `dropped` and `refused`.

    Args:
        receiver: where they go, without credentials; see `Transport.destination`.
        made: handed to the delivery.
        sent: taken by the receiver.
        waiting: still to be sent, or being sent at this moment.
        dropped: given up without a final answer.
        refused: refused for good; they are in the spool's dead letters if there is a spool.
        seconds_behind: for how many seconds the oldest of the waiting ones has waited; 0 if none waits.
        retries: failed attempts that were followed by another, those for events of earlier applications too.
    """

    receiver: str
    made: int = 0
    sent: int = 0
    waiting: int = 0
    dropped: int = 0
    refused: int = 0
    seconds_behind: float = 0.0
    retries: int = 0
