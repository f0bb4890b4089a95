"""
Calls of Python's and pandas' functions that refuse stand-ins, because they take only real texts, numbers or tables.

Methods of classes in C, such as those of compiled patterns, can't be replaced. So the user's code is compiled with
other calls of them, by their names: with an unknown argument, these return a stand-in, or what it is assumed to be.
"""

from __future__ import annotations

import ast
import builtins
import datetime
import decimal
import re
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.sandbox.texts import is_unknown_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_CALL = "_openlineage_call"
_OF_PATTERNS = frozenset({"match", "search", "fullmatch", "findall", "finditer", "split"})
_REPLACING = "sub"
_TIMES = frozenset({"strptime", "fromisoformat"})
_NUMBERS = frozenset({"Decimal", "timedelta"})
_OF_PANDAS = frozenset("DataFrame Series Timestamp concat json_normalize merge to_datetime to_numeric".split())
_JOIN = "join"
_NAMES = _OF_PATTERNS | _TIMES | _NUMBERS | _OF_PANDAS | {_REPLACING, _JOIN}
_SOME_TIME = datetime.datetime(2000, 1, 1)


def mark_calls_with_unknown(tree: ast.AST) -> None:
    """Replace calls of functions with these names by others, whose first argument is the function."""
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.Call) and _name_of(node.func) in _NAMES:
            node.args.insert(0, node.func)
            node.func = ast.copy_location(ast.Name(_CALL, ast.Load()), node)


def install_calls_with_unknown(stage: Stage) -> None:
    """Define the function of these other calls, for the rest of the process."""
    setattr(builtins, _CALL, caller(stage))


def caller(stage: Stage) -> Callable[..., Any]:
    """
    Return the function of these other calls.

    Args:
        stage: learns whether a date comes from a text of a row, and records what is made from unknown tables.
    """

    def call(function: Any, /, *given: Any, **named: Any) -> Any:
        name = getattr(function, "__name__", "")
        values = (*given, *named.values())
        if name == _JOIN and isinstance(getattr(function, "__self__", None), str):
            return function(*map(_joined, given))
        if _is_of_patterns(function):
            return _found(function, given, named)
        if name in _TIMES and not isinstance(function, StandIn) and any(map(is_unknown_text, values)):
            stage.gave_dates = True
            return _time(function, given, named)
        if function in (decimal.Decimal, datetime.timedelta):
            return function(*map(_number, given), **{key: _number(value) for key, value in named.items()})
        stand_in = _stand_in_for_table(function, values)
        if stand_in is not None:
            stage.problem("STAND_IN", f"{name} of pandas gets {stand_in}, which is unknown: so is what it returns")
            return StandIn(f"pandas.{name}({_plain(stand_in)})")
        return function(*given, **named)

    return call


def _name_of(function: ast.expr) -> str:
    """Return the last name of what is called; empty if it has none."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _plain(value: object) -> str:
    """Return the text of an unknown value without its braces."""
    return str(value)[1:-1]


def _joined(items: Any) -> Any:
    """Return the items that `join` gets as texts, if some of them are stand-ins."""
    if isinstance(items, str | StandIn):
        return items
    found = list(items)
    return [str(each) if isinstance(each, StandIn) else each for each in found]


def _is_of_patterns(function: Any) -> bool:
    """Return whether a function is one of `re`, or a method of a compiled pattern."""
    name = getattr(function, "__name__", "")
    is_method = isinstance(getattr(function, "__self__", None), re.Pattern)
    return name in (*_OF_PATTERNS, _REPLACING) and (is_method or function is vars(re).get(name))


def _found(find: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return what a pattern finds in a text; in one that is unknown, it is assumed to find something."""
    at = int(find.__name__ == _REPLACING) + int(find is vars(re).get(find.__name__))
    text = given[at] if at < len(given) else named.get("string")
    # A plain text may be one of the script, such as a template.
    found = find(*given, **named) if type(text) is str or not is_unknown_text(text) else None
    if found or not is_unknown_text(text):
        return found
    return text if find.__name__ == _REPLACING else StandIn(f"{find.__name__}({_plain(text)})")


def _number(value: Any) -> Any:
    """Return a number instead of a value that is unknown; any other value as it is."""
    return 1 if is_unknown_text(value) else value


def _time(read: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return what a reader of dates and times makes of a text that is unknown: some day."""
    if read.__name__ == "strptime":
        return read(*map(_text, given), **{key: _text(value) for key, value in named.items()})
    owner = getattr(read, "__self__", None)
    if owner is datetime.time:
        return datetime.time()
    is_time = isinstance(owner, type) and issubclass(owner, datetime.datetime)
    return _SOME_TIME if is_time else _SOME_TIME.date()


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, StandIn) else value


def _stand_in_for_table(function: Any, given: tuple[Any, ...]) -> StandIn | None:
    """Return the stand-in that a function of pandas, or a method of its tables, gets; None if it gets none."""
    pandas: Any = sys.modules.get("pandas")
    name = getattr(function, "__name__", "")
    if pandas is None or name not in _OF_PANDAS:
        return None
    is_method = isinstance(getattr(function, "__self__", None), pandas.DataFrame | pandas.Series)
    if not is_method and vars(pandas).get(name) is not function:
        return None
    inner = [
        value
        for each in given
        for value in (
            each.values() if isinstance(each, dict) and name == "DataFrame" else each if name == "concat" else ()
        )
    ]
    return next((each for each in (*given, *inner) if isinstance(each, StandIn)), None)
