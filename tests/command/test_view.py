"""`view`, as people type it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from support.lineage_events import text_of_events
from support.shop import later, shop


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text(text_of_events([*shop(), *later()]))
    return str(path)


@pytest.fixture
def store(tmp_path, events, run):
    path = str(tmp_path / "lineage.db")
    assert run("ingest", events, "--store", path)[0] == 0
    return path


def test_event_files_and_a_store_give_the_same_page(machine, events, store, run):
    assert run("view", events) == (0, "lineage.html: 8 tables, 209 columns, 7 jobs, 0.3 MB\n", "")
    page = (machine / "lineage.html").read_text()
    assert run("view", store, "-o", "other.html") == (0, "other.html: 8 tables, 209 columns, 7 jobs, 0.3 MB\n", "")
    assert (machine / "other.html").read_text() == page
    assert page.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        *(("a.svg", "<svg"), ("a.JSON", '{"schema"'), ("a.mmd", "flowchart"), ("a.dot", "digraph")),
        *(("a.html", "<!doctype html>"), ("a.txt", "<!doctype html>"), ("a", "<!doctype html>")),
    ],
)
def test_the_ending_of_the_file_says_the_format(machine, events, run, name, begin):
    assert run("view", events, "-o", name)[0] == 0
    assert (machine / name).read_text().startswith(begin)
    assert run("view", events, "-o", name, "--format", "dot")[0] == 0
    assert (machine / name).read_text().startswith("digraph")


def test_a_file_that_we_did_not_write_stays_without_a_yes(machine, events, run):
    foreign = '<!doctype html>\n<html lang="en">\n<p>my own page</p>\n'
    (machine / "mine.html").write_text(foreign)

    code, shown, errors = run("view", events, "-o", "mine.html")

    assert (code, shown) == (1, "")
    assert errors == (
        "openlineage-pyspark: mine.html already exists. Overwrite it? "
        "There is no terminal on which to ask: add --yes\nopenlineage-pyspark: mine.html is unchanged\n"
    )
    assert (machine / "mine.html").read_text() == foreign
    assert run("view", events, "-o", "mine.html", "--yes")[0] == 0
    assert (machine / "mine.html").read_text() != foreign


def test_the_graph_as_json_goes_to_standard_output(events, run):
    code, shown, errors = run("view", events, "--format", "json", "-o", "-", "--around", "guessed", "--depth", "1")

    assert (code, errors) == (0, "")
    assert [node["label"] for node in json.loads(shown)["result"]["nodes"] if node["type"] == "dataset"] == [
        "daily",
        "guessed",
    ]


def test_the_store_may_be_named_by_the_environment(machine, store, run, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_STORE", store)

    assert run("view", "--around", "daily.total")[0] == 0
    assert (
        '<script type="application/json" id="around">"daily.total"</script>' in (machine / "lineage.html").read_text()
    )


def test_a_page_can_compare_with_an_earlier_time(machine, events, run):
    assert run("view", events, "--compare", "2026-01-01T12:00:00Z")[0] == 0
    before = re.search(' id="before">([^<]*)<', (machine / "lineage.html").read_text())
    assert before is not None
    assert json.loads(before[1])["asOf"] == "2026-01-01T12:00:00Z"


def test_a_page_can_compare_with_another_store_or_with_other_files(machine, tmp_path, store, run):
    earlier = tmp_path / "earlier.ndjson"
    earlier.write_text(text_of_events(shop()))

    assert run("view", store, "--compare", str(earlier))[::2] == (0, "")
    page = (machine / "lineage.html").read_text()
    assert page.count('"expression":"AGGREGATION of amount"') == 1
    assert page.count('"expression":"sum(net)"') == 1


def test_gzipped_files_and_folders_are_read(machine, tmp_path, run):
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "a.ndjson.gz").write_bytes(gzip.compress(text_of_events(shop()[:4]).encode()))
    (folder / "b.json").write_text(text_of_events(shop()[4:]))

    assert run("view", str(folder))[0] == 0


def test_a_line_that_is_no_event_is_named_and_the_page_is_written(machine, tmp_path, run):
    path = tmp_path / "events.ndjson"
    path.write_text(text_of_events(shop()) + "nonsense\n")

    code, _, errors = run("view", str(path))

    assert code == 1
    assert errors.startswith(f"{path}:10: not JSON: ") or f"{path}:10: not JSON: " in errors
    assert (machine / "lineage.html").exists()


def test_a_gzipped_file_without_its_end_is_named_and_what_was_before_is_shown(machine, tmp_path, run):
    path = tmp_path / "events.ndjson.gz"
    whole = gzip.compress(text_of_events(shop()).encode())
    path.write_bytes(whole[: len(whole) - 12])

    code, shown, errors = run("view", str(path))

    assert (code, shown.startswith("lineage.html: ")) == (1, True)
    assert f"{path}: the gzip data is damaged or cut off" in errors
    code, _, errors = run("diff", str(path), str(path))
    assert code == 2
    assert f"{path}: the gzip data is damaged or cut off" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name event files or a store, or set the environment variable OPENLINEAGE_PYSPARK_STORE"),
        (("{events}", "--around", "nowhere"), "nothing is called 'nowhere'; without --around, everything"),
        (("{events}", "--depth", "2"), "--depth needs --around: it counts the jobs from there"),
        (("{events}", "--as-of", "soon"), "'soon' is not a time"),
        (
            ("{events}", "--as-of", "2001-01-01"),
            "no lineage was found in {events} as of 2001-01-01: nothing was written",
        ),
        (("missing.ndjson",), "missing.ndjson can't be read: No such file or directory\n"),
        (("{events}", "-o", "no/such/page.html"), "no/such/page.html can't be written: No such file or directory\n"),
        (
            ("{events}", "--compare", "soon"),
            "soon is neither a time, such as 2026-01-31 or 2d, nor an existing file or folder",
        ),
        (("{events}", "--compare", "missing.ndjson"), "missing.ndjson can't be read: No such file or directory\n"),
        ((".",), ". holds no event files"),
    ],
)
def test_what_can_not_be_done_is_said(machine, events, run, arguments, said, monkeypatch):
    monkeypatch.delenv("OPENLINEAGE_PYSPARK_STORE", raising=False)

    code, shown, errors = run("view", *(argument.format(events=events) for argument in arguments))

    assert (code, shown) == (2, "")
    assert said.format(events=events) in errors
    assert list(machine.iterdir()) == []


@pytest.mark.parametrize("given", ["nonsense\n", "{}\n" * 3, ""])
def test_what_holds_no_event_leaves_the_page_that_is_there(machine, tmp_path, run, given):
    page, wrong = machine / "lineage.html", tmp_path / "wrong.txt"
    page.write_text("a good page")
    wrong.write_text(given)

    code, shown, errors = run("view", str(wrong))

    assert (code, shown, page.read_text()) == (2, "", "a good page")
    said = (
        f"there is no event in {wrong}: {wrong}:1: "
        if given
        else f"no lineage was found in {wrong}: nothing was written\n"
    )
    assert errors.startswith(f"openlineage-pyspark: {said}")


def test_a_page_is_no_input_of_itself(machine, events, store, run):
    folder = machine / "folder"
    folder.mkdir()
    (folder / "a.json").write_text(text_of_events(shop()))
    for paths, output in (
        ([events], events),
        ([store], store),
        ([str(folder)], str(folder / "a.json")),
        ([events, "--compare", store], store),
    ):
        before = Path(output).read_bytes()
        said = (
            f"openlineage-pyspark: {output} is read here, so it can't be written too: name another file with --output\n"
        )
        assert run("view", *paths, "-o", output) == (2, "", said)
        assert Path(output).read_bytes() == before


def test_a_store_among_event_files_is_recognised(machine, events, store, run):
    said = f"openlineage-pyspark: {store} is a store, not an event file: it can't be read together with event files\n"
    assert run("view", events, store) == (2, "", said)
    assert list(machine.iterdir()) == []


def test_a_machine_without_a_browser_is_said(events, run, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: False)

    code, _, errors = run("view", events, "--open")

    assert (code, errors) == (0, "openlineage-pyspark: no browser was found to open lineage.html\n")
