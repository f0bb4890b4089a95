"""Where the fields of structs come from that an expression builds."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.facets.model.lineage import Kind
from openlineage_pyspark.facets.model.plan import AttributeRef, Expression, Plan
from openlineage_pyspark.facets.trace.expressions import Path, selected

FIELDS = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("tags", "Scores")]
TYPE = json.dumps({"type": "array", "elementType": {"type": "struct", "fields": FIELDS}, "containsNull": False})
PLAN = Plan((), (), {})
ZIPPED = Expression("ArraysZip", {"children": (AttributeRef(1), AttributeRef(2)), "structType": TYPE})


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("tags",), ((AttributeRef(1), Kind.TRANSFORMATION, ()),)),
        (("scores", "n"), ((AttributeRef(2), Kind.TRANSFORMATION, ("n",)),)),
        (("other",), ()),
    ],
)
def test_a_field_of_zipped_arrays_comes_from_its_own_array(path: Path, found: object) -> None:
    assert selected(PLAN, ZIPPED, path) == found


def test_without_the_type_of_the_zipped_arrays_no_field_is_told_from_the_others() -> None:
    assert selected(PLAN, Expression("ArraysZip", {"children": (AttributeRef(1),)}), ("tags",)) == ()
