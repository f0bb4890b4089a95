"""Sources without a resolver: one dataset for each place, the same when it is read, written and streamed."""

from __future__ import annotations

import json
import re

import pytest
from openlineage_pyspark.facets.commands.registry import WRITES
from openlineage_pyspark.facets.datasets.placed import WHERE, placed, where_of
from openlineage_pyspark.facets.datasets.source import SOURCES, Session
from openlineage_pyspark.facets.events.dataset import dataset_facets
from openlineage_pyspark.facets.model.dataset import Trimming
from openlineage_pyspark.facets.model.name_rules import NamespaceResolver, SourceRule
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, OperatorRef, Output, Plan
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.probe import readings
from openlineage_pyspark.listener.settings.settings import load

FULL = {name.rpartition(".")[2]: name for registry in (SOURCES, WRITES) for name, _ in registry.items()}
PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.PythonTable"
ACME = "com.acme.spark.AcmeTable"


COLUMNS = (Output(1, "a"),)


def node(name, arguments, output=COLUMNS):
    return Operator(name, FULL[name], arguments, output)


def pairs(**options):
    return tuple(options.items())


def relation(name="DataSourceV2Relation", short="acme", **options):
    return node(name, {"table": Described(PYTHON, {"name": short}), "where": pairs(**options)})


def lineage(*operators, trimming=None):
    plan = Plan(operators, (), {1: Attribute("a", "int")})
    return lineage_of_plan(plan, Session("file:/wh", trimming=trimming or Trimming()))


def read(leaf, trimming=None):
    (dataset,) = lineage(leaf, trimming=trimming).inputs
    return dataset


def written(command, trimming=None):
    leaf = node("LogicalRelation", {"relation": Described("HadoopFsRelation", {"rootPaths": ("file:/in",)})})
    (output,) = lineage(command, leaf, trimming=trimming).outputs
    return output.write.dataset


def named(dataset):
    return dataset.identifier.namespace, dataset.identifier.name, dataset.guessed


CRM = {"endpoint": "https://crm.acme.com/", "table": "invoices"}
OF_CRM = ("datasource:PythonTable", "acme(endpoint=https://crm.acme.com, table=invoices)", True)


def test_a_python_data_source_is_one_dataset_read_written_and_streamed():
    append = node("AppendData", {"table": OperatorRef(2), "query": OperatorRef(1)}, ())
    leaf = node("LogicalRelation", {"relation": Described("HadoopFsRelation", {"rootPaths": ("file:/in",)})})
    (output,) = lineage(append, leaf, relation(**CRM)).outputs
    stream = {"table": Described(PYTHON, {"name": "acme"}), "where": pairs(**CRM), "query": OperatorRef(1)}

    assert named(read(relation(**CRM))) == OF_CRM
    assert named(read(relation("StreamingDataSourceV2Relation", **CRM))) == OF_CRM
    assert named(output.write.dataset) == OF_CRM
    assert named(written(node("WriteToMicroBatchDataSource", stream, ()))) == OF_CRM


@pytest.mark.parametrize("source", ["acme", "snowflake", "redshift", "bigquery"])
@pytest.mark.parametrize(
    "query", ["(SELECT 'top secret' AS a) q", "select 'top secret' from t", "\nWITH x AS (SELECT 1)"]
)
def test_a_query_in_the_place_of_a_table_is_told_from_others_and_shows_no_literal(source, query):
    options = {"url": "jdbc:redshift://host:5439/db", "sfurl": "a.snowflakecomputing.com"}
    first, other = (
        placed(source, f"com.{source}.Relation", {**options, key: text}, ())
        for key in [{"bigquery": "table"}.get(source, "dbtable")]
        for text in (query, f"{query} ")
    )
    assert first.identifier != other.identifier
    assert "secret" not in f"{first.identifier}{other.identifier}".lower()
    assert first.guessed


def test_two_places_are_two_datasets_and_the_order_of_options_does_not_matter():
    crm, erp = (read(relation(**CRM)), read(relation(table="invoices", endpoint="https://erp.acme.com")))
    again = read(relation(Table="invoices", endpoint=CRM["endpoint"]))
    assert crm.identifier == again.identifier != erp.identifier


def test_a_source_without_options_that_tell_a_place_has_its_plain_name():
    assert named(read(relation())) == ("datasource:PythonTable", "acme", True)


def test_what_looks_like_a_partition_in_an_option_stays():
    found = read(relation(path="/data/day=2024-01-01", table="x"))
    assert found.identifier.name == "acme(path=/data/day=2024-01-01, table=x)"


def test_no_login_becomes_a_name():
    found = read(relation(url="https://me:hunter2@crm.acme.com/x?token=t0k", table="t"))
    assert "hunter2" not in found.identifier.name
    assert "t0k" not in found.identifier.name


def test_the_probe_may_read_no_option_that_is_a_secret():
    table = readings.table(["tenant_key"])
    allowed = {line.split("\t")[1] for line in table.splitlines() if line.startswith("where\t")}
    assert allowed == WHERE | {"tenant_key"}
    secret = re.compile(r"pass|secret|token|key(?!space)|credential|auth|user|login|sql|query")
    assert [name for name in sorted(WHERE) if secret.search(name) and name != "routing_key"] == []


def test_a_guessed_name_is_marked():
    facet = dataset_facets(read(relation(**CRM)))["pyspark_name"]
    assert facet.certainty == "guessed"
    assert "pyspark_name" not in dataset_facets(read(relation(short="bigquery", path="p.d.t")))


def test_a_connector_that_writes_and_reads_by_itself_is_one_dataset():
    save = node(
        "SaveIntoDataSourceCommand",
        {
            "dataSource": Described("com.acme.spark.DefaultSource", {}),
            "where": pairs(host="crm", collection="c"),
            "mode": "Append",
            "query": OperatorRef(1),
        },
        (),
    )
    leaf = node(
        "LogicalRelation",
        {"relation": Described("com.acme.spark.AcmeRelation", {"where": pairs(collection="c", host="crm")})},
    )
    assert named(written(save)) == named(read(leaf)) == (
        "datasource:com.acme.spark", "com.acme.spark(collection=c, host=crm)", True,
    )  # fmt: skip


def test_a_connector_that_says_nothing_of_its_place_stays_unknown():
    found = lineage(node("LogicalRelation", {"relation": Described("com.acme.spark.AcmeRelation", {})}))
    assert (found.inputs, len(found.gaps)) == ((), 1)


KNOWN = [
    ("bigquery", {"path": "p.d.t"}, ("bigquery", "p.d.t")),
    ("bigquery", {"table": "d.t", "parentProject": "p"}, ("bigquery", "p.d.t")),
    ("bigquery", {"table": "t", "dataset": "d", "project": "p"}, ("bigquery", "p.d.t")),
    ("bigquery", {"table": "p:d.t"}, ("bigquery", "p.d.t")),
    (
        "net.snowflake.spark.snowflake",
        {"sfURL": "https://acc.snowflakecomputing.com:443", "sfDatabase": "db", "sfSchema": "s", "dbtable": "t"},
        ("snowflake://acc", "DB.S.T"),
    ),
    (
        "mongodb",
        {"connection.uri": "mongodb://me:pw@h1:27017,h2/db?authSource=x", "collection": "c"},
        ("mongodb://h1:27017", "db.c"),
    ),
    (
        "mongo",
        {
            "spark.mongodb.write.connection.uri": "mongodb://H1/",
            "spark.mongodb.write.database": "db",
            "spark.mongodb.write.collection": "c",
        },
        ("mongodb://h1:27017", "db.c"),
    ),
    (
        "com.mongodb.spark.sql.DefaultSource",
        {"spark.mongodb.input.uri": "mongodb://h1", "database": "db", "collection": "c"},
        ("mongodb://h1:27017", "db.c"),
    ),
    ("mongo", {"spark.mongodb.output.uri": "mongodb://h1/db.c"}, ("mongodb://h1:27017", "db.c")),
    ("mongo", {"uri": "mongodb://h1/db", "collection": "c"}, ("mongodb://h1:27017", "db.c")),
    ("org.apache.spark.sql.cassandra", {"keyspace": "k", "table": "t"}, ("cassandra", "k.t")),
    (
        "org.apache.spark.sql.cassandra",
        {"keyspace": "k", "table": "t", "spark.cassandra.connection.host": "c1,c2"},
        ("cassandra://c1:9042", "k.t"),
    ),
    (
        "org.apache.spark.sql.cassandra",
        {"keyspace": "k", "table": "t", "spark.cassandra.connection.host": "c2, C1"},
        ("cassandra://c1:9042", "k.t"),
    ),
    (
        "mongodb",
        {"connection.uri": "mongodb://me:p,w@h2,h1:27018/db,x", "collection": "c"},
        ("mongodb://h1:27018", "db,x.c"),
    ),
    (
        "org.elasticsearch.spark.sql",
        {"es.nodes": "http://e2:9201/p,https://e1:9201", "path": "index"},
        ("elasticsearch://e1:9201", "index"),
    ),
    ("org.elasticsearch.spark.sql", {"es.nodes": "e1,e2", "path": "index/doc"}, ("elasticsearch://e1:9200", "index")),
    ("clickhouse", {"host": "c", "table": "t", "http_port": "8124"}, ("clickhouse://c:8124", "default.t")),
    (
        "io.github.spark_redshift_community.spark.redshift",
        {"url": "jdbc:redshift://h:5439/db?user=me&password=pw", "dbtable": "s.t"},
        ("redshift://h:5439", "db.s.t"),
    ),
    (
        "cosmos.oltp",
        {
            "spark.cosmos.accountEndpoint": "https://acc.documents.azure.com:443/",
            "spark.cosmos.database": "db",
            "spark.cosmos.container": "c",
        },
        ("azurecosmos://acc.documents.azure.com/dbs/db", "colls/c"),
    ),
    (
        "com.microsoft.kusto.spark.datasource",
        {"kustoCluster": "cl.westeurope", "kustoDatabase": "db", "kustoTable": "t"},
        ("azurekusto://cl.westeurope", "db/t"),
    ),
]


@pytest.mark.parametrize(("source", "options", "name"), KNOWN)
def test_a_known_connector_is_named_by_openlineages_naming(source, options, name):
    assert {option.lower() for option in options} <= WHERE
    found = placed(source, ACME, where_of(pairs(**options)), ())
    assert named(found) == (*name, False)


@pytest.mark.parametrize(
    "source", ["bigquery", "snowflake", "mongodb", "cosmos.oltp", "kusto", "clickhouse", "es.elasticsearch"]
)
def test_a_known_connector_that_says_too_little_is_guessed(source):
    assert placed(source, ACME, {"database": "db"}, ()).guessed


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("clickhouse", {"table": "t"}),
        ("clickhouse", {"host": "c"}),
        ("mongodb", {"connection.uri": "mongodb://h/db"}),
        ("org.apache.spark.sql.cassandra", {"keyspace": "k"}),
    ],
)
def test_a_known_connector_that_names_a_place_without_a_table_or_a_table_without_a_place_is_guessed(source, options):
    assert placed(source, ACME, where_of(pairs(**options)), ()).guessed


RULE = "spark.openlineage.datasets.rules."


def test_a_rule_of_the_configuration_names_a_source():
    settings = load({f"{RULE}acme": "acme://{endpoint} -> {database|db}.{table}"}, {}, ())
    assert settings.warnings == ()
    found = read(relation(endpoint="crm", DB="d", table="t"), settings.trimming)
    assert named(found) == ("acme://crm", "d.t", False)
    assert read(relation(endpoint="crm", table="t"), settings.trimming).guessed
    by_class = (SourceRule("com.acme", "{t}", "acme"),)
    assert named(placed("x", ACME, {"t": "n"}, by_class)) == ("acme", "n", False)


@pytest.mark.parametrize("rule", ["acme://{endpoint}", "-> {table}", "acme ->"])
def test_a_rule_without_namespace_or_name_warns(rule):
    settings = load({f"{RULE}acme": rule}, {}, ())
    assert settings.trimming.rules == ()
    assert len(settings.warnings) == 1


RESOLVERS = "spark.openlineage.dataset.namespaceResolvers."


def resolved(namespace, **keys):
    settings = load({f"{RESOLVERS}{key.replace('__', '.')}": value for key, value in keys.items()}, {}, ())
    assert settings.warnings == ()
    return settings.trimming.namespace(namespace)


def test_hosts_get_a_logical_name():
    keys = {"prod__type": "hostList", "prod__hosts": "[k1.company.com;K2.company.com]", "prod__schema": "kafka"}
    assert resolved("kafka://k2.company.com:9092", **keys) == "kafka://prod:9092"
    assert resolved("kafka://other:9092", **keys) == "kafka://other:9092"
    assert resolved("postgres://k2.company.com:5432", **keys) == "postgres://k2.company.com:5432"


def test_hosts_that_a_pattern_finds_get_a_logical_name():
    pattern = {"cass__type": "pattern", "cass__regex": r"cassandra-prod(\d)+\.company\.com"}
    group = {
        "x__type": "patternGroup",
        "x__regex": r"(?<cluster>[a-z-]+)-\d+\.company\.com",
        "x__matchingGroup": "cluster",
    }
    assert resolved("cassandra://cassandra-prod7.company.com:9042", **pattern) == "cassandra://cass:9042"
    assert resolved("kafka://kafka-prod-12.company.com:9092", **group) == "kafka://kafka-prod:9092"


def test_a_resolver_that_lacks_what_its_type_needs_warns():
    for keys in ({"type": "hostList"}, {"type": "pattern"}, {"type": "patternGroup", "regex": "(?<a>x)"}):
        settings = load({f"{RESOLVERS}prod.{key}": value for key, value in keys.items()}, {}, ())
        assert (settings.trimming.resolvers, len(settings.warnings)) == ((), 1)


def test_a_resolved_namespace_is_resolved_once_and_everywhere():
    resolvers = (NamespaceResolver(re.compile("prod"), "kafka-prod"),)
    trimming = Trimming(resolvers=resolvers)
    assert trimming.namespace(trimming.namespace("kafka://prod:9092")) == "kafka://kafka-prod:9092"
    found = lineage(
        relation("DataSourceV2Relation", short="bigquery", path="p.d.t"),
        trimming=Trimming(resolvers=(NamespaceResolver(re.compile("bigquery"), "warehouse"),)),
    )
    assert [d.identifier.namespace for d in found.inputs] == ["warehouse"]
    assert {e.dataset.namespace for c in found.columns.columns for e in c.edges} == {"warehouse"}
    assert "bigquery" not in json.dumps([d.identifier.namespace for d in found.inputs])


SESSION = {
    "spark.mongodb.read.connection.uri": "mongodb://u:p@one/shop.orders",
    "spark.mongodb.write.connection.uri": "mongodb://u:p@one/shop.archive",
}


def test_what_a_session_sets_for_reading_names_no_target_and_what_it_sets_for_writing_no_source() -> None:
    table = relation(short="MongoTable", **SESSION)
    append = Operator("AppendData", FULL["AppendData"], {"table": OperatorRef(0), "query": OperatorRef(1)}, ())
    source = node("LogicalRelation", {"relation": Described("HadoopFsRelation", {"rootPaths": ("file:/in",)})})
    plan = Plan((table, source, append), (), {1: Attribute("a", "int")}, root=2)
    (output,) = lineage_of_plan(plan, Session("file:/wh")).outputs

    assert named(read(table)) == ("mongodb://one:27017", "shop.orders", False)
    assert named(output.write.dataset) == ("mongodb://one:27017", "shop.archive", False)
