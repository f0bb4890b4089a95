"""The edges of a target: its source columns, each with the kinds of its influence and their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.lineage import (
    MOST_PATHS,
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    UseKind,
    Way,
    compose,
    different,
    transformation,
)
from openlineage_pyspark.facets.model.run import PATHS, Gap
from openlineage_pyspark.facets.plan_lineage.results import SourceField
from openlineage_pyspark.facets.trace.solve import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.facets.datasets.source import Relation
    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.facets.plan_lineage.leaves import Leaves
    from openlineage_pyspark.facets.trace.composed import Composer
    from openlineage_pyspark.facets.trace.expressions import FieldPath
    from openlineage_pyspark.facets.trace.solve import Paths, Sources, Trace

_MOST_NAMES = 5
SourceKinds = dict[SourceField, dict[UseKind, list[Way]]]
"""Source column -> kind of its influence -> its paths, no two of them equal, at most `MOST_PATHS`."""


class SourceEdges:
    """
    The edges of a plan from the columns of its datasets, as far as they are kept.

    Args:
        trace: finds the leaves' attributes behind a column, an expression, or all rows.
        leaves: has the columns of datasets for these.
        composer: writes descriptions in terms of the columns of sources; None if the last step describes a path.
        paths: whether each path has its operators; else only those have them that are not certain.
    """

    def __init__(self, trace: Trace, leaves: Leaves, composer: Composer | None, *, paths: bool) -> None:
        self._trace = trace
        self._leaves = leaves
        self._composer = composer
        self._paths = paths
        # The columns with omitted paths.
        self._left_out: dict[SourceField, None] = {}

    def of_column(self, column: Origin, path: FieldPath = ()) -> SourceKinds:
        """Return the sources of a column of an operator, or of a field of it."""
        found: SourceKinds = {}
        self.join(found, self._trace.column(column.operator, column.id, path))
        return found

    def of_rows(self, queries: tuple[int, ...]) -> SourceKinds:
        """Return the influences on all rows of queries, including the rows that come from earlier plans."""
        rows: SourceKinds = {}
        for query in queries:
            self.join(rows, self._trace.rows(query))
        for earlier in self._leaves.remembered_rows.values():
            for field, kinds in earlier.items():
                for kind, ways in kinds.items():
                    self.add(rows, field, kind, ways)
        return rows

    def join(self, found: SourceKinds, sources: Sources) -> None:
        """Add sources, replacing the leaves' attributes by columns of datasets."""
        leaves = self._leaves
        for origin, kinds in sources.items():
            relation = leaves.relation(origin.operator)
            columns = relation.columns.get(origin.id, ())
            remembered = leaves.remembered.get(origin.id, {})
            for kind, paths in kinds.items():
                ways = self._ways(kind, paths, origin, relation)
                for column in columns:
                    name, inner = leaves.field(column, origin) if origin.path else (column.name, column.kind)
                    self.add(found, (column.dataset, name), compose(kind, inner), ways)
                for field, earlier in remembered.items():
                    source, taken = leaves.remembered_field(field, origin)
                    for inner, before in earlier.items():
                        both = (first.then(way) for first in before for way in ways)
                        self.add(found, source, compose(compose(kind, taken), inner), both)
                if len(paths) > MOST_PATHS and (self._paths or kind is not UseKind.IDENTITY):
                    self._left_out |= dict.fromkeys((column.dataset, column.name) for column in columns)
                    self._left_out |= dict.fromkeys(remembered)

    def _ways(self, kind: UseKind, paths: Paths, origin: Origin, relation: Relation) -> list[Way]:
        """Return the paths from a column of a relation, as far as they are kept."""
        found = []
        least = min(relation.certainty, Certainty.OPAQUE) if relation.opaque else relation.certainty
        for last in paths[:MOST_PATHS]:
            certainty = min(last.least, least) if last is not None else least
            wanted = self._paths or certainty is not Certainty.EXACT
            text = self._text(kind, last, origin)
            if text == "":
                text = relation.texts.get(origin.id, "")
            operators = self._trace.scopes.path(origin, last) if wanted else ()
            found.append(Way(operators, last, certainty, text))
        return found

    def _text(self, kind: UseKind, last: OperatorStep | None, origin: Origin) -> str | None:
        """Return the composed text of a path; empty for a plain copy, and None if texts are not composed."""
        if self._composer is None:
            return None
        return "" if kind is UseKind.IDENTITY else self._composer.step(last, origin)

    def add(self, found: SourceKinds, field: SourceField, kind: UseKind, ways: Iterable[Way]) -> None:
        """Add paths of one kind from a source, up to the limit, but only one of those that an event shows alike."""
        there = found.setdefault(field, {}).setdefault(kind, [])
        for way in ways:
            if there and any(is_shown_alike(way, each) for each in there):
                continue
            if len(there) == MOST_PATHS:
                self._left_out[field] = None
                break
            there.append(way)

    def gaps(self) -> Iterator[Gap]:
        """Yield the paths that are left out."""
        columns: dict[Identifier, list[str]] = {}
        for dataset, name in self._left_out:
            columns.setdefault(dataset, []).append(name)
        for dataset, names in columns.items():
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            shown = f"{', '.join(sorted(names)[:_MOST_NAMES])}{more} of {dataset.name}"
            message = (
                f"more than {MOST_PATHS} paths of one kind lead from {shown} to one target: the others are left out"
            )
            yield Gap(PATHS, message)


def is_stored(whole: SourceKinds, fields: Sequence[SourceKinds]) -> bool:
    """Return whether a struct is stored as a whole: each field has the same sources as the whole, none as IDENTITY."""
    return all(each.keys() == whole.keys() and not any(UseKind.IDENTITY in k for k in each.values()) for each in fields)


def without_copies(sources: Sources, own: set[int]) -> Sources:
    """Return sources without the values that are copies of the attributes with some exprIds."""
    copied = {origin for origin, kinds in sources.items() if origin.id in own and not origin.path}
    copied = {origin for origin in copied if UseKind.IDENTITY in sources[origin]}
    if not copied:
        return sources
    return {
        origin: {kind: paths for kind, paths in kinds.items() if kind is not UseKind.IDENTITY or origin not in copied}
        for origin, kinds in sources.items()
    }


def leave_out_generated(rows: SourceKinds, columns: list[SourceKinds]) -> None:
    """Leave out a generator's influences on the number of rows, if each column is made by that generator."""
    for field, kinds in list(rows.items()):
        if UseKind.GENERATE not in kinds or not columns:
            continue
        made = [column.get(field, {}) for column in columns]
        left = [w for w in kinds[UseKind.GENERATE] if not all(_is_made_by(w.last, column) for column in made)]
        if left:
            kinds[UseKind.GENERATE] = left
        else:
            del kinds[UseKind.GENERATE]
            if not kinds:
                del rows[field]


def _is_made_by(generator: OperatorStep | None, kinds: Mapping[UseKind, Sequence[Way]]) -> bool:
    return generator is not None and any(
        kind.direct and any(step.operator == generator.operator for way in ways for step in way.steps)
        for kind, ways in kinds.items()
    )


def is_shown_alike(one: Way, other: Way) -> bool:
    """Return whether two paths look the same in the event. The steps of a path without operators are not shown."""
    if one.operators or other.operators:
        return one == other
    texts = [way.shown if way.composed is None else way.composed for way in (one, other)]
    return texts[0] == texts[1] and one[2] == other[2]


def edges_of(found: SourceKinds) -> tuple[InputField, ...]:
    """Return the edges of a target, sorted by their datasets and columns."""
    return tuple(
        InputField(dataset, name, tuple(sorted(_transformations(kinds))))
        for (dataset, name), kinds in sorted(found.items(), key=lambda item: _order(*item[0]))
    )


def copies(sources: Sequence[Dataset], columns: Sequence[str]) -> ColumnLineage | None:
    """Return the lineage of columns that are copied from one dataset by their names; None if that is unknown."""
    if len(sources) != 1 or not columns:
        return None
    kept = (transformation(UseKind.IDENTITY, Way()),)
    identifier = sources[0].identifier
    return ColumnLineage(tuple(OutputColumn(name, (InputField(identifier, name, kept),)) for name in columns))


def _order(dataset: Identifier, name: str) -> tuple[str, str, str]:
    return dataset.namespace, dataset.name, name


def _transformations(kinds: Mapping[UseKind, Sequence[Way]]) -> tuple[Transformation, ...]:
    """Return the transformations of one source, each once."""
    return different([transformation(kind, way) for kind, ways in kinds.items() for way in ways])
