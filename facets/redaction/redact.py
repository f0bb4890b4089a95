"""
Redact the state of a run: the one place where secrets, and on request literals, are removed from the texts of an event.

If a text of the run (`names.named_in`), its plan or a column that it writes names a secret, all literals are removed
from all its texts. So it does not matter which literal is the secret, or where else it appears.

The names of datasets are kept, because `naming` builds them without credentials. The facets of the user's own providers
are kept too.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Field
from openlineage_pyspark.facets.model.lineage import (
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    Way,
    different,
)
from openlineage_pyspark.facets.model.micro_batch import StreamingQuery
from openlineage_pyspark.facets.model.run import CallSite, Engine, Failure, RedactedState, RunState, Submission
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.facets.redaction.errors import redact_message
from openlineage_pyspark.facets.redaction.names import Named, is_harmless_value, is_secret, named_by, named_in
from openlineage_pyspark.facets.redaction.rows import without_rows
from openlineage_pyspark.facets.redaction.settings import known_settings
from openlineage_pyspark.facets.redaction.sql import MASK, SqlText, redact_sql
from openlineage_pyspark.facets.redaction.text import redact_text, without_values
from openlineage_pyspark.facets.sql_lexer import TokenKind, replaced, string_literal, tokens, unquoted
from openlineage_pyspark.facets.urls import REDACTED

_MOST_SHOWN = 10_000
_LONGEST_KEPT = 4_000
_CUT = "..."
_INSERT = re.compile(r"(?i)\binsert\b")
_SCRIPTS = (".py", ".pyc", ".zip", ".egg")


@attrs.frozen
class Redaction:
    """
    The options of redaction, and the redaction of single texts.

    Args:
        mask_literals: whether to replace every literal by `?`, and to remove what could be one from messages.
        known: the values to remove wherever they occur, longest first.
        row_values: whether error messages may quote values of rows.
    """

    mask_literals: bool = False
    known: tuple[str, ...] = attrs.field(default=(), repr=False)
    row_values: bool = False

    def text(self, text: str) -> str:
        """Redact free text: a comment, a property's value, a diagnostic."""
        return redact_text(text, self.known)

    def sql(self, text: str, named: Named = Named.NOTHING, hidden: frozenset[str] = frozenset()) -> SqlText:
        """Redact a statement or an expression; the result holds the removed texts."""
        redact = _redacted_sql if len(text) <= _LONGEST_KEPT else _redacted_sql.__wrapped__
        return redact(self, text, named, hidden)

    def message(self, text: str, hidden: Iterable[str] = ()) -> str:
        """Redact the message or stack trace of a failure; `hidden` are the values removed from its statement."""
        return redact_message(text, self.text, hidden, mask=self.mask_literals)

    def property(self, name: str, value: str) -> str:
        """Redact the value of a property that the user selected by name."""
        return REDACTED if is_secret(name) and not is_harmless_value(name, value) else self.text(value)


# The first and the last event of a run have the same texts, and so have the runs of a loop.
@functools.lru_cache(maxsize=2048)
def _redacted_sql(redaction: Redaction, text: str, named: Named, hidden: frozenset[str]) -> SqlText:
    shown = redact_sql(text, redaction.text, mask=redaction.mask_literals, named=named, hidden=hidden)
    # A secret of the configuration that is a number may be without quotes in SQL.
    numbers = tuple(value for value in redaction.known if value.isdigit())
    return attrs.evolve(shown, text=without_values(shown.text, numbers)) if numbers else shown


def redacted(state: RunState, redaction: Redaction, earlier: Mapping[str, str] | None = None) -> RedactedState:
    """
    Return the state of a run with all its texts redacted.

    Redacting it again changes nothing.

    Args:
        state: as it was assembled.
        redaction: the options.
        earlier: messages of earlier exceptions, and the text shown instead of each (`rows.shown_messages`).
    """
    statement = state.job.sql or ""
    named = max(_each_named(state), default=Named.NOTHING)
    sql = redaction.sql(statement, named)
    lineages, removed = _lineages(state, redaction, named, sql.hidden)
    if not removed <= sql.hidden:
        # A value that was removed from one text may be in any other text too.
        sql = attrs.evolve(redaction.sql(statement, named, removed), hidden=removed)
        lineages, _ = _lineages(state, redaction, named, removed)
    outputs = [
        attrs.evolve(output, dataset=_dataset(output.dataset, redaction), lineage=lineage)
        for output, lineage in zip(state.outputs, lineages, strict=True)
    ]
    shown = attrs.evolve(
        state,
        job=attrs.evolve(state.job, sql=sql.text or None),
        engine=_engine(state.engine, redaction),
        submission=None if state.submission is None else _submission(state.submission, redaction),
        inputs=tuple(attrs.evolve(read, dataset=_dataset(read.dataset, redaction)) for read in state.inputs),
        outputs=tuple(outputs),
        failure=_failure(state.failure, redaction, sql.hidden, earlier) if state.failure is not None else None,
        gaps=tuple(attrs.evolve(r, message=redaction.text(r.message)) for r in state.gaps),
        stream=_stream(state.stream, redaction) if state.stream is not None else None,
        call_site=_call_site(state.call_site, redaction) if state.call_site is not None else None,
        session=_session(state.session, redaction) if state.session is not None else None,
    )
    return RedactedState(shown)


def _each_named(state: RunState) -> Iterator[Named]:
    """Yield which secrets the texts of a run, its plan, and the columns that it writes name."""
    statement = state.job.sql or ""
    yield named_in(statement)
    texts: dict[str, None] = {}
    for output in state.outputs:
        lineage = output.lineage
        if lineage is None:
            is_insert = _INSERT.search(statement) is not None
            yield from (named_by(field.name) for field in output.dataset.fields if is_insert)
            continue
        for column in lineage.columns:
            yield named_by(column.name)
            texts[column.expression] = None
        yield from map(named_by, lineage.wording.names)
        texts.update(dict.fromkeys(lineage.wording.texts))
        for edge in lineage.edges:
            for each in edge.transformations:
                texts[each.description] = None
                if _CUT in each.description:
                    # The part that is cut off may be the name of the source.
                    yield named_by(edge.field)
                texts.update((step.expression, None) for step in each.way.last or ())
    yield from map(named_in, texts)


def _failure(
    failure: Failure, redaction: Redaction, hidden: Iterable[str], earlier: Mapping[str, str] | None
) -> Failure:
    if not redaction.row_values:
        failure = without_rows(failure, earlier)
    trace = failure.stack_trace
    return attrs.evolve(
        failure,
        message=redaction.message(failure.message, hidden),
        stack_trace=redaction.message(trace, hidden) if trace is not None else None,
    )


def _call_site(site: CallSite, redaction: Redaction) -> CallSite:
    return attrs.evolve(site, file=redaction.text(site.file))


def _session(session: StatementSession, redaction: Redaction) -> StatementSession:
    settings = known_settings(session.settings)
    return StatementSession(settings, redaction.text(session.catalog), redaction.text(session.schema))


def _stream(stream: StreamingQuery, redaction: Redaction) -> StreamingQuery:
    shown: dict[str, str] = {}

    def text(given: str | None) -> str | None:
        """Redact a text, with a cache: most texts of a batch are also in the next batch."""
        if given is None:
            return None
        if given not in shown:
            if len(shown) >= _MOST_SHOWN:
                shown.clear()
            shown[given] = _offset(given, redaction)
        return shown[given]

    batches = tuple(
        attrs.evolve(
            batch,
            sources=tuple(
                attrs.evolve(s, description=text(s.description) or "", start=text(s.start), end=text(s.end))
                for s in batch.sources
            ),
            sinks=tuple(attrs.evolve(sink, description=text(sink.description)) for sink in batch.sinks),
        )
        for batch in stream.batches
    )
    return attrs.evolve(stream, name=text(stream.name), checkpoint=text(stream.checkpoint), batches=batches)


def _offset(text: str, redaction: Redaction) -> str:
    """Redact a text; if it is JSON, redact each of its strings, so that it stays JSON."""
    if not text.startswith(("{", "[")):
        return redaction.text(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redaction.text(text)
    shown = _strings_redacted(value, redaction)
    return text if shown == value else json.dumps(shown, separators=(",", ":"))


def _strings_redacted(value: object, redaction: Redaction) -> object:
    if isinstance(value, str):
        return redaction.text(value)
    if isinstance(value, list):
        return [_strings_redacted(item, redaction) for item in value]
    if isinstance(value, dict):
        return {
            redaction.text(name): (
                REDACTED if isinstance(inner, str) and is_secret(name) else _strings_redacted(inner, redaction)
            )
            for name, inner in value.items()
        }
    return value


def _submission(submission: Submission, redaction: Redaction) -> Submission:
    """Redact a command word by word: the meaning of a word may depend on the one before it."""
    words = submission.command if not redaction.mask_literals else _masked(submission.command)
    before = ("", *words)
    shown = [_word(word, option, redaction) for word, option in zip(words, before, strict=False)]
    whole = redaction.text(" ".join(shown))
    if whole != " ".join(shown):
        shown = [word if word in whole else REDACTED for word in shown]
    folder = redaction.text(submission.folder)
    is_redacted = submission.redacted or tuple(shown) != submission.command
    return attrs.evolve(submission, command=tuple(shown), folder=folder, redacted=is_redacted)


def _masked(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with `?` instead of the script's arguments, except the names of options."""
    before = ("", *words)
    script = next((at for at, word in enumerate(words) if word.endswith(_SCRIPTS) or before[at] == "-m"), 0)
    return (*words[: script + 1], *map(_masked_word, words[script + 1 :]))


def _masked_word(word: str) -> str:
    name, separator, _ = word.partition("=")
    if not name.startswith("--"):
        return MASK
    return f"{name}={MASK}" if separator else name


def _word(word: str, before: str, redaction: Redaction) -> str:
    if before.startswith("-") and "=" not in before and not word.startswith("-") and is_secret(before.lstrip("-")):
        return REDACTED
    name, _, value = word.partition("=")
    if value and is_secret(name.lstrip("-")) and not is_harmless_value(name, value):
        return f"{redaction.text(name)}={REDACTED}"
    return redaction.text(word)


def _engine(engine: Engine, redaction: Redaction) -> Engine:
    return attrs.evolve(
        engine,
        application=tuple((name, redaction.text(value)) for name, value in engine.application),
        properties=tuple((name, redaction.property(name, value)) for name, value in engine.properties),
    )


def _dataset(dataset: Dataset, redaction: Redaction) -> Dataset:
    fields = tuple(_field(field, redaction) for field in dataset.fields)
    # The value of a partition may be secret.
    locations = tuple(dict.fromkeys(map(redaction.text, dataset.locations)))
    comment = _comment(dataset.description, redaction)
    versions = dataset.versions
    if versions is not None and versions.branch is not None:
        versions = attrs.evolve(versions, branch=redaction.text(versions.branch))
    return attrs.evolve(dataset, fields=fields, description=comment, locations=locations, versions=versions)


def _field(field: Field, redaction: Redaction) -> Field:
    if field.description is None and not field.fields:
        return field
    inner = tuple(_field(below, redaction) for below in field.fields)
    return attrs.evolve(field, description=_comment(field.description, redaction), fields=inner)


def _comment(comment: str | None, redaction: Redaction) -> str | None:
    """Redact a comment; if literals are masked, remove it, since it is a literal of the statement that set it."""
    return None if comment is None or redaction.mask_literals else redaction.text(comment)


@attrs.define
class _Expressions:
    """
    Redacts the expressions of a lineage.

    Args:
        redaction: the options.
        named: which secrets the run names.
        hidden: the strings that were hidden in the statement.
        written: the strings in the statement if it has parameters, else None. Any other string in an expression is then
            the value of a parameter, and is hidden.

    Attributes:
        removed: the strings that were removed from the expressions so far.
    """

    redaction: Redaction
    named: Named
    hidden: frozenset[str]
    written: frozenset[str] | None
    removed: set[str] = attrs.field(factory=set, init=False)
    _known: dict[str, str] = attrs.field(factory=dict, init=False)

    def shown(self, given: Transformation) -> Transformation:
        """Return a transformation whose expressions are redacted."""
        text, way = self.read(given.description), self._way(given.way)
        same = text == given.description and way is given.way
        return given if same else attrs.evolve(given, description=text, way=way)

    def _way(self, way: Way) -> Way:
        """Return a path with redacted expressions, and without what its description was composed of."""
        if way.last is None and not way.composed:
            return way
        last: OperatorStep | None = None
        for step in way.steps:
            site = self.redaction.text(step.call_site) if step.call_site else ""
            shown = self.read(step.expression)
            last = attrs.evolve(step, expression=shown, call_site=site, before=last, computation=None)
        return way._replace(last=last, composed=None)

    def read(self, text: str) -> str:
        """Return a redacted expression, and record the removed texts."""
        if not text:
            return text
        if text not in self._known:
            hidden = self.hidden
            if self.written is not None:
                hidden |= _strings_of(text) - self.written
            shown = self.redaction.sql(text, self.named, hidden)
            self._known[text] = shown.text
            self.removed |= shown.hidden
        return self._known[text]


def _lineages(
    state: RunState, redaction: Redaction, named: Named, hidden: frozenset[str]
) -> tuple[list[ColumnLineage | None], frozenset[str]]:
    """Return the lineages of the outputs with redacted expressions, and the strings that are hidden in any of them."""
    statement = state.job.sql or ""
    written = _strings_of(statement) if _has_parameters(statement) else None
    expressions = _Expressions(redaction, named, hidden, written)
    shown = [None if each.lineage is None else _lineage(each.lineage, expressions) for each in state.outputs]
    if named:
        # A message may repeat a constant that no edge has in its text.
        for output in state.outputs:
            for text in output.lineage.wording.texts if output.lineage is not None else ():
                expressions.read(text)
    return shown, hidden | expressions.removed


def _has_parameters(sql: str) -> bool:
    if "?" not in sql and ":" not in sql:
        return False
    return any(token.kind is TokenKind.SYMBOL and token.text in ("?", ":") for token in tokens(sql))


def _strings_of(sql: str) -> frozenset[str]:
    return frozenset(unquoted(token) for token in tokens(sql) if token.kind is TokenKind.STRING)


def _without_strings(text: str) -> str:
    """Hide the strings in the expression of a column without a source: they are its value, which may be a secret."""
    return replaced(text, (TokenKind.STRING,), string_literal(REDACTED))


def _lineage(lineage: ColumnLineage, expressions: _Expressions) -> ColumnLineage:
    """Redact the expressions of a lineage."""

    def edges(given: tuple[InputField, ...]) -> tuple[InputField, ...]:
        made = []
        for edge in given:
            # With masked literals, paths that differ only in a literal become equal.
            shown = [expressions.shown(each) for each in edge.transformations]
            same = all(new is old for new, old in zip(shown, edge.transformations, strict=True))
            made.append(edge if same else attrs.evolve(edge, transformations=different(shown)))
        return tuple(made)

    columns = tuple(
        OutputColumn(column.name, edges(column.edges), _without_strings(expressions.read(column.expression)))
        for column in lineage.columns
    )
    return ColumnLineage(columns, edges(lineage.dataset))
