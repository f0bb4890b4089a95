"""Plans for made-up histories, carried out to the letter on a lake of values: it then holds what right data make."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import TypeAlias

import attrs
import pytest
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan
from openlineage_pyspark.workbench.recovery.recover import ModeName
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at
from support.recovery_events import Event, statement, table

# As a group they take seconds. They count in the coverage of this package, so they run on the oldest Python.
pytestmark = [pytest.mark.slow, pytest.mark.every_python]

Rows: TypeAlias = "tuple[int, ...]"

_CHANGES = {
    "restore": "OVERWRITE",
    "overwrite": "OVERWRITE",
    "truncate": "TRUNCATE",
    "find": "CREATE",
    "drop": "DROP",
    "create": "CREATE",
}
_TEXTS = {
    "restore": "RESTORE TABLE {table} TO VERSION AS OF {to}",
    "append": "INSERT INTO {table} {query}",
    "overwrite": "INSERT OVERWRITE {table} {query}",
    "merge": "MERGE INTO {table} USING ({query}) AS s ON {name}.o = s.o WHEN NOT MATCHED THEN INSERT *",
    "truncate": "TRUNCATE TABLE {table}",
    "find": "CREATE TABLE IF NOT EXISTS {table} (o STRING)",
    "drop": "DROP TABLE {table}",
    "create": "CREATE TABLE {table} AS {query}",
}
_CATALOGS = {"iceberg": "ice", "delta": "spark_catalog"}
_ROLLED_BACK = (
    r"CALL ice\.system\.rollback_to_snapshot\('ice\.db\.(\w)', (\d+)\)"
    r"|RESTORE TABLE spark_catalog\.db\.(\w) TO VERSION AS OF (\d+)"
)
_WRITING = ("append", "overwrite", "merge", "create")
_MANY = ("append", "append", "append", "overwrite", "merge", "merge", "truncate", "find")
_KINDS = {"iceberg": (*_MANY, "drop"), "delta": _MANY}
_NAMES = ("a", "b", "c", "d", "e")


@attrs.frozen
class Statement:
    """A statement of a made-up history: what it reads is pinned by its text, or as its run found it when it began."""

    number: int
    kind: str
    table: str
    version: str
    parent: str
    named: dict[str, str]
    found: dict[str, str]
    to: str = ""
    lake: str = "iceberg"
    is_back: bool = False

    @property
    def reads(self) -> dict[str, str]:
        """Return the version of each table that it read."""
        return {**self.found, **self.named}

    @property
    def text(self) -> str:
        """Return its text."""
        pins = {name: f" VERSION AS OF {self.named[name]}" if name in self.named else "" for name in self.reads}
        schema = f"{_CATALOGS[self.lake]}.db"
        source = " JOIN ".join(f"{schema}.{name}{pin}" for name, pin in pins.items())
        query = f"SELECT 'number {self.number}' AS o" + (f" FROM {source}" if source else "")
        return _TEXTS[self.kind].format(table=f"{schema}.{self.table}", name=self.table, query=query, to=self.to)

    def events(self, *, tells_versions: bool, begins_early: bool) -> list[Event]:
        """Return its events; with `begins_early` it began before the statement before it ended."""
        read = {name: version if tells_versions or name in self.named else "" for name, version in self.reads.items()}
        if self.kind == "merge":
            read[self.table] = self.parent
        made = table(self.table, self.version, parent=self.parent, change=_CHANGES.get(self.kind, ""), lake=self.lake)
        inputs = [table(name, version, lake=self.lake) for name, version in read.items()]
        job, sql = f"job{self.number}", self.text
        if self.kind == "restore" and self.number % 2:
            # DeltaTable.restoreToVersion has no statement.
            job, sql = f"{job}.execute_restore_table_command.db_{self.table}", ""
            inputs.append(table(self.table, self.to, lake=self.lake))
        found = statement(job, self.number + 1, sql, tuple(inputs), made)
        found[0]["eventTime"] = at(self.number + (0.3 if begins_early else 1))
        return found


class Lake:
    """The rows of tables, and of their versions: a row is a hash of the statement that made it and of what it read."""

    def __init__(self) -> None:
        self.rows: dict[str, Rows] = {}
        self.versions: dict[tuple[str, str], Rows] = {}

    def run(self, each: Statement, read: list[Rows], *, right: bool = False) -> None:
        """Run a statement on what it reads; the right one makes other rows than the wrong one did."""
        before = self.rows.get(each.table, ())
        if each.is_back:
            # The table went back to the parent, as CALL rollback_to_snapshot does it: no version shows that by itself.
            before = self.versions[each.table, each.parent]
        row = hash((each.number, right, before if each.kind == "merge" else (), *read))
        kept = {"append": (*before, row), "find": before, "truncate": (), "drop": ()}
        if each.kind == "restore":
            kept["restore"] = self.versions[each.table, each.to]
        self.rows[each.table] = kept.get(each.kind, (row,))
        if each.kind == "drop":
            self.versions = {key: rows for key, rows in self.versions.items() if key[0] != each.table}
        if each.version:
            self.versions[each.table, each.version] = self.rows[each.table]


def history_of(seed: int, lake: str, *, goes_back: bool) -> list[Statement]:
    """Return a history of statements on five tables, which may go back now and then, as each format does it."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    made: dict[str, list[str]] = {name: [] for name in _NAMES}
    found: list[Statement] = []
    for number in range(16):
        name = chance.choice(_NAMES)
        kind = chance.choice((*_KINDS[lake], *(("restore",) * 2 * (goes_back and lake == "delta"))))
        if not made[name]:
            was_dropped = any(each.table == name for each in found)
            kind = "create" if was_dropped else chance.choice(("append", "overwrite"))
        others = [other for other in _NAMES if other != name and made[other]] if kind in _WRITING else []
        sources = chance.sample(others, min(len(others), chance.choice((0, 1, 1, 2))))
        named = {each: chance.choice(made[each]) for each in sources if chance.random() < 0.1}
        begins_early = chance.random() < 0.3 and bool(found) and found[-1].table != name and not found[-1].is_back
        current = {each: made[each][-1] for each in sources}
        if begins_early and found[-1].version and found[-1].table in current and len(made[found[-1].table]) > 1:
            current[found[-1].table] = made[found[-1].table][-2]
        version = "" if kind in ("find", "drop") else f"{number + 100 if lake == 'iceberg' else len(made[name])}"
        parent = made[name][-1] if made[name] else ""
        to = chance.choice(made[name]) if kind == "restore" else ""
        may_go_back = kind in ("append", "merge") and len(made[name]) > 1 and goes_back and lake == "iceberg"
        if is_back := may_go_back and chance.random() < 0.3:
            made[name] = made[name][: chance.randrange(1, len(made[name]))]
            parent = made[name][-1]
        found.append(Statement(number, kind, name, version, parent, named, current, to, lake, is_back))
        made[name] = [] if kind == "drop" else [*made[name], *filter(None, (version,))]
    return found


def played(history: list[Statement], right: Statement | None) -> tuple[Lake, list[Rows]]:
    """Return the lake after a history in which one statement is right, and the rows of each table after each one."""
    lake, after = Lake(), []
    for each in history:
        lake.run(each, [lake.versions[read] for read in each.reads.items()], right=each is right)
        after.append(lake.rows[each.table])
    return lake, after


def carry_out(plan: RecoveryPlan, lake: Lake, history: list[Statement], wrong: Statement) -> None:
    """Carry a plan out on the lake that the wrong statement left."""
    read_then = [played(history[: wrong.number], None)[0].versions[read] for read in wrong.reads.items()]
    for step in plan.steps:
        if step.action == "correct":
            lake.run(attrs.evolve(wrong, version="", is_back=False), read_then, right=True)
        elif created := re.fullmatch(r"Create db\.(\w) again, without rows\.", step.title):
            lake.rows[created[1]] = ()
        for code in step.code:
            if back := re.fullmatch(_ROLLED_BACK, code):
                name, version = filter(None, back.groups())
                lake.rows[name] = lake.versions[name, version]
            elif emptied := re.fullmatch(r"(?:DELETE FROM|TRUNCATE TABLE|DROP TABLE) \w+\.db\.(\w)", code):
                lake.rows[emptied[1]] = ()
            else:
                number = re.search(r"'number (\d+)'", code)
                assert number, code
                read = re.findall(r"\w+\.db\.(\w)(?: VERSION AS OF (\d+))?", code[number.end() :])
                rows = [lake.versions[name, version] if version else lake.rows[name] for name, version in read]
                lake.run(attrs.evolve(history[int(number[1])], version="", is_back=False), rows)


# Each of these saw a fault: of a CREATE that found its table there, of a table that was dropped, of one replaced since.
SEEDS = [
    *(7, 16, 17, 21, 195, 232),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(300, 310)),
    *(pytest.param(seed, marks=(pytest.mark.slow, pytest.mark.long)) for seed in range(310, 360)),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["incremental", "full"])
@pytest.mark.parametrize(("lake", "goes_back"), [("iceberg", False), ("iceberg", True), ("delta", True)])
def test_a_plan_that_is_carried_out_gives_what_right_data_make(
    filled: Callable[..., Store], seed: int, mode: ModeName, lake: str, *, goes_back: bool
) -> None:
    chance, history = random.Random(seed), history_of(seed, lake, goes_back=goes_back)  # noqa: S311 (a test's choice)
    tells = chance.random() < 0.5
    events = [
        event
        for each in history
        for event in each.events(tells_versions=tells, begins_early=_began_early(each, history))
    ]
    chance.shuffle(events)
    wrong = chance.choice([each for each in history if each.kind in _WRITING and each.parent] or history[:1])
    (left, bad), (right, good) = played(history, None), played(history, wrong)
    plan = filled(*events).recover(f"db.{wrong.table}", version=wrong.version, mode=mode).result

    affected: dict[str, list[str]] = {}
    for each, before, after in zip(history, bad, good, strict=True):
        if before != after and each.version:
            affected.setdefault(f"db.{each.table}", []).append(each.version)
    assert {each.dataset: list(each.bad) for each in plan.datasets} == affected
    doubts = [doubt for step in plan.steps for doubt in step.doubts]
    if not any("current data" in each or "made after it" in each or "by hand" in each for each in doubts):
        carry_out(plan, left, history, wrong)
        assert left.rows == right.rows


def _began_early(each: Statement, history: list[Statement]) -> bool:
    """Return whether a statement read something as it was before the one before it."""
    last = history[each.number - 1]
    return bool(each.number) and last.table in each.found and each.found[last.table] != last.version
