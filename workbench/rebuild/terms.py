"""Terms for computations: two computations with the same term have the same result."""

from __future__ import annotations

import attrs


@attrs.frozen(eq=False)
class Term:
    """
    A computation. Two terms of one `Terms` are the same object if they are built in the same way.

    Args:
        number: its index among all terms.
        kind: what is computed.
        parts: the operands.
        is_unstable: whether a repetition may have a different result, because it is random, or depends on the time or
            on the order in which rows arrive.
    """

    number: int
    kind: str
    parts: tuple[Part, ...] = attrs.field(repr=False)
    is_unstable: bool = False


Part = Term | str
"""A part of a term: another term, or a text."""


class Terms:
    """All terms of both sides of a comparison. Terms of two instances can't be compared."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[object, ...], bool], Term] = {}

    def of(self, kind: str, *parts: Part, is_unstable: bool = False) -> Term:
        """
        Return the term for a computation.

        Args:
            kind: what is computed.
            parts: the operands.
            is_unstable: whether a repetition of this may have a different result; a term with an unstable part is
                always unstable.
        """
        key = (kind, tuple(each if isinstance(each, str) else each.number for each in parts), is_unstable)
        found = self._known.get(key)
        if found is None:
            unstable = is_unstable or any(isinstance(each, Term) and each.is_unstable for each in parts)
            found = self._known[key] = Term(len(self._known), kind, parts, unstable)
        return found
