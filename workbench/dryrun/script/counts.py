"""Numbers that depend on data, such as the number of rows: each decision of a script on one is reported."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OPERATIONS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


class Count(int):
    """
    A whole number that depends on data.

    Make it with `count_of`.
    """

    decides: Callable[[], object]

    __hash__ = int.__hash__


class Share(float):
    """
    A number that a script has computed from a `Count`, such as a ratio of two.

    Make it with `count_of`.
    """

    decides: Callable[[], object]

    __hash__ = float.__hash__


class Literal(float):
    """A number in the text of a script: Python would compute with it and a `Count` without asking the `Count`."""


def count_of(decides: Callable[[], object], value: float = 1) -> Any:
    """
    Return a number that depends on data.

    Args:
        decides: called at each decision on the value; returns true for the other decision.
        value: the assumed value.
    """
    found = Count(value) if isinstance(value, int) else Share(value)
    found.decides = decides
    return found


def number_from(make: Callable[[Any], Any], value: Any) -> Any:
    """
    Return a value as `int` or `float`, which still depends on data if the value does.

    Args:
        make: what the script calls `int` or `float`.
        value: the value.
    """
    made = make(value)
    is_of_data = isinstance(value, Count | Share) and make in (int, float)
    return count_of(value.decides, made) if is_of_data else made


def _plain(value: Any) -> Any:
    """Return a number without what it depends on, so that an operation on it decides nothing."""
    if isinstance(value, Count):
        return int(value)
    return float(value) if isinstance(value, Share) else value


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, name)

    def compared(self: Any, other: Any) -> Any:
        found = compare(_plain(self), _plain(other))
        return found != bool(self.decides()) if isinstance(found, bool) else found

    return compared


def _operation(name: str, *, is_reflected: bool) -> Callable[[Any, Any], Any]:
    method = f"__{'r' if is_reflected else ''}{name}__"

    def operated(self: Any, other: Any) -> Any:
        mine, others = _plain(self), _plain(other)
        if isinstance(mine, int) and isinstance(others, float):
            mine = float(mine)
        try:
            found = getattr(mine, method)(others)
        except ZeroDivisionError:
            # Data would hardly make it zero.
            found = 0.0
        return count_of(self.decides, found) if type(found) in (int, float) else found

    return operated


def _operation_of_literal(name: str) -> Callable[[Any, Any], Any]:
    operate, reflected = getattr(float, f"__{name}__"), f"__r{name}__"

    def operated(self: Any, other: Any) -> Any:
        if isinstance(other, Count):
            return getattr(other, reflected)(float(self))
        return operate(self, other)

    return operated


def _single(call: Callable[..., Any]) -> Callable[..., Any]:
    def changed(self: Any, *given: Any) -> Any:
        return count_of(self.decides, call(_plain(self), *given))

    return changed


def _truth(self: Any) -> bool:
    return bool(_plain(self)) != bool(self.decides())


for _name in _OPERATIONS:
    setattr(Literal, f"__{_name}__", _operation_of_literal(_name))
for _each in (Count, Share):
    for _name in _COMPARISONS:
        setattr(_each, f"__{_name}__", _comparison(_name))
    for _name in _OPERATIONS:
        setattr(_each, f"__{_name}__", _operation(_name, is_reflected=False))
        setattr(_each, f"__r{_name}__", _operation(_name, is_reflected=True))
    for _name, _call in (
        ("round", round), ("neg", operator.neg), ("abs", abs), ("ceil", math.ceil), ("floor", math.floor),
    ):  # fmt: skip
        setattr(_each, f"__{_name}__", _single(_call))
    setattr(_each, "__bool__", _truth)  # noqa: B010 (its type is that of a method of int)
