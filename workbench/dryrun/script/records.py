"""
The records of a script's process: lines of JSON. Each is written at once, so none is lost, whatever ends the process.

The process runs untrusted code. Its output is treated as data, and never executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from openlineage_pyspark.workbench.predict.outcome import NoteCode

    ProblemCode: TypeAlias = (
        NoteCode
        | Literal["UNREADABLE", "UNKNOWN_STATEMENT", "UNKNOWN_TABLE", "UNKNOWN_SCHEMA", "REFUSED", "ARGUMENTS"]
        | Literal["TIME_OVER", "NOTHING_TO_RUN", "SCRIPT_ENDED", "SCRIPT_FAILED", "CUT"]
    )
    """The codes that a script's process writes: notes, and the reasons for which something is unknown."""


MODEL_FUNCTION = "UDF"
"""The name that Spark gives the function of a model."""


def loaded_function(number: int) -> str:
    """Return the name of the function of a loaded model, by which a plan shows that it calls the model."""
    return f"__function_of_loaded_model_{number}__"


def file_of_rows(number: int) -> str:
    """Return the name of a file that stands for the rows of a DataFrame in an RDD."""
    return f"rows_of_dataframe_{number}__"


@attrs.frozen
class Spot:
    """
    A line of a script.

    Args:
        file: the file, for people.
        line: the line in it, from 1.
        text: the source text at the line.
    """

    file: str
    line: int
    text: str = ""


@attrs.frozen
class WriteRecord:
    """
    A write of a DataFrame.

    Args:
        spot: the line that writes.
        plans: the encoded plans of the write; several if only the datasets are known, and not the columns; none, but a
            schema, if the target is changed and nothing is read.
        target: the place, as `DataPlace.to_text` writes it; empty for a table.
        table: the parts of the table's name; empty for a place.
        names: the columns of the target in the order of the query; empty if they have the names of the query's columns.
        schema: the schema of the query as JSON; empty if it is unknown.
        places: the places that are read, whose columns are unknown.
        shape: the shape of the plan, if it is requested.
        manner: a hash of how the rows are written; empty if not all of that is known.
        is_whole: whether the write replaces everything in its target.
        within: the current catalog and database.
        settings: the settings, functions and variables of the session, as a text.
        held: the tables and places of the DataFrames that the script has made before.
    """

    spot: Spot
    plans: tuple[str, ...]
    target: str = ""
    table: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    schema: str = ""
    places: tuple[str, ...] = ()
    shape: str = ""
    manner: str = ""
    is_whole: bool = False
    within: str = ""
    settings: str = ""
    held: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WriteRecord:
        """Return the write in a record."""
        lists = {name: tuple(map(str, document[name])) for name in ("plans", "table", "names", "places", "held")}
        texts = {name: str(document[name]) for name in ("target", "schema", "shape", "manner", "within", "settings")}
        values: dict[str, Any] = {**lists, **texts, "is_whole": document["is_whole"] is True}
        return cls(spot_of_document(document["spot"]), **values)


@attrs.frozen
class ProblemRecord:
    """
    A problem of a script: something could not be done, or was done differently than in a real run.

    Args:
        spot: the line.
        code: the class of the problem.
        message: what happened, and what to do.
    """

    spot: Spot
    code: str
    message: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ProblemRecord:
        """Return the problem in a record."""
        return cls(spot_of_document(document["spot"]), str(document["code"]), str(document["message"]))


def spot_of_document(document: Mapping[str, Any]) -> Spot:
    """Return the line of a script from plain values."""
    return Spot(str(document["file"]), int(document["line"]), str(document["text"]))
