"""Where the fields of structs come from that an expression builds."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Value,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.trace.expressions import FieldPath, selected, stored_field

FIELDS = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("tags", "Scores")]
TYPE = json.dumps({"type": "array", "elementType": {"type": "struct", "fields": FIELDS}, "containsNull": False})
PLAN = Plan((), (), {})
ZIPPED = Expression("ArraysZip", {"children": (AttributeRef(1), AttributeRef(2)), "structType": TYPE})


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("tags",), ((AttributeRef(1), UseKind.TRANSFORMATION, ()),)),
        (("scores", "n"), ((AttributeRef(2), UseKind.TRANSFORMATION, ("n",)),)),
        (("other",), ()),
    ],
)
def test_a_field_of_zipped_arrays_comes_from_its_own_array(path: FieldPath, found: object) -> None:
    assert selected(PLAN, ZIPPED, path) == found


def test_without_the_type_of_the_zipped_arrays_no_field_is_told_from_the_others() -> None:
    assert selected(PLAN, Expression("ArraysZip", {"children": (AttributeRef(1),)}), ("tags",)) == ()


FILES = "org.apache.spark.sql.execution.datasources."
CITY = {"name": "city", "type": "string", "nullable": True, "metadata": {}}
ADDRESS = json.dumps({"type": "struct", "fields": [CITY, {**CITY, "name": "zip.code"}]})
LINES = json.dumps({"type": "array", "elementType": json.loads(ADDRESS), "containsNull": True})


def stored(columns: dict[str, str], *expressions: Expression, output: tuple[Output, ...] = ()) -> Plan:
    """Return the plan that writes columns of a relation, each of a type, or what is computed of them."""
    attributes = {at: Attribute(name, type_) for at, (name, type_) in enumerate(columns.items(), start=1)}
    relation = Described("HadoopFsRelation", {"rootPaths": ("file:/lake/orders",)})
    read = tuple(Output(at, attribute.name) for at, attribute in attributes.items())
    leaf = Operator("LogicalRelation", f"{FILES}LogicalRelation", {"relation": relation}, read)
    made = tuple(ExpressionRef(at) for at in range(len(expressions)))
    named = {each.id: Attribute(each.column or "", "string") for each in expressions if each.id is not None}
    logical = "org.apache.spark.sql.catalyst.plans.logical.Project"
    project = Operator("Project", logical, {"projectList": made, "child": OperatorRef(2)}, output)
    arguments: dict[str, Value] = {
        "outputPath": "file:/lake/copied",
        "query": OperatorRef(1 if expressions else 2),
        "mode": "Overwrite",
    }
    top = Operator("InsertIntoHadoopFsRelationCommand", f"{FILES}InsertIntoHadoopFsRelationCommand", arguments)
    return Plan((top, project, leaf), expressions, {**attributes, **named})


def taken(name: str, *path: str) -> tuple[Expression, ...]:
    """Return the expressions that take a field from the first column, under a name."""
    first = Expression("GetStructField", {"child": AttributeRef(1), "field": path[0]})
    return Expression("Alias", {"child": ExpressionRef(1)}, 9, name), first


def edges(plan: Plan, *, fields: bool) -> dict[str, list[str]]:
    (written,) = lineage_of_plan(plan, Session("file:/warehouse"), fields=fields).outputs
    assert written.lineage is not None
    return {
        column.name: [f"{edge.field} {t.subtype}" for edge in column.edges for t in edge.transformations]
        for column in written.lineage.columns
    }


def test_with_fields_each_field_of_a_copied_struct_is_told_so_that_its_readers_find_it() -> None:
    plan = stored({"address": ADDRESS, "lines": LINES})

    assert edges(plan, fields=False) == {"address": ["address IDENTITY"], "lines": ["lines IDENTITY"]}
    assert edges(plan, fields=True) == {
        "address": ["address IDENTITY"],
        "lines": ["lines IDENTITY"],
        "address.city": ["address.city IDENTITY"],
        "address.`zip.code`": ["address.`zip.code` IDENTITY"],
        "lines.city": ["lines.city IDENTITY"],
        "lines.`zip.code`": ["lines.`zip.code` IDENTITY"],
    }


@pytest.mark.parametrize(
    ("columns", "path", "told"),
    [
        ({"address": ADDRESS}, ("CITY",), ["address.city IDENTITY"]),
        ({"address": ADDRESS}, ("zip.code",), ["address.`zip.code` IDENTITY"]),
        ({"a.b": ADDRESS}, ("city",), ["`a.b`.city IDENTITY"]),
        # The name is that of a column already.
        ({"address": ADDRESS, "Address.City": "string"}, ("city",), ["address TRANSFORMATION"]),
        # Its type does not have it, or is not known.
        ({"address": ADDRESS}, ("street",), ["address TRANSFORMATION"]),
        ({"address": "struct"}, ("city",), ["address TRANSFORMATION"]),
    ],
)
def test_a_field_is_told_by_a_name_that_no_column_has(
    columns: dict[str, str], path: tuple[str, ...], told: list[str]
) -> None:
    alias, first = taken("got", *path)
    plan = stored(columns, alias, first, output=(Output(9, "got"),))

    assert edges(plan, fields=True) == {"got": told}
    assert edges(plan, fields=False) == {"got": [f"{next(iter(columns))} TRANSFORMATION"]}


def test_what_opaque_code_makes_of_a_struct_has_all_that_it_was_given() -> None:
    """The field of a struct that a Python function gives is no field of what it takes, even of the same name."""
    logical = "org.apache.spark.sql.catalyst.plans.logical."
    relation = Described("HadoopFsRelation", {"rootPaths": ("file:/lake/orders",)})
    leaf = Operator(
        "LogicalRelation", f"{FILES}LogicalRelation", {"relation": relation}, (Output(1, "city"), Output(2, "n"))
    )
    packed = Expression(
        "CreateNamedStruct",
        {"structType": ADDRESS, "children": (AttributeRef(1), AttributeRef(1), AttributeRef(2), AttributeRef(2))},
    )
    expressions = (
        Expression("Alias", {"child": ExpressionRef(1)}, 3, "address"),
        packed,
        Expression("Alias", {"child": ExpressionRef(3)}, 5, "got"),
        Expression("GetStructField", {"child": AttributeRef(4), "field": "city"}),
    )
    pack = Operator(
        "Project",
        f"{logical}Project",
        {"projectList": (ExpressionRef(0),), "child": OperatorRef(3)},
        (Output(3, "address"),),
    )
    code = Operator("MapInPandas", f"{logical}MapInPandas", {"child": OperatorRef(2)}, (Output(4, "address"),))
    take = Operator(
        "Project",
        f"{logical}Project",
        {"projectList": (ExpressionRef(2),), "child": OperatorRef(1)},
        (Output(5, "got"),),
    )
    attributes = {
        1: Attribute("city", "string"), 2: Attribute("n", "string"), 3: Attribute("address", ADDRESS),
        4: Attribute("address", ADDRESS), 5: Attribute("got", "string"),
    }  # fmt: skip
    found = lineage_of_plan(Plan((take, code, pack, leaf), expressions, attributes), Session("file:/warehouse"))

    assert found.columns is not None
    assert [edge.field for edge in found.columns.columns[0].edges] == ["city", "n"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("a", "B"), ("A", "b")),
        (("x", "y"), ("x",)),
        (("m", "value", "c"), ("m",)),
        (("City",), ("City",)),
        (("CITY",), ("CITY",)),
        # Which of the two it is, is not known.
        (("city",), ()),
        (("lines", "N", "z"), ("lines", "n")),
    ],
)
def test_a_stored_field_is_spelled_as_its_type_spells_it(path: FieldPath, found: FieldPath) -> None:
    def field(name: str, type_: object = "string") -> dict[str, object]:
        return {"name": name, "type": type_, "nullable": True, "metadata": {}}

    def struct(*fields: object) -> dict[str, object]:
        return {"type": "struct", "fields": fields}

    lines = {"type": "array", "elementType": {"type": "array", "elementType": struct(field("n"))}}
    entries = {"type": "map", "keyType": "string", "valueType": struct(field("c"))}
    type_ = struct(
        field("A", struct(field("b"))),
        field("x"),
        field("m", entries),
        field("City"),
        field("CITY"),
        field("lines", lines),
    )
    plan = Plan((), (), {1: Attribute("s", json.dumps(type_))})
    assert stored_field(plan, 1, path) == found


def test_a_struct_with_three_thousand_fields_is_followed_field_by_field() -> None:
    names = [f"f{number}" for number in range(3000)]
    wide = json.dumps({"type": "struct", "fields": [{**CITY, "name": name} for name in names]})
    assert edges(stored({"wide": wide}), fields=True) == {
        "wide": ["wide IDENTITY"],
        **{f"wide.{name}": [f"wide.{name} IDENTITY"] for name in names},
    }
