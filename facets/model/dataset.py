"""
Datasets as frozen values: their identity, schema, catalog and statistics; and how their names are trimmed.

A date or a partition at the end of a path is not a part of a dataset's name. The trimmers, their names and their order
are those of the Java integration (`io.openlineage.client.dataset.partition.trimmer`), and so is the pattern that is
cut from names after them (`RemovePathPatternUtils`). A dataset whose name was trimmed keeps the whole name in
`Dataset.locations`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.model.name_rules import NamespaceResolver, SourceRule
from openlineage_pyspark.facets.model.plan import Operator, Plan

SESSION_CATALOG = "spark_catalog"
"""Spark's name of a session's own catalog."""


@attrs.frozen
class Field:
    """
    One column or nested field of a dataset's schema.

    Args:
        name: the field's own name, without the names of its parents.
        type: Spark's name of an atomic type, or `struct`, `array`, `map`.
        description: the column's comment.
        fields: the fields of a struct, `_element` of an array, `key` and `value` of a map.
    """

    name: str
    type: str
    description: str | None = None
    fields: tuple[Field, ...] = ()


@attrs.frozen(order=True, cache_hash=True)
class Identifier:
    """The identity of a dataset by OpenLineage's naming specification: namespace and name."""

    namespace: str
    name: str

    @property
    def path_label(self) -> str:
        """The short form of a path in the name of a job: its last two parts, as in the Java integration."""
        parts = [part for part in self.name.split("/") if part]
        return "_".join(parts[-2:]) or "root"

    @property
    def text(self) -> str:
        """The namespace and the name in one text, such as `s3://bucket/path`, `file:/path` or `hdfs://nn:8020/path`."""
        if self.namespace == "file":
            return f"file:{self.name}"
        return f"{self.namespace}{'' if self.name.startswith('/') else '/'}{self.name}"


@attrs.frozen
class Symlink:
    """A further identity of a dataset (SymlinksDatasetFacet); `type` is TABLE or LOCATION."""

    namespace: str
    name: str
    type: str = "TABLE"


@attrs.frozen
class Catalog:
    """
    The catalog of a table (CatalogDatasetFacet).

    Args:
        framework: for example `hive`, `iceberg`, `delta`, `jdbc`, `spark`.
        type: for example `hive`, `hadoop`, `rest`, `in-memory`.
        name: the catalog's name in Spark, for example `spark_catalog`.
        metadata_uri: the address of the catalog's metadata service, without credentials.
        warehouse_uri: the location of its tables, without credentials.
    """

    framework: str
    type: str
    name: str
    metadata_uri: str | None = None
    warehouse_uri: str | None = None


@attrs.frozen
class TableVersions:
    """
    The versions of a table that one run reads, or has committed.

    Args:
        format: `iceberg` or `delta`.
        ids: ids of Iceberg's snapshots, or Delta Lake's version numbers; the last one is the newest that was committed.
        branch: the branch or tag that was named; None for the main branch.
        parent: the version before the first one that was committed; None if there is none, or it is unknown.
        operation: the operation of the last commit in the format's words, such as `append`; None if it is unknown.
        table_id: the id that the format gives the table; None if it is unknown.
    """

    format: str
    ids: tuple[str, ...]
    branch: str | None = None
    parent: str | None = None
    operation: str | None = None
    table_id: str | None = None

    def joined(self, other: TableVersions | None) -> TableVersions:
        """Return the versions of both, each once."""
        if other is None or other == self:
            return self
        ids = tuple(dict.fromkeys((*self.ids, *other.ids)))
        return attrs.evolve(self, ids=ids, branch=self.branch if self.branch == other.branch else None)


@attrs.frozen
class Dataset:
    """
    A dataset that a run reads or writes.

    Args:
        identifier: its identity, the same when it is read and when it is written.
        fields: the schema, in order; empty if it is unknown.
        symlinks: its further identities, for example the table's name besides its location.
        catalog: the catalog of the table; None if it is not in one.
        storage_layer: for example `iceberg`, `delta`, `default`; None if the dataset is not storage.
        file_format: for example `parquet`.
        type: TABLE, VIEW, FILE, TOPIC or STREAM (DatasetTypeDatasetFacet).
        description: the table's comment.
        locations: the parts of it that a run reads or writes (its `subset` facet), sorted; empty for the whole.
        versions: the versions that a run reads or has committed; None if it has none, or they are unknown.
        guessed: whether its name is made from the options of a source without a rule.
    """

    identifier: Identifier
    fields: tuple[Field, ...] = ()
    symlinks: tuple[Symlink, ...] = ()
    catalog: Catalog | None = None
    storage_layer: str | None = None
    file_format: str | None = None
    type: str | None = None
    description: str | None = None
    locations: tuple[str, ...] = ()
    versions: TableVersions | None = None
    guessed: bool = False

    def joined(self, other: Dataset) -> Dataset:
        """Return the dataset with the parts and the versions of both descriptions of it."""
        versions = other.versions if self.versions is None else self.versions.joined(other.versions)
        if self.locations == other.locations:
            return self if versions == self.versions else attrs.evolve(self, versions=versions)
        both = tuple(sorted({*self.locations, *other.locations})) if self.locations and other.locations else ()
        return attrs.evolve(self, locations=both, versions=versions)

    @property
    def is_named_by_catalog(self) -> bool:
        """
        Whether it has the name that its catalog gives it because its location is unknown.

        In the session catalog, that is the name that is a symlink where the location is known.
        """
        if self.catalog is None or self.symlinks:
            return False
        is_of_session = self.catalog.name == "spark_catalog" and self.storage_layer is None
        return is_of_session or self.identifier.namespace == self.catalog.name


@attrs.frozen
class Statistics:
    """
    The amount that a run read from or wrote to one dataset; each number is None if Spark did not report it.

    Args:
        rows: the number of rows.
        bytes: the size in bytes.
        files: the number of files.
    """

    rows: int | None = None
    bytes: int | None = None
    files: int | None = None


FILE_METADATA = "_metadata"
"""The column that Spark adds to files on demand (FileSourceMetadataAttribute); it is not a column of the dataset."""


_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
"""Name of a type in JSON -> its name in SQL, if that differs."""


def fields_of(plan: Plan, operator: Operator) -> tuple[Field, ...]:
    """Return the schema of an operator's output."""
    known = plan.attributes
    return tuple(
        [
            _atomic(column.name, attribute.type, attribute.comment)
            if attribute.type[:1] != "{"
            else field(column.name, attribute.type, attribute.comment)
            for column in operator.output
            if (attribute := known.get(column.id)) is not None and column.name != FILE_METADATA
        ]
    )


def field(name: str, type_: str, comment: str | None = None) -> Field:
    """
    Return a field of a schema, from Spark's description of its type.

    Args:
        name: the field's name.
        type_: `DataType.catalogString` of an atomic type, `DataType.json` of a complex one.
        comment: the column's comment.
    """
    return _field(name, json.loads(type_), comment) if type_.startswith("{") else _atomic(name, type_, comment)


def inner_fields(field: Field) -> tuple[Field, ...]:
    """Return the fields of a struct, or of the structs in an array; none for any other type."""
    while field.type == "array" and field.fields:
        field = field.fields[0]
    return field.fields if field.type == "struct" else ()


def schema_fields(type_json: str | None) -> tuple[Field, ...]:
    """Return the fields of a struct type in JSON; none for any other text."""
    return field("", type_json).fields if type_json and type_json.startswith("{") else ()


def _field(name: str, type_: Any, comment: str | None = None) -> Field:
    if isinstance(type_, dict):
        kind = type_.get("type")
        if kind == "struct":
            inner = tuple(
                _field(f["name"], f["type"], (f.get("metadata") or {}).get("comment")) for f in type_["fields"]
            )
            return Field(name, "struct", comment, inner)
        if kind == "array":
            return Field(name, "array", comment, (_field("_element", type_["elementType"]),))
        if kind == "map":
            inner = (_field("key", type_["keyType"]), _field("value", type_["valueType"]))
            return Field(name, "map", comment, inner)
        if kind == "udt":
            return Field(name, str(type_.get("pyClass") or type_.get("class") or "udt"), comment)
    return _atomic(name, str(type_), comment)


# An application reads the same columns repeatedly.
@functools.lru_cache(maxsize=4096)
def _atomic(name: str, type_: str, comment: str | None) -> Field:
    return Field(name, _SQL_NAMES.get(type_, type_), comment)


REMOVED = "remove"
"""The group of the pattern that is cut from names."""

_MONTHS = "0[1-9]|1[0-2]"
_DAYS = "0[1-9]|[12][0-9]|3[01]"
_DATE = re.compile(
    rf"[0-9]{{4}}-(?:{_MONTHS})-(?:{_DAYS})|(?:{_DAYS})\.(?:{_MONTHS})\.[0-9]{{4}}|[0-9]{{4}}(?:{_MONTHS})(?:{_DAYS})"
)
_AROUND_DATE = re.compile(r"[\s:.\-0-9]*(?:T[\s:.\-0-9]*)?(?:Z[\s:.\-0-9]*)?(?:T[\s:.\-0-9]*)?")
_YEAR_MONTH = re.compile(rf"[0-9]{{4}}-?(?:{_MONTHS})")
_YEAR, _MONTH, _DAY = (re.compile(text) for text in ("[0-9]{4}", _MONTHS, _DAYS))


def _date(parts: list[str]) -> int:
    """Return 1 if the last part is a date, possibly with a time: `2013-01-01`, `20130101T0930Z`, `01.01.2013`."""
    last = parts[-1]
    return int(_DATE.search(last) is not None and _AROUND_DATE.fullmatch(last) is not None)


_DAY_IN_NAME = re.compile(
    rf"(?P<before>(?:[^/]{{0,200}}[^/_.\- ])?)[_.\- ]?(?<![A-Za-z0-9])"
    rf"(?:{_DATE.pattern}|[12][0-9]{{3}}_(?:{_MONTHS})_(?:{_DAYS}))(?:[T_\- ][0-9]{{2}}[0-9:\-]{{0,9}}Z?)?"
    r"(?P<end>(?:\.[A-Za-z][A-Za-z0-9]{0,9}){0,3})"
)


def _without_day(part: str) -> str:
    """Return the name of a file or folder without the day at its end: `orders_2013-01-01.csv` gives `orders.csv`."""
    found = _DAY_IN_NAME.fullmatch(part)
    return part if found is None else f"{found['before']}{found['end']}" if found["before"] else ""


def _key_value(parts: list[str]) -> int:
    """Return 1 if the last part is a partition: `day=1`."""
    return int(parts[-1].count("=") == 1)


def _date_directories(parts: list[str]) -> int:
    """Return 2 for `2013/01` at the end, 3 for `2013/01/31`."""
    for patterns in ((_YEAR, _MONTH), (_YEAR, _MONTH, _DAY)):
        last = parts[-len(patterns) :]
        if len(last) == len(patterns) and all(p.fullmatch(part) for p, part in zip(patterns, last, strict=True)):
            return len(patterns)
    return 0


def _year_month(parts: list[str]) -> int:
    """Return 1 if the last part is a month: `201301`, `2013-01`."""
    return int(_YEAR_MONTH.fullmatch(parts[-1]) is not None)


TRIMMERS: Mapping[str, Callable[[list[str]], int]] = {
    "DateTrimmer": _date,
    "KeyValueTrimmer": _key_value,
    "MultiDirDateTrimmer": _date_directories,
    "YearMonthTrimmer": _year_month,
}
"""Name of a trimmer -> how many parts it trims from the end of a path."""


def java_regex(text: str) -> re.Pattern[str]:
    """
    Return the pattern of a regular expression for Java, which names groups as `(?<name>...)`.

    Raises:
        ValueError: Python can't read it.
    """
    try:
        return re.compile(re.sub(r"(?<!\\)\(\?<(?![=!])", "(?P<", text))
    except (re.error, RecursionError, OverflowError) as exc:
        raise ValueError(f"not a regular expression: {exc}") from exc


def java_pattern(text: str) -> re.Pattern[str]:
    """
    Return the pattern whose group `remove` is cut from names, from a regular expression for Java.

    Raises:
        ValueError: Python can't read it, or it has no group `remove`.
    """
    pattern = java_regex(text)
    if REMOVED not in pattern.groupindex:
        raise ValueError(f"no group named {REMOVED}")
    return pattern


@attrs.frozen
class Trimming:
    """
    The rules that change the names of datasets: parts to leave out, and replacements of hosts.

    Args:
        trimmers: the names of the trimmers that are applied, until none of them finds anything.
        pattern: its group `remove` is cut from the name after that; None to cut nothing.
        resolvers: the first one that changes a namespace is applied to it.
        rules: the rules that name the datasets of sources without a resolver.
    """

    trimmers: tuple[str, ...] = tuple(TRIMMERS)
    pattern: re.Pattern[str] | None = None
    resolvers: tuple[NamespaceResolver, ...] = ()
    rules: tuple[SourceRule, ...] = ()

    def trimmed(self, identifier: Identifier, *, is_path: bool = False) -> Identifier:
        """
        Return the identity with its name trimmed.

        Args:
            identifier: the identity.
            is_path: whether it names files without a table, whose name may contain a day; a table with a day in its
                name is a separate table.
        """
        name = self._without_pattern(self._without_end(identifier, is_path=is_path))
        namespace = self.namespace(identifier.namespace)
        same = name == identifier.name and namespace == identifier.namespace
        return identifier if same else Identifier(namespace, name)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of sources that the rules need, in lower case and sorted."""
        return tuple(sorted({option for rule in self.rules for option in rule.options}))

    def namespace(self, namespace: str) -> str:
        """Return a namespace with logical names instead of hosts."""
        changed = (resolver.resolved(namespace) for resolver in self.resolvers)
        return next((each for each in changed if each != namespace), namespace)

    def dataset(self, dataset: Dataset) -> Dataset:
        """Return the dataset under its trimmed name; if trimmers changed it, `locations` has the whole name."""
        whole = dataset.identifier
        if self.resolvers and dataset.symlinks:
            links = tuple(attrs.evolve(link, namespace=self.namespace(link.namespace)) for link in dataset.symlinks)
            dataset = dataset if links == dataset.symlinks else attrs.evolve(dataset, symlinks=links)
        identifier = self.trimmed(whole, is_path=dataset.type == "FILE")
        if identifier is whole:
            return dataset
        changed = self._without_end(whole, is_path=dataset.type == "FILE") != whole.name
        locations = (whole.name,) if changed else dataset.locations
        return attrs.evolve(dataset, identifier=identifier, locations=locations)

    def _without_end(self, identifier: Identifier, *, is_path: bool) -> str:
        # An option of a source may look like a path.
        if identifier.namespace.startswith("datasource:"):
            return identifier.name
        name = _without_end(identifier.name, self.trimmers)
        if not is_path or "DateTrimmer" not in self.trimmers:
            return name
        folder, _, last = name.rpartition("/")
        undated = _without_day(last)
        if undated == last or not (undated or folder):
            return name
        return f"{folder}/{undated}" if undated else _without_end(folder, self.trimmers)

    def undated(self, path: str) -> str:
        """
        Return a path without the dates and partitions anywhere in it.

        Jobs are named after such paths, so that a job that writes `daily/2013-01-01/flights` has one name every day.

        Args:
            path: the name of a dataset.
        """
        parts, kept, at = path.split("/"), list[str](), 0
        while at < len(parts):
            dated = next((n for n in (3, 2, 1) if _ends(["", *parts[at : at + n]], self.trimmers) == n), 0)
            part = _without_day(parts[at]) if "DateTrimmer" in self.trimmers and not dated else parts[at]
            kept += [part] if not dated and (part or not parts[at]) else []
            at += dated or 1
        return "/".join(kept) if any(kept) else path

    def _without_pattern(self, name: str) -> str:
        found = self.pattern.search(name) if self.pattern is not None else None
        if found is None or not found.group(REMOVED):
            return name
        return (name[: found.start(REMOVED)] + name[found.end(REMOVED) :]) or name


DEFAULT_TRIMMING = Trimming()


# An application reads the same tables repeatedly.
@functools.lru_cache(maxsize=1024)
def _without_end(name: str, trimmers: tuple[str, ...]) -> str:
    if "/" not in name:
        return name
    parts = name.split("/")
    # The first directory stays, so that a name is never empty.
    first = 2 if name.startswith("/") else 1
    while len(parts) > first and (ends := _ends(parts[first - 1 :], trimmers)):
        del parts[-ends:]
    return "/".join(parts)


def _ends(parts: list[str], trimmers: tuple[str, ...]) -> int:
    """Return how many parts are trimmed from the end; the first part always stays."""
    found = (TRIMMERS[name](parts) for name in trimmers)
    return next((ends for ends in found if 0 < ends < len(parts)), 0)
