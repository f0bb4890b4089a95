"""The lines of stack traces, of Java and of Python, as they stand in messages."""

from __future__ import annotations

import re

SOURCE = re.compile(r'(?P<indent>[\s|]*)File "[^"\n]*", line \d+(?:, in [^\n]*)?')
"""A line of a Python traceback that names a file; the next one is source code."""

FRAME = re.compile(
    r"\s*at [\w$.<>/@+\-]+\([\w$.:<>+\- ]*\)(?: ~?\[[^\]]*\])?|\s*\.\.\. \d+ (?:more|common frames omitted)"
)
"""A line of a Java stack trace."""

TRACEBACK_HEADINGS = frozenset(
    (
        "Traceback (most recent call last):",
        "Exception Group Traceback (most recent call last):",
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
        "JVM stacktrace:",
        "Driver stacktrace:",
        "",
    )
)
"""The lines between the parts of a trace."""
