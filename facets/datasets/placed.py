"""
Sources for which this package has no resolver: one dataset for each location that the options name.

An allow-list has the options that can name a location, so that a password never becomes a part of a name. The same
options name the same dataset when it is read, written and streamed. A rule (`SourceRule`) gives a proper name; without
one, the name is guessed from the class and the options, and `Dataset.guessed` is set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.name_rules import SourceRule
from openlineage_pyspark.facets.model.plan import Value
from openlineage_pyspark.facets.urls import without_credentials

WHERE = frozenset(
    """
    account accountendpoint address api bootstrapservers broker brokers bucket catalog channel cluster collection
    connection.uri container database databasename dataset db dbname dbschema dbtable directory documentid endpoint
    entity es.nodes es.port es.resource exchange feed file filename folder graph host hostname hosts http_port index
    instance keyspace kustocluster kustodatabase kustotable location mailbox namespace node nodes object org
    organization owner parentproject path port project queue region repo repository resource routing_key schema server
    servers service sfaccount sfdatabase sfschema sfurl sheet site sobject spark.cassandra.connection.host
    spark.cosmos.accountendpoint spark.cosmos.container spark.cosmos.database spark.mongodb.collection
    spark.mongodb.connection.uri spark.mongodb.database spark.mongodb.input.collection spark.mongodb.input.database
    spark.mongodb.input.uri spark.mongodb.output.collection spark.mongodb.output.database spark.mongodb.output.uri
    spark.mongodb.read.collection spark.mongodb.read.connection.uri spark.mongodb.read.database
    spark.mongodb.write.collection spark.mongodb.write.connection.uri spark.mongodb.write.database spreadsheet
    spreadsheetid stream streamname
    subscription table tablename tenant topic uri url vhost view warehouse workspace
    """.split()
)
"""The options, in lower case, that state where a source is, and which part of it is used."""

_LONGEST_VALUE = 200
_QUERY = re.compile(r"\s*(?:\(|(?:SELECT|WITH)\s)", re.IGNORECASE)
_NEXT_ADDRESS = re.compile(r"[,;]\s*(?=[\w.+\-]*://)")
_OF_READS, _OF_WRITES = (re.compile(rf"spark\.\w+\.(?:{modes})\.") for modes in ("read|input", "write|output"))

Options = Mapping[str, str]
"""Names of options, in lower case -> their values."""


def where_of(read: Value) -> Options:
    """Return the options that the probe has read by `#where:`."""
    pairs = [pair for pair in read if isinstance(pair, tuple) and len(pair) == 2] if isinstance(read, tuple) else []
    return {str(name).lower(): value.strip() for name, value in pairs if isinstance(value, str) and value.strip()}


def for_writing(read: Value) -> Value:
    """Return the options that the probe has read by `#where:`, without those that a session sets only for reading."""
    pairs = read if isinstance(read, tuple) else ()
    names = [str(pair[0]).lower() if isinstance(pair, tuple) and pair else "" for pair in pairs]
    if not any(_OF_WRITES.match(name) for name in names):
        return read
    return tuple(pair for pair, name in zip(pairs, names, strict=True) if not _OF_READS.match(name))


def placed(
    source: str, class_name: str, options: Options, rules: tuple[SourceRule, ...], fields: tuple[Field, ...] = ()
) -> Dataset:
    """
    Return the dataset of a source that has no resolver.

    Args:
        source: the name of the source: the short name of its format, or the package of its classes.
        class_name: the full name of the class of its table or provider.
        options: those of its options that state where it is.
        rules: the user's rules, which come before those of this package.
        fields: the schema.
    """
    for rule in rules:
        if rule.is_for(source, class_name) and (found := rule.named(options)) is not None:
            namespace, name = map(without_credentials, found)
            return Dataset(Identifier(namespace, name), fields, type="TABLE")
    words = f"{source} {class_name}".lower()
    for word, named in _KNOWN.items():
        if word in words and (known := named(options)) is not None:
            return Dataset(known, fields, type="TABLE")
    where = [(key, _shown(value)) for key, value in sorted(options.items()) if key in WHERE]
    own = f"{source}({', '.join(f'{key}={value}' for key, value in where)})" if where else source
    # A connector has different classes for reading and for writing, but they are in one package.
    kind = source if class_name.startswith(f"{source}.") else class_name.rpartition(".")[2]
    return Dataset(Identifier(f"datasource:{kind}", own), fields, type="TABLE", guessed=True)


def _shown(value: str) -> str:
    if _QUERY.match(value):
        # The literals of a query must not be in a name.
        return f"query_{hashlib.sha256(value.encode()).hexdigest()[:6]}"
    value = without_credentials(value).rstrip("/") or "/"
    if len(value) <= _LONGEST_VALUE:
        return value
    return f"{value[: _LONGEST_VALUE - 7]}_{hashlib.sha256(value.encode()).hexdigest()[:6]}"


def _first(options: Options, *names: str) -> str | None:
    return next((options[name] for name in names if name in options), None)


def _host(text: str, port: str | None = None) -> str:
    """
    Return the host and the port of an address, without a login.

    Of several addresses of one cluster, whose order means nothing, it is the alphabetically first, as for Kafka.
    """
    found: list[str] = []
    for address in _NEXT_ADDRESS.split(text):
        after = address.partition("://")[2] or address
        hosts = re.split(r"[/?]", after.strip().rpartition("@")[2])[0].lower()
        found += [each if ":" in each or not port else f"{each}:{port}" for each in re.split(r"[,;\s]+", hosts) if each]
    return min(found, default="")


def _bigquery(options: Options) -> Identifier | None:
    table = _first(options, "table", "path")
    if not table or re.search(r"\s", table):
        return None
    project, dataset = _first(options, "project", "parentproject"), options.get("dataset")
    parts = [part for part in re.split(r"[.:]", table.strip("`")) if part]
    parts = [dataset, *parts] if len(parts) == 1 and dataset else parts
    parts = [project, *parts] if len(parts) == 2 and project else parts
    return Identifier("bigquery", ".".join(parts))


def _snowflake(options: Options) -> Identifier | None:
    url, table = _first(options, "sfurl", "sfaccount"), options.get("dbtable")
    if not url or not table or _QUERY.match(table):
        return None
    account = _host(url).partition(":")[0].removesuffix(".snowflakecomputing.com")
    around = [options.get("sfdatabase"), options.get("sfschema")]
    parts = table.split(".")
    known = [part for part in around if part]
    missing = max(0, 3 - len(parts))
    return Identifier(f"snowflake://{account}", ".".join([*known[:missing], *parts]).upper())


_MODES_OF_MONGODB = ("read.", "write.", "input.", "output.", "")
"""What the properties of the connector have for reads and for writes; versions before 10 have `input` and `output`."""


def _mongodb(options: Options) -> Identifier | None:
    def of(name: str) -> str | None:
        return _first(options, *(f"spark.mongodb.{mode}{name}" for mode in _MODES_OF_MONGODB), name)

    uri = of("connection.uri") or of("uri")
    path = re.split(r"[?]", (uri or "").partition("://")[2].partition("/")[2])[0]
    in_uri = path.partition(".")
    database, collection = of("database") or in_uri[0], of("collection") or in_uri[2]
    if not uri or not database or not collection:
        return None
    return Identifier(f"mongodb://{_host(uri, '27017')}", f"{database}.{collection}")


def _cassandra(options: Options) -> Identifier | None:
    keyspace, table = options.get("keyspace"), options.get("table")
    host = _first(options, "spark.cassandra.connection.host", "host")
    if not keyspace or not table:
        return None
    cluster = f"cassandra://{_host(host, options.get('port') or '9042')}" if host else "cassandra"
    return Identifier(cluster, f"{keyspace}.{table}")


def _elasticsearch(options: Options) -> Identifier | None:
    index = _first(options, "es.resource", "resource", "path")
    nodes = _first(options, "es.nodes", "nodes") or "localhost"
    port = _first(options, "es.port", "port") or "9200"
    return Identifier(f"elasticsearch://{_host(nodes, port)}", index.partition("/")[0]) if index else None


def _clickhouse(options: Options) -> Identifier | None:
    table, host = options.get("table"), options.get("host")
    if not table or not host:
        return None
    database = options.get("database") or "default"
    port = _first(options, "http_port", "port") or "8123"
    return Identifier(f"clickhouse://{_host(host, port)}", table if "." in table else f"{database}.{table}")


def _redshift(options: Options) -> Identifier | None:
    url, table = options.get("url"), options.get("dbtable")
    if not url or not table or _QUERY.match(table):
        return None
    return Identifier(naming.jdbc_namespace(url), naming.jdbc_table(url, table))


def _cosmos(options: Options) -> Identifier | None:
    endpoint = _first(options, "spark.cosmos.accountendpoint", "accountendpoint", "endpoint")
    database = _first(options, "spark.cosmos.database", "database")
    container = _first(options, "spark.cosmos.container", "container", "collection")
    if not endpoint or not database or not container:
        return None
    host = _host(endpoint).partition(":")[0]
    return Identifier(f"azurecosmos://{host}/dbs/{database}", f"colls/{container}")


def _kusto(options: Options) -> Identifier | None:
    cluster, database, table = (options.get(f"kusto{part}") for part in ("cluster", "database", "table"))
    if not cluster or not database or not table:
        return None
    host = _host(cluster)
    return Identifier(f"azurekusto://{host if '.' in host else f'{host}.kusto.windows.net'}", f"{database}/{table}")


_KNOWN: Mapping[str, Callable[[Options], Identifier | None]] = {
    "bigquery": _bigquery,
    "snowflake": _snowflake,
    "mongo": _mongodb,
    "cassandra": _cassandra,
    "elasticsearch": _elasticsearch,
    "clickhouse": _clickhouse,
    "redshift": _redshift,
    "cosmos": _cosmos,
    "kusto": _kusto,
}
"""A word in the name or class of a connector -> returns the name of its dataset, or None if options are missing."""
