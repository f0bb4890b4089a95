"""A property that is computed once, without the lock that Python has before 3.12: an event has a dozen of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class once(Generic[_Value]):  # noqa: N801 (it is used like `property`)
    """
    Compute a property when it is first used, and keep it.

    Two threads that read it at the same time may both compute it, with equal results.

    Args:
        read: computes it.
    """

    def __init__(self, read: Callable[[Any], _Value]) -> None:
        self._read = read
        self._name = read.__name__
        self.__doc__ = read.__doc__

    def __get__(self, owner: object, _: type | None = None) -> _Value:
        """Return the value, which the object itself has from now on."""
        value = owner.__dict__[self._name] = self._read(owner)
        return value
