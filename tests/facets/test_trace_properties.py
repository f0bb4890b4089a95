"""What holds of every plan, whatever it is: random plans, very deep ones, and very many of a kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openlineage_pyspark.facets.model.lineage import MOST_PATHS, UseKind
from openlineage_pyspark.facets.model.plan import AttributeRef, OperatorRef
from openlineage_pyspark.facets.trace.solve import Origin, Trace
from support.built_plans import MOST_ENUMERATED, Building, kinds, path_of

EXAMPLES = settings.default.max_examples
"""How many examples the profile asks for; `./run test --fast` has a quick one."""


STEPS = ("project", "renamed", "filter", "sort", "distinct", "join", "union", "aggregate", "cte", "set_difference")


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
        elif name == "cte":
            known = [at for at, operator in enumerate(building.operators) if operator.name == "CTERelationDef"]
            building.reference(draw(st.sampled_from(known)) if known else building.definition(child))
        elif name == "set_difference":
            building.set_difference(draw(st.sampled_from(["Intersect", "Except"])), child, draw(places))
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
            assert kinds(trace.column(at, id_)) == kinds(building.columns[at][id_])
        assert kinds(trace.rows(at)) == kinds(building.rows[at])


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(plans())
def test_every_path_of_a_plan_is_found_once_and_no_other(building):
    """Enumerating all paths forwards gives the same; of very many, it gives more than the trace keeps."""
    trace = Trace(building.plan())
    for at in reversed(range(len(building.operators))):
        expected = [(trace.column(at, id_), building.columns[at][id_]) for id_ in building.output(at)]
        for found, every in [*expected, (trace.rows(at), building.rows[at])]:
            for origin, paths_by_kind in found.items():
                for kind, lasts in paths_by_kind.items():
                    paths, all_paths = [path_of(last) for last in lasts], every[origin][kind]
                    assert len(paths) == len(set(paths)) == min(len(all_paths), MOST_PATHS + 1)
                    assert set(paths) <= all_paths or len(all_paths) > MOST_ENUMERATED


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
    building = Building(enumerates=False)
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
    assert kinds(trace.column(plan.root, plan.top.output[0].id)) == {Origin(0, 1): {UseKind.IDENTITY}}
    assert kinds(trace.rows(plan.root)) == {Origin(0, 1): {UseKind.FILTER}}
    assert len(trace.scopes.reachable(plan.root)) == 20_001


def test_unions_nested_two_thousand_deep_do_not_recurse():
    building = Building(enumerates=False)
    leaves = [building.leaf(1) for _ in range(3)]
    at = leaves[0]
    for turn in range(2_000):
        at = building.union([at, leaves[turn % 3]])
    trace = Trace(building.plan())
    assert kinds(trace.column(at, building.output(at)[0])) == {
        Origin(leaf, building.output(leaf)[0]): {UseKind.IDENTITY} for leaf in leaves
    }


def test_an_expression_two_thousand_deep_does_not_recurse():
    building = Building(enumerates=False)
    leaf = building.leaf(2)
    first, second = building.output(leaf)
    value = building.function("Add", [first, second])
    for _ in range(2_000):
        value = building.expression("Add", {"left": value, "right": AttributeRef(second)})
    id_, made = building.alias(value)
    at = building.add("Project", {"projectList": (made,), "child": OperatorRef(leaf)}, [id_])
    assert kinds(Trace(building.plan()).column(at, id_)) == {
        Origin(leaf, first): {UseKind.TRANSFORMATION},
        Origin(leaf, second): {UseKind.TRANSFORMATION},
    }


def test_conditions_two_thousand_deep_do_not_recurse():
    """CASE in CASE, where kinds compose at every level."""
    building = Building(enumerates=False)
    leaf = building.leaf(2)
    decides, value = building.output(leaf)
    inner = AttributeRef(value)
    for _ in range(2_000):
        inner = building.expression("CaseWhen", {"branches": ((AttributeRef(decides), inner),), "elseValue": None})
    id_, made = building.alias(inner)
    at = building.add("Project", {"projectList": (made,), "child": OperatorRef(leaf)}, [id_])
    assert kinds(Trace(building.plan()).column(at, id_)) == {
        Origin(leaf, decides): {UseKind.CONDITIONAL},
        Origin(leaf, value): {UseKind.TRANSFORMATION},
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
    trace.scopes.lineages = lineages = Counted(trace.scopes.lineages)
    for column in plan.top.output:
        trace.column(plan.root, column.id)
    trace.rows(plan.root)
    return lineages.asked


def wide_chain(depth):
    """Give a chain in which every step hands on ten columns and puts one in the place of another."""
    building = Building(enumerates=False)
    at = building.leaf(10)
    for turn in range(depth):
        ids = building.output(at)
        groups = [[id_] for id_ in ids]
        groups[turn % 10] = [ids[turn % 10], ids[(turn + 1) % 10]]
        at = building.project(at, groups)
    return building


def shared_diamonds(depth):
    """Give joins of a frame with itself, over and over: 2 ** depth paths, depth operators."""
    building = Building(enumerates=False)
    at = building.leaf(1)
    for _ in range(depth):
        joined_ = building.join(at, at, building.output(at)[0], 0)
        at = building.project(joined_, [building.output(joined_)])
    return building


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "size"), [(deep_chain, 500), (wide_chain, 200), (shared_diamonds, 40)])
def test_twice_as_many_operators_cost_at_most_twice_as_much(shape, size):
    """Counted in questions asked of operators, which do not depend on the machine."""
    small, large = cost(shape(size)), cost(shape(2 * size))
    assert small > size
    assert large <= 2.1 * small


def test_diamonds_of_which_there_are_two_to_the_eightieth_paths_are_traced_once():
    building = shared_diamonds(80)
    assert cost(building) < 10 * len(building.operators)
