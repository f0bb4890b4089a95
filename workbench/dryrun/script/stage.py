"""The stage on which a script runs: its records, the columns of paths, and the current line of the script."""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.naming import location
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING
from openlineage_pyspark.workbench.dryrun.script.counts import count_of
from openlineage_pyspark.workbench.dryrun.script.notebooks import cell_and_line
from openlineage_pyspark.workbench.dryrun.script.own_files import OwnFiles
from openlineage_pyspark.workbench.dryrun.script.partitions import (
    above_partitions,
    columns_in_path,
    with_more_columns,
    with_partitions_last,
    without,
)
from openlineage_pyspark.workbench.dryrun.script.patterns import has_wildcards, may_overlap
from openlineage_pyspark.workbench.dryrun.script.places import columns_of_query, datasets_of, key_of_dataset, qualified
from openlineage_pyspark.workbench.dryrun.script.records import ProblemRecord, Spot, file_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from types import FrameType

    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
    from openlineage_pyspark.workbench.dryrun.script.records import ProblemCode
    from openlineage_pyspark.workbench.dryrun.script.request import Columns, ScriptRequest

_LIBRARIES = tuple(f"{sysconfig.get_paths()[name]}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = os.path.realpath(os.path.join(os.path.dirname(__file__), *([os.pardir] * 3))) + os.sep  # noqa: PTH118, PTH120
_INFERRED_TYPES = {"INT": "BIGINT", "SMALLINT": "BIGINT", "TINYINT": "BIGINT", "FLOAT": "DOUBLE", "DATE": "STRING"}
_LOCAL = "file/"
_LONGEST_TEXT = 2000
_MOST_RECORDS = 20_000


class Stage:
    """
    The records of one script while it runs.

    Args:
        request: the script.
        out: the descriptor of the file that gets the lines.
    """

    def __init__(self, request: ScriptRequest, out: int) -> None:
        self.request = request
        self._out = out
        self._lock = threading.RLock()
        self._columns = dict(request.columns)
        self._own: dict[str, str] = {}
        # The partition columns of what the script writes, in the order of their folders.
        self._partitions: dict[str, Columns] = {}
        self._recorded: set[tuple[object, ...]] = set()
        self._begins = os.path.realpath(request.begins) + os.sep
        self._count = 0
        self._files_of_rows = 0
        self._instead: Spot | None = None
        self.own_files = OwnFiles(request.scratch)
        """The files that the script has made."""
        self.gave_dates = False
        """Whether the script has got a date or a time of a row, so that names may contain it."""
        self.python_sources: dict[str, Callable[[Mapping[str, str]], str]] = {}
        """
        The data sources that the script has registered: the name, in lower case -> returns the schema for some options,
        as DDL or JSON; empty if it is unknown.
        """
        self.settings: dict[str, str] = {}
        """The properties that the script has set, and the statements that change what others mean."""
        self.databases: dict[tuple[str, ...], str] = {}
        """The databases that the script creates at a location: the key of the name -> the path."""
        self.held: dict[str, None] = {}
        """The tables and places of which the script has made DataFrames."""

    def record(self, kind: str, **values: Any) -> None:
        """Write a record at once, as a separate line."""
        with self._lock:
            self._count += 1
            if self._count > _MOST_RECORDS:
                return
            if self._count == _MOST_RECORDS:
                message = f"the script has more than {_MOST_RECORDS:,} writes and diagnostics: the others are left out"
                kind, values = "problem", attrs.asdict(ProblemRecord(self.spot(), "CUT", message))
            line = json.dumps({"k": kind, **values}, default=str).encode() + b"\n"
            while line:
                line = line[os.write(self._out, line) :]

    def problem(self, code: ProblemCode, message: str, spot: Spot | None = None) -> None:
        """Report, once, what could not be done, or was done differently than in a real run."""
        at = self.spot() if spot is None else spot
        self._record_once(
            (at.file, at.line, code, message), "problem", **attrs.asdict(ProblemRecord(at, code, message))
        )

    def hides(self, what: str) -> None:
        """Report, once, what decides about rows but is in no plan: then plans do not show all that is written."""
        self._record_once(("hidden", what), "hidden", spot=attrs.asdict(self.spot()), what=what)

    def opens(self, path: str) -> None:
        """
        Report, once, that the script reads a file, if the file is in the folder in which the script runs.

        Args:
            path: the file, without links.
        """
        name = path.removeprefix(self._begins)
        if name != path and not name.endswith(".pyc"):
            self._record_once(("file", name), "file", spot=attrs.asdict(self.spot()), path=name)

    def opens_data(self, path: str) -> None:
        """
        Report, once, that the script reads data with Spark, if they are in the folder in which the script runs.

        Args:
            path: a file, a folder or a pattern.
        """
        local = path.removeprefix("file:")
        for folder in (self._begins, os.path.join(self.request.folder, "")):  # noqa: PTH118 (texts)
            name = local.removeprefix(folder).strip("/")
            if local.startswith(folder) and name:
                self._record_once(("data", name), "file", spot=attrs.asdict(self.spot()), path=name, data=True)
                return

    def finds(self, names: Iterable[Any]) -> None:
        """
        Report the names that the script finds in a folder or by a pattern.

        Args:
            names: the names; hidden ones do not count.
        """
        shown = sorted({os.path.relpath(os.fsdecode(each), self._begins) for each in names})
        kept = [each for each in shown if not os.path.basename(each).startswith((".", "__pycache__"))]  # noqa: PTH119
        if kept:
            self._record_once(("names", *kept), "names", spot=attrs.asdict(self.spot()), names=" ".join(kept))

    def number(self, what: str, value: float = 1) -> Any:
        """
        Return a number that only data show, such as a number of rows, and report, once, the line that gets it.

        Args:
            what: the number in words, for the messages about decisions on it, and about texts that contain it.
            value: the assumed value.
        """
        at = self.spot()
        self._record_once(("rows", at), "rows", spot=attrs.asdict(at))

        def writes() -> None:
            # The caller that makes the text is two frames above. A logger is not the user's code.
            if self.is_users(sys._getframe(2).f_code.co_filename):
                message = f"a text contains {what}, which is assumed to be {value}: in a real run it is another text"
                self.problem("STAND_IN", message)

        return count_of(lambda: self.decides(what, str(value)), value, writes)

    def _record_once(self, key: tuple[object, ...], kind: str, **values: Any) -> None:
        if key not in self._recorded:
            self._recorded.add(key)
            self.record(kind, **values)

    def decides(self, what: str, taken: str = "1") -> bool:
        """
        Report a decision that depends on data; return whether to decide the other way this time.

        Args:
            what: what the decision depends on, for the message.
            taken: its assumed value, for the message.
        """
        at = self.spot()
        is_otherwise = decision_of(at.file, at.line) in self.request.flipped
        assumed = f"{'not ' if is_otherwise else ''}to be {taken}"
        message = f"a decision depends on {what}, which is assumed {assumed}: a real run may decide otherwise"
        self.problem("DECISION", message)
        return is_otherwise

    def is_there(self, path: str) -> bool:
        """Return whether a path exists that is not known, and record that the script decides on this."""
        return self.decides(f"whether {path} exists (a file that --schemas names does)", "false")

    def is_empty(self, what: str) -> bool:
        """Return whether there are no rows, and record that the script decides on this."""
        return self.decides(what, taken="false")

    def spot(self) -> Spot:
        """Return the current line of the user's code: the innermost line that is not in a library."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self.is_users(frame.f_code.co_filename):
                return self.spot_of(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return self._instead or Spot(self.request.name, 1)

    def spot_of_error(self, problem: BaseException) -> Spot:
        """Return the innermost line of the user's code in the traceback of an error."""
        found = Spot(self.request.name, 1)
        trace = problem.__traceback__
        while trace is not None:
            if self.is_users(trace.tb_frame.f_code.co_filename):
                found = self.spot_of(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next
        return found

    def local_paths(self) -> list[str]:
        """Return the files and folders of this machine with known columns, and the files that the script has made."""
        known = [f"/{key.removeprefix(_LOCAL)}" for key in self._columns if key.startswith(_LOCAL)]
        return [*known, *self.own_files.files]

    def names_in(self, folder: str) -> dict[str, bool]:
        """Return the names of the known places in a folder, each with whether it is itself a folder of known places."""
        begin = f"{self._key_of_path(folder)}/"
        known = [key.removeprefix(begin) for key in sorted(self._columns) if key.startswith(begin)]
        return {each.partition("/")[0]: "/" in each for each in known if each}

    def knows(self, path: str) -> bool:
        """Return whether a place is known, or one below it."""
        key = self._key_of_path(path)
        return any(each == key or each.startswith(f"{key}/") for each in self._columns)

    def _key_of_path(self, path: str) -> str:
        return key_of_dataset(location(qualified(path, self.request.folder))).rstrip("/")

    def file_of_rows(self) -> str:
        """Return a new file that stands for rows in an RDD: Spark reports it as their source."""
        self._files_of_rows += 1
        # It has a byte, because Spark leaves out RDDs without partitions.
        made = Path(self.request.scratch) / file_of_rows(self._files_of_rows)
        made.write_bytes(b" ")
        return str(made)

    @contextlib.contextmanager
    def at(self, spot: Spot) -> Iterator[None]:
        """Use a line as the current one while none of the user's code runs."""
        before, self._instead = self._instead, spot
        try:
            yield
        finally:
            self._instead = before

    def is_users(self, file: str) -> bool:
        """Return whether a file is the user's, and not in a library."""
        if file == self.request.path:
            return True
        if file.startswith("<") or not os.path.isabs(file):  # noqa: PTH117 (a text)
            return False
        return not file.startswith((*_LIBRARIES, _OURS)) and "-packages" not in file

    def spot_of(self, file: str, line: int) -> Spot:
        """Return a line of a file as people name it: in a notebook, by its cell."""
        request = self.request
        if file == request.path:
            lines = request.source.splitlines()
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            if not request.cells:
                return Spot(request.name, line, text)
            cell, inside = cell_and_line(request.cells, line)
            return Spot(f"{request.name}[{cell}]", inside, text)
        return Spot(self.name_of(file), line, linecache.getline(file, line).strip())

    def name_of(self, file: str) -> str:
        """Return a file of the user's as people name it."""
        below = os.path.relpath(file, self.request.begins)
        if file == self.request.path:
            return self.request.name
        return file if below.startswith("..") else below

    def columns_of(self, place: DataPlace, *, header: bool, inferred: bool, base: str = "") -> Columns | None:
        """
        Return the columns at a place; None if they are unknown.

        Args:
            place: the place.
            header: whether a CSV file begins with the names of its columns.
            inferred: whether its types are inferred.
            base: the folder above the partitions, if the script names it. Without it, the partitions that the path
                itself names are not columns, as in Spark.
        """
        if place.is_query:
            return self._columns_of_query(place)
        for dataset in datasets_of(place):
            trimmed = DEFAULT_TRIMMING.dataset(dataset)
            for each in (dataset, trimmed):
                key = key_of_dataset(each.identifier)
                if key in self._columns:
                    own = self._own.get(key)
                    found = self._columns[key]
                    if each is trimmed and trimmed.identifier != dataset.identifier and not base:
                        found = without(found, columns_in_path(dataset.identifier.name))
                    if not base:
                        above = self._partitions.get(key, ())[: _folders_of_patterns(place, each.identifier.name)]
                        found = without(without(found, _partitions_of_patterns(place)), above)
                    if own is None:
                        return found
                    folders = self._partitions.get(key, ())
                    data = without(found, folders)
                    read = _read_again(data, place.short, header=header, inferred=inferred)
                    return (*read, *without(found, data))
        return self._columns_of_pattern(place, base)

    def _columns_of_pattern(self, place: DataPlace, base: str) -> Columns | None:
        """Return the columns of all known files that a pattern matches; None if there are none, or if these differ."""
        if not place.is_of_files:
            return None
        found = dict.fromkeys(
            columns
            for path in place.paths
            for read in (key_of_dataset(location(path)),)
            for known, columns in self._columns.items()
            if (has_wildcards(read) or has_wildcards(known)) and known not in self._own and may_overlap(known, read)
        )
        inside = () if base else tuple(each for path in place.paths for each in columns_in_path(path))
        return without(next(iter(found)), inside) if len(found) == 1 else None

    def _columns_of_query(self, place: DataPlace) -> Columns | None:
        """Return the columns of the result of a query in another database; None if they are unknown."""
        found: list[tuple[str, str]] = []
        for each in columns_of_query(place) or ():
            known = () if each.table is None else self._columns.get(key_of_dataset(each.table), ())
            if each.name is None:
                if not known:
                    return None
                found += known
                continue
            of = (each.column or "").lower()
            type_ = next((type_ for name, type_ in known if name.lower() == of), None)
            if type_ is None:
                message = f"the type of the column {each.name} of a query over JDBC is assumed to be a string"
                self.problem("STAND_IN", message)
            found.append((each.name, type_ or "STRING"))
        return tuple(found) or None

    def known_of(self, place: DataPlace) -> Columns | None:
        """Return the columns at a place as they were last written or given; None if they are unknown."""
        every = (self._columns.get(key_of_dataset(each.identifier)) for each in datasets_of(place))
        return next((each for each in every if each is not None), None)

    def learn(self, place: DataPlace, columns: Columns, partitions: Collection[str]) -> None:
        """Remember the columns that the script would write to a place."""
        ordered = with_partitions_last(columns, partitions)
        for dataset in datasets_of(place):
            self._learn(dataset.identifier, ordered, place.short)
            last = len(ordered) - len(partitions)
            self._partitions[key_of_dataset(dataset.identifier)] = ordered[last:]
            # A partition that the script writes to its own path is a part of the data above it.
            name = above_partitions(dataset.identifier.name)
            undated = DEFAULT_TRIMMING.dataset(dataset).identifier
            if place.is_of_files and undated.name not in (name, dataset.identifier.name):
                before = self._columns.get(key_of_dataset(undated))
                self._learn(undated, with_more_columns(before, ordered), place.short)
            if place.is_of_files and name != dataset.identifier.name:
                whole = attrs.evolve(dataset.identifier, name=name)
                before = self._columns.get(key_of_dataset(whole))
                inside = columns_in_path(dataset.identifier.name)
                self._learn(
                    whole, with_more_columns(without(with_more_columns(before, ordered), inside), inside), place.short
                )

    def _learn(self, identifier: Identifier, columns: Columns, format_: str) -> None:
        key = key_of_dataset(identifier)
        self._columns[key] = columns
        self._own[key] = format_
        self.record("columns", key=key, columns=columns)


def _partitions_of_patterns(place: DataPlace) -> Columns:
    """Return the partitions that patterns name, such as `day=*`: these are no columns for Spark."""
    return tuple(each for path in place.paths if has_wildcards(path) for each in columns_in_path(path))


def _folders_of_patterns(place: DataPlace, name: str) -> int:
    """Return how many folders of a dataset the patterns of a place name: their partitions are no columns for Spark."""
    below = (path.partition(name)[2].strip("/") for path in place.paths if has_wildcards(path))
    return max((each.count("/") + 1 for each in below if each), default=0)


def decision_of(file: str, line: int) -> str:
    """Return the name of the decisions on a line."""
    return f"{file}:{line}"


def _read_again(columns: Columns, format_: str, *, header: bool, inferred: bool) -> Columns:
    """Return the columns that Spark finds in files, without folders, of a format that the script itself has written."""
    if format_ == "text":
        return (("value", "STRING"),)
    if format_ == "csv":
        names = [name if header else f"_c{at}" for at, (name, _) in enumerate(columns)]
        return tuple((name, type_ if inferred else "STRING") for name, (_, type_) in zip(names, columns, strict=True))
    if format_ == "json":
        return tuple(sorted((name, _INFERRED_TYPES.get(type_.upper(), type_)) for name, type_ in columns))
    return columns


def shortened(text: str) -> str:
    """Return a text on one line, of readable length."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]}..."
