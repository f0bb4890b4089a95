"""
Register questions: each is one typed function, and both of its interfaces are made from its signature.

`@question` registers a function. Its parameters become arguments of the command line and of the method of `Store`:
positional ones stay positional, and the others are options. Their types are `str`, `int`, `bool`, one of some words
(`Literal`), or several words (`tuple[str, ...]`); `Help` explains them.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from functools import partial, wraps
from importlib import import_module
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows, Writer
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.model.document import camel_case
from openlineage_pyspark.workbench.model.graph import Graph
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import iso_text
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions import QUESTIONS
from openlineage_pyspark.workbench.questions.oddities import oddities
from openlineage_pyspark.workbench.store.events.ingest import rejection
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql, sql_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.answer import Result

P = ParamSpec("P")
R = TypeVar("R", bound="Result")
Shape: TypeAlias = Literal["text", "number", "flag", "choice", "texts", "choices"]

_SHOWN = 3
_FURTHER = {"graph": "graph", "show": "show", "recover": ".recovery.recover"}
"""The questions whose commands are not made from their signatures, with the modules that answer them."""
_RAISES = "Raises:\n    StoreError: nothing has such a name, several nodes have it, or the store can't be read."


@attrs.frozen
class Help:
    """
    The meaning of a parameter.

    Args:
        text: for people, as the command line's help shows it.
        metavar: the placeholder of its value there; by default its name.
        least: the least value of a number; None for any.
        reads_input: whether `-` means standard input.
    """

    text: str
    metavar: str = ""
    least: int | None = None
    reads_input: bool = False


@attrs.frozen
class Argument:
    """
    A parameter of a question.

    Args:
        name: its name in Python.
        shape: the type of its values.
        help: the help text.
        default: its value if it is left out.
        is_required: whether it can't be left out.
        is_option: whether it is a keyword: on the command line, an option.
        choices: the words that it may be; empty for any.
    """

    name: str
    shape: Shape
    help: Help
    default: Any
    is_required: bool
    is_option: bool
    choices: tuple[str, ...] = ()

    @property
    def metavar(self) -> str:
        """Return the placeholder of its value."""
        return self.help.metavar or self.name.upper()


def _reads_none(_: Mapping[str, Any]) -> bool:
    return False


@attrs.frozen
class Question:
    """
    A question.

    Args:
        name: its name, of both the command and the method.
        ask: answers it from the tables of a store and the arguments.
        description: its description for people.
        writers: the formats of its answer besides JSON, the usual one first -> what writes it.
        status: gives the exit code of the command for an answer.
        signature: the signature of the function.
        of_files: answers it from event files, if the arguments name some; None if it needs a store.
        reads_rows: returns whether it reads the rows of a table for these arguments, which needs a Spark session.
    """

    name: str
    ask: Callable[..., Answer[Any]]
    description: str
    writers: Mapping[str, Writer]
    status: Callable[[Answer[Any]], int]
    signature: inspect.Signature
    of_files: Callable[..., Answer[Any] | None] | None = None
    reads_rows: Callable[[Mapping[str, Any]], bool] = _reads_none

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the formats of its answer, the usual one first."""
        return tuple(dict.fromkeys((*self.writers, "json")))

    @property
    def result(self) -> Any:
        """Return the type of the result of its answer."""
        scope = vars(sys.modules[self.ask.__module__])
        return typing.get_args(eval(self.signature.return_annotation, scope))[0]  # noqa: S307 (our own source)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Return its arguments in their order."""
        scope = vars(sys.modules[self.ask.__module__])
        _, *parameters = self.signature.parameters.values()
        return tuple(_argument(each, scope) for each in parameters)


_REGISTERED: dict[str, Question] = {}


def question(
    writers: Mapping[str, Writer],
    *,
    name: str = "",
    figure: Callable[[Answer[Any]], str] | None = None,
    status: Callable[[Answer[Any]], int] = lambda _: 0,
    of_files: Callable[..., Answer[Any] | None] | None = None,
    reads_rows: Callable[[Mapping[str, Any]], bool] = _reads_none,
) -> Callable[[Callable[Concatenate[QueriedTables, P], Answer[R]]], Callable[Concatenate[QueriedTables, P], Answer[R]]]:
    """
    Register a function as a question.

    Args:
        writers: the formats of its answer besides JSON, the usual one first -> what writes it. An answer that can't be
            written in all of them has its own `writers`.
        name: its name; by default the function's.
        figure: as in `Answer`.
        status: gives the exit code of the command for an answer; by default 0 for each.
        of_files: as in `Question`.
        reads_rows: as in `Question`.

    Returns:
        The decorator. The function returns an answer with its result, its diagnostics and, unless it is about now, its
        time. The decorator adds the request, and what concerns all answers of a store.
    """

    def register(
        function: Callable[Concatenate[QueriedTables, P], Answer[R]],
    ) -> Callable[Concatenate[QueriedTables, P], Answer[R]]:
        signature = inspect.signature(function)
        called = name or function.__name__

        @wraps(function)
        def ask(tables: QueriedTables, /, *args: P.args, **kwargs: P.kwargs) -> Answer[R]:
            given = signature.bind(tables, *args, **kwargs).arguments
            with without_cycle_collection():
                answer = function(tables, *args, **kwargs)
            return attrs.evolve(
                answer,
                question=called,
                arguments=dict(_named(given, signature)),
                last_seen=last_seen(tables),
                diagnostics=(*answer.diagnostics, *input_diagnostics(tables), *oddities(tables)),
                writers=answer.writers or writers,
                figure=figure,
            )

        description = " ".join((inspect.getdoc(function) or "").split())
        named = MappingProxyType(dict(writers))
        _REGISTERED[called] = Question(called, ask, description, named, status, signature, of_files, reads_rows)
        return ask

    return register


def asks(
    asked: Callable[Concatenate[QueriedTables, P], Answer[R]],
) -> Callable[Concatenate[Any, P], Answer[R]]:
    """
    Return a question as a method of a class that has the store in its attribute `tables`.

    Its documentation describes the parameters, the result and the errors.
    """

    def method(store: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer[R]:
        return asked(store.tables, *args, **kwargs)

    [found] = (each for each in _REGISTERED.values() if each.ask is asked)
    first, *others = found.signature.parameters.values()
    own = first.replace(name="self", annotation=inspect.Parameter.empty)
    described = "".join(f"    {each.name}: {each.help.text}.\n" for each in found.arguments)
    returned = str(found.signature.return_annotation).removeprefix("Answer[").removesuffix("]")
    method.__name__ = found.name
    method.__qualname__ = f"Store.{found.name}"
    returns = f"Returns:\n    The answer: its `result` is of {returned}."
    sections = (f"Args:\n{described}" if described else "", returns, _RAISES)
    method.__doc__ = "\n\n".join((inspect.getdoc(asked) or "", *(each.rstrip() for each in sections if each)))
    # `inspect.signature` and `help` use this one.
    vars(method)["__signature__"] = found.signature.replace(parameters=[own, *others])
    return method


def question_called(name: str) -> Question:
    """Return the question with a name."""
    module = QUESTIONS[name][0] if name in QUESTIONS else _FURTHER[name]
    import_module(f".{module}", __package__)
    return _REGISTERED[name]


def questions() -> tuple[str, ...]:
    """Return the names of all questions."""
    return (*QUESTIONS, *_FURTHER)


def reader_of(name: str) -> Callable[[dict[str, Any]], Result] | None:
    """
    Return what reads the result of a question from its JSON; None if the name is not a question's.

    Args:
        name: the question, or another command.
    """
    if name not in questions():
        return None
    type_ = question_called(name).result
    if type_ is Graph:
        return ShownGraph.from_dict
    if typing.get_origin(type_) is Rows:
        return partial(Rows.from_dict, row=typing.get_args(type_)[0])
    reader: Callable[[dict[str, Any]], Result] = type_.from_dict
    return reader


def answered(result: R, diagnostics: Iterable[Diagnostic] = (), *, as_of: int | None = None) -> Answer[R]:
    """
    Return an answer, for `@question` to complete.

    Args:
        result: the result.
        diagnostics: the diagnostics about it.
        as_of: the time that it is about, microseconds since 1970; None for now.
    """
    return Answer("", {}, result, iso_text(as_of), "", tuple(dict.fromkeys(diagnostics)))


def last_seen(tables: QueriedTables) -> str:
    """Return the newest time that a store knows of, ISO 8601; empty if it is empty."""
    [(newest,)] = tables.query("SELECT max(last_time) FROM job")
    return iso_text(newest)


def input_diagnostics(tables: QueriedTables) -> Iterator[Diagnostic]:
    """Yield the diagnostics about texts that are not events, about parts that are left out, and about files."""
    of_files = tables.of_files if isinstance(tables, Database) else None
    if of_files is None:
        rows, more = _first_rows(tables, "rejected", "source", "reason", "rejected_id")
        yield from (rejection(source, reason) for source, reason, _ in rows)
        if more:
            message = f"{more:,} more texts are not events: the table `rejected` has all of them"
            yield Diagnostic("rejected", message, missing=True)
    yield from of_files or ()
    rows, more = _first_rows(tables, "odd_facet", "source", "place", "message")
    for source, place, message in rows:
        yield Diagnostic("odd-facet", message, missing=True, place=f"{source}: {place}")
    if more:
        where = "the table `odd_facet` has all of them" if of_files is None else "`validate` names them"
        yield Diagnostic("odd-facet", f"{more:,} more parts of events are left out: {where}", missing=True)


def _first_rows(tables: QueriedTables, table: str, *columns: str) -> tuple[list[tuple[Any, ...]], int]:
    """Return the rows of a table that come from the first lines, and the number of the others."""
    first = "SELECT {columns} FROM {table} ORDER BY length(source), {columns} LIMIT {most}"
    rows = tables.query(checked_sql(first, columns=sql_list(columns), table=table, most=_SHOWN + 1))
    if len(rows) <= _SHOWN:
        return rows, 0
    [(count,)] = tables.query(checked_sql("SELECT count(*) FROM {table}", table=table))
    return rows[:_SHOWN], count - _SHOWN


def _named(given: Mapping[str, Any], signature: inspect.Signature) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that were not left out, as JSON names them."""
    _, *parameters = signature.parameters.values()
    for parameter in parameters:
        value = given.get(parameter.name, parameter.default)
        if value != parameter.default:
            yield camel_case(parameter.name), list(value) if isinstance(value, (tuple, set, frozenset)) else value


def _argument(parameter: inspect.Parameter, scope: dict[str, Any]) -> Argument:
    """Return a parameter as an argument: its annotation is read from its text."""
    annotation = parameter.annotation
    found = eval(annotation, scope) if isinstance(annotation, str) else annotation  # noqa: S307 (our own source)
    help_ = next((each for each in getattr(found, "__metadata__", ()) if isinstance(each, Help)), Help(""))
    plain = typing.get_args(found)[0] if hasattr(found, "__metadata__") else found
    shape, choices = _shape_of(plain)
    is_required = parameter.default is inspect.Parameter.empty
    return Argument(
        parameter.name,
        shape,
        help_,
        None if is_required else parameter.default,
        is_required,
        parameter.kind is inspect.Parameter.KEYWORD_ONLY,
        choices,
    )


def _shape_of(annotation: Any) -> tuple[Shape, tuple[str, ...]]:
    """Return the type of a parameter's values, and the words that are allowed."""
    kinds = [each for each in typing.get_args(annotation) if each not in (NoneType, ...)]
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return "choice", tuple(kinds)
    if origin is tuple:
        _, choices = _shape_of(kinds[0])
        return ("choices" if choices else "texts"), choices
    return _shape_of(kinds[0]) if kinds else (_PLAIN[annotation], ())


_PLAIN: dict[Any, Shape] = {str: "text", int: "number", bool: "flag"}
