"""
The records of a script's process: lines of JSON, each complete by itself, so that none is lost however it ends.

The process runs untrusted code. Its output is data: it is read, and nothing of it is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


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
class WriteTold:
    """
    A write of a DataFrame.

    Args:
        spot: the line that writes.
        plans: the encoded plans of the write; several if only the datasets are known, and not the columns; none
            with a schema if the target is changed, and nothing is read.
        target: the place, as `DataPlace.to_text` has it; empty for a table.
        table: the parts of the table's name; empty for a place.
        names: the columns of the target in the order of the query; empty for those of the query.
        schema: the schema of the query as JSON; empty if it is not known.
        places: the places that are read without known columns.
    """

    spot: Spot
    plans: tuple[str, ...]
    target: str = ""
    table: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    schema: str = ""
    places: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> WriteTold:
        """Return the write in a line."""
        lists = {name: tuple(map(str, document[name])) for name in ("plans", "table", "names", "places")}
        return cls(
            spot_of_document(document["spot"]), target=str(document["target"]), schema=str(document["schema"]), **lists
        )


@attrs.frozen
class ProblemTold:
    """
    What could not be done, or was done in another way than a run would do it.

    Args:
        spot: the line.
        code: its class.
        message: the problem, and what to do.
    """

    spot: Spot
    code: str
    message: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ProblemTold:
        """Return the problem in a line."""
        return cls(spot_of_document(document["spot"]), str(document["code"]), str(document["message"]))


def spot_of_document(document: Mapping[str, Any]) -> Spot:
    """Return the line in a part of a line of JSON."""
    return Spot(str(document["file"]), int(document["line"]), str(document["text"]))
