"""
Stand-ins for modules that contact other systems, and for modules that are not installed here.

Each attribute and each call of a stand-in returns another stand-in: nothing is sent, and each module is recorded once.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import importlib.abc
import importlib.machinery
import inspect
import linecache
import os
import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator, Iterator, Sequence

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

CLIENTS = frozenset(
    """
    aiobotocore aiohttp airflow azure boto boto3 botocore cassandra clickhouse_connect clickhouse_driver confluent_kafka
    cx_Oracle databricks dbutils elasticsearch fabric ftplib gcsfs google great_expectations hdfs hvac httpx influxdb
    kafka mlflow MySQLdb mysql oracledb paramiko pika prometheus_client psycopg psycopg2 pyathena pyhive pymongo pymssql
    pymysql pyodbc pysftp redis redshift_connector requests s3fs sentry_sdk slack slack_sdk smtplib snowflake sqlalchemy
    statsd telegram trino twilio watchtower
    """.split()
)
"""The top-level names of modules that contact other systems."""
_WRITERS = frozenset({"write", "writeStream", "writeTo"})
"""The attributes by which DataFrames are written."""
_MOST_SHOWN = 40
_QUOTES = re.compile(r"[\"'`{}]")


class StandIn:
    """
    An object that accepts every use and returns further stand-ins.

    Each decision that the script bases on one is reported, because a real run may decide otherwise.

    Args:
        name: the name of the object that it represents.
    """

    stage: ClassVar[Stage | None] = None
    """Where decisions are reported; None for nowhere."""
    yields_to: ClassVar[tuple[type, ...]] = ()
    """The classes whose operators apply to a stand-in, such as Spark's columns."""

    def __init__(self, name: str = "") -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in _WRITERS:
            self._report_write(name, sys._getframe(1))
        return _error_class(name) or StandIn(f"{self._name}.{name}")

    def _report_write(self, name: str, frame: types.FrameType) -> None:
        """Report that a write is left out; a `write` that is called at once is none of a DataFrame."""
        is_users = self.stage is not None and self.stage.is_users(frame.f_code.co_filename)
        if self.stage is not None and is_users and (name == "writeTo" or taken_next(frame)):
            message = f"what {self._name} returns is unknown, so what this line writes is left out"
            self.stage.problem("NOT_DONE", message)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Return a stand-in for the result. If the call may decorate a function or a class, these still work."""
        if len(given) == 1 and not named and isinstance(given[0], types.FunctionType | Decorated):
            return Decorated(self._name, given[0])
        if len(given) == 1 and not named and isinstance(given[0], type):
            return _with_fields(given[0])
        return StandIn(f"{self._name}()")

    def __getitem__(self, key: object) -> Any:
        # Without quotes, so that a statement of SQL can contain it as a text.
        return StandIn(f"{self._name}[{_QUOTES.sub('', str(key))}]")

    def __setattr__(self, name: str, value: Any) -> None:
        return

    def __setitem__(self, key: object, value: Any) -> None:
        return

    def __delattr__(self, name: str) -> None:
        return

    def __delitem__(self, key: object) -> None:
        return

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, StandIn)

    def __next__(self) -> Any:
        return StandIn(f"next({self._name})")

    def __await__(self) -> Generator[Any, None, Any]:
        yield from ()
        return self

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        raise StopAsyncIteration

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    def __iter__(self) -> Iterator[Any]:
        # `key, name = client.login()` gets as many values as there are names; a loop gets none.
        taken = taken_apart(sys._getframe(1))
        if not taken and self._is_otherwise("empty"):
            taken = 1
        return iter([StandIn(f"{self._name}[{at}]") for at in range(taken)])

    def __len__(self) -> int:
        return int(self._is_otherwise("empty"))

    def __bool__(self) -> bool:
        return not self._is_otherwise("true")

    def __contains__(self, item: object) -> bool:
        return self._is_otherwise(f"without {_shown(item)}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, self.yields_to):
            return NotImplemented
        if self is other or not self._is_asked():
            return self is other
        if _is_nothing(other):
            return self._is_otherwise(f"other than {_shown(other)}")
        return not self._is_otherwise(_shown(other))

    def __hash__(self) -> int:
        return id(self)

    def _is_asked(self) -> bool:
        """Return whether the user's code, and not a library, calls the special method that calls this one."""
        return self.stage is not None and self.stage.is_users(sys._getframe(2).f_code.co_filename)

    def _is_otherwise(self, taken: str) -> bool:
        """
        Report a decision of the user's code; return whether to decide the other way this time.

        Args:
            taken: the assumed answer, for the message.
        """
        if self.stage is None or not self.stage.is_users(sys._getframe(2).f_code.co_filename):
            return False
        return self.stage.decides(str(self), taken)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __str__(self) -> str:
        return f"{{{self._name}}}"

    def __repr__(self) -> str:
        return f"{{{self._name}}}"

    def __format__(self, _: str) -> str:
        return str(self)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        # Of several absent classes, only the first has a base, because a class can't have a base twice.
        return (AbsentClass,) if next(each for each in bases if isinstance(each, StandIn)) is self else ()

    def __fspath__(self) -> str:
        return str(self)

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __round__(self, *_: object) -> Any:
        return self

    __abs__ = __neg__ = __pos__ = __round__

    def __invert__(self) -> Any:
        return self

    def __add__(self, other: object) -> Any:
        return f"{self}{other}" if isinstance(other, str) else _operated(self, other)

    def __radd__(self, other: object) -> Any:
        return f"{other}{self}" if isinstance(other, str) else self


def _operated(self: StandIn, other: object) -> Any:
    return NotImplemented if isinstance(other, self.yields_to) else self


def _compared(otherwise: str) -> Callable[[StandIn, object], Any]:
    def compare(self: StandIn, other: object) -> Any:
        if isinstance(other, self.yields_to):
            return NotImplemented
        return self._is_otherwise(f"{otherwise} {_shown(other)}")

    return compare


for _name, _otherwise in (("lt", "at least"), ("gt", "at most"), ("le", "above"), ("ge", "below")):
    setattr(StandIn, f"__{_name}__", _compared(_otherwise))
# With types such as `Client | None`, conditions, and the order of tasks.
for _name in "sub mul truediv floordiv mod pow or and xor rshift lshift".split():
    setattr(StandIn, f"__{_name}__", _operated)
    setattr(StandIn, f"__r{_name}__", _operated)


class NoRows(list[Any]):
    """
    The rows of an RDD: there are none, but a script that takes the first one gets a stand-in.

    That a loop over them does not run is a decision, and so is their number.
    """

    def __getitem__(self, at: Any) -> Any:
        return NoRows() if isinstance(at, slice) else StandIn(f"row[{at}]")

    def __iter__(self) -> Iterator[Any]:
        return iter([StandIn("row")] if StandIn("rows of an RDD")._is_otherwise("empty") else [])

    def __len__(self) -> int:
        return int(StandIn("rows of an RDD")._is_otherwise("empty"))


class NoPairs(dict[Any, Any]):
    """The rows of an RDD as keys with values: there are none, as in `NoRows`."""

    def __iter__(self) -> Iterator[Any]:
        return iter([StandIn("key")] if StandIn("rows of an RDD")._is_otherwise("empty") else [])

    def __len__(self) -> int:
        return int(StandIn("rows of an RDD")._is_otherwise("empty"))

    def items(self) -> Any:
        """Return the pairs, of which there are none."""
        return NoRows()

    keys = values = items


class AbsentClass:
    """
    The base of a class of the script whose own base class is not here.

    It takes any arguments; named ones become attributes. Other attributes are stand-ins.
    """

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()

    def __init__(self, *_: Any, **named: Any) -> None:
        vars(self).update(named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{type(self).__name__}.{name}")


def _error_class(name: str) -> type | None:
    """Return an exception class if a name is that of one, because a script can only catch classes; otherwise None."""
    return (
        type(name, (Exception,), {})
        if name[:1].isupper() and name.endswith(("Error", "Exception", "Warning"))
        else None
    )


def _with_fields(decorated: type) -> type:
    """Return a class that an absent decorator would change: its constructor takes the attributes that it declares."""
    if "__init__" in vars(decorated) or not vars(decorated).get("__annotations__"):
        return decorated
    try:
        return dataclasses.dataclass(decorated)
    except (TypeError, ValueError):
        # Its defaults are not those of a plain dataclass.
        return decorated


def _is_nothing(value: object) -> bool:
    """Return whether a script compares with a value to ask whether there is one; 0 is not such, it may be a status."""
    return value is None or value is False or (isinstance(value, str | list | tuple | dict) and not value)


def _shown(value: object) -> str:
    """Return a value for a message: only a short constant is shown."""
    text = repr(value) if isinstance(value, StandIn | str | int | float | None) else ""
    return text if 0 < len(text) <= _MOST_SHOWN else "a certain value"


def taken_apart(frame: types.FrameType) -> int:
    """Return into how many names the current instruction unpacks a value; 0 if it does not unpack."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if dis.opname[code[at]] == "EXTENDED_ARG":
        # Python 3.10 reports the prefix of an instruction as the current one.
        at += 2
    name, argument = dis.opname[code[at]], code[at + 1]
    if name == "UNPACK_EX" and at >= 2 and dis.opname[code[at - 2]] == "EXTENDED_ARG":
        # Add the number of names after the one with the asterisk.
        argument += code[at - 1]
    return argument if name in ("UNPACK_SEQUENCE", "UNPACK_EX") else 0


def taken_next(frame: types.FrameType) -> str:
    """Return the attribute that the next instruction of a frame takes of the value that it gets; empty if none."""
    for each in dis.get_instructions(frame.f_code):
        if each.offset > frame.f_lasti and each.opname not in ("CACHE", "EXTENDED_ARG"):
            return str(each.argval) if each.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
    return ""


class Decorated(StandIn):
    """
    A function of a script that was passed to a stand-in: a call still runs it.

    Args:
        name: the name of the object that the stand-in represents.
        function: the function.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        inner = function.__dict__["__wrapped__"] if isinstance(function, Decorated) else function
        self.__dict__.update(__wrapped__=inner, __name__=inner.__name__, __doc__=inner.__doc__)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function; an argument that only the decorator would supply is the parameter's name in braces."""
        function = self.__dict__["__wrapped__"]
        missing = _missing(function, len(given), named)
        return function(*given, **{**{name: f"{{{name}}}" for name in missing}, **named})

    def __get__(self, owner: Any, _: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)


def _missing(function: Callable[..., Any], given: int, named: Container[str]) -> list[str]:
    """Return the parameters that a call of a function lacks."""
    every = inspect.signature(function).parameters.values()
    by_place = [each.name for each in every if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return [
        each.name
        for each in every
        if each.default is inspect.Parameter.empty
        and each.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        and each.name not in by_place[:given]
        and each.name not in named
    ]


def _importer() -> str:
    """Return the file of the code whose import a finder handles; empty if there is none."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and file != __file__ and "importlib" not in file:
            return file
        frame = frame.f_back
    return ""


def _is_module(path: Path) -> bool:
    """Return whether a path without an ending is that of a module, or of a folder of modules."""
    return path.with_name(f"{path.name}.py").is_file() or path.is_dir()


class _StandInModule(types.ModuleType):
    """A module of stand-ins."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__version__":
            raise AttributeError(name)
        return _error_class(name) or StandIn(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """
    Finds stand-ins for modules.

    A finder before all others finds those of modules that contact other systems, and one after them those of absent
    modules.

    Args:
        stage: records each module that is replaced.
        allowed: the modules that are loaded and not replaced.
        guarded: the modules whose absence the script itself handles.
    """

    def __init__(self, stage: Stage, allowed: Sequence[str], guarded: frozenset[str]) -> None:
        self._stage = stage
        self._allowed = frozenset(allowed)
        self._guarded = guarded
        self._is_last = False

    def install(self) -> None:
        """Install one finder before and one after the other finders."""
        for name in list(sys.modules):
            # Packages that have already imported such a module keep it.
            if (first := name.partition(".")[0]) in CLIENTS and first not in self._allowed:
                del sys.modules[name]
        sys.meta_path.insert(0, self)
        StandIn.stage = self._stage
        last = Finder(self._stage, tuple(self._allowed), self._guarded)
        last._is_last = True
        sys.meta_path.append(last)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module's stand-in; None if the real module is to be loaded."""
        first = fullname.partition(".")[0]
        importer = _importer()
        if first in self._allowed or not self._stage.is_users(importer):
            return None
        is_below = isinstance(sys.modules.get(first), _StandInModule)
        if not is_below:
            if self._is_last == (first in CLIENTS) or (self._is_last and first in self._guarded):
                return None
            if self._is_last and (path is not None or first in sys.stdlib_module_names):
                return None
            found = self._above(fullname, importer) if self._is_last else None
            if found is not None:
                return found
            why = "is not installed" if self._is_last else f"contacts other systems (--allow {first} loads it)"
            self._stage.problem("STAND_IN", f"the module {first} {why}: what it returns is unknown")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def _above(self, name: str, importer: str) -> importlib.machinery.ModuleSpec | None:
        """
        Return the spec of a module in a folder above that of the script; None if there is none.

        Projects often put such a folder on Python's path in the settings of their jobs. A folder that only has the name
        of a library, such as one with settings for it, does not count.
        """
        folder, begins = Path(self._stage.request.path).parent, Path(self._stage.request.begins)
        for each in folder.parents if folder.is_relative_to(begins) else ():
            if not each.is_relative_to(begins):
                break
            inside = each / name
            if (
                (each / f"{name}.py").is_file()
                or (inside / "__init__.py").is_file()
                or any(_is_module(inside / part) for part in self._parts_of(name, importer) if inside.is_dir())
            ):
                sys.path.append(str(each))
                where = os.path.relpath(each, begins)
                self._stage.problem(
                    "STAND_IN",
                    f"the module {name} is taken from the folder {where}, above that of the script: a real run finds it"
                    f" if that folder is on Python's path (--py-files {where})",
                )
                return importlib.machinery.PathFinder.find_spec(name, [str(each)])
        return None

    def _parts_of(self, name: str, importer: str) -> list[str]:
        """Return the parts of a module that a file of the user imports."""
        request = self._stage.request
        text = request.source if importer == request.path else "".join(linecache.getlines(importer))
        found = re.findall(rf"\b(?:from|import)\s+{re.escape(name)}\.(\w+)", text)
        for each in re.findall(rf"\bfrom\s+{re.escape(name)}\s+import\s+(\([^)]*\)|[^\n]*)", text):
            found += re.findall(r"\w+", each)
        return found

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a module of stand-ins."""
        return _StandInModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


def module_of(name: str, **members: Any) -> types.ModuleType:
    """Return a module with the given members."""
    module = types.ModuleType(name)
    vars(module).update(members)
    return module


def guarded_imports(source: str) -> frozenset[str]:
    """Return the modules that a script imports within a `try`: it handles their absence itself."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return frozenset()
    found: set[str] = set()
    for block in (node for node in ast.walk(tree) if isinstance(node, ast.Try)):
        for node in (inner for statement in block.body for inner in ast.walk(statement)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return frozenset(found)
