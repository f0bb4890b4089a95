"""The limits of the probe. They are the defaults of settings, which an application reads that is switched off too."""

from __future__ import annotations

import attrs


@attrs.frozen
class ProbeLimits:
    """
    The limits on what the probe encodes and keeps.

    Args:
        max_nodes: the most tree nodes of one plan. A larger plan is cut, and marked as cut.
        max_bytes: the most characters of one encoded plan; likewise.
        max_waiting: the most characters of the records that wait to be taken, and at most a sixteenth of the heap.
            Further records are dropped and counted.
        reads: whether to send the plans of executions without an output.
        options: names of options, in lower case, whose values it may read besides those of `placed.WHERE`.
    """

    max_nodes: int = 100_000
    max_bytes: int = 32 << 20
    max_waiting: int = 256 << 20
    reads: bool = False
    options: tuple[str, ...] = ()
