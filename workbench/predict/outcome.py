"""Summarize how the statements of files were read: exactly, from the text, or not at all, and for which reasons."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import attrs
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.predict.from_text.text import is_of_types
from openlineage_pyspark.workbench.predict.scripts import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openlineage_pyspark.facets.model.run import Gap
    from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage

HowFar: TypeAlias = Literal["exact", "text", "nothing"]
"""How much is known about a statement: the result of Spark's analyzer, what its text shows, or nothing."""
Reason: TypeAlias = Literal[
    "unknown-table", "unknown-column", "unknown-function", "no-value", "syntax", "unsupported", "error", "dry-run"
]
"""
Why the lineage of a statement is not exact: something is undeclared, a variable has no value, the statement has an
error, or the dry run of a script assumes or leaves out something.
"""
Severity: TypeAlias = Literal["error", "warning", "note"]

REASONS: tuple[Reason, ...] = get_args(Reason)
GATES = ("short", "text-only", "nothing", "any", "never", *REASONS)
"""The gates that can decide about the exit code; `short` applies to statements whose lineage is not exact."""
NoteCode: TypeAlias = Literal["BRANCH", "DECISION", "STAND_IN", "PATTERN", "NOT_DONE", "HANDLED"]
OTHER_OUTCOME: NoteCode = "BRANCH"
"""The code of the note before a statement that a script runs only if a decision on data has another outcome."""
DECISION: NoteCode = "DECISION"
"""The code of the note about a decision on data."""
NOTES: frozenset[str] = frozenset(get_args(NoteCode))
"""The codes of notes: what the dry run of a script assumed or left out, so that a real run may differ there."""
_WRONG = frozenset({"syntax", "unsupported", "error"})
_OF_CODES: dict[str, Reason] = {
    "TABLE_OR_VIEW_NOT_FOUND": "unknown-table",
    "UNRESOLVED_COLUMN": "unknown-column",
    "UNRESOLVED_FIELD": "unknown-column",
    "UNRESOLVED_ROUTINE": "unknown-function",
    "UNRESOLVABLE_TABLE_VALUED_FUNCTION": "unknown-function",
    "ROUTINE_NOT_FOUND": "unknown-function",
    "PARSE_": "syntax",
    "_LEGACY_ERROR_TEMP_00": "syntax",
    "NO_VALUE": "no-value",
    "UNSUPPORTED_STATEMENT": "unsupported",
}
_WORDS = {"exact": "exactly", "text": "from the text", "nothing": "not at all"}
CELL = re.compile(r"(?<=\.ipynb)\[(\d+)\]$", re.IGNORECASE)
"""The number of the cell behind the name of a notebook."""
_MOST_PLACES = 5
_MOST_MESSAGES_OF_A_LINE = 3


def reason_for(problem: Problem) -> Reason:
    """Return the reason for a statement's problem."""
    if problem.code in NOTES:
        return "dry-run"
    return next((reason for code, reason in _OF_CODES.items() if problem.code.startswith(code)), "error")


def certainty_of_statement(found: StatementLineage) -> HowFar:
    """Return how much is known about a statement."""
    if found.from_text:
        return "text"
    if found.lineage is not None:
        return "exact"
    return "exact" if found.problem is None or found.problem.code in NOTES else "nothing"


def severity_of(found: StatementLineage) -> Severity:
    """Return the severity of a statement's problem: an error if nothing is known, or the statement itself is wrong."""
    if found.problem is None or certainty_of_statement(found) == "exact":
        return "note"
    is_wrong = certainty_of_statement(found) == "nothing" or reason_for(found.problem) in _WRONG
    return "error" if is_wrong else "warning"


def fails(found: StatementLineage, gates: Collection[str]) -> bool:
    """Return whether one of the gates applies to a statement."""
    if found.problem is None:
        return False
    certainty, names = certainty_of_statement(found), {"any", reason_for(found.problem)}
    if certainty != "exact":
        names |= {"short", "text-only" if certainty == "text" else "nothing"}
    # Errors are problems in the statement itself, and statements about which nothing is known.
    names = names | {"error"} if severity_of(found) == "error" else names - {"error"}
    return not names.isdisjoint(gates)


@attrs.frozen
class Cause:
    """
    A problem that one or more statements have.

    Args:
        reason: the reason.
        message: the finding in words.
        code: the class of Spark's error, or the code of a note; empty if it has none.
        places: the problems with this cause, in the order of the statements.
        severity: the highest severity of these.
    """

    reason: Reason
    message: str
    code: str
    places: tuple[Problem, ...]
    severity: Severity

    def __str__(self) -> str:
        """Return the cause in the format of compilers, with the further places at the end."""
        first, *others = self.places
        if not others:
            return str(first)
        listed = ", ".join(f"{each.file}:{each.line}" for each in others[:_MOST_PLACES])
        more = ", ..." if len(others) > _MOST_PLACES else ""
        noun = "statement" if len(others) == 1 else "statements"
        return f"{first} (and {len(others):,} more {noun}: {listed}{more})"


@attrs.frozen
class Summary:
    """
    A summary of the statements of files that have a lineage or a problem.

    Args:
        files: the number of files with such statements.
        counts: how much is known -> the number of statements.
        causes: their problems, each once, in the order of the statements.
        gaps: the parts of their plans without a rule, each once, with its first place.
    """

    files: int
    counts: tuple[tuple[HowFar, int], ...]
    causes: tuple[Cause, ...]
    gaps: tuple[tuple[Gap, str], ...] = ()

    @property
    def statements(self) -> int:
        """The number of statements."""
        return sum(count for _, count in self.counts)

    def lines(self) -> list[str]:
        """Return lines for people: how many statements are known exactly or not, then each reason with its number."""
        statements = "statement" if self.statements == 1 else "statements"
        files = f"{self.files:,} file" if self.files == 1 else f"{self.files:,} files"
        parts = [f"{count:,} {_WORDS[far]}" for far, count in self.counts if count]
        if not parts:
            return []
        reasons: Counter[Reason] = Counter()
        for cause in self.causes:
            reasons[cause.reason] += len(cause.places)
        assumptions = reasons.pop("dry-run", 0)
        noun = "assumption" if assumptions == 1 else "assumptions"
        kinds = {reason: sum(cause.reason == reason for cause in self.causes) for reason in reasons}
        return [
            f"{self.statements:,} {statements} in {files}: {', '.join(parts)}",
            *(f"  {count:,} for {_reason(reason, kinds[reason])}" for reason, count in reasons.most_common()),
            *([f"  {assumptions:,} {noun} of the dry run: a real run may differ there"] if assumptions else []),
        ]

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each cause and gap, at its first place."""
        return (
            *filter(None, map(_diagnostic_of_cause, self.causes)),
            *(_diagnostic_of_gap(*each) for each in self.gaps),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        causes = [
            {
                "reason": each.reason,
                "severity": each.severity,
                "code": each.code,
                "message": each.message,
                "places": [{"file": p.file, "line": p.line, "column": p.column} for p in each.places],
            }
            for each in self.causes
        ]
        return {"files": self.files, "statements": self.statements, **dict(self.counts), "causes": causes}


def _reason(reason: Reason, kinds: int) -> str:
    """Return a reason in words, with the number of different causes."""
    texts = {
        "unknown-table": ("an undeclared table", "undeclared tables"),
        "unknown-column": ("an unknown column", "unknown columns"),
        "unknown-function": ("an undeclared function", "undeclared functions"),
        "no-value": ("a variable without a value", "variables without a value"),
        "syntax": ("syntax that Spark does not support", "syntax that Spark does not support"),
        "unsupported": ("a statement that Spark would execute", "statements that Spark would execute"),
        "error": ("an error", "errors"),
    }
    one, several = texts[reason]
    return one if kinds == 1 else f"{kinds:,} {several}" if reason != "syntax" else several


def summary_of(found: Iterable[StatementLineage]) -> Summary:
    """Return the summary of some statements."""
    counts: dict[HowFar, int] = dict.fromkeys(get_args(HowFar), 0)
    files: set[str] = set()
    problems: dict[tuple[str, str], list[StatementLineage]] = {}
    gaps: dict[Gap, str] = {}
    # A line of a script, such as one in a loop, may have a problem with each of many files.
    of_lines: dict[tuple[object, ...], dict[str, None]] = {}
    for each in found:
        if not each.has_result:
            continue
        # A note of a script is not a statement.
        if each.lineage is not None or each.problem is None or each.problem.code not in NOTES:
            counts[certainty_of_statement(each)] += 1
        files.add(CELL.sub("", each.statement.file))
        if each.problem is not None:
            # Each file that can't be read has a line of its own.
            name = each.problem.file if each.problem.code == UNREADABLE else ""
            problems.setdefault((each.problem.message, name), []).append(each)
            of_lines.setdefault(_line(each.problem), {})[each.problem.message] = None
        if each.lineage is not None and not each.from_text:
            for gap in each.lineage.gaps:
                gaps.setdefault(gap, f"{each.statement.file}:{each.statement.line}")
    causes = [_cause(each) for each in _merged(problems, of_lines).values()]
    return Summary(len(files), tuple(counts.items()), tuple(causes), tuple(gaps.items()))


def _line(problem: Problem) -> tuple[object, ...]:
    """Return the line of a problem, and its kind."""
    return problem.file, problem.line, problem.column, problem.code


def _merged(
    problems: Mapping[tuple[str, str], list[StatementLineage]],
    of_lines: Mapping[tuple[object, ...], Mapping[str, None]],
) -> dict[tuple[str, str], list[StatementLineage]]:
    """Return the problems with each message; of many messages about one line, only the first, with their number."""
    merged: dict[tuple[str, str], list[StatementLineage]] = {}
    for key, every in problems.items():
        message = key[0]
        first = next(each.problem for each in every if each.problem is not None)
        beside = of_lines[_line(first)]
        lines = {_line(each.problem) for each in every if each.problem is not None}
        if len(lines) > 1 or len(beside) <= _MOST_MESSAGES_OF_A_LINE:
            merged[key] = every
        elif message == next(iter(beside)):
            more = f"{message} (and {len(beside) - 1:,} more such messages about this line)"
            merged[key] = [attrs.evolve(every[0], problem=attrs.evolve(first, message=more))]
    return merged


def _diagnostic_of_cause(cause: Cause) -> Diagnostic | None:
    """Return what a cause leaves out of the lineage; None if the lineage is exact with it."""
    place = f"{cause.places[0].file}:{cause.places[0].line}"
    if cause.reason == "dry-run":
        is_missing = cause.code != OTHER_OUTCOME
        return Diagnostic("dry-run", cause.message, "warning" if is_missing else "note", is_missing, place=place)
    return None if cause.severity == "note" else Diagnostic("text-only", cause.message, missing=True, place=place)


def _diagnostic_of_gap(gap: Gap, place: str) -> Diagnostic:
    if is_of_types(gap):
        return Diagnostic("text-only", gap.message, "note", place=place)
    return Diagnostic("unknown-operator", gap.message, missing=True, operator=gap.task, place=place)


def _cause(found: list[StatementLineage]) -> Cause:
    problems = tuple(each.problem for each in found if each.problem is not None)
    severities = {severity_of(each) for each in found}
    worst: Severity = "error" if "error" in severities else "warning" if "warning" in severities else "note"
    return Cause(reason_for(problems[0]), problems[0].message, problems[0].code, problems, worst)
