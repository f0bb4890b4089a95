"""What commands refuse: options that would mean nothing, and files that are not what they are taken for."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from openlineage_pyspark.command.store_option import pairs
from openlineage_pyspark.errors import StoreError
from support.lineage_events import text_of_events
from support.shop import shop

IS_FILE = "can't be used: {store} is a file, which needs no Spark"


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text(text_of_events(shop()))
    return str(path)


@pytest.fixture
def database(tmp_path):
    """Give an SQLite database of another program."""
    path = tmp_path / "foreign.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    return str(path)


@pytest.fixture
def store(tmp_path, events, run):
    path = str(tmp_path / "lineage.db")
    assert run("ingest", events, "--store", path)[0] == 0
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("ingest {events} --store {store} --from s3a://b/x", "--from needs --spark, for a store in Spark's tables"),
        ("ingest {events} --store {store} --stream", "--stream needs --spark, for a store in Spark's tables"),
        (
            "ingest {events} --store {store} --using delta --every 5s --checkpoint c --source-option a=b",
            "--source-option, --using, --every, --checkpoint need --spark, for a store in Spark's tables",
        ),
        ("ingest {events} --store {store} --packages a:b:1", f"--packages {IS_FILE}"),
        (
            "ingest {store} --store other.db",
            "{store} is a store, not an event file: name event files, folders of them, or a spool",
        ),
        (
            "ingest {database} --store other.db",
            "{database} is an SQLite database, not an event file: name event files, folders of them, or a spool",
        ),
        ("upstream daily --store {store} --conf spark.a=b --packages a:b:1", f"--conf and --packages {IS_FILE}"),
        ("diff 2d now --store {store} --conf spark.a=b", f"--conf {IS_FILE}"),
        ("view {store} --conf spark.a=b", f"--conf {IS_FILE}"),
        ("view {store} --open -o -", "--open needs a file: leave out --output -"),
        ("view {store} --compare 2d --format svg", "--compare needs --format html: only the page shows a comparison"),
        ("view {store} --compare 2d --packages a:b:1", f"--packages {IS_FILE}"),
        (
            "view {events} {events} --spark",
            "--spark can't be used: it takes one CATALOG.SCHEMA, not several files",
        ),
        ("store rebuild --store {store} --conf spark.a=b", f"--conf {IS_FILE}"),
        ("store expire --older-than 90d --store {store} --conf spark.a=b", f"--conf {IS_FILE}"),
        (
            "store compact --store {store}",
            "`store compact` only works on a store in Spark's tables, not on a file such as {store}",
        ),
        (
            "store views --store none.db",
            "`store views` only works on a store in Spark's tables, not on a file such as none.db",
        ),
        (
            "recover daily --store {store} --yes",
            "--yes can't be used here: only `recover apply PLAN` and `recover forget-copies PLAN` take it",
        ),
        ("recover daily p.json", "p.json can't be used: only `recover apply` and `recover forget-copies` take a plan"),
        ("recover apply p.json --run r", "--run can't be used with a plan: the plan states what is done"),
        ("recover daily@1 --store {store} --run r", "@VERSION and --run each name the version: give one of them"),
        (
            "recover daily --store {store} --batch 1 --time 2d",
            "--batch and --time each name the version: give one of them",
        ),
        ("recover daily --store {store} --expired 77", "no dataset that the recovery looks at has a version 77"),
        ("diff {events} none.ndjson", "none.ndjson can't be read: No such file or directory"),
        ("diff none.json now --store {store}", "none.json can't be read: No such file or directory"),
        ("diff {events} 2d", "{events} is a file, and 2d is not: name two files, or two times of a store"),
        ("diff {events} {store}", "{store} is a store: name a store with --store, and two times to compare"),
        (
            "checkpoint {store} --back-to 7",
            "{store} is not a folder: name the folder of the checkpoint or of the table",
        ),
        ("checkpoint none --back-to 7", "none can't be read: No such file or directory"),
        (
            "checkpoint s3a://b/q --back-to 7",
            "s3a://b/q is not on this machine: copy the checkpoint here first",
        ),
        ("checkpoint . --back-to 7 --restored none", "none can't be read: No such file or directory"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_a_reason(events, store, database, run, arguments, said):
    names = {"events": events, "store": store, "database": database}
    code, shown, errors = run(*(each.format(**names) for each in arguments.split()))

    assert (code, shown) == (2, "")
    assert errors == f"openlineage-pyspark: {said.format(**names)}\n"


def test_ingest_of_a_missing_file_makes_no_store(tmp_path, run):
    said = "openlineage-pyspark: none.ndjson can't be read: No such file or directory\n"
    assert run("ingest", "none.ndjson", "--store", str(tmp_path / "lineage.db")) == (2, "", said)
    assert not (tmp_path / "lineage.db").exists()


@pytest.mark.parametrize(
    ("arguments", "usage", "said"),
    [
        (("upstream", "daily", "--dep", "1"), "upstream", "unrecognized arguments: --dep 1; did you mean --depth?"),
        (("view", "--aruond=a"), "view", "unrecognized arguments: --aruond=a; did you mean --around?"),
        (
            ("store", "expire", "--older-than", "1d", "--dry"),
            "store expire",
            "unrecognized arguments: --dry; did you mean --dry-run?",
        ),
        (("datasets", "a", "b"), "datasets", "unrecognized arguments: b"),
        (
            ("recover", "daily", "--batch", "-1"),
            "recover",
            "argument --batch: '-1' is not a whole number of at least 0",
        ),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_command(capsys, run, arguments, usage, said):
    with pytest.raises(SystemExit) as ended:
        run(*arguments)

    errors = capsys.readouterr().err
    assert ended.value.code == 2
    assert errors.startswith(f"usage: openlineage-pyspark {usage} [-h]")
    assert errors.endswith(f"openlineage-pyspark {usage}: error: {said}\n")


@pytest.mark.parametrize("command", [("show",), ("validate",), ("send", "--to", "http://127.0.0.1:9")])
def test_a_store_in_place_of_an_event_file_is_named(run, store, command) -> None:
    code, _, errors = run(*command, store)

    assert code != 0
    assert (
        f"openlineage-pyspark: {store} is a store, not an event file: query it with commands such as `upstream`, "
        "`downstream`, `datasets`, `runs` and `view`\n"
    ) in errors


@pytest.mark.parametrize("command", [("validate",), ("send", "--to", "http://127.0.0.1:9")])
def test_a_folder_of_event_files_is_refused_where_their_order_matters(run, tmp_path, command) -> None:
    code, _, errors = run(*command, str(tmp_path))

    what = f"name its files, in the order of their events, such as {tmp_path}/*.ndjson"
    assert (code, errors) == (2, f"openlineage-pyspark: {tmp_path} is a folder: {what}\n")


def test_an_option_that_needs_a_value_does_not_show_what_it_got() -> None:
    with pytest.raises(StoreError, match=r"^--param must have a value, as in --param day=2026-01-01$"):
        pairs(["s3cret"], "--param", "day=2026-01-01")


def test_what_can_not_be_written_is_named(run, store, tmp_path) -> None:
    words = ("lineage", "--catalog", store, "--write-schemas", str(tmp_path))
    assert run(*words) == (2, "", f"openlineage-pyspark: {tmp_path} can't be written: Is a directory\n")

    (file := tmp_path / "daily.sql").write_text("SELECT 1")
    reason = f"{file} can't be used as a cache: it is not a folder"
    assert run("lineage", str(file), "--cache", str(file)) == (2, "", f"openlineage-pyspark: {reason}\n")


def test_lineage_says_what_is_wrong_without_a_spark(run, tmp_path) -> None:
    empty, missing = tmp_path / "empty.sql", tmp_path / "none.sql"
    empty.write_text("-- nothing\n")
    prefix = "openlineage-pyspark: "

    assert run("lineage", str(missing)) == (2, "", f"{prefix}{missing} can't be read: No such file or directory\n")
    assert run("lineage", str(empty)) == (0, "", f"{prefix}no statement in {empty} reads or writes a table\n")
    assert run("lineage", str(empty), "--store", "lineage.db") == (
        2,
        "",
        f"{prefix}--store needs --diff: it is searched for everything downstream of a change\n",
    )


def test_a_folder_without_schemas_is_refused_with_the_file_that_is_not_there(run, events, tmp_path) -> None:
    folder = tmp_path / "none"
    missing, advice = folder / "OpenLineage.json", "name the folder that has OpenLineage.json and facets/"

    assert run("validate", events, "--spec", str(folder)) == (
        2,
        "",
        f"openlineage-pyspark: {folder} holds no OpenLineage schemas (there is no {missing}): {advice}\n",
    )


def test_a_correction_that_is_no_text_is_refused(run, store, tmp_path):
    (tmp_path / "right.sql").write_bytes(b"SELECT '\xec(';")
    status, _, errors = run("recover", "orders", "--correct-with", str(tmp_path / "right.sql"), "--store", store)
    said = "can't be read: it is not UTF-8 text; name a file of SQL statements"
    assert (status, errors) == (2, f"openlineage-pyspark: {tmp_path}/right.sql {said}\n")
