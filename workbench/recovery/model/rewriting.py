"""
The user's own statements as they run again: with whole names, pinned inputs, and copies instead of tables.

This module is imported only for such a statement, because sqlglot is large.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
from openlineage_pyspark.facets.sql_names import name_parts
from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
from openlineage_pyspark.workbench.recovery.model.facts import COMMENTS
from openlineage_pyspark.workbench.recovery.model.statements import (
    NO_ROWS,
    PLAIN_CHARACTERS,
    emptied,
    place_of_files,
    table_in_sql,
)
from sqlglot import exp

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts

_DIALECT = "spark"
_HIDDEN = "***"
"""What an event has instead of a secret, or of what may be one."""
_REPLACE = re.compile(rf"\A({COMMENTS})REPLACE\s+TABLE\b", re.IGNORECASE | re.DOTALL)
_EVOLVING = re.compile(rf"\A{COMMENTS}MERGE{COMMENTS}\bWITH\s+SCHEMA\s+EVOLUTION\s+INTO\b", re.IGNORECASE | re.DOTALL)
_EVOLVES = "MERGE WITH SCHEMA EVOLUTION INTO"
_LOCATED_CLONE = re.compile(
    r"\A((?:(?!\bAS\b).)*\bCLONE\s+(?:`(?:[^`]|``)*`|[^\s`;])+(?:\s+VERSION\s+AS\s+OF\s+\d+)?)"
    r"\s+LOCATION\s+'([^'\\]*)'\s*;?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_LOCATION = "LOCATION"
_CLONED = re.compile(
    r"\A((?:(?!\bAS\b).)*\bCLONE\s+(?:`(?:[^`]|``)*`|[^\s`;])+)\s+VERSION\s+AS\s+OF\s+(\d+)\s*;?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_WITHOUT_ALIAS = (exp.Insert, exp.Create, exp.Drop, exp.TruncateTable)


@attrs.frozen
class Rewritten:
    """
    A statement that can run again.

    Args:
        text: the statement; empty if it can't be made.
        doubts: the uncertainties about it.
        before: the statements that must run before it.
        stands_alone: whether all of its names are known. An unknown one may be a temporary view of its application.
        named: the datasets that it reads by their names; what it reads through a view that stays one is not among them.
    """

    text: str
    doubts: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    stands_alone: bool = True
    named: frozenset[int] = frozenset()


def rewritten(
    sql: str,
    reads: Sequence[tuple[DatasetFacts, str]],
    known: Sequence[DatasetFacts],
    copies: Mapping[int, str],
    read_copies: Mapping[int, str],
    corrected: Collection[int] = (),
    views: Mapping[int, str] | None = None,
) -> Rewritten:
    """
    Return a statement as it must run again.

    Args:
        sql: its text.
        reads: the datasets that it reads, each with the version to which it is pinned; an empty one means the current
            data, and NO_ROWS none of its rows.
        known: all datasets that it names.
        copies: a dataset that it writes -> the copy to write instead.
        read_copies: a dataset that it reads -> the copy to read instead.
        corrected: the datasets that it reads in their current state, even if it names a version.
        views: views that it reads -> the query to read instead of each.
    """
    tree = _tree_of(sql)
    if isinstance(tree, str):
        return Rewritten("", (tree,))
    try:
        _open_views(tree, known, views or {})
        return _TableRewriter(tree, reads, known, copies, read_copies, corrected).rewritten()
    except RecursionError:
        # sqlglot writes a tree by recursion, and goes deeper there than where it parses.
        return Rewritten("", ("its statement is nested too deeply to be written again",))


@attrs.frozen
class WithoutReplace:
    """
    What a CREATE OR REPLACE TABLE ... AS does, as statements that do not replace the table.

    Args:
        create: the statement that creates the table if it does not exist.
        overwrite: the one that only replaces the rows of the table if it exists.
        table: the name of the table.
        query: the query.
        partitions: what the replaced table would be partitioned by, as statements have it. An overwrite changes no
            partitioning and no properties.
        properties: the properties that it would have, sorted.
    """

    create: str
    overwrite: str
    table: str
    query: str
    partitions: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


def without_replace(sql: str) -> WithoutReplace | None:
    """Return what a CREATE OR REPLACE TABLE ... AS does, as other statements; None for a statement of another kind."""
    tree = _tree_of(sql)
    query = tree.args.get("expression") if isinstance(tree, exp.Create) and tree.kind == "TABLE" else None
    if not isinstance(query, exp.Query) or not tree.args.get("replace") or not isinstance(tree.this, exp.Table):
        return None
    table, text = tree.this.sql(dialect=_DIALECT), query.sql(dialect=_DIALECT)
    tree.args["replace"] = False
    stated = tree.args["properties"].expressions if tree.args.get("properties") else []
    partitions = tuple(
        part.sql(dialect=_DIALECT)
        for each in stated
        if isinstance(each, exp.PartitionedByProperty)
        for part in each.this.expressions
    )
    # Those that Spark itself means by other clauses have classes of their own.
    properties = tuple(sorted((each.name, str(each.text("value"))) for each in stated if type(each) is exp.Property))
    overwrite = f"INSERT OVERWRITE TABLE {table} {text}"
    return WithoutReplace(tree.sql(dialect=_DIALECT), overwrite, table, text, partitions, properties)


def query_of_view(sql: str, known: Sequence[DatasetFacts]) -> str:
    """
    Return the query of a view, if it can be read instead of the view; else an empty text.

    Args:
        sql: the statement that created the view.
        known: all datasets that the query names: each table must be one of them, by its whole name, because the
            statement ran in another session.
    """
    tree = _tree_of(sql)
    query = tree.args.get("expression") if isinstance(tree, exp.Create) and tree.kind == "VIEW" else None
    if not isinstance(query, exp.Select) or isinstance(tree.this, exp.Schema) or query.find(exp.CTE):
        return ""
    if tree.args.get("exists") or any(select.is_star for select in query.find_all(exp.Select)):
        # The view may be an older one; and a view keeps the columns that a star meant when it was created.
        return ""
    for table in query.find_all(exp.Table):
        parts = [part.name for part in table.parts]
        if len(parts) < 2 or sum(_names(dataset, parts) for dataset in known) != 1:
            return ""
    return str(query.sql(dialect=_DIALECT))


def _open_views(tree: Any, known: Sequence[DatasetFacts], views: Mapping[int, str]) -> None:
    """Replace views by their queries."""
    targets = {id(each) for each in _targets(tree)}
    opened = [dataset for dataset in known if dataset.id in views]
    for table in list(tree.find_all(exp.Table)) if opened else ():
        parts = [part.name for part in table.parts]
        matching = [dataset for dataset in opened if _names(dataset, parts)]
        if id(table) in targets or len(matching) != 1:
            continue
        _keep_name(tree, table, parts[-1])
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True))
        query = parsed(views[matching[0].id], _DIALECT)[0]
        table.replace(exp.Subquery(this=query, alias=alias))


class _TableRewriter:
    """
    Gives each table in a statement the name and the version with which it must run again.

    Args:
        tree: the statement, which is changed.
        reads: as for `rewritten`, like all that follow.
        known: its known datasets.
        copies: the copies that it writes.
        read_copies: the copies that it reads.
        corrected: the datasets that it reads in their current state.
    """

    def __init__(
        self,
        tree: Any,
        reads: Sequence[tuple[DatasetFacts, str]],
        known: Sequence[DatasetFacts],
        copies: Mapping[int, str],
        read_copies: Mapping[int, str],
        corrected: Collection[int],
    ) -> None:
        self._tree = tree
        self._known = known
        self._copies, self._read_copies = copies, read_copies
        self._corrected = corrected
        self._versions = {dataset.id: version for dataset, version in reads}
        self._uncertainties: list[str] = []
        self._before: tuple[str, ...] = ()
        self._stands_alone = True
        self._named: set[int] = set()

    def rewritten(self) -> Rewritten:
        """Change the statement, and return it."""
        targets = {id(each) for each in _targets(self._tree)}
        ctes = {each.alias_or_name.lower() for each in self._tree.find_all(exp.CTE)}
        for table in list(self._tree.find_all(exp.Table)):
            parts = [part.name for part in table.parts]
            dataset = None if len(parts) == 1 and parts[0].lower() in ctes else self._dataset_of(parts)
            if dataset is None:
                continue
            if id(table) in targets:
                self._rewrite_target(table, dataset, parts[-1])
            else:
                self._rewrite_source(table, dataset, parts[-1])
        before, named = self._before, frozenset(self._named)
        return Rewritten(_text(self._tree), tuple(self._uncertainties), before, self._stands_alone, named)

    def _dataset_of(self, parts: Sequence[str]) -> DatasetFacts | None:
        """Return the dataset that a name means. If that is unclear, return None, and in some cases record why."""
        matching = [dataset for dataset in self._known if _names(dataset, parts)]
        if len(matching) == 1:
            return matching[0]
        if matching or len(parts) <= 2:
            which = "several datasets of the run have this name" if matching else "it may be a temporary view"
            self._uncertainties.append(f"{'.'.join(parts)} is left unchanged: {which}")
            # A temporary view has one part, or is one of `global_temp`.
            self._stands_alone &= bool(matching) or (len(parts) > 1 and parts[0].lower() != "global_temp")
        # Otherwise it is the whole name of a view whose query replaced it in the plan: the query names other datasets.
        return None

    def _rewrite_target(self, table: exp.Table, dataset: DatasetFacts, name: str) -> None:
        """Rename the table that the statement writes."""
        target = self._copies.get(dataset.id, dataset.sql)
        if isinstance(self._tree, exp.Create):
            self._before = _over_what_is_there(
                self._tree, dataset, table_in_sql(target), self._uncertainties, is_copy=dataset.id in self._copies
            )
        _rename(table, target)
        if table.name.lower() != name.lower() and not isinstance(self._tree, _WITHOUT_ALIAS):
            _keep_name(self._tree, table, name)
        self._unpin_corrected(table, dataset)

    def _rewrite_source(self, table: exp.Table, dataset: DatasetFacts, name: str) -> None:
        """Rename a table that the statement reads, and pin it to its version."""
        self._named.add(dataset.id)
        _rename(table, self._read_copies.get(dataset.id, dataset.sql))
        if table.name.lower() != name.lower():
            _keep_name(self._tree, table, name)
        self._unpin_corrected(table, dataset)
        version = "" if dataset.id in self._read_copies else self._versions.get(dataset.id, "")
        if version == NO_ROWS:
            _without_rows(self._tree, table, name)
            return
        if version and table.args.get("version") is None:
            number = exp.Literal.number(version) if version.lstrip("-").isdecimal() else exp.Literal.string(version)
            table.set("version", exp.Version(this="VERSION", kind="AS OF", expression=number))
        _in_query(self._tree, table, name)

    def _unpin_corrected(self, table: exp.Table, dataset: DatasetFacts) -> None:
        """Remove the version that the statement names of a corrected dataset."""
        if table.args.get("version") is not None and dataset.id in self._corrected:
            self._uncertainties.append(f"it named a version of {dataset.label}, and now reads the current rows")
            table.set("version", None)


def _text(tree: Any) -> str:
    """Return the text of a tree, with the words that sqlglot does not know."""
    text: str = tree.sql(dialect=_DIALECT)
    if tree.meta.get(_LOCATION) is not None:
        text = f"{text} LOCATION '{tree.meta[_LOCATION]}'"
    return text.replace("MERGE INTO", _EVOLVES, 1) if tree.meta.get(_EVOLVES) else text


def _tree_of(sql: str) -> Any:
    """Return the tree of a statement, or why it can't run again from its text."""
    if _HIDDEN in sql:
        return "parts of its statement were hidden as possible secrets"
    # sqlglot does not know that a clone may have a location.
    located = _LOCATED_CLONE.match(sql)
    if located is None:
        return _tree_without_location(sql)
    tree = _tree_without_location(located[1])
    if not isinstance(tree, str):
        if not isinstance(tree.args.get("clone"), exp.Clone):
            return "its statement is of a kind that can't be rewritten"
        tree.meta[_LOCATION] = located[2]
    return tree


def _tree_without_location(sql: str) -> Any:
    """Return the tree of a statement that is no clone with a location, or why it can't run again from its text."""
    evolves, version = _EVOLVING.match(sql), _CLONED.match(sql)
    if version is not None:
        sql = version[1]
    try:
        # sqlglot does not know REPLACE TABLE. If the table exists, CREATE OR REPLACE TABLE does the same.
        trees = parsed(_REPLACE.sub(r"\1CREATE OR REPLACE TABLE", _EVOLVING.sub("MERGE INTO", sql)), _DIALECT)
    except UnparsableError as problem:
        return f"its statement can't be parsed to pin what it reads ({problem})"
    if len(trees) != 1 or isinstance(trees[0], exp.Command):
        return "its statement is of a kind that can't be rewritten"
    if isinstance(trees[0], exp.Query):
        return "its text is a query, and no event states how its rows were written"
    if trees[0].find(exp.Placeholder, exp.Parameter):
        return "its statement has parameters, and no event states their values"
    clone = trees[0].args.get("clone")
    if version is not None:
        if not isinstance(clone, exp.Clone) or not isinstance(clone.this, exp.Table):
            return "its statement is of a kind that can't be rewritten"
        number = exp.Literal.number(version[2])
        clone.this.set("version", exp.Version(this="VERSION", kind="AS OF", expression=number))
    trees[0].meta[_EVOLVES] = evolves is not None
    return trees[0]


def _keep_name(tree: Any, table: exp.Table, name: str) -> None:
    """Give a renamed table its old name as an alias, if columns name the table by that."""
    naming = [column for column in tree.find_all(exp.Column) if column.table.lower() == name.lower()]
    if not naming or table.args.get("alias") is not None:
        return
    table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    for column in naming:
        column.set("db", None)
        column.set("catalog", None)


def _without_rows(tree: Any, table: exp.Table, name: str) -> None:
    """Let a table be read without its rows."""
    _keep_name(tree, table, name)
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    table.set("alias", None)
    table.replace(exp.Subquery(this=exp.select("*").from_(table.copy()).where(exp.false()), alias=alias))


def _in_query(tree: Any, table: exp.Table, name: str) -> None:
    """Put the source of a MERGE into a query if it has a version, which the grammar of MERGE does not allow there."""
    if isinstance(tree, exp.Merge) and tree.args.get("using") is table and table.args.get("version") is not None:
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
        table.set("alias", None)
        tree.set("using", exp.Subquery(this=exp.select("*").from_(table.copy()), alias=alias))


def _over_what_is_there(
    tree: exp.Create, dataset: DatasetFacts, name: str, doubts: list[str], *, is_copy: bool
) -> tuple[str, ...]:
    """
    Change a CREATE ... AS, or ... CLONE, so that it runs although its target exists.

    Spark accepts CREATE OR REPLACE TABLE ... AS only for catalogs that support it, such as those of Iceberg and Delta
    Lake; its own catalog refuses it (UNSUPPORTED_FEATURE.TABLE_OPERATION).

    Args:
        tree: the statement, which is changed.
        dataset: the dataset that it creates.
        name: the name of that, or of its copy, as statements have it.
        doubts: collects the uncertainties.
        is_copy: whether it creates a copy, which must not have the files of the table.

    Returns:
        The statements that must run before it.
    """
    if tree.args.get("expression") is None and tree.args.get("clone") is None:
        return ()
    tree.args["exists"] = False
    places = list(tree.find_all(exp.LocationProperty))
    if is_copy:
        tree.meta.pop(_LOCATION, None)
        for place in places:
            place.pop()
    elif (clone := tree.meta.get(_LOCATION)) and place_of_files(clone) != place_of_files(dataset.location):
        # Delta Lake refuses a clone over a table that is elsewhere, after the table was emptied for it.
        doubts.append(f"it clones to {clone}, and the table is at {dataset.location or 'an unknown location'}")
    if tree.args.get("replace") or tree.kind != "TABLE" or dataset.has_versions:
        tree.args["replace"] = True
        # Delta Lake refuses to clone over a table that has rows.
        return () if tree.args.get("clone") is None or is_copy else (emptied(name),)
    if places and not is_copy:
        doubts.append(f"DROP TABLE leaves the files in {places[0].name}: remove them before the table is created")
    return (f"DROP TABLE IF EXISTS {name}",)


def _targets(tree: Any) -> list[exp.Table]:
    """Return the tables that a statement writes."""
    if not isinstance(tree, (exp.Insert, exp.Create, exp.Merge, exp.Update, exp.Delete, exp.TruncateTable)):
        return []
    target = tree.this
    if isinstance(target, exp.Schema):
        target = target.this
    return [target] if isinstance(target, exp.Table) else []


def _names(dataset: DatasetFacts, parts: Sequence[str]) -> bool:
    """Return whether the last parts of a name, which may be all of them, are a dataset's."""
    path = urlsplit(parts[-1]).path.rstrip("/")
    if "/" in path and path == urlsplit(dataset.location).path.rstrip("/"):
        return True
    whole = [part.lower() for part in name_parts(dataset.former or dataset.sql or dataset.label)]
    return whole[-len(parts) :] == [part.lower() for part in parts]


def _rename(table: exp.Table, name: str) -> None:
    """Give a table in a statement its whole name."""
    if not name:
        return
    *above, last = name_parts(name)
    identifiers = [exp.to_identifier(part, quoted=not set(part.lower()) <= PLAIN_CHARACTERS) for part in above]
    table.set("this", exp.to_identifier(last, quoted=not set(last.lower()) <= PLAIN_CHARACTERS))
    table.set("db", identifiers[-1] if identifiers else None)
    catalog: exp.Expression | None = None
    if len(identifiers) > 1:
        catalog = identifiers[0]
        for each in identifiers[1:-1]:
            catalog = exp.Dot(this=catalog, expression=each)
    table.set("catalog", catalog)
