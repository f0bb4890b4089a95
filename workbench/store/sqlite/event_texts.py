"""The texts of events in a SQLite file: packed against each other, and read byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql, id_lists
from openlineage_pyspark.workbench.store.tables.stored import NO_RUN

if TYPE_CHECKING:
    import sqlite3

_NO_PREFIX = CheckedSql("")
_KNOWN = "SELECT run, digest FROM stored_event WHERE run = ? AND digest = ?"
_OF_RUNS = "SELECT run, digest FROM stored_event WHERE run IN ({ids})"
_INSERT = "INSERT INTO stored_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LAST = "SELECT coalesce(max(event), 0) FROM stored_event"
_BASE = "SELECT event FROM version_base WHERE version = ? AND type = ?"
_ROOT = (
    "SELECT min(b.event) FROM job_version v JOIN version_base b ON b.version = v.version AND b.type = ? "
    "WHERE v.job_id IS ?"
)
_ADD_BASE = "INSERT INTO version_base VALUES (?, ?, ?)"
_LAST_DICTIONARY = "SELECT coalesce(max(dictionary), 0) FROM dictionary"
_ADD_DICTIONARY = "INSERT INTO dictionary VALUES (?, ?)"
# For the texts of bases: they take a few dozen MB at most.
_MOST_BYTES = 16_000_000
_MOST_KEYS = 100_000
# A smaller dictionary comes from a few events only: a better one is made as soon as there are more.
_FULL_DICTIONARY = 24_000
_LEVEL = 6
_LARGEST_WINDOW = 15
_SMALLEST_WINDOW = 9
# A dictionary is used as far as the window reaches.
MOST_OF_A_DICTIONARY = 1 << _LARGEST_WINDOW
"""How many bytes of a dictionary are used: its last ones."""
# After this position, the events of one version of a job are the same, apart from versions and counts.
_SHARED = b'"inputs":'


@attrs.frozen
class NewEvent:
    """
    An event to be stored.

    Args:
        run: the number of its run.
        digest: a digest of its text.
        type: its type.
        time: its time.
        version: the number of its version.
        job_id: its job; None without one.
        text: its text.
    """

    run: int
    digest: bytes
    type: str
    time: int
    version: int
    job_id: int | None
    text: bytes


class EventTexts:
    """
    The texts of events over one connection.

    An event is packed against the first one of its version and its type, that one against the first one of its job and
    its type, and that one with a dictionary of the store.

    Args:
        connection: the store.
        prefix: precedes the names of the tables.
    """

    def __init__(self, connection: sqlite3.Connection, prefix: CheckedSql = _NO_PREFIX) -> None:
        self._connection = connection
        self._select = checked_sql(
            "SELECT base, shared, packed FROM {prefix}stored_event WHERE event = ?", prefix=prefix
        )
        self._dictionary = checked_sql("SELECT packed FROM {prefix}dictionary WHERE dictionary = ?", prefix=prefix)
        self._texts: dict[int, bytes] = {}
        self._size = 0
        self._bases: dict[tuple[int, str], int] = {}
        # The texts of bases whose rows are not yet written.
        self._new_bases: dict[int, bytes] = {}

    def forget(self) -> None:
        """Drop the cache, because other processes may have changed the tables."""
        self._texts.clear()
        self._bases.clear()
        self._new_bases.clear()
        self._size = 0

    def text(self, base: int, shared: int, packed: bytes) -> str:
        """Return the text of an event from its packed bytes and the number of its base."""
        return unpack(Packed(packed, shared), self._cached(base)).decode()

    def add(self, events: Iterable[NewEvent]) -> None:
        """Store events, in a transaction. Those that are stored already are left out."""
        number = int(self._connection.execute(_LAST).fetchone()[0])
        every = list(events)
        known = self._known(every)
        waiting = list({key: each for each in every if (key := (each.run, each.digest)) not in known}.values())
        if not waiting:
            return
        self._make_dictionary(waiting)
        rows = [self._row(number, each) for number, each in enumerate(waiting, number + 1)]
        self._connection.executemany(_INSERT, rows)
        self._new_bases.clear()

    def _known(self, events: Iterable[NewEvent]) -> set[tuple[int, bytes]]:
        """Return the runs and the digests of those events that are stored already, and of others of the same runs."""
        found: set[tuple[int, bytes]] = set()
        for listed in id_lists(each.run for each in events if each.run != NO_RUN):
            found.update(self._connection.execute(checked_sql(_OF_RUNS, ids=listed)))
        for each in events:
            # There may be any number of events without a run.
            if each.run == NO_RUN:
                found.update(self._connection.execute(_KNOWN, (each.run, each.digest)))
        return found

    def _row(self, number: int, event: NewEvent) -> tuple[int | bytes | str, ...]:
        """Return the row of an event; the first one of a version and a type is the base of the next ones."""
        base = self._base(event.version, event.type)
        if base is None:
            base = self._first_of_job(event)
            self._connection.execute(_ADD_BASE, (event.version, event.type, number))
            self._bases[event.version, event.type] = number
            self._new_bases[number] = event.text
        packed = pack(event.text, self._new_bases.get(base) or self._cached(base))
        of_event = (number, event.run, event.digest, event.type, event.time, event.version)
        return (*of_event, base, packed.shared, packed.data)

    def _base(self, version: int, type_: str) -> int | None:
        found = self._bases.get((version, type_))
        if found is None:
            row = self._connection.execute(_BASE, (version, type_)).fetchone()
            if row is None:
                return None
            if len(self._bases) > _MOST_KEYS:
                self._bases.clear()
            found = self._bases[version, type_] = int(row[0])
        return found

    def _first_of_job(self, event: NewEvent) -> int:
        """Return the first event of a job and a type; or a dictionary, as a negative number."""
        (found,) = self._connection.execute(_ROOT, (event.type, event.job_id)).fetchone()
        return -self._last_dictionary() if found is None else int(found)

    def _last_dictionary(self) -> int:
        return int(self._connection.execute(_LAST_DICTIONARY).fetchone()[0])

    def _make_dictionary(self, events: list[NewEvent]) -> None:
        """Make a dictionary from events, if there is none that is large enough."""
        last = self._last_dictionary()
        before = self._cached(-last) if last else b""
        if len(before) >= _FULL_DICTIONARY:
            return
        # The events of one run and one version have the same content.
        texts = list({(each.version, each.type): each.text for each in events}.values())
        if not last or sum(map(len, texts)) > 3 * len(before):
            packed = zlib.compress(dictionary_of(texts))
            self._connection.execute(_ADD_DICTIONARY, (last + 1, packed))

    def _cached(self, place: int) -> bytes:
        """Return the text of a base, or with a negative number a dictionary."""
        found = self._texts.get(place)
        if found is None:
            found = self._read(place)
            self._size += len(found)
            if self._size > _MOST_BYTES:
                self._texts.clear()
                self._size = len(found)
            self._texts[place] = found
        return found

    def _read(self, place: int) -> bytes:
        if place < 0:
            return zlib.decompress(self._connection.execute(self._dictionary, (-place,)).fetchone()[0])
        base, shared, packed = self._connection.execute(self._select, (place,)).fetchone()
        return unpack(Packed(packed, shared), self._cached(base))


def texts_in_order(connection: sqlite3.Connection, prefix: CheckedSql = _NO_PREFIX) -> Iterator[tuple[str, str]]:
    """Yield the ids and the texts of all events in the order in which they came."""
    texts, place = EventTexts(connection, prefix), 0
    after = checked_sql(
        "SELECT event, lower(hex(digest)), base, shared, packed FROM {prefix}stored_event WHERE event > ? "
        "ORDER BY event LIMIT 2000",
        prefix=prefix,
    )
    while found := connection.execute(after, (place,)).fetchall():
        place = found[-1][0]
        yield from ((event_id, texts.text(*packed)) for _, event_id, *packed in found)


# Pack the text of an event against a similar text, and unpack it byte for byte.
# Most of an event's text is also in an earlier event of the same job, its base. The common end, if it begins at the
# same position, is not stored; the rest is compressed with the base as the dictionary.


@attrs.frozen
class Packed:
    """
    A packed text.

    Args:
        data: the compressed bytes.
        shared: how many bytes at the end are those at the end of the base, and were not compressed.
    """

    data: bytes
    shared: int = 0


def pack(text: bytes, base: bytes = b"") -> Packed:
    """
    Return a text as it is stored.

    Args:
        text: the text.
        base: a text that is likely to be similar; empty for none.
    """
    shared = _shared(text, base)
    head, dictionary = _without_end(text, shared), _dictionary(base, shared)
    window = max(_SMALLEST_WINDOW, min(_LARGEST_WINDOW, (len(head) + len(dictionary)).bit_length()))
    memory = max(1, window - 7)
    if dictionary:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -window, memory, zlib.Z_DEFAULT_STRATEGY, dictionary)
    else:
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -window, memory)
    return Packed(packer.compress(head) + packer.flush(), shared)


def unpack(packed: Packed, base: bytes) -> bytes:
    """
    Return the original text.

    Args:
        packed: the packed text.
        base: the text that it was packed against.
    """
    dictionary = _dictionary(base, packed.shared)
    unpacker = zlib.decompressobj(-_LARGEST_WINDOW, dictionary) if dictionary else zlib.decompressobj(-_LARGEST_WINDOW)
    head = unpacker.decompress(packed.data) + unpacker.flush()
    return head + base[len(base) - packed.shared :] if packed.shared else head


def dictionary_of(texts: list[bytes]) -> bytes:
    """Return a dictionary for texts without a base: some texts, as many bytes of them as are used."""
    return b"".join(texts)[:MOST_OF_A_DICTIONARY]


def _shared(text: bytes, base: bytes) -> int:
    begin, there = text.find(_SHARED), base.find(_SHARED)
    if begin < 0 or there < 0 or len(text) - begin != len(base) - there:
        return 0
    return len(text) - begin if text.endswith(base[there:]) else 0


def _without_end(text: bytes, shared: int) -> bytes:
    return text[: len(text) - shared]


def _dictionary(base: bytes, shared: int) -> bytes:
    return _without_end(base, shared)[-MOST_OF_A_DICTIONARY:]
