"""A session is prepared by what the statements before a script change, and analyzes again only what it must."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest
from openlineage_pyspark.workbench.predict.caching.answers import prepare
from openlineage_pyspark.workbench.predict.scripts import Given, Script
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.tables.consequence import Consequence
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def declared(name: str, place: str = "") -> tuple[Consequence, ...]:
    """Return the change that declares a table."""
    table = DeclaredTable(("spark_catalog", "default", name), (("id", "INT"),))
    return (Consequence("table", name, table.parts, table, place),)


CHANGES = {
    "CREATE TABLE a (id INT)": declared("a"),
    "CREATE TEMPORARY VIEW v AS SELECT id FROM a": (Consequence("object", "v"),),
    "CREATE TABLE hidden (id INT)": declared("elsewhere"),
    "INSERT INTO a SELECT 1": (),
}
FIRST = "CREATE TABLE a (id INT); CREATE TEMPORARY VIEW v AS SELECT id FROM a; INSERT INTO a SELECT 1"


@attrs.define
class Session:
    """A session whose statements change what `CHANGES` says."""

    analyzed: list[str] = attrs.field(factory=list)
    restored: list[Consequence] = attrs.field(factory=list)
    places: dict[str, str] = attrs.field(factory=dict)
    read: str = ""

    def analyze(self, text: str, **_: Any) -> Analyzed:
        """Remember a statement."""
        self.read = text
        self.analyzed.append(text)
        return Analyzed("")

    def effects(self) -> tuple[Consequence, ...]:
        """Return the changes of the last statement."""
        return CHANGES[self.read]

    def restore(self, effects: Iterable[Consequence]) -> None:
        """Remember changes."""
        self.restored += effects

    def name_places(self, places: Mapping[str, str]) -> None:
        """Remember the places."""
        self.places = dict(places)


def prepared(folder: Path, *texts: str, given: Given | None = None) -> tuple[bool, Session]:
    """Prepare a new session with files."""
    session = Session()
    scripts = [Script(f"{at}.sql", text) for at, text in enumerate(texts)]
    return prepare(cast("Any", session), scripts, given or Given(), folder), session


def test_only_what_is_new_or_in_spark_alone_is_analyzed_again(tmp_path: Path) -> None:
    first, other = FIRST.split("; "), "CREATE TABLE hidden (id INT)".replace("hidden", "a")
    assert prepared(tmp_path, FIRST) == (True, session := prepared(tmp_path / "alone", FIRST)[1])
    assert session.analyzed == first

    _, again = prepared(tmp_path, FIRST, other)

    assert again.analyzed == [first[1], other]
    assert again.restored == list(declared("a"))
    assert sorted(again.places.values()) == ["0.sql:1", "0.sql:1", "0.sql:1", "1.sql:1"]


def test_a_table_that_is_given_since_is_seen(tmp_path: Path) -> None:
    prepared(tmp_path, FIRST)
    given = Given((DeclaredTable(("spark_catalog", "default", "a"), (("b", "INT"),)),))

    _, again = prepared(tmp_path, FIRST, given=given)

    assert again.analyzed == FIRST.split("; ")


@pytest.mark.parametrize("before", ["", FIRST])
def test_a_statement_that_changes_more_than_it_shows_is_followed_by_new_sessions(tmp_path: Path, before: str) -> None:
    hidden = "CREATE TABLE hidden (id INT)"
    if before:
        prepared(tmp_path, before)

    is_whole, _ = prepared(tmp_path, before, hidden)
    is_whole_again, session = prepared(tmp_path, before, hidden, "INSERT INTO a SELECT 1")

    assert (is_whole, is_whole_again) == (not before, True)
    assert hidden in session.analyzed or declared("elsewhere")[0] in session.restored
    assert session.analyzed[-1] == "INSERT INTO a SELECT 1"
