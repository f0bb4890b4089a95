"""All checks of events together, line by line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from openlineage_pyspark.command.classes import class_of, class_problems, facets_of
from openlineage_pyspark.command.credentials import credentials_in
from openlineage_pyspark.command.rules import CREDENTIALS, SPECIFICATION, Finding, RunRules, event_findings

if TYPE_CHECKING:
    from openlineage_pyspark.command.event_file import Event, Line
    from openlineage_pyspark.command.schemas import Schemas


class SchemaError(Exception):
    """The specification's schemas can't be used; the text says why and what to do."""


class Check:
    """The checks of some lines, which are those of whole runs in the order of their sending.

    Args:
        schemas: the specification's; None for openlineage-python's classes alone.

    Attributes:
        events: how many lines hold an object.
        without_run: how many of these are of a job or a dataset alone, and are not checked.
        misshapen: how many break the specification, so that their names and lineage are not checked.
        custom: how often each facet stands there that is none of the specification's, by its name.
    """

    def __init__(self, schemas: Schemas | None = None) -> None:
        self._schemas = schemas
        self._runs = RunRules()
        self._found: list[Finding] = []
        self._files: dict[str, int] = {}
        self.events = 0
        self.without_run = 0
        self.misshapen = 0
        self.custom: Counter[str] = Counter()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._runs.count

    def add(self, line: Line) -> None:
        """Check the next line."""
        event = line.event
        self._files.setdefault(line.place.file, len(self._files))
        if event is None:
            self._found.append(Finding(line.place, SPECIFICATION, "", "", f"the line {line.problem}"))
            return
        self.events += 1
        if "run" not in event and {"job", "dataset"} & event.keys():
            self.without_run += 1
            return
        run_id, job = self._runs.add(line.place, event)
        try:
            problems = self._problems(event)
            if not problems:
                self._found += event_findings(line.place, event)
                self._count_custom(event)
        except RecursionError:
            problems = ["it is nested too deep to be checked"]
        self.misshapen += bool(problems)
        self._found += [Finding(line.place, CREDENTIALS, run_id, job, problem) for problem in credentials_in(event)]
        self._found += [Finding(line.place, SPECIFICATION, run_id, job, problem) for problem in problems]

    def findings(self) -> list[Finding]:
        """Return what is wrong with all lines so far, in their order."""
        found = [*self._found, *self._runs.findings()]
        return sorted(found, key=lambda finding: (self._files[finding.place.file], finding.place.line))

    def _problems(self, event: Event) -> list[str]:
        # The classes in any case: the other rules rely on the shape that these describe.
        of_schemas = self._schemas.problems(event) if self._schemas else []
        return of_schemas or class_problems(event)

    def _count_custom(self, event: Event) -> None:
        for _, key, _ in facets_of(event):
            known = key in self._schemas.by_facet if self._schemas else class_of(key) is not None
            self.custom[key[1]] += not known
