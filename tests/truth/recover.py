"""
Proves recovery by execution: random pipelines get a wrong load, are recovered, and are compared with what is right.

    python tests/truth/recover.py --pipelines 20 --seed 1 --lake iceberg [--kills]

A pipeline runs twice in a real Spark: once with the wrong load, under the listener, and once as it should be. The
first one is recovered by `recover` and `recover apply`; a person's pause is the same Python function again, without
what it must not write, and perhaps killed between its writes. Then each table is compared row by row, all that the
wrong load can't have reached must have no new version, the plan must be empty when it is asked for again, and one
more day is run and compared. No expectation is written by hand.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import time
import traceback
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import attrs
import pyspark
from openlineage_pyspark import register
from openlineage_pyspark.command.main import main as command_line
from openlineage_pyspark.command.store import recover as recover_command
from openlineage_pyspark.workbench.recovery.applying import apply
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
from openlineage_pyspark.workbench.recovery.model.statements import sql_name
from openlineage_pyspark.workbench.store_api import Store
from pyspark.sql import SparkSession
from support import class_archive
from support.lakes import LAKE_CONF, LAKE_JARS

from truth.pipelines import Action, Pipeline, pipeline, streams_to_the_end
from truth.shop import shop
from truth.worlds import Rows, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openlineage_pyspark import Handle
    from openlineage_pyspark.workbench.recovery.model.plan import TableId

OUTCOMES = ("right", "declined", "WRONG", "TOUCHED", "BROKEN")
_PROGRAM = "truth-job"
_PAUSED = 3
_BESIDE = "side-by-side"
# The doubt that a person settles, who lets an application read a version.
_READS = re.compile(
    r"it read version .* and now reads what is current then: let its code read (.*) VERSION AS OF (\S+)"
)
# What he reads about copies, and about streams before tables get the rows of these.
_USES = re.compile(r"Let it use (.*) in place of (.*)\.")
_SWITCHES_FILES = re.compile(r"Move the files of file:(.*) away, and those of file:(.*) there\.")
_READS_ALL = re.compile(r"Let (.*) read all of (.*), and stop it\.")
# The doubts that he settles by leaving out some writes.
_LEAVES = re.compile(r"it also writes (.*), which need no recovery: prevent that")
_UNSEEN = re.compile(r"no version shows whether it wrote (.*): check that by hand")
_TRIES = 200
_CUT = 1500
_THEN, _AFTER = "after the recovery", "on the day after"


@attrs.frozen
class Outcome:
    """
    What came of a pipeline.

    Args:
        kind: `right`; `declined`: nothing was done, for a reason; `WRONG`: a table has other rows; `TOUCHED`: a table
            that was never bad has a new version; `BROKEN`: it stopped in the middle, or with a traceback.
        why: what is different, or why it was declined.
        steps: how many steps the plan had.
        kills: how often it was killed.
        by_hand: for how many applications a person changed which version they read, as the plan says.
        seconds: how long the right pipeline took, the wrong one, and the recovery with the day after.
    """

    kind: str
    why: str = ""
    steps: int = 0
    kills: int = 0
    by_hand: int = 0
    seconds: tuple[int, ...] = ()


class _Killed(BaseException):
    """Ends an application of a plan where `kill -9` would: nothing that it holds in memory is used afterwards."""


class _MortalSession(LiveSession):
    """A session whose process is killed at some statements, before or after they are done."""

    chance: random.Random | None = None
    killed = 0
    is_done = False

    def run(self, sql: str, settings: Sequence[tuple[str, str]] = ()) -> None:
        """Run a statement, and perhaps die before or after it."""
        _MortalSession.is_done = False
        _perhaps_killed(self._run_to_the_end)(sql, settings)

    def _run_to_the_end(self, sql: str, settings: Sequence[tuple[str, str]]) -> None:
        super().run(sql, settings)
        # Later deaths, at something else than a statement, change nothing of it.
        _MortalSession.is_done = True


def _perhaps_killed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and perhaps dies before or after it."""

    def die() -> NoReturn:
        _MortalSession.killed += 1
        raise _Killed

    def called(*arguments: Any) -> Any:
        chance = _MortalSession.chance
        lot = chance.random() if chance is not None else 0.5
        if lot < 0.15:
            die()
        found = function(*arguments)
        if lot > 0.85:
            die()
        return found

    return called


class _Recorded:
    """
    The events of the listener, each action's as those of an application of its own.

    Args:
        spark: the session.
        file: where the listener writes events.
    """

    def __init__(self, spark: SparkSession, file: Path) -> None:
        self._spark = spark
        self._file = file
        self._handle: Handle | None = None
        self._place = 0
        self.lines: list[str] = []

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Let the listener be there meanwhile."""
        where = {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": str(self._file)}
        # Other work on the machine may make it slow.
        where["spark.openlineage.start.timeoutInMillis"] = "300000"
        self.lines.clear()
        self._handle = register(self._spark, where)
        try:
            self._new()
            yield
        finally:
            self._handle.close()
            self._handle = None

    def skip(self) -> None:
        """Leave out what was recorded since."""
        self._new()

    def take(self, job: int, number: int) -> None:
        """Keep what was recorded since, as an application that a command started."""
        application = str(uuid.uuid4())
        events = [json.loads(line) for line in self._new()]
        name = f"job{job}"
        parent = {"run": {"runId": application}, "job": {"namespace": "default", "name": name}}
        for event in events:
            event["run"]["facets"].setdefault("parent", {}).update({**parent, "root": parent})
            event["job"]["name"] = name + event["job"]["name"][event["job"]["name"].find(".") :]
        if not events:
            return
        submission = {"command": [_PROGRAM, str(number)], "workingDirectory": "/", "deployMode": "client"}
        first, last = events[0], events[-1]
        own: dict[str, Any] = {"producer": first["producer"], "schemaURL": first["schemaURL"]}
        own |= {"job": {"namespace": "default", "name": name, "facets": {}}, "inputs": [], "outputs": []}
        start = {"runId": application, "facets": {"pyspark_submission": {**submission, "redacted": False}}}
        events.insert(0, {**own, "eventType": "START", "eventTime": first["eventTime"], "run": start})
        end = {"runId": application, "facets": {}}
        events.append({**own, "eventType": "COMPLETE", "eventTime": last["eventTime"], "run": end})
        self.lines += [json.dumps(event) for event in events]

    def _new(self) -> list[str]:
        assert self._handle is not None
        assert self._handle.flush(60), "the listener is late"
        if not self._file.exists():
            return []
        with self._file.open(encoding="utf-8") as file:
            file.seek(self._place)
            lines = file.readlines()
            self._place = file.tell()
        return lines


class _Trial:
    """
    A pipeline that is run, recovered and compared.

    Args:
        spark: the session.
        folder: for its files.
        lake: `iceberg` or `delta`.
        recorded: the events.
        mode: the mode of recovery.
        column: the column that is asked about; empty for all.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, lake: str, recorded: _Recorded, mode: str, column: str
    ) -> None:
        self._spark, self._folder, self._lake, self._recorded = spark, folder, lake, recorded
        self._mode, self._column = mode, column
        self._events, self._store = folder / "events.ndjson", folder / "lineage.db"
        self._said: list[str] = []
        self._by_hand: set[int] = set()
        self._switched: set[int] = set()
        self._since = time.monotonic()
        self.seconds: list[int] = []

    def _clock(self) -> None:
        self.seconds.append(round(time.monotonic() - self._since))
        self._since = time.monotonic()

    def outcome(self, made: Pipeline) -> Outcome:
        """Return what came of a pipeline."""
        self._folder.mkdir()
        name = f"n{uuid.uuid4().hex[:8]}"
        self._right = World(self._spark, self._folder, self._lake, f"{name}_right", made, wrong=False)
        self._world = World(self._spark, self._folder, self._lake, name, made, wrong=True)
        self._pipeline = made
        self._right_rows = self._made_right()
        self._clock()
        with self._recorded.listening():
            self._world.create()
            self._recorded.take(-1, -1)
            for number, action in enumerate(made.actions):
                self._perform(number, action)
            self._clock()
            found = self._recovered()
        if found.kind == "right":
            found = self._next_day(found)
        self._clock()
        return found

    def _made_right(self) -> dict[str, list[Rows]]:
        """Run the pipeline as it should be; return the rows of its tables at the end, and after one more day."""
        self._right.create()
        found = {}
        for when, actions in ((_THEN, self._pipeline.actions), (_AFTER, self._pipeline.after)):
            for place, action in enumerate(actions):
                self._right.perform(place + (len(self._pipeline.actions) if found else 0), action)
            found[when] = [self._right.rows(place) for place in range(len(self._pipeline.tables))]
        return found

    def _perform(self, number: int, action: Action) -> None:
        self._world.perform(number, action)
        self._recorded.take(action.job, number) if action.seen else self._recorded.skip()

    def _recovered(self) -> Outcome:
        places = range(len(self._pipeline.tables))
        before = [self._world.version(place) for place in places]
        rows = [self._world.rows(place) for place in places]
        bad = self._pipeline.actions[self._pipeline.bad]
        plan = self._folder / "plan.json"
        right = self._folder / "right.sql"
        right.write_text(f"{self._world.loading(bad, bad.rows)};\n", "utf-8")
        expired: list[str] = []
        while True:
            if problem := self._planned(plan, right, expired):
                return Outcome("declined", problem)
            steps = json.loads(plan.read_text("utf-8"))["result"]["steps"]
            declined, harmed = self._applied(plan, steps)
            self._switched = {
                self._place(each["writes"][0]) for each in steps if each["action"] == "switch" and each["writes"]
            }
            # A person plans again, as the checks say.
            named = re.findall(r"plan again with --expired ('[^']*'|\S+)", declined)
            gone = [each.strip("'") for each in named if each.strip("'") not in expired]
            if harmed or not gone:
                break
            expired += gone
        now = [self._world.version(place) for place in places]
        kills = _MortalSession.killed
        reached = self._pipeline.reached(by_column=bool(self._column))
        touched = [place for place in places if place not in reached and before[place] != now[place]]
        if touched:
            return Outcome("TOUCHED", self._tables(touched), len(steps), kills)
        if declined:
            same = rows == [self._world.rows(place) for place in places]
            if harmed or not same:
                return Outcome("BROKEN", declined, len(steps), kills)
            return Outcome("declined", declined, len(steps), kills)
        # The store does not know that the copies took the places of the tables.
        wrong = self._different(_THEN) or ("" if self._mode == _BESIDE else self._asked_again())
        return Outcome("WRONG" if wrong else "right", wrong, len(steps), kills, len(self._by_hand))

    def _next_day(self, found: Outcome) -> Outcome:
        """Go on with the pipeline for a day, as nobody would if its streams or tables were broken."""
        job = None
        try:
            for each in self._streams():
                # As the switch of its source says.
                if each.sources[0] in self._switched:
                    self._world.begin_behind(each)
            for place, action in enumerate(self._pipeline.after):
                job = action.job
                self._world.perform(len(self._pipeline.actions) + place, action)
        except Exception as problem:  # noqa: BLE001 (a stream that can't go on, and whatever else a recovery broke)
            return attrs.evolve(found, kind="WRONG", why=f"job {job} {_AFTER}: {str(problem)[:_CUT]}")
        different = self._different(_AFTER)
        return attrs.evolve(found, kind="WRONG", why=different) if different else found

    def _different(self, when: str) -> str:
        found = []
        for place in range(len(self._pipeline.tables)):
            now, right = self._world.rows(place), self._right_rows[when][place]
            if now != right:
                more, less = sorted((now - right).elements(), key=str), sorted((right - now).elements(), key=str)
                found.append(f"{self._tables([place])} {when}: too many {more[:8]}, missing {less[:8]}")
        return "\n".join(found)

    def _tables(self, places: Sequence[int]) -> str:
        return ", ".join(f"{place} ({self._world.name(place)})" for place in places)

    # The product's own commands.

    def _call(self, *arguments: str) -> tuple[int, str]:
        """Run a command of the product, and return its exit code and what it said."""
        said, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            code = command_line(list(arguments))
        text = said.getvalue() + errors.getvalue()
        self._said.append(f"$ {' '.join(arguments)}\n{text}")
        return code, text

    def _planned(self, plan: Path, right: Path, expired: Sequence[str]) -> str:
        """Make the plan; return why there is none."""
        if self._recorded.lines:
            self._taken_in()
        # That of an earlier try is not written over.
        plan.unlink(missing_ok=True)
        gone = (f"--expired={version}" for version in expired)
        code, text = self._call(*self._asking(plan), "--correct-with", str(right), *gone)
        return text if code else ""

    def _asking(self, plan: Path) -> list[str]:
        """Return the command that asks for a plan."""
        version = self._world.reached(self._pipeline.bad, 0)
        column = [f"--column={self._column}"] if self._column else []
        ref = f"{self._label(0)}@{version}"
        return ["recover", ref, "--store", str(self._store), "--mode", self._mode, *column, "--output", str(plan)]

    def _taken_in(self) -> None:
        self._events.write_text("".join(f"{line}\n" for line in self._recorded.lines), "utf-8")
        self._recorded.lines.clear()
        code, text = self._call("ingest", str(self._events), "--store", str(self._store))
        assert code == 0, text

    def _label(self, place: int) -> str:
        """Return the name by which questions know a table."""
        parts = self._world.table_id(place).parts
        with Store.open(self._store) as store:
            found = {line.name for line in store.datasets().result}
        named = [".".join(parts[1:]), ".".join(parts)]
        return next((name for name in named if name in found), named[0])

    def _asked_again(self) -> str:
        """Ask for the plan again: nothing may be left to do. Return what is."""
        self._recorded.skip()
        if self._recorded.lines:
            self._taken_in()
        again = self._folder / "again.json"
        code, text = self._call(*self._asking(again))
        if code:
            return f"asked again: {text}"
        steps = json.loads(again.read_text("utf-8"))["result"]["steps"]
        return "asked again, the plan is not empty: " + "; ".join(step["title"] for step in steps) if steps else ""

    def _applied(self, plan: Path, steps: Sequence[dict[str, Any]]) -> tuple[str, bool]:
        """Apply the plan as a careful person does; return why it was not finished, and whether a step was done."""
        if not steps:
            return "", False
        accepted = self._accepted(steps)
        if isinstance(accepted, str):
            return accepted, False
        how: list[str] = []
        _MortalSession.killed = 0
        for _ in range(_TRIES):
            try:
                code, text = self._call("recover", "apply", str(plan), "--yes", *accepted, *how)
            except _Killed:
                how = ["--resume"] if self._is_begun(plan) else []
                self._said.append("(killed)")
                continue
            begun = self._is_begun(plan)
            asked = re.search(r"step (\d+) was started and did not end", text)
            if asked is not None and _MortalSession.is_done:
                # A person looks at the table, and sees its rows.
                how = ["--resume", f"--done={asked[1]}"]
                continue
            if code == 0:
                return "", True
            if code != _PAUSED:
                return text[-_CUT:].rpartition("nothing was done")[2], begun
            number = int(re.findall(r"^(\d+)/\d+ ", text, re.MULTILINE)[-1])
            resuming = ("recover", "apply", str(plan), "--yes", *accepted, "--resume")
            if problem := self._done_by_hand(steps[number - 1], resuming):
                return problem, number > 1
            how = ["--resume", f"--done={number}"]
        return "it does not end", True

    def _place(self, table: dict[str, Any]) -> int:
        """Return which table a plan names."""
        return next(
            place
            for place in range(len(self._pipeline.tables))
            if self._world.table_id(place).parts == tuple(table["parts"])
        )

    def _is_begun(self, plan: Path) -> bool:
        return any((plan.parent / "lineage.db.recovery").glob("*.jsonl"))

    def _accepted(self, steps: Sequence[dict[str, Any]]) -> list[str] | str:
        """Return the doubts that are accepted, or why it is declined: what a person can't do is seen beforehand."""
        doubtful = [
            (number, step)
            for number, step in enumerate(steps, 1)
            if step["doubts"] and (step["language"] or step["action"] in ("run", "switch"))
        ]
        unsettled = [doubt for _, step in doubtful for doubt in step["doubts"] if not self._is_settled(step, doubt)]
        if unsettled:
            return "doubts: " + "; ".join(dict.fromkeys(unsettled))
        for step in steps:
            is_clear = step["action"] == "stop" or _SWITCHES_FILES.fullmatch(step["title"])
            if not (step["language"] or step["move"] or is_clear or self._is_of_application(step)):
                return f"a person finds the way: {step['title']} {'; '.join((*step['doubts'], *step['notes']))}"
        self._by_hand |= {number for number, _ in doubtful}
        return [f"--accept-doubt={number}" for number, step in doubtful if step["language"]]

    @staticmethod
    def _is_of_application(step: dict[str, Any]) -> bool:
        """Return whether a person starts an application, and may let it use copies."""
        return step["action"] == "run" and bool(step["code"]) and all(c.startswith(_PROGRAM) for c in step["code"])

    def _is_settled(self, step: dict[str, Any], doubt: str) -> bool:
        """Return whether a person settles a doubt, who changes the code of an application."""
        actions = [self._pipeline.actions[int(code.split()[1])] for code in step["code"] if code.startswith(_PROGRAM)]
        if actions and (_LEAVES.fullmatch(doubt) or _UNSEEN.fullmatch(doubt)):
            return True
        return bool(actions) and _READS.fullmatch(doubt) is not None

    def _done_by_hand(self, step: dict[str, Any], resuming: Sequence[str]) -> str:
        """Do what a person does at a pause; return why that can't be done."""
        if step["action"] == "stop":
            return self._read_all(step)
        if files := _SWITCHES_FILES.fullmatch(step["title"]):
            Path(files[1]).rename(f"{files[1]}_old")
            Path(files[2]).rename(files[1])
            return ""
        for code in step["code"]:
            if not code.startswith(f"{_PROGRAM} "):
                return f"a person must run {code}"
            number = int(code.split()[1])
            if number < 0:
                return "the tables would be created again"
            action = self._pipeline.actions[number]
            self._recorded.skip()
            settled = (found for each in step["doubts"] if (found := _READS.fullmatch(each)))
            pins = {found[1]: found[2] for found in settled}
            with self._world.changed(self._copies(step), pins):
                if problem := self._repeated(number, action, step, (*resuming, f"--undo={step['number']}")):
                    return problem
            self._recorded.take(action.job, number)
        return ""

    def _copies(self, step: dict[str, Any]) -> dict[int, TableId]:
        """Return the tables -> the copies that an application uses instead, as a step says."""
        labels = {self._label(place): place for place in range(len(self._pipeline.tables))}
        paths = {f"paths/{table.name}": place for place, table in enumerate(self._pipeline.tables)}
        uses = [found for note in step["notes"] if (found := _USES.fullmatch(note))]
        copies = {{**paths, **labels}[found[2]]: found[1] for found in uses}
        tables = {place: self._copy(place) for place in copies}
        named = {
            place: f"file:{copy.parts[1]}" if self._pipeline.tables[place].is_path else sql_name(copy)
            for place, copy in tables.items()
        }
        assert named == copies
        return tables

    def _copy(self, place: int) -> TableId:
        table = self._world.table_id(place)
        return attrs.evolve(table, parts=(*table.parts[:-1], f"{table.parts[-1]}_s1"))

    def _read_all(self, step: dict[str, Any]) -> str:
        """Let a stream read all of its source, or of the copy of that, before tables get the rows of copies."""
        if (found := _READS_ALL.fullmatch(step["title"])) is None:
            return ""
        [action] = [each for each in self._streams() if found[1].startswith(f"job{each.job}.")]
        copies = {}
        if found[2].strip("`").endswith("_s1"):
            writes = [each for each in (action.sources[0], action.target, action.second) if each is not None]
            copies = {each: self._copy(each) for each in writes}
        with self._world.changed(copies, {}):
            self._world.perform(-1, action)
        self._recorded.skip()
        return ""

    def _streams(self) -> list[Action]:
        """Return the streams of the pipeline, each as on the last day."""
        return [each for each in self._pipeline.after if each.kind == "stream"]

    def _repeated(self, number: int, action: Action, step: dict[str, Any], resuming: Sequence[str]) -> str:
        """Do what an application does, except what it must not write; return how the plan went on without its rest."""
        left_out = [
            name for each in step["doubts"] if (found := _LEAVES.fullmatch(each)) for name in found[1].split(", ")
        ]
        names = [table.name for table in self._pipeline.tables]
        writes = [each for each in action.each_write if not any(name.endswith(names[each.target]) for name in left_out)]
        if len(writes) == len(action.each_write) == 1:
            self._world.perform(number, action)
            return ""
        chance = _MortalSession.chance
        # Who appends to files can't undo that, and goes on with the rest.
        can_undo = [self._pipeline.tables[each.target].has_versions or each.kind == "overwrite" for each in writes]
        begin, place = 0, 0
        while place < len(writes):
            rest = {each.target for each in writes[place:]} - {each.target for each in writes[begin:place]}
            rest = {each for each in rest if not self._pipeline.tables[each].is_path}
            if place and not begin and chance is not None and rest and chance.random() < 0.4:
                _MortalSession.killed += 1
                self._said.append("(the application is killed between its writes)")
                undo = all(can_undo[:place])
                code, text = self._call(*(resuming if undo else resuming[:-1]))
                if code != _PAUSED or f"step {step['number']}: " not in text:
                    return f"it went on after an application that was killed: {text[-_CUT:]}"
                # It is not killed once more.
                begin, place = len(writes), 0 if undo else place
            self._world.perform(number, writes[place])
            place += 1
        return ""

    def show(self) -> None:
        """Show all that was said."""
        print("\n".join(self._said))


def _session(folder: Path) -> SparkSession:
    jars = [_jar(artifact) for artifact in LAKE_JARS[pyspark.__version__[:3]]]
    conf = {
        **class_archive.CONF,
        **LAKE_CONF,
        "spark.master": "local[1]",
        "spark.app.name": "truth",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.showConsoleProgress": "false",
        # For small plans: no code is generated, and none is described.
        **class_archive.INTERPRETED,
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        "spark.databricks.delta.stats.collect": "false",
        # VACUUM lists the files of a table in ten thousand tasks otherwise.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.sql.catalog.ice.cache-enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }
    # The JVM starts with these.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", class_archive.java_options())
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _jar(artifact: str) -> Path:
    from support.maven import fetched

    with tempfile.TemporaryDirectory() as folder:
        return fetched(artifact, Path(folder))


def _described(made: Pipeline) -> str:
    lines = [f"  table {place}: {_short(table)}" for place, table in enumerate(made.tables)]
    for number, action in enumerate(made.actions):
        mark = "BAD" if number == made.bad else ""
        lines.append(f"  {number}: {mark} {_short(action)}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    """Return what a value has that is no default."""
    fields = attrs.fields_dict(type(value))
    found = {key: each for key, each in attrs.asdict(value).items() if each != fields[key].default}
    return ", ".join(f"{key}={each}" for key, each in found.items())


def _tried(
    spark: SparkSession, folder: Path, recorded: _Recorded, made: Pipeline, options: argparse.Namespace
) -> Outcome:
    place = folder / uuid.uuid4().hex[:8]
    trial = _Trial(spark, place, options.lake, recorded, options.mode, options.column)
    _MortalSession.chance = random.Random(made.seed) if options.kills else None  # noqa: S311
    _MortalSession.killed = 0
    try:
        found = trial.outcome(made)
    except Exception:  # noqa: BLE001 (whatever it is: the next pipeline is tried)
        found = Outcome("BROKEN", traceback.format_exc()[-4000:])
    found = attrs.evolve(found, seconds=tuple(trial.seconds))
    if options.verbose or (found.kind != "right" and options.show):
        trial.show()
    return found


def main() -> int:
    """Try pipelines, and print what came of each one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="that of the first one; the others follow")
    parser.add_argument("--lake", choices=("iceberg", "delta"), default="iceberg")
    parser.add_argument("--shop", action="store_true", help="one larger pipeline of eleven tables, each time otherwise")
    parser.add_argument("--mode", choices=("incremental", "full", _BESIDE), default="incremental")
    parser.add_argument("--column", choices=("", "v"), default="", help="ask about a column alone")
    parser.add_argument("--kills", action="store_true", help="kill the application of plans at random places")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no pipeline after these")
    parser.add_argument("--keep", type=Path, help="keep tables and stores in this new folder")
    parser.add_argument("--show", action="store_true", help="show what was said where it is wrong")
    parser.add_argument("--verbose", action="store_true", help="show what was said")
    options = parser.parse_args()
    begin, counts, reasons = time.monotonic(), Counter[str](), Counter[str]()
    recover_command.LiveSession = _MortalSession  # type: ignore[misc]
    for name in ("set_back", "put_away"):
        setattr(apply, name, _perhaps_killed(getattr(apply, name)))
    Recorder.record = _perhaps_killed(Recorder.record)  # type: ignore[method-assign]
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        spark = _session(folder)
        recorded = _Recorded(spark, folder / "listened.ndjson")
        for seed in range(options.seed, options.seed + options.pipelines):
            if time.monotonic() - begin > options.minutes * 60:
                break
            made = (shop if options.shop else pipeline)(seed, options.lake)
            if options.mode == _BESIDE:
                made = streams_to_the_end(made)
            found = _tried(spark, folder, recorded, made, options)
            counts[found.kind] += 1
            told = f"{found.steps} steps" + (f", {found.by_hand} by hand" if found.by_hand else "")
            told += f", killed {found.kills} times" if options.kills else ""
            print(
                f"{options.lake} {seed}: {found.kind} ({told}, {'+'.join(map(str, found.seconds))} s) {found.why}",
                flush=True,
            )
            if found.kind == "declined" and options.show:
                print(_described(made), flush=True)
            if found.kind == "declined":
                reasons[re.sub(r"[\d'`]+", "", found.why)[:100]] += 1
            elif found.kind != "right":
                print(_described(made), flush=True)
        spark.stop()
    print(f"{options.lake}: " + ", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES))
    for reason, count in reasons.most_common():
        print(f"  declined {count}: {reason}")
    return int(any(counts[kind] for kind in OUTCOMES[2:]))


if __name__ == "__main__":
    sys.exit(main())
