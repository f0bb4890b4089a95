"""
Names of datasets by OpenLineage's naming specification: of locations, JDBC tables, Kafka topics and metastores.

The text of a path alone decides to which dataset it belongs; the file system is not accessed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container
from urllib.parse import unquote

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.urls import HOST_AND_PORT, JdbcParts, jdbc_parts, without_logins

_STORES_WITHOUT_SLASH = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "wasb": "wasbs", "wasbs": "wasbs"}
_AZURE = {"abfs": "abfss", "abfss": "abfss", "wasb": "wasbs", "wasbs": "wasbs"}
_PARAMETERS = re.compile(r"\?[^?/=]*=.*", re.DOTALL)
_JDBC = {
    "postgresql": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "sqlserver": ("sqlserver", 1433),
    "oracle": ("oracle", 1521),
    "db2": ("db2", 6789),
    "redshift": ("redshift", 5439),
    "trino": ("trino", 443),
    "teradata": ("teradata", 1025),
    "clickhouse": ("clickhouse", 8123),
    "ch": ("clickhouse", 8123),
    "snowflake": ("snowflake", None),
    "athena": ("awsathena", None),
    "cloudspanner": ("spanner", None),
}
"""JDBC's name of a database -> OpenLineage's name, and the port if the URL has none."""
_LEVELS = {
    **dict.fromkeys(("postgresql", "redshift", "db2", "oracle", "trino", "snowflake", "sqlserver"), 3),
    **dict.fromkeys(("vertica", "databricks", "bigquery", "athena", "cloudspanner"), 3),
    **dict.fromkeys(("mysql", "mariadb", "clickhouse", "teradata", "derby", "h2", "hsqldb", "hive2", "impala"), 2),
}
"""JDBC's name of a database -> the number of parts in the full name of a table."""
_DEFAULT_SCHEMA = {
    **dict.fromkeys(("postgresql", "redshift", "vertica"), "public"),
    **dict.fromkeys(("snowflake", "h2", "hsqldb"), "PUBLIC"),
    "sqlserver": "dbo",
    "derby": "APP",
    **dict.fromkeys(("clickhouse", "databricks", "hive2", "impala", "athena"), "default"),
}
_MAIN = frozenset({"sqlite", "duckdb"})
"""JDBC's names of databases in which `main` is the schema of the file that the URL names."""
_FOLDED: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("postgresql", "redshift", "trino", "athena"), str.lower),
    **dict.fromkeys(("oracle", "db2", "derby", "h2", "hsqldb", "snowflake"), str.upper),
}
"""JDBC's name of a database -> how it spells a name that is not quoted; other databases keep it."""
_FOLDS_URLS = {
    **dict.fromkeys(("postgresql", "redshift", "h2", "athena"), ("schema",)),
    **dict.fromkeys(("snowflake", "trino"), ("schema", "database")),
}
"""JDBC's name of a database -> which names in its URL it spells as it spells a name that is not quoted."""
_NAME_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^.]*)')


# An application reads the same tables repeatedly, and each of them needs the warehouse of the session.
@functools.lru_cache(maxsize=1024)
def location(path: str) -> Identifier:
    """
    Return the identifier of the dataset at a location.

    Args:
        path: a Hadoop path or URI; one without a scheme is a local file.

    Returns:
        The namespace (`file`, `hdfs://nn:8020`, `s3://bucket`) and the path, without credentials, parameters (such as
        an Azure signature) and trailing slashes.
    """
    scheme, rest = _scheme(path)
    if scheme in ("", "file"):
        return Identifier("file", _trim(_normal(_path_of(rest))))
    authority, inside = _authority(rest)
    inside = _PARAMETERS.sub("", inside)
    name = "/" + _normal(inside).lstrip("/")
    if scheme in _AZURE:
        return Identifier(f"{_AZURE[scheme]}://{authority}", _trim(name).lstrip("/") or "/")
    host = authority.rpartition("@")[2]
    if scheme in _STORES_WITHOUT_SLASH:
        return Identifier(f"{_STORES_WITHOUT_SLASH[scheme]}://{host}", _trim(name).lstrip("/") or "/")
    return Identifier(f"{scheme}://{host}" if host else scheme, _trim(name))


@functools.lru_cache(maxsize=1024)
def uri_location(uri: str) -> Identifier:
    """Return the identifier of the dataset at a URI from a catalog, whose path is percent-encoded."""
    encoded = location(uri)
    return Identifier(encoded.namespace, unquote(encoded.name))


def uri_of(path: str) -> str:
    """Return the text that `uri_location` reads as this path."""
    return path.replace("%", "%25")


def parent(path: str) -> str:
    """Return the directory of a path."""
    return path.rstrip("/").rpartition("/")[0] or "/"


def jdbc_namespace(url: str) -> str:
    """
    Return the namespace of a JDBC database: kind, host, and port or named instance.

    Args:
        url: the JDBC URL; user, password, parameters and properties in it are left out.
    """
    found = jdbc_parts(url)
    if found.place is not None:
        return f"{found.kind}:{found.place}"
    name, default = _JDBC.get(found.kind, (found.kind, None))
    if found.kind == "bigquery":
        # It has one address for all projects.
        return name
    if found.instance:
        return f"{name}://{found.host}/{found.instance}"
    port = found.port or (str(default) if default else "")
    return f"{name}://{found.host}:{port}" if port else f"{name}://{found.host}"


def jdbc_table(url: str, table: str) -> str:
    """
    Return the name of a table in a JDBC database: database, schema and table, as far as they are known.

    A name that is not quoted is spelled as the database spells it. The missing parts of a bare name are the database
    and the schema of the URL, or the database's default schema.

    Args:
        url: the JDBC URL.
        table: the name that the user gave, including quotes; it may have a database and a schema.
    """
    found = jdbc_parts(url)
    if table.lstrip().startswith("("):
        # The text of a query is not a name, and may contain anything.
        return "(query)"
    if found.kind == "bigquery":
        # Its quotes may be around a whole path, and no part of a path has a dot.
        table = table.replace("`", "")
    elif found.kind in ("athena", "trino", *_MAIN):
        # Quotes do not keep upper case.
        table = table.lower()
    parts = _name_parts(table, _FOLDED.get(found.kind, str))
    if found.kind in _MAIN and parts[:-1] == ["main"]:
        parts = parts[-1:]
    levels = _LEVELS.get(found.kind)
    around, current = _names_in_url(found)
    if levels is None:
        # An unknown system: tables in different databases or schemas must not get the same name.
        around += [current] if current and len(around) < 2 and len(parts) == 1 else []
        return ".".join([*around, *parts] if len(parts) < 3 else parts)
    schema = current or _DEFAULT_SCHEMA.get(found.kind, "")
    if levels == 2:
        # A system of this kind has no schemas, or its URLs name no database.
        schema = schema if found.place is not None or not around else around[0]
        around = [schema] if schema else []
    elif len(around) < 2:
        around += [schema] if schema and around else []
    if len(parts) == 3 and not parts[1]:
        # `database..table`
        parts[1] = _DEFAULT_SCHEMA.get(found.kind, "")
    missing = levels - len(parts)
    if missing > 0:
        # A bare table gets database and schema; `schema.table` gets only the database.
        parts = around[: max(1, min(missing, len(around)))] + parts
    return ".".join(parts)


def _names_in_url(found: JdbcParts) -> tuple[list[str], str]:
    """Return the database, perhaps with a schema, and the current schema of a URL, as the database spells them."""
    folds = _FOLDS_URLS.get(found.kind, ())
    spelled = _FOLDED[found.kind] if folds else str
    around = [spelled(part) if "database" in folds else part for part in found.database.split("/") if part]
    return around, next(iter(_name_parts(found.schema, spelled)), "")


def _name_parts(name: str, folded: Callable[[str], str]) -> list[str]:
    """Return the parts of a name between its dots, without quotes; those without quotes are folded."""
    parts, at = list[str](), 0
    name = name.strip()
    while at <= len(name):
        match = _NAME_PART.match(name, at)
        if match is None:
            break
        quoted = next((match[group] for group in (1, 2, 3) if match[group] is not None), None)
        parts.append(folded(match[4].strip()) if quoted is None else quoted.replace('""', '"'))
        dot = name.find(".", match.end())
        if dot < 0:
            break
        at = dot + 1
    return parts


def kafka_namespace(servers: str) -> str:
    """Return the namespace of a Kafka cluster: the alphabetically first of its bootstrap servers, in any order."""
    given = (each.strip().rpartition("://")[2].rpartition("@")[2].lower() for each in servers.split(","))
    return "kafka://" + min(filter(None, given), default="")


@functools.lru_cache(maxsize=1024)
def warehouse_namespace(warehouse: str) -> str:
    """
    Return the namespace of tables in a session catalog without a metastore: the location of its warehouse.

    A local one is written `file:///path`. The Java integration writes `file:/path`, but Marquez ends the namespace at
    the colon, so it finds no table (`NodeId.parts`).
    """
    identifier = location(warehouse)
    return (
        f"file://{identifier.name}"
        if identifier.namespace == "file"
        else f"{identifier.namespace}/{identifier.name.lstrip('/')}"
    )


def metastore_namespace(uris: str) -> str:
    """Return the namespace of a Hive metastore, from `hive.metastore.uris`: its first server."""
    authority, _ = _authority(_scheme(uris.split(",", 1)[0].strip())[1])
    found = HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    host, port = (found.group(1), found.group(2)) if found is not None else ("", None)
    return f"hive://{host.lower()}:{port or 9083}"


@functools.lru_cache(maxsize=1024)
def snake_case(text: str) -> str:
    """Return a name in lower case with underscores, as the Java integration normalises application and job names."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text))
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def _scheme(path: str) -> tuple[str, str]:
    found = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=/|[^:]*$)(.*)", path, re.DOTALL)
    return (found.group(1).lower(), found.group(2)) if found else ("", path)


def _authority(rest: str) -> tuple[str, str]:
    """Return the authority, without a password, and the path after it."""
    if not rest.startswith("//"):
        return "", rest
    # A password may contain slashes; the text after the colon is a password unless it is a port.
    text = without_logins(rest[2:])
    authority, _, inside = text.partition("/")
    return authority, inside


def _path_of(rest: str) -> str:
    return "/" + rest.lstrip("/") if rest.startswith("//") else rest


def _normal(path: str) -> str:
    """Return a path as Hadoop's `Path` spells it: without empty parts and `.`, and with `..` resolved."""
    if "//" not in path and "/." not in path and not path.startswith("."):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part and part != ".":
            kept.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(kept)


def _trim(name: str) -> str:
    return name.rstrip("/") or "/"


_WILD = re.compile(r"[*?{\[]")
_HIDDEN = re.compile(r"[_.][^=]*$")


# How the names of the data files begin that Spark, Delta Lake, Hive, Iceberg and Hudi write.
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ICEBERG_PART = re.compile(rf"[0-9]{{5}}-[0-9]{{1,9}}-{_UUID}")
_PART = re.compile(
    rf"part-|00[0-9]{{4}}_[0-9]{{1,9}}(?:_copy_[0-9]{{1,9}})?(?!\w)|{_ICEBERG_PART.pattern}|\.?{_UUID}-[0-9]{{1,9}}_[0-9]"
)


def roots(paths: list[str], given: str | None, files: Container[str] | None = None) -> list[str]:
    """
    Return the paths of the datasets of a read.

    Args:
        paths: the paths that are read, with wildcards resolved.
        given: the path that the user wrote, if it was a single one.
        files: which of the paths are files; None if that is unknown.

    Returns:
        For the files that a pattern matches, however many, their directories; for a file that is a part of a dataset,
        the directory of the dataset. Any other path is unchanged.
    """
    wild = given is not None and _WILD.search(given) is not None
    # If it is unknown which paths are files, and the last part has a wildcard, a name with a dot counts as a file.
    in_name = given is not None and _WILD.search(_name(given)) is not None
    found = []
    for path in paths:
        is_file = path in files if files is not None else in_name and "." in _name(path)
        # A pattern also matches files that Spark does not read, such as `_SUCCESS`.
        is_file = is_file or (in_name and _HIDDEN.match(_name(path)) is not None)
        around = whole(path)
        found.append(naming.parent(path) if wild and is_file and around == path else around)
    return found


def whole(path: str) -> str:
    """Return the directory of a dataset for a file whose name shows that it is a part of one; else the path."""
    name = _name(path)
    if not _PART.match(name):
        return path
    before, data, _ = path.rpartition("/data/")
    return before if data and _ICEBERG_PART.match(name) else naming.parent(path)


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def before_glob(path: str) -> str:
    """Return the directory above all matches of a path with wildcards."""
    wild = _WILD.search(path)
    return path if wild is None else path[: wild.start()].rpartition("/")[0]


def is_absolute(path: str) -> bool:
    """Return whether a text must be a path: it begins with a slash, or with a scheme and a slash."""
    return re.match(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/", path) is not None


def stream_path(text: str | None) -> str | None:
    """
    Return the path of a file source or sink of a stream.

    Args:
        text: the `toString` of the source or sink, the only place that has the path.
    """
    found = re.fullmatch(r"File(?:Stream)?(?:Source|Sink)\[(.*)\]", text or "", re.DOTALL)
    return found.group(1) if found else None
