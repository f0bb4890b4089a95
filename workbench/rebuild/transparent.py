"""
Find out whether the plans of a script's dry run show everything that decides about the tables that it writes.

A dry run executes the script's own Python, so a plan has whatever this has computed: names, literals, the order of
operators. It does not have what data decide, what Python does with rows, and what differs in each run. A script with
any of these is compared as a whole. For any other script, each write is compared by its plan.
"""

from __future__ import annotations

import ast
import hashlib
import json
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.rebuild.unrun import TELLING, called_name, has_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

_ONLY_TEXT = "STAND_IN"
# Values that differ in each run, or that a dry run gives without a note; code that no file shows; several threads.
_HIDING = frozenset(
    """random secrets uuid urandom getpid gethostname getuser applicationId uiWebUrl defaultParallelism exists
    isfile isdir is_file is_dir lexists access is_symlink getsize getmtime getctime stat getNumPartitions
    lastProgress recentProgress exec eval __import__ importlib runpy settrace setprofile threading concurrent
    multiprocessing asyncio _gateway _jvm _jsparkSession _jsc _jdf pipelines foreachBatch forEachBatch""".split()
)
# Functions that take a name as a text.
_BY_TEXT = frozenset({"attrgetter", "getattr", "methodcaller"})
# Functions that give the values of all names: a name that one of them shows may be used anywhere.
_ALL_NAMES = frozenset({"globals", "locals", "vars"})
# What gives a script values from outside: another run may have others.
_OUTSIDE = frozenset(
    """argv argparse ArgumentParser parse_args environ getenv widgets dbutils input getpass click typer fire docopt
    hydra absl getResolvedOptions open load safe_load loads read_text configparser tomllib yaml now today utcnow
    localtime gmtime conf _take_parameters""".split()
)
# Words of code that reads or writes tables.
_OF_SPARK = frozenset(
    """spark sql table read readStream write writeTo writeStream save saveAsTable insertInto toTable start sparkContext
    createDataFrame createOrReplaceTempView createTempView createOrReplaceGlobalTempView SparkSession""".split()
)
_SHOWING = TELLING | {"display", "show", "printSchema"}
_ACTIONS = frozenset("collect count first foreach head isEmpty show take tail toPandas".split())
# What a function that only shows a text may call.
_PLAIN = _SHOWING | frozenset(
    """format len int float str repr round sum min max sorted join strip upper lower replace partition monotonic time
    perf_counter isoformat strftime now getLogger""".split()
)
_UNSEEN = (ast.Pass, ast.Global, ast.Nonlocal)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.frozen
class UserCode:
    """
    The code of a script and of its own modules.

    Args:
        files: each file with its tree.
        executed: each file with the lines that ran in the dry run, from 1.
    """

    files: Mapping[str, ast.Module]
    executed: Mapping[str, Collection[int]]
    words: frozenset[str] = attrs.field(init=False)
    """All names in the code."""

    @words.default
    def _words_of_files(self) -> frozenset[str]:
        return frozenset(word for tree in self.files.values() for word in _words(tree))

    def functions(self) -> dict[str, list[Function]]:
        """Return the functions and methods by their names."""
        found: dict[str, list[Function]] = {}
        for tree in self.files.values():
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    found.setdefault(node.name, []).append(node)
        return found


def user_code(texts: Mapping[str, str], executed: Mapping[str, Collection[int]]) -> UserCode | None:
    """
    Return the code of a script and of its modules; None if a file can't be parsed, or has not run at all.

    Args:
        texts: each file with its text.
        executed: each file with the lines that ran in the dry run, from 1.
    """
    try:
        files = {name: ast.parse(text) for name, text in texts.items()}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return UserCode(files, executed) if executed.keys() <= files.keys() else None


def is_transparent(code: UserCode, found: Sequence[StatementLineage]) -> bool:
    """
    Return whether the plans of a script's dry run show everything that decides about the tables that it writes.

    Args:
        code: the script and its modules.
        found: what the dry run has reported.
    """
    if any(each.hidden for each in found) or not code.words.isdisjoint(_HIDING):
        return False
    if any(each.problem is not None and each.problem.code != _ONLY_TEXT for each in found):
        return False
    asking = {(each.statement.file, each.statement.line) for each in found if each.problem or each.is_of_rows}
    showing = _Showing(code)
    return all(showing.is_shown(*place) for place in asking)


class _Showing:
    """Finds out whether the value of a statement is only shown to people."""

    def __init__(self, code: UserCode) -> None:
        self._code = code
        self._functions = code.functions()

    def is_shown(self, file: str, line: int) -> bool:
        """Return whether a line gets a value that only data show, and no more than prints it."""
        tree = self._code.files.get(file)
        found = [] if tree is None else _innermost(tree, line)
        return bool(found) and all(map(self._is_showing, found))

    def _is_showing(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr):
            return self._shows(statement)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            return isinstance(target, ast.Name) and self._is_text(statement.value) and self._is_only_shown(target.id)
        return False

    def _shows(self, statement: ast.Expr) -> bool:
        """Return whether a statement prints a text, or drops a value."""
        return isinstance(statement.value, ast.Call) and self._is_text(statement.value)

    def _is_text(self, value: ast.AST) -> bool:
        """Return whether an expression is made of values of rows, and does nothing else with them."""
        if isinstance(value, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda):
            return False
        if isinstance(value, ast.Call):
            name = called_name(value)
            own = self._functions.get(name, [])
            if any(_may_keep(each) for each in value.keywords):
                return False
            if name in _ACTIONS and not own:
                # Whatever is asked for it, its value is used outside of it.
                return True
            if not (all(map(_only_shows, own)) if own else name in _PLAIN):
                return False
        return all(map(self._is_text, ast.iter_child_nodes(value)))

    def _is_only_shown(self, name: str) -> bool:
        """Return whether each use of a name is in a statement that prints."""
        uses, shown = 0, 0
        if not self._code.words.isdisjoint(_ALL_NAMES):
            return False
        for tree in self._code.files.values():
            uses += _uses(tree, name)
            shown += sum(
                _uses(each, name) for each in ast.walk(tree) if isinstance(each, ast.Expr) and self._shows(each)
            )
        return uses == shown


def unseen_code(code: UserCode) -> str:
    """
    Return the code that could matter with other arguments or on another day, although it has not run, as a text.

    If it is the same in both states, a run that takes another way differs no more than the one that was compared.

    Args:
        code: the script and its modules.
    """
    parts: list[str] = []
    unseen: list[ast.AST] = []
    for file, tree in sorted(code.files.items()):
        found = list(_not_executed(tree.body, code.executed.get(file, ())))
        unseen += found
        parts += [file, *map(ast.dump, found)]
        if not code.words.isdisjoint(_OUTSIDE):
            parts += map(ast.dump, _choices(tree))
    parts += map(ast.dump, _used_by(unseen, code))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _used_by(unseen: Sequence[ast.AST], code: UserCode) -> list[ast.AST]:
    """Return the functions, classes and constants that code refers to, also through others of them."""
    named: dict[str, list[ast.AST]] = {}
    for tree in code.files.values():
        for each in ast.walk(tree):
            if isinstance(each, Function | ast.ClassDef):
                named.setdefault(each.name, []).append(each)
            elif isinstance(each, ast.Assign | ast.AnnAssign) and all(map(_is_constant, ast.walk(each.value or each))):
                for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
                    for name in _words(target):
                        named.setdefault(name, []).append(each)
    found: dict[int, ast.AST] = {}
    left = list(unseen)
    while left:
        new = [each for name in _loaded(left.pop()) for each in named.get(name, ()) if id(each) not in found]
        found.update((id(each), each) for each in new)
        left += new
    return list(found.values())


def _loaded(tree: ast.AST) -> Iterator[str]:
    """Yield the names whose values some code uses."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load):
            yield each.id if isinstance(each, ast.Name) else each.attr


def _is_constant(node: ast.AST) -> bool:
    kinds = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.unaryop, ast.expr_context)
    return isinstance(node, kinds)


def _not_executed(body: Iterable[ast.stmt], lines: Collection[int]) -> Iterator[ast.AST]:
    """Yield the statements that have not run, except those of functions that can't touch a table."""
    for each in body:
        if isinstance(each, Function | ast.ClassDef):
            inner = list(_not_executed(each.body, lines))
            is_entered = any(line in lines for line in range(each.body[0].lineno, (each.end_lineno or 0) + 1))
            if isinstance(each, ast.ClassDef) or is_entered:
                yield from inner
            elif not _OF_SPARK.isdisjoint(_words(each)):
                yield each
        elif isinstance(each, _UNSEEN) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            continue
        elif not _has_run(each, lines):
            yield each
        else:
            for block in _blocks(each):
                # A block on the line of its condition does not show whether it has run.
                yield from block if block and block[0].lineno == each.lineno else _not_executed(block, lines)


def _has_run(statement: ast.stmt, lines: Collection[int]) -> bool:
    return any(line in lines for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for each in getattr(statement, "handlers", []):
        yield each.body
    for each in getattr(statement, "cases", []):
        yield each.body


def _choices(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the expressions of which a run evaluates a part: it may be another part with other values from outside."""
    for each in ast.walk(tree):
        if isinstance(each, ast.IfExp | ast.BoolOp | ast.Dict):
            yield each
        elif isinstance(each, ast.comprehension):
            yield from each.ifs


def _may_keep(argument: ast.keyword) -> bool:
    """Return whether a function may write or keep values because of an argument, such as `file=` of `print`."""
    return argument.arg in ("file", "key") and not (
        isinstance(argument.value, ast.Attribute) and argument.value.attr in ("stderr", "stdout")
    )


def _innermost(tree: ast.AST, line: int) -> list[ast.stmt]:
    """Return the smallest statements that have a line: several ones may be on it."""
    found = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and has_line(each, line)]
    lengths = [(each.end_lineno or each.lineno) - each.lineno for each in found]
    shortest = min(lengths, default=0)
    return [each for each, length in zip(found, lengths, strict=True) if length == shortest]


def _only_shows(function: Function) -> bool:
    """Return whether a function only prints, and keeps nothing."""
    body = [node for each in function.body for node in ast.walk(each)]
    if any(
        isinstance(each, ast.Raise | ast.Assert | ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await)
        for each in body
    ):
        return False
    stored = (each for each in body if isinstance(each, ast.Attribute | ast.Subscript))
    if any(isinstance(each.ctx, ast.Store | ast.Del) for each in stored):
        return False
    return all(called_name(each) in _PLAIN for each in body if isinstance(each, ast.Call))


def _uses(tree: ast.AST, name: str) -> int:
    """Return how often a name is used; another module may import it, or use it as an attribute of this one."""
    found = 0
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            found += each.id == name and isinstance(each.ctx, ast.Load)
        elif isinstance(each, ast.Attribute):
            found += each.attr == name and isinstance(each.ctx, ast.Load)
        elif isinstance(each, ast.alias):
            found += each.name == name
    return found


def _words(tree: ast.AST) -> Iterator[str]:
    """Yield the names in some code."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.alias):
            yield from each.name.split(".")
        elif isinstance(each, ast.ImportFrom):
            yield from (each.module or "").split(".")
        elif isinstance(each, ast.keyword):
            yield each.arg or ""
        elif isinstance(each, ast.Call) and called_name(each) in _BY_TEXT:
            # A text may have dots, as for `attrgetter`.
            texts = (arg.value for arg in each.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
            yield from (word for text in texts for word in text.split("."))
