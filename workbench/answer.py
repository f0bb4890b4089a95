"""Answers: one envelope around the result of every question, with its JSON and the JSON Schema."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.document import (
    document_of,
    frozen_mapping,
    value_from_document,
    values_by_field,
)
from openlineage_pyspark.workbench.model.graph import Graph
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.pictures.plain import plain
from openlineage_pyspark.workbench.pictures.table import TextTable
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openlineage_pyspark.workbench.pictures.outline import Tree


ANSWER_VERSION = "3-0-0"
"""The version of the JSON. Its first number changes when a reader of the earlier one would read it wrong."""
_QUESTIONS = "openlineage_pyspark.workbench.questions"
_SCHEMA = "lineage-answer.schema.json"
_NOUNS = {"unused": "unused name", "blame": "change"}


def _frozen_rows(rows: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(frozen_mapping(row) if isinstance(row, Mapping) else row for row in rows)


class Result(Protocol):
    """The content of an answer."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, with its `type`."""


R = TypeVar("R", bound=Result)
R_co = TypeVar("R_co", bound=Result, covariant=True)
T = TypeVar("T")


@attrs.frozen
class Rows(Generic[T]):
    """
    Rows of one kind.

    Args:
        of: the kind of the rows, such as `job` or `run`.
        rows: the rows: frozen values of one class, or mappings of plain values.
    """

    of: str
    rows: tuple[T, ...] = attrs.field(converter=_frozen_rows, hash=False)

    def __iter__(self) -> Iterator[T]:
        """Return an iterator over the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __getitem__(self, place: int) -> T:
        """Return the row at a place."""
        return self.rows[place]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values."""
        return {"type": "rows", "of": self.of, "rows": [document_of(row) for row in self.rows]}

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the rows as a table of plain values: the names of the columns, and the rows."""
        found = [_fields(row) for row in self.rows]
        names = tuple(dict.fromkeys(name for row in found for name in row))
        return names, [tuple(_cell(row.get(name)) for name in names) for row in found]

    @classmethod
    def from_dict(cls, document: dict[str, Any], row: Any = Any) -> Rows[Any]:
        """
        Return the result that `to_dict` wrote.

        Args:
            document: the result.
            row: the type of its rows.
        """
        return Rows(document["of"], [value_from_document(row, each) for each in document["rows"]])


def _fields(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, Mapping) else values_by_field(row)


def _cell(value: Any) -> Any:
    """Return a value as a cell has it: several values are in one text."""
    plain = document_of(value)
    if isinstance(plain, dict):
        return ", ".join(f"{key} {each}" for key, each in plain.items() if each not in ("", None, False))
    return "; ".join(str(_cell(each)) for each in plain) if isinstance(plain, list) else plain


@attrs.frozen
class Values:
    """
    A result of its own shape.

    Args:
        type: `diff`, `plan`, `statements`, `events`, `findings`, `checks`, `spool` or `expiry`.
        values: the result: plain and frozen values.
    """

    type: str
    values: Mapping[str, Any] = attrs.field(converter=frozen_mapping, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {"type": self.type, **document_of(self.values)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Values:
        """Return the result that `to_dict` wrote."""
        return cls(document["type"], {key: value for key, value in document.items() if key != "type"})


Writer: TypeAlias = "Callable[[Any], str | TextTable | Tree]"
"""Writes an answer in one format."""


@attrs.frozen
class Answer(Generic[R_co]):
    """
    The answer to a question.

    Args:
        question: the question, such as `upstream`.
        arguments: the arguments of the request, without those that were left out.
        result: the result.
        as_of: the requested time, ISO 8601; empty for now.
        last_seen: the newest time in the store, ISO 8601; empty if there is no store.
        diagnostics: the diagnostics about the answer.
        writers: each format besides JSON -> the function that writes it.
        figure: returns the HTML that a notebook shows; None if the result has its own, or none.
    """

    question: str
    arguments: Mapping[str, Any] = attrs.field(converter=frozen_mapping, hash=False)
    result: R_co
    as_of: str = ""
    last_seen: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    writers: Mapping[str, Writer] = attrs.field(
        factory=dict, converter=frozen_mapping, eq=False, hash=False, repr=False
    )
    figure: Callable[[Answer[Any]], str] | None = attrs.field(default=None, eq=False, repr=False)

    @property
    def complete(self) -> bool:
        """Whether the answer is complete, as far as is known."""
        return not any(each.missing for each in self.diagnostics)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, as the JSON Schema describes them."""
        times = {"asOf": self.as_of, "lastSeen": self.last_seen}
        return {
            "schema": ANSWER_VERSION,
            "question": self.question,
            "arguments": dict(self.arguments),
            **{key: value for key, value in times.items() if value},
            "complete": self.complete,
            "diagnostics": [each.to_dict() for each in self.diagnostics],
            "result": self.result.to_dict(),
        }

    def to_json(self) -> str:
        """Return the answer as JSON on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the formats of `to_text`."""
        return tuple(dict.fromkeys((*self.writers, "json")))

    def to_text(self, format: str = "") -> str:  # noqa: A002 (the word of the command line)
        """
        Return the answer as text.

        Args:
            format: one of `formats`, such as `text` or `json`; empty for the first one.

        Raises:
            ValueError: there is no such format.
        """
        found = self.written(format or self.formats[0])
        if isinstance(found, str):
            return found
        rows = found.to_text() if not isinstance(found, TextTable) or found.rows else ""
        return f"{rows}{plain(self.last_line(found))}\n"

    def last_line(self, found: TextTable | Tree) -> str:
        """
        Return the last line of the answer as text: its size, whether it is complete, and when it was last seen.

        Args:
            found: the answer as `written` returns it.
        """
        if not isinstance(found, TextTable):
            count = found.count
        elif not found.rows:
            count = found.without_rows
        else:
            result: Any = self.result
            is_rows = isinstance(result, Rows)
            noun = _NOUNS.get(result.of, result.of) if is_rows else "edge"
            count = counted(len(result if is_rows else found.rows), noun)
        complete = "complete" if self.complete else "may be incomplete"
        seen = f"last seen {self.last_seen[:19].replace('T', ' ')}" if self.last_seen else ""
        return "; ".join(filter(None, (count, complete, seen)))

    def written(self, format: str) -> str | TextTable | Tree:  # noqa: A002 (the word of the command line)
        """
        Return the answer as `to_text` does, or as a table or a tree that is not yet text.

        Args:
            format: one of `formats`.

        Raises:
            ValueError: there is no such format.
        """
        if format not in self.formats:
            raise ValueError(f"unknown format {format!r}; the formats are {', '.join(self.formats)}")
        if format in self.writers:
            return self.writers[format](self)
        return f"{json.dumps(self.to_dict(), indent=2)}\n"

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """
        Return the result as a table of plain values: the names of the columns, and the rows.

        Raises:
            TypeError: the result is not a table, such as a plan.
        """
        table = getattr(self.result, "table", None)
        if table is None:
            raise TypeError(f"the answer of {self.question} is not a table: use `to_dict()` for its values")
        found: tuple[tuple[str, ...], list[tuple[Any, ...]]] = table()
        return found

    def to_pandas(self) -> Any:
        """
        Return the table as a pandas DataFrame.

        Raises:
            StoreError: pandas is not installed.
            TypeError: the result is not a table.
        """
        columns, rows = self.table()
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise StoreError("pandas is not installed: `pip install pandas`, or use `table()`") from None
        return pandas.DataFrame.from_records(rows, columns=list(columns))

    def to_spark(self, spark: Any) -> Any:
        """
        Return the table as a Spark DataFrame.

        Args:
            spark: the session to use.

        Raises:
            TypeError: the result is not a table.
        """
        columns, rows = self.table()
        types = [_spark_type(row[at] for row in rows) for at in range(len(columns))]
        typed = [[_as_typed(row[at], type_) for at, type_ in enumerate(types)] for row in rows]
        names = (name.replace("`", "``") for name in columns)
        named = (f"`{name}` {type_}" for name, type_ in zip(names, types, strict=True))
        return spark.createDataFrame(typed, ", ".join(named))

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; None for what has no picture and no table."""
        if self.figure is not None:
            return self.figure(self)
        shown = getattr(self.result, "_repr_html_", None)
        html: str | None = None if shown is None else shown()
        return html

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Answer[Any]:
        """
        Return the answer that `to_dict` wrote.

        Args:
            document: the result of `to_dict`.

        Raises:
            ValueError: the document is of another version.
        """
        version = str(document.get("schema", ""))
        if version.partition("-")[0] != ANSWER_VERSION.partition("-")[0]:
            raise ValueError(f"the answer must have version {ANSWER_VERSION}, not {version or 'none'}")
        result = document["result"]
        return Answer(
            document["question"],
            document["arguments"],
            _reader_of(document["question"], result["type"])(result),
            document.get("asOf", ""),
            document.get("lastSeen", ""),
            tuple(map(Diagnostic.from_dict, document["diagnostics"])),
        )


def _reader_of(question: str, type_: str) -> Callable[[dict[str, Any]], Result]:
    """Return what reads a result: of a question, its own values."""
    # The questions import this module.
    registry = importlib.import_module(f"{_QUESTIONS}.registry")
    found: Callable[[dict[str, Any]], Result] | None = registry.reader_of(question)
    return found or _READERS.get(type_, Values.from_dict)


def _as_typed(value: Any, type_: str) -> Any:
    """Return a value as a column in Spark of a type takes it."""
    convert = {"string": str, "double": float}.get(type_)
    return value if value is None or convert is None else convert(value)


def _spark_type(values: Iterable[Any]) -> str:
    """Return the type of a column in Spark that has some values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    return "bigint" if kinds == {int} else "double" if kinds and kinds <= {int, float} else "string"


_READERS: dict[str, Callable[[dict[str, Any]], Result]] = {
    "graph": Graph.from_dict,
    "reach": Reach.from_dict,
    "rows": Rows.from_dict,
}


def answer_of_graph(graph: Graph) -> Answer[Graph]:
    """Return a graph as an answer, with the graph's diagnostics."""
    return Answer("graph", {}, Graph(graph.nodes, graph.edges, time=graph.time), graph.time, "", graph.diagnostics)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer's JSON, with the results of all questions."""
    text = resources.files(f"{__package__}.model").joinpath(_SCHEMA).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    conditions, definitions = importlib.import_module(f"{_QUESTIONS}.result_schema").result_schemas()
    return {**found, "allOf": conditions, "$defs": {**found["$defs"], **definitions}}
