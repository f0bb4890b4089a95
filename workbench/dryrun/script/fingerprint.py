"""
What decides about the results of a Python function that Spark calls, as a text: its code, and all that it refers to.

The text does not depend on the file, the lines, the layout and the comments of the function. It is the same in two
processes if they have the same version of Python.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import dis
import functools
import hashlib
import importlib.machinery
import linecache
import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# A class of the user that extends one of these may do anything else.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, datetime.date, datetime.datetime, datetime.time,
                    datetime.timedelta, decimal.Decimal})  # fmt: skip
_OF_TIME = frozenset({"datetime", "zoneinfo"})
"""The modules of time zones that describe themselves."""
_MOST_PARTS = 10_000
_DYNAMIC = frozenset(
    """getattr setattr delattr globals locals vars eval exec __import__ import_module importlib attrgetter methodcaller
    __annotations__ __dict__ __globals__ __closure__ builtins __builtins__ get_type_hints inspect modules""".split()
)
"""Functions by which code refers to what its own names do not show."""
_OPENING = frozenset(
    """open load loadtxt genfromtxt fromfile connect SparkFiles Path getLines input get_data read_csv read_json
    read_parquet read_table read_excel read_text read_bytes read_pickle read_feather read_sql read_xml urlopen
    requests urllib subprocess getline getlines ConfigParser RawConfigParser run_path run_module fileinput memmap mmap
    ZipFile listdir scandir walk glob iglob iterdir exists isfile isdir is_file is_dir stat getsize shelve popen system
    load_workbook from_file from_pretrained load_model""".split()
)
"""Words of code that reads files or asks other machines where it runs: its own names do not show the values."""
_READING = re.compile(r"read_\w+")
"""The names of functions that read files, such as those of pandas."""
_OF_XML = ("xml", "lxml")
"""Packages whose function `parse` reads a file."""
_BY_MEMBERS = frozenset({"abc", "typing"})
"""The modules of base classes by which an object holds no more than its attributes."""
_THIS = __name__.partition(".")[0]
_OWN = frozenset(
    {"_abc_impl", "__dict__", "__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__"}
)
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
        if value is None or value is Ellipsis or type(value) in _PLAIN:
            if type(getattr(value, "tzinfo", None) or datetime.timezone.utc).__module__ not in _OF_TIME:
                raise UnknownPartError
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
            if not isinstance(value.__self__, types.ModuleType | None):
                # It is a method, such as `NAMES.get`.
                yield from self.of(value.__self__)
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
        if not all(each is None or type(each) in _PLAIN for each in every):
            raise UnknownPartError
        yield f"{kind} {len(every)}"
        yield from sorted(part for each in every for part in self.of(each))

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        code = function.__code__
        if str(function.__module__).partition(".")[0] == _THIS:
            # It stands for something that a dry run does not have, such as a function of Java.
            raise UnknownPartError
        is_made = code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen ")
        if not (self._is_users(code.co_filename) or is_made):
            yield f"function {function.__module__} {function.__qualname__}"
            yield from self._each("defaults", (function.__defaults__, function.__kwdefaults__))
            yield from self._each("closure", self._cells(function))
            return
        yield from self._code(code)
        yield from self._each("defaults", (function.__defaults__, function.__kwdefaults__))
        yield from self._each("closure", self._cells(function))
        yield from self._each("attributes", [part for pair in sorted(function.__dict__.items()) for part in pair])
        file, module = str(function.__globals__.get("__file__") or ""), str(function.__module__)
        yield from self._written(file, module, function.__qualname__)
        names = _names(code)
        if not names.isdisjoint(_DYNAMIC | _OPENING) or any(map(_READING.fullmatch, names)):
            raise UnknownPartError
        for name in sorted(names & function.__globals__.keys()):
            yield f"global {name}"
            yield from self._global(function.__globals__[name], names)
            yield from self._written(file, module, name)
        for name in sorted(_imported(code)):
            yield from self._imported_module(name)

    def _written(self, file: str, module: str, name: str) -> Iterator[str]:
        """
        Yield what a module of the user writes about a name.

        A worker imports the modules of the user itself, so what a script has changed in them does not count.
        """
        if module != "__main__" and self._is_users(file):
            yield from _sliced(file, name.partition(".")[0], self._is_users)

    def _cells(self, function: types.FunctionType) -> list[Any]:
        try:
            return [each.cell_contents for each in function.__closure__ or ()]
        except ValueError:
            raise UnknownPartError from None

    def _code(self, code: types.CodeType) -> Iterator[str]:
        yield f"code {code.co_name} {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
        yield getattr(code, "co_exceptiontable", b"").hex()
        yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
        yield from self._each("constants", code.co_consts)

    def _global(self, value: Any, names: frozenset[str]) -> Iterator[str]:
        if not isinstance(value, types.ModuleType):
            yield from self.of(value)
            return
        if "parse" in names and value.__name__.startswith(_OF_XML):
            raise UnknownPartError
        yield f"module {value.__name__}"
        if self._is_of_user(value):
            for name in sorted((names | {"__getattr__"}) & vars(value).keys()):
                yield f"of module {name}"
                yield from self._global(vars(value)[name], names)
                yield from self._written(getattr(value, "__file__", None) or "", value.__name__, name)

    def _is_of_user(self, module: types.ModuleType) -> bool:
        """Return whether a module, or a folder of modules that has no file of its own, is the user's."""
        file = getattr(module, "__file__", None)
        folders = [] if file else list(getattr(module, "__path__", ()))
        return any(map(self._is_users, [file or "", *(f"{each}/__init__.py" for each in folders)]))

    def _imported_module(self, name: str) -> Iterator[str]:
        """Yield a module that the function imports itself; those of the user must be known."""
        yield f"imports {name}"
        first = name.partition(".")[0]
        there = importlib.machinery.PathFinder.find_spec(first) if first else None
        if first in sys.stdlib_module_names and not (there is not None and self._is_users(there.origin or "")):
            return
        found = sys.modules.get(first)
        if found is None or self._is_of_user(found):
            raise UnknownPartError

    def _class(self, class_: type) -> Iterator[str]:
        is_own = self._is_own(class_)
        yield f"class {class_.__module__} {class_.__qualname__}"
        if type(class_) is not type:
            yield from self.of(type(class_))
        if is_own:
            own = {name: each for name, each in vars(class_).items() if name not in _OWN}
            yield from self._each("bases", class_.__bases__)
            yield from self._each("class", [part for name in sorted(own) for part in (name, own[name])])
            file = str(getattr(sys.modules.get(class_.__module__), "__file__", None) or "")
            yield from self._written(file, class_.__module__, class_.__qualname__)

    def _is_own(self, class_: type) -> bool:
        """Return whether a class is of the user."""
        module = sys.modules.get(class_.__module__)
        return class_.__module__ == "__main__" or self._is_users(getattr(module, "__file__", None) or "")

    def _instance(self, value: Any) -> Iterator[str]:
        """Yield the parts of an object: one of a class of the user, or a type of Spark."""
        if type(value).__module__ == "pyspark.sql.types" and hasattr(value, "json"):
            yield f"type {value.json()}"
            return
        bases = type(value).__mro__[:-1]
        is_open = all(self._is_own(each) or each.__module__ in _BY_MEMBERS for each in bases)
        if not is_open or not hasattr(value, "__dict__") or any(vars(each).get("__slots__") for each in bases):
            # It may hold more than its attributes, as does a dictionary.
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
    elif type(value) is functools.partial:
        found = (value.func, value.args, value.keywords)
    elif type(value) is property:
        found = (value.fget, value.fset)
    else:
        return (value.__func__,) if isinstance(value, (staticmethod, classmethod)) else None
    return found


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_EVERY = "*"
"""Any name, as in `from rules import *`."""


class _Statement:
    """
    A statement of a module.

    Args:
        node: its tree.
        file: the file of its module.
    """

    def __init__(self, node: ast.stmt, file: str) -> None:
        self.text = ast.dump(node)
        nodes = list(ast.walk(node))
        named = {each.id for each in nodes if isinstance(each, ast.Name)}
        aliases = [each for each in nodes if isinstance(each, ast.alias)]
        self.uses = named | {each.asname or each.name.partition(".")[0] for each in aliases}
        self._about = {node.name} if isinstance(node, _DEFINITIONS) else self.uses
        self.imports = [place for each in nodes for place in _imports(each, file)]

    def is_about(self, name: str) -> bool:
        """Return whether it may decide about the value of a name: a definition does if it is that of the name."""
        return name == _EVERY or not self._about.isdisjoint({name, _EVERY})


def _sliced(file: str, name: str, is_users: Callable[[str], bool]) -> list[str]:
    """
    Return the statements of modules that may decide about the value of a name, also through other names.

    Args:
        file: the file of the module.
        name: the name.
        is_users: returns whether a file is one of the user's.
    """
    left, seen, found = [(file, name)], set[tuple[str, str]](), set[str]()
    while left:
        place = left.pop()
        if place in seen or not is_users(place[0]):
            continue
        seen.add(place)
        for each in _statements_of(place[0]):
            if each.is_about(place[1]):
                found.add(each.text)
                left += [(place[0], used) for used in each.uses]
                left += [
                    (other, place[1] if wanted == _EVERY and bound else wanted) for other, wanted, bound in each.imports
                ]
    return sorted(found)


def _imports(node: ast.AST, file: str) -> Iterator[tuple[str, str, bool]]:
    """Yield what a statement imports: the file of a module, a name in it, and whether the name is any."""
    if isinstance(node, ast.Import):
        for each in node.names:
            parts = each.name.split(".")
            for end in range(1, len(parts) + 1):
                yield from ((found, _EVERY, False) for found in _files_of(".".join(parts[:end])))
    elif isinstance(node, ast.ImportFrom):
        above = Path(file).parents[node.level - 1] if node.level else None
        for each in node.names:
            is_any = each.name == _EVERY
            yield from ((found, each.name, is_any) for found in _files_of(node.module or "", above))
            inner = ".".join(filter(None, (node.module, each.name)))
            yield from ((found, _EVERY, False) for found in _files_of(inner, above) if not is_any)


def _files_of(module: str, above: Path | None = None) -> list[str]:
    """Return the file of a module, as a list; with a folder, the module is below it."""
    if above is None:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file or module in sys.modules:
            return [file] if file else []
        # A function that has not run here may import it.
        first, _, module = module.partition(".")
        spec = importlib.machinery.PathFinder.find_spec(first) if first else None
        folders = list((spec and spec.submodule_search_locations) or ())
        if not module or not folders:
            return [spec.origin] if spec is not None and spec.origin else []
        above = Path(folders[0])
    path = above.joinpath(*filter(None, module.split(".")))
    return [str(each) for each in (path.with_name(f"{path.name}.py"), path / "__init__.py") if each.is_file()]


@functools.lru_cache
def _statements_of(file: str) -> list[_Statement]:
    """Return the statements of a module; none if its text is not at hand."""
    try:
        return [_Statement(each, file) for each in ast.parse("".join(linecache.getlines(file))).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _names(code: types.CodeType) -> frozenset[str]:
    """Return the names that some code, and the code inside it, refers to."""
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _imported(code: types.CodeType) -> frozenset[str]:
    """Return the modules that some code imports when it runs; the name of a relative one is empty."""
    every = [each for each in dis.get_instructions(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
    # The level and the names are on the stack.
    own = {str(each.argval) if every[at - 2].argval == 0 else "" for at, each in enumerate(every) if _imports_now(each)}
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(own).union(*map(_imported, inner))


def _imports_now(instruction: dis.Instruction) -> bool:
    return instruction.opname == "IMPORT_NAME"
