"""The vocabulary of lineage: how a value arrives, how sure that is, and diagnostics."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import attrs
from openlineage_pyspark.workbench.model.document import document_of_fields, from_document

NodeId: TypeAlias = str
"""The id of a node, such as `column|NAMESPACE|NAME|COLUMN`."""
Certainty: TypeAlias = Literal["exact", "opaque", "guessed", "unstated", "text"]
"""
How sure a path is, best first. `exact`: read from the plan. `opaque`: it passes code that can't be read. `guessed`: a
part of the plan was not understood, or the version was inferred. `unstated`: nothing names how the value arrives.
`text`: taken from the text of a statement that was not analyzed.
"""
Level: TypeAlias = Literal["note", "warning", "stop"]
Code: TypeAlias = Literal[
    "unknown-operator",
    "opaque-code",
    "text-only",
    "dry-run",
    "inferred-version",
    "cut",
    "limit",
    "expired",
    "rejected",
    "damaged",
    "ambiguous",
    "odd-time",
    "unknown-writer",
    "unfinished-recovery",
    "unknown-columns",
    "odd-facet",
    "two-lineages",
]
"""
What a diagnostic is about. Of an event: `unknown-operator`, its producer has not understood a part of what it ran;
`odd-facet`, a part has another shape than its schema requires, and is left out; `two-lineages`, two facets disagree
about the edges of an output.
"""

CERTAINTIES: tuple[Certainty, ...] = get_args(Certainty)
ODD_CODES: frozenset[Code] = frozenset(("damaged", "ambiguous", "odd-time"))
"""Codes that are shown even if the answer is complete."""
_RANKS = {certainty: rank for rank, certainty in enumerate(CERTAINTIES)}
_VALUES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
# MASKED is of facets before version 1-1-0.
_STATED = (*_VALUES, "MASKED")
_INFLUENCES = ("CONDITIONAL", "JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW")
_ORDER = {subtype: place for place, subtype in enumerate((*_VALUES, *_INFLUENCES))}


@attrs.frozen(order=False, cache_hash=True)
class Kind:
    """
    How a value is computed: OpenLineage's type and subtype, and masking.

    Args:
        type: DIRECT or INDIRECT; empty if the event does not name it.
        subtype: IDENTITY, TRANSFORMATION, AGGREGATION, FILTER, JOIN, GROUP_BY, SORT, WINDOW or CONDITIONAL; empty if
            the event does not name it. Another producer may have further ones.
        masking: whether the value can't be recognized afterwards.
    """

    type: str = ""
    subtype: str = ""
    masking: bool = False

    @property
    def is_influence(self) -> bool:
        """Whether the source only decides about rows or about a choice."""
        return self.type == "INDIRECT"

    @property
    def is_stated(self) -> bool:
        """Whether the event states how the value is computed."""
        return self.is_influence or self.subtype in _STATED

    @property
    def order(self) -> tuple[bool, int, str, str, bool]:
        """Return the sort key of kinds: values before influences, the simplest first."""
        return self.is_influence, _ORDER.get(self.subtype, len(_ORDER)), self.subtype, self.type, self.masking

    def __str__(self) -> str:
        """Return the text for people, such as `AGGREGATION (masked)`; empty if the event names nothing."""
        return " ".join(filter(None, (self.subtype or self.type, "(masked)" if self.masking else "")))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"type": self.type, "subtype": self.subtype, "masking": self.masking}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Kind:
        """Return the kind that `to_dict` wrote."""
        return cls(document["type"], document["subtype"], document["masking"])


@attrs.frozen
class Diagnostic:
    """
    A finding about an answer or an event, such as what it may lack.

    Args:
        code: the kind of finding.
        message: the finding in words.
        level: `note`, `warning`, or `stop` if it must be resolved first.
        missing: whether the answer may be incomplete because of it.
        node: the id of the node that it concerns; empty if there is none.
        run: the id of the run's node.
        operator: the operator, or the part of an event.
        place: the file and the line.
    """

    code: Code
    message: str
    level: Level = "warning"
    missing: bool = False
    node: NodeId = ""
    run: NodeId = ""
    operator: str = ""
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return document_of_fields(self, ("code", "message", "level"))

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Diagnostic:
        """Return the diagnostic that `to_dict` wrote."""
        return from_document(cls, document)


def certainty_of(word: str) -> Certainty:
    """Return the certainty that a word of an event or of a trace names; `unstated` for an unknown word."""
    return next((each for each in CERTAINTIES if each == word), "unstated")


def rank(certainty: Certainty) -> int:
    """Return the place of a certainty: 0 for the best."""
    return _RANKS[certainty]


def best(certainties: tuple[Certainty, ...]) -> Certainty:
    """Return the best of some certainties; `exact` without one."""
    return min(certainties, key=rank, default="exact")


def worst(certainties: tuple[Certainty, ...]) -> Certainty:
    """Return the worst of some certainties; `exact` without one."""
    return max(certainties, key=rank, default="exact")
