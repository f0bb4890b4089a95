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
    def load(minute: int, namespace: str, *columns: str) -> dict[str, object]:
        link = symlink("shop.orders", namespace=namespace)
        made_here = dataset("wh/orders", namespace=namespace, columns=columns, symlinks=link)
        same = dataset(
            "wh/same", namespace=namespace, columns=("c",), symlinks=symlink("shop.same", namespace=namespace)
        )
        return run_event("load", "COMPLETE", minute, outputs=(made_here, same))

    events, file = tmp_path / "events.ndjson", tmp_path / "schemas.json"
    events.write_text(text_of_events([load(2, "dev", "id", "extra"), load(1, "prod", "id")]))

    assert main(["lineage", "--catalog", str(events), "--write-schemas", str(file)]) == 0

    known = json.loads(file.read_text("utf-8"))
    assert (known["shop.orders"], known["prod/wh/orders"]) == ("`id` int, `extra` int", "`id` int")
    assert capsys.readouterr().err == (
        "openlineage-pyspark: several tables in --catalog have the name shop.orders, and different columns: "
        "each name means the table that a run reported last\n"
    )


def made(
    minute: int, name: str, *columns: str, change: str = "", before: str = "", state: str = "COMPLETE"
) -> dict[str, object]:
    """Return the event of a run that writes a table, and reads it if it has other columns `before`."""
    link = symlink(f"shop.{name}")
    facets: dict[str, Any] = {"lifecycleStateChange": {"lifecycleStateChange": change}} if change else {}
    inputs = (dataset(f"wh/{name}", columns=tuple(before.split()), symlinks=link),) if before else ()
    outputs = (dataset(f"wh/{name}", columns=columns, symlinks=link, **facets),) if columns else ()
    return run_event(f"{name}{minute}", state, minute, inputs=inputs, outputs=outputs)


def known_by(
    events: list[dict[str, object]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, str], str]:
    """Return the columns that a catalog of events supplies, by name, and what the command says about them."""
    file, schemas = tmp_path / "events.ndjson", tmp_path / "schemas.json"
    file.write_text(text_of_events(events))
    assert main(["lineage", "--catalog", str(file), "--write-schemas", str(schemas)]) == 0
    return json.loads(schemas.read_text("utf-8")), capsys.readouterr().err


def test_tables_that_were_dropped_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        *(made(minute, name, "id") for minute, name in enumerate(("gone", "again", "kept"), 1)),
        *(made(4, name, "id", change="DROP") for name in ("gone", "again")),
        *(made(6, "kept", "id", change="DROP", state="FAIL"), made(7, "again", "id")),
    ]
    known, said = known_by(steps, tmp_path, capsys)
    assert [known[f"shop.{name}"] for name in ("gone", "again", "kept")] == ["`id` int"] * 3
    assert said == (
        "openlineage-pyspark: tables in --catalog were dropped or renamed: shop.gone; each is taken to be as it was "
        "before\n"
    )


def test_the_old_names_of_renamed_tables_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def renamed(path: str, name: str, namespace: str, before: str) -> dict[str, object]:
        change = {"lifecycleStateChange": "RENAME", "previousIdentifier": {"namespace": namespace, "name": before}}
        to = dataset(path, columns=("id",), symlinks=symlink(f"shop.{name}"), lifecycleStateChange=change)
        return run_event(f"rename_{name}", "COMPLETE", 2, outputs=(to,))

    steps = [
        *(made(1, name, "id") for name in ("moved", "swapped", "outside")),
        # The files of a managed table move with it, and those of another one stay.
        *(renamed(f"wh/{name}_new", f"{name}_new", "lake", f"wh/{name}") for name in ("moved", "swapped")),
        *(renamed("wh/outside", "outside_new", "catalog", "shop.outside"), made(4, "swapped", "day", change="CREATE")),
    ]
    known, said = known_by(steps, tmp_path, capsys)
    assert {name: columns for name, columns in known.items() if name.startswith("shop.")} == {
        **dict.fromkeys(("shop.moved", "shop.moved_new", "shop.outside", "shop.outside_new"), "`id` int"),
        "shop.swapped": "`day` int",
        "shop.swapped_new": "`id` int",
    }
    assert said == (
        "openlineage-pyspark: tables in --catalog were dropped or renamed: shop.moved, shop.outside; each is taken to "
        "be as it was before\n"
    )


def test_a_run_that_failed_changes_no_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        *(made(1, "orders", "id"), made(2, "orders", "wrong", change="OVERWRITE", state="FAIL")),
        *(made(3, "never", "id", change="CREATE", state="FAIL"), made(4, "back", "old", change="OVERWRITE")),
        *(
            {**made(minute, "back", "id", state=state), "job": {"namespace": "n", "name": "load"}}
            for minute, state in ((1, "COMPLETE"), (5, "FAIL"))
        ),
        run_event("path", "FAIL", 6, outputs=(dataset("lake/never", columns=("id",)),)),
    ]
    known, said = known_by(steps, tmp_path, capsys)
    assert [known[f"shop.{name}"] for name in ("orders", "never", "back")] == ["`id` int", "`id` int", "`old` int"]
    assert said == (
        "openlineage-pyspark: only runs that failed have written lake/lake/never, shop.never, according to --catalog: "
        "each is taken to be as these would have made it\n"
    )


def test_a_table_has_the_columns_that_the_last_run_made_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        *(made(1, name, "id", "day", "name") for name in ("replaced", "partly", "changed")),
        made(2, "replaced", "name", "id", change="OVERWRITE", before="id day name"),
        *(made(3, "partly", before="day"), made(3, "changed", before="id other")),
    ]
    known, said = known_by(steps, tmp_path, capsys)
    assert [known[f"shop.{name}"] for name in ("replaced", "partly", "changed")] == [
        "`name` int, `id` int",
        "`id` int, `day` int, `name` int",
        "`id` int, `other` int",
    ]
    assert said == (
        "openlineage-pyspark: according to --catalog, later runs have read fewer columns of shop.partly than the last "
        "one wrote: each is taken to have all of these\n"
    )


def test_a_table_to_which_a_run_appends_fewer_columns_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [
        *(made(1, name, "id", "name", change="CREATE") for name in ("fewer", "more", "again")),
        *(made(2, "fewer", "id", "day"), made(2, "more", "id", "name", "day")),
        *(made(2, "again", "id", "day", change="OVERWRITE"), made(3, "again", "id", "day")),
    ]
    known, said = known_by(steps, tmp_path, capsys)
    assert [known[f"shop.{name}"] for name in ("fewer", "more", "again")] == [
        "`id` int, `day` int",
        "`id` int, `name` int, `day` int",
        "`id` int, `day` int",
    ]
    assert said == (
        "openlineage-pyspark: according to --catalog, the last run appended rows without some columns of shop.fewer: "
        "each is taken to have only the columns of that run\n"
    )


def test_a_doubt_about_a_table_matters_if_a_file_may_name_it() -> None:
    names = ("shop.orders", "shop.odd name", "shop.gone")
    assert names_in_texts(names, ["SELECT * FROM Shop.ORDERS JOIN `odd name`", "x = spark.table('t')"]) == list(
        names[:2]
    )
    assert names_in_texts(names, []) == names
