"""
Runs every command on mutated events, stores and arguments, and finds what no command may do.

The rule: no command ends with an exception or hangs; one that ends with 2 says why on standard error; and no file
changes that a command was not told to write.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
from openlineage_pyspark.command import main as command_line
from openlineage_pyspark.workbench.predict.from_text.text import lineage_of_text, unknown_table
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.sql.variables import UnknownVariableError, substituted
from openlineage_pyspark.workbench.questions import QUESTIONS

from support.lineage_events import company, company_of_versions, dataset, lineage, run_event, symlink, taken
from support.recovery_events import application, statement, table

MOST_SECONDS = 30
"""So long a command may take."""

_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1 << 63, 1 << 64, -(1 << 70), 1.5, 1e308, [], {}, [[]], [None], {"": None}, [1, "a"]),
    *("", " ", "\n", "a\tb", "\u202e", "\ud800", "é", "e\u0301", "x" * 20_000, "a.b.c", "`", "'", '"', "`a``b`", "a@b"),
    *("../../etc/passwd", "/", "//", ".", "s3://", "file:///", "%00", "\x00", "\x1b[31m", "<script>", "=1+1", "-- x"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2099-01-01T00:00:00Z", "2026-01-01", "now", "NaN"),
    *("START", "COMPLETE", "DONE", "RUNNING", "job0", "t0", "lake", "DROP", "OVERWRITE", "RENAME", "ALTER", "1", "-1"),
    *('{"snapshot_id":1,"position":0}', '{"reservoirVersion":1,"index":-1}', '{"reservoirVersion":"x"}', "{", "[]"),
    *("INSERT INTO a SELECT * FROM b", "DROP TABLE x", "SELECT", "MERGE INTO", "((((", "CREATE TABLE t AS SELECT 1 a"),
)
_WORDS = (
    "t0",
    "t1",
    "t0.a",
    "b",
    "lake",
    "job0",
    "job:job0",
    "run:",
    "t0@latest",
    "t0@1",
    "t0@2d",
    "db.a",
    "ice.db.a.x",
)
_TIMES = (
    "",
    "now",
    "2d",
    "0d",
    "99999999999999d",
    "2026-01-01",
    "0001-01-01",
    "9999-12-31T23:59:59Z",
    "yesterday",
    "-1d",
)
_QUERIES = (
    *("SELECT * FROM run", "SELECT", "DROP TABLE run", "SELECT 1; SELECT 2", "SELECT * FROM sqlite_master", "PRAGMA x"),
    *("SELECT job FROM sink_job_lineage", "ATTACH 'x' AS y", "SELECT load_extension('x')", "SELECT * FROM nothing"),
    "WITH a AS (SELECT 1 AS b) SELECT count(*) FROM a, a AS c",
)
# What would act outside of the folder, or wait for a person, a network, or a Spark.
_NEVER = frozenset({"--open", "--help", "-h", "--spark", "--packages", "--version", "--timeout", "--where"})
# Nobody listens at the first two.
_RECEIVERS = (
    "http://127.0.0.1:9/x",
    "https://u:p@127.0.0.1:9",
    "file:out.ndjson",
    "file:no/such/out",
    "ftp://x",
    "http://[",
    "",
)
_PROPERTIES = (
    *(
        "transport.type=http",
        "transport.type=file",
        "transport.type=composite",
        "transport.type=nothing",
        "disabled=maybe",
    ),
    *(
        "transport.url=http://127.0.0.1:9",
        "transport.url=http://[",
        "transport.location=out.ndjson",
        "transport.location=/",
    ),
    *(
        "transport.auth.type=api_key",
        "transport.auth.apiKey=k",
        "transport.timeoutInMillis=x",
        "spool.dir=spool",
        "spool.dir=\0",
    ),
    *(
        "transport.transports.a.type=http",
        "transport.transports.a.url=http://127.0.0.1:9",
        "=",
        "x",
        "facets.sql.disabled=1",
    ),
)
_SQL = (
    "CREATE TABLE a AS SELECT b, sum(c) AS s FROM `d`.e f JOIN g USING (k) WHERE ${a} > 'x;y' GROUP BY b; -- ${b}\n",
    "-- Databricks notebook source\nINSERT INTO a SELECT 1\n-- COMMAND ----------\n-- MAGIC %sql SELECT ${c}\n",
    "# Databricks notebook source\n# MAGIC %sql\n# MAGIC MERGE INTO a USING b ON a.k = b.k WHEN MATCHED THEN DELETE\n",
    "BEGIN DECLARE x INT; FOR r AS SELECT 1 DO IF x = 1 THEN INSERT INTO a TABLE b; END IF; END FOR; END; SELECT $$a$$",
    "WITH c AS (SELECT * FROM a) INSERT OVERWRITE t PARTITION (p = 1) SELECT c.x, (SELECT max(y) FROM c) FROM c, d;",
)
_PIECES = (
    "",
    "(",
    ")",
    ";",
    "'",
    '"',
    "`",
    "--",
    "/*",
    "*/",
    "${",
    "}",
    "$a$",
    "BEGIN",
    "END",
    "SELECT",
    "\0",
    "\ud800",
    "é",
    "%sql",
)
_WRITTEN = frozenset({"output", "keep"})
_SEEDS = 8


@attrs.frozen
class Finding:
    """
    Something that a command did and may not.

    Args:
        command: its arguments.
        what: what it did.
        place: the round.
    """

    command: tuple[str, ...]
    what: str
    place: str


class Fuzzer:
    """
    Runs rounds of commands.

    Args:
        folder: where all files are made; nothing else may be there.
        seed: makes the same rounds again.

    Attributes:
        events: how many events were mutated.
        stores: how many stores were.
        calls: how many commands ran.
        findings: what they did and may not.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.events = self.stores = self.calls = 0
        self.findings: list[Finding] = []
        # What is mutated, and the files that nothing may change.
        self.folder.mkdir(parents=True, exist_ok=True)
        self._bases = [_base(seed) for seed in range(_SEEDS)]
        self._neighbours = self.folder / "neighbours"
        self._neighbours.mkdir(exist_ok=True)
        (self._neighbours / "notes.txt").write_text("somebody's notes\n")
        (self._neighbours / "empty.ndjson").touch()
        good = [json.dumps(event) for event in self._bases[0][:20]]
        (self._neighbours / "good.ndjson").write_text("\n".join(good) + "\n")
        (self._neighbours / "good.json.gz").write_bytes(gzip.compress("\n".join(good).encode()))
        (self._neighbours / "cut.ndjson.gz").write_bytes(gzip.compress("\n".join(good).encode())[:-40])
        (self._neighbours / os.fsdecode(b"n\xff.ndjson")).write_text(good[0])
        with contextlib.closing(sqlite3.connect(self._neighbours / "shop.db")) as shop:
            shop.executescript("PRAGMA user_version = 1; CREATE TABLE IF NOT EXISTS customer (name);")
        self._made: list[bytes] = []
        for number, base in enumerate(self._bases):
            path = self._neighbours / f"store{number}.db"
            taken(path, base)
            with contextlib.closing(sqlite3.connect(path)) as made:
                made.execute("PRAGMA journal_mode = DELETE")
            self._made.append(path.read_bytes())
        self._before = self._hashes()
        self._named: set[int] = set()

    def run(self, rounds: int, *, first: int = 0, tell: Callable[[Fuzzer, int], None] = lambda *_: None) -> None:
        """Run some rounds: each one has files of its own."""
        for number in range(first, first + rounds):
            chance = random.Random(f"{self.seed}/{number}")  # noqa: S311 (a test's choice)
            work = self.folder / f"round{number}"
            work.mkdir()
            with _within(work):
                self._round(chance, work, f"{self.seed}/{number}")
            for name in self._named:
                # Somebody's store may be written by who names it.
                (self._neighbours / f"store{name}.db").write_bytes(self._made[name])
            self._named.clear()
            now = self._hashes()
            if now != self._before:
                names = sorted(
                    name for name in now.keys() | self._before.keys() if now.get(name) != self._before.get(name)
                )
                what = f"files that nobody named were changed: {names}"
                self.findings.append(Finding((), what, f"{self.seed}/{number}"))
                self._before = now
            if not self.findings or self.findings[-1].place != f"{self.seed}/{number}":
                _remove(work)
            tell(self, number)

    def _round(self, chance: random.Random, work: Path, place: str) -> None:
        kind = chance.choice(("events", "events", "store", "arguments", "sql"))
        if kind == "sql":
            self._read_sql(chance, place)
            return
        if kind == "events":
            self._write_events(chance, work / "events.ndjson")
            self._call(("ingest", "events.ndjson", "--store", "s.db"), place)
        elif kind == "store":
            self.stores += 1
            (work / "s.db").write_bytes(_damaged(chance, chance.choice(self._made)))
        else:
            (work / "s.db").write_bytes(chance.choice(self._made))
        if not (work / "events.ndjson").exists():
            (work / "events.ndjson").write_bytes((self._neighbours / "good.ndjson").read_bytes())
        for _ in range(chance.randint(4, 9)):
            self._call(self._command(chance, wild=kind == "arguments"), place)

    def _read_sql(self, chance: random.Random, place: str) -> None:
        """Read mutated SQL as `lineage` does: its statements, its variables, and what their texts tell."""
        for _ in range(20):
            text = _mutated_sql(chance)
            self.calls += 1
            what = ""
            try:
                with _limited():
                    for each in statements_of(text, "f.sql"):
                        with contextlib.suppress(UnknownVariableError):
                            substituted(each.text, {"a": "1", "b": "${a}", "c": "${c}"}.get)
                        lineage_of_text(each.text, "no", lambda _: None, unknown_table, is_sql=chance.random() < 0.5)
            except _TooLongError:
                what = f"took longer than {MOST_SECONDS} s"
            except BaseException:  # noqa: BLE001 (to find them is the point)
                what = traceback.format_exc()
            if what:
                self.findings.append(Finding(("lineage", text), what, place))

    def _write_events(self, chance: random.Random, path: Path) -> None:
        base = chance.choice(self._bases)
        begin = chance.randrange(len(base))
        chosen = base[begin : begin + chance.randint(2, 14)]
        texts = []
        for event in chosen:
            text = json.dumps(event)
            if chance.random() < 0.8:
                text = _mutated(chance, event)
                self.events += 1
            texts.append(text)
        path.write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))

    def _command(self, chance: random.Random, *, wild: bool) -> tuple[str, ...]:
        name = chance.choice(_NAMES)
        if not wild or chance.random() < 0.3:
            return self._plain(chance, name)
        words = [name]
        parser = _parser(name)
        below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        if below and below[0].choices:
            sub = chance.choice(sorted(below[0].choices))
            words.append(sub)
            parser = below[0].choices[sub]
        for action in parser._actions:
            words += self._argument(chance, action)
        if chance.random() < 0.2:
            words.append(chance.choice(("--nothing", "x", "-", "--", "", "\ud8ff")))
        return tuple(words)

    def _argument(self, chance: random.Random, action: argparse.Action) -> list[str]:
        if isinstance(action, argparse._SubParsersAction) or set(action.option_strings) & _NEVER:
            return []
        is_option = bool(action.option_strings)
        if is_option and not action.required and action.dest != "store" and chance.random() < 0.75:
            return []
        if not is_option and action.nargs in ("?", "*") and chance.random() < 0.3:
            return []
        words = [chance.choice(action.option_strings)] if is_option else []
        if action.nargs == 0:
            return words
        return [*words, self._value(chance, action)]

    def _value(self, chance: random.Random, action: argparse.Action) -> str:
        if action.dest in _WRITTEN:
            return chance.choice(("out.html", "out.json", "out.svg", "out", "no/such/out"))
        if action.choices and chance.random() < 0.9:
            return str(chance.choice(sorted(map(str, action.choices))))
        if action.dest == "store" and chance.random() < 0.85:
            return "s.db"
        if action.dest in ("to", "conf") and chance.random() < 0.8:
            return chance.choice(_RECEIVERS if action.dest == "to" else _PROPERTIES)
        if action.dest == "patience":
            return chance.choice(("0", "0.1", "-1", "nan", "1e-9", "x"))
        pools = [_TIMES, _WORDS, self._files(), ("0", "1", "3", "-1", "1e9", "x", "999999999999999999999"), _QUERIES]
        return chance.choice(chance.choice(pools))

    def _files(self) -> tuple[str, ...]:
        names = sorted(self._before)
        return ("events.ndjson", "s.db", "nothing.ndjson", ".", *(f"../neighbours/{name}" for name in names))

    def _plain(self, chance: random.Random, name: str) -> tuple[str, ...]:
        word, other = chance.choice(_WORDS), chance.choice(_WORDS)
        more: dict[str, tuple[str, ...]] = {
            "upstream": (word,), "downstream": (word,), "history": (word,), "recover": (word,),
            "between": (word, other),
            "diff": (chance.choice(_TIMES) or "now", "now"), "sql": (chance.choice(_QUERIES),), "jobs": (), "runs": (),
            "datasets": (), "view": (), "unused": (), "blame": (word,), "graph": (),
            "show": ("events.ndjson",), "validate": ("events.ndjson",), "doctor": (*_conf(chance), *_conf(chance)),
            "send": ("events.ndjson", "--to", chance.choice(_RECEIVERS), "--patience", "0", *_conf(chance)),
            "replay": ("--spool", "spool", "--to", chance.choice(_RECEIVERS), "--patience", "0", *_conf(chance)),
            "ingest": ("events.ndjson",), "store": (chance.choice(("rebuild", "expire", "forget")),),
        }  # fmt: skip
        if name not in more:
            return ("view", "s.db", "--format", chance.choice(("html", "json", "svg", "mermaid", "dot")), "-o", "out")
        words = (name, *more[name])
        if name == "store":
            words = (*words, *{"expire": ("--older-than", "1d", "--yes"), "forget": (word, "--yes")}.get(words[1], ()))
        if name in ("show", "validate", "doctor", "send", "replay"):
            return words
        if name == "view":
            return ("view", "s.db", "--format", chance.choice(("html", "json", "svg", "mermaid", "dot")), "-o", "out")
        if (
            name in ("upstream", "downstream", "between", "jobs", "runs", "datasets", "history", "unused", "blame")
            and chance.random() < 0.5
        ):
            words = (*words, "--format", "json")
        return (*words, "--store", "s.db")

    def _call(self, command: tuple[str, ...], place: str) -> None:
        self.calls += 1
        self._named |= {number for number in range(_SEEDS) if f"../neighbours/store{number}.db" in command}
        output, errors = io.StringIO(), io.StringIO()
        before = sys.stdin
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'{"a": 1}\nSELECT 1\n')))
        status: object = 0
        what = ""
        try:
            with _limited(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                status = command_line.main(command)
        except SystemExit as ended:
            status = ended.code
        except _TooLongError:
            what = f"took longer than {MOST_SECONDS} s"
        except BaseException:  # noqa: BLE001 (to find them is the point)
            what = traceback.format_exc()
        finally:
            sys.stdin = before
        said = errors.getvalue()
        if not what and (status not in (0, 1, 2, 3) or "Traceback" in said):
            what = f"ended with {status!r}: {said[-2000:]}"
        if not what and status == 2 and len(said.strip()) < 20:
            what = f"ended with 2 and the words {said!r}"
        if not what and status == 1 and not said.strip() and not output.getvalue().strip():
            what = "ended with 1 without a word"
        if what:
            self.findings.append(Finding(command, what, place))

    def _hashes(self) -> dict[str, str]:
        return {
            each.name: hashlib.sha256(each.read_bytes()).hexdigest()
            for each in sorted(self._neighbours.iterdir())
            if not each.name.endswith(("-shm", "-wal"))
        }


class _TooLongError(BaseException):
    """A command takes too long."""


# `lineage` would start a Spark: what it does before and after that has rounds of its own.
_NAMES = tuple(sorted(set(command_line._COMMANDS) - {"lineage"}))


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    below = parser.add_subparsers()
    module = import_module(f"openlineage_pyspark.command.{command_line._COMMANDS[name][0]}")
    if name in QUESTIONS:
        module.add_question(below, name)
    else:
        module.add_to(below)
    found: argparse.ArgumentParser = below.choices[name]
    return found


@contextlib.contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _remove(folder: Path) -> None:
    for each in sorted(folder.rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() and not each.is_symlink() else each.unlink()
    folder.rmdir()


def _base(seed: int) -> list[dict[str, Any]]:
    """Return events of many shapes, the same for a seed."""
    if seed % 4 == 0:
        return company(seed, tables=8, jobs=12)
    if seed % 4 == 1:
        return company_of_versions(seed, steps=25)[0]
    if seed % 4 == 2:
        return _lake(seed)
    return _full(seed)


def _lake(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    names, events = "abcde", application("app", 0, "spark-submit", "app.py")
    versions = dict.fromkeys(names, 0)
    for minute in range(1, 20):
        source, target = chance.sample(names, 2)
        versions[target] += 1
        before, now = (str(versions[target] - step) for step in (1, 0))
        change = chance.choice(("", "", "OVERWRITE", "CREATE", "DROP", "TRUNCATE", "ALTER", "RENAME"))
        sql = chance.choice(("INSERT INTO db.{1} SELECT * FROM db.{0}", "INSERT OVERWRITE db.{1} SELECT 1", "")).format(
            source, target
        )
        lake = chance.choice(("iceberg", "delta", "parquet"))
        output = table(target, now if lake != "parquet" else "", parent=before, change=change, lake=lake)
        read = table(source, str(versions[source]) if versions[source] else "")
        gaps = ("not understood",) if chance.random() < 0.2 else ()
        ends = chance.choice(("COMPLETE", "COMPLETE", "FAIL", "ABORT", ""))
        events += statement(
            f"job{source}{target}", minute, sql, (read,), output, gaps=gaps, application="app", ends=ends
        )
    return events


def _full(seed: int) -> list[dict[str, Any]]:
    """Return events with facets that the others lack: steps, statistics, streams, call sites, events without runs."""
    shown = json.loads((Path(__file__).parents[1] / "golden" / "facets" / "full_event.json").read_text("utf-8"))
    offsets = [{"snapshot_id": 1, "position": 0}, {"snapshot_id": 2, "position": 3}]
    batch = {
        "batchId": seed, "time": "2026-01-01T00:00:30Z",
        "sources": [{
            "namespace": "lake", "name": "t0", "from": json.dumps(offsets[0]), "to": json.dumps(offsets[1]),
            "version": "2", "rows": 3,
        }],
        "sinks": [{"namespace": "lake", "name": "t1", "version": "5", "parent": "4", "change": "", "rows": 3}],
    }  # fmt: skip
    streamed = run_event(
        "job0", "RUNNING", 1, inputs=(dataset("t0", columns=("a", "b")),), outputs=(dataset("t1", columns=("a",)),),
        pyspark_micro_batches={"batches": [batch], "queryId": "q"}, pyspark_streaming_query={"queryId": "q"},
    )  # fmt: skip
    output = dataset(
        "t2", columns=("a", "b"), columnLineage=lineage(a=[("t1", "a", "IDENTITY")], b=[("t1", "b", "AGGREGATION")]),
        symlinks=symlink("db.a", "ice.db.a"),
    )  # fmt: skip
    output["outputFacets"] = {"outputStatistics": {"rowCount": 3, "size": 10}}
    plain = run_event("job1", "COMPLETE", 2, inputs=(dataset("t1", columns=("a", "b")),), outputs=(output,))
    alone = {key: plain[key] for key in ("eventTime", "producer", "schemaURL")}
    return [
        shown, streamed, plain, {**alone, "dataset": dataset("t0", columns=("a",))},
        {**alone, "job": plain["job"], "inputs": plain["inputs"], "outputs": plain["outputs"]},
    ]  # fmt: skip


def _mutated(chance: random.Random, event: dict[str, Any]) -> str:
    """Return an event with some places changed; rarely as a text that is cut or has other characters."""
    changed = json.loads(json.dumps(event))
    for _ in range(chance.randint(1, 4)):
        _change(chance, changed)
    text = json.dumps(changed, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.1:
        at = chance.randrange(len(text))
        how = chance.randrange(3)
        text = text[:at] if how == 0 else text[:at] + chance.choice('{}[]",:\\x\0é\n') + text[at + how - 1 :]
    return text


def _change(chance: random.Random, event: dict[str, Any]) -> None:
    places = list(_places(event))
    if not places:
        return
    holder, key = chance.choice(places)
    how = chance.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[str(chance.choice(_ODD_VALUES))] = holder[key]
    elif how == 2:
        other, other_key = chance.choice(places)
        with contextlib.suppress(KeyError, IndexError):
            holder[key] = json.loads(json.dumps(other[other_key]))
    elif how == 3:
        holder[key] = [holder[key]] * chance.randint(0, 3)
    else:
        holder[key] = chance.choice(_ODD_VALUES)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place of a JSON value: what holds it, and its key."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        keys = list(each) if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        for key in keys:
            yield each, key
            waiting.append(each[key])


def _conf(chance: random.Random) -> tuple[str, ...]:
    """Return an option that sets a property of the listener; seldom something else."""
    found = chance.choice(_PROPERTIES)
    return ("--conf", found if chance.random() < 0.1 else f"spark.openlineage.{found}")


def _mutated_sql(chance: random.Random) -> str:
    text = "".join(chance.choices(_SQL, k=chance.randint(1, 2)))
    for _ in range(chance.randint(0, 6)):
        at, end = (chance.randrange(len(text) + 1) for _ in range(2))
        text = text[:at] + chance.choice(_PIECES) * chance.choice((1, 1, 1, 300)) + text[at + (end % 5) :]
    return text


def _damaged(chance: random.Random, store: bytes) -> bytes:
    """Return the bytes of a store with some of them changed, cut off, or in another place."""
    found = bytearray(store)
    size = int.from_bytes(store[16:18], "big") or 4096
    for _ in range(chance.choice((1, 1, 3, 30, 400))):
        how = chance.randrange(8)
        at = chance.randrange(len(found))
        if how == 0:
            page, other = (chance.randrange(len(found) // size) * size for _ in range(2))
            found[page : page + size], found[other : other + size] = (
                found[other : other + size],
                found[page : page + size],
            )
        elif how == 1:
            length = chance.randint(1, 200)
            found[at : at + length] = bytes(chance.randrange(256) for _ in range(len(found[at : at + length])))
        elif how == 2:
            found[chance.randrange(100)] = chance.randrange(256)
        else:
            found[at] = chance.randrange(256)
    if chance.random() < 0.1:
        del found[chance.randrange(len(found)) :]
    return bytes(found)
