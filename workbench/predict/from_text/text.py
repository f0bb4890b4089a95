"""
The lineage in the text of a statement that Spark can't analyze.

The columns of unknown tables are unknown, so only columns that can come from a single table are reported, and each
edge has the certainty `text`. A view that Spark knows is traced to its tables. Without sqlglot, or if sqlglot can't
parse what Spark can, the tables are still reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.datasets.naming import is_absolute, location
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OutputColumn,
    Transformation,
    UseKind,
    Way,
    compose,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.sql_lexer import dotted
from openlineage_pyspark.workbench.predict.from_text.reading import Known, TextLineage, read_statement, tables_in
from openlineage_pyspark.workbench.report import Lineage

if TYPE_CHECKING:
    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds
    from openlineage_pyspark.workbench.predict.from_text.reading import ReadStatement

    _MadeEdge = tuple[Identifier, str, Transformation]

TEXT = "the statement's text"
"""The task of a gap if the lineage was taken from the text."""

ROWS_UNKNOWN = "it does not state everything that decides about the rows"
"""The message of a gap if the text does not state all conditions on rows."""
NAMES_OF_QUERY = "the query's names are used"
"""The end of a gap's message if columns have other names in their table."""
_OF_TYPES = "the types of the columns of "
_WAY = Way(certainty=Certainty.TEXT)
_CATALOG = "spark_catalog"
_KINDS = {(kind.subtype, kind.masking): kind for kind in reversed(UseKind)}


def lineage_of_text(
    statement: str,
    why: str,
    known: Callable[[str], Lineage | None],
    unknown: Callable[[str], Dataset],
    *,
    is_sql: bool = False,
    dialect: str = "",
    used: Callable[[str], Collection[str]] = lambda _: (),
    variables: Collection[str] = (),
    read: ReadStatement = read_statement,
    computed: Callable[[Dataset], Collection[str]] = lambda _: (),
) -> Lineage | None:
    """
    Return the lineage in the text of a statement.

    Args:
        statement: the text.
        why: why Spark can't analyze it.
        known: returns the lineage of all columns of a table or a view, by its name as the text writes it; None if Spark
            does not know it.
        unknown: returns the dataset for the name of a table that Spark does not know.
        is_sql: whether Spark can parse the text.
        dialect: the SQL dialect of the text, as for `read_statement`.
        used: returns the columns that other statements use of a table that Spark does not know.
        variables: the variables and parameters that the text may name, in lower case.
        read: reads the text.
        computed: returns the columns that a table computes from its others, in lower case.

    Returns:
        Edges with the certainty `text`, and a gap that gives the reason; None if the text is not SQL, or names no
        table.
    """
    found, missing = _read(statement, known, used, variables, is_sql=is_sql, dialect=dialect, read=read)
    if not any(each.tables or each.target for each in found):
        return None
    why = f"Spark can't analyze the statement ({why}): its lineage is taken from its text{missing}"
    gaps, outputs, inputs = [why], [], dict[Identifier, Dataset]()
    for content in found:
        names = _Named({name: known(name) for name in (*content.tables, content.target) if name}, unknown)
        target = names.dataset(content.target) if content.target else None
        output, unstated = _output(content, target, names, computed)
        outputs.append((target, output))
        inputs |= {each.identifier: each for each in names.reads(content.tables)}
        if not content.whole and not missing:
            unstated.append("there may be more columns than are listed")
        gaps += [each for each in unstated if each not in gaps]
    return Lineage(tuple(inputs.values()), tuple(outputs), tuple(Gap(TEXT, each) for each in gaps))


def _read(
    statement: str,
    known: Callable[[str], Lineage | None],
    used: Callable[[str], Collection[str]],
    variables: Collection[str],
    *,
    is_sql: bool,
    dialect: str,
    read: ReadStatement,
) -> tuple[tuple[TextLineage, ...], str]:
    """Return the reads and writes in a text; and what is missing to read its columns, as the end of a sentence."""
    try:
        found = read(statement, None, dialect)
    except ImportError:
        return tables_in(statement, dialect), ", and sqlglot, which reads columns there, is not installed"
    if found is None:
        return (tables_in(statement, dialect) if is_sql else ()), ""
    tables = {name: known(name) for content in found for name in content.tables}
    columns = {
        name: [column.name for _, columns in lineage.outputs for column in columns.columns]
        for name, lineage in tables.items()
        if lineage is not None
    }
    further = {name: names for name, lineage in tables.items() if lineage is None and (names := used(name))}
    more = Known(columns, further, variables)
    again = read(statement, more, dialect) if columns or further or variables else found
    return again if again is not None else found, ""


def _output(
    content: TextLineage, target: Dataset | None, names: _Named, computed: Callable[[Dataset], Collection[str]]
) -> tuple[ColumnLineage, list[str]]:
    """Return the lineage of what a text writes, and the gaps in the text."""
    places = _placed(content, target, () if target is None else computed(target))
    columns = [
        (name, None if sources is None else names.edges(sources))
        for name, sources in (content.columns if places is None else places)
    ]
    gaps = []
    unstated = [name for name, edges in columns if edges is None]
    if unstated:
        gaps.append(f"it does not state where these columns come from: {', '.join(unstated)}")
    if places is None and content.columns:
        gaps.append(f"it does not name the columns of {content.target} that it fills: {NAMES_OF_QUERY}")
    if not content.rows_known:
        gaps.append(ROWS_UNKNOWN)
    made = tuple(OutputColumn(name, edges) for name, edges in columns if edges is not None)
    return ColumnLineage(made, names.influences(content)), gaps


def unknown_table(name: str, catalog: str = _CATALOG, database: str = "default") -> Dataset:
    """
    Return a table whose name alone is known.

    Args:
        name: its name, as the text writes it.
        catalog: the current catalog.
        database: the current database in it.
    """
    parts = dotted(name) or (name,)
    if is_format_and_path(parts):
        return Dataset(location(parts[1]), file_format=parts[0].lower())
    if len(parts) < 3:
        parts = (*(catalog, *dotted(database))[: 3 - len(parts)], *parts)
    # Spark's own catalog keeps names in lower case.
    return named_table(tuple(part.lower() for part in parts) if parts[0].lower() == _CATALOG else parts)


def gap_of_types(name: str, place: str) -> Gap:
    """
    Return the gap about a table that was declared from the text of a statement.

    Args:
        name: the name of the table.
        place: the place of the statement that creates it.
    """
    return Gap(TEXT, f"{_OF_TYPES}{name} may be different: Spark can't analyze the statement that makes it ({place})")


def is_of_types(gap: Gap) -> bool:
    """Return whether a gap is one of `gap_of_types`."""
    return gap.task == TEXT and gap.message.startswith(_OF_TYPES)


def is_format_and_path(parts: tuple[str, ...]) -> bool:
    """Return whether the parts of a name are a format and a path, as in ``parquet.`/lake/orders` ``."""
    return len(parts) == 2 and is_absolute(parts[1])


def named_table(parts: tuple[str, ...]) -> Dataset:
    """
    Return the dataset of a table whose location is unknown.

    Args:
        parts: its catalog, its database and its name.
    """
    name = ".".join(parts[1:])
    label = name if parts[0] == _CATALOG else ".".join(parts)
    return Dataset(Identifier(parts[0], name), symlinks=(Symlink(parts[0], label),), type="TABLE")


class _Named:
    """
    The meanings of the names in a text.

    Args:
        known: the lineage of all columns that a name refers to; None for a name that Spark does not know.
        unknown: returns the dataset for such a name.
    """

    def __init__(self, known: Mapping[str, Lineage | None], unknown: Callable[[str], Dataset]) -> None:
        self._unknown = unknown
        tables = {name: _table_in(found) if found is not None else unknown(name) for name, found in known.items()}
        self._tables = {name: table for name, table in tables.items() if table is not None}
        self._views = {name: found for name, found in known.items() if found is not None and name not in self._tables}

    def dataset(self, name: str) -> Dataset:
        """Return the dataset of a name."""
        return self._tables[name] if name in self._tables else self._unknown(name)

    def reads(self, names: tuple[str, ...]) -> tuple[Dataset, ...]:
        """Return the datasets behind some names, each once."""
        found = (self._views[name].inputs if name in self._views else (self._tables[name],) for name in names)
        return tuple({each.identifier: each for datasets in found for each in datasets}.values())

    def influences(self, content: TextLineage) -> tuple[InputField, ...]:
        """Return the columns that decide about all rows: in the text itself, and in the views that it reads."""
        views = (columns for name in content.tables if name in self._views for _, columns in self._views[name].outputs)
        edges = (edge for columns in views for edge in columns.dataset)
        behind = ((edge.dataset, edge.field, each) for edge in edges for each in edge.transformations)
        return _merged([*behind, *self._edges(content.rows)])

    def edges(self, sources: SourceKinds) -> tuple[InputField, ...] | None:
        """Return the edges from some sources; None if one of them does not exist."""
        if not all(self._has(*source) for source in sources):
            return None
        return _merged(self._edges(sources))

    def _has(self, table: str, column: str) -> bool:
        if table in self._views:
            return _column_of(self._views[table], column) is not None
        fields = self._tables[table].fields if table in self._tables else ()
        return not fields or column.lower() in {field.name.lower() for field in fields}

    def _edges(self, sources: SourceKinds) -> Iterator[_MadeEdge]:
        for (table, column), kinds in sources.items():
            if table in self._views:
                edges = _column_of(self._views[table], column) or ()
                parts = ((edge.dataset, edge.field, each) for edge in edges for each in edge.transformations)
                yield from ((dataset, field, _after(each, kind)) for dataset, field, each in parts for kind in kinds)
            elif table in self._tables:
                for kind in kinds:
                    yield self._tables[table].identifier, column, _transformation(kind)


def _transformation(kind: UseKind) -> Transformation:
    return Transformation("DIRECT" if kind.direct else "INDIRECT", kind.subtype, masking=kind.masking)


def _merged(found: Iterable[_MadeEdge]) -> tuple[InputField, ...]:
    """Return edges, one for each source column, all with the certainty `text`."""
    merged: dict[tuple[Identifier, str], dict[Transformation, None]] = {}
    for dataset, field, transformation in found:
        merged.setdefault((dataset, field), {})[attrs.evolve(transformation, way=_WAY)] = None
    return tuple(sorted(InputField(dataset, field, tuple(sorted(each))) for (dataset, field), each in merged.items()))


def _after(first: Transformation, then: UseKind) -> Transformation:
    """Return the transformation of a view's source when a statement uses the view's column with a kind."""
    if then is UseKind.IDENTITY:
        return first
    return _transformation(compose(then, _KINDS[first.subtype, first.masking]))


def _table_in(found: Lineage) -> Dataset | None:
    """Return the table to which these columns belong; None for a view."""
    outputs = [columns for _, columns in found.outputs]
    if len(found.inputs) != 1 or len(outputs) != 1 or outputs[0].dataset or found.gaps:
        return None
    table = found.inputs[0]
    for column in outputs[0].columns:
        edges = [(edge.dataset, edge.field, [t.subtype for t in edge.transformations]) for edge in column.edges]
        if edges != [(table.identifier, column.name, ["IDENTITY"])]:
            return None
    return table


def _column_of(view: Lineage, name: str) -> tuple[InputField, ...] | None:
    """Return the edges of a view's column; None if it has no such column."""
    columns = (column for _, lineage in view.outputs for column in lineage.columns)
    return next((column.edges for column in columns if column.name.lower() == name.lower()), None)


def _placed(
    content: TextLineage, target: Dataset | None, computed: Collection[str]
) -> tuple[tuple[str, SourceKinds | None], ...] | None:
    """Return the columns under the names that they have in the target; None if these are unknown."""
    if not content.by_position or target is None:
        return content.columns
    names = [field.name for field in target.fields if field.name.lower() not in content.given]
    if len(names) != len(content.columns):
        # Some engines leave out the columns that the table computes.
        names = [each for each in names if each.lower() not in computed]
    if not content.whole or len(names) != len(content.columns):
        return None
    return tuple((name, sources) for name, (_, sources) in zip(names, content.columns, strict=True))
