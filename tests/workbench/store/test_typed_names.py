"""Names as people type them: in another case, in Spark's writing, and what is said of a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import NameNotFoundError
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, taken
from support.reached import start_of

Fill = Callable[..., Store]

SALES = dataset("DB.Sales.Orders", namespace="snowflake://acc", columns=("ID", "amount", "Amount"))
EVENTS = (
    run_event("load", "COMPLETE", 1, inputs=(dataset("raw/orders", namespace="s3://lake"),), outputs=(SALES,)),
    run_event("copy", "COMPLETE", 2, inputs=(SALES,), outputs=(dataset("/lake/Archive", namespace="file"),)),
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("db.sales.orders", "DB.Sales.Orders"),
        ("snowflake://ACC/db.sales.orders", "DB.Sales.Orders"),
        ("`DB`.`Sales`.`Orders`", "DB.Sales.Orders"),
        ("sales.`orders`", "DB.Sales.Orders"),
        ("RAW/ORDERS", "raw/orders"),
        ("s3://lake/raw/orders/", "raw/orders"),
        ("s3a://lake/raw/orders", "raw/orders"),
        ("file:///lake/Archive", "lake/Archive"),
        ("file:/lake/archive/", "lake/Archive"),
        ("DB.Sales.Orders.id", "DB.Sales.Orders.ID"),
        ("sales.orders.amount", "DB.Sales.Orders.amount"),
        ("sales.orders.Amount", "DB.Sales.Orders.Amount"),
    ],
)
def test_a_name_is_found_as_people_type_it(filled: Fill, typed: str, meant: str) -> None:
    assert start_of(filled(*EVENTS).upstream(typed)) == meant


def test_a_name_in_the_right_case_is_meant_before_one_in_another(filled: Fill) -> None:
    store = filled(
        run_event("one", "COMPLETE", 1, outputs=(dataset("Orders", columns=("A", "a")),)),
        run_event("two", "COMPLETE", 2, outputs=(dataset("orders"),)),
    )

    assert [start_of(store.upstream(name)) for name in ("Orders", "orders", "Orders.a")] == [
        "Orders",
        "orders",
        "Orders.a",
    ]
    with pytest.raises(NameNotFoundError, match=r"^'ORDERS' may mean any of these; give more of its name:\n  lake/O"):
        store.upstream("ORDERS")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (
            ["downstream", "orders"],
            "'orders' may mean any of these; give more of its name:\n  {}\n  {}\n".format(
                "s3://lake/raw/orders", "snowflake://acc/DB.Sales.Orders"
            ),
        ),
        (
            ["upstream", "archive", "--as-of", "99999999999999d"],
            "'99999999999999d' is not a time: write 2026-01-31T12:00:00Z, 2026-01-31, or an age such as 2d or 15min\n",
        ),
    ],
)
def test_what_is_typed_wrong_is_said_in_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], complaint: str
) -> None:
    taken(tmp_path / "s.db", list(EVENTS))

    assert main([*command, "--store", str(tmp_path / "s.db")]) == 2
    assert capsys.readouterr().err == f"openlineage-pyspark: {complaint}"


def test_no_less_than_one_run_can_be_asked_for(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["runs", "--limit", "-3", "--store", "s.db"])
    assert capsys.readouterr().err.endswith("argument --limit: '-3' is not a whole number of at least 1\n")
