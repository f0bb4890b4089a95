"""A memory that keeps the latest values and forgets the oldest."""

from __future__ import annotations

from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Latest(dict[_Key, _Value]):
    """A dictionary of the values that were put last."""

    def __init__(self, most: int) -> None:
        """
        Start without values.

        Args:
            most: how many values are kept.
        """
        super().__init__()
        self._most = most

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value as the latest, and forget the oldest if there are too many."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]
