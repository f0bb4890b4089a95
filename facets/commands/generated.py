"""Columns that Delta Lake computes from others with each write (`GENERATED ALWAYS AS`), which no plan shows."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import attrs
from openlineage_pyspark.facets.commands.target import Assigned, Write, reads
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn, Transformation, UseKind, different
from openlineage_pyspark.facets.model.plan import Described
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens, unquoted

_VALUES = (TokenKind.NUMBER, TokenKind.STRING)


@reads(
    {"org.apache.spark.sql.delta.catalog.DeltaTableV2": {"generated": "#generated:@initialSnapshot.metadata.schema"}}
)
def with_generated(write: Write, table: Described | None) -> Write:
    """
    Return a write with the columns that Delta Lake computes from those that the query has.

    Args:
        write: the write of a query's columns.
        table: the described Table; of any other source than Delta Lake, the write is unchanged.
    """
    pairs = table.values.get("generated") if table is not None else None
    given = {column.name.casefold(): column for column in write.columns}
    made = []
    for pair in pairs if isinstance(pairs, tuple) and given else ():
        name, expression = pair if isinstance(pair, tuple) and len(pair) == 2 else ("", "")
        if isinstance(name, str) and isinstance(expression, str) and name and name.casefold() not in given:
            named = columns_named(expression)
            parts = tuple(part for key, column in given.items() if key in named for part in column.values)
            if expression.strip("` ").casefold() not in given:
                parts = tuple(attrs.evolve(part, kind=max(part.kind, UseKind.TRANSFORMATION)) for part in parts)
            made.append(Assigned(name, parts))
    return attrs.evolve(write, columns=(*write.columns, *made)) if made else write


def with_columns(lineage: ColumnLineage, computed: Iterable[tuple[str, str]]) -> ColumnLineage:
    """
    Return the lineage of a write with the columns that Delta Lake has computed from those that the query has.

    Args:
        lineage: the lineage of the columns of the query.
        computed: name and expression of each column that Delta Lake computes.
    """
    given = {column.name.casefold(): column for column in lineage.columns}
    made = []
    for name, expression in computed:
        named = columns_named(expression)
        sources = [ColumnLineage((OutputColumn(name, given[key].edges),)) for key in given if key in named]
        if not sources or name.casefold() in given:
            continue
        (column,) = functools.reduce(ColumnLineage.joined, sources).columns
        if expression.strip("` ").casefold() not in given:
            edges = (attrs.evolve(edge, transformations=_changed(edge.transformations)) for edge in column.edges)
            column = attrs.evolve(column, edges=tuple(edges))
        made.append(column)
    return attrs.evolve(lineage, columns=(*lineage.columns, *made)) if made else lineage


def _changed(found: Iterable[Transformation]) -> tuple[Transformation, ...]:
    changed = (attrs.evolve(t, subtype="TRANSFORMATION") if t.subtype == "IDENTITY" else t for t in found)
    return tuple(sorted(different(tuple(changed))))


def columns_named(expression: str) -> frozenset[str]:
    """Return the columns that an expression over one table may name, in lower case: no functions, fields or types."""
    found = []
    words = [each for each in tokens(expression) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    nothing = Token(TokenKind.SYMBOL, "", whole=True)
    for before, token, after in zip((nothing, *words), words, (*words[1:], nothing), strict=False):
        if token.kind is TokenKind.NAME:
            is_column = before.text != "."
        else:
            is_type = before.text.upper() == "AS" or after.kind is TokenKind.STRING
            # Such as YEAR in `EXTRACT(YEAR FROM day)`, and DAY in `INTERVAL 1 DAY`.
            is_unit = (before.text == "(" and after.text.upper() == "FROM") or before.kind in _VALUES
            is_other = is_type or is_unit or token.text.upper() == "AS" or after.text == "(" or before.text == "."
            is_column = token.kind is TokenKind.WORD and not is_other
        if is_column:
            found.append((unquoted(token) if token.kind is TokenKind.NAME else token.text).casefold())
    return frozenset(found)
