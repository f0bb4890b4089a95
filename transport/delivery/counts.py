"""The outcomes of the events that were submitted, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs
from openlineage_pyspark.transport.delivery.backlog import DropReason


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
