"""The limits of the probe. The settings take defaults from them, even if lineage is switched off."""

from __future__ import annotations

import attrs


@attrs.frozen
class ProbeLimits:
    """
    The limits on what the probe encodes and keeps.

    Args:
        max_nodes: the maximum number of tree nodes of a plan. A larger plan is cut, and marked as cut.
        max_bytes: the maximum number of characters of an encoded plan; likewise.
        max_waiting: the maximum number of characters of the records that wait to be taken, which is also limited to a
            sixteenth of the heap. Further records are dropped and counted.
        reads: whether to send the plans of executions without an output.
        options: names of options, in lower case, whose values the probe may read besides those of `placed.WHERE`.
    """

    max_nodes: int = 100_000
    max_bytes: int = 32 << 20
    max_waiting: int = 256 << 20
    reads: bool = False
    options: tuple[str, ...] = ()
