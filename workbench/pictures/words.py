"""Sentences about lineage, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Path, Step
    from openlineage_pyspark.workbench.model.kinds import Certainty

_REASONS: dict[Certainty, str] = {
    "opaque": "It passes code that can't be read",
    "guessed": "It passes an operator that is not understood",
    "text": "It was taken from the text of the statement, which was not analyzed",
}
_WITHOUT_STEPS: dict[Certainty, str] = {
    "exact": "It was read from the plan.",
    "guessed": "The run states it, but a part of its plan was not understood.",
    "unstated": "The run states it, but not how the value is computed.",
}
INFERRED = "No event names the version that was read: this one was current when the run began to read."


def reason_of(certainty: Certainty, steps: Iterable[Step]) -> str:
    """
    Return the reason for the certainty of a path.

    Args:
        certainty: the certainty.
        steps: its steps; those with this certainty are named.
    """
    operators = ", ".join(
        dict.fromkeys(step.operator for step in steps if step.certainty == certainty and step.operator)
    )
    if certainty in _REASONS and (operators or certainty not in _WITHOUT_STEPS):
        return f"{_REASONS[certainty]}: {operators}." if operators else f"{_REASONS[certainty]}."
    return _WITHOUT_STEPS[certainty]


def hows(paths: Iterable[Path]) -> list[str]:
    """
    Return how a source gets to a target: the kinds and the certainty, unless it is exact, and the expressions.

    Expressions with the same kinds and the same certainty are shown together. A plain copy shows no expression.

    Args:
        paths: the paths, the preferred first.
    """
    kinds: dict[tuple[Certainty, str], dict[str, None]] = {}
    copies: dict[Certainty, str] = {}
    for path in paths:
        if path.kind.subtype == "IDENTITY" and not path.kind.masking:
            copies[path.certainty] = str(path.kind)
        else:
            text = "" if path.kind.subtype == "IDENTITY" else " ".join(path.expression.split())
            kinds.setdefault((path.certainty, text), {})[str(path.kind)] = None
    texts: dict[tuple[Certainty, tuple[str, ...]], list[str]] = {}
    for (certainty, text), names in kinds.items():
        before = () if certainty not in copies else (copies.pop(certainty),)
        texts.setdefault((certainty, (*before, *names)), []).append(text)
    texts = {**{(certainty, (copy,)): [] for certainty, copy in copies.items()}, **texts}
    found = []
    for (certainty, words), several in texts.items():
        how = ", ".join(filter(None, (*words, "" if certainty == "exact" else certainty)))
        found.append(f"{how or '-'}  {'; '.join(filter(None, several))}".rstrip())
    return found


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 event` or `1,095 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def together(columns: Iterable[tuple[str, str]]) -> str:
    """
    Return columns on one line, with the name of each table only once: `shop.orders.id, .amount, shop.days.day`.

    Args:
        columns: pairs of a table and a column; the column is empty for the table itself.
    """
    found: dict[str, dict[str, None]] = {}
    for table, column in columns:
        found.setdefault(table, {})[column] = None
    texts = (
        table + ", ".join(f".{each}" if each else "" for each in columns_of) for table, columns_of in found.items()
    )
    return ", ".join(texts)
