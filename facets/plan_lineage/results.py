"""The results of the analysis of a plan, and what later plans need of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, UseKind, Way, Wording

if TYPE_CHECKING:
    from openlineage_pyspark.facets.commands.target import Write
    from openlineage_pyspark.facets.model.run import Gap
    from openlineage_pyspark.facets.model.variables import VariableName

SourceField = tuple[Identifier, str]
"""A dataset and one of its columns."""
RememberedKinds = Mapping[SourceField, Mapping[UseKind, Sequence[Way]]]
"""Source column of an earlier plan -> kind of its influence -> its paths."""


def joined_kinds(sources: Iterable[RememberedKinds]) -> RememberedKinds:
    """Return the source columns of something that has all of some sources, each path once."""
    found: dict[SourceField, dict[UseKind, tuple[Way, ...]]] = {}
    for each in sources:
        for field, kinds in each.items():
            there = found.setdefault(field, {})
            for kind, ways in kinds.items():
                there[kind] = tuple(dict.fromkeys((*there.get(kind, ()), *ways)))
    return found


@attrs.frozen
class WrittenDataset:
    """
    One dataset that a plan writes.

    Args:
        write: the write to it.
        lineage: the lineage of its columns; None for a command without data.
    """

    write: Write
    lineage: ColumnLineage | None


@attrs.frozen
class VariableValue:
    """
    The value of an SQL variable.

    Args:
        datasets: the datasets from which its value was computed.
        sources: the source columns of its value, with those that decided which row it is from.
        wording: the texts of the expressions that compute it.
    """

    datasets: tuple[Dataset, ...] = ()
    sources: RememberedKinds = attrs.Factory(dict)
    wording: Wording = attrs.Factory(Wording)


@attrs.frozen
class PlanLineage:
    """
    The inputs and outputs of a plan, and the lineage between them.

    Args:
        inputs: the datasets that it reads, each once, in the order of the plan.
        outputs: the datasets that it writes.
        scanned: exprId of a leaf's attribute -> its dataset; the row counts of scans are assigned with it.
        results: exprId of the plan's own output -> its source columns, and ROWS -> the influences on all rows.
        texts: exprId of the plan's own output -> its composed text; empty if texts are not composed. They are composed
            on demand, since few plans have rows that later plans read.
        wording: the texts of its expressions.
        columns: the lineage of the plan's own output; None unless it is a query.
        gaps: operators, commands and relations without a rule, and parts that were cut.
        operators: the number of operators in the plan.
        command: the command's part of the job's name; None for a query.
        unnamed: whether it is a command whose target is unknown.
        quiet: whether the plan is a command that writes no dataset, or reads files only to infer their schema.
        code: kind of code that can't be read (`trace.expressions.OpaqueCode`) -> how often the plan has it.
        streamed: the datasets of each leaf that is a stream, in the order of the plan; none for a source that holds or
            generates its rows, or has no new data in this micro-batch.
        variables: the SQL variables that it sets, declares or drops, with their new values; None for a value whose
            sources are unknown.
        fields: whether fields of stored structs are separate sources.
        models: the classes of the Spark ML models whose code it calls.
        shown: the columns of the plan's own output, in order.
    """

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[WrittenDataset, ...] = ()
    scanned: Mapping[int, Identifier] = attrs.Factory(dict)
    results: Mapping[int, RememberedKinds] = attrs.Factory(dict)
    texts: Mapping[int, str] = attrs.Factory(dict)
    wording: Wording = attrs.Factory(Wording)
    columns: ColumnLineage | None = None
    gaps: tuple[Gap, ...] = ()
    operators: int = 0
    command: str | None = None
    unnamed: bool = False
    quiet: bool = False
    code: Mapping[str, int] = attrs.Factory(dict)
    streamed: tuple[tuple[Identifier, ...], ...] = ()
    variables: Mapping[VariableName, VariableValue | None] = attrs.Factory(dict)
    fields: bool = False
    models: frozenset[str] = frozenset()
    shown: tuple[NamedColumn, ...] = ()


class NamedColumn(NamedTuple):
    """
    A column of a plan's own output.

    Args:
        id: its exprId.
        name: its name; empty if it is unknown.
        type: its type; empty if it is unknown.
    """

    id: int
    name: str
    type: str


class EarlierColumn(NamedTuple):
    """
    A column that an earlier plan computed.

    Args:
        sources: its source columns.
        text: its composed text; empty if there is none.
        is_source: whether it is an unchanged column of a dataset: a field of it is that field of the dataset's column.
    """

    sources: RememberedKinds
    text: str = ""
    is_source: bool = False


@attrs.frozen
class EarlierRows:
    """
    Rows that an earlier plan computed, such as those of a checkpoint or a micro-batch.

    Args:
        inputs: the datasets that the plan read.
        columns: the columns of its output, in order.
        rows: the influences on all of its rows.
        wording: the texts of its expressions.
        gaps: what is unknown about it.
    """

    inputs: tuple[Dataset, ...]
    columns: tuple[EarlierColumn, ...]
    rows: RememberedKinds = attrs.Factory(dict)
    wording: Wording = attrs.Factory(Wording)
    gaps: tuple[Gap, ...] = ()


@attrs.frozen
class EarlierPlans:
    """
    What a plan needs of the results of earlier plans.

    Args:
        rows: index of a leaf of the plan -> the rows that it reads.
        variables: SQL variable -> the value that an earlier statement has set; None if its sources are unknown.
    """

    rows: Mapping[int, EarlierRows] = attrs.Factory(dict)
    variables: Mapping[VariableName, VariableValue | None] = attrs.Factory(dict)
