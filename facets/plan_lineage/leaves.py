"""The leaves of a plan: what each of them reads."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.facets.datasets import plugins
from openlineage_pyspark.facets.datasets.built_in import SOURCES, relation_of
from openlineage_pyspark.facets.datasets.source import NO_DATASETS, Column, Relation, Session
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind, Way, Wording, compose
from openlineage_pyspark.facets.model.plan import LOCAL_RELATION, Operator, Plan, Value
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.model.variables import VARIABLE_CLASS, VariableName, variable_of
from openlineage_pyspark.facets.plan_lineage.results import (
    EarlierColumn,
    EarlierRows,
    RememberedKinds,
    VariableValue,
    joined_kinds,
)
from openlineage_pyspark.facets.sql_lexer import dotted
from openlineage_pyspark.facets.sql_names import field_name, quoted_name
from openlineage_pyspark.facets.trace.texts import readable_names

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.facets.plan_lineage.results import EarlierPlans, SourceField
    from openlineage_pyspark.facets.trace.solve import Origin


_Variables = Mapping[VariableName, VariableValue | None]
_CONSTANTS = frozenset(
    "current_date current_time current_timestamp current_user default grouping__id localtimestamp session_user "
    "user".split()
)
"""Words that Spark's parser takes for names, although they are no variables."""

# The rows of VALUES: only its text has the variables in it.
# While Spark analyzes a statement, it replaces VALUES by rows, and the variables in it by their values. The probe
# parses the text again, and sends the names in it.


def rows_of_variables(operator: Operator, variables: _Variables) -> EarlierRows | None:
    """
    Return the rows of a VALUES, whose columns have the sources of the variables in it; None if there are none.

    Args:
        operator: a leaf.
        variables: the variables that earlier statements have set, with their values.
    """
    names = operator.arguments.get("names") if operator.class_name == LOCAL_RELATION else None
    rows = [row for row in names if isinstance(row, tuple)] if isinstance(names, tuple) else []
    known = _variables_of(operator, variables) if rows else {}
    used = {use.name: use.value for row in rows for column in row for use in _uses(column, known)}
    if not any(value is None or value.sources or value.datasets for value in used.values()):
        return None
    gaps = [_gap(message_about_unknown(name)) for name, value in used.items() if value is None]
    if any(len(row) != len(operator.output) for row in rows):
        shown = ", ".join(".".join(name.parts) for name in used)
        gaps = [_gap(f"which columns of VALUES have the values of the variables {shown} is unknown")]
        rows = []
    values = [value for value in used.values() if value is not None]
    return EarlierRows(
        tuple({dataset.identifier: dataset for value in values for dataset in value.datasets}.values()),
        tuple(_column((row[at] for row in rows), known) for at in range(len(operator.output))),
        wording=functools.reduce(Wording.joined, (value.wording for value in values), Wording()),
        gaps=tuple(gaps),
    )


def message_about_unknown(variable: VariableName) -> str:
    """Return the message about a variable whose value has unknown sources."""
    return f"the sources of the variable {'.'.join(variable.parts)} are unknown"


def _gap(message: str) -> Gap:
    return Gap(LOCAL_RELATION, message)


def _variables_of(operator: Operator, variables: _Variables) -> _Variables:
    """Return the variables of the session of a leaf; all, if the session is unknown."""
    scope = operator.arguments.get("scope")
    if not isinstance(scope, int):
        return variables
    return {name: value for name, value in variables.items() if name.scope == scope}


def _column(expressions: Iterable[Value], variables: _Variables) -> EarlierColumn:
    """Return a column of VALUES, given what its expression in each row names."""
    uses = (use for expression in expressions for use in _uses(expression, variables))
    return EarlierColumn(joined_kinds(source for use in uses for source in _sources(use)))


def _sources(use: _Use) -> Iterator[RememberedKinds]:
    """Yield the sources of a use of a variable, each with one kind."""
    for field, kinds in (use.value.sources if use.value is not None else {}).items():
        for inner, ways in kinds.items():
            kind = inner if use.is_copy else compose(UseKind.TRANSFORMATION, inner)
            yield {field: {kind: tuple(way._replace(certainty=Certainty.TEXT) for way in ways)}}


class _Use(NamedTuple):
    """
    A use of a variable.

    Args:
        name: the variable.
        value: its value; None if the sources of that are unknown.
        is_copy: whether the expression is the variable itself, and not only a field of it.
    """

    name: VariableName
    value: VariableValue | None
    is_copy: bool


def _uses(expression: Value, variables: _Variables) -> Iterator[_Use]:
    """Yield the uses of variables in an expression; the value of one that is not among the known ones is unknown."""
    if not isinstance(expression, tuple):
        return
    for text in expression[1:]:
        parts = tuple(part.casefold() for part in dotted(text)) if isinstance(text, str) else ()
        # Behind the name of a variable may be that of a field of it, before it that of its script or session.
        for end in range(len(parts), 0, -1):
            named = [name for name in variables if _is_named(name, parts[:end])]
            if named:
                # A later variable of the same name hides an earlier one.
                yield _Use(named[-1], variables[named[-1]], expression[0] is True and end == len(parts))
                break
        else:
            # Only variables have names in VALUES: this one was set where nobody has seen it.
            if parts and (len(parts) > 1 or parts[0] not in _CONSTANTS):
                yield _Use(VariableName(0, parts), None, is_copy=False)


def _is_named(name: VariableName, parts: tuple[str, ...]) -> bool:
    folded = tuple(part.casefold() for part in name.parts)
    shorter = min(len(parts), len(folded))
    return parts[-shorter:] == folded[-shorter:]


class Leaves:
    """The leaves of a plan: their relations and datasets, and the columns that earlier plans computed."""

    def __init__(self, plan: Plan, session: Session, earlier: EarlierPlans) -> None:
        self._plan = plan
        self._session = session
        self._earlier = earlier
        self.datasets: dict[Identifier, Dataset] = {}
        self.gaps: dict[Gap, None] = {}
        self.relations: dict[int, Relation] = {}
        self.unread: set[int] = set()
        self.remembered: dict[int, RememberedKinds] = {}
        self.remembered_rows: dict[int, RememberedKinds] = {}
        self.remembered_wording = Wording()
        self._remembered_texts: dict[int, str] = {}
        self._as_columns: set[int] = set()
        self._names_of_columns: dict[int, frozenset[str]] = {}

    def relation(self, at: int) -> Relation:
        """Return the relation of the leaf at an index."""
        known = self.relations.get(at)
        if known is not None:
            return known
        operator = self._plan.operators[at]
        found = self._from_earlier_plans(at, operator)
        if found is None:
            found = relation_of(self._plan, operator, self._session)
            found = None if found is None else found.trimmed(self._session.trimming)
        if found is None:
            if operator.output:
                self.unread.add(at)
                what = (
                    message_about_namesake("a source", SOURCES.namesake(operator.class_name))
                    or "a source without a resolver"
                )
                self.add_gap(operator, f"{what}: what it reads is unknown")
                for name, error in plugins.BROKEN.items():
                    why = f"an entry point of {plugins.SOURCES_GROUP} that could not be loaded ({error}, see the log)"
                    self.gaps[Gap(name, f"{why}: what its sources read is unknown")] = None
            found = NO_DATASETS
        if found.opaque:
            self.unread.add(at)
            self.add_gap(operator, found.opaque)
        self.relations[at] = found
        rows: dict[SourceField, dict[UseKind, list[Way]]] = {}
        for column in found.rows:
            rows.setdefault((column.dataset, column.name), {})[column.kind] = [Way(certainty=found.certainty)]
        if rows:
            self.remembered_rows[at] = rows
        return found

    def field(self, column: Column, origin: Origin) -> tuple[str, UseKind]:
        """
        Return the name of the source of a leaf's attribute or of a field of it, and the kind of its use.

        A field is distinguished from its column only if its name can't be that of another column of the table.

        Args:
            column: the column of a dataset from which the attribute is read.
            origin: the attribute, or a field of it.
        """
        if not origin.path:
            return column.name, column.kind
        name = field_name(column.name, origin.path)
        if column.kind is UseKind.IDENTITY and name.casefold() not in self._column_names(origin.operator):
            return name, column.kind
        return column.name, compose(UseKind.TRANSFORMATION, column.kind)

    def remembered_field(self, field: SourceField, origin: Origin) -> tuple[SourceField, UseKind]:
        """Return the source that an earlier plan had for an attribute or a field of it, and the kind of its use."""
        if not origin.path:
            return field, UseKind.IDENTITY
        if origin.id not in self._as_columns:
            return field, UseKind.TRANSFORMATION
        name, kind = self.field(Column(*field), origin)
        return (field[0], name), kind

    def _column_names(self, at: int) -> frozenset[str]:
        """Return the names of the columns of all datasets that a leaf reads, in lower case."""
        known = self._names_of_columns.get(at)
        if known is None:
            names = (field.name.casefold() for each in self.relation(at).datasets for field in each.fields)
            known = self._names_of_columns[at] = frozenset(names)
        return known

    def add(self, dataset: Dataset) -> None:
        """Add a dataset that the plan reads, or what another leaf knows about the same one."""
        known = self.datasets.get(dataset.identifier)
        if known is None:
            self.datasets[dataset.identifier] = dataset
        elif len(known.fields) < len(dataset.fields):
            self.datasets[dataset.identifier] = dataset.joined(known)
        elif known.fields != dataset.fields:
            names = {f.name for f in known.fields}
            more = tuple(f for f in dataset.fields if f.name not in names)
            self.datasets[dataset.identifier] = attrs.evolve(known.joined(dataset), fields=(*known.fields, *more))
        else:
            self.datasets[dataset.identifier] = known.joined(dataset)

    def add_gap(self, operator: Operator, message: str) -> None:
        """Add a diagnostic about an operator to the event."""
        self.gaps[Gap(operator.class_name, message)] = None

    def source_name(self, origin: Origin) -> str:
        """Return the text for a column of a leaf: the name of its table and its own name."""
        relation = self.relation(origin.operator)
        made = self._remembered_texts.get(origin.id) or relation.texts.get(origin.id)
        if made:
            return made
        columns = relation.columns.get(origin.id, ())
        if len(columns) != 1 or columns[0].kind is not UseKind.IDENTITY:
            known = self._plan.attributes.get(origin.id)
            return quoted_name(known.name) if known is not None else "?"
        dataset, name = columns[0].dataset, quoted_name(columns[0].name)
        return f"{self._names[dataset]}.{name}" if dataset in self._names else name

    @functools.cached_property
    def _names(self) -> dict[Identifier, str]:
        """The readable names of all datasets that the plan reads; used only after all are known."""
        return readable_names(self.datasets.values())

    def _from_earlier_plans(self, at: int, operator: Operator) -> Relation | None:
        """Return the relation of a leaf whose rows an earlier plan computed; None for any other leaf."""
        if operator.class_name == VARIABLE_CLASS and (variable := variable_of(self._plan, operator)) is not None:
            return self._of_variable(operator, variable)
        earlier = self._earlier.rows.get(at) or rows_of_variables(operator, self._earlier.variables)
        if earlier is None:
            return None
        for output, column in zip(operator.output, earlier.columns, strict=True):
            self.remembered[output.id] = column.sources
            if column.is_source:
                self._as_columns.add(output.id)
            if column.text:
                self._remembered_texts[output.id] = column.text
        self.remembered_rows[at] = earlier.rows
        self.remembered_wording = self.remembered_wording.joined(earlier.wording)
        self.gaps |= dict.fromkeys(earlier.gaps)
        return Relation(earlier.inputs)

    def _of_variable(self, operator: Operator, variable: VariableName) -> Relation:
        """Return the relation for a use of a variable, with the sources of the statement that has set it."""
        value = self._earlier.variables.get(variable)
        if value is None:
            self.add_gap(operator, message_about_unknown(variable))
            return NO_DATASETS
        for output in operator.output:
            self.remembered[output.id] = value.sources
        self.remembered_wording = self.remembered_wording.joined(value.wording)
        return Relation(value.datasets)


def message_about_namesake(what: str, known: str | None) -> str | None:
    """Return the message about a class that shares its simple name with a known class; None if it does not."""
    return f"{what} with the same simple name as {known}, but of another class" if known else None
