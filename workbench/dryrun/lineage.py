"""Make the lineage of a script from its records, in the same form as for SQL files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Dataset, schema_fields
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.urls import REDACTED
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.workbench.dryrun.script.places import MODEL, DataPlace, datasets_of
from openlineage_pyspark.workbench.dryrun.script.records import (
    MODEL_FUNCTION,
    ProblemRecord,
    Spot,
    WriteRecord,
    spot_of_document,
)
from openlineage_pyspark.workbench.dryrun.script.request import Columns, columns_of_document, table_of_document
from openlineage_pyspark.workbench.dryrun.script.values import literal_of
from openlineage_pyspark.workbench.predict.acts import FRAME, ExecutedFile, ScriptAct
from openlineage_pyspark.workbench.predict.caching.cache import answer_of_document
from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.from_text.text import named_table
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementAnswer, StatementLineage, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, DeclaredTables
from openlineage_pyspark.workbench.report import Lineage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.facets.model.dataset import Field
    from openlineage_pyspark.facets.model.lineage import InputField
    from openlineage_pyspark.workbench.dryrun.run import ScriptRecords

_UNKNOWN = "schema"
_NO_COLUMNS = "the columns that it reads are unknown, so its column edges are unknown too"
_OF_MODEL = Gap("model", "the columns that the model was trained on are unknown: Spark does not report them")


@attrs.frozen
class _Made:
    """
    What a script has made before a statement.

    Args:
        models: the name of the function of a loaded model -> its folder.
        frames: the name of a file that stands for rows in an RDD -> the sources of these rows.
    """

    models: dict[str, Dataset] = attrs.field(factory=dict)
    frames: dict[str, tuple[Dataset, ...]] = attrs.field(factory=dict)


def lineage_of_script(records: ScriptRecords, tables: Sequence[DeclaredTable]) -> tuple[StatementLineage, ...]:
    """
    Return the lineage of each write of a script, and its problems, in their order.

    Args:
        records: the records of the script.
        tables: the tables that were known before.
    """
    known = DeclaredTables(tables)
    made = _Made()
    found: list[StatementLineage] = []
    for line in records:
        if line["k"] == "table":
            _know(table_of_document(line), known)
        if line["k"] == "located":
            known.put(table_of_document(line))
        if line["k"] == "model":
            made.models.update((str(line["name"]), each) for each in _at_place(str(line["place"])))
        if line["k"] == "frame":
            made.frames[str(line["file"]).rpartition("/")[2]] = (
                _at_place(str(line["place"]))
                if "place" in line
                else _of_plan(_statement(Spot("", 1)), str(line["plan"]), known, made).inputs
            )
        found += _statements(line, known, made)
    return tuple(found)


def _know(table: DeclaredTable, known: DeclaredTables) -> None:
    """Remember a table whose location the script gives, or gave before: its dataset is named by the location."""
    before = known.get(table.parts)
    if table.identifier is not None or (before is not None and before.identifier is not None):
        known.put(table)


def tables_of_script(records: ScriptRecords) -> tuple[DeclaredTable, ...]:
    """Return the tables that a script would create."""
    return tuple(table_of_document(line) for line in records if line["k"] == "table")


def columns_of_script(records: ScriptRecords) -> dict[str, Columns]:
    """Return the columns that a script would write to paths and other places."""
    return {str(line["key"]): columns_of_document(line["columns"]) for line in records if line["k"] == "columns"}


def _statements(line: dict[str, Any], known: DeclaredTables, made: _Made) -> Iterator[StatementLineage]:
    if line["k"] == "sql":
        yield from _of_sql(line, known, made)
    elif line["k"] == "rows":
        yield StatementLineage(_statement(spot_of_document(line["spot"])), is_of_rows=True)
    elif line["k"] == "file":
        is_data = line.get("data") is True
        yield StatementLineage(_statement(spot_of_document(line["spot"])), opened=str(line["path"]), is_data=is_data)
    elif line["k"] == "hidden":
        yield StatementLineage(_statement(spot_of_document(line["spot"])), hidden=str(line["what"]))
    elif line["k"] == "executed":
        file = ExecutedFile(str(line["file"]), frozenset(map(int, line["lines"])))
        yield StatementLineage(_statement(Spot(file.file, 1)), executed=file)
    elif line["k"] == "names":
        yield StatementLineage(_statement(spot_of_document(line["spot"])), listed=str(line["names"]))
    elif line["k"] == "write":
        yield _of_write(WriteRecord.of(line), known, made)
    elif line["k"] == "problem":
        problem = ProblemRecord.of(line)
        at = problem.spot
        yield StatementLineage(_statement(at), problem=Problem(at.file, at.line, 1, problem.code, problem.message))


def _of_sql(line: dict[str, Any], known: DeclaredTables, made: _Made) -> Iterator[StatementLineage]:
    answer = answer_of_document(line["answer"])
    hidden = [literal_of(str(each)) for each in line["hidden"]]
    act = _act_of_statement(answer, line["act"]) if line["act"] else None
    lineages = _of_answer(answer, known, made)
    for found in lineages:
        lineage = found.lineage
        yield attrs.evolve(found if lineage is None else _hiding(found, lineage, hidden), act=act)
    if act is not None and not lineages:
        # It reads and writes no rows, but later statements depend on it, as on TRUNCATE or CREATE TABLE.
        yield StatementLineage(answer.statement, act=act)


def _hiding(found: StatementLineage, lineage: Lineage, hidden: Sequence[str]) -> StatementLineage:
    return attrs.evolve(found, lineage=_without_texts(lineage, hidden), document="")


def _without_texts(lineage: Lineage, hidden: Sequence[str]) -> Lineage:
    """Return a lineage whose expressions do not show some strings, such as the values of parameters."""
    if not hidden:
        return lineage

    def shown(edge: InputField) -> InputField:
        described = (attrs.evolve(each, description=_masked(each.description, hidden)) for each in edge.transformations)
        return attrs.evolve(edge, transformations=tuple(described))

    outputs = []
    for dataset, columns in lineage.outputs:
        each = tuple(
            OutputColumn(column.name, tuple(map(shown, column.edges)), _masked(column.expression, hidden))
            for column in columns.columns
        )
        outputs.append((dataset, attrs.evolve(columns, columns=each, dataset=tuple(map(shown, columns.dataset)))))
    return attrs.evolve(lineage, outputs=tuple(outputs))


def _masked(text: str, hidden: Sequence[str]) -> str:
    for each in hidden:
        text = text.replace(each, f"'{REDACTED}'")
    return text


def _statement(spot: Spot) -> ScriptStatement:
    return ScriptStatement(spot.text, spot.file, spot.line, 1)


def _act_of_statement(answer: StatementAnswer, document: Mapping[str, Any]) -> ScriptAct:
    found = answer.analyzed
    return ScriptAct(
        found.kind,
        str(document["text"]),
        found.shape,
        found.targets,
        f"{found.catalog}.{found.database}",
        str(document["settings"]),
        is_known=found.refusal is None and found.missed is None and not found.from_text,
        held=tuple(map(str, document["held"])),
    )


def _of_write(write: WriteRecord, known: DeclaredTables, made: _Made) -> StatementLineage:
    found = _lineage_of_write(write, known, made)
    lineage = found.lineage
    targets = () if lineage is None else tuple(name_of(each) for each, _ in lineage.outputs if each is not None)
    act = ScriptAct(
        FRAME,
        write.manner,
        write.shape,
        targets,
        write.within,
        write.settings,
        write.is_whole,
        write.names,
        held=write.held,
    )
    return attrs.evolve(found, act=act)


def _lineage_of_write(write: WriteRecord, known: DeclaredTables, made: _Made) -> StatementLineage:
    statement = _statement(write.spot)
    found = [_of_plan(statement, plan, known, made) for plan in write.plans if plan]
    fields = tuple(_renamed(schema_fields(write.schema), write.names)) if write.schema else ()
    targets = _targets(write, known, fields)
    if write.schema and not write.plans:
        return StatementLineage(statement, Lineage((), tuple((each, ColumnLineage(())) for each in targets), ()))
    if not write.schema or len(found) != 1:
        return StatementLineage(statement, _of_datasets(write, found, targets, known))
    ((_, columns),) = found[0].outputs
    columns = _with_names(columns, write.names)
    lineage = attrs.evolve(found[0], outputs=tuple((target, columns) for target in targets))
    return StatementLineage(statement, lineage)


def _of_answer(answer: StatementAnswer, known: DeclaredTables, made: _Made) -> tuple[StatementLineage, ...]:
    """Return the lineage of a statement or a plan; the folders of the loaded models that it calls are inputs."""
    query, called = answer.analyzed.query, []
    for name, dataset in made.models.items():
        if query is not None and name in query.plan:
            query = attrs.evolve(query, plan=query.plan.replace(name, MODEL_FUNCTION))
            called.append(dataset)
    answer = attrs.evolve(answer, analyzed=attrs.evolve(answer.analyzed, query=query))
    found = lineage_of_answers((answer,), tuple(known))
    return tuple(_with_inputs(each, called, made) for each in found) if called or made.frames else found


def _with_inputs(found: StatementLineage, called: Sequence[Dataset], made: _Made) -> StatementLineage:
    """Return a lineage with models as further inputs; the sources of rows replace the files that stand for these."""
    if found.lineage is None:
        return found
    read: list[Dataset] = []
    for each in found.lineage.inputs:
        read += made.frames.get(each.identifier.name.rpartition("/")[2], (each,))
    every = {each.identifier: each for each in (*read, *called)}
    return attrs.evolve(found, lineage=attrs.evolve(found.lineage, inputs=tuple(every.values())), document="")


def _of_plan(statement: ScriptStatement, plan: str, known: DeclaredTables, made: _Made) -> Lineage:
    found = _of_answer(StatementAnswer(statement, Analyzed("", EncodedQuery(plan))), known, made)
    return found[0].lineage if found and found[0].lineage is not None else Lineage((), ((None, ColumnLineage(())),), ())


def _of_datasets(
    write: WriteRecord, found: Iterable[Lineage], targets: Sequence[Dataset], known: DeclaredTables
) -> Lineage:
    """Return the lineage of a write with unknown columns: its inputs and its output."""
    inputs = {each.identifier: each for lineage in found for each in lineage.inputs}
    for text in write.places:
        kind, _, name = text.partition(":")
        is_table = kind == "table"
        read = (DEFAULT_TRIMMING.dataset(_table(tuple(name.split(".")), known)),) if is_table else _at_place(text)
        inputs.update({each.identifier: each for each in read})
    is_model = write.target and DataPlace.of_text(write.target).format == MODEL
    gap = _OF_MODEL if is_model else Gap(_UNKNOWN, _NO_COLUMNS)
    return Lineage(tuple(inputs.values()), tuple((target, ColumnLineage(())) for target in targets), (gap,))


def _targets(write: WriteRecord, known: DeclaredTables, fields: tuple[Field, ...]) -> tuple[Dataset, ...]:
    if write.table:
        return (attrs.evolve(_table(write.table, known), fields=fields),)
    return _at_place(write.target, fields)


def _at_place(text: str, fields: tuple[Field, ...] = ()) -> tuple[Dataset, ...]:
    """Return the datasets at a place, as `DataPlace.to_text` writes it."""
    return tuple(map(DEFAULT_TRIMMING.dataset, datasets_of(DataPlace.of_text(text), fields)))


def _table(parts: tuple[str, ...], known: DeclaredTables) -> Dataset:
    """Return a table under the name that it has in SQL files."""
    lower = tuple(part.lower() for part in parts) if parts[0] == "spark_catalog" else parts
    found, table = named_table(lower), known.get(parts)
    return found if table is None or table.identifier is None else attrs.evolve(found, identifier=table.identifier)


def _renamed(fields: tuple[Field, ...], names: tuple[str, ...]) -> Iterator[Field]:
    for at, each in enumerate(fields):
        yield attrs.evolve(each, name=names[at]) if at < len(names) else each


def _with_names(columns: ColumnLineage, names: tuple[str, ...]) -> ColumnLineage:
    """Return the lineage of columns under the names that they have in the target."""
    renamed = (
        attrs.evolve(column, name=names[at] if at < len(names) else column.name)
        for at, column in enumerate(columns.columns)
    )
    return attrs.evolve(columns, columns=tuple(renamed))
