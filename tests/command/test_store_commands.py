"""`ingest` and the commands that ask a store, as people type them."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from openlineage_pyspark.transport.event import Event as Shipped
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import directories
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, dataset, lineage, run_event, symlink, taken, text_of_events

ORDERS = dataset("/lake/orders", namespace="file", columns=("id", "amount"), symlinks=symlink("shop.orders"))
DAILY = dataset(
    "daily",
    columns=("total",),
    columnLineage=lineage(total=[("clean", "amount", "AGGREGATION")], _rows=[("clean", "day", "GROUP_BY")]),
)
CLEAN = dataset("clean", columns=("amount", "day"), columnLineage=lineage())
JOBS = (
    run_event("clean", "START", 1, run="r1", inputs=(ORDERS,)),
    run_event("clean", "COMPLETE", 2, run="r1", inputs=(ORDERS,), outputs=(CLEAN,)),
    run_event("sum", "START", 3, run="r2", inputs=(CLEAN,), outputs=(DAILY,)),
    run_event("sum", "COMPLETE", 5, run="r2", inputs=(CLEAN,), outputs=(DAILY,)),
    run_event("late", "START", 6, run="r3"),
)

SEEN = "complete; last seen 2026-01-01 00:06:00"


@pytest.fixture
def store(tmp_path, run):
    """Give a store with JOBS in it."""
    (tmp_path / "events.ndjson").write_text(text_of_events(list(JOBS)))
    path = str(tmp_path / "lineage.db")
    assert run("ingest", str(tmp_path / "events.ndjson"), "--store", path) == (0, f"5 events added to {path}\n", "")
    return path


def test_downstream_shows_datasets_the_closest_first(store, run):
    assert run("downstream", "orders", "--store", store) == (
        0,
        f"""\
shop.orders
└─ clean     [clean]
   └─ daily  [sum]
2 tables, by 2 jobs; {SEEN}
""",
        "",
    )
    assert run("downstream", "orders", "--store", store, "--table") == (
        0,
        f"""\
  depth  from         to     job
      1  shop.orders  clean  clean
      2  clean        daily  sum
2 edges; {SEEN}
""",
        "",
    )


def test_upstream_of_a_column_shows_how_it_is_made(store, run):
    assert run("upstream", "daily.total", "--store", store) == (
        0,
        f"""\
daily.total  AGGREGATION of amount  [sum]
└─ clean.amount
1 more edge decides about rows: --all shows what
1 column in 1 table, by 1 job; {SEEN}
""",
        "",
    )
    assert (
        run("upstream", "daily.total", "--store", store, "--table")[1]
        == f"""\
  depth  from          to                 how                                 job
      1  clean.amount  daily.total        AGGREGATION  AGGREGATION of amount  sum
      1  clean.day     daily (every row)  GROUP_BY  GROUP_BY of day           sum
2 edges; {SEEN}
"""
    )


def test_what_decides_about_rows_is_shown_on_demand_each_condition_once(store, run):
    assert (
        run("upstream", "daily.total", "--store", store, "--all")[1]
        == f"""\
daily.total  AGGREGATION of amount  [sum]
└─ clean.amount

What decides about rows
daily (every row)
└─ clean.day  group by GROUP_BY of day  [sum]
1 column in 1 table, by 1 job; {SEEN}
"""
    )


def test_where_no_value_arrives_what_decides_is_the_answer(store, run):
    shown = run("downstream", "clean.day", "--store", store)[1].splitlines()
    assert shown[:4] == ["clean.day", "", "What decides about rows", "daily (every row)"]


def test_direct_leaves_out_what_decides_about_rows_and_depth_ends_the_way(store, run):
    code, shown, _ = run("upstream", "daily.total", "--store", store, "--direct", "--format", "csv")
    assert (code, len(shown.splitlines())) == (0, 2)
    code, shown, _ = run("downstream", "orders", "--store", store, "--depth", "1", "--format", "csv")
    assert (code, len(shown.splitlines())) == (0, 2)


def test_between_shows_the_way(store, run):
    assert run("between", "orders", "daily", "--store", store)[1].splitlines() == [
        "shop.orders",
        "└─ clean     [clean]",
        "   └─ daily  [sum]",
        f"2 tables, by 2 jobs; {SEEN}",
    ]


def test_json_is_the_graph(store, run):
    code, shown, _ = run("downstream", "shop.orders", "--store", store, "--format", "json")
    made = [(edge["source"], edge["target"]) for edge in json.loads(shown)["result"]["edges"]]
    orders, clean, daily = (f"dataset|{name}" for name in ("file|/lake/orders", "lake|clean", "lake|daily"))
    assert (code, made) == (0, [(orders, clean), (clean, daily)])


def test_what_nothing_is_made_from_is_said(store, run):
    nothing = f"nothing in the store is downstream of daily; {SEEN}\n"
    assert run("downstream", "daily", "--store", store) == (0, nothing, "")
    assert run("between", "daily", "clean", "--store", store) == (0, f"no path leads from daily to clean; {SEEN}\n", "")


def test_an_answer_ends_with_how_much_there_is_whether_it_is_all_and_when_it_was_last_seen(store, run):
    for question, *more in (("downstream", "daily"), ("upstream", "daily"), ("runs",), ("history", "daily")):
        _, text, _ = run(question, *more, "--store", store)
        _, document, _ = run(question, *more, "--store", store, "--format", "json")
        seen = json.loads(document)["lastSeen"].replace("T", " ").removesuffix("Z")
        assert text.splitlines()[-1].endswith(f"; complete; last seen {seen}")
        assert "last seen" not in run(question, *more, "--store", store, "--format", "csv")[1]
    assert [run(each, "--store", store)[1].splitlines()[-1] for each in ("jobs", "runs", "datasets")] == [
        f"3 jobs; {SEEN}",
        f"3 runs; {SEEN}",
        f"3 datasets; {SEEN}",
    ]
    assert run("runs", "--limit", "1", "--store", store)[1].splitlines()[-1].startswith("1 run; may be incomplete")


def test_a_wrong_question_ends_with_a_sentence(store, run, tmp_path):
    near = (
        "openlineage-pyspark: nothing is called 'order'; near it: shop.orders\n"
        f"openlineage-pyspark: `openlineage-pyspark datasets` lists what the store {store} holds\n"
    )
    assert run("upstream", "order", "--store", store) == (2, "", near)
    assert "nothing is called 'amuont'; near it: " in run("upstream", "amuont", "--store", store)[2]
    missing = tmp_path / "none.db"
    absent = (
        f"openlineage-pyspark: there is no store at {missing}. "
        f"`openlineage-pyspark ingest FILE --store {missing}` makes one\n"
    )
    assert run("upstream", "order", "--store", str(missing)) == (2, "", absent)


def test_the_store_may_be_named_by_the_environment(store, run, monkeypatch):
    unnamed = (
        "openlineage-pyspark: name the store: --store PATH, or the environment variable OPENLINEAGE_PYSPARK_STORE\n"
    )
    assert run("datasets") == (2, "", unnamed)
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_STORE", store)
    assert run("datasets", "cle")[1].splitlines()[1].split() == [
        "clean",
        "1",
        "1",
        "2026-01-01",
        "00:02:00",
        "lake",
        "clean",
    ]


def test_lists_show_jobs_runs_and_versions(store, run):
    assert [line.split()[-1] for line in run("jobs", "--store", store)[1].splitlines()[:-1]] == [
        "job",
        "clean",
        "late",
        "sum",
    ]
    shown = run("runs", "--store", store)[1].splitlines()[:-1]
    assert [line.split()[2:] for line in shown[1:]] == [
        ["no", "end", "r3", "late"],
        ["COMPLETE", "120.0", "s", "r2", "sum"],
        ["COMPLETE", "60.0", "s", "r1", "clean"],
    ]
    assert run("runs", "--state", "FAIL", "--store", store)[1] == f"nothing found; {SEEN}\n"
    assert run("history", "daily", "--store", store)[1].splitlines()[1].split() == [
        *("2026-01-01", "00:05:00", "r2", "sum", "<-", "clean@r1?"),
    ]
    assert run("history", "daily", "--format", "mermaid", "--store", store)[1].splitlines() == [
        "flowchart LR",
        '  subgraph d0["daily"]',
        '    n0["@r2: run r2, 2026-01-01 00:05:00"]',
        "  end",
        '  subgraph d1["clean"]',
        '    n1["@r1"]',
        "  end",
        '  n1 -.->|"(guessed)"| n0',
    ]
    for format_, begins in (("dot", "digraph"), ("svg", "<svg"), ("html", "<!doctype html>")):
        assert run("history", "daily", "--format", format_, "--store", store)[1].startswith(begins)
    assert (
        json.loads(run("runs", "--limit", "1", "--store", store, "--format", "json")[1])["result"]["rows"][0]["runId"]
        == "r3"
    )


def test_ingest_reads_folders_and_compressed_files_and_says_what_is_no_event(tmp_path, run):
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "a.ndjson.gz").write_bytes(gzip.compress(text_of_events(company(1)).encode()))
    (folder / "b.ndjson").write_text("{}\n")
    path = str(tmp_path / "lineage.db")
    code, shown, complaints = run("ingest", str(folder), str(tmp_path / "none"), "--store", path)
    assert (code, shown) == (1, f"80 events added to {path}\n")
    assert complaints.splitlines() == [
        f"openlineage-pyspark: {folder}/b.ndjson:1: `eventTime` is missing or not a string",
        "openlineage-pyspark: 1 of the lines is not an event; it is in the store's table `rejected`",
        f"openlineage-pyspark: {tmp_path}/none can't be read: No such file or directory",
    ]


@pytest.mark.slow
def test_the_installed_command_takes_events_from_a_pipe(tmp_path, installed):
    path = str(tmp_path / "lineage.db")
    said = f"5 events added to {path}\n"
    assert installed("ingest", "-", "--store", path, given=text_of_events(list(JOBS)))[:2] == (0, said)


def test_a_compressed_file_that_is_damaged_costs_what_is_behind_the_damage_and_is_said(tmp_path, run):
    packed = bytearray(gzip.compress(text_of_events(company(1)).encode()))
    packed[len(packed) // 2 :] = bytes(len(packed) - len(packed) // 2)
    (tmp_path / "damaged.ndjson.gz").write_bytes(packed)
    (tmp_path / "whole.ndjson").write_text(text_of_events(list(JOBS)))
    code, _, complaints = run("ingest", str(tmp_path), "--store", str(tmp_path / "lineage.db"))
    assert (code, "damaged.ndjson.gz can't be read: " in complaints) == (1, True)
    assert "clean" in run("jobs", "--store", str(tmp_path / "lineage.db"))[1]


@pytest.mark.parametrize("damage", ["torn line", "torn document", "cut gzip"])
def test_what_a_damaged_file_lacks_is_reported_until_the_file_is_whole(tmp_path, run, damage):
    file, path = tmp_path / "events.json", str(tmp_path / "lineage.db")
    text = json.dumps(list(JOBS), indent=1) if damage == "torn document" else text_of_events(list(JOBS))
    whole = gzip.compress(text.encode()) if damage == "cut gzip" else text.encode()
    file.write_bytes(whole[:-40])

    def answer():
        shown = run("runs", "--store", path, "--format", "json")[1]
        return json.loads(shown)["complete"], run("sql", "SELECT source FROM rejected", "--store", path)[1].splitlines()

    assert run("ingest", str(file), "--store", path)[0] == 1
    is_complete, rejected = answer()
    assert (is_complete, len(rejected)) == (False, 3)
    file.write_bytes(whole)
    assert run("ingest", str(file), "--store", path) == (0, f"5 events added to {path}\n", "")
    assert answer()[0]


def test_a_line_that_another_one_has_replaced_stays_rejected(tmp_path, run):
    file, path = tmp_path / "events.ndjson", str(tmp_path / "lineage.db")
    first, second = text_of_events(list(JOBS[:2])).splitlines()
    file.write_text(first[:-9])
    run("ingest", str(file), "--store", path)
    file.write_text(second)
    run("ingest", str(file), "--store", path)

    assert run("sql", "SELECT source FROM rejected", "--store", path, "--format", "csv")[1] == f"source\n{file}:1\n"


LAYERS = (
    run_event("load", "COMPLETE", 1, run="load-1", outputs=(dataset("raw", version={"datasetVersion": "101"}),)),
    run_event("load", "COMPLETE", 2, run="load-2", outputs=(dataset("raw", version={"datasetVersion": "102"}),)),
    run_event(
        "clean",
        "COMPLETE",
        3,
        run="clean-1",
        inputs=(dataset("raw", version={"datasetVersion": "101"}),),
        outputs=(dataset("clean", version={"datasetVersion": "201"}),),
    ),
    run_event("sum", "COMPLETE", 5, run="sum-1", inputs=(dataset("clean"),), outputs=(dataset("daily"),)),
)
PAGES = [Path(__file__).parents[2] / "docs" / f"store-{name}.md" for name in ("questions", "diff", "tables")]


def test_the_examples_of_the_pages_print_what_they_show(tmp_path, run, monkeypatch):
    (tmp_path / "events.ndjson").write_text(text_of_events(list(LAYERS)))
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_STORE", str(tmp_path / "lineage.db"))
    run("ingest", str(tmp_path / "events.ndjson"))
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    examples = [example for block in blocks for example in re.split(r"^\$ openlineage-pyspark ", block, flags=re.M)[1:]]
    assert len(examples) == 7
    for example in examples:
        command, _, shown = example.partition("\n")
        assert re.sub(r" +$", "", run(*shlex.split(command))[1], flags=re.M) == shown, command
    (query,) = re.findall(r"^```sql\n(WITH.*?)^```$", text, re.DOTALL | re.MULTILINE)
    code, shown, _ = run("sql", query, "--format", "csv")
    assert (code, sorted(shown.splitlines()[1:])) == (0, ["clean,1", "daily,0", "raw,2"])


def test_diff_ends_with_1_if_something_changed(tmp_path, store, run):
    old, new = tmp_path / "old.ndjson", tmp_path / "new.ndjson"
    old.write_text(text_of_events(list(JOBS[:2])))
    new.write_text(text_of_events(list(JOBS)))
    assert run("diff", str(old), str(old)) == (0, "nothing changed\n", "")
    code, shown, _ = run("diff", str(old), str(new), "--format", "markdown")
    assert (code, shown.splitlines()[2]) == (1, "| added | column | `daily.total` |  | `int` |")
    code, shown, _ = run("diff", "2026-01-01", "now", "--store", store, "--format", "json")
    assert (code, json.loads(shown)["result"]["changes"][0]["sign"]) == (1, "added")
    wrong = (
        "openlineage-pyspark: 'yesterday' is not a time: "
        "write 2026-01-31T12:00:00Z, 2026-01-31, or an age such as 2d or 15min\n"
    )
    assert run("diff", "yesterday", "now", "--store", store) == (2, "", wrong)
    assert run("diff", "2d", "now")[0] == 2


def test_sql_answers_in_each_format(store, run):
    query = "SELECT job, database FROM sink_job_lineage ORDER BY 1"
    assert run("sql", query, "--store", store, "--format", "csv")[1] == "job,database\nclean,default\nsum,default\n"
    assert json.loads(run("sql", query, "--store", store, "--format", "json")[1])["result"]["rows"][0] == {
        "job": "clean",
        "database": "default",
    }
    assert run("sql", f"{query} LIMIT 0", "--store", store)[1] == f"nothing found; {SEEN}\n"
    assert run("sql", "DROP TABLE event", "--store", store)[0] == 2


def test_a_store_is_rebuilt_from_its_events(tmp_path, store, run):
    assert run("store", "rebuild", "--store", store) == (
        0,
        f"all tables of {store} rebuilt from 5 events\n",
        "",
    )
    assert run("store", "rebuild", "--store", str(tmp_path / "none.db"))[0] == 2
    assert not (tmp_path / "none.db").exists()


def test_failed_open_and_late_runs_are_listed(tmp_path, store, run):
    assert [line.split()[-1] for line in run("runs", "--unfinished", "--store", store)[1].splitlines()[:-1]] == [
        "job",
        "late",
    ]
    assert run("runs", "--failed", "--store", store)[1] == f"nothing found; {SEEN}\n"
    assert run("runs", "--late", "--store", store)[1] == f"nothing found; {SEEN}\n"
    assert run("jobs", "--failed", "--late", "--store", store)[1] == f"nothing found; {SEEN}\n"


def test_expire_says_what_it_drops_and_drops_it(tmp_path, run):
    events = [run_event("sum", "COMPLETE", (day - 400) * 1440, run=f"r{day}", outputs=(DAILY,)) for day in range(400)]
    (tmp_path / "events.ndjson").write_text(text_of_events(events))
    path = str(tmp_path / "lineage.db")
    run("ingest", str(tmp_path / "events.ndjson"), "--store", path)
    asked = ("store", "expire", "--older-than", "2025-11-26", "--store", path)
    planned = f"364 runs with 364 events in all would be dropped from {path}\n"
    assert run(*asked, "--dry-run") == (0, planned, "")
    code, shown, complaints = run(*asked)
    assert (code, shown, "There is no terminal on which to ask: add --yes" in complaints) == (1, planned, True)
    code, shown, complaints = run(*asked, "--yes")
    assert (code, complaints) == (0, "")
    done = shown.removeprefix(planned)
    lines = [line.split() for line in done.splitlines()]
    assert done.startswith(f"364 runs with 364 events in all were dropped from {path}\n")
    assert lines[2:4] == [["event", "400", "36"], ["run", "400", "36"]]
    assert lines[-1][:3] == ["the", "file", "had"]
    nothing = f"{path} has no runs that are that old and no longer needed\n"
    assert run(*asked) == (0, nothing, "")
    assert json.loads(run(*asked, "--format", "json")[1])["result"]["rowsAfter"]["run"] == 36


def test_expire_makes_no_store_and_wants_a_time(store, run, tmp_path):
    missing = str(tmp_path / "none.db")
    assert run("store", "expire", "--older-than", "90d", "--store", missing)[0] == 2
    assert not (tmp_path / "none.db").exists()
    code, _, complaint = run("store", "expire", "--older-than", "soon", "--store", store)
    assert (code, complaint.startswith("openlineage-pyspark: 'soon' is not a time")) == (2, True)


@pytest.mark.slow
def test_ingest_takes_the_events_of_a_spool_and_leaves_them_there(tmp_path, run, leave, root):
    shipped = [Shipped(event["run"]["runId"], event["eventType"], json.dumps(event).encode()) for event in JOBS]
    ended = leave(root, "http://receiver", *shipped[:3])
    running = leave(root, "http://receiver", *shipped[3:], owner_lives=True)
    running.bury(1, "refused", "400", 1 << 20)
    path = str(tmp_path / "lineage.db")
    said = (0, f"5 events added to {path}\n", "")
    assert run("ingest", str(root), "--store", path) == said
    assert run("ingest", str(root), "--store", path) == said
    assert run("ingest", str(ended.directory), "--store", path)[1].startswith("3 events")
    # The sender goes on: what waits still waits, and a new event comes after it.
    running.append(shipped[0])
    running.close()
    held = [content(each) for each in directories(root)]
    assert {(each.waiting, each.dead, each.problem) for each in held} == {(3, 0, ""), (2, 1, "")}
    assert run("jobs", "--store", path)[1].splitlines()[-1] == f"3 jobs; {SEEN}"


def test_a_spool_that_is_damaged_is_said_and_costs_nothing_else(tmp_path, run, leave, root):
    shipped = [Shipped(event["run"]["runId"], event["eventType"], json.dumps(event).encode()) for event in JOBS]
    damaged, _ = leave(root, "http://receiver", *shipped[:1]), leave(root, "http://receiver", *shipped)
    (damaged.directory / "events.sqlite").write_bytes(b"x" * 5000)
    path = str(tmp_path / "lineage.db")
    code, shown, complaint = run("ingest", str(root), "--store", path)
    assert (code, shown) == (1, f"5 events added to {path}\n")
    assert complaint.startswith(f"openlineage-pyspark: {damaged.directory} can't be read (")


def test_a_bar_is_shown_on_a_terminal_alone(tmp_path, run, monkeypatch):
    (tmp_path / "events.ndjson.gz").write_bytes(gzip.compress(text_of_events(company(1)).encode()))
    path = str(tmp_path / "lineage.db")
    assert run("ingest", str(tmp_path / "events.ndjson.gz"), "--store", path)[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # whatever that of the tests is: a dumb terminal gets no bar
    size = (tmp_path / "events.ndjson.gz").stat().st_size
    shown = run("ingest", str(tmp_path / "events.ndjson.gz"), "--store", path)[2]
    assert f"{size / 1000:.1f}/{size / 1000:.1f} kB" in re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.fixture
def names_of_spark(tmp_path, run, monkeypatch):
    """Give a store with names and ids as a job of Spark gives them, and a terminal of 80 columns."""
    job = "shop_report.execute_create_data_source_table_as_select_command.default_"
    ids = [f"01a206b6-42e5-7{number}2b-9761-cea437118cd{number}" for number in (1, 2)]
    read = dataset("default.customers", columns=("country",))
    edges = lineage(country=[("default.customers", "country", "IDENTITY")])
    made = dataset("default.revenue_by_country", columns=("country",), columnLineage=edges)
    events = [
        *(run_event(f"{job}customers", type_, minute, run=ids[0], outputs=(read,)) for type_, minute in ENDS),
        *(
            run_event(f"{job}revenue", type_, minute + 2, run=ids[1], inputs=(read,), outputs=(made,))
            for type_, minute in ENDS
        ),
    ]
    (tmp_path / "events.ndjson").write_text(text_of_events(events))
    path = str(tmp_path / "lineage.db")
    assert run("ingest", str(tmp_path / "events.ndjson"), "--store", path)[0] == 0
    monkeypatch.setenv("COLUMNS", "80")
    return path


ENDS = (("START", 1), ("COMPLETE", 2))


def test_at_80_columns_an_answer_has_whole_names_and_no_class_of_sparks(names_of_spark, run):
    assert run("downstream", "customers.country", "--store", names_of_spark)[1] == (
        """\
default.customers.country
└─ default.revenue_by_country.country  [default_revenue]
1 column in 1 table, by 1 job; complete; last seen 2026-01-01 00:04:00
"""
    )
    assert run("downstream", "customers.country", "--store", names_of_spark, "--table")[1] == (
        """\
  depth  from                    to                       how       job
      1  …ult.customers.country  …nue_by_country.country  IDENTITY  defaul…venue
1 edge; complete; last seen 2026-01-01 00:04:00
"""
    )


def test_at_80_columns_runs_and_versions_leave_room_for_the_job(names_of_spark, run):
    assert run("runs", "revenue", "--store", names_of_spark)[1] == (
        """\
  began                state       took  run            job
  2026-01-01 00:03:00  COMPLETE  60.0 s  01a206…118cd2  shop_report.default_
                                                        revenue
1 run; complete; last seen 2026-01-01 00:04:00
"""
    )
    assert run("history", "revenue_by_country", "--store", names_of_spark)[1] == (
        """\
  time                 version                    job, and what it read
  2026-01-01 00:04:00  01a206b6-42e…cea437118cd2  shop_report.default_revenue <-
                                                  default.
                                                  customers@01a206…118cd1?
1 version; complete; last seen 2026-01-01 00:04:00
"""
    )


def test_view_takes_the_store_as_the_other_commands_do(store, run):
    named = run("view", "--store", store, "--format", "json", "-o", "-")

    assert named == run("view", store, "--format", "json", "-o", "-")
    assert run("view", store, "--store", store) == (
        2,
        "",
        "openlineage-pyspark: --store names what is shown: leave out the other files\n",
    )


def test_what_is_not_found_is_listed_by_the_command_for_its_kind(store, run):
    hint = "openlineage-pyspark: `openlineage-pyspark {}` lists what the store"

    assert hint.format("datasets") in run("upstream", "nothing", "--store", store)[2]
    assert hint.format("jobs") in run("upstream", "job:nothing", "--store", store)[2]
    assert hint.format("runs") in run("upstream", "run:nothing", "--store", store)[2]
    assert "lists what the store" not in run("upstream", "daily.nothing", "--store", store)[2]


def test_an_edge_whose_value_is_masked_says_so(tmp_path, run):
    edges = lineage(hash=[("people", "mail", "TRANSFORMATION")])
    edges["fields"]["hash"]["inputFields"][0]["transformations"][0]["masking"] = True
    made = dataset("hashed", columns=("hash",), columnLineage=edges)
    file = tmp_path / "events.ndjson"
    file.write_text(text_of_events([run_event("job", "COMPLETE", 1, inputs=(dataset("people"),), outputs=(made,))]))
    path = str(tmp_path / "lineage.db")
    run("ingest", str(file), "--store", path)

    assert run("downstream", "people.mail", "--store", path)[1].splitlines()[1] == (
        "└─ hashed.hash  TRANSFORMATION of mail  (masked)  [job]"
    )
    with Store.open(path) as store:
        assert [
            path.kind.masking for edge in store.downstream("people.mail").result.graph.edges for path in edge.paths
        ] == [True]


def test_a_failed_run_has_the_first_line_of_its_error_below_it(tmp_path, run):
    error = {"message": "ValueError: no amount\nin line 7", "programmingLanguage": "PYTHON"}
    taken(tmp_path / "s.db", [run_event("load", "START", 1), run_event("load", "FAIL", 2, errorMessage=error)])

    said = run("runs", "load", "--store", str(tmp_path / "s.db"))[1]

    assert "ValueError: no amount" in said
    assert "in line 7" not in said
