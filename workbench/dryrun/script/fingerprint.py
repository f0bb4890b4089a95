"""
What decides about the results of a Python function that Spark calls, as a text: its code, and all that it refers to.

The text does not depend on the file, the lines, the layout and the comments of the function. It is the same in two
processes if they have the same version of Python.
"""

from __future__ import annotations

import datetime
import decimal
import dis
import functools
import hashlib
import re
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_PLAIN = (bool, int, float, complex, str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)
_MOST_PARTS = 10_000
_DYNAMIC = frozenset({"getattr", "globals", "locals", "vars", "eval", "exec", "__import__", "import_module"})
"""Functions by which code refers to what its own names do not show."""
_OWN = frozenset({"__dict__", "__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__"})
"""Attributes of a class that decide nothing."""


class UnknownPartError(Exception):
    """Raised for an object whose effect on a function is not known."""


def fingerprint(function: Any, is_users: Callable[[str], bool]) -> str:
    """
    Return a hash of everything that decides what a function returns; empty if that is not known.

    Args:
        function: a function, or a tuple of functions and other values.
        is_users: returns whether a file is one of the user's; all other code counts as unchanged.
    """
    try:
        parts = "\n".join(_Parts(is_users).of(function))
    except (UnknownPartError, RecursionError):
        return ""
    return hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest()


class _Parts:
    """Walks through what a function refers to."""

    def __init__(self, is_users: Callable[[str], bool]) -> None:
        self._is_users = is_users
        self._seen: dict[int, int] = {}
        # An object that is freed could give its number to another one.
        self._kept: list[object] = []

    def of(self, value: Any) -> Iterator[str]:
        """Yield the parts of a value."""
        if value is None or value is Ellipsis or isinstance(value, _PLAIN):
            yield f"{type(value).__qualname__} {value!r}"
            return
        if id(value) in self._seen:
            yield f"again {self._seen[id(value)]}"
            return
        if len(self._seen) > _MOST_PARTS:
            raise UnknownPartError
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        yield from self._of_object(value)

    def _of_object(self, value: Any) -> Iterator[str]:
        if isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, types.CodeType):
            yield from self._code(value)
        elif isinstance(value, type):
            yield from self._class(value)
        elif type(value) in (set, frozenset):
            yield from self._unordered(type(value).__qualname__, value)
        elif isinstance(value, re.Pattern):
            yield f"pattern {value.pattern!r} {value.flags}"
        elif isinstance(value, types.BuiltinFunctionType):
            yield f"built in {value.__module__} {value.__qualname__}"
        else:
            inner = _inner(value)
            if inner is None:
                yield from self._instance(value)
            else:
                yield from self._each(type(value).__qualname__, inner)

    def _each(self, kind: str, values: Iterable[Any]) -> Iterator[str]:
        every = list(values)
        yield f"{kind} {len(every)}"
        for each in every:
            yield from self.of(each)

    def _unordered(self, kind: str, values: Iterable[Any]) -> Iterator[str]:
        every = list(values)
        if not all(each is None or isinstance(each, _PLAIN) for each in every):
            raise UnknownPartError
        yield f"{kind} {len(every)}"
        yield from sorted(part for each in every for part in self.of(each))

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        code = function.__code__
        if not self._is_users(code.co_filename):
            yield f"function {function.__module__} {function.__qualname__}"
            yield from self._each("closure", self._cells(function))
            return
        yield from self._code(code)
        yield from self._each("defaults", (function.__defaults__, function.__kwdefaults__))
        yield from self._each("closure", self._cells(function))
        names = _names(code)
        if not names.isdisjoint(_DYNAMIC):
            raise UnknownPartError
        for name in sorted(names & function.__globals__.keys()):
            yield f"global {name}"
            yield from self._global(function.__globals__[name], names)
        for name in sorted(_imported(code)):
            yield from self._imported_module(name)

    def _cells(self, function: types.FunctionType) -> list[Any]:
        try:
            return [each.cell_contents for each in function.__closure__ or ()]
        except ValueError:
            raise UnknownPartError from None

    def _code(self, code: types.CodeType) -> Iterator[str]:
        yield f"code {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
        yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
        yield from self._each("constants", code.co_consts)

    def _global(self, value: Any, names: frozenset[str]) -> Iterator[str]:
        if not isinstance(value, types.ModuleType):
            yield from self.of(value)
            return
        yield f"module {value.__name__}"
        if self._is_users(getattr(value, "__file__", None) or ""):
            for name in sorted(names & vars(value).keys()):
                yield f"of module {name}"
                yield from self._global(vars(value)[name], names)

    def _imported_module(self, name: str) -> Iterator[str]:
        """Yield a module that the function imports itself; those of the user must be known."""
        yield f"imports {name}"
        first = name.partition(".")[0]
        if first in sys.stdlib_module_names:
            return
        found = sys.modules.get(first)
        if found is None or self._is_users(getattr(found, "__file__", None) or ""):
            raise UnknownPartError

    def _class(self, class_: type) -> Iterator[str]:
        module = sys.modules.get(class_.__module__)
        is_own = class_.__module__ == "__main__" or self._is_users(getattr(module, "__file__", None) or "")
        yield f"class {class_.__module__} {class_.__qualname__}"
        if is_own:
            own = {name: each for name, each in vars(class_).items() if name not in _OWN}
            yield from self._each("bases", class_.__bases__)
            yield from self._each("class", [part for name in sorted(own) for part in (name, own[name])])

    def _instance(self, value: Any) -> Iterator[str]:
        """Yield the parts of an object: one of a class of the user, or a type of Spark."""
        if type(value).__module__ == "pyspark.sql.types" and hasattr(value, "json"):
            yield f"type {value.json()}"
            return
        module = sys.modules.get(type(value).__module__)
        is_own = type(value).__module__ == "__main__" or self._is_users(getattr(module, "__file__", None) or "")
        if not is_own or not hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            raise UnknownPartError
        yield from self._each("object", (type(value), dict(sorted(vars(value).items()))))


def _inner(value: Any) -> Iterable[Any] | None:
    """Return the parts of a collection, or of what is around a function; None for any other object."""
    if type(value) in (tuple, list):
        found: Iterable[Any] = value
    elif type(value) is dict:
        found = [part for pair in value.items() for part in pair]
    elif isinstance(value, types.MethodType):
        found = (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        found = (value.func, value.args, value.keywords)
    elif isinstance(value, property):
        found = (value.fget, value.fset)
    else:
        return (value.__func__,) if isinstance(value, (staticmethod, classmethod)) else None
    return found


def _names(code: types.CodeType) -> frozenset[str]:
    """Return the names that some code, and the code inside it, refers to."""
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _imported(code: types.CodeType) -> frozenset[str]:
    """Return the modules that some code imports when it runs."""
    own = {str(each.argval) for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"}
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(own).union(*map(_imported, inner))
