"""
Names of datasets, by OpenLineage's naming specification and as the Java integration spells them, so that graphs join.

A name is rebuilt from the parts that are allowed in it (scheme, host, port, database, path): whatever else stands in
a location or a JDBC URL, credentials first, does not get through.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from openlineage_pyspark.facets.dataset import Identifier

_STORES_WITHOUT_SLASH = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "wasb": "wasbs", "wasbs": "wasbs"}
_AZURE = {"abfs": "abfss", "abfss": "abfss", "wasb": "wasbs", "wasbs": "wasbs"}
_PARTITION = re.compile(r"[^/=]+=[^/]*")
_JDBC_PORTS = {
    "postgresql": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "sqlserver": ("sqlserver", 1433),
    "oracle": ("oracle", 1521),
    "db2": ("db2", 50000),
    "redshift": ("redshift", 5439),
    "trino": ("trino", 443),
    "teradata": ("teradata", 1025),
    "clickhouse": ("clickhouse", 8123),
    "snowflake": ("snowflake", None),
}


def location(path: str) -> Identifier:
    """
    The name of what lies at a location.

    Args:
        path: a Hadoop path or URI; one without a scheme is a local file.

    Returns:
        namespace (`file`, `hdfs://nn:8020`, `s3://bucket`) and path, without credentials and trailing slash.
    """
    scheme, rest = _scheme(path)
    if scheme in ("", "file"):
        return Identifier("file", _trim(_path_of(rest)))
    authority, _, inside = rest.removeprefix("//").partition("/") if rest.startswith("//") else ("", "", rest)
    name = "/" + inside.lstrip("/")
    if scheme in _AZURE:
        return Identifier(f"{_AZURE[scheme]}://{authority}", _trim(name).lstrip("/") or "/")
    host = authority.rpartition("@")[2]
    if scheme in _STORES_WITHOUT_SLASH:
        return Identifier(f"{_STORES_WITHOUT_SLASH[scheme]}://{host}", _trim(name).lstrip("/") or "/")
    return Identifier(f"{scheme}://{host}" if host else scheme, _trim(name))


def table_root(path: str) -> str:
    """A path without the `key=value` directories at its end: the table, not one of its partitions."""
    kept = path.rstrip("/").split("/")
    while len(kept) > 1 and _PARTITION.fullmatch(kept[-1]):
        kept.pop()
    return "/".join(kept)


def parent(path: str) -> str:
    """The directory that a path lies in."""
    return path.rstrip("/").rpartition("/")[0] or "/"


def jdbc_namespace(url: str) -> str:
    """
    The namespace of a JDBC database: kind, host and port.

    Args:
        url: the JDBC URL; user, password, parameters and properties in it are left behind.
    """
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    if kind in ("derby", "sqlite", "h2", "hsqldb"):
        return f"{kind}:{rest.split(';', 1)[0].split('?', 1)[0]}"
    if kind == "oracle":
        rest = rest.partition("@")[2].removeprefix("//")
        host = re.split(r"[:/?]", rest, maxsplit=1)[0]
        port = re.match(r"[^:/?]*:(\d+)", rest)
        return f"oracle://{host}:{port.group(1) if port else 1521}"
    name, default = _JDBC_PORTS.get(kind, (kind, None))
    host, port_text = _host(rest)
    port_number = port_text or (str(default) if default else "")
    return f"{name}://{host}:{port_number}" if port_number else f"{name}://{host}"


def jdbc_table(url: str, table: str) -> str:
    """
    The name of a table in a JDBC database: database, schema and table as far as the URL and the table tell.

    Args:
        url: the JDBC URL.
        table: what the user gave, quotes and all.
    """
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    parts = [part.strip('"`[] ') for part in table.split(".")]
    if kind in ("postgresql", "redshift", "db2", "mysql", "mariadb", "snowflake"):
        inside = rest.removeprefix("//").partition("/")[2]
        database = re.split(r"[?;:&]", inside, maxsplit=1)[0]
        if database and len(parts) < (2 if kind in ("mysql", "mariadb") else 3):
            parts.insert(0, database)
    elif kind == "sqlserver":
        found = re.search(r"(?i);\s*database(?:name)?\s*=\s*([^;]+)", rest)
        if found and len(parts) < 3:
            parts.insert(0, found.group(1).strip("{} "))
    return ".".join(parts)


def kafka_namespace(servers: str) -> str:
    """The namespace of a Kafka cluster: its first bootstrap server, as the Java integration has it."""
    return "kafka://" + servers.split(",", 1)[0].strip().rpartition("://")[2]


def warehouse_namespace(warehouse: str) -> str:
    """The namespace of the tables in a session catalog without a metastore: where its warehouse lies."""
    identifier = location(warehouse)
    return (
        f"file:{identifier.name}"
        if identifier.namespace == "file"
        else f"{identifier.namespace}/{identifier.name.lstrip('/')}"
    )


def metastore_namespace(uris: str) -> str:
    """The namespace of a Hive metastore, from `hive.metastore.uris`: its first server."""
    first = urlsplit(uris.split(",", 1)[0].strip())
    return f"hive://{first.hostname or ''}:{first.port or 9083}"


def snake_case(text: str) -> str:
    """A name in lower case with underscores, as the Java integration normalises application and job names."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", text))
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def _scheme(path: str) -> tuple[str, str]:
    found = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=/|[^:]*$)(.*)", path, re.DOTALL)
    return (found.group(1).lower(), found.group(2)) if found else ("", path)


def _path_of(rest: str) -> str:
    return "/" + rest.lstrip("/") if rest.startswith("//") else rest


def _trim(name: str) -> str:
    return unquote(name.rstrip("/")) or "/"


def _host(rest: str) -> tuple[str, str]:
    authority = re.split(r"[/;?]", rest.removeprefix("//"), maxsplit=1)[0].rpartition("@")[2]
    host, _, port = authority.split(",", 1)[0].partition(":")
    return host, port if port.isdigit() else ""
