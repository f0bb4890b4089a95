"""
The content of an event, as values.

An event may have hundreds of some of them, so they are named tuples, which are created five times as fast as other
frozen values.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from openlineage_pyspark.workbench.model.graph import Path, Step, steps_of
from openlineage_pyspark.workbench.model.kinds import Kind

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.kinds import Certainty


class Name(NamedTuple):
    """The namespace and the name of a dataset or of a job."""

    namespace: str
    name: str


class StatedOwner(NamedTuple):
    """An owner of a dataset or of a job, and the type of ownership, such as MAINTAINER; empty if it is not stated."""

    name: str
    type: str = ""


class StatedGap(NamedTuple):
    """
    A part of a run that its producer did not understand or left out.

    Args:
        operator: the class of the operator, or the kind of content; may be empty.
        message: the missing part, and what was done instead.
    """

    operator: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return self._asdict()


class Place(NamedTuple):
    """
    An end of an edge.

    Args:
        namespace: the namespace of a dataset, or of a job.
        name: its name.
        column: the column; empty for the whole dataset, which is all of its rows.
        is_job: whether it is a job. A job without names is that of the event.
    """

    namespace: str
    name: str
    column: str = ""
    is_job: bool = False


@functools.lru_cache(maxsize=1000)
def kind_of(type_: str, subtype: str, masking: bool = False) -> Kind:  # noqa: FBT001, FBT002 (as `Kind` takes them)
    """Return a kind; cached, because events repeat a few kinds thousands of times."""
    return Kind(type_, subtype, masking)


class PathStep(NamedTuple):
    """
    What one operator does to a value on its way.

    Args:
        operator: its class and its index in the plan, such as `Aggregate#1`.
        expression: the text of the expression there; empty if there is none.
        certainty: how sure the step is.
        call_site: the line of the user's Python that made it, such as `jobs/daily.py:12`; empty if it is unknown.
        relation: the CTE, view or subquery whose rows these are; empty for other operators.
        column: its column.
    """

    operator: str
    expression: str = ""
    certainty: Certainty = "exact"
    call_site: str = ""
    relation: str = ""
    column: str = ""


class StatedPath(NamedTuple):
    """
    One path of an edge, from its source to its target.

    Args:
        kind: how the value arrives.
        expression: the text that makes the target, in terms of columns of the sources; empty if the event has none.
        certainty: how sure it is.
        operators: the operators that it passes; empty if the event does not name them.
        steps: those of them that do more than pass the value on.
        is_traced: whether the event states its path and certainty.
    """

    kind: Kind
    expression: str = ""
    certainty: Certainty = "exact"
    operators: tuple[str, ...] = ()
    steps: tuple[PathStep, ...] = ()
    is_traced: bool = False

    @property
    def path(self) -> Path:
        """The path as graphs have it."""
        steps = [
            Step(each.operator, each.expression, each.relation, each.column, None, each.certainty, each.call_site)
            for each in self.steps
        ]
        return Path(self.kind, self.expression, self.certainty, steps_of(self.operators, steps))


class StatedEdge(NamedTuple):
    """A source, a target, and the paths between them in the order of the event, each once."""

    source: Place
    target: Place
    paths: tuple[StatedPath, ...]


class SchemaField(NamedTuple):
    """
    A field of a schema.

    Args:
        path: its name; for a field inside structs, their names before its own, with dots between.
        type: its type; empty if the event does not state it.
        above: the index of the struct that contains it among the fields; -1 for a column.
    """

    path: str
    type: str
    above: int = -1


class OtherName(NamedTuple):
    """Another name of a dataset; its type is TABLE or LOCATION, or empty if the event does not state it."""

    namespace: str
    name: str
    type: str = ""


class ReadByBatch(NamedTuple):
    """The read of a micro-batch: from one offset to another, or a version; None where the event states none."""

    dataset: Name
    start: str | None
    end: str | None
    version: str
    rows: int | None


class MadeByBatch(NamedTuple):
    """The write of a micro-batch: a version, and the one before; None where the event states none."""

    dataset: Name
    version: str
    parent: str | None
    change: str
    rows: int | None


class BatchOfRun(NamedTuple):
    """A micro-batch: its number, its time (microseconds since 1970, if it has one), its reads and its writes."""

    number: int
    time: int | None
    sources: tuple[ReadByBatch, ...]
    sinks: tuple[MadeByBatch, ...]


class ParentRun(NamedTuple):
    """The run that started a run; the names of its job are empty if the event does not state them."""

    run: str
    job: Name


class SubmittedAs(NamedTuple):
    """
    How an application was submitted.

    Args:
        command: the words of its command; none if the event does not state them.
        directory: the working directory of the command.
        deploy_mode: such as `client`.
        is_redacted: whether secrets were removed from the command.
    """

    command: tuple[str, ...] = ()
    directory: str = ""
    deploy_mode: str = ""
    is_redacted: bool = False


class SessionOfRun(NamedTuple):
    """
    The session of a statement.

    Args:
        settings: the settings that change its meaning, by name, where they differ from Spark's defaults.
        catalog: the current catalog; empty for Spark's own.
        schema: the current schema in it; empty for the one that a new session has.
    """

    settings: tuple[tuple[str, str], ...] = ()
    catalog: str = ""
    schema: str = ""


class RecoveryOfRun(NamedTuple):
    """
    The recovery that made a run.

    Args:
        plan: the id of its plan.
        step: the number of the step.
        last: the number of the last step of the plan that becomes a run.
    """

    plan: str
    step: int
    last: int


class RowsAndBytes(NamedTuple):
    """How many rows and bytes were read or written; None where the event does not state it."""

    rows: int | None
    bytes: int | None


class Stated(NamedTuple):
    """
    The edges into one dataset, or into one job, that an explicit lineage facet states.

    Args:
        target: the dataset or the job.
        edges: the edges.
        has_columns: whether it states where columns come from.
    """

    target: Place
    edges: tuple[StatedEdge, ...]
    has_columns: bool
