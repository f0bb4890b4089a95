"""
The rules for events that no schema can express.

They cover the order and completeness of runs, the meaning of an event's parts, and texts that look like credentials.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.facets.redaction.names import is_harmless_value, is_secret
from openlineage_pyspark.workbench.events.read import ENDS, RunOfEvent, facts
from openlineage_pyspark.workbench.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.workbench.events.files import EventPlace
    from openlineage_pyspark.workbench.events.read import DatasetOfEvent, EventFacts
    from openlineage_pyspark.workbench.events.shapes import EventJson

ORDER = "order"
"""A run begins with its only START, has one terminal event and no event after it; its parent started before it."""
COMPLETENESS = "completeness"
"""A run has a START and a terminal event, and keeps its job."""
NAMES = "names"
"""Each name is present, occurs only once, and consists of characters that receivers accept."""
COLUMN_LINEAGE_RULE = "column lineage"
"""Each source is an input with that field in its schema, each target a field of the output."""
TRANSFORMATIONS = "transformations"
"""Each source has a transformation that the specification defines; no source of all rows has a DIRECT one."""
CREDENTIALS = "credentials"
"""No text looks like a credential."""

SPECIFICATION = "specification"
"""An event has the form that the specification requires."""

# The namespaces that Marquez accepts (its class NamespaceName).
_ACCEPTED_NAMESPACE = re.compile(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}")
_VOCABULARY = {
    "DIRECT": {"IDENTITY", "TRANSFORMATION", "AGGREGATION"},
    "INDIRECT": {"FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"},
}

# Whether it is the name of a secret is checked after a pattern has matched it.
_NAME = r"(?P<name>[\w.-]{1,100})"
# Replacements for secrets that were removed: ?, ***, xxxxx, <...>, ${...}, [REDACTED], (redacted).
_TAKEN_OUT = r"(?:[?*x]+(?![^\s'\"&;,)@])|<|\$\{|[\[(*]*redacted)"

CREDENTIAL_KINDS: dict[str, re.Pattern[str]] = {
    # The scheme is left out: searching for its beginning takes time quadratic in the text's length.
    "a password in a URL": re.compile(rf"://[^\s/:@?#'\"]*:(?!{_TAKEN_OUT})[^\s/@'\"]+@", re.IGNORECASE),
    "a credential in a URL or connection string": re.compile(
        rf"[?&;]{_NAME}=(?!{_TAKEN_OUT})[^\s&;'\"]", re.IGNORECASE
    ),
    "a credential among options": re.compile(
        # The quote that ends a name begins no value. The next text may be the next option, so it is not consumed.
        rf"(?<![\w.-])(?:(?P<quote>['\"`])|(?<!['\"`])){_NAME}(?(quote)(?P=quote))"
        rf"(?=\s{{0,99}}(?:=>?\s{{0,99}}|:\s{{0,99}})?['\"](?!{_TAKEN_OUT})[^'\"]+['\"])",
        re.IGNORECASE,
    ),
    "an Authorization header": re.compile(r"\b(?:bearer|basic)\s+(?=\D{0,99}\d)[a-z0-9._~+/-]{16,}", re.IGNORECASE),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a JSON Web Token": re.compile(r"\beyJ[\w-]{8,999}\.eyJ[\w-]{8,9999}\.[\w-]{8}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY"),
}
"""The pattern of each kind of credential, by its name."""

_LEVELS = frozenset(("_element", "key", "value"))
# Each level inside another one doubles the number of paths.
_MOST_PATHS = 1000
_ONLY_TAKEN_OUT = re.compile(rf"{_TAKEN_OUT}.*|", re.IGNORECASE | re.DOTALL)


@attrs.frozen
class Finding:
    """
    A violation of a rule.

    Args:
        place: the location of the event that shows it.
        rule: the rule that is broken.
        run_id: the id of the event's run; empty if it is unknown.
        job: the name of its job; empty if it is unknown.
        problem: the problem, as a clause.
    """

    place: EventPlace
    rule: str
    run_id: str
    job: str
    problem: str


@attrs.frozen
class _EventOfRun:
    place: EventPlace
    type: str
    job: tuple[str, str]
    parent: str | None


class RunRules:
    """
    Checks the rules about whole runs: add all events one by one, then get the findings.

    The events must be those of whole runs, in the order in which they were sent.
    """

    def __init__(self) -> None:
        self._runs: dict[str, list[_EventOfRun]] = {}
        self._events = 0
        # For each run, the position of its first event, and of its START, among all events.
        self._begun: dict[str, int] = {}
        self._started: dict[str, int] = {}

    @property
    def count(self) -> int:
        """How many runs there are."""
        return len(self._runs)

    def add(self, place: EventPlace, event: EventJson) -> tuple[str, str]:
        """
        Add the next event; one that lacks a run, a job or a type belongs to no run.

        Args:
            place: its location.
            event: the parsed JSON.

        Returns:
            The id of its run and the name of its job; empty if it belongs to no run.
        """
        try:
            run_id, kind = event["run"]["runId"], event.get("eventType", "OTHER")
            job = event["job"]["namespace"], event["job"]["name"]
        except (AttributeError, KeyError, TypeError):
            return "", ""
        if not all(isinstance(text, str) for text in (run_id, kind, *job)):
            return "", ""
        parent = RunOfEvent(run_id, event["run"]).parent
        self._runs.setdefault(run_id, []).append(_EventOfRun(place, kind, job, None if parent is None else parent.run))
        self._begun.setdefault(run_id, self._events)
        if kind == "START":
            self._started.setdefault(run_id, self._events)
        self._events += 1
        return run_id, job[1]

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the runs."""
        for run_id, steps in self._runs.items():
            for rule, step, problem in (*_order(steps), *_one_job(steps), *self._parents(run_id, steps)):
                yield Finding(step.place, rule, run_id, step.job[1], problem)

    def _parents(self, run_id: str, steps: list[_EventOfRun]) -> Iterator[tuple[str, _EventOfRun, str]]:
        for parent in dict.fromkeys(step.parent for step in steps):
            # A parent without events here, such as a scheduler's task, was started somewhere else.
            if (
                parent is not None
                and parent in self._runs
                and self._started.get(parent, self._events) > self._begun[run_id]
            ):
                yield ORDER, steps[0], f"begins before the START of its parent {parent}"


def _order(steps: list[_EventOfRun]) -> Iterator[tuple[str, _EventOfRun, str]]:
    starts = [step for step in steps if step.type == "START"]
    terminal = [index for index, step in enumerate(steps) if step.type in ENDS]
    if not starts:
        yield COMPLETENESS, steps[0], "no START event"
    elif len(starts) > 1:
        yield ORDER, starts[1], f"{len(starts)} START events"
    elif steps[0].type != "START":
        yield ORDER, steps[0], f"begins with {steps[0].type}"
    if not terminal:
        yield COMPLETENESS, steps[-1], "no terminal event"
    elif len(terminal) > 1:
        yield ORDER, steps[terminal[1]], f"{len(terminal)} terminal events"
    if terminal and terminal[0] != len(steps) - 1:
        after = steps[terminal[0] + 1]
        yield ORDER, after, f"{after.type} after {steps[terminal[0]].type}"


def _one_job(steps: list[_EventOfRun]) -> Iterator[tuple[str, _EventOfRun, str]]:
    jobs = sorted({step.job for step in steps})
    if len(jobs) > 1:
        other = next(step for step in steps if step.job != steps[0].job)
        yield COMPLETENESS, other, f"belongs to several jobs: {jobs}"


def event_findings(place: EventPlace, event: EventJson) -> Iterator[Finding]:
    """
    Yield the findings about one event by itself.

    Args:
        place: its location.
        event: the parsed JSON, which has the form that the specification requires.
    """
    run_id, job = event["run"]["runId"], event["job"]["name"]
    try:
        read = facts(event)
    except InvalidEventError as invalid:
        yield Finding(place, SPECIFICATION, run_id, job, str(invalid))
        return
    found = [(NAMES, problem) for problem in _names(read)]
    for output in read.outputs:
        if output.has_column_lineage:
            where = f"columnLineage of {output.name}"
            found += [(COLUMN_LINEAGE_RULE, f"{where}: {problem}") for problem in _sources(read, output)]
            found += [(TRANSFORMATIONS, f"{where}: {problem}") for problem in _kinds(output)]
    found += [(SPECIFICATION, f"{each.place}: {each.message}") for each in read.diagnostics if each.code == "odd-facet"]
    for rule, problem in found:
        yield Finding(place, rule, run_id, job, problem)


def _names(event: EventFacts) -> Iterator[str]:
    identities = [] if event.job is None else [("job", event.job.namespace, event.job.name)]
    for kind, datasets in (("inputs", event.inputs), ("outputs", event.outputs)):
        identities += [(kind, dataset.namespace, dataset.name) for dataset in datasets]
        times = Counter((dataset.namespace, dataset.name) for dataset in datasets)
        for twice in sorted(name for name, count in times.items() if count > 1):
            yield f"{kind}: {twice} occurs more than once"
        for dataset in datasets:
            identities += [(f"symlink of {dataset.name}", *link[:2]) for link in dataset.symlinks]
    for where, namespace, name in identities:
        if not _ACCEPTED_NAMESPACE.fullmatch(namespace):
            yield f"{where}: namespace {namespace!r} has characters that Marquez refuses"
        if not name:
            yield f"{where}: the name is empty"


def _sources(event: EventFacts, output: DatasetOfEvent) -> Iterator[str]:
    columns = _paths(output)
    # Including the output itself: a statement such as UPDATE reads its own target.
    fields = {(output.namespace, output.name): columns}
    fields |= {(dataset.namespace, dataset.name): _paths(dataset) for dataset in event.inputs}
    for column in sorted({*output.lineage_columns} - columns):
        yield f"column {column!r} is not in the output's schema"
    for edge in output.lineage_edges:
        where, source = _where(edge.target.column), edge.source[:2]
        if source not in fields:
            yield f"{where}: dataset {source} is not in inputs"
        elif edge.source.column not in fields[source]:
            yield f"{where}: field {edge.source.column!r} is not in the schema of {source}"


def _kinds(output: DatasetOfEvent) -> Iterator[str]:
    for edge in output.lineage_edges:
        where, field = _where(edge.target.column), edge.source.column
        for path in edge.paths:
            kind = path.kind
            if not (kind.type or kind.subtype):
                yield f"{where}: the edge from {field!r} has no transformation"
            elif kind.subtype not in _VOCABULARY.get(kind.type, ()) and not _is_of_the_first_version(kind):
                yield f"{where}: {kind.type} {kind.subtype or None} is not a transformation of the specification"
            if not edge.target.column and kind.type == "DIRECT":
                yield f"{where}: {field!r} is DIRECT, but a source of all rows must be INDIRECT"


def _is_of_the_first_version(kind: Kind) -> bool:
    """Return whether it is MASKED, the only kind of the facet's first version beside IDENTITY."""
    return kind == Kind("DIRECT", "MASKED", masking=True)


def _where(column: str) -> str:
    return f"column {column!r}" if column else "dataset list"


def _paths(dataset: DatasetOfEvent) -> set[str]:
    """Return each dotted path to a field, with and without the levels of arrays and maps."""
    found: set[str] = set()
    # The prefix of the fields of each struct.
    before: list[set[str]] = []
    for field in dataset.fields:
        above = before[field.above] if field.above >= 0 else {""}
        name = field.path[len(dataset.fields[field.above].path) + 1 :] if field.above >= 0 else field.path
        paths = {f"{prefix}{name}" for prefix in above}
        found |= paths
        is_level = name in _LEVELS and len(above) < _MOST_PATHS
        before.append({f"{path}." for path in paths} | (above if is_level else set()))
    return found


def credentials_in(document: object) -> Iterator[str]:
    """
    Yield where a text looks like a credential, and like which kind; the text itself is not repeated.

    Args:
        document: the parsed JSON.
    """
    pending = [("", "", document)]
    while pending:
        where, name, value = pending.pop()
        if isinstance(value, str):
            kinds = [kind for kind, form in CREDENTIAL_KINDS.items() if _holds(form, value)]
            is_harmless = is_harmless_value(name, value) or _ONLY_TAKEN_OUT.fullmatch(value) is not None
            if is_secret(name) and not is_harmless:
                kinds.append("the value of a credential, by its name")
            yield from (f"{where} holds what looks like {kind}" for kind in kinds)
        elif isinstance(value, dict):
            parts = [(f"{where}.{key}" if where else key, key, inner) for key, inner in value.items()]
            pending += reversed(parts)
        elif isinstance(value, list):
            pending += [(f"{where}[{place}]", name, inner) for place, inner in reversed([*enumerate(value)])]


def _holds(form: re.Pattern[str], text: str) -> bool:
    return any("name" not in found.groupdict() or is_secret(found["name"]) for found in form.finditer(text))
