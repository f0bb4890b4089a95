"""The columns of tables that `lineage` takes from a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.main import main
from openlineage_pyspark.workbench.questions.table_schemas import names_in_texts
from support.lineage_events import dataset, run_event, symlink, text_of_events

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_name_of_several_tables_means_the_one_that_was_reported_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(minute: int, namespace: str, *columns: str) -> dict[str, object]:
        link = symlink("shop.orders", namespace=namespace)
        made_here = dataset("wh/orders", namespace=namespace, columns=columns, symlinks=link)
        same = dataset(
            "wh/same", namespace=namespace, columns=("c",), symlinks=symlink("shop.same", namespace=namespace)
        )
        return run_event("load", "COMPLETE", minute, outputs=(made_here, same))

    events, file = tmp_path / "events.ndjson", tmp_path / "schemas.json"
    events.write_text(text_of_events([made(2, "dev", "id", "extra"), made(1, "prod", "id")]))

    assert main(["lineage", "--catalog", str(events), "--write-schemas", str(file)]) == 0

    known = json.loads(file.read_text("utf-8"))
    assert (known["shop.orders"], known["prod/wh/orders"]) == ("`id` int, `extra` int", "`id` int")
    assert capsys.readouterr().err == (
        "openlineage-pyspark: several tables in --catalog have the name shop.orders, and different columns: "
        "each name means the table that a run reported last\n"
    )


def test_tables_that_were_dropped_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def made(minute: int, name: str, change: str = "", state: str = "COMPLETE") -> dict[str, object]:
        facets: dict[str, Any] = {"lifecycleStateChange": {"lifecycleStateChange": change}} if change else {}
        link = symlink(f"shop.{name}")
        return run_event(
            f"{name}{minute}", state, minute, outputs=(dataset(f"wh/{name}", columns=("id",), symlinks=link, **facets),)
        )

    events, file = tmp_path / "events.ndjson", tmp_path / "schemas.json"
    steps = [
        *(made(minute, name) for minute, name in enumerate(("gone", "again", "kept"), 1)),
        *(made(4, "gone", "DROP"), made(5, "again", "DROP"), made(6, "kept", "DROP", "FAIL"), made(7, "again")),
    ]
    events.write_text(text_of_events(steps))

    assert main(["lineage", "--catalog", str(events), "--write-schemas", str(file)]) == 0

    known = json.loads(file.read_text("utf-8"))
    assert [known[f"shop.{name}"] for name in ("gone", "again", "kept")] == ["`id` int"] * 3
    assert capsys.readouterr().err == (
        "openlineage-pyspark: tables in --catalog were dropped: shop.gone; each is taken to be as it was before\n"
    )


def test_a_doubt_about_a_table_matters_if_a_file_may_name_it() -> None:
    names = ("shop.orders", "shop.odd name", "shop.gone")
    assert names_in_texts(names, ["SELECT * FROM Shop.ORDERS JOIN `odd name`", "x = spark.table('t')"]) == list(
        names[:2]
    )
    assert names_in_texts(names, []) == names
