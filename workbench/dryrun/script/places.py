"""Where a script reads and writes: format, options and paths, and the datasets that the listener would name."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.jdbc import (
    QueryColumn,
    jdbc_columns,
    jdbc_dataset,
    jdbc_relation,
    jdbc_tables,
)
from openlineage_pyspark.facets.datasets.kafka import topic_dataset
from openlineage_pyspark.facets.datasets.naming import before_glob, is_absolute, roots
from openlineage_pyspark.facets.datasets.placed import WHERE, placed
from openlineage_pyspark.facets.datasets.source import Relation, Session, by_name, source
from openlineage_pyspark.facets.datasets.tables import at_location
from openlineage_pyspark.facets.foreign_sql.tables import is_name
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, fields_of
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.versions import with_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.facets.sql_lexer import Token

_LAKES = ("delta", "hudi", "iceberg", "paimon")
_FILES = ("avro", "binaryfile", "csv", "excel", "image", "json", "libsvm", "orc", "parquet", "text", "xml")
_WILD = "*?{["
_UNKNOWN = re.compile(r"\{[^{},]*\}")
# An item of an unknown value, such as `{client.get()[Value]}`, is no pattern of names.
_ITEM = re.compile(r"\[([^\[\]{}]*)\](?=[^{}]*\})")
_UNKNOWN_ITEM = re.compile(r"\{[A-Za-z_][^{},]*\}")
_UNKNOWN_PORT = re.compile(r"((?://|@)[^/:]*):\{[^{},]*\}(?=[/;?:]|$)")
_NO_WORD = re.compile(r"\W+")
_KEPT = WHERE | {"subscribe", "assign", "subscribepattern", "query", "preparequery", "kafka.bootstrap.servers"}
_NOTHING_KEPT = frozenset({"console", "memory", "noop"})
MODEL = "model"
"""The format of the folder of a model, which has no columns."""
SERVERS = "kafka.bootstrap.servers"
"""The option that names a Kafka cluster."""


@attrs.frozen
class DataPlace:
    """
    The arguments of a reader or a writer of Spark.

    Args:
        format: the format, in lower case.
        options: the options that locate the data, by their names in lower case.
        paths: the paths; all are absolute except those of tables and of connectors.
        streamed: whether a stream reads it.
        table_class: the class of the table that a source of this format gives Spark; empty if it is unknown.
    """

    format: str
    options: Mapping[str, str]
    paths: tuple[str, ...] = ()
    streamed: bool = False
    table_class: str = ""

    @property
    def is_of_files(self) -> bool:
        """Whether it is a path of files, or of a table in a lake."""
        return bool(self.paths) and (self.short in (*_LAKES, *_FILES) or is_absolute(self.paths[0]))

    @property
    def short(self) -> str:
        """The short name of its format: `delta`, also for the name of a class."""
        known = (*_LAKES, *_FILES)
        if self.format in known:
            return self.format
        return next((each for each in known if each in self.format.rpartition(".")[2]), self.format)

    @property
    def is_query(self) -> bool:
        """Whether it is the result of a query in another database, and not a table of it."""
        text = _jdbc_text(self.options)
        return self.format == "jdbc" and bool(text) and not is_name(text)

    @property
    def keeps_nothing(self) -> bool:
        """Whether nothing that is written there is kept."""
        return self.format in _NOTHING_KEPT

    @property
    def table(self) -> str | None:
        """The name of the table, if the path is one, as lakes accept it; None if it is not."""
        is_named = len(self.paths) == 1 and self.short in _LAKES and "/" not in self.paths[0]
        return self.paths[0] if is_named else None

    def to_text(self) -> str:
        """Return the place as JSON."""
        return json.dumps([self.format, dict(self.options), list(self.paths), self.streamed, self.table_class])

    @classmethod
    def of_text(cls, text: str) -> DataPlace:
        """Return the place that `to_text` has written."""
        format_, options, paths, streamed, table_class = json.loads(text)
        named = {str(key): str(value) for key, value in options.items()}
        return cls(str(format_), named, tuple(map(str, paths)), bool(streamed), str(table_class))


def data_place(
    format_: str, options: Mapping[str, str], paths: Sequence[str], folder: str, *, streamed: bool = False
) -> DataPlace:
    """
    Return the place of a Spark reader or writer.

    Args:
        format_: the format.
        options: all options.
        paths: the paths.
        folder: the folder in which the script runs.
        streamed: whether a stream reads it.
    """
    lower = {name.lower(): value for name, value in options.items()}
    if lower.get("url", "").startswith("jdbc:"):
        lower["url"] = _readable_url(lower["url"])
    given = tuple(paths) or ((lower["path"],) if lower.get("path") else ())
    if given and _UNKNOWN.fullmatch(format_):
        # A path names a dataset in any format.
        format_ = "parquet"
    found = DataPlace(
        format_.lower(), {name: value for name, value in lower.items() if name in _KEPT and name != "path"}, given
    )
    if found.short in (*_LAKES, *_FILES) and found.table is None:
        given = tuple(qualified(each, folder) for each in given)
    return attrs.evolve(found, paths=given, streamed=streamed)


def _readable_url(url: str) -> str:
    """Return a JDBC URL in which words replace unknown values, because braces are no part of a host or a database."""
    url = _UNKNOWN_PORT.sub(r"\1", url)
    return _UNKNOWN.sub(lambda found: f"unknown_{_NO_WORD.sub('_', found[0]).strip('_')}", url)


def qualified(path: str, folder: str) -> str:
    """
    Return the absolute form of a path, in which no unknown value has brackets.

    Args:
        path: the path.
        folder: the folder in which the script runs: a relative path is below it.
    """
    path = _UNKNOWN_ITEM.sub(lambda found: _ITEM.sub(lambda item: f".{item[1].replace('/', '.')}", found[0]), path)
    return path if is_absolute(path) else os.path.join(folder, path)  # noqa: PTH118 (texts)


def datasets_of(place: DataPlace, fields: tuple[Field, ...] = ()) -> tuple[Dataset, ...]:
    """Return the datasets at a place: none if the place names none."""
    options = place.options
    if place.format == "jdbc":
        url, text = options.get("url", ""), _jdbc_text(options)
        if not url or not text:
            return ()
        return (jdbc_dataset(url, text, fields),) if is_name(text) else jdbc_tables(url, text)
    if place.format == "kafka":
        return tuple(topic_dataset(options.get(SERVERS, ""), topic, fields) for topic in topics_of(options))
    if place.is_of_files:
        found = {each.identifier: each for each in (at_location(path, fields, place.short) for path in _roots(place))}
        return tuple(found.values())
    where = {**options, **({"path": place.paths[0]} if place.paths else {})}
    return (placed(place.format, place.table_class or place.format, where, (), fields),)


def columns_of_query(place: DataPlace) -> tuple[QueryColumn, ...] | None:
    """Return the columns of the result of a query in another database, in order; None if it does not name them."""
    options = place.options
    return jdbc_columns(options.get("url", ""), _jdbc_text(options), options.get("preparequery", ""))


def with_whole_paths(text: str, folder: str) -> str:
    """
    Return a statement in which the paths of tables and directories are absolute.

    A path may replace a table, as in ``parquet.`data/orders` ``, or follow `INSERT OVERWRITE DIRECTORY`.

    Args:
        text: the statement.
        folder: the folder in which the script runs.
    """
    every = list(tokens(with_versions(text)))
    parts = [each.text for each in every]
    for at in range(2, len(every)):
        is_path = every[at].kind is TokenKind.NAME and parts[at - 1] == "." and "/" in parts[at]
        if is_path and parts[at - 2].lower() in (*_LAKES, *_FILES):
            parts[at] = f"`{qualified(parts[at][1:-1], folder)}`"
        if every[at].kind is TokenKind.STRING and _is_directory(every[:at]):
            parts[at] = f"{parts[at][0]}{qualified(parts[at][1:-1], folder)}{parts[at][-1]}"
    return "".join(parts)


def _is_directory(before: Sequence[Token]) -> bool:
    """Return whether the text after some tokens is the path of a directory that a statement writes."""
    words = [each.text.upper() for each in before if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    return words[-1:] == ["DIRECTORY"] and words[-2:-1] in (["OVERWRITE"], ["LOCAL"])


def topics_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the topics in the options of a Kafka source or sink."""
    if options.get("subscribe"):
        return tuple(dict.fromkeys(each.strip() for each in options["subscribe"].split(",") if each.strip()))
    if options.get("assign"):
        try:
            assigned = json.loads(options["assign"])
        except ValueError:
            return ()
        return tuple(map(str, assigned)) if isinstance(assigned, dict) else ()
    return (options["topic"],) if options.get("topic") else ()


def _jdbc_text(options: Mapping[str, str]) -> str:
    query = options.get("query")
    return options.get("dbtable", "") if query is None else f"({query}) SPARK_GEN_SUBQ_0"


def _roots(place: DataPlace) -> list[str]:
    """Return the paths of the datasets; of a pattern, only the folder above its first wildcard."""
    if place.streamed:
        return [before_glob(path) for path in place.paths]
    return [
        before_glob(path) if any(each in path for each in _WILD) and not _is_stand_in(path) else each
        for path in place.paths
        # A dot in the name of an unknown value is none of a file's name.
        for each in ([path] if _UNKNOWN.fullmatch(path.rpartition("/")[2]) else roots([path], path))
    ]


def _is_stand_in(path: str) -> bool:
    """Return whether the only braces of a path are those of the stand-in for an unknown value."""
    return not any(each in path for each in "*?[") and "," not in path


def key_of_dataset(identifier: Identifier) -> str:
    """Return the key of a dataset's columns, which does not depend on how namespace and name are divided."""
    return f"{identifier.namespace.rstrip('/')}/{identifier.name.lstrip('/')}"


@source({"openlineage.pyspark": "KnownTables$KnownTable"}, reads={"place": "#long:place"})
def known_place(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    """Return the source that a script loads in a dry run; None for any other operator."""
    table = operator.described("table")
    text = table.text("place") if table is not None else None
    if text is None:
        return None
    place, fields = DataPlace.of_text(text), fields_of(plan, operator)
    if place.format == "jdbc":
        values: dict[str, Any] = {"url": place.options.get("url"), "table": _jdbc_text(place.options)}
        values["prepare"] = place.options.get("preparequery")
        return jdbc_relation(Described("JDBCRelation", values), operator, fields)
    operator = operator._replace(output=tuple(each for each in operator.output if each.name != "_metadata"))
    found = by_name(operator, *datasets_of(place, fields))
    if place.format == "kafka" and not found.datasets:
        return attrs.evolve(found, opaque="the topics are given by a pattern: which topics match it is unknown")
    return found
