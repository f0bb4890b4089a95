"""
A run between its START and its end, with the lineage and the statistics of all its executions.

The name of its job is the same for every run of the job, and different for different targets.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from openlineage.client.uuid import generate_static_uuid
from openlineage_pyspark.facets.commands.generated import with_columns
from openlineage_pyspark.facets.commands.target import Write, name_without_options
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import SESSION_CATALOG, Dataset, Field, Identifier, Trimming, field
from openlineage_pyspark.facets.model.run import (
    CallSite,
    Engine,
    EventType,
    Failure,
    Gap,
    Job,
    JobType,
    Parent,
    ProcessingType,
    RunOutput,
    RunState,
)
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.probe.records import Commit, ExecutionMetrics, GeneratedColumn
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.commits import versions_of
from openlineage_pyspark.listener.runs.micro_batches import MicroBatches
from openlineage_pyspark.listener.runs.statistics import RunStatistics, inputs_of, outputs_of, sources_of

_DATABASE_AND_TABLE = re.compile(r"[^._]+\.[^.]+")
_LONGEST = 250
# The minimum number of characters left for a job's own part when the application's name is long.
_OWN = 100


def application_name(name: str, parent: str | None) -> str:
    """
    Return the name of an application's job.

    Args:
        name: the application's normalised name.
        parent: name of the job that started it, if any. It comes first, in full and followed by a dot, because that is
            how Marquez names child jobs: with any other name it would show the application twice.
    """
    own = _shortened(name, _LONGEST - _OWN - 1)
    return own if parent is None else f"{parent}.{own}"


def job_name(parts: list[str], *, replace_dots: bool) -> str:
    """
    Return the name of a job: its parts joined by dots.

    Args:
        parts: the application's name, the command's word, and the label of what it writes. The first is kept whole;
            the other two are cut if they are too long, and then end with a hash.
        replace_dots: whether `_` replaces each dot.
    """
    application, own = parts[0], ".".join(part for part in parts[1:] if part)
    name = f"{application}.{_shortened(own, max(_OWN, _LONGEST - len(application) - 1))}"
    return name.replace(".", "_") if replace_dots else name


def run_id(application_start: datetime.datetime, application_id: str, key: str) -> str:
    """
    Return the id of one run of an application, always the same for the same arguments (a UUID, version 7).

    Args:
        application_start: timezone-aware; the time in the UUID.
        application_id: Spark's id of the application, for example `local-1700000000000`.
        key: identifies the run within the application, for example the id of the root execution.

    Raises:
        ValueError: the time has no zone, so it would be another instant on another machine.
    """
    if application_start.tzinfo is None:
        raise ValueError(f"application_start {application_start.isoformat()} has no time zone: give it one")
    # Neither part can contain a zero byte, so different pairs never give the same text.
    return str(generate_static_uuid(application_start, f"{application_id}\0{key}".encode()))


@attrs.frozen
class Jobs:
    """
    The jobs of an application, and the ids of its runs.

    Args:
        application: the application, with its options for the names of jobs.
    """

    application: Application

    def job(
        self, word: str, label: str, type_: JobType, processing: ProcessingType = "BATCH", sql: str | None = None
    ) -> Job:
        """Return the job whose name has a word for the operation, and a label for its target."""
        app = self.application
        label = label if app.append_dataset_name else ""
        # Without either, the job would have the application's name.
        parts = [app.name, word if app.append_command or not label else "", label]
        name = job_name(parts, replace_dots=app.replace_dots)
        return Job(app.namespace, name, type_, processing, sql, app.source_location)

    def at(self, job: Job, site: CallSite | None) -> Job:
        """Return a job whose source is a line, if that is requested and the line is in the script's folder."""
        if site is None or self.application.call_sites != "url":
            return job
        return attrs.evolve(job, source_location=site.location(job.source_location) or job.source_location)

    def call_site(self, site: CallSite | None) -> CallSite | None:
        """Return a line of Python in the form for events; None if they do not report it."""
        is_shown = site is not None and self.application.call_sites != "none"
        return site.relative(self.application.source_location) if site is not None and is_shown else None

    def run_id(self, identity: str) -> str:
        """Return the id of the run that has an identity within the application."""
        return run_id(self.application.started, self.application.id, identity)


def unique_label(label: str, dataset: Dataset, trimming: Trimming) -> str:
    """
    Return a label; if it leaves out a part of the dataset's whole name, a hash of the name is appended.

    Without the hash, two paths with the same ending, or two tables of one name in two catalogs or databases, would give
    two jobs one name. Dates anywhere in a path are left out, so that a job that writes to another directory each day is
    one job.
    """
    namespace, name = dataset.identifier.namespace, dataset.identifier.name
    if "/" in name and not dataset.symlinks:
        whole = trimming.undated(name)
        if label == dataset.identifier.path_label:
            label = Identifier(namespace, whole).path_label
        parts = [part for part in whole.split("/") if part]
        if len(parts) > 2 or namespace != "file" or "_" in whole:
            return f"{label}_{_digest(f'{namespace} {whole}')}"
        return label
    if dataset.catalog is not None:
        namespace, name = dataset.catalog.name, dataset.symlinks[0].name if dataset.symlinks else name
    if label != name.replace(".", "_"):
        name = label
    # For tables in Spark's own catalog, the label is enough, unless it could be cut elsewhere.
    is_whole = namespace == SESSION_CATALOG and (name == label or _DATABASE_AND_TABLE.fullmatch(name))
    return label if is_whole else f"{label}_{_digest(f'{namespace} {name}')}"


def output_label(plan_lineage: PlanLineage, trimming: Trimming) -> str:
    """Return the part of a job's name that names its target or, if it writes nothing, its source."""
    if plan_lineage.outputs:
        write = plan_lineage.outputs[0].write
        return unique_label(write.label, write.dataset, trimming)
    # The tables behind a view are enough.
    inputs = [d for d in plan_lineage.inputs if d.type != "VIEW"] or plan_lineage.inputs
    names = [d.symlinks[0].name if d.symlinks else name_without_options(d) for d in inputs]
    return "_".join(sorted(naming.snake_case(name.rpartition("/")[2]) for name in names)[:3])


def stream_label(name: str | None, parts: Sequence[PlanLineage], trimming: Trimming) -> str:
    """
    Return the label of a streaming query: its name, else its first output, else its inputs.

    Args:
        name: the name that the user gave the query, if any.
        parts: the lineage of its first micro-batch, and of the writes in that.
        trimming: the rules that shorten the names of datasets.
    """
    if name:
        return naming.snake_case(name)
    return output_label(next((part for part in parts if part.outputs), parts[0]), trimming)


def _shortened(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 7]}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


# Spark's messages for jobs that it cancels while stopping (DAGScheduler.cleanUpAfterSchedulerStop), and for calls made
# after it has stopped (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)


def end_type(failure: Failure | None) -> EventType:
    """
    Return the type of the event that ends a run: COMPLETE, FAIL, or ABORT if Spark was stopped while it ran.

    Args:
        failure: the run's failure, if any.
    """
    if failure is None:
        return "COMPLETE"
    text = f"{failure.message}\n{failure.stack_trace}"
    return "ABORT" if any(stopped in text for stopped in _STOPPED) else "FAIL"


def _located(output: WrittenDataset, known: Mapping[tuple[str, str], Dataset]) -> WrittenDataset:
    """Return an output with its table's location; `known`: the catalog and the name of a table -> the table."""
    own = output.write.dataset
    catalog = own.catalog.name if own.catalog is not None and own.is_named_by_catalog else None
    there = known.get((catalog, own.identifier.name)) if catalog is not None else None
    if there is None:
        return output
    dataset = attrs.evolve(there, fields=own.fields or there.fields)
    return attrs.evolve(output, write=attrs.evolve(output.write, dataset=dataset))


def _settled(output: WrittenDataset, *, made: bool | None) -> WrittenDataset:
    """Return an output of a run that has ended; `made`: whether a table without data that may be there was made."""
    write = output.write
    if not write.may_skip or write.reads:
        return output
    if made:
        return attrs.evolve(output, write=attrs.evolve(write, may_skip=False))
    # A table that was there has columns of its own.
    dataset = attrs.evolve(write.dataset, fields=())
    return attrs.evolve(output, write=attrs.evolve(write, dataset=dataset, lifecycle=None, may_skip=False))


def _writes(plan_lineage: PlanLineage) -> Iterable[Write]:
    return (output.write for output in plan_lineage.outputs)


def _shape(output: WrittenDataset) -> tuple[Any, ...]:
    """Return what distinguishes a write from others: not the texts of its edges, which may name each micro-batch."""
    lineage, dataset = output.lineage, output.write.dataset
    rows = () if lineage is None else (("", edge) for edge in lineage.dataset)
    columns = () if lineage is None else ((c.name, edge) for c in lineage.columns for edge in c.edges)
    edges = frozenset(
        (name, edge.dataset, edge.field, *sorted({(t.type, t.subtype, t.masking) for t in edge.transformations}))
        for name, edge in (*columns, *rows)
    )
    return "out", dataset.identifier, dataset.locations, edges


MOST_PARTS = 1000
"""The maximum number of nested writes in one run; writes with the same inputs, outputs and edges count once."""
_BEYOND = Gap("nested writes", f"only the first {MOST_PARTS} of this run's different writes are reported")


@attrs.define
class OpenRun:
    """
    A run that has begun; it grows with each execution that belongs to it.

    Args:
        key: its lookup key: the id of its execution, of its stream's run, or of its job.
        id: the run id.
        job: the job that it is a run of.
        plan_lineage: the lineage of the plan that it began with.
        started: whether its START was sent.
        nested: the lineage of the plans of nested writes.
        counted: the statistics of its scans and writes.
        beyond: whether there were more nested writes than are kept.
        batches: the micro-batches that no event has reported yet; None unless it is the run of a streaming query.
        call_site: the line of Python that runs it, as events name it; None if it is unknown.
        session: the settings of its session; None if they are unknown.
        committed: the commits that it has made so far, by output; for a stream only the last one.
        generated: the columns that Delta Lake computes in its outputs.
        is_split: whether its statement runs as several executions, each with a write of its own.
    """

    key: str
    id: str
    job: Job
    plan_lineage: PlanLineage
    started: bool = False
    nested: list[PlanLineage] = attrs.Factory(list)
    counted: RunStatistics = attrs.Factory(RunStatistics)
    beyond: bool = False
    batches: MicroBatches | None = None
    call_site: CallSite | None = None
    session: StatementSession | None = None
    committed: dict[Identifier, list[Commit]] = attrs.Factory(dict)
    generated: dict[Identifier, tuple[GeneratedColumn, ...]] = attrs.Factory(dict)
    is_split: bool = False
    _known: set[frozenset[Any]] = attrs.Factory(set)

    @property
    def parts(self) -> list[PlanLineage]:
        """The lineage of each of its plans."""
        return [self.plan_lineage, *self.nested]

    @property
    def outputs(self) -> frozenset[Identifier]:
        """The datasets that it writes."""
        return frozenset(write.dataset.identifier for part in self.parts for write in _writes(part))

    def output_at(self, place: Identifier, table: str | None) -> Identifier | None:
        """Return the output at a location, or of that name if its location is unknown; None if there is none."""
        outputs = self.outputs
        if place in outputs:
            return place
        return next((each for each in outputs if f"{each.namespace}.{each.name}" == table), None)

    def commit(self, output: Identifier, commits: Iterable[Commit]) -> None:
        """Add commits to one of its outputs."""
        made = self.committed.setdefault(output, [])
        made += commits
        del made[: -1 if self.job.processing_type == "STREAMING" else -MOST_PARTS]

    @property
    def awaits_location(self) -> bool:
        """Whether it writes a table whose location its plan did not know, because it creates the table."""
        writes = (output.write for output in self.plan_lineage.outputs)
        return any(write.reads and write.dataset.is_named_by_catalog for write in writes)

    def locate(self, plan_lineage: PlanLineage) -> bool:
        """
        Give each table that this run creates the name that it has in a nested write, which knows the location.

        Returns:
            Whether the nested write fills a table that this run creates.
        """
        known = {
            (w.dataset.catalog.name, link.name): w.dataset
            for w in _writes(plan_lineage)
            if w.dataset.catalog is not None
            for link in w.dataset.symlinks
        }
        outputs = tuple(_located(output, known) for output in self.plan_lineage.outputs)
        found = outputs != self.plan_lineage.outputs
        self.plan_lineage = attrs.evolve(self.plan_lineage, outputs=outputs)
        return found

    def describe(self, fields: tuple[Field, ...]) -> None:
        """Add the columns that Spark has found to the one table that the run creates without listing them."""
        outputs = self.plan_lineage.outputs
        if not fields or len(outputs) != 1 or outputs[0].write.dataset.fields:
            return
        dataset = attrs.evolve(outputs[0].write.dataset, fields=fields)
        made = attrs.evolve(outputs[0], write=attrs.evolve(outputs[0].write, dataset=dataset))
        self.plan_lineage = attrs.evolve(self.plan_lineage, outputs=(made,))

    def settle(self, *, made: bool | None) -> None:
        """
        State of each table that the run creates without data, unless it is there, what has become of it.

        Args:
            made: whether its table was made; None if that is unknown.
        """
        outputs = tuple(_settled(output, made=made) for output in self.plan_lineage.outputs)
        if outputs == self.plan_lineage.outputs:
            return
        gaps = self.plan_lineage.gaps
        if made is None:
            command = self.plan_lineage.command or "command"
            gaps = (*gaps, Gap(command, "this catalog does not report whether the table was there before"))
        self.plan_lineage = attrs.evolve(self.plan_lineage, outputs=outputs, gaps=gaps)

    def grow(self, plan_lineage: PlanLineage) -> None:
        """Add the lineage of a nested write, unless an identical one is there already."""
        named = frozenset(_shape(output) for output in plan_lineage.outputs) | {
            ("in", d.identifier, d.locations) for d in plan_lineage.inputs
        }
        if named in self._known:
            return
        if len(self.nested) >= MOST_PARTS:
            self.beyond = True
            return
        self._known.add(named)
        self.nested.append(plan_lineage)

    def reads_more(self, plan_lineage: PlanLineage) -> bool:
        """Return whether a plan reads a dataset that none of its plans reads."""
        known = {dataset.identifier for part in self.parts for dataset in part.inputs}
        return any(dataset.identifier not in known for dataset in plan_lineage.inputs)

    def count(
        self, metrics: ExecutionMetrics, parts: Iterable[PlanLineage], outputs: tuple[Identifier, ...] = ()
    ) -> None:
        """
        Add the metrics of one of its executions or jobs.

        Args:
            metrics: the metrics of the execution or job.
            parts: the lineage of the plans to which its scans may belong.
            outputs: the output of each of its writes, in their order, if these are known.
        """
        known = {each.write.dataset.identifier for part in self.parts for each in part.outputs}
        self.counted.add(metrics, parts, outputs if known.issuperset(outputs) else ())

    def state(
        self,
        event_type: EventType,
        time: datetime.datetime,
        engine: Engine,
        parent: Parent,
        failure: Failure | None = None,
    ) -> RunState:
        """
        Return the run's current state.

        Args:
            event_type: the type of the event.
            time: the event's time (timezone-aware).
            engine: the processing engine.
            parent: the run's parent.
            failure: the failure, if any; output statistics are then left out.
        """
        counted = RunStatistics() if event_type == "START" else self.counted
        gaps = dict.fromkeys(n for part in self.parts for n in part.gaps)
        inputs = inputs_of(self.parts, counted)
        if self.job.processing_type == "STREAMING":
            # Later batches may read other parts than those that the first one read.
            inputs = tuple(
                attrs.evolve(r, dataset=attrs.evolve(r.dataset, locations=(), versions=None)) for r in inputs
            )
            if counted.wrote_uncounted_rows:
                inputs = tuple(attrs.evolve(r, statistics=None) for r in inputs)
        completed = event_type == "COMPLETE"
        outputs = outputs_of(
            self.parts,
            counted if failure is None else RunStatistics(),
            completed=completed,
            separate=self.is_split or self.job.processing_type == "STREAMING",
        )
        if self.batches is not None and not self.plan_lineage.outputs:
            # The datasets that one write of `foreachBatch` reads are not sources of the others. Later batches may have
            # more writes.
            sources = sources_of(self.parts)
            outputs = tuple(attrs.evolve(each, sources=sources[each.dataset.identifier]) for each in outputs)
        outputs = tuple(self._with_generated(output) for output in outputs)
        if completed:
            outputs = tuple(self._with_versions(output) for output in outputs)
        return RunState(
            event_type=event_type,
            event_time=time,
            run_id=self.id,
            job=self.job,
            engine=engine,
            parent=parent,
            inputs=inputs,
            outputs=outputs,
            failure=failure,
            gaps=(*gaps, *([_BEYOND] if self.beyond else [])),
            operators=sum(part.operators for part in self.parts),
            call_site=self.call_site,
            session=self.session,
            code=tuple(sum((Counter(part.code) for part in self.parts), Counter()).items()),
        )

    def _with_generated(self, output: RunOutput) -> RunOutput:
        generated = self.generated.get(output.dataset.identifier, ())
        if output.lineage is None or not generated:
            return output
        lineage = with_columns(output.lineage, ((each.name, each.expression) for each in generated))
        made = {column.name for column in lineage.columns} - {known.name for known in output.dataset.fields}
        more = (field(each.name, each.type) for each in generated if each.name in made)
        fields = (*output.dataset.fields, *more) if output.dataset.fields else ()
        return attrs.evolve(output, lineage=lineage, dataset=attrs.evolve(output.dataset, fields=fields))

    def _with_versions(self, output: RunOutput) -> RunOutput:
        versions = versions_of(self.committed.get(output.dataset.identifier, ()))
        return attrs.evolve(output, dataset=attrs.evolve(output.dataset, versions=versions))


class OpenRuns(dict[str, OpenRun]):
    """The runs of an application that have not ended, by their keys."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application = application

    def state(
        self, run: OpenRun, event_type: EventType, time: datetime.datetime, failure: Failure | None = None
    ) -> RunState:
        """
        Return the current state of a run.

        Args:
            run: the run.
            event_type: the type of the event.
            time: the event's time (timezone-aware).
            failure: the failure, if any.
        """
        app = self._application
        if run.batches is None:
            return run.state(event_type, time, app.engine, Parent(app.run, app.root), failure)
        time = run.batches.later(time)
        state = run.state(event_type, time, app.engine, Parent(app.run, app.root), failure)
        stream, gaps = run.batches.taken(event_type, time)
        inputs = tuple(run.batches.at_version(read) for read in state.inputs) if event_type != "START" else state.inputs
        outputs = state.outputs
        if event_type == "RUNNING":
            # A later batch, which is not reported yet, may have committed already.
            outputs = tuple(run.batches.as_committed(output) for output in outputs)
        return attrs.evolve(state, inputs=inputs, outputs=outputs, stream=stream, gaps=(*state.gaps, *gaps))
