"""
What of a run may be shown: the one place where secrets, and where asked literals, leave the texts of an event.

Names of datasets are not changed here: they are made from parts that are allowed in them (`naming`). What a user's own
facet provider gives is not changed either.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Field
from openlineage_pyspark.facets.model.lineage import ColumnLineage, Edge, OutputColumn, Transformation
from openlineage_pyspark.facets.model.run import Engine, Failure, RunState
from openlineage_pyspark.facets.redaction.errors import shown_message
from openlineage_pyspark.facets.redaction.names import is_secret
from openlineage_pyspark.facets.redaction.sql import SqlText, shown_sql
from openlineage_pyspark.facets.redaction.text import phrase
from openlineage_pyspark.facets.urls import REDACTED


@attrs.frozen
class Redaction:
    """
    How texts are made fit to be shown.

    Args:
        mask_literals: whether every literal becomes `?`, and messages keep only what can't be one.
        known: what is secret wherever it stands, the longest first.
    """

    mask_literals: bool = False
    known: tuple[str, ...] = attrs.field(default=(), repr=False)

    def text(self, text: str) -> str:
        """A text of which nothing is known: a comment, a property's value, a remark."""
        return phrase(text, self.known)

    def sql(self, text: str) -> SqlText:
        """A statement or an expression in SQL, with what was taken out of it."""
        return shown_sql(text, self.text, mask=self.mask_literals)

    def message(self, text: str, hidden: Iterable[str] = ()) -> str:
        """The message or stack trace of a failure; `hidden` is what was taken out of its statement."""
        return shown_message(text, self.text, hidden, mask=self.mask_literals)

    def property(self, name: str, value: str) -> str:
        """The value of a property that the user asked for by its name."""
        return REDACTED if is_secret(name) else self.text(value)


def redacted(state: RunState, redaction: Redaction) -> RunState:
    """
    A state of a run with every text in it as it may be shown.

    Args:
        state: as it was assembled. What was redacted before does not change.
        redaction: how.
    """
    sql = redaction.sql(state.job.sql) if state.job.sql else SqlText("")
    expressions: dict[str, str] = {}
    outputs = [
        attrs.evolve(
            output,
            dataset=_dataset(output.dataset, redaction),
            lineage=_lineage(output.lineage, redaction, expressions) if output.lineage is not None else None,
        )
        for output in state.outputs
    ]
    return attrs.evolve(
        state,
        job=attrs.evolve(state.job, sql=sql.text or None),
        engine=_engine(state.engine, redaction),
        inputs=tuple(attrs.evolve(read, dataset=_dataset(read.dataset, redaction)) for read in state.inputs),
        outputs=tuple(outputs),
        failure=_failure(state.failure, redaction, sql.hidden) if state.failure is not None else None,
        gaps=tuple(attrs.evolve(r, message=redaction.text(r.message)) for r in state.gaps),
    )


def _failure(failure: Failure, redaction: Redaction, hidden: Iterable[str]) -> Failure:
    trace = failure.stack_trace
    return attrs.evolve(
        failure,
        message=redaction.message(failure.message, hidden),
        stack_trace=redaction.message(trace, hidden) if trace is not None else None,
    )


def _engine(engine: Engine, redaction: Redaction) -> Engine:
    return attrs.evolve(
        engine,
        application=tuple((name, redaction.text(value)) for name, value in engine.application),
        properties=tuple((name, redaction.property(name, value)) for name, value in engine.properties),
    )


def _dataset(dataset: Dataset, redaction: Redaction) -> Dataset:
    fields = tuple(_field(field, redaction) for field in dataset.fields)
    return attrs.evolve(dataset, fields=fields, description=_comment(dataset.description, redaction))


def _field(field: Field, redaction: Redaction) -> Field:
    if field.description is None and not field.fields:
        return field
    inner = tuple(_field(below, redaction) for below in field.fields)
    return attrs.evolve(field, description=_comment(field.description, redaction), fields=inner)


def _comment(comment: str | None, redaction: Redaction) -> str | None:
    """A comment is a literal of the statement that set it."""
    return None if comment is None or redaction.mask_literals else redaction.text(comment)


def _lineage(lineage: ColumnLineage, redaction: Redaction, known: dict[str, str]) -> ColumnLineage:
    """The lineage with its expressions as they may be shown; `known` are those that were seen before."""

    def shown(way: Transformation) -> Transformation:
        text = way.description
        if not text:
            return way
        if text not in known:
            known[text] = redaction.sql(text).text
        return way if known[text] == text else attrs.evolve(way, description=known[text])

    def edges(given: tuple[Edge, ...]) -> tuple[Edge, ...]:
        made = []
        for edge in given:
            # Two that differ in a literal alone are one where literals are masked.
            ways = tuple(dict.fromkeys(shown(way) for way in edge.transformations))
            made.append(edge if ways == edge.transformations else attrs.evolve(edge, transformations=ways))
        return tuple(made)

    columns = tuple(OutputColumn(column.name, edges(column.edges)) for column in lineage.columns)
    return ColumnLineage(columns, edges(lineage.dataset))
