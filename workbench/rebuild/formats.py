"""Write a rebuild plan: as text, and as Markdown for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.pictures.plain import plain
from openlineage_pyspark.workbench.pictures.table import code_of
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.workbench.rebuild.plan import Action, RebuildPlan, TablePlan

_SHORT = 60
_WORDS: dict[Action, str] = {
    "make": "rebuild",
    "columns": "rebuild or update",
    "define": "redefine",
    "drop": "drop",
    "keep": "keep",
}


def sentence_of_plan(plan: RebuildPlan) -> str:
    """Return a plan in one sentence."""
    parts = [f"{counted(len(plan.made), 'table')} to rebuild"]
    if plan.kept:
        parts.append(f"{counted(len(plan.kept), 'downstream table')} proven unchanged")
    if plan.elsewhere:
        parts.append(f"{counted(len(plan.elsewhere), 'downstream table')} of other jobs")
    return ", ".join(parts)


def text_of_plan(plan: RebuildPlan) -> str:
    """Return a plan as lines for people: what must be done, in order, then what is kept."""
    lines = [f"{sentence_of_plan(plan)}:"]
    for at, (each, why) in enumerate(zip(plan.made, _reasons(plan), strict=True), 1):
        lines.append(f"  {at}. {_WORDS[each.action]} {each.table}{_columns(each)}: {why}")
        lines += [f"       {place}" for place in each.places]
    lines += [f"  affected in another job: {each}" for each in plan.elsewhere]
    lines += [f"  keep {each.table}: {each.reason}" for each in plan.kept]
    if plan.apart:
        lines.append(f"  keep {counted(plan.apart, 'table')} that the change does not affect")
    return "".join(f"{plain(line)}\n" for line in lines)


def markdown_of_plan(plan: RebuildPlan) -> str:
    """Return a plan as Markdown."""
    parts = [f"**Rebuild plan**: {sentence_of_plan(plan)}.\n"]
    if plan.made:
        rows = [
            f"| {at} | {_WORDS[each.action]} | {code_of(each.table)} | {_cell(each)} | {why} |"
            for at, (each, why) in enumerate(zip(plan.made, _reasons(plan), strict=True), 1)
        ]
        parts.append("\n".join(["| | what | table | columns | why |", "|---|---|---|---|---|", *rows]) + "\n")
    if plan.elsewhere:
        listed = "".join(f"- {code_of(each)}\n" for each in plan.elsewhere)
        parts.append(f"Affected tables of other jobs ({len(plan.elsewhere):,}):\n\n{listed}")
    if plan.kept:
        listed = "".join(f"- {code_of(each.table)}: {each.reason}\n" for each in plan.kept)
        parts.append(f"Proven unchanged ({len(plan.kept):,}):\n\n{listed}")
    return "\n".join(parts)


def _reasons(plan: RebuildPlan) -> Iterator[str]:
    """Yield the reason for each table to rebuild; a long reason is written only once."""
    first: dict[str, int] = {}
    for at, each in enumerate(plan.made, 1):
        known = first.setdefault(each.reason, at)
        yield each.reason if known == at or len(each.reason) <= _SHORT else f"as for {known}"


def _columns(each: TablePlan) -> str:
    if each.action == "drop" or not (each.rows or each.columns):
        return ""
    return " (every column)" if each.rows else f" ({', '.join(each.columns)})"


def _cell(each: TablePlan) -> str:
    if each.rows:
        return "" if each.action == "drop" else "every column"
    return ", ".join(map(code_of, each.columns))
