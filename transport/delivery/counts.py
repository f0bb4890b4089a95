"""What became of the events that were handed over, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs
from openlineage_pyspark.transport.delivery.backlog import DropReason


@attrs.frozen
class DeliveryCounts:
    """What became of the events, each in exactly one place.

    Args:
        sent: taken by the receiver.
        failed: refused for good; among the spool's dead letters, where there is a spool.
        dropped: given up without a final answer.
        pending: waiting, or being sent at this moment.
        drops: the dropped ones by reason.
        recovered: how many of all these were left behind by earlier applications.
        recovered_failed: how many of those that failed were.
        recovered_pending: how many of those that are pending are.
        recovering: whether more of what they left behind may come.
        retries: attempts in vain after which there was to be another; no number of events.
    """

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    pending: int = 0
    drops: Mapping[DropReason, int] = attrs.field(factory=dict)
    recovered: int = 0
    recovered_failed: int = 0
    recovered_pending: int = 0
    recovering: bool = False
    retries: int = 0

    @classmethod
    def total(cls, each: Iterable[DeliveryCounts]) -> DeliveryCounts:
        """Add up those of several receivers."""
        each = tuple(each)
        drops: Counter[DropReason] = Counter()
        for counts in each:
            drops.update(counts.drops)
        numbers = (field.name for field in attrs.fields(cls) if field.name not in ("drops", "recovering"))
        return cls(
            **{name: sum(getattr(counts, name) for counts in each) for name in numbers},
            drops=dict(drops),
            recovering=any(counts.recovering for counts in each),
        )
