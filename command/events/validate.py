"""`validate`: checks event files by the rules of order and completeness, and against the specification."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.events.lines import read_lines
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.errors import EventError, SchemaError
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.events.read import event_id_of
from openlineage_pyspark.workbench.events.rules import (
    CREDENTIALS,
    SPECIFICATION,
    Finding,
    RunRules,
    credentials_in,
    event_findings,
)
from openlineage_pyspark.workbench.events.schemas import Schemas, Shape
from openlineage_pyspark.workbench.extras import WORKBENCH, install_command
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.command.events.lines import EventJson, FileLine

_DESCRIPTION = """\
Checks events in the order in which they were sent: a run begins with its only START, has one terminal event and nothing
after it; its parent has started before it; each source of the column lineage is an input that has the field;
transformations are those of the specification; nothing looks like a credential; and every event has the required
fields, or with --spec is valid against the JSON Schemas. An event that was sent again with the same id is counted,
but is not a finding. The exit code is 1 if there is a finding, or no event."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("validate", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="event files, also gzipped; - for standard input")
    parser.add_argument(
        "--spec",
        type=Path,
        metavar="DIR",
        help="the folder `spec` of the OpenLineage repository, to check every facet against its JSON Schemas",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Validate some files.

    Args:
        options: `files`, `spec` and `format`.

    Returns:
        The exit code: 1 if there is a finding or no event, 2 if a file or the schemas can't be read.
    """
    try:
        schemas = Schemas(options.spec) if options.spec else Shape()
        check = Check(schemas)
        for line in read_lines(options.files):
            check.add(line)
    except SchemaError as problem:
        complain(str(problem))
        return 2
    except EventError as problem:
        complain(str(problem))
        return 2
    findings = check.findings()
    if options.format == "json":
        values = Values("findings", _document(check, findings, schemas))
        Screen().json(Answer("validate", {"files": options.files}, values).to_dict())
    else:
        _print(Screen(), check, findings, schemas)
    if not check.events:
        complain(f"there is no event in {', '.join(options.files)}")
    return int(bool(findings) or not check.events)


class Check:
    """
    Checks the lines of whole runs, in the order in which they were sent.

    Args:
        schemas: the schemas that each event is checked against.

    Attributes:
        events: the number of lines with an object, without repeats.
        repeats: the number of lines that repeat an earlier event with the same id (`run.facets.pyspark_event.id`),
            because delivery is at least once. Repeats are not checked.
        without_run: the number of job events and dataset events, which are not checked.
        misshapen: the number of events that break the specification, so that their names and lineage are not checked.
        custom: the number of facets without a schema of their own, by name.
    """

    def __init__(self, schemas: Schemas | Shape) -> None:
        self._schemas = schemas
        self._runs = RunRules()
        self._found: list[Finding] = []
        self._files: dict[str, int] = {}
        self._seen: dict[str, bytes] = {}
        self.events = self.repeats = self.without_run = self.misshapen = 0
        self.custom: Counter[str] = Counter()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._runs.count

    def add(self, line: FileLine) -> None:
        """Check the next line."""
        event = line.event
        self._files.setdefault(line.place.file, len(self._files))
        if event is None:
            self._found.append(Finding(line.place, SPECIFICATION, "", "", line.problem))
            return
        if self._is_repeat(event):
            self.repeats += 1
            return
        self.events += 1
        if "run" not in event and {"job", "dataset"} & event.keys():
            self.without_run += 1
            return
        run_id, job = self._runs.add(line.place, event)
        try:
            problems = self._schemas.problems(event)
            if not problems:
                self._found += event_findings(line.place, event)
                self.custom.update(self._schemas.custom_facets(event))
        except RecursionError:
            problems = ["it is nested too deep to be checked"]
        self.misshapen += bool(problems)
        self._found += [Finding(line.place, CREDENTIALS, run_id, job, problem) for problem in credentials_in(event)]
        self._found += [Finding(line.place, SPECIFICATION, run_id, job, problem) for problem in problems]

    def findings(self) -> list[Finding]:
        """Return the findings about all lines so far, in their order."""
        found = [*self._found, *self._runs.findings()]
        return sorted(found, key=lambda finding: (self._files[finding.place.file], finding.place.line))

    def _is_repeat(self, event: EventJson) -> bool:
        event_id = event_id_of(event)
        if event_id is None:
            return False
        try:
            digest = hashlib.sha256(json.dumps(event, sort_keys=True).encode()).digest()
        except RecursionError:
            return False
        before = self._seen.get(event_id)
        if before is None:
            self._seen[event_id] = digest
        # Two different events with the same id are both checked.
        return before == digest


def _print(screen: Screen, check: Check, findings: Sequence[Finding], schemas: Schemas | Shape) -> None:
    for finding in findings:
        of_run = f" [{finding.job}, run {finding.run_id}]" if finding.run_id else ""
        screen.line(f"{finding.place}: {finding.rule}: {finding.problem}{of_run}")
    count = counted(len(findings), "finding") if findings else "no findings"
    screen.heading(f"{count} in {counted(check.events, 'event')} of {counted(check.runs, 'run')}")
    for line in _scope(check, schemas):
        screen.line(line, indent=2)


def _scope(check: Check, schemas: Schemas | Shape) -> Iterator[str]:
    """Yield the checks that were made, and those that were not."""
    yield f"specification: {schemas.checked}"
    if schemas.unchecked_formats:
        yield f"not checked: {', '.join(schemas.unchecked_formats)}; {install_command(WORKBENCH)}"
    yield "order, completeness, names, column lineage, transformations: checked"
    yield "credentials: checked by their form; a password that is a plain word can't be recognised"
    if check.repeats:
        yield f"not checked: {counted(check.repeats, 'repeat')}, which are allowed: the same event with the same id"
    if check.misshapen:
        yield f"not checked: names and lineage of events that break the specification: {check.misshapen:,}"
    if check.without_run:
        yield f"not checked: {counted(check.without_run, 'event')} without a run, about a job or a dataset"
    if check.custom:
        names = ", ".join(f"{name} ({count})" for name, count in sorted(check.custom.items()))
        yield f"custom facets, checked for the common fields only: {names}"


def _document(check: Check, findings: Sequence[Finding], schemas: Schemas | Shape) -> dict[str, Any]:
    """Return the result, for programs."""
    return {
        "findings": [
            {
                "file": finding.place.file,
                "line": finding.place.line,
                "rule": finding.rule,
                "problem": finding.problem,
                "run": finding.run_id,
                "job": finding.job,
            }
            for finding in findings
        ],
        "events": check.events,
        "runs": check.runs,
        "repeats": check.repeats,
        "remarks": [*_scope(check, schemas)],
    }
