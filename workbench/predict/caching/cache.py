"""
Cache Spark's results for statements, each under a key that represents everything on which the result depends.

The results are in one SQLite file, so that each can be read without the others. The file holds only values and no code;
a result that is not a valid value counts as absent.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
import time
import zlib
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.caching.kept_lineage import document_of_lineage, lineage_of_document
from openlineage_pyspark.workbench.predict.query import walked_query
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import Loop, ScriptStatement
from openlineage_pyspark.workbench.predict.tables.consequence import Consequence
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from openlineage_pyspark.workbench.report import WalkedPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.predict.scripts import Given
    from openlineage_pyspark.workbench.report import Lineage

_FORMAT = 9
_FILE = "answers.sqlite"
_PACKAGES = ("openlineage-pyspark", "pyspark", "sqlglot")
# The sources that make the answers: during development, they change while the version stays the same.
_SOURCES = tuple("facets listener workbench/predict".split())
_ENDINGS = frozenset({".java", ".py"})
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, used REAL NOT NULL, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS opaque (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS readings (key TEXT PRIMARY KEY, used REAL NOT NULL, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (digest TEXT PRIMARY KEY, used REAL NOT NULL) WITHOUT ROWID;
"""
_MOST_BYTES = 256 << 20
_SECONDS_OF_OTHERS = 30.0
_AT_ONCE = 500


@attrs.frozen
class KeptAnswer:
    """
    Spark's result for a statement, and the statement's changes for later ones.

    Args:
        analyzed: Spark's result.
        effects: the changes.
        lineage: the lineage of its analyzed plan; None if it has none.
        document: the JSON of what `Lineage.to_dict` returns for it; empty if it has none.
    """

    analyzed: Analyzed
    effects: tuple[Consequence, ...] = ()
    lineage: Lineage | None = None
    document: str = ""


def base_of(given: Given) -> str:
    """
    Return a hash of everything on which all answers depend.

    These are the format of the cache, the packages, this program, the properties, the dialect, the time zone, and
    whether shapes are requested.
    """
    versions = [_version(name) for name in _PACKAGES]
    parts = [_FORMAT, versions, _program(), dict(given.conf), given.dialect, time.tzname, given.shapes]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


@functools.cache
def _program() -> str:
    """Return a hash of this program's source files that make the answers."""
    package = Path(__file__).parents[3]
    found = hashlib.sha256()
    for path in sorted(each for name in _SOURCES for each in (package / name).rglob("*") if each.suffix in _ENDINGS):
        found.update(path.read_bytes())
    return found.hexdigest()[:32]


class KeptAnswers:
    """
    The cached answers in a folder. Use it in a `with` statement.

    Args:
        folder: the folder, which is created if it does not exist.
        unkept: is called with the first error of writing, such as a full disk; nothing is written after it. None to
            raise such errors.

    Raises:
        OSError: the folder can't be written.
    """

    def __init__(self, folder: Path, unkept: Callable[[OSError], None] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / _FILE
        self._connection = self._opened()
        self._unkept = unkept
        self._is_writable = True

    def __enter__(self) -> KeptAnswers:
        """Return these answers."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def read(self, keys: Collection[str]) -> dict[str, KeptAnswer]:
        """
        Return the answers that are cached under some keys.

        Raises:
            OSError: the file can't be read.
        """
        found = {}
        for key, document in self._rows("SELECT key, document FROM answers WHERE key IN", keys):
            answer = _answer_in(document)
            if answer is not None:
                found[str(key)] = answer
        return found

    def keep(self, answers: Mapping[str, KeptAnswer], known: Collection[str]) -> None:
        """
        Cache answers, and drop the least recently used ones if there are too many.

        Args:
            answers: all answers of a run, by their keys.
            known: the keys of those that are already cached.

        Raises:
            OSError: the file can't be written.
        """
        now = time.time()
        used = [(now, key) for key in answers if key in known]
        new = [(key, now, _document(each)) for key, each in answers.items() if key not in known]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany("UPDATE answers SET used = ? WHERE key = ?", used)
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", new)
            _forget(connection, now)

        self._write(write)

    def reading(self, key: str) -> bytes | None:
        """
        Return the reading of a statement's text that is cached under a key; None if there is none.

        Raises:
            OSError: the file can't be read.
        """
        row = next(self._rows("SELECT document FROM readings WHERE key IN", (key,)), None)
        return None if row is None else bytes(row[0])

    def keep_readings(self, readings: Mapping[str, bytes], known: Iterable[str]) -> None:
        """
        Cache readings of texts, and drop the least recently used answers and readings if there are too many.

        Args:
            readings: the new ones, by their keys.
            known: the keys of those that are already cached.

        Raises:
            OSError: the file can't be written.
        """
        now = time.time()
        used = [(now, key) for key in known]
        new = [(key, now, document) for key, document in readings.items()]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany("UPDATE readings SET used = ? WHERE key = ?", used)
            connection.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?)", new)
            _forget(connection, now)

        self._write(write)

    def unseen(self, digests: Collection[str]) -> set[str]:
        """
        Return those digests of texts that `see` has not kept, or that were dropped since then.

        Raises:
            OSError: the file can't be read.
        """
        return set(digests) - {str(each) for (each,) in self._rows("SELECT digest FROM seen WHERE digest IN", digests)}

    def see(self, digests: Iterable[str]) -> None:
        """
        Keep the digests of the texts whose answers are cached.

        Raises:
            OSError: the file can't be written.
        """
        now = time.time()
        rows = [(each, now) for each in digests]
        self._write(lambda connection: connection.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?)", rows))

    def opaque(self) -> frozenset[str]:
        """
        Return the digests of statements that have seen or changed more than their texts show.

        Raises:
            OSError: the file can't be read.
        """
        with _as_os_error(self._path, "read"):
            return frozenset(str(digest) for (digest,) in self._connection.execute("SELECT digest FROM opaque"))

    def add_opaque(self, digests: Iterable[str]) -> None:
        """
        Keep the digests of such statements.

        Raises:
            OSError: the file can't be written.
        """
        rows = [(each,) for each in digests]
        self._write(lambda connection: connection.executemany("INSERT OR IGNORE INTO opaque VALUES (?)", rows))

    def _write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Write in one transaction, and nothing more after an error: an answer must not outlive what it depends on."""
        if not self._is_writable:
            return
        try:
            with _as_os_error(self._path), self._connection as connection:
                write(connection)
        except OSError as problem:
            if self._unkept is None:
                raise
            self._is_writable = False
            self._unkept(problem)

    def _rows(self, query: str, values: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query that ends with IN, for a list of values: SQLite takes only some of them at once."""
        ordered = sorted(values)
        for at in range(0, len(ordered), _AT_ONCE):
            some = ordered[at : at + _AT_ONCE]
            with _as_os_error(self._path, "read"):
                rows = self._connection.execute(f"{query} ({', '.join('?' * len(some))})", some).fetchall()
            yield from rows

    def _opened(self) -> sqlite3.Connection:
        """Return the connection to the file; a file of another kind is replaced."""
        with _as_os_error(self._path):
            try:
                return _connection(self._path)
            except sqlite3.DatabaseError as problem:
                if isinstance(problem, sqlite3.OperationalError):
                    raise
                self._path.unlink()
                return _connection(self._path)


def _connection(path: Path) -> sqlite3.Connection:
    # Answers are read in a thread while Spark starts; only one thread at a time uses the connection.
    connection = sqlite3.connect(path, timeout=_SECONDS_OF_OTHERS, check_same_thread=False)
    try:
        connection.executescript(_SCHEMA)
        # A file that is read-only is refused now, and not when all answers are found.
        connection.execute("DELETE FROM seen WHERE false")
        connection.rollback()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _as_os_error(path: Path, done: str = "written") -> Iterator[None]:
    """Raise an error of SQLite as an `OSError` that names the file."""
    try:
        yield
    except sqlite3.Error as problem:
        # SQLite has this class alone for a damaged file.
        advice = ": delete this file" if type(problem) is sqlite3.DatabaseError else ""
        raise OSError(f"{path} can't be {done}: {problem}{advice}") from problem


def _forget(connection: sqlite3.Connection, now: float) -> None:
    """Drop the least recently used answers and readings, if all of them together are too large."""
    whole = 0
    every = "SELECT used, document FROM answers UNION ALL SELECT used, document FROM readings"
    for used, size in connection.execute(
        f"SELECT used, sum(length(document)) FROM ({every}) GROUP BY used ORDER BY used DESC"  # noqa: S608 (no value)
    ).fetchall():
        whole += size
        if whole > _MOST_BYTES and used < now:
            connection.execute("DELETE FROM answers WHERE used <= ?", (used,))
            connection.execute("DELETE FROM readings WHERE used <= ?", (used,))
            connection.execute("DELETE FROM seen WHERE used <= ?", (used,))
            return


def _document(answer: KeptAnswer) -> bytes:
    effects = [
        {**attrs.asdict(each, recurse=False), "table": None if each.table is None else attrs.asdict(each.table)}
        for each in answer.effects
    ]
    lineage = None if answer.lineage is None else document_of_lineage(answer.lineage)
    analyzed, document = document_of_analyzed(answer.analyzed), answer.document
    values = {"analyzed": analyzed, "effects": effects, "lineage": lineage, "document": document}
    return zlib.compress(json.dumps(values).encode(), 1)


def _answer_in(document: bytes) -> KeptAnswer | None:
    """Return a cached answer; None if it can't be read."""
    try:
        values = json.loads(zlib.decompress(document))
        analyzed = analyzed_of_document(values["analyzed"])
        lineage = None if values["lineage"] is None else lineage_of_document(values["lineage"], _walked(analyzed))
        return KeptAnswer(analyzed, tuple(map(_effect, values["effects"])), lineage, str(values["document"]))
    except (ValueError, KeyError, TypeError, IndexError, zlib.error):
        return None


def _walked(analyzed: Analyzed) -> WalkedPlan | None:
    """Return the plan of a cached answer with its lineage, which few callers need."""
    query = analyzed.query
    return None if query is None else WalkedPlan(lambda: walked_query(query))


def _effect(values: Mapping[str, Any]) -> Consequence:
    table = values["table"]
    made = None
    if table is not None:
        identifier = None if table["identifier"] is None else Identifier(**table["identifier"])
        columns = tuple((name, type_) for name, type_ in table["columns"])
        computed = tuple((name, text) for name, text in table["computed"])
        made = DeclaredTable(tuple(table["parts"]), columns, tuple(table["partitions"]), identifier, computed)
    return Consequence(values["kind"], values["name"], tuple(values["parts"]), made, values["from_text"])


def document_of_answer(answer: StatementAnswer) -> dict[str, Any]:
    """Return an answer as plain values."""
    return {
        "statement": attrs.asdict(answer.statement),
        "isDdl": answer.is_ddl,
        "analyzed": document_of_analyzed(answer.analyzed),
    }


def document_of_analyzed(analyzed: Analyzed) -> dict[str, Any]:
    """Return Spark's result for a statement as plain values."""
    return {
        "kind": analyzed.kind,
        "plan": None if analyzed.query is None else analyzed.query.plan,
        "refusal": _document_of(analyzed.refusal),
        "missed": _document_of(analyzed.missed),
        "catalog": analyzed.catalog,
        "database": analyzed.database,
        "tables": {name: query.plan for name, query in analyzed.tables.items()},
        "text": analyzed.text,
        "fromText": [[list(parts), place] for parts, place in analyzed.from_text.items()],
        "shape": analyzed.shape,
        "targets": list(analyzed.targets),
        "computed": [[list(parts), list(columns)] for parts, columns in analyzed.computed.items()],
    }


def _document_of(refusal: Refusal | None) -> dict[str, Any] | None:
    return None if refusal is None else {**attrs.asdict(refusal), "parameters": dict(refusal.parameters)}


def _refusal(document: Mapping[str, Any] | None) -> Refusal | None:
    return None if document is None else Refusal(**document)


def answer_of_document(document: Mapping[str, Any]) -> StatementAnswer:
    """Return the answer that `document_of_answer` has written."""
    values = document["statement"]
    loops = tuple(Loop(**each) for each in values["loops"])
    named = {name: tuple(values[name]) for name in ("variables", "filled")}
    statement = ScriptStatement(**{**values, **named, "loops": loops})
    return StatementAnswer(statement, analyzed_of_document(document["analyzed"]), document["isDdl"])


def analyzed_of_document(document: Mapping[str, Any]) -> Analyzed:
    """Return the result that `document_of_analyzed` has written."""
    plan = document["plan"]
    return Analyzed(
        document["kind"],
        None if plan is None else EncodedQuery(plan),
        _refusal(document["refusal"]),
        _refusal(document["missed"]),
        document["catalog"],
        document["database"],
        {name: EncodedQuery(kept) for name, kept in document["tables"].items()},
        {tuple(parts): place for parts, place in document["fromText"]},
        document["text"],
        document["shape"],
        tuple(document["targets"]),
        {tuple(parts): tuple((name, text) for name, text in columns) for parts, columns in document["computed"]},
    )
