"""
Cache the readings of the texts of statements that Spark can't analyze.

A reading depends only on the text, its dialect and the known columns, which are its key. So if no file has changed, no
text is parsed again, and the parser, which is large, is not imported.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.workbench.predict.caching.cache import KeptAnswers, base_of
from openlineage_pyspark.workbench.predict.from_text.reading import Known, TextLineage, read_statement
from openlineage_pyspark.workbench.predict.scripts import Given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds
    from openlineage_pyspark.workbench.predict.from_text.reading import ReadStatement


@contextmanager
def kept_readings(folder: Path | None, unkept: Callable[[OSError], None] | None = None) -> Iterator[ReadStatement]:
    """
    Yield a reader of the texts of statements, which caches its readings.

    Args:
        folder: the folder of the cache; None to cache nothing.
        unkept: is called with the error if the readings can't be cached; None to raise it.

    Raises:
        OSError: the folder can't be written.
    """
    if folder is None:
        yield read_statement
        return
    with KeptAnswers(folder, unkept) as store:
        readings = KeptReadings(store)
        yield readings.read
        readings.keep()


class KeptReadings:
    """
    The cached readings in a folder.

    Args:
        store: the file that holds them.
    """

    def __init__(self, store: KeptAnswers) -> None:
        self._store = store
        self._base = base_of(Given())
        self._used: set[str] = set()
        self._made: dict[str, bytes] = {}

    def read(self, statement: str, known: Known | None = None, dialect: str = "") -> tuple[TextLineage, ...] | None:
        """Return what `read_statement` returns."""
        key = self._key(statement, known or Known(), dialect)
        kept = self._made.get(key) or self._store.reading(key)
        if kept is not None:
            try:
                found = _reading(json.loads(kept))
            except (ValueError, KeyError, TypeError):
                found = read_statement(statement, known, dialect)
            self._used.add(key)
            return found
        found = read_statement(statement, known, dialect)
        self._made[key] = json.dumps(None if found is None else [_document(each) for each in found]).encode()
        return found

    def keep(self) -> None:
        """
        Write the new readings, and the time at which the others were used.

        Raises:
            OSError: the file can't be written.
        """
        self._store.keep_readings(self._made, self._used)

    def _key(self, statement: str, known: Known, dialect: str) -> str:
        columns = sorted((name, list(each)) for name, each in known.columns.items())
        used = sorted((name, sorted(each)) for name, each in known.used.items())
        parts = json.dumps([self._base, statement, dialect, columns, used, sorted(known.variables)])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _document(read: TextLineage) -> dict[str, Any]:
    return {
        "target": read.target,
        "tables": read.tables,
        "columns": [[name, _of_sources(sources)] for name, sources in read.columns],
        "whole": read.whole,
        "byPosition": read.by_position,
        "given": sorted(read.given),
        "rows": _of_sources(read.rows),
        "rowsKnown": read.rows_known,
        "proven": sorted(read.proven),
        "passed": read.passed,
    }


def _of_sources(sources: SourceKinds | None) -> list[Any] | None:
    if sources is None:
        return None
    return [[table, column, sorted(map(int, kinds))] for (table, column), kinds in sources.items()]


def _reading(document: Any) -> tuple[TextLineage, ...] | None:
    return None if document is None else tuple(map(_text_lineage, document))


def _text_lineage(values: Any) -> TextLineage:
    return TextLineage(
        values["target"],
        tuple(values["tables"]),
        tuple((name, _sources(sources)) for name, sources in values["columns"]),
        values["whole"],
        values["byPosition"],
        frozenset(values["given"]),
        _sources(values["rows"]) or {},
        values["rowsKnown"],
        frozenset((table, column) for table, column in values["proven"]),
        values["passed"],
    )


def _sources(document: Any) -> SourceKinds | None:
    if document is None:
        return None
    return {(table, column): frozenset(map(UseKind, kinds)) for table, column, kinds in document}
