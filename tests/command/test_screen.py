"""How texts are fitted into a terminal."""

from __future__ import annotations

import pytest
from openlineage_pyspark.command.screen import Screen, TableColumn, counted, shorten, wrapped


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
