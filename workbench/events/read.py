"""
The one reader of events: an OpenLineage event as facts.

It takes any valid event, of a run, of a job or of a dataset (https://openlineage.io/spec/2-0-2/OpenLineage.json), from
any producer. Unknown facets are ignored. A value of another shape than its schema requires is left out and named by a
diagnostic; the rest of its facet and of its event is used.

An event is read for each line of a file, and most of them repeat the one before. So a facet is read once, when its
facts are first needed.
"""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.events.edges import (
    STEPS,
    EdgesOfFacet,
    decided,
    edges_of_entry,
    guessed,
    joined,
    stated_place,
    with_names_of_job,
)
from openlineage_pyspark.workbench.events.facts import (
    BatchOfRun,
    MadeByBatch,
    Name,
    OtherName,
    ParentRun,
    Place,
    ReadByBatch,
    RecoveryOfRun,
    RowsAndBytes,
    SchemaField,
    SessionOfRun,
    Stated,
    StatedEdge,
    StatedGap,
    StatedOwner,
    StatedPath,
    SubmittedAs,
    kind_of,
)
from openlineage_pyspark.workbench.events.once import once
from openlineage_pyspark.workbench.events.shapes import LONGEST_TEXT, OddParts, is_named, wrong
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import microseconds, time_of_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.events.shapes import EventJson

ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
"""The types of the events that end a run."""
TYPES = frozenset({"START", "RUNNING", "OTHER"}) | ENDS
"""The types of the events of runs."""

LEFT_OUT = frozenset(("paths",))
"""The tasks of gaps that put no edge in doubt: more was understood than the event has room for."""


class Role(enum.Enum):
    """The role of a dataset in an event."""

    INPUT = enum.auto()
    OUTPUT = enum.auto()
    ALONE = enum.auto()


_WORDS = {Role.INPUT: "input", Role.OUTPUT: "output", Role.ALONE: "dataset"}


@attrs.frozen(slots=False, eq=False)
class DatasetOfEvent:
    """
    A dataset of an event.

    Args:
        role: the role of the dataset in the event.
        namespace: its namespace.
        name: its name.
    """

    role: Role
    namespace: str
    name: str
    _document: EventJson = attrs.field(repr=False)
    _odd: OddParts = attrs.field(repr=False)

    @once
    def _facets(self) -> EventJson:
        return self._odd.mapping("facets", self._document, "facets")

    def _facet(self, name: str) -> EventJson:
        facets = self._facets
        return self._odd.mapping(name, facets, name) if name in facets else {}

    @property
    def facets(self) -> Mapping[str, Any]:
        """The facets as parsed JSON."""
        return self._facets

    @once
    def fields(self) -> tuple[SchemaField, ...]:
        """
        The fields of the schema, in order, those of structs below them.

        A field without a name is left out, and so are those whose path is too long: with the names of all structs in
        it, the paths of a small event may be endless.
        """
        return tuple(_fields(self._odd, self._facet("schema")))

    @once
    def symlinks(self) -> tuple[OtherName, ...]:
        """The other names of the dataset."""
        odd = self._odd
        return tuple(
            OtherName(each["namespace"], each["name"], odd.text("symlinks", each, "type") or "")
            for each in odd.objects("symlinks", self._facet("symlinks"), "identifiers")
            if odd.named(each, "symlinks", "an identifier")
        )

    @once
    def owners(self) -> tuple[StatedOwner, ...]:
        """The owners of the dataset."""
        return _owners(self._odd, self._facet("ownership"))

    @property
    def type(self) -> str:
        """The type, such as VIEW; empty if the event does not state it."""
        return self._text("datasetType", "datasetType")

    @property
    def storage_layer(self) -> str:
        """The storage layer, such as `iceberg`; empty if the event does not state it."""
        return self._text("storage", "storageLayer")

    @property
    def file_format(self) -> str:
        """The format of the files, such as `parquet`; empty if the event does not state it."""
        return self._text("storage", "fileFormat")

    @property
    def catalog(self) -> str:
        """The name of the catalog; empty if the event does not state it."""
        return self._text("catalog", "name")

    @once
    def version(self) -> str:
        """The newest version that was read or made; empty if the event does not state it."""
        return self._text("version", "datasetVersion")

    @once
    def versions(self) -> tuple[str, ...]:
        """All versions that were read or made, in order; the newest one, if the event does not list them."""
        listed = self._facet("pyspark_snapshot").get("versions")
        if isinstance(listed, list):
            found = tuple(each for each in listed if isinstance(each, str) and each)
            if len(found) < len(listed):
                self._odd.add("pyspark_snapshot", "a version is not a string, or is empty")
            if found:
                return found
        elif listed is not None:
            self._odd.add("pyspark_snapshot", wrong("versions", listed, "an array"))
        return (self.version,) if self.version else ()

    @property
    def version_before(self) -> str | None:
        """The version before the first one that was made; None if the event does not state it."""
        return self._odd.text("pyspark_snapshot", self._facet("pyspark_snapshot"), "parent")

    @property
    def branch(self) -> str | None:
        """The branch to which the versions belong; None for the main one."""
        return self._odd.text("pyspark_snapshot", self._facet("pyspark_snapshot"), "branch")

    @property
    def table_id(self) -> str:
        """The id that distinguishes the table from others of the same name; empty if the event states none."""
        return self._odd.text("pyspark_snapshot", self._facet("pyspark_snapshot"), "tableId") or ""

    @property
    def change(self) -> str:
        """How the dataset was changed, such as OVERWRITE; empty for an append."""
        return self._text("lifecycleStateChange", "lifecycleStateChange")

    @property
    def replaced(self) -> str:
        """The rows that the run replaces: `all`, `partitions` or `rows`; empty if the event does not state it."""
        return self._odd.text("pyspark_replaced", self._facet("pyspark_replaced"), "part") or ""

    @once
    def renamed_from(self) -> Name | None:
        """The name that it had before the event; None if it had the same one."""
        before = self._facet("lifecycleStateChange").get("previousIdentifier")
        if before is None:
            return None
        if not is_named(before):
            self._odd.add("lifecycleStateChange", "previousIdentifier has no namespace or no name")
            return None
        found = Name(before["namespace"], before["name"])
        return None if found == (self.namespace, self.name) else found

    @once
    def counts(self) -> RowsAndBytes:
        """How much of it was read or written."""
        if self.role is Role.ALONE:
            return RowsAndBytes(None, None)
        side = _WORDS[self.role]
        facets, facet = f"{side}Facets", f"{side}Statistics"
        held = self._odd.mapping(facets, self._document, facets) if facets in self._document else {}
        found = self._odd.mapping(facet, held, facet) if facet in held else {}
        return RowsAndBytes(self._odd.number(facet, found, "rowCount"), self._odd.number(facet, found, "size"))

    @property
    def has_column_lineage(self) -> bool:
        """Whether the event states where its columns come from, even if they have no sources."""
        return isinstance(self._facets.get("columnLineage"), dict)

    @once
    def lineage_columns(self) -> tuple[str, ...]:
        """The columns that `columnLineage` names, with a source or without."""
        return tuple(filter(None, self._odd.mapping("columnLineage", self._facet("columnLineage"), "fields")))

    @once
    def lineage_expressions(self) -> dict[str, str]:
        """The expressions of the columns without a source, where `columnLineage` states them."""
        facet = "columnLineage"
        return {
            column: text
            for column, field in self._odd.mapping(facet, self._facet(facet), "fields").items()
            if isinstance(field, dict) and not field.get("inputFields")
            if (text := self._odd.text(facet, field, "transformationDescription"))
        }

    @once
    def lineage_edges(self) -> tuple[StatedEdge, ...]:
        """The edges into it that `columnLineage` has."""
        target, facet, steps = (self.namespace, self.name), self._facet("columnLineage"), self._facet(STEPS)
        has_steps = isinstance(self._facets.get(STEPS), dict)
        found = EdgesOfFacet(self._odd, target, facet, steps if has_steps else None).edges()
        return tuple(StatedEdge(*ends, tuple(paths)) for ends, paths in found.items())

    @once
    def edges(self) -> tuple[StatedEdge, ...]:
        """
        The edges into it that `columnLineage` has, and those of a new name from the columns of the old one.

        `EventFacts.edges` joins them with the other facets of the event.
        """
        if self.role is Role.INPUT:
            return ()
        before = self.renamed_from
        if before is None:
            return self.lineage_edges
        # Each column continues the one that had its name under the old name.
        identity = (StatedPath(kind_of("DIRECT", "IDENTITY")),)
        old = (
            StatedEdge(Place(*before, field.path), Place(self.namespace, self.name, field.path), identity)
            for field in self.fields
        )
        return tuple(joined((*self.lineage_edges, *old)))

    @once
    def stated(self) -> Stated | None:
        """The statement of the dataset's explicit lineage facet; None without one."""
        if self.role is Role.INPUT or "lineage" not in self._facets:
            return None
        return edges_of_entry(self._odd, self._facet("lineage"), Place(self.namespace, self.name))

    @property
    def facet_names(self) -> tuple[str, ...]:
        """The names of its facets."""
        return tuple(self._facets)

    @property
    def odd_so_far(self) -> tuple[Diagnostic, ...]:
        """The diagnostics about the parts of its facets that were read so far."""
        return tuple(self._odd.found)

    @once
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics about its facets. All of them are read for this."""
        _ = (self.fields, self.symlinks, self.type, self.storage_layer, self.file_format, self.catalog, self.versions)
        _ = (self.version_before, self.branch, self.change, self.renamed_from, self.counts)
        _ = (self.edges, self.stated, self.owners)
        return tuple(self._odd.found)

    def _text(self, facet: str, key: str) -> str:
        return self._odd.text(facet, self._facet(facet), key) or ""


@attrs.frozen(slots=False, eq=False)
class JobOfEvent:
    """The job of an event: its namespace, its name, and its facets."""

    namespace: str
    name: str
    _document: EventJson = attrs.field(repr=False)
    _odd: OddParts = attrs.field(factory=lambda: OddParts("job"), repr=False)

    @once
    def _facets(self) -> EventJson:
        return self._odd.mapping("facets", self._document, "facets")

    def _text(self, facet: str, key: str) -> str | None:
        facets = self._facets
        return self._odd.text(facet, self._odd.mapping(facet, facets, facet), key) if facet in facets else None

    @property
    def processing(self) -> str | None:
        """BATCH or STREAMING."""
        return self._text("jobType", "processingType")

    @property
    def integration(self) -> str | None:
        """The producer's word for itself, such as SPARK."""
        return self._text("jobType", "integration")

    @property
    def type(self) -> str | None:
        """The type, such as APPLICATION or SQL_JOB."""
        return self._text("jobType", "jobType")

    @property
    def sql(self) -> str | None:
        """The statement."""
        return self._text("sql", "query")

    @property
    def description(self) -> str | None:
        """The description for people."""
        return self._text("documentation", "description")

    @once
    def owners(self) -> tuple[StatedOwner, ...]:
        """The owners of the job."""
        facets = self._facets
        return _owners(self._odd, self._odd.mapping("ownership", facets, "ownership")) if "ownership" in facets else ()

    @property
    def source_url(self) -> str | None:
        """Where its source code is."""
        return self._text("sourceCodeLocation", "url")

    @once
    def stated(self) -> tuple[Stated, ...]:
        """The statements of the job's explicit lineage facet, one for each of its entries."""
        if "lineage" not in self._facets:
            return ()
        entries = self._odd.objects("lineage", self._odd.mapping("lineage", self._facets, "lineage"), "entries")
        found = []
        for entry in entries:
            target = stated_place(self._odd, entry, "an entry")
            if target is not None:
                found.append(edges_of_entry(self._odd, entry, target))
        return tuple(found)

    @property
    def facet_names(self) -> tuple[str, ...]:
        """The names of its facets."""
        return tuple(self._facets)

    @once
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics about its facets. All of them are read for this."""
        _ = (self.processing, self.integration, self.type, self.sql, self.description, self.source_url, self.stated)
        _ = self.owners
        return tuple(self._odd.found)


@attrs.frozen(slots=False, eq=False)
class RunOfEvent:
    """The run of an event: its id and its facets."""

    id: str
    _document: EventJson = attrs.field(repr=False)
    _odd: OddParts = attrs.field(factory=lambda: OddParts("run"), repr=False)

    @once
    def _facets(self) -> EventJson:
        return self._odd.mapping("facets", self._document, "facets")

    def _facet(self, name: str) -> EventJson:
        facets = self._facets
        return self._odd.mapping(name, facets, name) if name in facets else {}

    @once
    def parent(self) -> ParentRun | None:
        """The run that started it."""
        return self._above(self._facet("parent"))

    @once
    def root(self) -> ParentRun | None:
        """The run at the top of those that started it."""
        return self._above(self._odd.mapping("parent", self._facet("parent"), "root"))

    def _above(self, facet: EventJson) -> ParentRun | None:
        if not facet:
            return None
        odd = self._odd
        run = odd.text("parent", odd.mapping("parent", facet, "run"), "runId")
        job = odd.mapping("parent", facet, "job")
        name = Name(odd.text("parent", job, "namespace") or "", odd.text("parent", job, "name") or "")
        return None if run is None else ParentRun(run, name)

    @property
    def error(self) -> str | None:
        """Why it failed."""
        return self._odd.text("errorMessage", self._facet("errorMessage"), "message")

    @once
    def gaps(self) -> tuple[StatedGap, ...]:
        """The gaps that the producer reports."""
        odd, facet = self._odd, "extractionError"
        named = [
            (odd.text(facet, each, "task") or "", odd.text(facet, each, "errorMessage"))
            for each in odd.objects(facet, self._facet(facet), "errors")
        ]
        return tuple(dict.fromkeys(StatedGap(operator, message) for operator, message in named if message))

    @property
    def query_id(self) -> str | None:
        """The id of the streaming query."""
        return self._odd.text("pyspark_micro_batches", self._facet("pyspark_micro_batches"), "queryId")

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint of the streaming query."""
        return self._odd.text("pyspark_micro_batches", self._facet("pyspark_micro_batches"), "checkpoint")

    @once
    def batches(self) -> tuple[BatchOfRun, ...] | None:
        """The micro-batches of the run since the event before; None if it has none, and reads and writes as a whole."""
        if not isinstance(self._facets.get("pyspark_micro_batches"), dict):
            return None
        return tuple(_batches(self._odd, self._facet("pyspark_micro_batches")))

    @property
    def call_site(self) -> str:
        """The line of the user's Python that ran it, such as `jobs/daily.py:12`; empty if the event states none."""
        facet = self._facet("pyspark_call_site")
        found = call_site_of(facet)
        if facet and not found:
            self._odd.add("pyspark_call_site", "it has no file or no line")
        return found

    @property
    def submission(self) -> SubmittedAs:
        """How the application was submitted, if it is one."""
        odd, own = self._odd, self._facet("pyspark_submission")
        words = own.get("command")
        if words is not None and not isinstance(words, list):
            odd.add("pyspark_submission", wrong("command", words, "an array"))
        mode = odd.text("pyspark_submission", own, "deployMode")
        details = "spark_applicationDetails"
        return SubmittedAs(
            tuple(str(word) for word in words) if isinstance(words, list) else (),
            odd.text("pyspark_submission", own, "workingDirectory") or "",
            mode or odd.text(details, self._facet(details), "deployMode") or "",
            own.get("redacted") is True,
        )

    @once
    def session(self) -> SessionOfRun | None:
        """The session of its statement; None if the event does not state it."""
        odd, own, facet = self._odd, self._facet("pyspark_session"), "pyspark_session"
        if not own:
            return None
        stated = odd.mapping(facet, own, "settings")
        settings = tuple(sorted((key, value) for key, value in stated.items() if isinstance(value, str)))
        if len(settings) < len(stated):
            odd.add(facet, "a setting is not a string")
        catalog, schema = odd.text(facet, own, "currentCatalog"), odd.text(facet, own, "currentSchema")
        return SessionOfRun(settings, catalog or "", schema or "")

    @property
    def corrects(self) -> str:
        """The version of its output that it corrected in place, as a run of a recovery; empty for any other run."""
        return self._odd.text("pyspark_recovery", self._facet("pyspark_recovery"), "corrects") or ""

    @property
    def recovery(self) -> RecoveryOfRun | None:
        """The recovery whose step it is; None if it is of none, or if the event does not state which step."""
        odd, own, facet = self._odd, self._facet("pyspark_recovery"), "pyspark_recovery"
        plan, step, last = (
            odd.text(facet, own, "plan"),
            odd.number(facet, own, "step"),
            odd.number(facet, own, "lastStep"),
        )
        return None if plan is None or step is None or last is None else RecoveryOfRun(plan, step, last)

    @property
    def event_id(self) -> str | None:
        """The id of the event itself, by which a repetition of the event is recognized."""
        return self._odd.text("pyspark_event", self._facet("pyspark_event"), "id")

    @property
    def facet_names(self) -> tuple[str, ...]:
        """The names of its facets."""
        return tuple(self._facets)

    @once
    def odd(self) -> tuple[Diagnostic, ...]:
        """The diagnostics about its facets. All of them are read for this."""
        _ = (self.parent, self.root, self.error, self.query_id, self.checkpoint, self.batches, self.call_site)
        _ = (self.submission, self.event_id, self.corrects, self.recovery, self.session, self.gaps)
        return tuple(self._odd.found)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The gaps that the producer reports, and the diagnostics about the facets."""
        gaps = (
            Diagnostic("unknown-operator", message, missing=True, operator=operator, place="run")
            for operator, message in self.gaps
        )
        return (*gaps, *self.odd)


def _owners(odd: OddParts, facet: EventJson) -> tuple[StatedOwner, ...]:
    named = ((odd.text("ownership", each, "name"), each) for each in odd.objects("ownership", facet, "owners"))
    return tuple(StatedOwner(name, odd.text("ownership", each, "type") or "") for name, each in named if name)


@attrs.frozen
class Sides:
    """
    The datasets of an event: the inputs and outputs of a job, or the one that the event is about.

    The text after `"inputs":` in an event often repeats that of an earlier one. Then these values can be reused.

    Args:
        inputs: the datasets that the job reads.
        outputs: those that it writes.
        alone: the one that the event is about.
        diagnostics: about `inputs` or `outputs`, if it was left out because it is not an array.
    """

    inputs: tuple[DatasetOfEvent, ...] = ()
    outputs: tuple[DatasetOfEvent, ...] = ()
    alone: tuple[DatasetOfEvent, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@attrs.frozen(slots=False, eq=False)
class EventFacts:
    """
    The content of an event.

    Args:
        type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER; JOB or DATASET for an event without a run.
        time: the event's time, microseconds since 1970.
        producer: who made it.
        run: its run; None in the event of a job or of a dataset.
        job: its job; None in the event of a dataset.
        sides: its datasets.
    """

    type: str
    time: int
    producer: str
    run: RunOfEvent | None
    job: JobOfEvent | None
    sides: Sides

    @property
    def inputs(self) -> tuple[DatasetOfEvent, ...]:
        """The datasets that the job reads."""
        return self.sides.inputs

    @property
    def outputs(self) -> tuple[DatasetOfEvent, ...]:
        """The datasets that the job writes."""
        return self.sides.outputs

    @property
    def dataset(self) -> DatasetOfEvent | None:
        """The dataset that the event is about; None in the event of a run or of a job."""
        return self.sides.alone[0] if self.sides.alone else None

    @property
    def datasets(self) -> tuple[DatasetOfEvent, ...]:
        """All of its datasets."""
        return (*self.sides.inputs, *self.sides.outputs, *self.sides.alone)

    @once
    def stated(self) -> tuple[Stated, ...]:
        """
        What explicit lineage facets state, of the job and of the datasets.

        If there is one, not every input of the job leads to every output: there are only the edges that it states.
        """
        own = [dataset.stated for dataset in (*self.outputs, *self.sides.alone) if dataset.stated is not None]
        found = [*(self.job.stated if self.job is not None else ()), *own]
        job = self.job
        return tuple(found if job is None else (with_names_of_job(each, job.namespace, job.name) for each in found))

    @once
    def edges(self) -> tuple[StatedEdge, ...]:
        """
        The edges, each once.

        They are those of `columnLineage`; if an explicit lineage facet is about the target, those of this facet. If it
        is about the dataset as a whole, the edges of columns that come from the inputs that it names are kept.
        """
        return self._decided[0]

    @once
    def _decided(self) -> tuple[tuple[StatedEdge, ...], tuple[Diagnostic, ...]]:
        has_gaps = self.run is not None and any(operator not in LEFT_OUT for operator, _ in self.run.gaps)
        edges = [edge for dataset in (*self.outputs, *self.sides.alone) for edge in dataset.edges]
        problems: tuple[Diagnostic, ...] = ()
        if self.stated:
            edges, problems = decided(edges, self.stated)
        if has_gaps:
            edges = [guessed(edge) for edge in edges]
        return tuple(joined(edges)), problems

    @once
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics about the event. All of it is read for this."""
        of_run = self.run.diagnostics if self.run is not None else ()
        of_job = self.job.diagnostics if self.job is not None else ()
        of_datasets = (each for dataset in self.datasets for each in dataset.diagnostics)
        return (*of_run, *of_job, *self.sides.diagnostics, *of_datasets, *self._decided[1])


def facts(event: EventJson, sides: Sides | None = None) -> EventFacts:
    """
    Return the content of an event.

    Args:
        event: the event as parsed JSON.
        sides: its datasets, if they were read before: then the event itself need not contain them.

    Raises:
        InvalidEventError: something is missing that the specification requires of each event.
    """
    time, producer = _time(event), event.get("producer")
    if not isinstance(producer, str):
        raise InvalidEventError("`producer` is missing or not a string", place="producer")
    if "run" not in event and "job" not in event:
        if "dataset" not in event:
            raise InvalidEventError("neither `run`, `job` nor `dataset`")
        return EventFacts("DATASET", time, producer, None, None, sides or sides_of(event))
    named = event.get("job")
    if not is_named(named):
        raise InvalidEventError(_NAMELESS.format("job"), place="job")
    job, run = JobOfEvent(named["namespace"], named["name"], named), None
    type_ = "JOB"
    if "run" in event:
        type_ = event.get("eventType", "OTHER")
        if not isinstance(type_, str) or type_ not in TYPES:
            raise InvalidEventError(f"`eventType` is {json.dumps(type_)}", place="eventType")
        document = event["run"]
        run_id = document.get("runId") if isinstance(document, dict) else None
        if not isinstance(run_id, str) or not run_id:
            raise InvalidEventError("`run.runId` is missing or not a string", place="run.runId")
        run = RunOfEvent(run_id, document)
    return EventFacts(type_, time, producer, run, job, sides or sides_of(event))


def sides_of(event: EventJson) -> Sides:
    """
    Return the datasets of an event.

    Args:
        event: the event as parsed JSON.

    Raises:
        InvalidEventError: one of them has no name.
    """
    if "run" not in event and "job" not in event:
        return Sides(alone=(dataset_facts(event.get("dataset"), Role.ALONE),))
    odd = OddParts("event")
    inputs, outputs = (
        _listed(event, key, role, odd) for key, role in (("inputs", Role.INPUT), ("outputs", Role.OUTPUT))
    )
    return Sides(inputs, outputs, (), tuple(odd.found))


def _listed(event: EventJson, key: str, role: Role, odd: OddParts) -> tuple[DatasetOfEvent, ...]:
    found = event.get(key)
    if isinstance(found, list):
        return tuple(dataset_facts(each, role) for each in found)
    if found is not None:
        odd.add(key, wrong(key, found, "an array"))
    return ()


def dataset_facts(document: object, role: Role) -> DatasetOfEvent:
    """
    Return a dataset of an event.

    Args:
        document: the dataset as parsed JSON.
        role: its role in the event.

    Raises:
        InvalidEventError: it has no name.
    """
    if not is_named(document):
        key = "dataset" if role is Role.ALONE else f"{_WORDS[role]}s"
        raise InvalidEventError(_NAMELESS.format(key), place=key)
    namespace, name = document["namespace"], document["name"]
    return DatasetOfEvent(role, namespace, name, document, OddParts(f"{_WORDS[role]} {namespace} {name}"))


def edges_into(dataset: DatasetOfEvent, stated: Iterable[Stated]) -> tuple[StatedEdge, ...]:
    """
    Return the edges into a dataset, each once.

    Args:
        dataset: the dataset.
        stated: what explicit lineage facets state about it, which takes precedence.
    """
    return tuple(joined(decided([*dataset.edges], tuple(stated))[0]))


def facets_of(event: EventJson) -> Iterator[tuple[str, tuple[str, str], Any]]:
    """
    Yield each facet of an event: where it is, the names of its kind and of itself, and its JSON.

    Args:
        event: as parsed from JSON, of the right shape but for the facets themselves.
    """
    places = [("run", "RunFacet", event["run"], "facets"), ("job", "JobFacet", event["job"], "facets")]
    for kind, own, own_key in (
        ("inputs", "InputDatasetFacet", "inputFacets"),
        ("outputs", "OutputDatasetFacet", "outputFacets"),
    ):
        for dataset in event.get(kind, []):
            where = f"{kind} {dataset['namespace']} {dataset['name']}"
            places += [(where, "DatasetFacet", dataset, "facets"), (where, own, dataset, own_key)]
    for where, entity, holder, key in places:
        for name, facet in holder.get(key, {}).items():
            yield where, (entity, name), facet


def event_id_of(event: EventJson) -> str | None:
    """Return the id of an event itself, by which a repetition of it is recognized; None if it has none."""
    run = event.get("run")
    return RunOfEvent("", run).event_id if isinstance(run, dict) else None


def call_site_of(facet: Mapping[str, Any]) -> str:
    """Return the line that a facet `pyspark_call_site` names; empty for one of another shape."""
    file, line = facet.get("file"), facet.get("line")
    if isinstance(file, str) and not isinstance(line, bool) and isinstance(line, int):
        return f"{file[:LONGEST_TEXT]}:{line}"
    return ""


_NAMELESS = "`{}` has no namespace or no name"


def _fields(odd: OddParts, facet: EventJson) -> Iterator[SchemaField]:
    # A schema may be nested more deeply than Python calls.
    pending = [(odd.objects("schema", facet, "fields"), -1, "")]
    places = [0]
    count = 0
    while pending:
        (fields, above, prefix), at = pending[-1], places[-1]
        if at == len(fields):
            pending.pop()
            places.pop()
            continue
        places[-1] += 1
        field = fields[at]
        name = field.get("name")
        if not isinstance(name, str) or not name:
            odd.add("schema", "a field has no name")
        elif above >= 0 and len(prefix) + len(name) > LONGEST_TEXT:
            odd.add("schema", "the path of a field is too long")
        else:
            yield SchemaField(f"{prefix}{name}", odd.text("schema", field, "type") or "", above)
            if "fields" in field:
                pending.append((odd.objects("schema", field, "fields"), count, f"{prefix}{name}."))
                places.append(0)
            count += 1


_BATCHES = "pyspark_micro_batches"


def _batches(odd: OddParts, facet: EventJson) -> Iterator[BatchOfRun]:
    for batch in odd.objects(_BATCHES, facet, "batches"):
        number = odd.number(_BATCHES, batch, "batchId")
        if number is None:
            odd.add(_BATCHES, "a batch has no number")
            continue
        sources = tuple(
            ReadByBatch(
                Name(each["namespace"], each["name"]),
                odd.text(_BATCHES, each, "from"),
                odd.text(_BATCHES, each, "to"),
                odd.text(_BATCHES, each, "version") or "",
                odd.number(_BATCHES, each, "rows"),
            )
            for each in odd.objects(_BATCHES, batch, "sources")
            if not _is_no_dataset(each) and odd.named(each, _BATCHES, "a source")
        )
        sinks = tuple(
            MadeByBatch(
                Name(each["namespace"], each["name"]),
                odd.text(_BATCHES, each, "version") or "",
                odd.text(_BATCHES, each, "parent"),
                odd.text(_BATCHES, each, "change") or "",
                odd.number(_BATCHES, each, "rows"),
            )
            for each in odd.objects(_BATCHES, batch, "sinks")
            if not _is_no_dataset(each) and odd.named(each, _BATCHES, "a sink")
        )
        yield BatchOfRun(number, _batch_time(odd, batch), sources, sinks)


def _is_no_dataset(entry: EventJson) -> bool:
    """Return whether a source or sink only has a description, because it is no dataset, or an unknown one."""
    return "namespace" not in entry and "name" not in entry and isinstance(entry.get("description"), str)


def _batch_time(odd: OddParts, batch: EventJson) -> int | None:
    text = odd.text(_BATCHES, batch, "time")
    if text is None:
        return None
    try:
        return _microseconds(text)
    except (ValueError, OverflowError):
        odd.add(_BATCHES, "the time of a batch is not a time")
        return None


def _time(event: EventJson) -> int:
    text = event.get("eventTime")
    if not isinstance(text, str):
        raise InvalidEventError("`eventTime` is missing or not a string", place="eventTime")
    try:
        return _microseconds(text)
    except (ValueError, OverflowError):
        raise InvalidEventError(f"`eventTime` is {json.dumps(text)}", place="eventTime") from None


def _microseconds(text: str) -> int:
    """
    Return a time as microseconds since 1970.

    Raises:
        ValueError: it is not a time.
        OverflowError: in UTC, it is outside of the years 1 to 9999.
    """
    found = microseconds(text)
    time_of_micros(found)
    return found
