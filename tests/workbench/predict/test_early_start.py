"""Spark starts only if a statement has no cached answer, and then before the statements are read."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.scripts import Given, Script
from openlineage_pyspark.workbench.predict.session import Analyzed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = (
    *("command.change", "command.view", "workbench.store_api", "workbench.dryrun.files", "workbench.page.html"),
    *("workbench.store.spark.session", "workbench.rebuild.plan"),
)


@attrs.define
class Sessions:
    """Sessions that know of every statement that it is a query, and the order in which things happen."""

    told: list[str] = attrs.field(factory=list)
    read = ""

    @contextmanager
    def of(self, _given: Given) -> Iterator[Any]:
        """Yield this as a session."""
        self.told.append("start")
        yield self
        self.told.append("end")

    def analyze(self, text: str, **_: Any) -> Analyzed:
        """Return an answer without a plan."""
        self.told.append(text)
        return Analyzed("Project")

    def effects(self) -> tuple[()]:
        """Return no changes."""
        return ()


def told(folder: Path, *texts: str) -> list[str]:
    sessions = Sessions()
    scripts = [Script(f"{at}.sql", text) for at, text in enumerate(texts)]
    answers_of(scripts, Given(), lambda _done, _all: None, folder, sessions.of)
    return sessions.told


def test_spark_starts_only_for_a_statement_without_an_answer(tmp_path: Path) -> None:
    assert told(tmp_path, "SELECT 1", "SELECT 2") == ["start", "SELECT 1", "SELECT 2", "end"]
    assert told(tmp_path, "SELECT 1", "SELECT 2") == []
    # What is new in a file is no statement.
    assert told(tmp_path, "SELECT 1;\n-- one\n", "\n\nSELECT 2;") == []
    assert told(tmp_path, "SELECT 1", "SELECT 3") == ["start", "SELECT 3", "end"]
    # No text is new, but a name that the last one reads is made by another statement.
    made = "CREATE TABLE t AS SELECT 1"
    assert told(tmp_path, made, "SELECT * FROM t") == ["start", made, "SELECT * FROM t", "end"]
    assert told(tmp_path, "SELECT * FROM t") == ["start", "SELECT * FROM t", "end"]


def test_spark_does_not_start_for_files_without_a_statement() -> None:
    sessions = Sessions()
    assert answers_of([Script("a.sql", "-- nothing\n")], Given(), session=sessions.of) == ()
    assert sessions.told == []


def test_of_inserts_that_differ_in_the_values_of_literals_one_is_analyzed() -> None:
    def analyzed(*statements: str, shapes: bool = False) -> list[str]:
        sessions = Sessions()
        answers = answers_of([Script("a.sql", ";\n".join(statements))], Given(shapes=shapes), session=sessions.of)
        assert [each.statement.text for each in answers] == list(statements)
        return sessions.told[1:-1]

    first = "INSERT INTO t (a, b, c) VALUES (1, 'x', -2.5)"
    alike = [
        "INSERT INTO t (a, b, c) VALUES (22, 'it''s; 10:15', NULL)",
        "INSERT INTO t (a, b, c) VALUES (3, NULL, 1.5)",
    ]
    rows = "INSERT INTO t (a, b, c) VALUES (-3, 'y', 7.5), (4, NULL, 9.1)"
    assert analyzed(first, *alike, rows) == [first, *alike]
    assert analyzed(first, "INSERT INTO t (a, b, c) VALUES (9, 'z', -1.5)", rows) == [first]
    assert analyzed(first, first.replace("1", "2"), shapes=True) == [first, first.replace("1", "2")]
    for other in (
        first.replace("INTO t", "INTO u"),
        first.replace("(a, b, c)", "(a, c, b)"),
        first.replace("1,", "2147483648,"),
        first.replace("2.5", "2.55"),
        first.replace("2.5", "0.5"),
        # A name, if Spark is set so.
        first.replace("'x'", '"x"'),
        first.replace("'x'", "upper('x')"),
        first.replace("'x'", "DATE 'x'"),
        # The problem of a statement has a place in it.
        first.replace("INTO t", "INTO  t"),
        # Spark makes one type of these while it analyzes them.
        f"{first}, ('1', 'x', 2.5)",
        f"{first}, (1, 'x')",
    ):
        assert analyzed(first, other) == [first, other]
    # Spark refuses the second number of each.
    for small, big in (("100Y", "300Y"), ("1E100", "1E999"), ("1E10BD", "1E99BD"), ("-2147483648", "3000000000")):
        both = [first.replace("1,", f"{number},") for number in (small, big)]
        assert analyzed(*both) == both
    changed = [first, "DROP TABLE t", "CREATE TABLE t (a INT)", first.replace("'x'", "'y'")]
    assert analyzed(*changed) == changed


def test_the_command_imports_no_store_no_page_and_nothing_that_runs_scripts() -> None:
    asked = "import sys, openlineage_pyspark.command.lineage; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-Ic", asked], capture_output=True, check=True, text=True)
    assert {f"openlineage_pyspark.{each}" for each in HEAVY}.isdisjoint(done.stdout.split())
