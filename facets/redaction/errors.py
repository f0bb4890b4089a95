"""
Redact error messages and stack traces, of Python and of the JVM.

Such texts quote the user's input: statements, plans, lines of a script. The event already holds the statement, redacted
as SQL, and a line of source code may hold anything. So these quotations are removed; the file and the line number stay.
Credentials are removed from the rest. If literals are masked, only exception classes, error conditions, SQL states and
stack frames remain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from openlineage_pyspark.facets.redaction.names import is_login, is_secret
from openlineage_pyspark.facets.redaction.sql import MASK, redact_sql
from openlineage_pyspark.facets.redaction.text import without_values
from openlineage_pyspark.facets.urls import REDACTED

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

_STATEMENT = re.compile(r"== SQL\b[^=]*==\s*")
_PLAN = re.compile(r"\s*(?:== [A-Z][A-Za-z ]* Plan ==|(?:[A-Z][a-z]+ )?(?:Logical|Physical) Plan:|Streaming plan:)\s*")
_PLAN_ABOVE = re.compile(r".*;\s*")
_PLAN_TOP = re.compile(r"['~!]?[A-Z].*")
_BRANCH = re.compile(r"[\s:|]*(?:\+-|:-)\s")
_MARKS = re.compile(r"[\s|\-]*\^[\s\-~^]*")
_CONTINUATION = re.compile(
    r"\s*at [\w$.<>/]+\(|\s*\.\.\. \d+ more|Caused by: |JVM stacktrace:|Traceback \(most recent|== (?!SQL)"
    r"|During handling of the above|The above exception was"
)
_RAISED = re.compile(
    r"(?P<before>\s{0,200}(?::\s{0,200})?(?:Caused by: |Suppressed: )?)"
    r"(?P<class>(?:[A-Za-z_$][\w$]{0,100}\.){0,20}[A-Z][\w$]{0,100}?"
    r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failure|Throwable))(?=:|$)"
)
_CONDITION = re.compile(r":?\s*(\[[A-Z][A-Z0-9_]{2,100}(?:\.[A-Z0-9_]{1,100}){0,2}\])")
_STATE = re.compile(r"SQLSTATE: [0-9A-Z]{5}\b")
_QUERY = "The error was caused by the query "
_END_OF_QUERY = " The error occurred during "
_CUT = "..."
_LONG = 2000
_MANY = 1000
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[\w.\-]+")


def redact_message(text: str, redact: Callable[[str], str], hidden: Iterable[str], *, mask: bool) -> str:
    """
    Redact an error message, or a stack trace of Python or of the JVM.

    Args:
        text: the message or the trace, as it was raised.
        redact: removes the credentials from a text.
        hidden: values that were removed from the statement; the message may repeat them.
        mask: whether to remove everything that could be a literal.
    """
    if len(text) >= _LONG and text.endswith(_CUT):
        # The text was cut: the last word may be the beginning of a secret that no longer looks like one.
        text = f"{text.rsplit(None, 1)[0]} {_CUT}" if " " in text else _CUT
    statements: list[str] = []
    lines = list(_without_quotations(_without_queries(text).split("\n"), statements))
    if mask:
        return "\n".join(_masked(lines))
    known = set(hidden)
    for statement in statements:
        known |= redact_sql(statement, redact).hidden
    # A removed literal may be the name of a secret. It is removed last: the secret's value is found by this name.
    named = {value for value in known if _names_what_follows(value)}
    shown = redact(_without("\n".join(lines), known - named))
    return _without(shown, named | set(map(redact, named)) - {REDACTED})


def _names_what_follows(value: str) -> bool:
    """Return whether a secret may follow a value in a text, as it follows its name or the beginning of a URL."""
    if "://" in value or "-----" in value:
        return True
    return any(is_secret(name) or is_login(name) for name in _NAME.findall(value))


def _without_queries(text: str) -> str:
    """Remove the queries for other databases that Spark repeats in a message, with their comments."""
    parts: list[str] = []
    done = 0
    while (begin := text.find(_QUERY, done)) >= 0:
        begin += len(_QUERY)
        end = text.find(_END_OF_QUERY, begin)
        parts += [text[done:begin], REDACTED]
        done = len(text) if end < 0 else end
    return "".join([*parts, text[done:]])


def _without(text: str, hidden: Iterable[str]) -> str:
    """Remove values from a text, longest first; beyond the first `_MANY`, only where a value is a whole word."""
    values = sorted(hidden, key=lambda value: (-len(value), value))
    words = frozenset(values[_MANY:])
    text = without_values(text, values[:_MANY])
    return _WORD.sub(lambda found: REDACTED if found.group() in words else found.group(), text) if words else text


def _without_quotations(lines: list[str], statements: list[str]) -> Iterator[str]:
    """Yield the lines that are not quoted statements, plans or source code; append the statements to `statements`."""
    at = 0
    while at < len(lines):
        line = lines[at]
        yield line
        at += 1
        source = SOURCE.match(line)
        if _STATEMENT.fullmatch(line):
            end = next((n for n in range(at, len(lines)) if _CONTINUATION.match(lines[n])), len(lines))
            statements.append("\n".join(part for part in lines[at:end] if not _MARKS.fullmatch(part)))
            yield REDACTED
            at = end
        elif source is not None:
            margin = len(source["indent"]) + 1
            while at < len(lines) and (_indent(lines[at]) > margin or not lines[at].strip(" |")):
                at += 1
        elif _PLAN.fullmatch(line) or _is_plan(line, lines, at):
            at += 1
            while at < len(lines) and lines[at].strip() and not _CONTINUATION.match(lines[at]):
                at += 1


def _is_plan(line: str, lines: list[str], at: int) -> bool:
    """Return whether a plan follows a line: as a tree, or at the end of an analysis error's message."""
    if at >= len(lines):
        return False
    as_last = _PLAN_ABOVE.fullmatch(line) is not None and _PLAN_TOP.fullmatch(lines[at]) is not None
    return as_last or _BRANCH.match(lines[at]) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" |"))


def _masked(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with `?` instead of everything that could be a literal; merge consecutive lines of only `?`."""
    before = ""
    for line in lines:
        shown = _masked_line(line)
        if shown != MASK or before != MASK:
            yield shown
        before = shown


def _masked_line(line: str) -> str:
    if line.strip() in TRACEBACK_HEADINGS or FRAME.fullmatch(line) or SOURCE.fullmatch(line):
        return line
    raised = _RAISED.match(line)
    kept = [raised["before"] + raised["class"]] if raised is not None else []
    rest = line[raised.end() :] if raised is not None else line
    condition, state = _CONDITION.match(rest), _STATE.search(rest)
    if rest.strip(" :"):
        what = [condition.group(1)] if condition is not None else []
        what += [MASK, *([state.group()] if state is not None else [])]
        kept.append(" ".join(what))
    return ": ".join(kept)
