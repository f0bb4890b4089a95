"""What Spark told of statements is kept, each under what it depends on."""

from __future__ import annotations

import random
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.caching import cache
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.caching.cache import KeptAnswer, KeptAnswers, base_of
from openlineage_pyspark.workbench.predict.caching.dependencies import Dependence, Dependencies, text_digest
from openlineage_pyspark.workbench.predict.scripts import Given, Script, lineage_of_answers, statements_in
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.tables.consequence import Consequence
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.kept_answers import sessions_of
from support.sql_edits import edit, folder, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TABLE = DeclaredTable(("c", "d", "t"), (("a", "INT"),), ("a",), Identifier("n", "t"))
ANSWER = KeptAnswer(
    Analyzed(
        "CreateTableAsSelect",
        EncodedQuery("{}"),
        missed=Refusal("X", "no", {"a": "b"}, 1, 0),
        tables={"t": EncodedQuery("{}")},
        from_text={("c", "d", "t"): "a.sql:3"},
    ),
    (Consequence("table", "t", ("c", "d", "t"), TABLE, "a.sql:3"), Consequence("setting", "")),
)
REFUSED = KeptAnswer(Analyzed("", None, Refusal("X", "no", {}, None, None), text="SELECT 1"))


def test_answers_are_kept_whole(tmp_path: Path) -> None:
    with KeptAnswers(tmp_path / "new") as store:
        store.keep({"key": ANSWER, "other": REFUSED}, ())
        assert store.read({"key", "other", "none"}) == {"key": ANSWER, "other": REFUSED}
    with KeptAnswers(tmp_path / "new") as store:
        assert store.read({"key"}) == {"key": ANSWER}


def test_what_is_no_answer_or_no_file_of_answers_counts_as_not_there(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database " * 100)
    with KeptAnswers(tmp_path) as store:
        store.keep({"key": ANSWER, "other": ANSWER}, ())
    with sqlite3.connect(tmp_path / "answers.sqlite") as connection:
        connection.execute("UPDATE answers SET document = x'00' WHERE key = 'key'")
    connection.close()
    with KeptAnswers(tmp_path) as store:
        assert store.read({"key", "other"}) == {"other": ANSWER}
        store.keep({"key": REFUSED}, ())
        assert store.read({"key"}) == {"key": REFUSED}


def test_a_damaged_file_is_named_whatever_is_read_from_it(tmp_path: Path) -> None:
    keys = [f"{number:064}" for number in range(400)]
    with KeptAnswers(tmp_path) as store:
        store.keep(dict.fromkeys(keys, REFUSED), ())
        store.keep_readings(dict.fromkeys(keys, b"[]"), ())
        store.add_opaque(keys)
        store.see(keys)
    file = tmp_path / "answers.sqlite"
    content = file.read_bytes()
    # The first pages are those of the schema and of the roots of the tables.
    file.write_bytes(content[: 6 * 4096] + b"\xab" * (len(content) - 6 * 4096))
    damaged = re.escape(f"{file} can't be read: database disk image is malformed: delete this file")
    with KeptAnswers(tmp_path) as store:
        for read in (
            lambda: store.read(keys),
            lambda: store.unseen(keys),
            store.opaque,
            lambda: store.reading(keys[7]),
        ):
            with pytest.raises(OSError, match=f"^{damaged}$"):
                read()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        KeptAnswers(tmp_path / "file")


def test_a_file_that_is_read_only_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KeptAnswers(tmp_path) as store:
        store.keep({"key": REFUSED}, ())
    connect = sqlite3.connect
    uri = f"{(tmp_path / 'answers.sqlite').as_uri()}?mode=ro"
    monkeypatch.setattr(sqlite3, "connect", lambda _, **more: connect(uri, uri=True, **more))
    with pytest.raises(OSError, match=r"answers\.sqlite can't be written: attempt to write a readonly database$"):
        KeptAnswers(tmp_path)


def test_after_a_full_disk_nothing_is_kept_and_what_was_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KeptAnswers(tmp_path) as store:
        store.keep({"key": ANSWER}, ())
    connect = sqlite3.connect

    def small(path: Path, **more: Any) -> sqlite3.Connection:
        connection = connect(path, **more)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    many = {f"{number:064}": ANSWER for number in range(1000)}
    full = f"{tmp_path / 'answers.sqlite'} can't be written: database or disk is full"
    with KeptAnswers(tmp_path) as store, pytest.raises(OSError, match=f"^{re.escape(full)}$"):
        store.keep(many, ())
    problems: list[OSError] = []
    with KeptAnswers(tmp_path, problems.append) as store:
        store.keep(many, ())
        # There is room for these, but they may depend on what is not there.
        store.keep({"small": REFUSED}, ())
        store.add_opaque(["digest"])
        store.see(["digest"])
        store.keep_readings({"reading": b"[]"}, ())
        assert store.read({*many, "key", "small"}) == {"key": ANSWER}
        assert (store.opaque(), store.unseen(["digest"]), store.reading("reading")) == (frozenset(), {"digest"}, None)
    assert list(map(str, problems)) == [full]


def test_answers_that_no_run_uses_any_more_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_BYTES", 3 * len(cache._document(ANSWER)))
    with KeptAnswers(tmp_path) as store:
        store.keep({"a": ANSWER, "b": ANSWER}, ())
        store.keep({"a": ANSWER, "c": ANSWER}, {"a"})
        assert store.read(set("abc")).keys() == set("abc")
        store.keep({"d": ANSWER, "a": ANSWER}, {"a"})
        assert store.read(set("abcd")).keys() == set("acd")


NOTHING = Given()
FILES = {
    "0.sql": "CREATE TABLE a (id INT); CREATE TABLE b (id INT)",
    "1.sql": "CREATE TABLE c AS SELECT id FROM a; CREATE VIEW v AS SELECT id FROM b",
    "2.sql": "SELECT id FROM v; SELECT id FROM c; SELECT id FROM nowhere",
    "3.sql": "CREATE FUNCTION f(x INT) RETURNS INT RETURN (SELECT max(id) FROM c); SELECT f(1) FROM b",
}
"""Nine statements: two tables, what is made of each, and what reads that."""


def scripts(files: dict[str, str]) -> list[Script]:
    return [Script(name, text) for name, text in files.items()]


def dependences(files: dict[str, str], given: Given = NOTHING) -> list[Dependence]:
    found = Dependencies(base_of(given), given.tables, given.functions, given.conf)
    return [found.take(statement) for statement, _ in statements_in(scripts(files))]


def changed_by(name: str, old: str, new: str) -> list[int]:
    """Return the places of the statements whose keys are others after a change of a file."""
    before = dependences(FILES)
    after = dependences({**FILES, name: FILES[name].replace(old, new)})
    return [at for at, pair in enumerate(zip(before, after, strict=True)) if pair[0].key != pair[1].key]


@pytest.mark.parametrize(
    ("name", "old", "new", "others"),
    [
        pytest.param("0.sql", "a (id INT)", "a (id INT, x INT)", [0, 2, 5, 7, 8], id="a table, and what is made of it"),
        pytest.param("0.sql", "b (id INT)", "b (id INT, x INT)", [1, 3, 4, 8], id="a table behind a view"),
        pytest.param("1.sql", "FROM b", "FROM b WHERE id > 1", [3, 4], id="a view"),
        pytest.param("2.sql", "SELECT id FROM c", "SELECT id AS x FROM c", [5], id="a query"),
        pytest.param("3.sql", "max(id)", "min(id)", [7, 8], id="a function"),
        pytest.param("0.sql", "CREATE", "-- moves\nCREATE", [], id="a remark"),
    ],
)
def test_a_change_is_one_of_what_sees_it(name: str, old: str, new: str, others: list[int]) -> None:
    assert changed_by(name, old, new) == others


@pytest.mark.parametrize(
    "first",
    [
        *("SET spark.sql.ansi.enabled = true", "SET day = 2026", "USE other", "USE CATALOG lake", "RESET"),
        *("CALL anything('a')", "EXECUTE IMMEDIATE 'DROP TABLE a'", "BEGIN CREATE TABLE a (x INT); END"),
        *("CREATE TABLE x AS SELECT id FROM IDENTIFIER('a')", "CREATE SOMETHING x", "SET VAR a = 1", "DROP TABLE a"),
        *("SELECT id FROM a.b.c", "CREATE DATABASE a", "ALTER TABLE x RENAME TO a", "CACHE TABLE a AS SELECT 1"),
        "CREATE TEMPORARY VIEW x (id INT) USING csv OPTIONS (path '/a')",
    ],
)
def test_what_may_be_seen_is_in_the_key(first: str) -> None:
    """A statement before it, and the query of one that it may have changed something for."""
    plain, changed = (dependences({"0.sql": text})[-1] for text in ("SELECT id FROM a", f"{first}; SELECT id FROM a"))
    assert plain.key != changed.key


def test_a_name_of_three_parts_counts_where_a_database_has_that_name() -> None:
    """The name then is that of a catalog, and USE enters the catalog instead of the database."""
    plain, changed = (
        dependences({"0.sql": f"CREATE DATABASE lake; SELECT id FROM {name}; USE lake; SELECT id FROM a"})
        for name in ("d.t", "lake.d.t")
    )
    assert [one.key == other.key for one, other in zip(plain, changed, strict=True)] == [True, False, False, False]


def test_a_variable_has_its_value_in_the_names_that_are_seen() -> None:
    found = dependences(
        {"0.sql": "SET t = orders; SELECT id FROM new_${t}; SELECT id FROM ${u}"}, Given(conf={"u": "v"})
    )
    assert found[1].reads is not None
    assert found[2].reads is not None
    assert ("new_orders" in found[1].reads, "v" in found[2].reads) == (True, True)


@pytest.mark.parametrize(
    "given",
    [
        Given((attrs.evolve(TABLE, parts=("c", "d", "a")),)),
        Given(functions=("a",)),
        Given(conf={"spark.sql.ansi.enabled": "true"}),
        Given(dialect="snowflake"),
    ],
    ids=["tables", "functions", "properties", "dialect"],
)
def test_what_is_given_is_in_the_key(given: Given) -> None:
    # The last one is taken to see all that there is.
    for text in ("SELECT id FROM a", "SELECT id FROM IDENTIFIER('' || 'a')"):
        files = {"0.sql": text}
        assert dependences(files)[0].key != dependences(files, given)[0].key


def test_the_program_itself_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = base_of(Given())
    monkeypatch.setattr(cache, "_SOURCES", ("workbench/predict",))
    cache._program.cache_clear()
    assert base_of(Given()) != before
    cache._program.cache_clear()


def test_a_table_that_a_statement_does_not_name_is_not_in_its_key() -> None:
    files = {"0.sql": "SELECT id FROM b"}
    assert dependences(files)[0].key == dependences(files, Given((TABLE,)))[0].key


def test_what_a_text_does_not_tell_is_noticed() -> None:
    found = dependences({"0.sql": "CREATE TABLE t AS SELECT id FROM a; USE d; SELECT 1"})
    made, used, asked = found
    table = Consequence("table", "t")
    assert made.is_covered("CREATE TABLE t AS SELECT id FROM a", [table], is_refused=False)
    assert not made.is_covered("CREATE TABLE t AS SELECT id FROM other", [table], is_refused=False)
    assert not made.is_covered("", [Consequence("table", "a")], is_refused=False)
    assert not made.is_covered("", [Consequence("catalog", "t")], is_refused=False)
    assert not made.is_covered("", [Consequence("setting", "")], is_refused=False)
    assert used.is_covered("USE d", [Consequence("setting", "")], is_refused=False)
    assert not used.is_covered("USE d", [], is_refused=True)
    assert asked.is_covered("SELECT 1", [], is_refused=True)


def test_after_a_statement_that_has_seen_more_all_is_seen() -> None:
    files = {"0.sql": "CREATE TABLE t AS SELECT 1 AS x; SELECT id FROM a"}
    (first, _), *_ = statements_in(scripts(files))
    found = Dependencies("", opaque={text_digest(first)})
    assert [found.take(statement).reads for statement, _ in statements_in(scripts(files))] == [None, None]


class Asked:
    """Counts about how many statements Spark is asked."""

    count = 0

    def __call__(self, _done: int, whole: int) -> None:
        """Take what is told before each statement."""
        self.count = whole


@pytest.fixture(scope="module")
def sessions(process_jvm: Any) -> Iterator[Callable[[Given], Any]]:
    """Give what makes sessions in one Spark."""
    with throw_away_session({}) as spark:
        yield sessions_of(spark)


@pytest.mark.spark
@pytest.mark.any_spark
def test_spark_is_asked_about_what_changed_and_what_it_needs(tmp_path: Path, sessions: Callable[[Given], Any]) -> None:
    counts = []
    for name, old, new in (
        ("0.sql", "", ""),
        ("0.sql", "", ""),
        ("2.sql", "SELECT id FROM c", "SELECT id AS x FROM c"),
        ("1.sql", "FROM b", "FROM b WHERE id > 1"),
        ("3.sql", "SELECT f(1)", "SELECT f(2)"),
    ):
        asked = Asked()
        answers_of(scripts({**FILES, name: FILES[name].replace(old, new)}), Given(), asked, tmp_path, sessions)
        counts.append(asked.count)
    # The function is in Spark alone: for what calls it, it is made again.
    assert counts == [9, 0, 1, 2, 2]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.any_spark
def test_kept_answers_are_those_that_spark_gives_anew(tmp_path: Path, sessions: Callable[[Given], Any]) -> None:
    """Files are edited at random; `./run truth kept_answers` does more of it."""
    chance = random.Random(7)  # noqa: S311 (no secret)
    files = folder(chance)
    reused = 0
    for _ in range(4):
        made = [Script(name, text_of(each, chance)) for name, each in sorted(files.items())]
        asked = Asked()
        kept = answers_of(made, Given(), asked, tmp_path, sessions)
        anew = answers_of(made, Given(), session=sessions)
        assert WRITERS["json"](lineage_of_answers(kept, ())) == WRITERS["json"](lineage_of_answers(anew, ()))
        reused += len(anew) - asked.count
        edit(files, chance)
    assert reused > 10
