"""
Assertions about lineage, for your own tests.

`assert_lineage` compares the lineage of a DataFrame or a statement with the expected edges, and `assert_golden_lineage`
with a file beside the tests. Spark analyzes the query and executes nothing.

This module is not a pytest plugin, because every test run in the environment would import a plugin. The environment
variable OPENLINEAGE_PYSPARK_REGOLD rewrites golden files; it works with any runner.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.predict.query import lineage
from openlineage_pyspark.workbench.report import Lineage, ShortNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openlineage_pyspark.facets.model.lineage import InputField
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["REGOLD", "assert_golden_lineage", "assert_lineage"]

REGOLD = "OPENLINEAGE_PYSPARK_REGOLD"
"""The environment variable that makes `assert_golden_lineage` rewrite its files, unless it is empty or 0."""

_DIRECT = "DIRECT"
_PLACE = "paths are relative to "
_KINDS = "IDENTITY|TRANSFORMATION|AGGREGATION|CONDITIONAL|WINDOW|FILTER|JOIN|GROUP_BY|SORT"
_KIND = re.compile(rf" (?:{_KINDS})(?: \(masked\))?$")
_LIKE_KIND = re.compile(r" ([A-Z_]+)(?: \(masked\))?$")


def assert_lineage(
    query: DataFrame | str | Lineage,
    columns: Mapping[str, Iterable[str]],
    *,
    rows: Iterable[str] | None = None,
    sources: Mapping[str, DataFrame] | None = None,
    spark: SparkSession | None = None,
) -> None:
    """
    Assert the sources of each column of a query.

    Args:
        query: a DataFrame, the text of one statement, or the result of `lineage()`.
        columns: every column of the output, each with all of its sources, as `table.column`. Without kinds, only the
            sources of the value count. If one source of a column has a kind, as in
            `"default.orders.amount AGGREGATION"`, all its sources need one, and those that decide about the value count
            too. Write `(masked)` after the kind of a masked source. Columns of the same name count as one.
        rows: the columns that decide about all rows, each with or without its kind; None not to compare them.
        sources: the DataFrames that the test passes to the function under test, by the name of their table:
            `sources={"orders": orders}` makes `orders.amount` a source, whatever the DataFrame was made from.
        spark: the session of a statement; by default the active one.

    Raises:
        AssertionError: the lineage is different. The message shows the difference, line by line.
        TypeError: the sources of a column are a string, not a list; or `sources` is given with a finished lineage.
        ValueError: the query does not read one of `sources`, two of them can't be distinguished, or a statement is
            given without a session and none is active.
    """
    # A failing test shows the lines of the test, not those of this function.
    __tracebackhide__ = True
    found = _lineage(query, spark, sources)
    if len(found.outputs) != 1:
        raise AssertionError(f"expected one output, found {len(found.outputs)}:\n{found}")
    names = ShortNames.of_lineage(found)
    dataset, lineage = found.outputs[0]
    # A query writes nothing, and so has no fields; a column may have a dot in its name.
    whole = lineage.columns if dataset is None else dataset.fields
    own = {each.name for each in whole}
    expected, actual = [], []
    for column, asked in columns.items():
        wanted = _wanted(asked)
        expected += _lines(column, wanted)
        # Several columns may have the same name.
        same = [each for each in lineage.columns if each.name == column]
        if same:
            edges = [edge for each in same for edge in each.edges]
            actual += _lines(column, _sources(edges, names, kinds=_have_kinds(wanted), all_types=False))
    for each in lineage.columns:
        is_field = each.name not in own and _is_field(each.name, [other.name for other in lineage.columns])
        if each.name not in columns and not is_field:
            actual += _lines(each.name, _sources(each.edges, names, kinds=False, all_types=False))
    if rows is not None:
        wanted = _wanted(rows)
        expected += _lines("(every row)", wanted)
        actual += _lines("(every row)", _sources(lineage.dataset, names, kinds=_have_kinds(wanted), all_types=True))
    problems = [gap.message for gap in found.gaps]
    if expected != actual or problems:
        difference = difflib.unified_diff(expected, actual, "expected", "found", lineterm="", n=len(expected) + 3)
        parts = ["the lineage is not as expected", *difference, *_unknown_kinds(expected), *problems, "", str(found)]
        raise AssertionError("\n".join(parts))


def assert_golden_lineage(
    query: DataFrame | str | Lineage,
    path: str | Path,
    *,
    sources: Mapping[str, DataFrame] | None = None,
    spark: SparkSession | None = None,
) -> None:
    """
    Assert that the lineage of a query is the one in a file: the table that `print(lineage(...))` shows.

    With the environment variable OPENLINEAGE_PYSPARK_REGOLD=1, the file is rewritten instead: review the diff
    before you commit it.

    Args:
        query: as in `assert_lineage`.
        path: the file. It names tables as the catalog does, so it does not depend on their locations.
        sources: as in `assert_lineage`.
        spark: as in `assert_lineage`.

    Raises:
        AssertionError: the lineage is different, or the file does not exist.
        TypeError: `sources` is given with a finished lineage.
        ValueError: as for `assert_lineage`.
    """
    __tracebackhide__ = True
    file = Path(path)
    lines = str(_lineage(query, spark, sources)).splitlines()
    text = "".join(f"{line}\n" for line in lines if not line.startswith(_PLACE))
    if os.environ.get(REGOLD, "0") not in ("", "0"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    if not file.exists():
        raise AssertionError(f"{file} does not exist: run the test once with {REGOLD}=1, and review the file")
    kept = file.read_text(encoding="utf-8")
    if kept != text:
        difference = difflib.unified_diff(kept.splitlines(), text.splitlines(), str(file), "found", lineterm="")
        hint = f"to rewrite the file, run the test once with {REGOLD}=1"
        raise AssertionError("\n".join([f"the lineage is not the one in {file}; {hint}", *difference]))


def _lineage(
    query: DataFrame | str | Lineage, spark: SparkSession | None, sources: Mapping[str, DataFrame] | None
) -> Lineage:
    if isinstance(query, Lineage):
        if sources:
            raise TypeError("pass sources to lineage(): its result can't be changed")
        return query
    session = spark or getattr(query, "sparkSession", None) or _active_session()
    return lineage(session, query, from_text=False, sources=sources)


def _active_session() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise ValueError("pass the session of the statement: assert_lineage(..., spark=session)")
    return session


def _sources(edges: Iterable[InputField], names: ShortNames, *, kinds: bool, all_types: bool) -> list[str]:
    """Return the sources as a test writes them, sorted."""
    sources: set[str] = set()
    for edge in edges:
        shown = [t for t in edge.transformations if kinds or all_types or t.type == _DIRECT]
        words = [f" {Kind(t.type, t.subtype, t.masking)}" if kinds else "" for t in shown]
        sources |= {f"{names.of(edge.dataset)}.{edge.field}{word}" for word in words}
    return sorted(sources)


def _wanted(sources: Iterable[str]) -> list[str]:
    """Return the sources that a test expects, sorted. A single string is refused: each of its letters would be one."""
    if isinstance(sources, str):
        raise TypeError(f"the sources of a column must be a list: [{sources!r}]")
    return sorted(sources)


def _have_kinds(sources: Iterable[str]) -> bool:
    return any(_KIND.search(source) for source in sources)


def _unknown_kinds(expected: Iterable[str]) -> list[str]:
    """Return a sentence for each word in expected lines that may be a mistyped kind, or the end of a column's name."""
    last = {found[1] for line in expected if not _KIND.search(line) and (found := _LIKE_KIND.search(line))}
    return [f"{word} is not a kind; the kinds are {_KINDS.replace('|', ', ')}" for word in sorted(last)]


def _lines(column: str, sources: list[str]) -> list[str]:
    return [column, *(f"  {source}" for source in sources or ["(no source)"])]


def _is_field(name: str, columns: list[str]) -> bool:
    """Return whether a name is that of a struct's field, which is compared only if the test names it."""
    parts = name.split(".")
    return any(".".join(parts[:end]) in columns for end in range(1, len(parts)))
