"""Write the lineage of statements: as text, Markdown, JSON, SARIF and annotations, from one model."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs
from openlineage_pyspark.command.screen import printable
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.from_plan import edges_of_output
from openlineage_pyspark.workbench.model.document import document_of
from openlineage_pyspark.workbench.model.graph import place_of_id
from openlineage_pyspark.workbench.pictures.table import code_of
from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.from_text.text import TEXT, is_of_types
from openlineage_pyspark.workbench.predict.outcome import (
    CELL,
    Summary,
    certainty_of_statement,
    reason_for,
    severity_of,
    summary_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.model.graph import Edge
    from openlineage_pyspark.workbench.predict.outcome import Cause, Severity
    from openlineage_pyspark.workbench.predict.scripts import StatementLineage
    from openlineage_pyspark.workbench.report import Lineage

_WORDS = 60
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "note"}
_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_MOST_PLACES = 10
# No string contains this: in JSON, quotes within a string have a backslash.
_NO_STATEMENTS = '"statements": []'


def _text(found: Sequence[StatementLineage]) -> str:
    lines = [*summary_of(found).lines(), *(f"  {line}" for line in _unknown_types(found))]
    head = "".join(f"{line}\n" for line in lines)
    return "\n".join([*([head] if head else []), *_text_parts(found)])


def _text_parts(found: Iterable[StatementLineage]) -> Iterator[str]:
    """Yield a part for each statement that has a lineage: where it is, and the table of its lineage."""
    parts: Counter[tuple[str, str]] = Counter()
    for each in found:
        if each.lineage is not None:
            statement = each.statement
            mark = "(from the text) " if certainty_of_statement(each) == "text" else ""
            head = f"{statement.file}:{statement.line}: {mark}{_beginning(statement.text)}"
            parts[head, str(_without_reason(each.lineage))] += 1
    # A line of a script that runs in a loop has one part for all that it writes alike.
    for (head, table), count in parts.items():
        lines = [f"{head} ({count:,} times)" if count > 1 else head, *table.splitlines()]
        yield "".join(f"{'  ' if at else ''}{printable(line)}\n" for at, line in enumerate(lines))


def _unknown_types(found: Iterable[StatementLineage]) -> Iterator[str]:
    """Yield a line about tables with columns of unknown types: the first one, and how many more there are."""
    gaps = (gap.message for each in found if each.lineage for gap in each.lineage.gaps if is_of_types(gap))
    first, *others = dict.fromkeys(gaps) or [""]
    noun = "table has" if len(others) == 1 else "tables have"
    if first:
        yield printable(f"{first}{f'; and {len(others):,} more {noun} the same problem' if others else ''}")


def _without_reason(lineage: Lineage) -> Lineage:
    """Return a lineage without the gaps that are printed once for all: the reason for reading the text, and types."""
    first = lineage.gaps[:1]
    is_reason = bool(first) and first[0].task == TEXT and first[0].message.startswith("Spark can't analyze")
    return attrs.evolve(lineage, gaps=tuple(each for each in lineage.gaps[is_reason:] if not is_of_types(each)))


def _json(found: Sequence[StatementLineage]) -> str:
    summary = summary_of(found)
    document = {"summary": summary.to_dict(), "statements": []}
    answer = Answer("lineage", {}, Values("statements", document), diagnostics=summary.diagnostics())
    text = json.dumps(answer.to_dict(), indent=2)
    # Each statement is one line: Python's encoder is ten times as fast without indents.
    lines = ",\n".join(f"      {_statement(each)}" for each in found)
    listed = f"{_NO_STATEMENTS[:-1]}\n{lines}\n    ]" if found else _NO_STATEMENTS
    return f"{text.replace(_NO_STATEMENTS, listed)}\n"


def _statement(found: StatementLineage) -> str:
    """Return the JSON of a statement."""
    head = {
        "file": found.statement.file,
        "line": found.statement.line,
        "column": found.statement.column,
        "sql": found.statement.text,
        "certainty": certainty_of_statement(found),
        "problem": _problem(found),
    }
    lineage = found.document or json.dumps(None if found.lineage is None else found.lineage.to_dict())
    return f'{json.dumps(head)[:-1]}, "lineage": {lineage}}}'


def _problem(found: StatementLineage) -> dict[str, Any] | None:
    if found.problem is None:
        return None
    return {**document_of(found.problem), "reason": reason_for(found.problem), "severity": severity_of(found)}


def _markdown(found: Sequence[StatementLineage]) -> str:
    outcome = summary_of(found)
    head, *reasons = [line.strip() for line in outcome.lines()] or [""]
    parts = [f"**{head}**\n" + "".join(f"- {reason}\n" for reason in ["", *reasons] if reason)] if head else []
    for each in found:
        if each.lineage is None:
            continue
        mark = " (from the text)" if certainty_of_statement(each) == "text" else ""
        place = f"{each.statement.file}:{each.statement.line}"
        for dataset, lineage in each.lineage.outputs:
            title = "query" if dataset is None else name_of(dataset)
            edges = edges_of_output(dataset, lineage)
            sources = {d.identifier: name_of(d) for d in each.lineage.inputs}
            rows = [row for edge in edges for row in _markdown_rows(edge, sources)]
            with_edges = {edge.target_column for edge in edges}
            rows += [f"| {code_of(c.name)} | | |" for c in lineage.columns if c.name not in with_edges]
            table = ["| column | from | how |", "|---|---|---|", *rows] if rows else ["No column lineage."]
            parts.append("\n".join([f"### {code_of(title)}", "", f"{code_of(place)}{mark}", "", *table]) + "\n")
    return "\n".join(parts) + markdown_of_causes(outcome)


def _markdown_rows(edge: Edge, names: dict[Identifier, str]) -> Iterator[str]:
    """Yield a row for each path of an edge."""
    namespace, name, field = place_of_id(edge.source)
    source = names.get(Identifier(namespace, name), name)
    column = code_of(edge.target_column) if edge.target_column else "every row"
    for path in edge.paths:
        certainty = "" if path.certainty == "exact" else f", {path.certainty}"
        expression = f" {code_of(path.expression)}" if path.expression else ""
        yield f"| {column} | {code_of(f'{source}.{field}')} | {path.kind}{certainty}{expression} |"


def markdown_of_causes(outcome: Summary) -> str:
    """Return what statements lack and what a dry run assumes, each once, as lists in Markdown, or an empty text."""
    assumed = [each for each in outcome.causes if each.reason == "dry-run"]
    others = [each for each in outcome.causes if each.reason != "dry-run"]
    return _listed("Not analyzed by Spark", others) + _listed("Assumed by the dry run", assumed)


def _listed(heading: str, causes: Iterable[Cause]) -> str:
    listed = "".join(f"- {_places(each)} {code_of(each.message)}\n" for each in causes)
    return f"\n**{heading}**:\n\n{listed}" if listed else ""


def _places(cause: Cause) -> str:
    shown = [code_of(f"{each.file}:{each.line}:{each.column}") for each in cause.places[:_MOST_PLACES]]
    more = f" and {len(cause.places) - _MOST_PLACES:,} more" if len(cause.places) > _MOST_PLACES else ""
    return f"{', '.join(shown)}{more}"


def _sarif(found: Sequence[StatementLineage]) -> str:
    """Return the problems as SARIF 2.1.0, which GitHub, GitLab and editors read."""
    return sarif_of(found, ())


def sarif_of(found: Sequence[StatementLineage], others: Iterable[dict[str, Any]]) -> str:
    """
    Return the problems of statements, and other results, as SARIF 2.1.0.

    Args:
        found: the statements.
        others: results that `sarif_result` has made.
    """
    results = list(others)
    for each in found:
        if (problem := each.problem) is not None:
            level = _SARIF_LEVELS[severity_of(each)]
            place = place_for_scanner(problem.file, problem.line, problem.column, problem.message)
            results.append(sarif_result(reason_for(problem), level, *place))
    rules = sorted({each["ruleId"] for each in results})
    driver = {"name": "openlineage-pyspark", "rules": [{"id": rule} for rule in rules]}
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]
    return f"{json.dumps({'$schema': _SARIF, 'version': '2.1.0', 'runs': runs}, indent=2)}\n"


def place_for_scanner(file: str, line: int, column: int, message: str) -> tuple[str, int, int, str]:
    """
    Return a problem at a place that scanners can show: if it is in a notebook's cell, that is the notebook's file.

    Args:
        file: the file, or the cell, such as `a.ipynb[3]`.
        line: the line, from 1.
        column: the column, from 1.
        message: the problem in words.
    """
    cell = CELL.search(file)
    if cell is None:
        return PurePath(file).as_posix() if file else file, line, column, message
    return PurePath(file[: cell.start()]).as_posix(), 1, 1, f"cell {cell[1]}, line {line}: {message}"


def sarif_result(rule: str, level: str, file: str, line: int, column: int, message: str) -> dict[str, Any]:
    """Return a result of SARIF: the problem and its place, whose file is a reference by URI."""
    region = {"startLine": line, "startColumn": column}
    place = {"physicalLocation": {"artifactLocation": {"uri": quote(os.fsencode(file))}, "region": region}}
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [place]}


def _github(found: Sequence[StatementLineage]) -> str:
    """Return the problems as commands of GitHub's workflows, which show them as annotations."""
    lines = []
    for each in found:
        problem = each.problem
        if problem is not None:
            place = place_for_scanner(problem.file, problem.line, problem.column, problem.message)
            lines.append(command_of_workflow(severity_of(each), *place, reason_for(problem)))
    return "".join(lines)


def command_of_workflow(level: Severity, file: str, line: int, column: int, message: str, title: str) -> str:
    """Return a command of GitHub's workflows that becomes an annotation; without a file, one of the run."""
    place = f"file={_property(file)},line={line},col={column}," if file else ""
    return f"::{_COMMANDS[level]} {place}title={title}::{_data(message)}\n"


def _data(text: str) -> str:
    """Return a text as the data of a command: its lines stay, and other control characters are shown as escapes."""
    return "%0A".join(printable(line.replace("%", "%25")) for line in text.replace("\r\n", "\n").split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _beginning(text: str) -> str:
    """Return the first words of a statement, on one line."""
    line = " ".join(text[: 4 * _WORDS].split())
    return line if len(line) <= _WORDS else f"{line[:_WORDS].rstrip()}..."


# Format -> the function that writes the statements as text.
WRITERS: dict[str, Callable[[Sequence[StatementLineage]], str]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "sarif": _sarif,
    "github": _github,
}
