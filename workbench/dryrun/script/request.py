"""The request to the process of a script: plain values, which the command writes as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

if TYPE_CHECKING:
    from collections.abc import Mapping

AGAIN = 75
"""The exit status of a process that could not prepare its session, and can with what it has learned."""
KILL = 9
"""The number of SIGKILL, on all systems."""

Columns = tuple[tuple[str, str], ...]
"""The columns of a dataset in order, each with its type in DDL."""


@attrs.frozen
class Fork:
    """
    The process of one script.

    Args:
        request: the file with the request.
        records: the file for the records.
        errors: the file for its standard error.
        folder: the folder in which it begins.
        port: the port of the JVM's gateway.
        secret: the secret of the gateway.
    """

    request: str
    records: str
    errors: str
    folder: str
    port: int
    secret: str


@attrs.frozen
class ScriptRequest:
    """
    One script to run.

    Args:
        name: its name, for people.
        path: its path.
        source: its text.
        arguments: the arguments after its name in `sys.argv`.
        folder: the folder in which it runs for the user: the paths of its data are relative to it.
        scratch: the folder in which it may write.
        begins: the folder in which its process runs: the same, or a folder with the files of another revision.
        ddl: the SQL files that run before it: each name with its text, and the text before its first statement.
        tables: the known tables.
        columns: the columns of datasets that are not tables, by `key_of_dataset`.
        conf: properties of Spark.
        variables: the environment variables that it sees.
        python_path: where it finds modules, besides its own folder.
        allowed: the modules that are not replaced by stand-ins.
        seconds: how long it may run, in seconds.
        megabytes: how much memory it may use, in MB, beyond what Python has used before it begins.
        cells: the line on which each cell of a Jupyter notebook begins; empty for any other script.
        is_notebook: whether it has the objects that notebooks have without an import.
        parameters: the values of the parameters of a notebook or a job, by their names.
        flipped: the decisions for which it takes the other branch, as `decision_of` names them.
        shapes: whether the shapes of plans are requested, for a comparison.
        kept: the folder that keeps what the statements of the SQL files change.
        model: the table that dbt makes of what its function `model` returns; empty if it is no such model.
    """

    name: str
    path: str
    source: str
    arguments: tuple[str, ...]
    folder: str
    scratch: str
    begins: str
    ddl: tuple[tuple[str, str, str], ...] = ()
    tables: tuple[DeclaredTable, ...] = ()
    columns: Mapping[str, Columns] = attrs.field(factory=dict)
    conf: Mapping[str, str] = attrs.field(factory=dict)
    variables: Mapping[str, str] = attrs.field(factory=dict)
    python_path: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    seconds: int = 120
    megabytes: int = 2048
    cells: tuple[int, ...] = ()
    is_notebook: bool = False
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    flipped: tuple[str, ...] = ()
    shapes: bool = False
    kept: str = ""
    model: str = ""

    def to_text(self) -> str:
        """Return the request as JSON."""
        return json.dumps({**attrs.asdict(self), "tables": [document_of_table(each) for each in self.tables]})

    @classmethod
    def of_text(cls, text: str) -> ScriptRequest:
        """Return the request that `to_text` has written."""
        values = json.loads(text)
        for name in ("arguments", "python_path", "allowed", "cells", "flipped"):
            values[name] = tuple(values[name])
        values["ddl"] = tuple((name, sql, head) for name, sql, head in values["ddl"])
        values["tables"] = tuple(map(table_of_document, values["tables"]))
        values["columns"] = {key: columns_of_document(each) for key, each in values["columns"].items()}
        return cls(**values)


def document_of_table(table: DeclaredTable) -> dict[str, Any]:
    """Return a table as plain values."""
    at = table.identifier
    place = None if at is None else (at.namespace, at.name)
    found = {"parts": table.parts, "columns": table.columns, "partitions": table.partitions, "place": place}
    return {**found, "computed": table.computed} if table.computed else found


def table_of_document(document: Mapping[str, Any]) -> DeclaredTable:
    """Return the table that `document_of_table` has written."""
    parts, partitions = tuple(map(str, document["parts"])), tuple(map(str, document["partitions"]))
    place = document.get("place")
    identifier = None if place is None else Identifier(*map(str, place))
    computed = columns_of_document(document.get("computed", ()))
    return DeclaredTable(parts, columns_of_document(document["columns"]), partitions, identifier, computed)


def columns_of_document(columns: Any) -> Columns:
    """Return columns with their types from plain values."""
    return tuple((str(name), str(type_)) for name, type_ in columns)
