"""How texts are fitted into a terminal."""

from __future__ import annotations

import pytest
from openlineage_pyspark.command.screen import Screen, shorten
from openlineage_pyspark.workbench.pictures.outline import Branch, Outline, Section
from openlineage_pyspark.workbench.pictures.plain import cell_len, wrapped
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.pictures.words import counted
from openlineage_pyspark.workbench.questions.row_text import time_column


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a plain word can't", ["a plain", "word can't"]),
        ("/opt/venv/lib/python", ["/opt/venv/", "lib/python"]),
        ("at /opt/venv/lib", ["at /opt/", "venv/lib"]),
        ("abcdefghijklm", ["abcdefghij", "klm"]),
        ("表表表 表表表", ["表表表", "表表表"]),
    ],
)
def test_a_text_is_broken_between_words_and_a_long_word_after_a_sign(text: str, lines: list[str]) -> None:
    assert wrapped(text, 10) == lines


@pytest.mark.parametrize(("width", "text"), [(9, "carrier_1"), (8, "carr…r_1"), (3, "c…1"), (1, "carrier_1")])
def test_a_name_loses_its_middle(width: int, text: str) -> None:
    assert shorten("carrier_1", width) == text


@pytest.mark.parametrize(("width", "text"), [(9, "carrier_1"), (8, "…rrier_1"), (3, "…_1"), (1, "carrier_1")])
def test_a_name_that_is_asked_for_by_its_end_loses_its_start(width: int, text: str) -> None:
    assert shorten("carrier_1", width, start=True) == text


def test_one_is_no_plural() -> None:
    assert [counted(number, "row") for number in (0, 1, 1095)] == ["0 rows", "1 row", "1,095 rows"]


def test_a_table_that_is_far_too_wide_keeps_its_numbers_and_loses_empty_columns(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = [
        *(TableColumn("depth", right=True), TableColumn("from", 20), TableColumn("nothing")),
        *(TableColumn("to", 20), TableColumn("job", wrap=True)),
    ]

    Screen().table(columns, [("1", "lake.sales.orders", "", "lake.sales.revenue", "load the orders")])

    assert (
        capsys.readouterr().out
        == """\
  depth  from       to          job
      1  lake…ders  lake.…enue  load the
                                orders
"""
    )


def test_in_a_narrow_table_times_are_wrapped_before_a_name_is_cut(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "64")
    columns = [
        *(TableColumn("table", 15, cut_start=True), time_column("since"), time_column("last written")),
        *(TableColumn("operation", 4), TableColumn("job", wrap=True)),
    ]

    Screen().table(columns, [("default.revenue", "2026-01-01 00:00:00", "2026-01-02 00:00:00", "WRITE", "load_all")])

    assert (
        capsys.readouterr().out
        == """\
  table            since       last written  operation  job
  default.revenue  2026-01-01  2026-01-02    WRITE      load_all
                   00:00:00    00:00:00
"""
    )


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("é", 1), ("e\u0301", 1), ("表", 2), ("❤\ufe0f", 1)])
def test_a_text_takes_as_many_columns_as_a_terminal_gives_it(text: str, columns: int) -> None:
    assert cell_len(text) == columns


def test_a_word_of_wide_signs_is_broken_before_the_edge() -> None:
    assert wrapped("表表表表表表表", 5) == ["表表", "表表", "表表", "表"]


def test_elsewhere_a_table_is_120_wide_and_no_word_of_it_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    Screen().table([TableColumn("time", 19), TableColumn("text")], [("2026-01-01 00:00:00", "word " * 40 + "x" * 130)])

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  2026-01-01 00:00:00  word word")
    assert lines[-1].strip() == "x" * 130


def as_terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Let standard output be a terminal of 20 columns: in the test itself, whose output is not that of its fixtures."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"COLUMNS": "20", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)


def test_a_terminal_shows_states_in_colours_and_cuts_what_is_too_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_terminal(monkeypatch)

    Screen().table([TableColumn("state"), TableColumn("name", 4)], [("FAIL", "表表表表表表表")])

    assert capsys.readouterr().out == (
        "  \x1b[1mstate\x1b[0m  \x1b[1mname\x1b[0m\n  \x1b[1;31mFAIL\x1b[0m   表表表表表…\n"
    )


def test_a_terminal_shows_what_was_added_and_removed_in_colours_and_wraps_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_terminal(monkeypatch, COLUMNS="24")

    Screen().lines("+ column orders.total: bigint\n- table old\nthe rest\n")

    assert capsys.readouterr().out == (
        "\x1b[32m+ column orders.total:\x1b[0m\n  \x1b[32mbigint\x1b[0m\n\x1b[1;31m- table old\x1b[0m\nthe rest\n"
    )


def test_a_terminal_shows_a_tree_in_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_terminal(monkeypatch, COLUMNS="60")
    below = Branch("b", (("sum(x)", "text"), ("(masked)", "mark"), ("[load]", "job")), (True,))

    Screen().outline(Outline((Section((Branch("a", has_more=True), below)),), "", "more: --all"))

    assert capsys.readouterr().out == (
        "\x1b[1ma\x1b[0m\n\x1b[2m└─ \x1b[0m\x1b[1mb\x1b[0m\x1b[2m  \x1b[0msum(x)"
        "\x1b[33m  (masked)\x1b[0m\x1b[36m  [load]\x1b[0m\nmore: --all\n"
    )


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colours_gets_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    as_terminal(monkeypatch, **{variable: value})

    Screen().heading("FOUND")

    assert capsys.readouterr().out == "FOUND\n"


def test_lines_keep_their_indentation_and_code_is_not_wrapped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    command = f"     spark-submit {'--conf spark.a=b ' * 4}job.py"
    Screen().lines(f"1. Run it again.\n{command}\n   It is the job that has written it, and another.\n")
    assert capsys.readouterr().out.splitlines() == [
        "1. Run it again.",
        command,
        "   It is the job that has",
        "     written it, and another.",
    ]
