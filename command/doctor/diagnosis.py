"""A diagnosis of the command `doctor`: the result of one check, and what to do about it."""

from __future__ import annotations

import attrs

OK = "ok"
NOTE = "note"
"""Worth knowing, but nothing needs to be done."""
WARNING = "warning"
"""Something has no effect, or may not be intended."""
PROBLEM = "problem"
"""It costs lineage."""


@attrs.frozen
class Diagnosis:
    """
    The result of one check.

    Args:
        level: OK, NOTE, WARNING or PROBLEM.
        subject: the subject of the check.
        found: the finding, without any secrets.
        remedy: what to do; empty if nothing needs to be done.
    """

    level: str
    subject: str
    found: str
    remedy: str = ""
