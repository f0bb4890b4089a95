"""The edges of an event: of the facets `columnLineage` and `pyspark_lineage_steps`, and of explicit lineage facets."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from openlineage_pyspark.workbench.events.facts import PathStep, Place, Stated, StatedEdge, StatedPath, kind_of
from openlineage_pyspark.workbench.events.shapes import checked_text, cut, wrong
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind, certainty_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.events.shapes import EventJson, OddParts
    from openlineage_pyspark.workbench.model.kinds import Certainty

STEPS = "pyspark_lineage_steps"
"""The facet that names the paths of edges."""
_MOST_STEPS = 200


class EdgesOfFacet:
    """
    The edges of the facet `columnLineage`, with the paths that `pyspark_lineage_steps` names.

    Args:
        odd: collects the parts that have an unexpected shape.
        target: the namespace and the name of the dataset.
        facet: the facet `columnLineage`.
        steps: the facet `pyspark_lineage_steps`; None if there is none.
    """

    def __init__(self, odd: OddParts, target: tuple[str, str], facet: EventJson, steps: EventJson | None) -> None:
        self._odd = odd
        self._facet = facet
        self._target = target
        self._found: dict[tuple[Place, Place], dict[StatedPath, None]] = {}
        self._traces = _traces(odd, steps) if steps is not None else {}

    def edges(self) -> dict[tuple[Place, Place], dict[StatedPath, None]]:
        """Return the paths of each edge."""
        odd, facet = self._odd, self._facet
        for column, field in odd.mapping("columnLineage", facet, "fields").items():
            if not isinstance(field, dict):
                odd.add("columnLineage", wrong(f"the field {column!r}", field, "an object"))
            elif not column:
                odd.add("columnLineage", "a field has no name, and would apply to all rows")
            else:
                self._of_field(column, field)
        target = Place(*self._target)
        for source in odd.objects("columnLineage", facet, "dataset"):
            self._add(source, target, "", None)
        return self._found

    def _of_field(self, column: str, field: EventJson) -> None:
        odd = self._odd
        # Facets before version 1-1-0 have these keys.
        subtype = odd.text("columnLineage", field, "transformationType") or ""
        text = odd.text("columnLineage", field, "transformationDescription") or ""
        older = None
        if subtype or text:
            older = StatedPath(
                kind_of("DIRECT" if subtype else "", subtype, subtype == "MASKED"), text, _by_kind(subtype, "DIRECT")
            )
        target = Place(*self._target, column)
        for source in odd.objects("columnLineage", field, "inputFields"):
            self._add(source, target, column, older)

    def _add(self, source: EventJson, target: Place, column: str, older: StatedPath | None) -> None:
        namespace, name, field = source.get("namespace"), source.get("name"), source.get("field")
        if not (isinstance(namespace, str) and isinstance(name, str) and isinstance(field, str) and field):
            self._odd.add("columnLineage", f"a source of {column or 'all rows'!r} has no namespace, name or field")
            return
        listed = source.get("transformations")
        # An empty array states no more than an absent one.
        paths = _paths(self._odd, "columnLineage", source) if listed else ()
        if self._traces:
            paths = self._with_traces(paths, (column, namespace, name, field))
        found = self._found.setdefault((Place(namespace, name, field), target), {})
        for path in paths or ((older or UNSTATED),):
            found[path] = None

    def _with_traces(self, paths: tuple[StatedPath, ...], ends: tuple[str, str, str, str]) -> tuple[StatedPath, ...]:
        """
        Return paths with their traces through the plan; a path that has several is repeated for each of them.

        The description of a trace names the path to which it belongs. In a facet without descriptions, the order does.
        """
        found: list[StatedPath] = []
        texts: dict[Kind, list[str]] = {}
        for path in paths:
            texts.setdefault(path.kind, []).append(path.expression)
        taken: dict[Kind, int] = {}
        for path in paths:
            traces = self._traces.get((*ends, path.kind), [])
            place = taken[path.kind] = taken.get(path.kind, 0) + 1
            if any(text for text, _ in traces) or "" in texts[path.kind]:
                own = [trace for text, trace in traces if text == path.expression]
            else:
                last = len(traces) if place == len(texts[path.kind]) else place
                own = [trace for _, trace in traces[place - 1 : last]]
            found += [StatedPath(path.kind, path.expression, *trace, is_traced=True) for trace in own] or [path]
        return tuple(found)


UNSTATED = StatedPath(kind_of("", ""), certainty="unstated")

_Trace: TypeAlias = "tuple[Certainty, tuple[str, ...], tuple[PathStep, ...]]"


def _traces(odd: OddParts, facet: EventJson) -> dict[tuple[str, str, str, str, Kind], list[tuple[str, _Trace]]]:
    """
    Return the traces of edges, that is, how their paths lead through the plan.

    In the facet, numbers replace texts. If one part has an unexpected shape, no number can be trusted: nothing is
    returned.

    Returns:
        The target column, the namespace, name and field of the source, and the kind -> the traces, each with the
        description of the path to which it belongs, which may be empty.
    """
    try:
        found: dict[tuple[str, str, str, str, Kind], list[tuple[str, _Trace]]] = {}
        for column, entries in (("", facet["rows"]), *facet["columns"].items()):
            for entry in entries:
                source = (cut(entry["namespace"]), cut(entry["name"]), cut(entry["field"]))
                kind = kind_of(cut(entry["type"]), cut(entry["subtype"]), entry["masking"] is True)
                text = checked_text(facet["expressions"][entry["description"]]) if "description" in entry else ""
                found.setdefault((column, *source, kind), []).append((text, _trace(facet, entry)))
    except (AttributeError, IndexError, KeyError, TypeError) as problem:
        odd.add(STEPS, f"it has another shape than its schema requires ({type(problem).__name__}: {str(problem)[:80]})")
        return {}
    return found


def _trace(facet: EventJson, entry: EventJson) -> _Trace:
    """Return the certainty, the operators and the steps of an entry, each as text instead of a number."""
    operators, expressions = facet["operators"], facet["expressions"]
    steps = tuple(
        PathStep(
            cut(operators[step["operator"]]),
            cut(expressions[step["expression"]]) if "expression" in step else "",
            certainty_of(cut(step.get("certainty", "exact"))),
            cut(step.get("callSite", "")),
            cut(step.get("relation", "")),
            cut(step.get("column", "")),
        )
        for step in entry["steps"][:_MOST_STEPS]
    )
    passed = tuple(cut(operators[each]) for each in entry["operators"][:_MOST_STEPS])
    return certainty_of(cut(entry["certainty"])), passed, steps


def _paths(odd: OddParts, facet: str, source: EventJson) -> tuple[StatedPath, ...]:
    """Return the transformations of a source as paths."""
    found = []
    for each in odd.objects(facet, source, "transformations"):
        type_, subtype, text = each.get("type"), each.get("subtype"), each.get("description")
        # Almost all have this form: check it once.
        if not isinstance(type_, str):
            type_ = odd.text(facet, each, "type") or ""
        if not isinstance(subtype, str):
            subtype = odd.text(facet, each, "subtype") or ""
        if not isinstance(text, str):
            text = odd.text(facet, each, "description") or ""
        masking = each.get("masking")
        if masking is not None and not isinstance(masking, bool):
            odd.add(facet, wrong("masking", masking, "true or false"))
        found.append(StatedPath(kind_of(type_, subtype, masking is True), text, _by_kind(subtype, type_)))
    return tuple(found)


def _by_kind(subtype: str, type_: str) -> Certainty:
    return "exact" if kind_of(type_, subtype).is_stated else "unstated"


def edges_of_entry(odd: OddParts, entry: EventJson, target: Place) -> Stated:
    """Return the edges of an entry of an explicit lineage facet: all edges into a dataset, or into a job."""
    found: list[StatedEdge] = []
    for source in odd.objects("lineage", entry, "inputs"):
        found += _stated_edge(odd, source, target)
    fields = odd.mapping("lineage", entry, "fields")
    for column, field in fields.items():
        if not isinstance(field, dict) or not column or target.is_job:
            odd.add("lineage", f"the field {column!r} is no object, has no name, or is a job's")
            continue
        for source in odd.objects("lineage", field, "inputs"):
            found += _stated_edge(odd, source, target._replace(column=column))
    return Stated(target, tuple(joined(found)), bool(fields))


def _stated_edge(odd: OddParts, source: EventJson, target: Place) -> Iterator[StatedEdge]:
    place = stated_place(odd, source, "an input")
    if place is not None:
        yield StatedEdge(place, target, _paths(odd, "lineage", source) or (UNSTATED,))


def stated_place(odd: OddParts, entry: EventJson, what: str) -> Place | None:
    """Return the dataset, column or job that a part of an explicit lineage facet names; None if it names none."""
    type_ = entry.get("type")
    if type_ == "JOB" and "namespace" not in entry and "name" not in entry:
        return Place("", "", is_job=True)
    if type_ not in ("JOB", "DATASET"):
        odd.add("lineage", f"{what} has neither the type DATASET nor JOB")
        return None
    if not odd.named(entry, "lineage", what):
        return None
    column = "" if type_ == "JOB" else odd.text("lineage", entry, "field") or ""
    return Place(entry["namespace"], entry["name"], column, type_ == "JOB")


def with_names_of_job(stated: Stated, namespace: str, name: str) -> Stated:
    """Return an entry in which the event's own job has its names, which the entry may leave out."""
    own = Place(namespace, name, is_job=True)

    def named(place: Place) -> Place:
        return own if place.is_job and not place.name else place

    edges = tuple(StatedEdge(named(edge.source), named(edge.target), edge.paths) for edge in stated.edges)
    return Stated(named(stated.target), edges, stated.has_columns)


def decided(edges: list[StatedEdge], stated: tuple[Stated, ...]) -> tuple[list[StatedEdge], tuple[Diagnostic, ...]]:
    """
    Return the edges of an event, after its explicit lineage facets have replaced those of `columnLineage`.

    Args:
        edges: the edges of `columnLineage`.
        stated: the content of the explicit facets. One that is only about datasets keeps the edges of their columns.

    Returns:
        The edges, and a diagnostic for each output about which the facets disagree.
    """
    sources: dict[tuple[str, str], set[tuple[str, str]]] = {}
    by_column: set[tuple[str, str]] = set()
    found = [edge for each in stated for edge in each.edges]
    columns = {(edge.source, edge.target) for edge in found}
    for each in stated:
        if not each.target.is_job:
            sources.setdefault(each.target[:2], set()).update(edge.source[:2] for edge in each.edges)
            if each.has_columns:
                by_column.add(each.target[:2])
    refused: dict[tuple[str, str], int] = {}
    described: set[tuple[Place, Place]] = set()
    for edge in edges:
        target = edge.target[:2]
        if target not in sources or (target not in by_column and edge.source[:2] in sources[target]):
            found.append(edge)
            described.add((edge.source._replace(column=""), edge.target._replace(column="")))
        elif (edge.source, edge.target) not in columns:
            refused[target] = refused.get(target, 0) + 1
    problems = (
        Diagnostic(
            "two-lineages",
            f"columnLineage has {count} edge{'' if count == 1 else 's'} that the explicit facet `lineage` does not "
            "have; the explicit one is taken",
            place=f"output {' '.join(target)}",
        )
        for target, count in refused.items()
    )
    # An edge between datasets adds nothing to the edges between their columns.
    found = [edge for edge in found if edge.paths != (UNSTATED,) or (edge.source, edge.target) not in described]
    return found, tuple(problems)


def joined(edges: Iterable[StatedEdge]) -> Iterator[StatedEdge]:
    """Yield edges, of which those with the same ends are joined into one."""
    found: dict[tuple[Place, Place], StatedEdge] = {}
    for edge in edges:
        ends = (edge.source, edge.target)
        before = found.get(ends)
        found[ends] = edge if before is None else edge._replace(paths=tuple(dict.fromkeys(before.paths + edge.paths)))
    yield from found.values()


def guessed(edge: StatedEdge) -> StatedEdge:
    """Return an edge of an event with gaps: its exact paths become guessed, unless the event traces them."""
    paths = tuple(
        path if path.is_traced or path.certainty != "exact" else path._replace(certainty="guessed")
        for path in edge.paths
    )
    return edge._replace(paths=paths)
