"""
Each path of an edge on all surfaces: its kind, its expression, its certainty and its operators.

Random lineage is made into events, as the listener makes them: unions, self-joins and shared CTEs of built plans; and
edges of one to five paths that are hard to tell apart, with one kind and two expressions, one expression and two
certainties, or masked and not.
"""

from __future__ import annotations

import html
import json
import random
import re
import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    UseKind,
    Way,
    different,
    transformation,
)
from openlineage_pyspark.facets.model.run import Engine, Job, RedactedState, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.workbench.model.graph import column_id, node_id
from openlineage_pyspark.workbench.pictures.diagrams import picture_of_graph
from openlineage_pyspark.workbench.pictures.scene import Bounds
from openlineage_pyspark.workbench.pictures.svg import svg
from openlineage_pyspark.workbench.questions.diff import diff_of_files
from openlineage_pyspark.workbench.store_api import Store
from support.built_plans import Building
from support.lineage_events import BEGIN
from support.surfaces import PATHS, End, Told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.slow

Steps: TypeAlias = "tuple[tuple[str, str, str], ...]"
Said: TypeAlias = "tuple[str, str, bool, str, str, Steps]"
"""A path: type, subtype, masking, expression and certainty; and operator, expression and certainty of its steps."""
Edges: TypeAlias = "dict[tuple[End, End], set[Said]]"

SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 8))]
TEXTS = ("a + 1", "a * 2", "sha2(a, 256)", "CASE WHEN a > 1 THEN a END", "a; b", "f('x|y')", "")
DIRECT = tuple(kind for kind in UseKind if kind.direct)
INDIRECT = tuple(kind for kind in UseKind if not kind.direct)
PLACES = ("LogicalRelation#3", "Join#2", "Union#2", "Project#1", "PythonUDF#4")


def some_path(chance: random.Random, kinds: tuple[UseKind, ...]) -> Transformation:
    """Return a path through a few operators, of which one makes its text."""
    certainty = chance.choice([Certainty.EXACT, Certainty.EXACT, *Certainty])
    operators = tuple(chance.sample(PLACES, chance.randint(1, 3)))
    last = OperatorStep(operators[-1], chance.choice(TEXTS), certainty)
    return transformation(chance.choice(kinds), Way(operators, last, certainty))


def like(chance: random.Random, path: Transformation, kinds: tuple[UseKind, ...]) -> Transformation:
    """Return a path that differs from another one in little."""
    way, last = path.way, path.way.last
    assert last is not None
    what = chance.choice(("text", "certainty", "masking", "operators"))
    if what == "certainty":
        certainty = chance.choice([*Certainty])
        return attrs.evolve(path, way=way._replace(certainty=certainty, last=attrs.evolve(last, certainty=certainty)))
    if what == "text" and path.subtype != "IDENTITY":
        return attrs.evolve(path, description=chance.choice(TEXTS))
    if what == "masking" and path.subtype in ("TRANSFORMATION", "AGGREGATION"):
        return attrs.evolve(path, masking=not path.masking)
    if what == "operators":
        return attrs.evolve(path, way=way._replace(operators=("Scan#9", *way.operators)))
    return some_path(chance, kinds)


def some_paths(chance: random.Random, kinds: tuple[UseKind, ...]) -> tuple[Transformation, ...]:
    """Return one to five paths, most of them like one before."""
    found = [some_path(chance, kinds)]
    for _ in range(chance.randint(0, 4)):
        found.append(like(chance, chance.choice(found), kinds))
    return tuple(sorted(different(found)))


def some_lineage(chance: random.Random) -> ColumnLineage:
    """Return the lineage of an output whose columns and rows come from a few columns, by several paths each."""

    def edges(kinds: tuple[UseKind, ...]) -> tuple[InputField, ...]:
        columns = sorted(chance.sample([(table, field) for table in "st" for field in "ab"], chance.randint(0, 3)))
        return tuple(
            InputField(Identifier("lake", table), field, some_paths(chance, kinds)) for table, field in columns
        )

    columns = tuple(OutputColumn(name, edges((*DIRECT, UseKind.CONDITIONAL, UseKind.WINDOW))) for name in "xyz")
    return ColumnLineage(columns, edges(INDIRECT))


def lineage_of_some_plan(chance: random.Random) -> ColumnLineage:
    """Return the lineage of a plan in which a column takes several ways: by unions, joins and a CTE that is shared."""
    building = Building()
    at = building.leaf(2)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(building.output(at)))
        column = building.output(at)[place]
        kind = chance.choice(("union", "self-join", "cte", "filter", "aggregate"))
        if kind in ("union", "cte"):
            definition = building.definition(at)
            branches = [building.reference(definition), building.reference(definition)]
            if kind == "union":
                signs = zip(branches, chance.sample("+-*/", 2), strict=True)
                branches = [computed(building, branch, place, f"{sign} 2") for branch, sign in signs]
            at = building.union(branches)
        elif kind == "self-join":
            at = building.join(at, building.leaf(2), column, 0)
        else:
            at = building.filter(at, column) if kind == "filter" else building.aggregate(at, column, column)
    found = lineage_of_plan(building.plan(), Session("/w"), paths=True).columns
    assert found is not None
    return found


def computed(building: Building, at: int, place: int, what: str) -> int:
    """Put out a column that is made of one of an operator's columns."""
    column = building.output(at)[place]
    return building.computed(at, (column, f"({building.attributes[column].name} {what})"))


def outputs(seed: int) -> dict[str, ColumnLineage]:
    """Return the lineage of a few outputs."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    made = {f"made{number}": some_lineage(chance) for number in range(3)}
    return made | {f"planned{number}": lineage_of_some_plan(chance) for number in range(3)}


def event(name: str, lineage: ColumnLineage, options: EventOptions, minute: int = 0) -> dict[str, Any]:
    """Return the event of a run that makes an output."""
    sources = dict.fromkeys(edge.dataset for edge in lineage.edges)
    state = RunState(
        event_type="COMPLETE",
        event_time=BEGIN.replace(minute=minute),
        run_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{minute}")),
        job=Job("jobs", name, "SQL_JOB"),
        engine=Engine("4.3.0", application=()),
        inputs=tuple(RunInput(Dataset(each)) for each in sources),
        outputs=(RunOutput(Dataset(Identifier("lake", name)), lineage=lineage),),
    )
    found: dict[str, Any] = json.loads(serialise(build_event(RedactedState(state), options)))
    return found


def said(path: Transformation, *, described: bool, traced: bool) -> Said:
    """Return a path as surfaces say it; one that is not traced is exact, and states no operator."""
    text = path.description if described else ""
    steps = {step.operator: (step.expression, step.certainty.word) for step in path.way.steps}
    listed = tuple((each, *steps.get(each, ("", "exact"))) for each in dict.fromkeys(path.way.operators))
    return (
        path.type,
        path.subtype,
        path.masking,
        text,
        path.way.certainty.word if traced else "exact",
        listed if traced else (),
    )


def expected(made: dict[str, ColumnLineage], options: EventOptions) -> Edges:
    """Return the paths of each edge: of those that are alike in `columnLineage`, all or none have operators."""
    found: Edges = {}
    paths: dict[tuple[End, End], dict[Said, list[Transformation]]] = {}
    for name, lineage in made.items():
        for column, edges in (*((each.name, each.edges) for each in lineage.columns), ("", lineage.dataset)):
            for edge in edges:
                ends = (f"{edge.dataset.namespace}|{edge.dataset.name}", edge.field), (f"lake|{name}", column)
                # Two columns of one name are one there.
                of_edge = paths.setdefault(ends, {})
                for path in edge.transformations:
                    plain = said(path, described=options.descriptions_enabled, traced=False)
                    of_edge.setdefault(plain, []).append(path)
    for ends, of_edge in paths.items():
        for plain, alike in of_edge.items():
            unsure = any(path.way.certainty is not Certainty.EXACT for path in alike)
            traced = options.steps == "all" or (options.steps == "unsure" and unsure)
            whole = {said(path, described=options.descriptions_enabled, traced=True) for path in alike}
            found.setdefault(ends, set()).update(whole if traced else {plain})
    return found


def read(paths: Iterable[tuple[End, End, dict[str, Any]]]) -> Edges:
    """Return the paths of each edge as JSON has them; each is there once."""
    listed: dict[tuple[End, End], list[Said]] = {}
    for source, target, path in paths:
        steps = tuple(
            (step["operator"], step.get("expression", ""), step.get("certainty", "exact"))
            for step in path.get("steps", ())
        )
        words = (path["type"], path["subtype"], path["masking"], path.get("expression", ""), path["certainty"], steps)
        listed.setdefault((source, target), []).append(words)
    found = {ends: {*several} for ends, several in listed.items()}
    assert [len(each) for each in found.values()] == [len(each) for each in listed.values()]
    return found


OPTIONS = (
    EventOptions(steps="all"),
    EventOptions(),
    EventOptions(steps="none"),
    EventOptions(steps="unsure", descriptions_enabled=False),
)


def told_of(seed: int, folder: Path, options: EventOptions) -> tuple[Told, Edges]:
    made = outputs(seed)
    return Told([event(name, lineage, options) for name, lineage in made.items()], folder), expected(made, options)


@pytest.mark.parametrize("options", OPTIONS, ids=["all", "unsure", "none", "undescribed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_path_is_on_every_surface_as_it_is(seed: int, options: EventOptions, tmp_path: Path) -> None:
    told, edges = told_of(seed, tmp_path, options)

    assert max(map(len, edges.values())) > 2
    for name, surface in PATHS.items():
        assert (name, read(surface(told))) == (name, edges)
    assert in_sql(told) == {
        (*ends[0], *ends[1], *path[:4], path[4] if path[5] else "") for ends, paths in edges.items() for path in paths
    }


def doubtful(path: Said) -> str:
    """Return the certainty of a path as tables and pictures have it: exact paths have none."""
    return "" if path[4] == "exact" else path[4]


def kind_of(path: Said) -> str:
    return f"{path[1]}{' (masked)' if path[2] else ''}"


@pytest.mark.parametrize("options", OPTIONS, ids=["all", "unsure", "none", "undescribed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_path_is_in_a_notebook_and_in_each_picture(seed: int, options: EventOptions, tmp_path: Path) -> None:
    """These have no operators; a picture of text has the beginning of a long expression, and none of a mere copy."""
    told, edges = told_of(seed, tmp_path, options)
    labels = {full: label for label, full in told.names.items()}
    names = {end: ".".join(filter(None, (labels[end[0]], end[1]))) for ends in edges for end in ends}
    with Store.open(told.store) as store:
        answer = store.graph()
    graph, shown_table = answer.result, str(answer._repr_html_())

    rows = {
        (
            names[source],
            names[target] if target[1] else f"{names[target]} (every row)",
            kind_of(path),
            path[3],
            doubtful(path),
        )
        for (source, target), paths in edges.items()
        for path in paths
    }
    assert in_table(shown_table) == rows
    titles = re.findall("<path [^>]*><title>(.*?)</title>", svg(graph, bounds=MANY), re.DOTALL)
    shown = {line for title in titles for line in html.unescape(title).split("\n")}
    drawn = picture_of_graph(graph)
    arrows = {(arrow.source, arrow.target): arrow.label for arrow in drawn.arrows}
    for (source, target), paths in edges.items():
        [line] = [each for each in shown if each.startswith(f"{names[source]} → {names[target]}: ")]
        of_line = line.partition(": ")[2]
        label = arrows[_node(source), _node(target)]
        for path in paths:
            assert " ".join(filter(None, (kind_of(path), path[3]))) in of_line
            text = path[3] if path[1] != "IDENTITY" else ""
            doubt = f"({path[4]})" if doubtful(path) else ""
            assert " ".join(filter(None, (kind_of(path), doubt, text))) in label


MANY = Bounds(boxes=1000, rows=1000, lines=100_000)


def _node(end: End) -> str:
    namespace, name = end[0].split("|")
    return column_id(node_id("dataset", namespace, name), end[1])


def in_table(page: str) -> set[tuple[str, ...]]:
    """Read the table beneath a graph in a notebook: from, to, how, expression and certainty, where it has them."""
    [table] = re.findall("<table.*?</table>", page, re.DOTALL)
    headings = re.findall(r"<th [^>]*>(.*?)</th>", table)
    found = set()
    for row in table.split("<tr>")[2:]:
        cells = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td.*?</td>", row, re.DOTALL)]
        by_name = dict(zip(headings, cells, strict=True))
        if by_name["how"] not in ("read", "written"):
            found.add(tuple(by_name.get(name, "") for name in ("from", "to", "how", "expression", "certainty")))
    return found


def in_sql(told: Told) -> set[tuple[Any, ...]]:
    """Read the table `column_lineage`."""
    query = (
        "SELECT s.namespace || '|' || s.name, c.input_column, t.namespace || '|' || t.name, c.output_column, c.type, "
        "c.subtype, c.masking, c.expression, c.certainty FROM column_lineage c "
        "JOIN dataset s ON s.name_id = c.input_id JOIN dataset t ON t.name_id = c.output_id"
    )
    with Store.open(told.store) as store:
        rows = store.sql(query, dialect="sqlite").table()[1]
    assert len({*rows}) == len(rows)
    return {(*row[:6], bool(row[6]), *row[7:]) for row in map(tuple, rows)}


def changed(chance: random.Random, lineage: ColumnLineage) -> tuple[ColumnLineage, str, str]:
    """Return lineage in which one path of one edge of a column is another one, with that column and its source."""
    places = [(at, place) for at, column in enumerate(lineage.columns) for place in range(len(column.edges))]
    at, place = chance.choice(places)
    column, edge = lineage.columns[at], lineage.columns[at].edges[place]
    before, [gone] = [*edge.transformations], chance.sample(edge.transformations, 1)
    new = attrs.evolve(gone, description=f"{gone.description} + 99", subtype="TRANSFORMATION", type="DIRECT")
    paths = tuple(sorted(new if each is gone else each for each in before))
    edges = (*column.edges[:place], attrs.evolve(edge, transformations=paths), *column.edges[place + 1 :])
    columns = (*lineage.columns[:at], attrs.evolve(column, edges=edges), *lineage.columns[at + 1 :])
    return attrs.evolve(lineage, columns=columns), column.name, f"{edge.dataset.name}.{edge.field}"


def words_of(paths: Iterable[Said]) -> str:
    """Return paths in words, as a difference has them."""
    words = set()
    for _, subtype, masking, text, certainty, _ in paths:
        doubt = "" if certainty == "exact" else f", {certainty}"
        words.add(f"{subtype}{' (masked)' if masking else ''}{doubt} {text}".strip())
    return "; ".join(sorted(words))


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 20))])
def test_a_difference_has_one_path_of_several_that_changed_and_nothing_else(seed: int, tmp_path: Path) -> None:
    chance, options = random.Random(seed), EventOptions(steps="all")  # noqa: S311 (a test's choice)
    old = some_lineage(chance)
    while not any(column.edges for column in old.columns):
        old = some_lineage(chance)
    new, column, source = changed(chance, old)
    [table, field] = source.split(".")
    ends = (f"lake|{table}", field), ("lake|made", column)
    sides = [expected({"made": each}, options)[ends] for each in (old, new)]
    told = Told([event("made", old, options, 1), event("made", new, options, 2)], tmp_path)
    files = [tmp_path / name for name in ("old.ndjson", "new.ndjson")]
    for file, found in zip(files, told.events, strict=True):
        file.write_text(json.dumps(found), "utf-8")

    name = f"{source} -> made.{column}"
    with Store.open(told.store) as store:
        by_time = store.diff("2026-01-01T00:01:30Z", "now").result.changes
    for changes in (by_time, diff_of_files(*files).result.changes):
        assert [(each.sign, each.what, each.name) for each in changes] == [("changed", "edge", name)]
        assert (changes[0].before, changes[0].after) == tuple(map(words_of, sides))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_of_several_paths_has_all_of_their_kinds_and_texts(seed: int, tmp_path: Path) -> None:
    told, edges = told_of(seed, tmp_path, EventOptions(steps="all"))
    names = {full: label for label, full in told.names.items()}

    with Store.open(told.store) as store:
        for name in sorted({target[0] for _, target in edges}):
            columns, rows = store.upstream(name.replace("|", "/", 1), by="column", depth=1).table()
            found = {row[1:5]: dict(zip(columns, row, strict=True)) for row in rows}
            of_name = {ends: paths for ends, paths in edges.items() if ends[1][0] == name}
            assert len(of_name) == len(rows)
            for (source, target), paths in of_name.items():
                row = found[names[source[0]], source[1], names[name], target[1]]
                kinds = {f"{subtype}{' (masked)' if masking else ''}" for _, subtype, masking, *_ in paths}
                assert {*str(row["kinds"]).split("; ")} == kinds
                assert {*parted(str(row["expression"]))} == {*parted("; ".join(text for _, _, _, text, *_ in paths))}


def parted(texts: str) -> list[str]:
    """Return the parts of texts, of which one has the sign between them in itself."""
    return [each for each in texts.split("; ") if each]
