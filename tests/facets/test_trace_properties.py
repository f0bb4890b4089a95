"""What holds of every plan, whatever it is: random plans, very deep ones, and very many of a kind."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openlineage_pyspark.facets.model.lineage import Kind, compose
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Expression,
    ExpressionRef,
    Operator,
    OperatorRef,
    Output,
    Plan,
)
from openlineage_pyspark.facets.trace.solve import Origin, Trace

EXAMPLES = settings.default.max_examples
"""How many examples the profile asks for; `./run test --fast` has a quick one."""


class Building:
    """A plan that grows from its leaves, and beside it what each column must come from, worked out forwards.

    Backwards from the sink, with memory and shortcuts, is how the trace does it; here every operator works out all of
    its columns from those of its children, as it is added.
    """

    def __init__(self):
        self.operators = []
        self.expressions = []
        self.attributes = {}
        self.ids = count(1)
        self.columns = []
        self.rows = []

    def output(self, at):
        return [column.id for column in self.operators[at].output]

    def leaf(self, width):
        ids = [self.new() for _ in range(width)]
        at = self.add("LogicalRelation", {}, ids)
        self.columns.append({id_: {Origin(at, id_): {Kind.IDENTITY}} for id_ in ids})
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
            else:
                kind = Kind.IDENTITY if len(group) == 1 else Kind.TRANSFORMATION
                id_, made = self.alias(self.function("Add", group) if len(group) > 1 else AttributeRef(group[0]))
                names.append(made)
                columns[id_] = joined(step(kind, below[source]) for source in group)
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

    def filter(self, child, id_):
        return self.over(child, "Filter", {"condition": self.function("IsNotNull", [id_])}, {Kind.FILTER: [id_]})

    def sort(self, child, id_):
        order = (self.function("SortOrder", [id_]),)
        return self.over(child, "Sort", {"order": order}, {Kind.SORT: [id_]})

    def distinct(self, child):
        return self.over(child, "Distinct", {}, {Kind.GROUP_BY: self.output(child)})

    def over(self, child, name, arguments, decides):
        at = self.add(name, {**arguments, "child": OperatorRef(child)}, self.output(child))
        below = self.columns[child]
        steps = [step(kind, below[id_]) for kind, ids in decides.items() for id_ in ids]
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
        steps = [step(Kind.JOIN, columns[id_]) for id_ in (left_id, right_id)]
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

    def aggregate(self, child, key, value):
        aggregate = self.expression("AggregateExpression", {"aggregateFunction": self.function("Sum", [value])})
        id_, made = self.alias(aggregate)
        arguments = {
            "groupingExpressions": (AttributeRef(key),),
            "aggregateExpressions": (AttributeRef(key), made),
            "child": OperatorRef(child),
        }
        at = self.add("Aggregate", arguments, [key, id_])
        below = self.columns[child]
        self.columns.append({key: below[key], id_: step(Kind.AGGREGATION, below[value])})
        self.rows.append(joined([step(Kind.GROUP_BY, below[key]), self.rows[child]]))
        return at

    def expression(self, name, arguments, **more):
        self.expressions.append(Expression(name, arguments, **more))
        return ExpressionRef(len(self.expressions) - 1)

    def function(self, name, ids):
        return self.expression(name, {"children": tuple(AttributeRef(id_) for id_ in ids)})

    def alias(self, value):
        id_ = self.new()
        return id_, self.expression("Alias", {"child": value}, id=id_, column=f"c{id_}")

    def new(self):
        id_ = next(self.ids)
        self.attributes[id_] = Attribute(f"c{id_}", "int")
        return id_

    def add(self, name, arguments, ids):
        package = "execution.datasources" if name == "LogicalRelation" else "catalyst.plans.logical"
        output = tuple(Output(id_, f"c{id_}") for id_ in ids)
        self.operators.append(Operator(name, f"org.apache.spark.sql.{package}.{name}", arguments, output))
        return len(self.operators) - 1

    def plan(self, root=None):
        root = len(self.operators) - 1 if root is None else root
        return Plan(tuple(self.operators), tuple(self.expressions), self.attributes, root)


def step(kind, sources):
    return {origin: {compose(kind, inner) for inner in kinds} for origin, kinds in sources.items()}


def joined(parts):
    found = {}
    for part in parts:
        for origin, kinds in part.items():
            found[origin] = found.get(origin, set()) | kinds
    return found


def kinds(sources):
    """Give a trace's answer without the texts."""
    return {origin: set(ways) for origin, ways in sources.items()}


STEPS = ("project", "renamed", "filter", "sort", "distinct", "join", "union", "aggregate")


@st.composite
def plans(draw):
    """Draw a plan of up to four leaves and twelve operators above them, in any shape, parts of it used twice."""
    building = Building()
    for _ in range(draw(st.integers(1, 4))):
        building.leaf(draw(st.integers(1, 4)))
    for _ in range(draw(st.integers(1, 12))):
        places = st.integers(0, len(building.operators) - 1)
        child = draw(places)
        columns = st.sampled_from(building.output(child))
        name = draw(st.sampled_from(STEPS))
        if name == "project":
            building.project(child, draw(st.lists(st.lists(columns, min_size=1, max_size=3), min_size=1, max_size=4)))
        elif name in ("filter", "sort"):
            getattr(building, name)(child, draw(columns))
        elif name == "join":
            building.join(child, draw(places), draw(columns), draw(st.integers(0, 9)))
        elif name == "union":
            building.union([child, *draw(st.lists(places, min_size=1, max_size=2))])
        elif name == "aggregate":
            building.aggregate(child, draw(columns), draw(columns))
        else:
            getattr(building, name)(child)
    return building


@settings(max_examples=3 * EXAMPLES, deadline=None)
@given(plans())
def test_every_column_and_all_rows_come_from_what_working_forwards_gives(building):
    """The trace goes backwards from what is asked; working out everything forwards gives the same."""
    trace = Trace(building.plan())
    for at in reversed(range(len(building.operators))):
        for id_ in building.output(at):
            assert kinds(trace.column(at, id_)) == building.columns[at][id_]
        assert kinds(trace.rows(at)) == building.rows[at]


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(plans())
def test_every_column_is_traced_to_leaves_and_to_nothing_else(building):
    plan = building.plan()
    trace = Trace(plan)
    for column in plan.top.output:
        origins = trace.column(plan.root, column.id)
        assert origins
        for origin in origins:
            assert plan.operators[origin.operator].name == "LogicalRelation"
            assert origin.id in building.output(origin.operator)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(plans(), st.data())
def test_an_alias_anywhere_changes_no_source(building, data):
    """Every column under a new id, above any operator: what is above that has the same sources."""
    child = data.draw(st.integers(0, len(building.operators) - 1))
    before = Trace(building.plan())
    was = [kinds(before.column(child, id_)) for id_ in building.output(child)]
    renamed = building.renamed(child)
    after = Trace(building.plan())
    assert [kinds(after.column(renamed, id_)) for id_ in building.output(renamed)] == was
    assert kinds(after.rows(renamed)) == kinds(before.rows(child))


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(plans(), st.data())
def test_the_order_of_a_unions_branches_changes_nothing(building, data):
    places = st.integers(0, len(building.operators) - 1)
    branches = data.draw(st.lists(places, min_size=2, max_size=4))
    other = data.draw(st.permutations(branches))
    first, second = building.union(branches), building.union(other)
    trace = Trace(building.plan())
    assert [kinds(trace.column(first, id_)) for id_ in building.output(first)] == [
        kinds(trace.column(second, id_)) for id_ in building.output(second)
    ]
    assert kinds(trace.rows(first)) == kinds(trace.rows(second))


@settings(max_examples=EXAMPLES, deadline=None)
@given(plans(), st.randoms(use_true_random=False))
def test_the_same_plan_gives_the_same_whatever_was_asked_before(building, random):
    plan = building.plan()
    asked = [(at, id_) for at in range(len(plan.operators)) for id_ in building.output(at)]
    straight, mixed = Trace(plan), Trace(plan)
    expected = {cell: straight.column(*cell) for cell in asked}
    random.shuffle(asked)
    assert {cell: mixed.column(*cell) for cell in asked} == expected


def deep_chain(depth):
    """Give a chain of that many operators, each of which replaces its one column."""
    building = Building()
    at = building.leaf(1)
    for _ in range(depth // 2):
        at = building.filter(building.renamed(at), building.output(len(building.operators) - 1)[0])
    return building


@pytest.mark.slow
def test_a_chain_of_twenty_thousand_operators_does_not_recurse():
    building = deep_chain(20_000)
    plan = building.plan()
    trace = Trace(plan)
    assert len(plan.operators) == 20_001
    assert kinds(trace.column(plan.root, plan.top.output[0].id)) == {Origin(0, 1): {Kind.IDENTITY}}
    assert kinds(trace.rows(plan.root)) == {Origin(0, 1): {Kind.FILTER}}
    assert len(trace.reachable(plan.root)) == 20_001


def test_unions_nested_two_thousand_deep_do_not_recurse():
    building = Building()
    leaves = [building.leaf(1) for _ in range(3)]
    at = leaves[0]
    for turn in range(2_000):
        at = building.union([at, leaves[turn % 3]])
    trace = Trace(building.plan())
    assert kinds(trace.column(at, building.output(at)[0])) == {
        Origin(leaf, building.output(leaf)[0]): {Kind.IDENTITY} for leaf in leaves
    }


def test_an_expression_two_thousand_deep_does_not_recurse():
    building = Building()
    leaf = building.leaf(2)
    first, second = building.output(leaf)
    value = building.function("Add", [first, second])
    for _ in range(2_000):
        value = building.expression("Add", {"left": value, "right": AttributeRef(second)})
    id_, made = building.alias(value)
    at = building.add("Project", {"projectList": (made,), "child": OperatorRef(leaf)}, [id_])
    assert kinds(Trace(building.plan()).column(at, id_)) == {
        Origin(leaf, first): {Kind.TRANSFORMATION},
        Origin(leaf, second): {Kind.TRANSFORMATION},
    }


def test_conditions_two_thousand_deep_do_not_recurse():
    """CASE in CASE, where kinds compose at every level."""
    building = Building()
    leaf = building.leaf(2)
    decides, value = building.output(leaf)
    inner = AttributeRef(value)
    for _ in range(2_000):
        inner = building.expression("CaseWhen", {"branches": ((AttributeRef(decides), inner),), "elseValue": None})
    id_, made = building.alias(inner)
    at = building.add("Project", {"projectList": (made,), "child": OperatorRef(leaf)}, [id_])
    assert kinds(Trace(building.plan()).column(at, id_)) == {
        Origin(leaf, decides): {Kind.CONDITIONAL},
        Origin(leaf, value): {Kind.TRANSFORMATION},
    }


class Counted(list):
    """A list that counts how often it is asked for an item."""

    asked = 0

    def __getitem__(self, at):
        self.asked += 1
        return super().__getitem__(at)


def cost(building):
    plan = building.plan()
    trace = Trace(plan)
    # All that is known of operators is asked for here.
    trace._lineages = lineages = Counted(trace._lineages)
    for column in plan.top.output:
        trace.column(plan.root, column.id)
    trace.rows(plan.root)
    return lineages.asked


def wide_chain(depth):
    """Give a chain in which every step hands on ten columns and puts one in the place of another."""
    building = Building()
    at = building.leaf(10)
    for turn in range(depth):
        ids = building.output(at)
        groups = [[id_] for id_ in ids]
        groups[turn % 10] = [ids[turn % 10], ids[(turn + 1) % 10]]
        at = building.project(at, groups)
    return building


def shared_diamonds(depth):
    """Give joins of a frame with itself, over and over: 2 ** depth paths, depth operators."""
    building = Building()
    at = building.leaf(1)
    for _ in range(depth):
        joined_ = building.join(at, at, building.output(at)[0], 0)
        at = building.project(joined_, [building.output(joined_)])
    return building


@pytest.mark.parametrize(("shape", "size"), [(deep_chain, 500), (wide_chain, 200), (shared_diamonds, 40)])
def test_twice_as_many_operators_cost_at_most_twice_as_much(shape, size):
    """Counted in questions asked of operators, which do not depend on the machine."""
    small, large = cost(shape(size)), cost(shape(2 * size))
    assert small > size
    assert large <= 2.1 * small


def test_diamonds_of_which_there_are_two_to_the_eightieth_paths_are_traced_once():
    building = shared_diamonds(80)
    assert cost(building) < 10 * len(building.operators)
