"""Assertions about lineage, for tests of other people."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Field
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.testing import assert_golden_lineage, assert_lineage
from openlineage_pyspark.workbench.predict.from_text.text import named_table
from openlineage_pyspark.workbench.report import Lineage

ORDERS = named_table(("spark_catalog", "default", "orders"))


def edge(field: str, subtype: str, type_: Literal["DIRECT", "INDIRECT"] = "DIRECT") -> InputField:
    return InputField(ORDERS.identifier, field, (Transformation(type_, subtype),))


NET = OutputColumn("net", (edge("amount", "AGGREGATION"), edge("paid", "CONDITIONAL", "INDIRECT")))
FOUND = Lineage(
    (ORDERS,), ((None, ColumnLineage((NET, OutputColumn("one", ())), (edge("day", "FILTER", "INDIRECT"),))),)
)


def test_a_right_lineage_passes() -> None:
    assert_lineage(FOUND, {"net": ["default.orders.amount"], "one": []})
    kinds = ["default.orders.paid CONDITIONAL", "default.orders.amount AGGREGATION"]
    assert_lineage(FOUND, {"net": kinds, "one": []}, rows=["default.orders.day FILTER"])
    assert_lineage(FOUND, {"one": [], "net": ["default.orders.amount"]}, rows=["default.orders.day"])


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        ({"net": ["default.orders.tax"], "one": []}, ["-  default.orders.tax", "+  default.orders.amount"]),
        ({"net": ["default.orders.amount"]}, ["+one", "+  (no source)"]),
        ({"net": ["default.orders.amount"], "one": [], "two": []}, ["-two", "-  (no source)"]),
        (
            {"net": ["default.orders.amount IDENTITY"], "one": []},
            [
                "-  default.orders.amount IDENTITY",
                "+  default.orders.amount AGGREGATION",
                "+  default.orders.paid CONDITIONAL",
            ],
        ),
    ],
)
def test_a_wrong_one_shows_what_is_different(columns: dict[str, list[str]], lines: list[str]) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_lineage(FOUND, columns)
    message = str(caught.value).splitlines()
    assert [line for line in message if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))] == lines
    assert message[-len(str(FOUND).splitlines()) :] == str(FOUND).splitlines()


def test_a_mistyped_kind_is_named_beside_the_difference() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_lineage(FOUND, {"net": ["default.orders.amount AGGREGATON"], "one": []})

    assert (
        "AGGREGATON is not a kind; the kinds are IDENTITY, TRANSFORMATION, AGGREGATION, CONDITIONAL, WINDOW, FILTER, "
        "JOIN, GROUP_BY, SORT"
    ) in str(caught.value).splitlines()


def test_all_columns_of_one_name_are_compared() -> None:
    twice = ColumnLineage(
        (OutputColumn("id", (edge("id", "IDENTITY"),)), OutputColumn("id", (edge("key", "IDENTITY"),)))
    )
    found = Lineage((ORDERS,), ((None, twice),))
    assert_lineage(found, {"id": ["default.orders.id", "default.orders.key"]})
    with pytest.raises(AssertionError, match=r"\+  default\.orders\.key"):
        assert_lineage(found, {"id": ["default.orders.id"]})


def test_a_column_with_a_dot_in_its_name_is_a_column_unless_the_table_has_none_of_that_name() -> None:
    columns = ColumnLineage((OutputColumn("a", ()), OutputColumn("a.b", (edge("id", "IDENTITY"),))))
    queried = Lineage((ORDERS,), ((None, columns),))
    with pytest.raises(AssertionError, match=r"\+  default\.orders\.id"):
        assert_lineage(queried, {"a": []})
    dotted, packed = (
        Lineage((ORDERS,), ((attrs.evolve(named_table(("c", "d", "t")), fields=fields), columns),))
        for fields in ((Field("a", "int"), Field("a.b", "int")), (Field("a", "struct"),))
    )
    with pytest.raises(AssertionError, match=r"\+  default\.orders\.id"):
        assert_lineage(dotted, {"a": []})
    assert_lineage(packed, {"a": []})


def test_a_text_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\['default.orders.amount'\]"):
        assert_lineage(FOUND, {"net": "default.orders.amount", "one": []})
    with pytest.raises(TypeError, match="list"):
        assert_lineage(FOUND, {"net": ["default.orders.amount"], "one": []}, rows="default.orders.day")


def test_what_is_not_understood_fails() -> None:
    doubtful = Lineage(FOUND.inputs, FOUND.outputs, (Gap("MyOperator", "an operator without a rule"),))
    with pytest.raises(AssertionError, match="an operator without a rule"):
        assert_lineage(doubtful, {"net": ["default.orders.amount"], "one": []})


def test_a_golden_file_is_written_on_demand_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = tmp_path / "deep" / "net.txt"
    with pytest.raises(AssertionError, match="does not exist"):
        assert_golden_lineage(FOUND, golden)
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_REGOLD", "1")
    assert_golden_lineage(FOUND, golden)
    monkeypatch.delenv("OPENLINEAGE_PYSPARK_REGOLD")
    assert golden.read_text("utf-8") == f"{FOUND}\n"
    assert_golden_lineage(FOUND, golden)
    golden.write_text("other\n", "utf-8")
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_REGOLD", "0")
    with pytest.raises(AssertionError, match="OPENLINEAGE_PYSPARK_REGOLD=1"):
        assert_golden_lineage(FOUND, golden)
