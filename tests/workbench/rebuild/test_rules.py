"""What a change makes necessary, rule by rule: statements that Spark has analyzed, before and after."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer, guarded_analysis, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import steps_of_answers
from openlineage_pyspark.workbench.rebuild.statements import FileStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDED, RECORDED_ON = Path(__file__).parents[2] / "golden" / "rebuild" / "steps.ndjson.gz", "4.3."

DDL = """\
CREATE TABLE orders (id INT, cust INT, amount DECIMAL(10,2), tax DOUBLE, state STRING, lines ARRAY<INT>) USING parquet;
CREATE TABLE people (id INT, name STRING, country STRING) USING parquet;
CREATE TABLE target (id INT, amount DECIMAL(10,2), name STRING) USING iceberg;
"""
_SEED = re.compile(r'(?<="java.lang.Long",)"-?\d{12,}"')
# The id of a column in the shape of a plan: where it is used, where it is made, and in the output of an operator.
_ID = re.compile(r'(?<=\["[ae]",)\d+|(?<="id":)\d+|(?<=\[)\d+(?=,")')
READERS = """;
CREATE TABLE of_id AS SELECT id FROM t;
CREATE TABLE of_net AS SELECT net FROM t;
CREATE TABLE counted AS SELECT count(*) AS n FROM t
"""
"""Read one column of the table `t` each, and how many rows it has."""
ALL = {"of_id", "of_net", "counted"}
NET = "CREATE TABLE t AS SELECT id, {} AS net FROM orders"
OF_ORDERS = NET.format("amount")
OF_X, OF_V = (OF_ORDERS.replace("orders", each) for each in "xv")
RANKED = (
    "CREATE TABLE t AS SELECT id, amount AS net FROM (SELECT *, rank() OVER (ORDER BY {}) r FROM orders) WHERE r = 1"
)
GENERATED = (
    "CREATE TABLE x (id INT, amount INT GENERATED ALWAYS AS (id * {})); INSERT INTO x (id) SELECT id FROM orders"
)
MERGED = f"{OF_ORDERS}; MERGE INTO t USING people p ON t.id = p.id WHEN "
"""The merge of people into the table, up to what it does."""
KEYED = "CREATE TABLE t AS SELECT id, sum(amount) AS net FROM orders {} GROUP BY id"
LOOKED_UP = "CREATE TABLE t AS SELECT o.id, d.name AS net FROM orders o LEFT JOIN ({}) d ON {}"
"""Orders with the name of their customer, where one is found."""
ONE_EACH = "SELECT id, max(name) AS name FROM people WHERE id > {} GROUP BY id"
FIRST = "SELECT * FROM (SELECT *, {}() OVER (PARTITION BY id ORDER BY name) AS r FROM people WHERE id > {}) WHERE r = 1"


def looked_up(people: str, on: str = "o.cust = d.id") -> tuple[str, str]:
    """Return two statements that look up different rows of people."""
    return LOOKED_UP.format(people.format(1), on), LOOKED_UP.format(people.format(2), on)


class Analyzed:
    """
    The steps of statements, as Spark has analyzed them.

    Args:
        recorded: statements -> the steps that are recorded.
        spark: a session that analyzes them anew; None to take what is recorded.
    """

    def __init__(self, recorded: dict[str, tuple[FileStep, ...]], spark: Any = None) -> None:
        self.recorded = recorded
        self.anew: dict[str, tuple[FileStep, ...]] = {}
        self._spark = spark

    def __call__(self, text: str, ddl: str = DDL) -> tuple[FileStep, ...]:
        key = text if ddl == DDL else f"{ddl}-- then\n{text}"
        if self._spark is None:
            if key not in self.recorded:
                pytest.fail(
                    f"no plan is recorded of these statements: `./run test --regold tests/workbench/rebuild`: {key}"
                )
            return self.recorded[key]
        if key not in self.anew:
            self.anew[key] = self._analyze(text, ddl)
        return self.anew[key]

    def _analyze(self, text: str, ddl: str) -> tuple[FileStep, ...]:
        session = ScriptSession(self._spark.newSession(), DeclaredTables(), shapes=True)
        scripts = [Script("ddl.sql", ddl, is_ddl=True), Script("a.sql", text)]
        answers = [
            StatementAnswer(each, guarded_analysis(session, each), script.is_ddl)
            for script in scripts
            for each in statements_of(script.text, script.name)
        ]
        return steps_of_answers(answers, lineage_of_answers(answers, ()), scripts)


@pytest.fixture(scope="module")
def steps(request: pytest.FixtureRequest, *, is_all: bool) -> Iterator[Callable[..., tuple[FileStep, ...]]]:
    """Give the steps of statements from recorded plans; with --all and --regold those that a Spark gives now."""
    regold = request.config.getoption("--regold")
    lines = [] if regold else gzip.decompress(RECORDED.read_bytes()).decode().splitlines()
    recorded = {key: tuple(map(step_of, found)) for key, found in map(json.loads, lines)}
    if not (regold or is_all) or importlib.util.find_spec("pyspark") is None:
        yield Analyzed(recorded)
        return
    request.getfixturevalue("process_jvm")
    with throw_away_session({}) as spark:
        analyzed = Analyzed(recorded, spark)
        yield analyzed
        if regold:
            every = sorted(analyzed.anew.items())
            kept = [json.dumps([key, list(map(attrs.asdict, found))], default=sorted) for key, found in every]
            RECORDED.parent.mkdir(exist_ok=True)
            RECORDED.write_bytes(gzip.compress("\n".join(kept).encode(), mtime=0))
        elif spark.version.startswith(RECORDED_ON):
            anew, before = comparable(analyzed.anew), comparable(recorded)
            pairs = [(each, before[key][at]) for key, steps in anew.items() for at, each in enumerate(steps)]
            assert [pair for pair in pairs if pair[0] != pair[1]] == []


def test_a_text_that_becomes_the_name_of_a_folder_may_be_another_value(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    query = "SELECT {} FROM people; CREATE TABLE p AS SELECT name FROM d; CREATE TABLE q AS SELECT id FROM d"
    made = "CREATE TABLE d USING parquet{} AS " + query
    filled = "CREATE TABLE d (id INT, name STRING) USING parquet{}; INSERT INTO d " + query
    for text in (made, filled):
        plain, of_text = (steps(text.format(each, "id, name")) for each in ("", " PARTITIONED BY (name)"))
        assert needs(rebuild_plan(of_text, of_text)) == {}
        assert needs(rebuild_plan(plain, of_text)) == {"d": "make", "p": "name"}
        assert needs(rebuild_plan(of_text, plain)) == {"d": "make", "p": "name"}
    plain, of_number = (steps(made.format(each, "name, id")) for each in ("", " PARTITIONED BY (id)"))
    assert needs(rebuild_plan(plain, of_number)) == {"d": "define"}


def test_a_time_that_becomes_the_name_of_a_folder_may_be_another_value(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    """A folder has the local time, without its zone: readers in another zone get another time."""
    made = "CREATE TABLE d USING parquet{} AS SELECT id, CAST(name AS {}) AS at FROM people"
    text = f"{made}; CREATE TABLE p AS SELECT at FROM d"
    zoned, local, day = (
        [steps(text.format(parted, type_)) for parted in ("", " PARTITIONED BY (at)")]
        for type_ in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE")
    )

    assert needs(rebuild_plan(*zoned)) == needs(rebuild_plan(*zoned[::-1])) == {"d": "make", "p": "at"}
    assert needs(rebuild_plan(*local)) == needs(rebuild_plan(*day)) == {"d": "define"}


DECLARED = {
    "a variable": ("DECLARE VARIABLE low INT DEFAULT {}", "SELECT id FROM orders WHERE id > low"),
    "a sample in a view": (
        "CREATE VIEW some AS SELECT id FROM orders TABLESAMPLE (50 PERCENT) REPEATABLE ({})",
        "SELECT id FROM some",
    ),
    "a table with rows": ("CREATE TABLE made AS SELECT {} AS id", "SELECT id FROM made"),
    "a function": ("CREATE FUNCTION more(x INT) RETURNS INT RETURN x + {}", "SELECT id FROM orders WHERE more(id) > 1"),
}


@pytest.mark.parametrize("what", DECLARED)
def test_what_is_only_declared_may_decide_about_rows(what: str, steps: Callable[..., tuple[FileStep, ...]]) -> None:
    declared, query = DECLARED[what]
    one, two = (steps(f"CREATE TABLE t AS {query}", f"{DDL}{declared.format(number)};") for number in (1, 2))

    assert needs(rebuild_plan(one, one)) == {}
    assert needs(rebuild_plan(one, two)) == {"t": "make"}


PLACED = {
    "a path that is written differently": ("", "TABLE l USING parquet LOCATION '/lake/a/x'", "/lake//b/../a/./x"),
    "a place of a database": ("CREATE DATABASE IF NOT EXISTS db LOCATION '/lake/a'; ", "TABLE db.x", "/lake/a/x"),
    "Hive's place of a table": ("", "TABLE db.x USING parquet", "hdfs://nn/user/hive/warehouse/db.db/x"),
    "Hive's place of a table without a database": ("", "TABLE x USING parquet", "file:/spark-warehouse/x"),
}


@pytest.mark.parametrize("what", PLACED)
def test_a_place_is_known_by_its_other_names(what: str, steps: Callable[..., tuple[FileStep, ...]]) -> None:
    before, made, path = PLACED[what]
    read = f"CREATE TABLE r (id INT) USING parquet LOCATION '{path}'; CREATE TABLE t AS SELECT id FROM r"
    text = f"{before}CREATE {made} AS SELECT id FROM people; {read}"
    filled = f"{before}CREATE TABLE r (id INT) USING parquet LOCATION '{path}'; INSERT INTO r SELECT id FROM people; "

    assert "t" in needs(rebuild_plan(steps(text), steps(text.replace("FROM people", "FROM people WHERE id > 1"))))
    if what == "Hive's place of a table":
        filled += "CREATE TABLE IF NOT EXISTS db.x (id INT) USING parquet; CREATE TABLE t AS SELECT id FROM db.x"
        other = filled.replace("FROM people", "FROM people WHERE id > 1")
        assert "t" in needs(rebuild_plan(steps(filled), steps(other)))


@pytest.mark.parametrize("altered", ["SET LOCATION '/lake/x'", "ADD PARTITION (d = '1') LOCATION '/lake/x'"])
def test_a_table_may_get_another_place_later(altered: str, steps: Callable[..., tuple[FileStep, ...]]) -> None:
    made = "CREATE TABLE w USING parquet LOCATION '/lake/x' AS SELECT id FROM people"
    read = "CREATE TABLE r (id INT, d STRING) USING parquet PARTITIONED BY (d)"
    text = f"{made}; {read}; ALTER TABLE r {altered}; CREATE TABLE t AS SELECT id FROM r"

    assert needs(rebuild_plan(steps(text), steps(text))) == {}
    assert "t" in needs(rebuild_plan(steps(text), steps(text.replace("FROM people", "FROM people WHERE id > 1"))))


def step_of(recorded: dict[str, Any]) -> FileStep:
    """Return a step as it was recorded."""
    sets = {each.name for each in attrs.fields(FileStep) if str(each.type).startswith("frozenset")}
    values: dict[str, Any] = {
        name: (frozenset if name in sets else tuple)(each) if isinstance(each, list) else each
        for name, each in recorded.items()
    }
    return FileStep(**values)


def comparable(found: dict[str, tuple[FileStep, ...]]) -> dict[str, list[FileStep]]:
    """Return steps with own ids of columns and without seeds of random functions: Spark takes new ones each time."""
    return {key: [attrs.evolve(each, shape=with_own_ids(each.shape)) for each in steps] for key, steps in found.items()}


def with_own_ids(shape: str) -> str:
    """Return the shape of a plan without seeds, and with the ids of columns in the order in which they appear."""
    ids: dict[str, str] = {}
    return _ID.sub(lambda found: ids.setdefault(found[0], f"#{len(ids)}"), _SEED.sub("", shape))


def needs(plan: RebuildPlan) -> dict[str, str]:
    """Return what each table needs that needs something: its columns if only they do, `rows` for all of it."""
    return {
        each.table.removeprefix("default."): each.action if each.action != "columns" else ",".join(each.columns)
        for each in plan.made
    }


# What is different, before and after; and which of the readers of the table are made again.
ROWS = {
    "a condition that is added": (OF_ORDERS, OF_ORDERS + " WHERE cust > 1"),
    "a literal in a condition": (
        OF_ORDERS + " WHERE cust > 1",
        OF_ORDERS + " WHERE cust > 2",
    ),
    "a function in a condition": (
        OF_ORDERS + " WHERE upper(state) = 'A'",
        OF_ORDERS + " WHERE lower(state) = 'A'",
    ),
    "a table in a subquery of a condition": (
        OF_ORDERS + " WHERE id IN (SELECT id FROM people)",
        OF_ORDERS + " WHERE id IN (SELECT cust FROM orders)",
    ),
    "a condition within a subquery": (
        OF_ORDERS + " WHERE EXISTS (SELECT 1 FROM people p WHERE p.id = cust)",
        OF_ORDERS + " WHERE EXISTS (SELECT 1 FROM people p WHERE p.id = orders.id)",
    ),
    "the kind of a join": (
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o JOIN people p ON o.cust = p.id",
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o LEFT JOIN people p ON o.cust = p.id",
    ),
    "the condition of a join": (
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o JOIN people p ON o.cust = p.id",
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o JOIN people p ON o.id = p.id",
    ),
    "a join that is added": (
        OF_ORDERS,
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o JOIN people p ON o.cust = p.id",
    ),
    "the keys of groups": (KEYED.format(""), KEYED.format("") + ", cust"),
    "a condition on groups": (KEYED.format(""), KEYED.format("") + " HAVING count(*) > 1"),
    "rows before groups": (KEYED.format(""), KEYED.format("WHERE cust > 0")),
    "rows that are equal": (
        OF_ORDERS,
        "CREATE TABLE t AS SELECT DISTINCT id, amount AS net FROM orders",
    ),
    "a column of rows that are distinct": (
        "CREATE TABLE t AS SELECT DISTINCT id, amount AS net FROM orders",
        "CREATE TABLE t AS SELECT DISTINCT id, amount + 1 AS net FROM orders",
    ),
    "a column of a union that is distinct": (
        f"{OF_ORDERS} UNION SELECT id, 1 FROM people",
        f"{OF_ORDERS} UNION SELECT id, 2 FROM people",
    ),
    "a union that keeps equal rows": (
        f"{OF_ORDERS} UNION SELECT id, 1 FROM people",
        f"{OF_ORDERS} UNION ALL SELECT id, 1 FROM people",
    ),
    "a column of rows that are taken away": (
        f"{OF_ORDERS} EXCEPT SELECT id, 1 FROM people",
        f"{OF_ORDERS} EXCEPT SELECT id, 2 FROM people",
    ),
    "the columns by which rows are taken away": (
        "CREATE TABLE t AS SELECT id, cust AS net FROM orders EXCEPT SELECT id, cust FROM orders WHERE tax > 1",
        "CREATE TABLE t AS SELECT id, cust AS net FROM orders EXCEPT SELECT cust, id FROM orders WHERE tax > 1",
    ),
    "a key that is a part of another": (KEYED.format("") + ", cust", KEYED.format("") + ", cust + id"),
    "a query that is added": (OF_ORDERS, f"{OF_ORDERS} UNION ALL SELECT id, 1 FROM people"),
    "a limit": (OF_ORDERS + " LIMIT 3", OF_ORDERS + " LIMIT 4"),
    "a limit that is added": (OF_ORDERS, OF_ORDERS + " ORDER BY id LIMIT 4"),
    "the order under a limit": (
        OF_ORDERS + " ORDER BY id LIMIT 3",
        OF_ORDERS + " ORDER BY id DESC LIMIT 3",
    ),
    "another column of rows that a limit cuts": (OF_ORDERS + " LIMIT 3", NET.format("tax") + " LIMIT 3"),
    "an array that is taken apart": (
        OF_ORDERS,
        "CREATE TABLE t AS SELECT id, amount AS net FROM orders LATERAL VIEW explode(lines) x AS e",
    ),
    "how an array is taken apart": (
        "CREATE TABLE t AS SELECT id, amount AS net FROM orders LATERAL VIEW explode(lines) x AS e",
        "CREATE TABLE t AS SELECT id, amount AS net FROM orders LATERAL VIEW OUTER explode(lines) x AS e",
    ),
    "rows that are given": (
        "CREATE TABLE t AS SELECT * FROM VALUES (1, 2) AS v(id, net)",
        "CREATE TABLE t AS SELECT * FROM VALUES (1, 2), (1, 2) AS v(id, net)",
    ),
    "a table that is read": (
        "CREATE TABLE t AS SELECT id, 1 AS net FROM orders",
        "CREATE TABLE t AS SELECT id, 1 AS net FROM people",
    ),
    "a condition in a view": (
        f"CREATE TEMP VIEW v AS SELECT * FROM orders WHERE id > 1; {OF_V}",
        f"CREATE TEMP VIEW v AS SELECT * FROM orders WHERE id > 2; {OF_V}",
    ),
    "a condition in a CTE": (
        "CREATE TABLE t AS WITH c AS (SELECT * FROM orders WHERE id > 1) SELECT id, amount AS net FROM c",
        "CREATE TABLE t AS WITH c AS (SELECT * FROM orders WHERE id > 2) SELECT id, amount AS net FROM c",
    ),
    "a filter on the values of a window": (
        RANKED.format("id"),
        RANKED.format("tax"),
    ),
    "a sample": (
        OF_ORDERS.replace("orders", "orders TABLESAMPLE (10 PERCENT)"),
        OF_ORDERS.replace("orders", "orders TABLESAMPLE (20 PERCENT)"),
    ),
    "an INSERT that comes twice": (
        f"{OF_ORDERS}; INSERT INTO t SELECT id, 1 FROM people",
        f"{OF_ORDERS}; INSERT INTO t SELECT id, 1 FROM people; INSERT INTO t SELECT id, 1 FROM people",
    ),
    "an INSERT that overwrites": (
        f"{OF_ORDERS}; INSERT INTO t SELECT id, 1 FROM people",
        f"{OF_ORDERS}; INSERT OVERWRITE t SELECT id, 1 FROM people",
    ),
    "a DELETE": (
        f"{OF_ORDERS}; DELETE FROM t WHERE id = 1",
        f"{OF_ORDERS}; DELETE FROM t WHERE id = 2",
    ),
    "a DELETE that is added": (OF_ORDERS, f"{OF_ORDERS}; DELETE FROM t WHERE id = 1"),
    "a TRUNCATE": (OF_ORDERS, f"{OF_ORDERS}; TRUNCATE TABLE t"),
    "the condition of a MERGE": (
        f"{MERGED}NOT MATCHED THEN INSERT (id) VALUES (p.id)",
        f"{OF_ORDERS}; MERGE INTO t USING people p ON t.net = p.id WHEN NOT MATCHED THEN INSERT (id) VALUES (p.id)",
    ),
    "when a MERGE deletes": (
        f"{MERGED}MATCHED AND p.name = 'a' THEN DELETE",
        f"{MERGED}MATCHED AND p.name = 'b' THEN DELETE",
    ),
    "an UPDATE before a DELETE that reads what it sets": (
        f"{OF_ORDERS}; UPDATE t SET net = 1 WHERE id = 1; DELETE FROM t WHERE net = 1",
        f"{OF_ORDERS}; UPDATE t SET net = 2 WHERE id = 1; DELETE FROM t WHERE net = 1",
    ),
    "a setting": (
        f"SET spark.sql.session.timeZone = UTC; {OF_ORDERS}",
        f"SET spark.sql.session.timeZone = CET; {OF_ORDERS}",
    ),
    "a variable": (
        f"DECLARE x = 1; {NET.format('amount + x')}",
        f"DECLARE x = 2; {NET.format('amount + x')}",
    ),
    "a statement that Spark refuses": (
        OF_ORDERS.replace("orders", "nowhere"),
        NET.format("amount + 1").replace("orders", "nowhere"),
    ),
    "what may run or not": (
        f"BEGIN IF true THEN {OF_ORDERS}; END IF; END",
        f"BEGIN IF false THEN {OF_ORDERS}; END IF; END",
    ),
    "a table that is read as it was": (
        OF_ORDERS.replace("orders", "target VERSION AS OF 1"),
        OF_ORDERS.replace("orders", "target VERSION AS OF 2"),
    ),
    "a function of SQL": (
        f"CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1; {NET.format('f(id)')}",
        f"CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 2; {NET.format('f(id)')}",
    ),
    "where rows are that no statement writes": (
        f"CREATE TABLE x (id INT, amount INT) USING parquet LOCATION '/a'; {OF_X}",
        f"CREATE TABLE x (id INT, amount INT) USING parquet LOCATION '/b'; {OF_X}",
    ),
    "a value that no statement gives": (
        f"{GENERATED.format(2)}; {OF_X}",
        f"{GENERATED.format(3)}; {OF_X}",
    ),
    "a database in which a statement is that Spark refuses": (
        "USE a; CREATE TABLE default.t AS SELECT id, net FROM nowhere; USE default",
        "USE b; CREATE TABLE default.t AS SELECT id, net FROM nowhere; USE default",
    ),
    "a condition in a CTE before an INSERT": (
        f"{OF_ORDERS}; WITH c AS (SELECT id FROM people WHERE id > 1) INSERT INTO t SELECT id, 1 FROM c",
        f"{OF_ORDERS}; WITH c AS (SELECT id FROM people WHERE id > 2) INSERT INTO t SELECT id, 1 FROM c",
    ),
    "when a MERGE inserts": (
        f"{MERGED}NOT MATCHED AND p.name = 'a' THEN INSERT (id) VALUES (p.id)",
        f"{MERGED}NOT MATCHED AND p.name = 'b' THEN INSERT (id) VALUES (p.id)",
    ),
    "what a MERGE sets before it deletes": (
        f"{MERGED}MATCHED AND p.name = 'a' THEN UPDATE SET net = 1 WHEN MATCHED THEN DELETE",
        f"{MERGED}MATCHED AND p.name = 'b' THEN UPDATE SET net = 1 WHEN MATCHED THEN DELETE",
    ),
    "the order of rows under a limit in a subquery": (
        "CREATE TABLE t AS SELECT * FROM (SELECT id, amount AS net FROM orders ORDER BY id, net LIMIT 3) ORDER BY id",
        "CREATE TABLE t AS SELECT * FROM (SELECT id, amount AS net FROM orders ORDER BY net, id LIMIT 3) ORDER BY id",
    ),
    "rows that are joined and have no key": looked_up("SELECT id, name FROM people WHERE id > {}"),
    "rows of which only a part of the key is joined": looked_up("SELECT DISTINCT id, name FROM people WHERE id > {}"),
    "rows that are joined by another column than the key": looked_up(ONE_EACH, "o.state = d.name"),
    "rows that are joined by a value of the key": looked_up(ONE_EACH, "o.cust = d.id % 2"),
    "rows that are joined by their key or otherwise": looked_up(ONE_EACH, "o.cust = d.id OR o.id = 1"),
    "rows that are joined where their key is what they have": looked_up(
        "SELECT id, max(length(name)) AS n, max(name) AS name FROM people WHERE id > {} GROUP BY id", "d.id = d.n"
    ),
    "rows with a key that are joined twice": looked_up(f"{ONE_EACH} UNION ALL SELECT id, name FROM people"),
    "the first ones of a rank, of which there may be several": looked_up(FIRST.replace("{}", "rank", 1)),
    "first rows that are taken apart": looked_up(
        "SELECT p.* FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY 1) AS r FROM people WHERE id > {}) p "
        "LATERAL VIEW explode(array(1, 2)) x AS e WHERE r = 1"
    ),
    "rows that are looked up and left out": tuple(
        text.replace("LEFT JOIN", "JOIN") for text in looked_up(ONE_EACH)
    ),
    "an operator that is unknown here": (
        "CREATE TABLE t AS SELECT id, net FROM (SELECT id, amount FROM orders) UNPIVOT (net FOR n IN (amount))",
        "CREATE TABLE t AS SELECT id, net FROM (SELECT id, 1BD AS amount FROM orders) UNPIVOT (net FOR n IN (amount))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_a_change_of_rows_makes_every_reader_again(what: str, steps: Callable[..., tuple[FileStep, ...]]) -> None:
    before, after = (f"{text}{READERS}" for text in ROWS[what])

    found = needs(rebuild_plan(steps(before), steps(after)))

    if what == "an operator that is unknown here":
        # How many rows there are, its columns do not say here; it is taken not to know.
        assert {"t", "of_net"} <= found.keys()
    else:
        assert found.keys() - {"x"} == {"t", *ALL}
    assert needs(rebuild_plan(steps(after), steps(after))) == {}


COLUMN = {
    "an expression": (OF_ORDERS, NET.format("amount + 1")),
    "a literal in an expression": (NET.format("amount + 1"), NET.format("amount + 2")),
    "a constant": (NET.format("1"), NET.format("2")),
    "a type": (NET.format("CAST(amount AS INT)"), NET.format("CAST(amount AS BIGINT)")),
    "a field of a condition": (NET.format("if(id > 1, 1, 2)"), NET.format("if(id > 2, 1, 2)")),
    "an aggregate": (KEYED.format(""), KEYED.format("").replace("sum", "max")),
    "a distinct aggregate": (KEYED.format(""), KEYED.format("").replace("sum(", "sum(DISTINCT ")),
    "the filter of an aggregate": (
        KEYED.format("").replace("sum(amount)", "sum(amount) FILTER (WHERE tax > 1)"),
        KEYED.format("").replace("sum(amount)", "sum(amount) FILTER (WHERE tax > 2)"),
    ),
    "the order of a window": (
        NET.format("rank() OVER (ORDER BY amount)"),
        NET.format("rank() OVER (ORDER BY amount DESC)"),
    ),
    "the partition of a window": (
        NET.format("count(*) OVER (PARTITION BY amount)"),
        NET.format("count(*) OVER (PARTITION BY cust)"),
    ),
    "the frame of a window": (
        NET.format("sum(amount) OVER (ORDER BY id ROWS 1 PRECEDING)"),
        NET.format("sum(amount) OVER (ORDER BY id ROWS 2 PRECEDING)"),
    ),
    "a lambda function": (
        NET.format("transform(lines, x -> x + 1)[0]"),
        NET.format("transform(lines, x -> x + 2)[0]"),
    ),
    "a scalar subquery": (
        NET.format("(SELECT max(id) FROM people)"),
        NET.format("(SELECT max(id) FROM people WHERE id > 1)"),
    ),
    "a column of one side of a union": (
        f"{OF_ORDERS} UNION ALL SELECT id, 1 FROM people",
        f"{OF_ORDERS} UNION ALL SELECT id, 2 FROM people",
    ),
    "a column of a view": (
        f"CREATE TEMP VIEW v AS SELECT id, amount AS a FROM orders; {NET.format('a').replace('orders', 'v')}",
        f"CREATE TEMP VIEW v AS SELECT id, tax AS a FROM orders; {NET.format('a').replace('orders', 'v')}",
    ),
    "two columns the other way round, by position": (
        "CREATE TABLE t (id INT, net INT, b INT); INSERT INTO t SELECT id, cust, id FROM orders",
        "CREATE TABLE t (id INT, net INT, b INT); INSERT INTO t SELECT id, id, id FROM orders",
    ),
    "what an UPDATE sets": (
        f"{OF_ORDERS}; UPDATE t SET net = 1 WHERE id = 1",
        f"{OF_ORDERS}; UPDATE t SET net = 2 WHERE id = 1",
    ),
    "where an UPDATE sets it": (
        f"{OF_ORDERS}; UPDATE t SET net = 1 WHERE id = 1",
        f"{OF_ORDERS}; UPDATE t SET net = 1 WHERE id = 2",
    ),
    "what a MERGE sets": (
        f"{MERGED}MATCHED THEN UPDATE SET net = p.id",
        f"{MERGED}MATCHED THEN UPDATE SET net = p.id + 1",
    ),
    "when a MERGE sets it": (
        f"{MERGED}MATCHED AND p.name = 'a' THEN UPDATE SET net = 1 WHEN NOT MATCHED THEN INSERT (id) VALUES (p.id)",
        f"{MERGED}MATCHED AND p.name = 'b' THEN UPDATE SET net = 1 WHEN NOT MATCHED THEN INSERT (id) VALUES (p.id)",
    ),
    "the rows by which a MERGE only sets it": (
        f"{MERGED.replace('people p', '(SELECT id FROM people WHERE id > 1) p')}MATCHED THEN UPDATE SET net = 1",
        f"{MERGED.replace('people p', '(SELECT id FROM people WHERE id > 2) p')}MATCHED THEN UPDATE SET net = 1",
    ),
    "rows that are looked up by what they are grouped by": looked_up(ONE_EACH),
    "rows that are looked up by all that is distinct": looked_up(
        "SELECT DISTINCT id, name FROM people WHERE id > {}", "d.id = o.cust AND o.state <=> d.name"
    ),
    "first rows that are looked up": looked_up(FIRST.replace("{}", "row_number", 1)),
    "a condition by which rows are looked up": (
        LOOKED_UP.format(ONE_EACH.format(1), "o.cust = d.id AND d.name > 'a'"),
        LOOKED_UP.format(ONE_EACH.format(1), "o.cust = d.id AND d.name > 'b'"),
    ),
    "a single row that is joined": (
        "CREATE TABLE t AS SELECT o.id, m AS net FROM orders o CROSS JOIN (SELECT max(id) AS m FROM people)",
        "CREATE TABLE t AS SELECT o.id, m AS net FROM orders o CROSS JOIN (SELECT min(id) AS m FROM people)",
    ),
    "the order of rows of which the first one is taken": (
        KEYED.format("").replace("sum", "first").replace("orders", "(SELECT * FROM orders ORDER BY tax)"),
        KEYED.format("").replace("sum", "first").replace("orders", "(SELECT * FROM orders ORDER BY cust)"),
    ),
    "what a MERGE inserts": (
        f"{MERGED}NOT MATCHED THEN INSERT (id, net) VALUES (p.id, 1)",
        f"{MERGED}NOT MATCHED THEN INSERT (id, net) VALUES (p.id, 2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", COLUMN)
def test_a_change_of_one_column_makes_its_readers_again_and_no_other(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    before, after = (f"{text}{READERS}" for text in COLUMN[what])

    found = needs(rebuild_plan(steps(before), steps(after)))

    assert found == {"t": "net", "of_net": "net"}
    assert needs(rebuild_plan(steps(after), steps(after))) == {}


SAME = {
    "a comment": (OF_ORDERS, f"-- why\n{OF_ORDERS} /* because */"),
    "capitals and white space": (OF_ORDERS, NET.format("AMOUNT").replace(" FROM", "\n  from")),
    "a CTE": (OF_ORDERS, "CREATE TABLE t AS WITH c AS (SELECT id, amount FROM orders) SELECT id, amount AS net FROM c"),
    "a subquery": (OF_ORDERS, "CREATE TABLE t AS SELECT id, net FROM (SELECT id, amount AS net, tax FROM orders)"),
    "a view": (
        OF_ORDERS,
        f"CREATE TEMP VIEW v AS SELECT id, amount, upper(state) FROM orders; {OF_V}",
    ),
    "an alias": (OF_ORDERS, "CREATE TABLE t AS SELECT o.id, o.amount AS net FROM orders o"),
    "a statement that looks": (OF_ORDERS, f"{OF_ORDERS}; SELECT * FROM t; SHOW TABLES; DESCRIBE t"),
    "rows that are looked up and not used": (
        OF_ORDERS,
        LOOKED_UP.format(ONE_EACH.format(1), "o.cust = d.id").replace("d.name", "o.amount"),
    ),
    "a single row that is joined and not used": (
        OF_ORDERS,
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o CROSS JOIN (SELECT max(id) AS m FROM people)",
    ),
    "the keys of groups in another order": (
        f"{KEYED.format('')}, cust, state",
        f"{KEYED.format('')}, state, id, cust",
    ),
    "distinct rows in another order": (
        "CREATE TABLE t AS SELECT DISTINCT id, amount AS net FROM orders",
        "CREATE TABLE t AS SELECT id, net FROM (SELECT DISTINCT amount AS net, id FROM orders)",
    ),
    "distinct rows that are groups": (
        "CREATE TABLE t AS SELECT DISTINCT id, amount AS net FROM orders",
        "CREATE TABLE t AS SELECT id, amount AS net FROM orders GROUP BY amount, id",
    ),
    "rows that are taken away in another order": (
        f"{OF_ORDERS} EXCEPT SELECT id, 1 FROM people",
        "CREATE TABLE t AS SELECT id, net FROM (SELECT amount AS net, id FROM orders EXCEPT SELECT 1, id FROM people)",
    ),
    "a CREATE and an INSERT": (
        "CREATE TABLE t (id INT, net INT); INSERT INTO t SELECT id, cust FROM orders",
        "CREATE TABLE t (id INT, net INT); INSERT INTO t (net, id) SELECT cust, id FROM orders",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SAME)
def test_what_is_only_written_differently_makes_nothing_again(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    before, after = (f"{text}{READERS}" for text in SAME[what])

    assert needs(rebuild_plan(steps(before), steps(after))) == {}


# What gives something else each time, or depends on the order in which rows arrive.
UNSTABLE = {
    "a random number": "rand()",
    "the time": "current_timestamp()",
    "a number of each row": "monotonically_increasing_id()",
    "the first of a window": "row_number() OVER (ORDER BY tax)",
    "rows around a row": "sum(cust) OVER (ORDER BY tax ROWS 1 PRECEDING)",
}


@pytest.mark.parametrize("what", UNSTABLE)
def test_a_value_that_varies_is_another_one_as_soon_as_its_table_is_made_again(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    text = f"CREATE TABLE t AS SELECT id, {UNSTABLE[what]} AS net, {{}} AS c FROM orders{READERS}"

    assert needs(rebuild_plan(steps(text.format("1")), steps(text.format("2")))) == {"t": "net,c", "of_net": "net"}
    assert needs(rebuild_plan(steps(text.format("1")), steps(text.format("1")))) == {}


IN_ORDER = {
    "a limit": "SELECT id FROM t LIMIT 3",
    "a limit of some order": "SELECT id FROM t ORDER BY id % 2 LIMIT 3",
    "a limit of an order that does not tell doubles apart": "SELECT CAST(id AS DOUBLE) AS d FROM t ORDER BY d LIMIT 3",
    "a limit of an order that is only local": "SELECT id FROM t SORT BY id LIMIT 3",
    "a sample": "SELECT id FROM t TABLESAMPLE (50 PERCENT) ORDER BY id",
    "the first one": "SELECT first(id) AS f FROM t",
    "a list": "SELECT collect_list(id) AS f FROM t",
    "one of equal ones": "SELECT max_by(id, id % 2) AS f FROM t",
    "a sum of doubles": "SELECT sum(CAST(id AS DOUBLE)) AS f FROM t",
    "an average of integers": "SELECT avg(id) AS f FROM t",
}


@pytest.mark.parametrize("what", IN_ORDER)
def test_what_depends_on_the_order_of_rows_is_made_again_with_the_table_that_it_reads(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    """The column that it reads stays; its table is written again, and its rows are in another order then."""
    text = f"{NET}; CREATE TABLE of_some AS {IN_ORDER[what]}; CREATE TABLE counted AS SELECT count(id) AS n FROM t"

    found = needs(rebuild_plan(steps(text.format("amount")), steps(text.format("tax"))))

    assert found.keys() == {"t", "of_some"}
    assert needs(rebuild_plan(steps(text.format("tax")), steps(text.format("tax")))) == {}


CERTAIN = {
    "a limit of an order of all values": "SELECT id AS f, id % 2 AS g FROM t ORDER BY g, f LIMIT 3 OFFSET 1",
    "a limit of an order of a key": "SELECT id, count(*) AS n FROM t GROUP BY id ORDER BY id DESC LIMIT 3",
    "a limit of an order by a key and more": "SELECT id, count(*) AS n FROM t GROUP BY id ORDER BY n, id LIMIT 3",
    "a limit of one row": "SELECT max(id) AS f FROM t LIMIT 1",
    "an average of decimals": "SELECT avg(CAST(id AS DECIMAL(10))) AS f FROM t LIMIT 1",
}


@pytest.mark.parametrize("what", CERTAIN)
def test_a_limit_of_rows_that_have_only_one_order_stays_if_all_that_it_reads_does(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    text = f"{NET}; CREATE TABLE of_some AS {CERTAIN[what]}"

    assert needs(rebuild_plan(steps(text.format("amount")), steps(text.format("tax")))) == {"t": "net"}


IN_ANOTHER_ORDER = {
    "an order that is added": (OF_ORDERS, f"{OF_ORDERS} ORDER BY amount"),
    "another order": (f"{OF_ORDERS} ORDER BY id", f"{OF_ORDERS} ORDER BY amount"),
    "an order of rows that are joined": (
        "CREATE TABLE t AS SELECT o.id, amount AS net FROM orders o JOIN people p ON o.cust = p.id",
        ("CREATE TABLE t AS SELECT o.id, amount AS net FROM (SELECT * FROM orders SORT BY tax) o "
        "JOIN people p ON o.cust = p.id"),
    ),
    "rows in other parts": (OF_ORDERS, f"{OF_ORDERS} DISTRIBUTE BY id"),
    "a hint": (OF_ORDERS, OF_ORDERS.replace("SELECT id", "SELECT /*+ REPARTITION(3) */ id")),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_ANOTHER_ORDER)
def test_rows_in_another_order_are_a_reason_only_for_what_depends_on_their_order(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    before, after = (
        f"{text}{READERS}; CREATE TABLE of_first AS SELECT first(id) AS f FROM t" for text in IN_ANOTHER_ORDER[what]
    )

    found = needs(rebuild_plan(steps(before), steps(after)))

    assert found == {"t": "define", "of_first": "f"}


@pytest.mark.parametrize("view", ["VIEW", "TEMP VIEW"])
def test_what_depends_on_the_order_of_rows_stays_if_only_other_columns_of_a_view_change(
    view: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    of_first = "CREATE TABLE of_first AS SELECT first(id) AS f FROM v"
    base = f"CREATE {view} v AS SELECT id, amount AS net FROM orders; {of_first}"
    others = [base.replace("amount AS net", each) for each in ("tax AS net", "amount AS net, tax")]
    made_again = [base.replace("FROM orders", f"FROM orders {each}") for each in ("ORDER BY tax", "WHERE id > 1")]
    of_table = f"{NET}; {base.replace('amount AS net', 'id AS net').replace('orders', 't')}"

    for after in others:
        assert "of_first" not in needs(rebuild_plan(steps(base), steps(after)))
    for after in made_again:
        assert "of_first" in needs(rebuild_plan(steps(base), steps(after)))
    assert "of_first" in needs(rebuild_plan(steps(of_table.format("amount")), steps(of_table.format("tax"))))


def test_an_update_that_sets_a_column_to_itself_changes_nothing(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base, updated = (f"{OF_ORDERS}{each}{READERS}" for each in ("", "; UPDATE t SET {} WHERE id > 1"))
    both = needs(rebuild_plan(steps(base), steps(updated.format("id = id, net = net * 2"))))

    assert needs(rebuild_plan(steps(base), steps(updated.format("net = net")))) == {}
    assert needs(rebuild_plan(steps(updated.format("net = t.net")), steps(base))) == {}
    assert both == {"t": "net", "of_net": "net"}
    assert needs(rebuild_plan(steps(base), steps(updated.format("net = id")))) == both
    assert needs(rebuild_plan(steps(base), steps(updated.format("net = CAST(net AS INT)")))) == both


def test_a_single_row_of_other_values_is_a_single_row(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"CREATE TABLE t AS SELECT count(*) AS id, max(amount) AS net FROM orders WHERE id > 1{READERS}"

    found = needs(rebuild_plan(steps(base), steps(base.replace("id > 1", "id > 2"))))

    assert found == {"t": "id,net", "of_id": "id", "of_net": "net"}


TABLE_WITH_KEY = "CREATE TABLE d {}AS SELECT id, max(name) AS name FROM people WHERE id > 1 GROUP BY id; {}"
AFTER_IT = {
    "nothing": ("", "", True),
    "a format that gives back what was written": ("USING orc ", "", True),
    "a format that may not": ("USING csv ", "", False),
    "an UPDATE of another column": ("", "UPDATE d SET name = 'a'; ", True),
    "an UPDATE of the key": ("", "UPDATE d SET id = 1; ", False),
    "a DELETE": ("", "DELETE FROM d WHERE id = 7; ", True),
    "more rows": ("", "INSERT INTO d SELECT id, name FROM people; ", False),
    "a MERGE": ("", "MERGE INTO d USING people p ON d.id = p.id WHEN NOT MATCHED THEN INSERT *; ", False),
    "a place where there may be others": ("USING parquet LOCATION '/a' ", "", False),
    "partitions": ("USING parquet PARTITIONED BY (id) ", "", False),
    "INSERT OVERWRITE": ("", "INSERT OVERWRITE d SELECT id, max(name) FROM people WHERE id > 1 GROUP BY id; ", True),
}


@pytest.mark.parametrize("what", AFTER_IT)
def test_a_table_has_the_key_that_its_rows_were_made_with_until_a_statement_changes_it(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    definition, then, is_kept = AFTER_IT[what]
    table = TABLE_WITH_KEY.format(definition, then)
    base = f"{table}{LOOKED_UP.format('SELECT * FROM d', 'o.cust = d.id')}{READERS}"

    found = needs(rebuild_plan(steps(base), steps(base.replace("id > 1", "id > 2"))))

    assert found.pop("d") == "make"
    all_rows = {"t": "make", "of_id": "make", "of_net": "make", "counted": "n"}
    assert found == ({"t": "net", "of_net": "net"} if is_kept else all_rows)


def test_a_format_that_may_give_back_other_values_is_a_reason_to_make_the_readers_again(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    readers = f"{LOOKED_UP.format('SELECT * FROM d', 'o.cust = d.id')}{READERS}"
    plain, orc, csv = (
        steps(f"{TABLE_WITH_KEY.format(each, '')}{readers}") for each in ("", "USING orc ", "USING csv ")
    )

    assert needs(rebuild_plan(csv, csv)) == {}
    assert needs(rebuild_plan(plain, orc)) == {"d": "define"}
    everything = {"d": "make", "t": "make", "of_id": "make", "of_net": "make", "counted": "n"}
    assert needs(rebuild_plan(orc, csv)) == needs(rebuild_plan(csv, orc)) == everything


@pytest.mark.parametrize("how", ["INTO", "OVERWRITE"])
def test_a_format_that_may_give_back_other_values_is_a_reason_for_a_table_that_inserts_fill_too(
    how: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    filled = f"CREATE TABLE t (id INT, net DOUBLE) {{}}; INSERT {how} t SELECT id, amount FROM orders{READERS}"
    parquet, orc, csv, other = (
        steps(filled.format(f"USING {each}")) for each in ("parquet", "orc", "csv", "csv OPTIONS (sep ';')")
    )

    assert needs(rebuild_plan(csv, csv)) == {}
    assert needs(rebuild_plan(parquet, orc)) == {"t": "define"}
    everything = {"t": "make", "of_id": "make", "of_net": "make", "counted": "n"}
    assert needs(rebuild_plan(parquet, csv)) == needs(rebuild_plan(csv, parquet)) == everything
    assert needs(rebuild_plan(csv, other)) == everything


FILLED_WITH_KEY = {
    "a table that is new": ("TABLE d (id INT, name STRING)", True),
    "a table that may be there": ("TABLE IF NOT EXISTS d (id INT, name STRING)", False),
    "a key of another type": ("TABLE d (id SMALLINT, name STRING)", False),
    "a format that may give back other values": ("TABLE d (id INT, name STRING) USING csv", False),
}


@pytest.mark.parametrize("what", FILLED_WITH_KEY)
def test_an_empty_table_gets_the_key_of_the_rows_that_are_inserted(
    what: str, steps: Callable[..., tuple[FileStep, ...]]
) -> None:
    definition, is_kept = FILLED_WITH_KEY[what]
    filled = f"CREATE {definition}; INSERT INTO d SELECT id, max(name) FROM people WHERE id > 1 GROUP BY id; "
    base = f"{filled}{LOOKED_UP.format('SELECT * FROM d', 'o.cust = d.id')}{READERS}"

    found = needs(rebuild_plan(steps(base), steps(base.replace("id > 1", "id > 2"))))

    assert found.pop("d") == "make"
    all_rows = {"t": "make", "of_id": "make", "of_net": "make", "counted": "n"}
    assert found == ({"t": "net", "of_net": "net"} if is_kept else all_rows)


def test_a_column_that_comes_or_goes_or_moves_makes_the_table_again_and_not_its_readers(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = f"{OF_ORDERS}{READERS}"
    added, moved = base.replace("AS net", "AS net, tax", 1), base.replace("id, amount AS net", "amount AS net, id")

    assert needs(rebuild_plan(steps(base), steps(added))) == {"t": "make"}
    assert needs(rebuild_plan(steps(added), steps(base))) == {"t": "make"}
    assert needs(rebuild_plan(steps(base), steps(moved))) == {"t": "make"}


def test_a_definition_that_changes_is_no_reason_to_make_the_readers_again(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = f"{OF_ORDERS}{READERS}"
    other = base.replace("TABLE t AS", "TABLE t USING orc PARTITIONED BY (id) AS")

    assert needs(rebuild_plan(steps(base), steps(other))) == {"t": "define"}


def test_a_star_has_the_columns_that_the_table_has_then(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = (
        "CREATE TABLE t AS SELECT id FROM orders; CREATE TABLE u AS SELECT * FROM t; CREATE TABLE v AS SELECT id FROM u"
    )

    found = needs(rebuild_plan(steps(base), steps(base.replace("SELECT id FROM orders", "SELECT id, tax FROM orders"))))

    assert found == {"t": "make", "u": "make"}


def test_a_declared_type_that_changes_is_that_of_its_column_alone(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"{OF_ORDERS}{READERS}"

    found = needs(rebuild_plan(steps(base), steps(base, DDL.replace("amount DECIMAL(10,2)", "amount DECIMAL(12,2)"))))

    assert found == {"t": "net", "of_net": "net"}


def test_where_declared_rows_are_is_a_reason_too(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"{OF_ORDERS}{READERS}"
    places = [
        DDL.replace("lines ARRAY<INT>) USING parquet", f"lines ARRAY<INT>) USING parquet LOCATION '{each}'")
        for each in "ab"
    ]

    assert needs(rebuild_plan(steps(base, places[0]), steps(base, places[0]))) == {}
    assert needs(rebuild_plan(steps(base, places[0]), steps(base, places[1]))).keys() == {"t", *ALL}


def test_what_is_written_to_a_path_is_read_by_a_table_that_is_there(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    ddl = f"{DDL}; CREATE TABLE parquet.`s3a://lake/raw/x` (id INT); CREATE TABLE at_it (id INT) USING parquet LOCATION 's3://lake/raw/x/';"
    base = "INSERT OVERWRITE parquet.`s3a://lake/raw/x` SELECT id FROM people; CREATE TABLE u AS SELECT id FROM at_it"

    found = rebuild_plan(steps(base, ddl), steps(base.replace("FROM people", "FROM people WHERE id > 1"), ddl))

    assert {each.table for each in found.made} == {"default.u", "parquet.s3a://lake/raw/x"}


def test_names_that_differ_in_case_alone_are_not_taken_for_one(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    table = "SET spark.sql.caseSensitive = true; CREATE TABLE t AS SELECT id, cust AS ID FROM orders"
    base = f"{table}{READERS.replace('net', 'id')}"

    assert "of_id" in needs(
        rebuild_plan(steps(base), steps(base.replace("SELECT id, cust", "SELECT cust AS id, cust")))
    )


def test_the_files_of_a_table_are_others_when_it_is_made_again(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"{OF_ORDERS}; CREATE TABLE u AS SELECT id, _metadata.file_name AS f FROM t"

    found = needs(rebuild_plan(steps(base), steps(base.replace("amount", "tax"))))

    assert found.keys() == {"t", "u"}


def test_tables_that_are_new_and_gone_are_named(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    before, after = "CREATE TABLE a AS SELECT id FROM orders", "CREATE TABLE b AS SELECT id FROM orders"

    found = rebuild_plan(steps(before), steps(after))

    assert [(each.table, each.action, each.places) for each in found.tables] == [
        ("default.b", "make", ("a.sql:1",)),
        ("default.a", "drop", ()),
    ]


def test_a_table_that_is_dropped_and_read_is_not_the_one_that_was_there(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = f"{OF_ORDERS}; CREATE TABLE u AS SELECT id FROM t"

    found = needs(rebuild_plan(steps(base), steps(base.replace("; CREATE TABLE u", "; DROP TABLE t; CREATE TABLE u"))))

    assert found == {"u": "make", "t": "drop"}


def test_a_table_that_is_renamed_is_the_same_under_its_new_name(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"{OF_ORDERS}; ALTER TABLE t RENAME TO u; CREATE TABLE v AS SELECT id FROM u"

    assert needs(rebuild_plan(steps(base), steps(base))) == {}
    assert needs(rebuild_plan(steps(base), steps(base.replace("amount", "tax")))) == {"u": "net"}


def test_statements_in_another_order_are_what_they_give(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    first, second = "CREATE TABLE a AS SELECT id FROM orders", "CREATE TABLE b AS SELECT id FROM people"
    update, delete = "UPDATE a SET id = 2 WHERE id = 1", "DELETE FROM a WHERE id = 2"

    assert needs(rebuild_plan(steps(f"{first};{second}"), steps(f"{second};{first}"))) == {}
    found = rebuild_plan(steps(f"{first};{update};{delete}"), steps(f"{first};{delete};{update}"))
    assert needs(found) == {"a": "make"}


def test_a_view_follows_what_it_reads_and_what_reads_it_is_made_again(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = f"{OF_ORDERS}; CREATE VIEW v AS SELECT net FROM t; CREATE TABLE u AS SELECT net + 1 AS n FROM v"

    assert needs(rebuild_plan(steps(base), steps(base.replace("amount", "tax * 2")))) == {
        "t": "net",
        "v": "define",
        "u": "n",
    }
    assert needs(rebuild_plan(steps(base), steps(base.replace("amount", "amount * 1.0BD - 1")))).keys() == {
        "t",
        "v",
        "u",
    }
    assert needs(rebuild_plan(steps(base), steps(base.replace("SELECT net FROM", "SELECT net, id FROM")))) == {
        "v": "define"
    }


def test_a_view_in_another_catalog_has_what_its_tables_have_when_it_is_read(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = (
        f"{OF_ORDERS}; CREATE VIEW lake.a.v AS SELECT id FROM t; INSERT INTO t SELECT id, 1 FROM people; "
        "CREATE TABLE u AS SELECT id FROM lake.a.v"
    )

    assert needs(rebuild_plan(steps(base), steps(base))) == {}
    found = needs(rebuild_plan(steps(base), steps(base.replace("FROM people", "FROM people WHERE id > 1"))))
    assert {"t", "u"} <= found.keys()


def test_each_table_has_its_reason_and_its_place(steps: Callable[..., tuple[FileStep, ...]]) -> None:
    base = f"{OF_ORDERS}{READERS}; CREATE TABLE apart AS SELECT id FROM people"

    found = rebuild_plan(steps(base), steps(base.replace("amount", "amount + 1", 1)))

    assert [(each.table, each.reason, each.places) for each in found.made] == [
        ("default.t", "its rows and its other columns do not change", ("a.sql:1",)),
        ("default.of_net", "its rows and its other columns do not change", ("a.sql:3",)),
    ]
    assert [(each.table, each.reason) for each in found.kept] == [
        ("default.of_id", "it reads only unchanged columns of default.t"),
        ("default.counted", "it reads only unchanged columns of default.t"),
    ]
    assert found.apart == 1


def test_tables_that_a_changed_setting_alone_makes_again_say_so_and_are_not_counted_as_kept(
    steps: Callable[..., tuple[FileStep, ...]],
) -> None:
    base = "CREATE TABLE before AS SELECT id FROM orders; SET spark.sql.session.timeZone = UTC; "
    base += "CREATE TABLE t AS SELECT id FROM orders"

    found = rebuild_plan(steps(base), steps(base.replace("UTC", "CET")))

    reason = "a setting, a function or a variable of the session has changed"
    assert [(each.table, each.reason) for each in found.made] == [("default.t", reason)]
    assert (found.kept, found.apart) == ((), 1)
