"""Dotted names are read as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.sql_names import field_name, name_parts


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("db.t", ("db", "t")),
        ("`a.b`.t", ("a.b", "t")),
        ("`x``y`.`t`", ("x`y", "t")),
        ("parquet.`/lake/a.b`", ("parquet", "/lake/a.b")),
        ("a..b", ("a", "", "b")),
        ("``.t", ("", "t")),
        ("", ("",)),
        ("`open.t", ("open.t",)),
    ],
)
def test_a_name_has_the_parts_that_spark_reads(name: str, parts: tuple[str, ...]) -> None:
    assert name_parts(name) == parts


@pytest.mark.parametrize(
    ("column", "path", "name"),
    [
        ("address", (), "address"),
        ("address", ("city",), "address.city"),
        ("address", ("place", "zip code"), "address.place.zip code"),
        ("a.b", (), "a.b"),
        ("a.b", ("c",), "`a.b`.c"),
        ("a", ("b.c", "x`y"), "a.`b.c`.`x``y`"),
    ],
)
def test_the_name_of_a_field_has_its_dots_in_backquotes_and_that_of_a_column_is_as_it_is(
    column: str, path: tuple[str, ...], name: str
) -> None:
    assert field_name(column, path) == name


@given(st.lists(st.text("ab.` é", min_size=1), min_size=2, max_size=4))
def test_the_name_of_a_field_is_read_back(parts: list[str]) -> None:
    assert name_parts(field_name(parts[0], parts[1:])) == tuple(parts)
