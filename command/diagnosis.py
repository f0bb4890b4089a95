"""What the command `doctor` says: one thing that it has looked at, and what is to be done about it."""

from __future__ import annotations

import attrs

OK = "ok"
NOTE = "note"
"""Worth to know, and no reason to do anything."""
WARNING = "warning"
"""Something has no effect, or may not be what was meant."""
PROBLEM = "problem"
"""It costs lineage."""


@attrs.frozen
class Diagnosis:
    """
    One thing that was looked at.

    Args:
        level: OK, NOTE, WARNING or PROBLEM.
        subject: what was looked at.
        found: what is there, without any secret.
        remedy: what to do; empty where nothing is to be done.
    """

    level: str
    subject: str
    found: str
    remedy: str = ""
