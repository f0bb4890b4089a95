"""Lineage without running: what is asked of a statement happens to nothing but the question."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from openlineage_pyspark import lineage
from openlineage_pyspark.listener.analyze import encoded_query
from openlineage_pyspark.testing import assert_golden_lineage, assert_lineage
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.predict.query import lineage_of_query
from support.flat_edges import flat, flat_of


def test_a_statement_is_not_run(session):
    """CREATE TABLE AS, INSERT and CREATE VIEW, which Spark runs at once, leave no table, no view and no job."""
    jobs = session.sparkContext._jsc.sc().statusStore()
    before = jobs.jobsList(None).size()
    lineage(session, "CREATE TABLE never_made USING parquet AS SELECT id FROM emp")
    lineage(session, "CREATE VIEW never_seen AS SELECT id FROM emp")
    lineage(session, "INSERT INTO report SELECT id, name, salary FROM emp")
    lineage(session, "DROP TABLE report")
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    assert not session.catalog.tableExists("never_made")
    assert not session.catalog.tableExists("never_seen")
    assert session.catalog.tableExists("report")
    assert jobs.jobsList(None).size() == before


def test_a_statement_takes_one_call_of_the_jvm_and_one_more_for_each_thread(session, monkeypatch):
    client = session.sparkContext._gateway._gateway_client
    send, sent = client.send_command, []

    def noted(command, *args, **kwargs):
        sent.append(command.split("\n"))
        return send(command, *args, **kwargs)

    def called():
        # A call is `c`, the object, the method; with `m` py4j lets go of objects that Python no longer has.
        return [command[2] for command in sent if command[0] != "m"]

    lineage(session, "SELECT id FROM emp")
    monkeypatch.setattr(client, "send_command", noted)
    assert lineage(session, "SELECT id FROM emp WHERE salary > 3").edges[0].target_column == "id"
    assert called() == ["encodeStatement"]
    sent.clear()
    sums = ", ".join(f"id + {at} AS sum_{at}" for at in range(100))
    encoded = encoded_query(session, f"SELECT {sums} FROM emp")
    assert len(encoded.plan) > 16_000
    assert called() == ["encodeStatement"]
    assert len(lineage_of_query(encoded).edges) == 100

    sent.clear()
    with ThreadPoolExecutor(1) as thread:
        for _ in range(2):
            assert thread.submit(encoded_query, session, f"SELECT {sums} FROM emp").result().plan
    assert called() == ["sendAtOnce", "encodeStatement", "encodeStatement"]


def test_what_spark_refuses_is_told_once_and_not_in_the_log_of_pyspark(session):
    """PySpark 4 logs each refusal as an error; that of the user's own statement stays there."""
    logger = pytest.importorskip("pyspark.logger", reason="PySpark 3.5 has no such log").PySparkLogger
    logged = []

    class Kept(logging.Handler):
        def emit(self, record):
            logged.append(record.getMessage())

    log = logger.getLogger("SQLQueryContextLogger")
    kept = Kept()
    log.addHandler(kept)
    try:
        with pytest.warns(UserWarning, match="no_such_table"):
            lineage(session, "SELECT a FROM no_such_table")
        assert logged == []
        with pytest.raises(Exception, match="no_such_table"):
            session.sql("SELECT a FROM no_such_table")
        assert len(logged) == 1
    finally:
        log.removeHandler(kept)


@pytest.mark.long
@pytest.mark.spark
def test_where_threads_share_their_connections_a_plan_comes_in_pieces(tmp_path):
    """A connection may be new then, and py4j would send a long answer on it in two parts, 40 ms apart."""
    code = """
from pyspark.sql import SparkSession
from openlineage_pyspark.listener.analyze import encoded_query
from openlineage_pyspark.workbench.predict.query import lineage_of_query

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
client, sent = spark.sparkContext._gateway._gateway_client, []
send = client.send_command


def noted(command, *args, **kwargs):
    sent.append(command.split("\\n")[2])
    return send(command, *args, **kwargs)


client.send_command = noted
sums = ", ".join(f"id + {at} AS sum_{at}" for at in range(100))
encoded = encoded_query(spark, f"SELECT {sums} FROM range(3)")
pieces = -(-len(encoded.plan) // 7_800)
assert len(encoded.plan) > 16_000
assert [each for each in sent if each.startswith("encode")] == ["encodeStatement", *["encoded"] * (pieces - 1)], sent
assert "sendAtOnce" not in sent
spark.stop()
"""
    environment = {**os.environ, "PYSPARK_PIN_THREAD": "false", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()[-1:] if done.returncode else []) == (0, [])


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("EXECUTE IMMEDIATE 'DROP TABLE former'", "EXECUTE IMMEDIATE"),
        ("BEGIN DROP TABLE former; END", "a script"),
        ("CALL shop.forget('former')", "a CALL"),
    ],
)
def test_a_statement_that_spark_runs_when_it_analyses_it_is_refused(session, statement, name):
    if session.version < "4.1":
        pytest.skip("Spark takes these statements, and runs them when it analyses them, from 4.1 on")
    with pytest.raises(ValueError, match=rf"^lineage\(\) does not support {name}: Spark runs it while analyzing"):
        lineage(session, statement)
    assert session.catalog.tableExists("former")


def test_a_text_that_is_no_sql_is_refused_as_running_it_would_be(session):
    from pyspark.errors import ParseException

    with pytest.raises(ParseException, match=r"(?i)syntax error"):
        lineage(session, "SELEC id FROM emp")


def test_a_statement_with_frames_in_it_gives_the_same_graph_each_time(session):
    """PySpark makes a view of each frame, with a name at random."""

    def graph():
        frames = {"few": session.table("emp").where("id > 3"), "all": session.table("dept")}
        query = session.sql("SELECT f.id + 1 AS n, a.city FROM {few} f JOIN {all} a ON f.dept_id = a.id", **frames)
        return lineage(session, query).to_text("json")

    first = graph()
    assert graph() == first
    assert '"label":"_pyspark_1"' in first


def test_a_table_that_is_not_there_is_named(session):
    from pyspark.errors import AnalysisException

    for query, strict in (("SELECT id FROM no_such_table", False), ("SELECT no_such_column, 1", True)):
        with pytest.raises(AnalysisException, match="no_such_"):
            lineage(session, query, from_text=strict)


def test_a_statement_that_does_not_analyze_is_told_by_its_text(session):
    """What is there has its own identity; each edge is marked, and the warning says why."""
    query = "INSERT INTO report SELECT n.id, e.name FROM no_such_table n JOIN emp e ON n.id = e.id"
    with pytest.warns(UserWarning, match="no_such_table"):
        found = lineage(session, query)
    shown = [" ".join(line.split()) for line in str(found).splitlines()]
    assert shown[:5] == [
        "default.report",
        "column from how",
        "id default.no_such_table.id IDENTITY, text",
        "name default.emp.name IDENTITY, text",
        "(every row) default.emp.id, default.no_such_table.id JOIN, text",
    ]
    assert found.inputs[1].identifier == lineage(session, "TABLE emp").inputs[0].identifier


def test_rows_that_come_out_of_an_rdd_are_not_taken_for_exact(session):
    """Not even where the RDD does not say what it reads, as of a table without files; no job is started."""
    rows = session.createDataFrame(session.table("emp").rdd.map(lambda row: (row.id,)), "id INT")
    messages = [gap.message for gap in lineage(session, rows).gaps]
    assert messages == ["the rows come from an RDD (FileScanRDD) whose inputs are unknown"]


def test_rows_that_spark_has_transposed_are_not_taken_for_constants(session):
    """Spark runs the query while it analyzes: the plan has its rows, and no word of what was read."""
    if session.version < "4.0":
        pytest.skip("DataFrames can be transposed from Spark 4.0 on")
    rows = session.range(2).selectExpr("id", "id * 2 AS twice").transpose()
    messages = [gap.message for gap in lineage(session, rows).gaps]
    assert messages == ["Spark ran the query of transpose() while analyzing: its inputs are unknown"]


def test_a_table_that_is_joined_by_a_broadcast_below_an_rdd_is_not_seen_and_that_is_told(session, tmp_path):
    """Nor is the one of a subquery: the RDD has their rows in its code."""
    for name in ("left", "right", "most"):
        session.range(3).write.parquet(str(tmp_path / name))
        session.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    joined = session.sql("SELECT /*+ BROADCAST(r) */ l.id FROM left l JOIN right r USING (id)")
    joined = joined.where("id < (SELECT max(id) FROM most)")
    found = lineage(session, session.createDataFrame(joined.rdd.map(tuple), "id BIGINT"))
    assert [Path(dataset.identifier.name).name for dataset in found.inputs] == ["left"]
    (gap,) = found.gaps
    assert gap.message.endswith("and so are the tables that its query reads by a broadcast join or a subquery")


def test_the_rdd_of_a_query_that_is_known_to_be_empty_says_so(session, tmp_path):
    """Spark has read what it read before: nothing tells what that was."""
    session.range(3).write.parquet(str(tmp_path / "some"))
    rows = session.read.parquet(str(tmp_path / "some")).where("false").rdd.map(tuple)
    messages = [gap.message for gap in lineage(session, session.createDataFrame(rows, "id BIGINT")).gaps]
    assert messages == ["the rows come from an RDD (EmptyRDD) whose inputs are unknown"]


def test_lineage_is_asserted_in_other_tests(session, tmp_path, monkeypatch):
    frame = session.table("emp").where("bonus > 1").selectExpr("id", "upper(name) AS n", "if(id > 1, salary, 0) AS s")
    values = {"id": ["default.emp.id"], "n": ["default.emp.name"], "s": ["default.emp.salary"]}
    assert_lineage(frame, values, rows=["default.emp.bonus"])
    kinds = {"s": ["default.emp.salary TRANSFORMATION", "default.emp.id CONDITIONAL"]}
    assert_lineage(frame, {**values, **kinds}, rows=["default.emp.bonus FILTER"])
    with pytest.raises(AssertionError, match=r"(?m)^-  default\.emp\.dept_id$\n^\+  default\.emp\.name$"):
        assert_lineage(frame, {**values, "n": ["default.emp.dept_id"]})
    golden = tmp_path / "golden" / "frame.txt"
    with pytest.raises(AssertionError, match="does not exist: run the test once with OPENLINEAGE_PYSPARK_REGOLD=1"):
        assert_golden_lineage(frame, golden)
    monkeypatch.setenv("OPENLINEAGE_PYSPARK_REGOLD", "1")
    assert_golden_lineage(frame, golden)
    monkeypatch.delenv("OPENLINEAGE_PYSPARK_REGOLD")
    assert_golden_lineage(frame, golden)
    with pytest.raises(AssertionError, match=r"(?m)^-  id +default\.emp\.id +IDENTITY$"):
        assert_golden_lineage(frame.drop("id"), golden)


def test_what_is_neither_frame_nor_text_is_refused(session):
    for wrong, kind in ((["SELECT 1"], "list"), (None, "NoneType"), (Path("q.sql"), r"pathlib.*Path")):
        with pytest.raises(TypeError, match=f"takes a DataFrame or the text of an SQL statement, not {kind}"):
            lineage(session, wrong)


def test_wrong_arguments_are_told_apart(session):
    for wrong in (("SELECT 1", session), (session.range(1), session)):
        with pytest.raises(TypeError, match="takes the session first and the query second"):
            lineage(*wrong)
    with pytest.raises(TypeError, match="expected a SparkSession, got NoneType"):
        lineage(None, "SELECT 1")


def test_an_explain_is_refused_with_what_to_pass(session):
    with pytest.raises(ValueError, match=r"does not support EXPLAIN: pass the statement without it"):
        lineage(session, "EXPLAIN SELECT 1")


@pytest.mark.parametrize("statement", ["SHOW TABLES", "SET x = 1", "CREATE TEMP VIEW tv AS SELECT id FROM emp"])
def test_a_statement_that_writes_no_dataset_says_so(session, statement):
    assert str(lineage(session, statement)).splitlines()[0] == "no lineage: this statement writes no dataset"


def test_a_statement_that_writes_no_column_says_so(session):
    assert str(lineage(session, "DROP TABLE former")).splitlines() == ["default.former", "  no column lineage"]


def test_it_prints_as_a_table(session):
    found = lineage(session, "SELECT dept_id, sum(salary) AS total, 1 AS one FROM emp GROUP BY dept_id")
    assert str(found).splitlines() == [
        "(query)",
        "  column       from                 how",
        "  dept_id      default.emp.dept_id  IDENTITY",
        "  total        default.emp.salary   AGGREGATION  sum(emp.salary)",
        "  one          -                    no source column  1",
        "  (every row)  default.emp.dept_id  GROUP_BY",
    ]
    assert repr(found) == str(found)


def test_it_prints_whole_expressions(session):
    """The output may go into a file."""
    query = "SELECT " + " + ".join(["salary"] * 20) + " AS much FROM emp"
    assert str(lineage(session, query)).count("salary") == 21


def test_it_shows_in_a_notebook_with_every_text_escaped(session):
    shown = lineage(session, "SELECT salary < 3 AS `<b>` FROM emp")._repr_html_()
    assert '<caption style="text-align:left">(query)</caption>' in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


def test_it_is_plain_lists_and_dicts_on_demand(session):
    found = lineage(session, "INSERT INTO report SELECT id, name, salary FROM emp WHERE bonus > 1").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["columns"] == [["id", "name", "total"]]
    assert [(e.column, e.source_column, e.type, e.subtype) for e in flat_of(found)] == [
        ("id", "id", "DIRECT", "IDENTITY"),
        ("name", "name", "DIRECT", "IDENTITY"),
        ("total", "salary", "DIRECT", "IDENTITY"),
        (None, "bonus", "INDIRECT", "FILTER"),
    ]


def test_each_edge_tells_the_text_of_its_expression(session):
    found = lineage(session, "SELECT upper(name) AS n, id FROM emp WHERE salary > 3 ORDER BY hired")
    assert {(e.column, e.source_column): e.expression for e in flat(found)} == {
        ("n", "name"): "upper(emp.name)",
        ("id", "id"): "",
        (None, "salary"): "(emp.salary > 3)",
        (None, "hired"): "emp.hired ASC NULLS FIRST",
    }


def test_the_alias_of_a_pivoted_aggregate_is_no_part_of_its_text(session):
    query = """
        SELECT q1_total FROM (SELECT quarter, amount FROM sale)
        PIVOT (sum(amount) AS total, max(amount) AS most FOR quarter IN ('q1', 'q2'))
    """
    found = {edge.subtype: edge.expression for edge in flat(lineage(session, query)) if edge.column == "q1_total"}
    assert found["AGGREGATION"] == "(sum(sale.amount) FOR sale.quarter = 'q1')"


@pytest.mark.any_spark
class TestNamedSources:
    """DataFrames that a test has made are the sources that it names."""

    @pytest.fixture
    def orders(self, session):
        return session.createDataFrame([(1, 2, "a")], "id int, amount int, country string")

    def test_what_has_no_source_otherwise_comes_from_the_name(self, session, orders):
        found = orders.where("id > 1").groupBy("country").agg({"amount": "sum"}).toDF("country", "total")
        assert_lineage(found, {"country": [], "total": []})
        columns = {"country": ["orders.country"], "total": ["orders.amount"]}
        assert_lineage(found, columns, sources={"orders": orders}, rows=["orders.id FILTER", "orders.country GROUP_BY"])
        assert lineage(session, found, sources={"orders": orders}).edges[1].target_column == "total"

    def test_a_dataframe_that_is_joined_with_itself_or_read_by_a_view_is_one_source(self, session, orders):
        left, right = orders.alias("a"), orders.alias("b")
        joined = left.join(right).where("a.id = b.amount").selectExpr("a.country AS l", "b.country AS r")
        columns = {"l": ["orders.country"], "r": ["orders.country"]}
        assert_lineage(joined, columns, sources={"orders": orders}, rows=["orders.id", "orders.amount"])
        orders.createOrReplaceTempView("orders_view")
        columns = {"amount": ["orders.amount"]}
        assert_lineage("SELECT amount FROM orders_view", columns, sources={"orders": orders}, spark=session)

    def test_a_field_of_a_source_is_a_field_of_its_name(self, session):
        people = session.createDataFrame([], "id int, home struct<city: string, street: string>, `a.b` struct<c: int>")
        found = people.selectExpr("home.city", "home", "`a.b`.c")
        columns = {"city": ["people.home.city"], "home": ["people.home"], "c": ["people.`a.b`.c"]}
        assert_lineage(found, columns, sources={"people": people})

    def test_what_a_source_was_made_of_does_not_count(self, orders):
        net = orders.selectExpr("*", "amount * 2 AS net").where("country = 'a'")
        twice = net.alias("a").join(net.alias("b")).where("a.id = b.id").selectExpr("a.net", "b.net AS other")
        columns = {"net": ["net.net"], "other": ["net.net"]}
        assert_lineage(twice, columns, sources={"net": net}, rows=["net.id FILTER"])
        # The whole query as a source of its own.
        assert_lineage(net, {name: [f"it.{name}"] for name in net.columns}, sources={"it": net}, rows=[])

    def test_sources_that_differ_by_a_literal_alone_are_told_apart(self, orders):
        one, other = orders.where("id > -1"), orders.where("id > -2")
        both = one.selectExpr("amount AS v").union(other.selectExpr("amount * 2 AS v"))
        assert_lineage(both, {"v": ["one.amount", "other.amount"]}, sources={"one": one, "other": other})

    # PySpark 3.5 asks pandas in a way that it has deprecated.
    @pytest.mark.filterwarnings("ignore:is_datetime64tz_dtype:DeprecationWarning")
    def test_rows_in_the_plan_itself_are_told_apart_as_far_as_they_can_be(self, session):
        pandas = pytest.importorskip("pandas")
        first, second = (session.createDataFrame(pandas.DataFrame({"id": [1], "w": [w]})) for w in (2.0, 3.0))
        both = first.union(second).selectExpr("w * 2 AS v")
        assert_lineage(both, {"v": ["p.w", "q.w"]}, sources={"p": first, "q": second})
        numbers = session.range(5)
        assert_lineage(numbers.selectExpr("id + 1 AS n"), {"n": ["r.id"]}, sources={"r": numbers})

    def test_a_source_that_is_not_read_or_stands_twice_is_refused(self, session, orders):
        other = session.createDataFrame([(1,)], "id int")
        with pytest.raises(ValueError, match=r"the query does not read the DataFrame other$"):
            assert_lineage(orders, {}, sources={"orders": orders, "other": other})
        with pytest.raises(ValueError, match=r"a and b are the same DataFrame"):
            assert_lineage(orders, {}, sources={"a": orders, "b": orders})
        with pytest.raises(ValueError, match=r"the name of a DataFrame must be a string that is not empty"):
            assert_lineage(orders, {}, sources={"": orders})
        with pytest.raises(TypeError, match=r"pass sources to lineage\(\)"):
            assert_lineage(lineage(session, orders), {}, sources={"orders": orders})


@pytest.mark.any_spark
def test_an_answer_is_a_table_of_spark_whatever_its_columns_hold(session):
    rows = ({"a`b": 1, "c": True, "d": None}, {"a`b": 2.5, "c": None, "d": [1, 2]})

    frame = Answer("sql", {}, Rows("row", rows)).to_spark(session)

    assert frame.dtypes == [("a`b", "double"), ("c", "boolean"), ("d", "string")]
    assert [tuple(row) for row in frame.collect()] == [(1.0, True, None), (2.5, None, "1; 2")]
