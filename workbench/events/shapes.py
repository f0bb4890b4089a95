"""Check the shapes of an event's parts: a part of another shape than its schema requires is left out, and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from openlineage_pyspark.workbench.model.kinds import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping

EventJson: TypeAlias = "dict[str, Any]"
LONGEST_TEXT = 10_000
"""The maximum number of characters of a text that even a small event may repeat very often, or make very long."""
_LEAST_NUMBER, _FIRST_TOO_LARGE = -(1 << 63), 1 << 63


class OddParts:
    """
    The parts of an entity's facets that have another shape than their schemas require.

    Args:
        owner: the entity, for people.
    """

    __slots__ = ("found", "owner")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.found: dict[Diagnostic, None] = {}

    def add(self, facet: str, message: str) -> None:
        """Add a part that was left out."""
        self.found[
            Diagnostic("odd-facet", f"{message}; it is left out", missing=True, place=f"{self.owner}: {facet}")
        ] = None

    def mapping(self, facet: str, owner: Mapping[str, Any], key: str) -> EventJson:
        """Return the object under a key; an empty one if it is missing or something else."""
        found = owner.get(key)
        if isinstance(found, dict):
            return found
        if found is not None:
            self.add(facet, wrong(key, found, "an object"))
        return {}

    def objects(self, facet: str, owner: Mapping[str, Any], key: str) -> list[EventJson]:
        """Return the objects in the array under a key."""
        found = owner.get(key)
        if isinstance(found, list):
            if all(isinstance(each, dict) for each in found):
                return found
            for number, each in enumerate(found):
                if not isinstance(each, dict):
                    self.add(facet, wrong(f"{key}[{number}]", each, "an object"))
            return [each for each in found if isinstance(each, dict)]
        if found is not None:
            self.add(facet, wrong(key, found, "an array"))
        return []

    def text(self, facet: str, owner: Mapping[str, Any], key: str) -> str | None:
        """Return the text under a key."""
        found = owner.get(key)
        if isinstance(found, str):
            return found
        if found is not None:
            self.add(facet, wrong(key, found, "a text"))
        return None

    def number(self, facet: str, owner: Mapping[str, Any], key: str) -> int | None:
        """Return the number under a key, if it has at most 64 bits."""
        found = owner.get(key)
        if found is None:
            return None
        # NaN is in no range.
        if not isinstance(found, bool) and isinstance(found, int | float) and _LEAST_NUMBER <= found < _FIRST_TOO_LARGE:
            return int(found)
        self.add(facet, wrong(key, found, "a number of 64 bits"))
        return None

    def named(self, owner: EventJson, facet: str, what: str) -> TypeGuard[EventJson]:
        """Return whether an object has a namespace and a name."""
        if is_named(owner):
            return True
        self.add(facet, f"{what} has no namespace or no name")
        return False


def is_named(value: object) -> TypeGuard[EventJson]:
    """Return whether a value is an object with a namespace and a name."""
    return isinstance(value, dict) and isinstance(value.get("namespace"), str) and isinstance(value.get("name"), str)


def cut(value: object) -> str:
    """Return the beginning of a text: many places of a facet may name the same one, and the tables keep each."""
    return checked_text(value)[:LONGEST_TEXT]


def checked_text(value: object) -> str:
    """
    Return a text.

    Raises:
        TypeError: it is not a text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a text")
    return value


def wrong(what: str, value: object, expected: str) -> str:
    """Return the message about a value of the wrong type; the value itself may be long, or a secret."""
    kinds = {dict: "an object", list: "an array", str: "a text", bool: "true or false"}
    return f"{what} is {kinds.get(type(value), 'a number')}, not {expected}"
