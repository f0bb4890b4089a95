"""
Numbers that depend on data, such as the number of rows.

Each decision of a script on one is reported, and so is each text that the script makes with one.
"""

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
    writes: Callable[[], object]

    __hash__ = int.__hash__


class Share(float):
    """
    A number that a script has computed from a `Count`, such as a ratio of two.

    Make it with `count_of`.
    """

    decides: Callable[[], object]
    writes: Callable[[], object]

    __hash__ = float.__hash__


class Literal(float):
    """A number in the text of a script: with a plain `float`, Python would not call the operators of a `Count`."""


def count_of(decides: Callable[[], object], value: float = 1, writes: Callable[[], object] = bool) -> Any:
    """
    Return a number that depends on data.

    Args:
        decides: called at each decision on the value; returns whether to decide the other way.
        value: the assumed value.
        writes: called when a text is made with the value.
    """
    found = Count(value) if isinstance(value, int) else Share(value)
    found.decides, found.writes = decides, writes
    return found


def number_from(make: Callable[[Any], Any], value: Any) -> Any:
    """
    Return a value as `int` or `float`, which still depends on data if the value does.

    Args:
        make: what the script calls `int` or `float`.
        value: the value.
    """
    made = make(value)
    return _of_same_data(value, made) if isinstance(value, Count | Share) and make in (int, float) else made


def plain_number(value: Any) -> Any:
    """Return a number without what it depends on, so that operations on it decide nothing; other values unchanged."""
    if isinstance(value, Count):
        return int(value)
    return float(value) if isinstance(value, Share) else value


def _of_same_data(number: Any, value: float) -> Any:
    """Return a value that depends on the same data as a number."""
    return count_of(number.decides, value, number.writes)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, name)

    def compared(self: Any, other: Any) -> Any:
        found = compare(plain_number(self), plain_number(other))
        return found != bool(self.decides()) if isinstance(found, bool) else found

    return compared


def _operation(name: str, *, is_reflected: bool) -> Callable[[Any, Any], Any]:
    method = f"__{'r' if is_reflected else ''}{name}__"

    def operated(self: Any, other: Any) -> Any:
        mine, others = plain_number(self), plain_number(other)
        if isinstance(mine, int) and isinstance(others, float):
            mine = float(mine)
        try:
            found = getattr(mine, method)(others)
        except ZeroDivisionError:
            # In a real run, the divisor would hardly be zero.
            found = 0.0
        return _of_same_data(self, found) if type(found) in (int, float) else found

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
        return _of_same_data(self, call(plain_number(self), *given))

    return changed


def _truth(self: Any) -> bool:
    return bool(plain_number(self)) != bool(self.decides())


def _text(write: Callable[..., str]) -> Callable[..., str]:
    def written(self: Any, *given: Any) -> str:
        self.writes()
        return write(plain_number(self), *given)

    return written


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
    for _name, _write in (("str", str), ("repr", repr), ("format", format)):
        setattr(_each, f"__{_name}__", _text(_write))
    setattr(_each, "__bool__", _truth)  # noqa: B010 (its type is that of a method of int)
