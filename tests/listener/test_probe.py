"""What leaves the driver's JVM: each plan once, within bounds, without rows or secrets, and without a job."""

from __future__ import annotations

import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import CutText
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.trace.texts import own_text
from openlineage_pyspark.listener.analyze import analyzed_plan
from openlineage_pyspark.listener.probe import class_cache, java_sources
from openlineage_pyspark.listener.probe.client import Probe, load_class
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from support.spark_jobs import SPARK_VERSION

CANARY = "canary-5f1c9e"
# PySpark 3 comes with Scala 2.12.
SEQUENCE = "scala.collection.Seq" if SPARK_VERSION.startswith("3.") else "scala.collection.immutable.Seq"
STRANGE = """
package strange;
import org.apache.spark.sql.catalyst.plans.logical.Project;
public class %(name)s extends Project {
  public %(name)s(Project like) { super(like.projectList(), like.child()); }
  public %(method)s
}
"""


@pytest.fixture(scope="module")
def spark(process_jvm, tmp_path_factory):
    """Give a session with one table."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .appName("probe")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    session.sql("CREATE TABLE emp (id INT, name STRING, salary INT) USING parquet")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def encode(spark):
    """Give the encoding of a frame, a statement or a JVM plan, with the default bounds or with others.

    Each probe is a class of its own in the JVM and has a thread of its own here, as a listener has: py4j keeps what it
    found of a class by the class's name, one memory for each thread.
    """
    from py4j.java_gateway import JavaObject

    probes = {}

    def encoding(query, **limits):
        key = tuple(limits.items())
        if key not in probes:
            thread = ThreadPoolExecutor(1)
            probes[key] = thread, thread.submit(Probe, spark.sparkContext._gateway, ProbeLimits(**limits)).result()
        thread, probe = probes[key]
        plan = query if isinstance(query, JavaObject) else analyzed_plan(spark, query)
        return thread.submit(probe.encode, plan, spark._jsparkSession).result()

    yield encoding
    for thread, _ in probes.values():
        thread.shutdown()


@pytest.fixture(scope="module")
def catalyst(spark):
    """Give what puts a plan together without the analyzer, which would take minutes for thousands of operators."""
    return Catalyst(spark)


class Catalyst:
    """Catalyst's own nodes."""

    def __init__(self, spark):
        package = spark._jvm.org.apache.spark.sql.catalyst
        self._logical, self._expressions = package.plans.logical, package.expressions
        self._union = getattr(getattr(self._logical, "Union$"), "MODULE$")
        self._spark = spark

    def analyzed(self, frame):
        return frame._jdf.queryExecution().analyzed()

    def union(self, left, right):
        return self._union.apply(left, right)

    def union_of(self, plans):
        by_name = missing_allowed = False
        return self._logical.Union(self._spark._jvm.PythonUtils.toSeq(plans), by_name, missing_allowed)

    def project(self, child, like=None):
        return self._logical.Project((like or child).output(), child)

    def filter(self, condition, child):
        return self._logical.Filter(condition, child)

    def negated(self, value):
        return self._expressions.Not(value)

    def both(self, value):
        return self._expressions.And(value, value)

    def alias(self, value, like):
        """Give an alias of an expression, of the name and exprId of another alias."""
        as_like = (like.exprId(), like.qualifier(), like.explicitMetadata(), like.nonInheritableMetadataKeys())
        return self._expressions.Alias(value, like.name(), *as_like)

    def projected(self, value, child):
        return self._logical.Project(self._spark._jvm.PythonUtils.toSeq([value]), child)

    def strange(self, name, method, like):
        """Give an operator of a class that is compiled here: a projection, but for one method."""
        jvm = self._spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(STRANGE % {"name": name, "method": method})
        arguments = self._spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
        arguments[0] = like
        return compiler.getClassLoader().loadClass(f"strange.{name}").getConstructors()[0].newInstance(arguments)


def terminated(jvm, problem):
    """Give Spark's event of a streaming query that has ended with a problem."""
    streams = jvm.org.apache.spark.sql.streaming
    id_, no = jvm.java.util.UUID.randomUUID(), getattr(jvm.scala, "None$").__getattr__("MODULE$")
    return getattr(streams, "StreamingQueryListener$QueryTerminatedEvent")(id_, id_, jvm.scala.Some(problem), no)


def named(plan, name):
    return [operator for operator in plan.operators if operator.name == name]


def test_a_plan_is_encoded_with_its_tree_its_attributes_and_its_table(encode):
    plan = decode_plan(encode("SELECT id, upper(name) AS n FROM emp WHERE salary > 1"))
    assert [operator.name for operator in plan.operators] == ["Project", "Filter", "SubqueryAlias", "LogicalRelation"]
    assert [column.name for column in plan.top.output] == ["id", "n"]
    assert [(a.name, a.type) for a in plan.attributes.values()] == [
        ("id", "int"),
        ("n", "string"),
        ("name", "string"),
        ("salary", "int"),
    ]
    table = named(plan, "LogicalRelation")[0].described("catalogTable")
    assert table is not None
    assert str(table.values["locationUri"]).endswith("/emp")
    assert not plan.cut
    assert plan.broken == ()


def test_a_node_that_is_used_twice_is_encoded_once(spark, encode, catalyst):
    """The same operator on both sides of a union, the same expression on both sides of AND."""
    frame = catalyst.analyzed(spark.table("emp").where("salary > 1"))
    condition = catalyst.both(catalyst.negated(frame.condition()))
    plan = decode_plan(encode(catalyst.filter(condition, catalyst.union(frame, frame))))
    assert [operator.name for operator in plan.operators] == [
        "Filter",
        "Union",
        "Filter",
        "SubqueryAlias",
        "LogicalRelation",
    ]
    assert sorted(expression.name for expression in plan.expressions) == ["And", "GreaterThan", "Literal", "Not"]


def test_doubling_a_frame_twelve_times_does_not_double_its_encoding(spark, encode, catalyst):
    """A frame that is united with itself over and over has 4,096 paths, but few nodes."""
    plan = catalyst.analyzed(spark.table("emp"))
    for _ in range(12):
        plan = catalyst.union(plan, plan)
    assert len(decode_plan(encode(plan)).operators) == 14


def test_a_plan_larger_than_the_bound_in_nodes_is_cut_with_a_mark(encode):
    query = "SELECT " + ", ".join(f"salary + {n} AS c{n}" for n in range(200)) + " FROM emp"
    whole, cut = decode_plan(encode(query)), decode_plan(encode(query, max_nodes=50))
    assert not whole.cut
    assert cut.cut
    assert len(json.loads(encode(query, max_nodes=50))["nodes"]) >= 50
    assert sum(node is not None for node in json.loads(encode(query, max_nodes=50))["nodes"]) == 50
    assert [r.task for r in lineage_of_plan(cut, Session()).gaps].count("plan") == 1


def test_a_plan_larger_than_the_bound_in_bytes_is_cut_with_a_mark(encode):
    query = "SELECT " + ", ".join(f"salary + {n} AS c{n}" for n in range(2000)) + " FROM emp"
    whole, cut = encode(query), encode(query, max_bytes=20_000)
    assert not decode_plan(whole).cut
    assert decode_plan(cut).cut
    assert len(cut) < len(whole) / 2


def test_the_rows_of_local_data_are_never_encoded(spark, encode):
    rows = [(n, f"{CANARY}-{n}") for n in range(10_000)]
    text = encode(spark.createDataFrame(rows, "id INT, name STRING").where("id > 3"))
    assert CANARY not in text
    assert len(text) < 10_000
    assert CANARY not in encode(f"SELECT * FROM VALUES (1, '{CANARY}'), (2, 'x') AS t(a, b)")


def test_of_values_with_variables_only_the_names_are_encoded(spark, encode):
    if spark.version.startswith("3."):
        pytest.skip("Spark 3.5 has no variables")
    spark.sql("DECLARE OR REPLACE VARIABLE probed INT DEFAULT 1")
    try:
        rows = f"(session.probed + 1, '{CANARY}'), (2, upper('{CANARY}')), (probed, -- {CANARY}\n r'\\{CANARY}')"
        text = encode(f"SELECT * FROM VALUES {rows} AS t(a, b)")
    finally:
        spark.sql("DROP TEMPORARY VARIABLE probed")
    assert CANARY not in text
    (leaf,) = (operator for operator in decode_plan(text).operators if operator.name == "LocalRelation")
    assert leaf.arguments["names"] == (((False, "session.probed"), (False,)), ((True, "probed"), (False,)))


def test_the_values_of_options_never_leave_the_jvm(spark, encode, tmp_path):
    """Neither of a reader of either API, nor of a table or a directory that is written."""
    versions = spark.conf.get("spark.sql.sources.useV1SourceList")
    for sources in (versions, ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", sources)
        reader = spark.read.schema("id INT").option("password", CANARY).option("fs.s3a.secret.key", CANARY)
        assert CANARY not in encode(reader.csv(str(tmp_path)))
    spark.conf.set("spark.sql.sources.useV1SourceList", versions)
    options = f"OPTIONS (password '{CANARY}') "
    assert CANARY not in encode(f"CREATE TABLE made USING parquet {options} AS SELECT id FROM emp")
    assert CANARY not in encode(f"CREATE TABLE made USING parquet TBLPROPERTIES (secret '{CANARY}') AS SELECT 1 AS a")
    directory = f"INSERT OVERWRITE DIRECTORY '{tmp_path}' USING parquet {options} SELECT id FROM emp"
    assert CANARY not in encode(directory)


@pytest.mark.long
@pytest.mark.any_spark
def test_a_union_of_five_thousand_branches_is_encoded_and_traced(spark, encode, catalyst):
    """Five thousand calls of DataFrame.union leave one such operator."""
    one, two = (catalyst.analyzed(spark.table("emp").select(name)) for name in ("id", "salary"))
    decoded = decode_plan(encode(catalyst.union_of([one] + [catalyst.project(two) for _ in range(4_999)])))
    assert len(decoded.top.sequence("children")) == 5_000
    assert decoded.broken == ()
    columns = lineage_of_plan(decoded, Session()).columns
    assert columns is not None
    assert [edge.field for edge in columns.columns[0].edges] == ["id", "salary"]


@pytest.mark.any_spark
def test_five_hundred_nested_unions_are_encoded_and_traced(spark, encode, catalyst):
    """A statement with five hundred UNION ALL leaves such a plan."""
    plan = catalyst.analyzed(spark.table("emp").select("id"))
    other = catalyst.analyzed(spark.table("emp").select("salary"))
    for _ in range(500):
        plan = catalyst.union(plan, other)
    decoded = decode_plan(encode(plan))
    assert len(named(decoded, "Union")) == 500
    assert decoded.broken == ()
    columns = lineage_of_plan(decoded, Session()).columns
    assert columns is not None
    assert [edge.field for edge in columns.columns[0].edges] == ["id", "salary"]


@pytest.mark.long
@pytest.mark.any_spark
def test_five_thousand_projections_are_encoded_and_traced(spark, encode, catalyst):
    """Five thousand calls of withColumn make such a plan."""
    plan = catalyst.analyzed(spark.table("emp").select("id", "salary"))
    for _ in range(5_000):
        plan = catalyst.project(plan)
    decoded = decode_plan(encode(plan))
    assert len(named(decoded, "Project")) == 5_001
    assert decoded.broken == ()
    columns = lineage_of_plan(decoded, Session()).columns
    assert columns is not None
    assert [[edge.field for edge in column.edges] for column in columns.columns] == [["id"], ["salary"]]


@pytest.mark.long
@pytest.mark.any_spark
def test_an_expression_five_thousand_deep_is_encoded_and_traced(spark, encode, catalyst):
    frame = catalyst.analyzed(spark.table("emp").where("salary > 1"))
    condition = frame.condition()
    for _ in range(5_000):
        condition = catalyst.negated(condition)
    decoded = decode_plan(encode(catalyst.filter(condition, frame)))
    assert sum(expression.name == "Not" for expression in decoded.expressions) == 5_000
    assert decoded.broken == ()
    columns = lineage_of_plan(decoded, Session()).columns
    assert columns is not None
    assert [edge.field for edge in columns.dataset] == ["salary"]


@pytest.mark.parametrize(
    ("name", "method", "problem"),
    [
        ("Raising", f"{SEQUENCE} output() {{ throw new IllegalStateException(); }}", "IllegalStateException"),
        ("Endless", f"{SEQUENCE} output() {{ return output(); }}", "StackOverflowError"),
        ("Linkless", f"{SEQUENCE} output() {{ throw new NoClassDefFoundError(); }}", "NoClassDefFoundError"),
        ("Closed", "Object productElement(int n) { throw new IllegalStateException(); }", "IllegalStateException"),
        ("Shapeless", "int productArity() { throw new IllegalStateException(); }", "IllegalStateException"),
    ],
)
def test_an_operator_that_refuses_to_answer_costs_that_operator_alone(spark, encode, catalyst, name, method, problem):
    like = catalyst.analyzed(spark.table("emp").where("salary > 1").select("id"))
    decoded = decode_plan(encode(catalyst.project(catalyst.strange(name, method, like), like)))
    assert [operator.name for operator in decoded.operators] == [
        "Project",
        name,
        "Filter",
        "SubqueryAlias",
        "LogicalRelation",
    ]
    assert decoded.broken == (f"strange.{name}: java.lang.{problem}",)
    found = lineage_of_plan(decoded, Session())
    assert [Path(dataset.identifier.name).name for dataset in found.inputs] == ["emp"]
    assert [edge.field for edge in found.columns.dataset] == ["salary"]
    (remark,) = found.gaps
    assert (remark.task, remark.message) == (
        f"strange.{name}",
        f"could not be read (java.lang.{problem}): what passes through it is unknown",
    )


@pytest.mark.any_spark
def test_the_lineage_of_an_expression_three_thousand_deep_is_found(spark, encode, catalyst):
    """Its output, type and text are worked out by Catalyst, by recursion."""
    frame = catalyst.analyzed(spark.table("emp").where("salary > 1"))
    value = frame.condition()
    for _ in range(3_000):
        value = catalyst.negated(value)
    like = catalyst.analyzed(spark.table("emp").selectExpr("salary AS deep")).projectList().head()
    decoded = decode_plan(encode(catalyst.projected(catalyst.alias(value, like), frame)))
    assert sum(expression.name == "Not" for expression in decoded.expressions) == 3_000
    assert decoded.broken == ()
    columns = lineage_of_plan(decoded, Session()).columns
    assert [(column.name, [edge.field for edge in column.edges]) for column in columns.columns] == [
        ("deep", ["salary"])
    ]


@pytest.mark.long
@pytest.mark.any_spark
def test_each_of_five_thousand_columns_has_its_source(spark, encode):
    names = [f"c{number}" for number in range(5_000)]
    decoded = decode_plan(encode(spark.table("emp").selectExpr(*(f"salary + {name[1:]} AS {name}" for name in names))))
    assert not decoded.cut
    columns = lineage_of_plan(decoded, Session()).columns
    assert [column.name for column in columns.columns] == names
    assert {edge.field for column in columns.columns for edge in column.edges} == {"salary"}


@pytest.mark.any_spark
def test_a_plan_of_ten_thousand_operators_is_encoded_whole(spark, encode, catalyst):
    plan = catalyst.analyzed(spark.table("emp").select("id", "salary"))
    for _ in range(10_000):
        plan = catalyst.project(plan)
    decoded = decode_plan(encode(plan))
    assert (len(named(decoded, "Project")), decoded.cut, decoded.broken) == (10_001, False, ())


def test_a_text_of_more_than_ten_thousand_characters_is_cut_with_a_mark(encode):
    whole, cut = "w" * 10_000, "c" * 10_001
    decoded = decode_plan(encode(f"SELECT id AS {whole}, id AS {cut} FROM emp"))
    names = [e.arguments["name"] for e in decoded.expressions if e.name == "Alias"]
    assert names == [whole, f"{cut[:10_000]}..."]
    assert [type(name) for name in names] == [str, CutText]


def test_each_of_1100_directories_of_an_rdd_is_an_input_and_those_beyond_the_bound_are_told(spark, encode):
    paths = [f"file:/in/{number:04}" for number in range(1_100)]
    rdd = spark.sparkContext.textFile(",".join(paths)).map(lambda line: (line,))
    frame = spark.createDataFrame(rdd, "line STRING")
    whole, cut = (decode_plan(text) for text in (encode(frame), encode(frame, max_bytes=5_000)))
    found = [lineage_of_plan(plan, Session()) for plan in (whole, cut)]
    assert [dataset.identifier.name for dataset in found[0].inputs] == [path.removeprefix("file:") for path in paths]
    assert (whole.cut, cut.cut) == (False, True)
    assert 100 < len(found[1].inputs) < 1_000
    assert "the plan was larger than its bounds and was cut" in [gap.message for gap in found[1].gaps]


@pytest.mark.any_spark
def test_a_hundred_megabytes_of_local_rows_are_left_where_they_are(encode):
    rows = ", ".join(f"({number}, repeat('{CANARY[0]}', 1000000))" for number in range(100))
    text = encode(f"SELECT * FROM VALUES {rows} AS t(a, b)")
    assert [operator.name for operator in decode_plan(text).operators][-1] == "LocalRelation"
    assert len(text) < 2_000


def test_the_compiled_classes_are_kept_for_the_next_application(spark, tmp_path, monkeypatch):
    """They are compiled again if the kept files are no classes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jvm = spark._jvm
    source = java_sources.compilation_unit()
    load_class(jvm, source)
    (kept,) = (tmp_path / "openlineage-pyspark" / "probe").iterdir()
    classes, written = class_cache.cached_classes(kept.parent, kept.name), kept.stat().st_ino
    assert classes is not None
    assert load_class(jvm, source).getName() == "openlineage.pyspark.Probe"
    assert kept.stat().st_ino == written
    class_cache.store(kept.parent, kept.name, dict.fromkeys(classes, b"no class"))
    assert load_class(jvm, source).getName() == "openlineage.pyspark.Probe"
    assert class_cache.cached_classes(kept.parent, kept.name) == classes


def test_without_the_cache_nothing_is_kept(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (
        load_class(spark._jvm, java_sources.compilation_unit(), cached=False).getName() == "openlineage.pyspark.Probe"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["line\nbreak \u2028 \x00\x1f\x7f", 'quote " \\ /', "é 中 😀"])
def test_every_text_arrives_as_it_is(encode, text):
    """Line breaks end a record."""
    units = memoryview(text.encode("utf-16-le")).cast("H")
    literal = "".join(f"\\u{unit:04x}" for unit in units)
    encoded = encode(f"SELECT concat(name, '{literal}') AS odd FROM emp")
    assert "\n" not in encoded
    (odd,) = [expression for expression in decode_plan(encoded).expressions if expression.name == "Alias"]
    assert own_text(odd.sql).endswith(", '" + text.replace("\\", r"\\") + "')")


def test_a_surrogate_that_stands_alone_arrives_although_it_can_not_be_sent_as_utf_8(spark):
    jvm = spark._jvm
    probe = Probe(spark.sparkContext._gateway, ProbeLimits())
    text = jvm.java.lang.StringBuilder()
    for unit in (0xD83D, ord("a"), 0xDE00):
        text.appendCodePoint(unit)
    probe._java.onOtherEvent(terminated(jvm, text))
    (record,) = probe.take(0)
    assert json.loads(record)["error"]["message"] == "\ud83da\ude00"


def test_no_answer_of_the_probe_is_longer_than_py4j_writes_at_once(spark):
    jvm = spark._jvm
    probe = Probe(spark.sparkContext._gateway, ProbeLimits())
    text = 'a\\"\u00e9\u20ac\ud7ff' * 3_000
    for at in range(3):
        probe._java.onOtherEvent(terminated(jvm, f"{at}{text}"))
    number, count = map(int, probe._java.take(0, 0).split(" "))
    pieces = [probe._java.piece(at) for at in range(count)]
    written = [len(re.sub(r"([\\\r\n])", r"\\\1", piece).encode()) for piece in pieces]
    # A piece ends where no further character fits: three bytes at most.
    assert [7_998 <= size <= 8_000 for size in written[:-1]] == [True] * (count - 1)
    assert 0 < written[-1] <= 8_000
    records = "".join(pieces).split("\n")
    assert [json.loads(record)["error"]["message"] for record in records] == [f"{at}{text}" for at in range(3)]
    # The answer got lost: the batch comes again.
    assert int(probe._java.take(number - 1, 0).split(" ")[0]) == number
    assert [json.loads(record)["error"]["message"][0] for record in probe.take(0)] == ["0", "1", "2"]
    assert probe.take(0) == []


def test_encoding_starts_no_job(spark, encode):
    """Not even for a frame whose rows come from an RDD, from Python code or from a cached query."""
    context = spark.sparkContext
    rdd = context.parallelize([(1, "a")], 1)
    frames = [
        spark.table("emp").where("salary > 1").cache(),
        spark.createDataFrame(rdd, "id INT, name STRING"),
        spark.range(10).repartition(3).orderBy("id"),
        spark.range(3).mapInPandas(lambda parts: parts, "id LONG"),
    ]
    tracker = context._jsc.sc().statusStore()
    before = tracker.jobsList(None).size()
    for frame in frames:
        encode(frame)
    context._jsc.sc().listenerBus().waitUntilEmpty()
    assert tracker.jobsList(None).size() == before


def test_the_encoding_of_a_plan_is_the_same_twice(encode):
    query = "SELECT name, sum(salary) AS s FROM emp GROUP BY name HAVING sum(salary) > 3"
    first, second = decode_plan(encode(query)), decode_plan(encode(query))
    assert [operator.name for operator in first.operators] == [operator.name for operator in second.operators]
    assert [expression.name for expression in first.expressions] == [e.name for e in second.expressions]


def test_a_value_that_is_neither_frame_nor_text_is_refused(spark):
    with pytest.raises(TypeError, match="takes a DataFrame or the text of an SQL statement, not int"):
        analyzed_plan(spark, 3)


@pytest.mark.any_spark
def test_what_waits_for_python_takes_a_sixteenth_of_the_drivers_heap_at_most(spark):
    jvm = spark._jvm
    most = jvm.java.lang.Runtime.getRuntime().maxMemory() // 16
    probe = Probe(spark.sparkContext._gateway, ProbeLimits(max_waiting=1 << 60))
    # All of the text but its first line stands in the record once, as far as it is sent.
    event = terminated(jvm, "\n" + "x" * 50_000)
    fitting = most // 40_500

    for _ in range(fitting):
        probe._java.onOtherEvent(event)
    assert probe.lost() == 0
    for _ in range(fitting // 50):
        probe._java.onOtherEvent(event)
    assert probe.lost() > 0
    lost = probe.lost()
    while probe.take(0):
        pass
    probe._java.onOtherEvent(event)
    assert probe.lost() == lost


@pytest.mark.any_spark
def test_a_plan_whose_start_found_no_room_comes_with_the_end(spark, tmp_path):
    context, go = spark.sparkContext, str(tmp_path / "go")

    def waits(_value):
        while not os.path.exists(go):  # noqa: PTH110
            time.sleep(0.05)
        return go

    probe = Probe(context._gateway, ProbeLimits(max_waiting=41_000))
    probe.attach(context._jsc)
    probe._java.onOtherEvent(terminated(spark._jvm, "\n" + "x" * 50_000))
    slow = spark.createDataFrame(context.parallelize([1], 1).map(lambda value: (waits(value),)), "a STRING")

    with ThreadPoolExecutor(1) as thread:
        written = thread.submit(slow.write.parquet, str(tmp_path / "out"))
        while not context.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        probe.settle(context._jsc, 60)
        lost = probe.lost()
        (before,) = probe.take(0)
        Path(go).touch()
        written.result()
    probe.settle(context._jsc, 60)
    records = [json.loads(record) for record in probe.take(0)]
    probe.detach(context._jsc)

    assert lost == 1
    assert json.loads(before)["k"] == "stream"
    assert [(record["k"], record["class"].rsplit(".", 1)[-1], "plan" in record) for record in records] == [
        ("end", "InsertIntoHadoopFsRelationCommand", True)
    ]


@pytest.mark.any_spark
def test_the_settings_of_a_statement_are_those_of_its_own_session(spark, tmp_path):
    context = spark.sparkContext
    zone, mode = "spark.sql.session.timeZone", "spark.sql.sources.partitionOverwriteMode"
    probe = Probe(context._gateway, ProbeLimits())
    probe.attach(context._jsc)
    other = spark.newSession()
    spark.range(1).write.parquet(str(tmp_path / "first"))
    for key, value in ((zone, "Asia/Tokyo"), (mode, "dynamic"), ("spark.sql.shuffle.partitions", "3")):
        other.conf.set(key, value)
    other.sql("CREATE DATABASE mart")
    other.sql("USE mart")
    other.range(1).write.parquet(str(tmp_path / "second"))
    other.conf.set(mode, "static")
    # Many of these are over before the listener hears that they begin.
    for number in range(40):
        spark.sql(f"CREATE OR REPLACE TEMP VIEW quick AS SELECT {number} AS a")
    probe.settle(context._jsc, 60)
    records = [json.loads(record) for record in probe.take(0)]
    probe.detach(context._jsc)
    other.sql("DROP DATABASE mart")

    written = [record["session"] for record in records if "InsertIntoHadoopFs" in record.get("class", "")]
    told = [record["id"] for record in records if "session" in record]
    assert sorted(told) == sorted(record["id"] for record in records if record["k"] == "start")
    ansi = {"spark.sql.ansi.enabled": "false" if SPARK_VERSION.startswith("3.") else "true"}
    assert written == [
        {**ansi, zone: spark.conf.get(zone)},
        {**ansi, zone: "Asia/Tokyo", mode: "dynamic", "schema": "mart"},
    ]


def test_only_a_server_of_py4j_sends_at_once(spark):
    probe = Probe(spark.sparkContext._gateway, ProbeLimits())
    jvm, server = spark._jvm, spark.sparkContext._gateway.java_gateway_server
    held = jvm.java.lang.Class.forName("py4j.GatewayServer").getDeclaredField("connections")
    held.setAccessible(True)

    assert probe._java.sendAtOnce(server) is True
    assert {connection.getSocket().getTcpNoDelay() for connection in list(held.get(server))} == {True}
    for other in (jvm.java.lang.Object(), None):
        assert probe._java.sendAtOnce(other) is False


def test_an_encoding_that_is_not_read_to_its_end_makes_room_for_64_others(spark):
    """A reader that comes back so late is told, and the JVM does not keep what nobody reads."""
    columns = ", ".join(f"id + {at} AS sum_{at}" for at in range(100))
    plan = analyzed_plan(spark, f"SELECT {columns} FROM emp")

    class Slow:
        """The probe in the JVM, of which others ask for plans whenever this reader has asked for one."""

        def __init__(self, java, others):
            self.java, self.others = java, others

        def sendAtOnce(self, _server):  # noqa: N802 (as the probe calls it)
            return False

        def encode(self, *arguments):
            first, *_ = [self.java.encode(*arguments) for _ in range(1 + self.others)]
            return first

        def encoded(self, number, piece):
            return self.java.encoded(number, piece)

    def read(others):
        probe = Probe(spark.sparkContext._gateway, ProbeLimits())
        probe._java = Slow(probe._java, others)
        return probe.encode(plan, spark._jsparkSession)

    with ThreadPoolExecutor(1) as thread:
        assert len(decode_plan(thread.submit(read, 63).result()).top.output) == 100
        with pytest.raises(ProbeError, match="too many plans are read from the JVM at the same time"):
            thread.submit(read, 64).result()
