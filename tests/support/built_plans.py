"""Plans that grow from their leaves, and what each of their columns must come from."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from openlineage_pyspark.facets.model.lineage import UseKind, compose
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    Mention,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Value,
)
from openlineage_pyspark.facets.trace.solve import Origin

MOST_ENUMERATED = 300
"""The most paths that are enumerated from one source to one column in one kind; there is one more if there are more."""


class Path(NamedTuple):
    """The steps of a path from its source on, as pairs of an operator and a text; and its jumps between operators."""

    steps: tuple = ()
    jumps: tuple = ()


class Building:
    """A plan that grows from its leaves, and beside it what each column must come from, worked out forwards.

    Backwards from the sink, with memory, shortcuts and a limit, is how the trace does it; here every operator works out
    all paths to all of its columns from those to its children's, as it is added.
    """

    def __init__(self, *, enumerates=True):
        """Begin a plan. If it is not to enumerate paths, it knows only in which kinds a source arrives."""
        self.enumerates = enumerates
        self.operators = []
        self.expressions = []
        self.attributes = {}
        self.ids = count(1)
        self.ctes = {}
        # By operator: exprId -> origin -> kind -> the paths.
        self.columns = []
        self.rows = []

    def output(self, at):
        return [column.id for column in self.operators[at].output]

    def leaf(self, width, table="t"):
        """Read a table of columns `a`, `b` and so on."""
        ids = [self.new(chr(ord("a") + place)) for place in range(width)]
        files: dict[str, Value] = {"rootPaths": (f"file:/lake/{table}",), "format": Described("ParquetFileFormat", {})}
        relation = Described("org.apache.spark.sql.execution.datasources.HadoopFsRelation", files)
        at = self.add("LogicalRelation", {"relation": relation}, ids)
        self.columns.append({id_: {Origin(at, id_): {UseKind.IDENTITY: {Path()}}} for id_ in ids})
        self.rows.append({})
        return at

    def project(self, child, groups):
        """Put out a column for each group of the child's columns: itself for one, their sum for several."""
        names, columns = [], {}
        below = self.columns[child]
        for group in groups:
            if len(group) == 1 and group[0] not in columns:
                names.append(AttributeRef(group[0]))
                columns[group[0]] = below[group[0]]
            elif len(group) == 1:
                id_, made = self.alias(AttributeRef(group[0]))
                names.append(made)
                columns[id_] = below[group[0]]
            else:
                id_, made = self.alias(self.function("Add", group))
                names.append(made)
                here = (f"Project#{len(self.operators)}", self.text(made))
                columns[id_] = joined(self.step(UseKind.TRANSFORMATION, below[source], here) for source in group)
        at = self.add("Project", {"projectList": tuple(names), "child": OperatorRef(child)}, list(columns))
        self.columns.append(columns)
        self.rows.append(self.rows[child])
        return at

    def renamed(self, child):
        """Put out every column of the child under a new id."""
        made = [self.alias(AttributeRef(id_)) for id_ in self.output(child)]
        arguments = {"projectList": tuple(reference for _, reference in made), "child": OperatorRef(child)}
        at = self.add("Project", arguments, [id_ for id_, _ in made])
        self.columns.append(
            {new: self.columns[child][id_] for (new, _), id_ in zip(made, self.output(child), strict=True)}
        )
        self.rows.append(self.rows[child])
        return at

    def computed(self, child, *columns):
        """Put out columns, each made of one of the child's and called by a text, such as `(a + 1)`."""
        made = []
        below = self.columns[child]
        found = {}
        for id_, text in columns:
            before, name, after = text.partition(self.attributes[id_].name)
            value = self.expression("Upper", {"child": AttributeRef(id_)}, sql=(before, Mention(id_, name), after))
            new, reference = self.alias(value)
            made.append(reference)
            found[new] = self.step(UseKind.TRANSFORMATION, below[id_], (f"Project#{len(self.operators)}", text))
        at = self.add("Project", {"projectList": tuple(made), "child": OperatorRef(child)}, list(found))
        self.columns.append(found)
        self.rows.append(self.rows[child])
        return at

    def filter(self, child, id_):
        return self.over(child, "Filter", {"condition": self.function("IsNotNull", [id_])}, {UseKind.FILTER: [id_]})

    def sort(self, child, id_):
        order = (self.function("SortOrder", [id_]),)
        return self.over(child, "Sort", {"order": order}, {UseKind.SORT: [id_]})

    def distinct(self, child):
        return self.over(child, "Distinct", {}, {UseKind.GROUP_BY: self.output(child)})

    def over(self, child, name, arguments, decides):
        at = self.add(name, {**arguments, "child": OperatorRef(child)}, self.output(child))
        below = self.columns[child]
        here = (f"{name}#{at}", "".join(self.text(part) for value in arguments.values() for part in listed(value)))
        steps = [self.step(kind, below[id_], here) for kind, ids in decides.items() for id_ in ids]
        self.columns.append(below)
        self.rows.append(joined([*steps, self.rows[child]]))
        return at

    def join(self, left, right, left_id, right_at):
        if set(self.output(left)) & set(self.output(right)):
            right = self.renamed(right)
        right_id = self.output(right)[right_at % len(self.output(right))]
        condition = self.function("EqualTo", [left_id, right_id])
        arguments = {"left": OperatorRef(left), "right": OperatorRef(right), "condition": condition}
        at = self.add("Join", arguments, [*self.output(left), *self.output(right)])
        columns = {**self.columns[left], **self.columns[right]}
        here = (f"Join#{at}", self.text(condition))
        steps = [self.step(UseKind.JOIN, columns[id_], here) for id_ in (left_id, right_id)]
        self.columns.append(columns)
        self.rows.append(joined([*steps, self.rows[left], self.rows[right]]))
        return at

    def union(self, branches):
        width = min(len(self.output(branch)) for branch in branches)
        branches = [self.project(branch, [[id_] for id_ in self.output(branch)[:width]]) for branch in branches]
        arguments = {"children": tuple(OperatorRef(branch) for branch in branches)}
        at = self.add("Union", arguments, self.output(branches[0]))
        self.columns.append(
            {
                id_: joined(self.columns[branch][self.output(branch)[place]] for branch in branches)
                for place, id_ in enumerate(self.output(branches[0]))
            }
        )
        self.rows.append(joined(self.rows[branch] for branch in branches))
        return at

    def set_difference(self, name, left, right):
        """Add INTERSECT or EXCEPT."""
        if set(self.output(left)) & set(self.output(right)):
            right = self.renamed(right)
        arguments = {"left": OperatorRef(left), "right": OperatorRef(right)}
        at = self.add(name, arguments, self.output(left))
        self.columns.append(self.columns[left])
        sides = [self.columns[side][id_] for side in (left, right) for id_ in self.output(side)]
        steps = [self.step(UseKind.JOIN, side, (f"{name}#{at}", "")) for side in sides]
        self.rows.append(joined([*steps, self.rows[left], self.rows[right]]))
        return at

    def definition(self, child):
        """Define a CTE."""
        at = self.add("CTERelationDef", {"child": OperatorRef(child), "id": len(self.operators)}, self.output(child))
        self.ctes["CTERelationDef", at] = at
        self.columns.append(self.columns[child])
        self.rows.append(self.rows[child])
        return at

    def reference(self, definition):
        """Read a CTE under new ids."""
        below = self.output(definition)
        ids = [self.new(self.attributes[id_].name) for id_ in below]
        at = self.add("CTERelationRef", {"cteId": definition}, ids)
        here, jump = (f"CTERelationRef#{at}", ""), (definition, at)
        columns = self.columns[definition]
        self.columns.append(
            {new: self.step(UseKind.IDENTITY, columns[id_], here, jump) for new, id_ in zip(ids, below, strict=True)}
        )
        # The rows are passed on, which is no step.
        self.rows.append(self.step(UseKind.IDENTITY, self.rows[definition], None, jump))
        return at

    def aggregate(self, child, key, value):
        total = self.function("Sum", [value])
        aggregate = self.expression("AggregateExpression", {"aggregateFunction": total}, sql=self.sql(total))
        id_, made = self.alias(aggregate)
        arguments = {
            "groupingExpressions": (AttributeRef(key),),
            "aggregateExpressions": (AttributeRef(key), made),
            "child": OperatorRef(child),
        }
        at = self.add("Aggregate", arguments, [key, id_])
        below = self.columns[child]
        here = f"Aggregate#{at}"
        self.columns.append(
            {key: below[key], id_: self.step(UseKind.AGGREGATION, below[value], (here, self.text(made)))}
        )
        self.rows.append(joined([self.step(UseKind.GROUP_BY, below[key], (here, "")), self.rows[child]]))
        return at

    def step(self, kind, sources, here, jump=None):
        return step(kind, sources, here, jump) if self.enumerates else step(kind, sources, None)

    def expression(self, name, arguments, **more):
        self.expressions.append(Expression(name, arguments, **more))
        return ExpressionRef(len(self.expressions) - 1)

    def function(self, name, ids):
        sql = (
            f"{name.lower()}{len(self.expressions)}(",
            *(Mention(id_, self.attributes[id_].name) for id_ in ids),
            ")",
        )
        return self.expression(name, {"children": tuple(AttributeRef(id_) for id_ in ids)}, sql=sql)

    def alias(self, value):
        id_ = self.new()
        return id_, self.expression("Alias", {"child": value}, id=id_, column=f"c{id_}", sql=self.sql(value))

    def sql(self, value):
        return self.expressions[value.index].sql if isinstance(value, ExpressionRef) else None

    def text(self, value):
        """Give the text of an expression; nothing for an attribute."""
        parts = self.sql(value) or ()
        return "".join(part if isinstance(part, str) else part.text for part in parts)

    def new(self, name=None):
        id_ = next(self.ids)
        self.attributes[id_] = Attribute(name or f"c{id_}", "int")
        return id_

    def add(self, name, arguments, ids):
        package = "execution.datasources" if name == "LogicalRelation" else "catalyst.plans.logical"
        output = tuple(Output(id_, self.attributes[id_].name) for id_ in ids)
        self.operators.append(Operator(name, f"org.apache.spark.sql.{package}.{name}", arguments, output))
        return len(self.operators) - 1

    def plan(self, root=None):
        root = len(self.operators) - 1 if root is None else root
        return Plan(tuple(self.operators), tuple(self.expressions), self.attributes, root, ctes=self.ctes)


def listed(value):
    return value if isinstance(value, tuple) else (value,)


def step(kind, sources, here, jump=None):
    """Continue all paths in a kind by a step, or by a jump alone if there is none."""
    found = {}
    for origin, kinds in sources.items():
        for inner, paths in kinds.items():
            longer = {
                Path(path.steps + ((here,) if here else ()), path.jumps + ((jump,) if jump else ())) for path in paths
            }
            found = joined([found, {origin: {compose(kind, inner): longer}}])
    return found


def joined(parts):
    found = {}
    for part in parts:
        for origin, kinds in part.items():
            here = found.setdefault(origin, {})
            for kind, paths in kinds.items():
                every = sorted(here.get(kind, set()) | paths)
                here[kind] = set(every[: MOST_ENUMERATED + 1])
    return found


def kinds(sources):
    """Give the sources of a trace, or of a plan that was built, without their paths."""
    return {origin: set(paths) for origin, paths in sources.items()}


def path_of(last):
    """Give a path of a trace as one of a plan that was built."""
    if last is None:
        return Path()
    return Path(tuple((each.operator, each.expression) for each in reversed(list(last))), last.jumps)
