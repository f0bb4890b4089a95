"""The text of an expression in an edge's description is the same in each run."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.trace.texts import without_ids


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("words(outer(name#24))", "words(outer(name))"),
        ("add(id#7L, `my col`#12) + id#7L", "add(id, `my col`) + id"),
        ("lambdafunction((x_1#5 + 1), x_1#5)", "lambdafunction((x_1 + 1), x_1)"),
        ("concat(name, 'room #12', '#3')", "concat(name, 'room #12', '#3')"),
        ("`column#1` + t.`a#2b`", "`column#1` + t.`a#2b`"),
        ("upper(name)", "upper(name)"),
        ("f(#)", "f(#)"),
    ],
)
def test_no_expr_id_is_shown_and_all_else_stays(text, shown):
    assert without_ids(text) == shown
