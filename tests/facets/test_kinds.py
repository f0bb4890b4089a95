"""The kinds are an algebra: its laws hold for every combination there is."""

from __future__ import annotations

from itertools import product

import pytest
from openlineage_pyspark.facets.model.lineage import OperatorStep, UseKind, Way, compose, transformation

PAIRS = tuple(product(UseKind, repeat=2))
DIRECT = tuple(kind for kind in UseKind if kind.direct)
INDIRECT = tuple(kind for kind in UseKind if not kind.direct)


def strength(kind):
    """Give the place of a DIRECT kind, masked or not: IDENTITY, TRANSFORMATION, AGGREGATION."""
    return ["IDENTITY", "TRANSFORMATION", "AGGREGATION"].index(kind.name.removeprefix("MASKED_"))


def test_the_kinds_are_those_of_the_facet_and_the_masked_ones():
    assert [kind.name for kind in DIRECT] == [
        "IDENTITY",
        "TRANSFORMATION",
        "MASKED_TRANSFORMATION",
        "AGGREGATION",
        "MASKED_AGGREGATION",
    ]
    assert [(kind.name, kind.subtype) for kind in INDIRECT if kind.name != kind.subtype] == [("GENERATE", "JOIN")]
    assert {kind.subtype for kind in INDIRECT} == {"FILTER", "JOIN", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL"}


def test_composing_is_associative():
    """Which two steps of a path are taken together first doesn't matter."""
    for a, b, c in product(UseKind, repeat=3):
        assert compose(compose(a, b), c) is compose(a, compose(b, c)), (a, b, c)


@pytest.mark.parametrize("kind", UseKind)
def test_identity_is_the_unit(kind):
    assert compose(UseKind.IDENTITY, kind) is kind
    assert compose(kind, UseKind.IDENTITY) is kind


@pytest.mark.parametrize("kind", UseKind)
def test_a_step_that_is_taken_twice_is_that_step(kind):
    assert compose(kind, kind) is kind


def test_a_path_is_direct_only_where_each_step_is():
    for outer, inner in PAIRS:
        assert compose(outer, inner).direct == (outer.direct and inner.direct), (outer, inner)


def test_the_strongest_direct_step_names_the_path():
    for outer, inner in product(DIRECT, repeat=2):
        assert strength(compose(outer, inner)) == max(strength(outer), strength(inner)), (outer, inner)


def test_a_stronger_step_never_makes_a_weaker_path():
    for outer, inner, stronger in product(DIRECT, repeat=3):
        if strength(inner) <= strength(stronger):
            assert strength(compose(outer, inner)) <= strength(compose(outer, stronger)), (outer, inner, stronger)


def test_a_direct_path_is_masked_where_any_step_is():
    for outer, inner in product(DIRECT, repeat=2):
        assert compose(outer, inner).masking == (outer.masking or inner.masking), (outer, inner)


def test_the_indirect_step_nearest_to_the_output_names_the_path():
    for outer, inner in PAIRS:
        if not outer.direct:
            assert compose(outer, inner) is outer
        elif not inner.direct:
            assert compose(outer, inner) is inner


@pytest.mark.parametrize("kind", UseKind)
def test_a_kind_is_told_in_the_words_of_the_facet(kind):
    told = transformation(kind, Way(last=OperatorStep("Project#1", "a + 1")))
    assert told.type == ("DIRECT" if kind in DIRECT else "INDIRECT")
    assert told.subtype == {
        "MASKED_TRANSFORMATION": "TRANSFORMATION",
        "MASKED_AGGREGATION": "AGGREGATION",
        "GENERATE": "JOIN",
    }.get(kind.name, kind.name)
    assert told.masking == kind.name.startswith("MASKED_")
    assert told.description == ("" if kind is UseKind.IDENTITY else "a + 1")
