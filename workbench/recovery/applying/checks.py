"""The conditions for beginning a recovery plan, and for each of its steps."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import problem_of_move
from openlineage_pyspark.workbench.recovery.applying.live import ALTERING, KEEPING_ROWS
from openlineage_pyspark.workbench.recovery.model.facts import changes_rows, replaces_partitions
from openlineage_pyspark.workbench.recovery.model.statements import (
    is_table_of_path,
    is_version,
    place_of_files,
    roll_back,
    sql_name,
)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.live import LiveStatement, LiveTable, LiveVersion, TableLayout
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, RecoveryStep, TableCheck, TableId

_SHOWN = 5
_FEW_ROWS = 100
_SAME_ORDER = 10
_CLOCKS_DIFFER = 30_000_000
"""How much later than the store knows a version may be committed, in microseconds."""
# The kinds of statements that may write a table.
_WRITING = frozenset(
    {
        *("InsertIntoStatement", "OverwriteByExpression", "OverwritePartitionsDynamic", "AppendData"),
        *("MergeIntoTable", "UpdateTable", "DeleteFromTable", "CreateTableAsSelect", "ReplaceTableAsSelect"),
        *("CreateTable", "ReplaceTable", "TruncateTable", "CloneTableStatement"),
    }
)
# Iceberg names a commit by what it did to files: a DELETE that rewrites one is an overwrite, one that only drops some a
# delete.
_REMOVING = frozenset({"delete", "overwrite"})
# Iceberg also names a MERGE that only adds rows an append.
_ROW_LEVEL = frozenset({"MergeIntoTable", "UpdateTable", "DeleteFromTable"})
# Delta Lake has several names for the creation of a table, depending on whether the table existed.
_CREATING = frozenset(
    {"CREATE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "WRITE"}
)
# Iceberg names the creation of a table with rows an append, and that over another one an overwrite.
_REPLACING = frozenset({"append", "overwrite"})
_CREATED = frozenset({"CreateTableAsSelect", "ReplaceTableAsSelect"})
# The actions of steps -> the kinds of statements that they may run.
_KINDS: Mapping[str, frozenset[str]] = {
    "roll back": frozenset({"RestoreTableStatement", "Call", "CallStatement", "IcebergCall"}),
    "empty": frozenset({"DeleteFromTable", "TruncateTable", "CreateTableAsSelect", "InsertIntoStatement", "DropTable"}),
    "keep": frozenset({"CreateTableAsSelect"}),
    "copy": frozenset({"CreateTableAsSelect"}),
    "switch": frozenset({"InsertIntoStatement", "DropTable"}),
    "correct": _WRITING,
    "run": _WRITING | ALTERING | {"DropTable"},
}


# The setting under which an overwrite replaces the partitions of its rows.
_DYNAMIC = ("spark.sql.sources.partitionOverwriteMode", "dynamic")
# The operation of Delta Lake that changes properties and no rows.
_PROPERTIES = "SET TBLPROPERTIES"


class TableReader(Protocol):
    """Whatever reads tables."""

    def table(self, table: TableId, /) -> LiveTable | None:
        """Return a table as it is now; None if there is none."""


class TableSession(TableReader, Protocol):
    """The Spark session that checks query."""

    def parsed(self, sql: str, /) -> LiveStatement:
        """Return the kind of a statement and its target."""

    def problem_of(self, sql: str, /) -> str:
        """Return why Spark can't analyze a statement; empty if it can."""

    def has_files_of(self, table: TableId, version: str, /) -> bool:
        """Return whether the files of a version of a Delta table exist."""

    def count_of(self, table: TableId, /) -> int:
        """Return how many rows a table has."""

    def leftover(self, table: TableId, /) -> str:
        """Return the folder that a new table would get, if it has files; else empty."""

    def files_of(self, table: TableId, /) -> str:
        """Return a text that differs once the files of a table have changed; empty if there is no such table."""

    def columns_of(self, table: TableId, version: str = "", /) -> tuple[str, ...]:
        """Return the names of the columns that a table has, or had at a version."""

    def layouts_of(self, table: TableId, version: str, /) -> tuple[TableLayout, TableLayout]:
        """Return the layout that an Iceberg table had when a version was made, and the current one."""


@attrs.frozen
class PlanProblem:
    """
    Why a plan is not begun.

    Args:
        step: the number of the step.
        message: the problem, as a sentence.
        newer: the name of the table that an unknown writer has written; empty for other problems.
    """

    step: int
    message: str
    newer: str = ""


@attrs.frozen
class Findings:
    """
    The findings of a plan's checks.

    Args:
        problems: why it is not begun.
        notes: the deviations from the plan, with the number of the step.
        doubts: what is uncertain about steps because of the tables as they are now, with the number of the step.
        detached: the numbers of the steps that roll back to a version that is not an ancestor of the current one.
        versions: the names of the tables that were checked -> their versions then.
        files: the names of the tables without versions whose rows are kept in copies -> a text that differs once their
            files have changed; without those that can't be read.
    """

    problems: tuple[PlanProblem, ...] = ()
    notes: tuple[tuple[int, str], ...] = ()
    detached: frozenset[int] = frozenset()
    doubts: tuple[tuple[int, str], ...] = ()
    versions: Mapping[str, str] = attrs.field(factory=dict, eq=False)
    files: Mapping[str, str] = attrs.field(factory=dict, eq=False)


def check_plan(
    plan: RecoveryPlan,
    session: TableSession,
    done: Collection[int] = (),
    reached: Mapping[str, str] | None = None,
    begun: Collection[int] = (),
) -> Findings:
    """
    Check all steps of a plan before the first one is done.

    Args:
        plan: the plan.
        session: the Spark session.
        done: the numbers of steps that were done before.
        reached: the tables that these wrote -> the version at which they left them.
        begun: the numbers of steps of which a statement was done before: the copies that they make may exist.

    Raises:
        StoreError: Spark can't be queried.
    """
    return _Checking(plan, session, frozenset(done), reached or {}, frozenset(begun)).findings()


class _Checking:
    def __init__(
        self,
        plan: RecoveryPlan,
        session: TableSession,
        done: frozenset[int],
        reached: Mapping[str, str],
        begun: frozenset[int],
    ) -> None:
        self._plan = plan
        self._session = session
        self._done = done
        self._reached = reached
        self._begun = begun
        self._tables: dict[TableId, LiveTable | None] = {}
        self._problems: dict[PlanProblem, None] = {}
        self._notes: list[tuple[int, str]] = []
        self._uncertainties: dict[tuple[int, str], None] = {}
        self._copied: dict[str, TableId] = {}
        self._reshaped: set[str] = set()
        self._detached: set[int] = set()
        self._seen: set[tuple[str, str]] = set()

    def findings(self) -> Findings:
        """Return the findings of all checks."""
        made: set[str] = set()
        for number, step in enumerate(self._plan.steps, 1):
            if number not in self._done:
                self._step(number, step, made)
            if step.action in ("copy", "keep", "empty", "run"):
                made |= {sql_name(each) for each in step.writes}
        versions = {sql_name(table): live.version for table, live in self._tables.items() if live is not None}
        problems, notes = tuple(self._problems), tuple(self._notes)
        return Findings(problems, notes, frozenset(self._detached), tuple(self._uncertainties), versions, self._files())

    def _files(self) -> dict[str, str]:
        """Return the names of the tables whose rows are kept in copies -> a text for their files."""
        found = {}
        for number, step in enumerate(self._plan.steps, 1):
            for table in step.reads if step.action == "keep" and number not in self._done else ():
                with suppress(StoreError):
                    found[sql_name(table)] = self._session.files_of(table)
        return found

    def _step(self, number: int, step: RecoveryStep, made: set[str]) -> None:
        for check in step.before:
            self._before(number, step, check)
        self._layouts(number, step)
        if step.move is not None and (problem := problem_of_move(step.move)):
            self._add(number, problem)
        if step.language != "sql":
            return
        if not step.writes:
            self._add(number, "no event states for certain which table it writes")
            return
        for table in step.writes:
            self._at_its_place(number, step, table, made)
        # What earlier steps make does not exist yet.
        named = {sql_name(table) for table in (*step.writes, *step.reads)}
        for sql in step.code:
            problem = statement_problem(step, sql, self._session)
            if not problem and step.action in ("run", "correct") and not (made | self._reshaped) & named:
                problem = self._session.problem_of(sql)
            if problem:
                self._add(number, f"{problem}: {sql}")

    def _add(self, number: int, message: str, newer: str = "") -> None:
        self._problems[PlanProblem(number, message, newer)] = None

    def _layouts(self, number: int, step: RecoveryStep) -> None:
        """Doubt what a step does because the layout or the properties of its tables were changed."""
        if step.action == "copy" and step.writes and step.before:
            self._copied[sql_name(step.writes[0])] = step.before[0].table
        for check in step.after:
            for version in {"like": (check.version,), "made": check.known}.get(check.check, ()):
                self._laid_out(number, step, self._copied.get(sql_name(check.table), check.table), version)
        if step.action == "roll back":
            self._restored(number, step)

    def _laid_out(self, number: int, step: RecoveryStep, table: TableId, version: str) -> None:
        """Doubt a run that is repeated on a table which has another layout than when it ran."""
        live = self._live(table) if table.format == "iceberg" else None
        if live is None or version not in live.versions:
            return
        name = sql_name(table)
        then, now = self._session.layouts_of(table, version)
        if now.columns[: len(then.columns)] != then.columns:
            self._doubt(
                number,
                f"{name} has the columns {', '.join(now.columns)}, and had {', '.join(then.columns)} when the run that "
                "it repeats made its version: values may get into other columns, unless each is named",
            )
        is_of_partitions = _DYNAMIC in step.settings or any(replaces_partitions(each.job) for each in step.again)
        if is_of_partitions and then.partitions is not None and then.partitions != now.partitions:
            self._doubt(
                number,
                f"{name} has other partitions than when the run that it repeats made its version, and it replaces "
                f"those of its rows: {_spec(now.partitions)}, and not {_spec(then.partitions)}. So it may remove other "
                "rows than that run",
            )

    def _restored(self, number: int, step: RecoveryStep) -> None:
        """
        Find out what a RESTORE takes back besides rows: columns, and properties.

        It is uncertain if no run in the store sets these properties again.
        """
        known = {version for check in step.before for version in (check.version, *check.known)}
        goal = next((check.version for check in step.after), "")
        for table in step.writes:
            live = self._live(table) if table.format == "delta" else None
            if live is None or goal not in live.versions:
                continue
            if self._session.columns_of(table) != self._session.columns_of(table, goal):
                self._reshaped.add(sql_name(table))
            taken = (each for each in _since(live, goal) if each.operation == _PROPERTIES)
            if lost := [each for each in taken if each.version not in known]:
                self._doubt(
                    number,
                    f"it also takes back properties of {sql_name(table)} that were changed since, and no step sets "
                    f"them again: {listed_versions(lost)}",
                )

    def _doubt(self, number: int, doubt: str) -> None:
        self._uncertainties[number, doubt] = None

    def _live(self, table: TableId) -> LiveTable | None:
        if table not in self._tables:
            self._tables[table] = self._session.table(table)
        return self._tables[table]

    def _at_its_place(self, number: int, step: RecoveryStep, table: TableId, made: set[str]) -> None:
        """Check that a table is the one that the store means, and that a copy does not exist yet."""
        name = sql_name(table)
        live = self._live(table)
        is_copy = step.action in ("copy", "keep") or (step.action == "empty" and table != step.writes[0])
        if is_copy:
            if live is not None and name not in made and number not in self._begun:
                # An earlier recovery may have kept rows there, and emptied their table.
                is_kept = step.action == "keep"
                how = "rename it, because its rows may be nowhere else" if is_kept else "drop or rename it"
                self._add(number, f"{name} already exists: inspect it, then {how}")
            elif live is None and (folder := self._session.leftover(table)):
                self._add(
                    number, f"{folder} has files, so {name} can't be made there: inspect them, then move them away"
                )
            return
        if live is None:
            if name not in made and step.action != "run":
                self._add(number, f"there is no table {name}")
            return
        if table.location and live.location and place_of_files(live.location) != place_of_files(table.location):
            self._add(number, f"{name} is at {live.location}, but the store's table is at {table.location}")
        elif not table.location and not live.versions and name not in made:
            self._add(number, f"no event states where {name} is, so it can't be distinguished from another table")

    def _before(self, number: int, step: RecoveryStep, check: TableCheck) -> None:
        name = sql_name(check.table)
        if check.check == "newest":
            key = (name, self._reached.get(name, check.version))
            if key in self._seen:
                return
            self._seen.add(key)
        live = self._live(check.table)
        if live is None:
            self._add(number, f"there is no table {name}")
        elif check.check == "newest":
            self._newest(number, name, live, self._reached.get(name, check.version))
            if name not in self._reached:
                self._is_the_same(number, name, live, check)
                self._between(number, name, live, check)
        elif check.check == "there":
            self._there(number, step, check, live)
        elif check.check == "clean":
            self._clean(number, name, live, check)
        elif check.check == "rows":
            self._rows(number, name, check)

    def _rows(self, number: int, name: str, check: TableCheck) -> None:
        """Check that a table without versions has the rows of the runs in the store."""
        count = self._session.count_of(check.table)
        if count != int(check.version):
            self._add(
                number,
                f"{name} has {count} rows, and the runs in the store wrote {check.version}: something else has written "
                f"it, and no run here makes its rows again. Ingest its events, or accept that with {_accepting(name)}",
                name,
            )

    def _newest(self, number: int, name: str, live: LiveTable, known: str) -> None:
        if live.version == known:
            return
        if live.held(live.version) == live.held(known):
            # A maintenance command has only tidied up the files, or the table was rolled back since.
            return
        newer = _since(live, known)
        if name in self._reached:
            # A change accepted before the first step is gone after it. This one would stay in later results.
            self._add(
                number,
                f"this recovery left {name} at version {known}, but it is at {live.version or '(none)'}: something "
                f"else wrote it since, such as an application that a step ran. Roll it back to version {known} by "
                "hand. If something else wrote right rows, append them again from there when all steps are done",
            )
        elif known and known not in live.versions:
            self._add(number, f"{name} has no version {known}, the newest one in the store: it is another table")
        elif not newer or (known and known not in {each.version for each in live.line}):
            self._add(
                number,
                f"{name} is at version {live.version or '(none)'}, but the newest version in the store is {known}: "
                "the table was changed by something else",
                name,
            )
        else:
            self._add(
                number,
                f"{name} has versions that the store does not know, and their rows would be lost: "
                f"{listed_versions(newer)}. Ingest their events, or accept that with {_accepting(name)}",
                name,
            )

    def _is_the_same(self, number: int, name: str, live: LiveTable, check: TableCheck) -> None:
        """Check that the table is not another one of its name: a new Delta table has versions of the same numbers."""
        if check.table_id and live.table_id and check.table_id != live.table_id:
            self._add(
                number,
                f"{name} is another table: its id is {live.table_id}, and the one that the store knows had "
                f"{check.table_id}. It was dropped and created again, or this is another catalog",
            )
        found = live.versions.get(check.version)
        if found is not None and check.time and found.micros > check.time + _CLOCKS_DIFFER:
            self._add(
                number,
                f"version {check.version} of {name} was committed at {found.time}, after its run had ended: "
                f"it is another table, or its files were copied. {_accepting(name)} takes it as the same",
                name,
            )

    def _between(self, number: int, name: str, live: LiveTable, check: TableCheck) -> None:
        """
        Check that the store knows each version that is rebuilt.

        Versions expire, and then the table no longer shows what came before them. The store may know that.
        """
        lost: dict[str, str] = {}
        seen = set[str]()
        for begin in (check.version, *check.unknown) if check.known else ():
            here = begin
            while here and here != check.since and here not in seen:
                seen.add(here)
                found = live.versions.get(here)
                if here not in check.known and (found is None or found.operation not in KEEPING_ROWS):
                    lost[here] = f"{here} (it expired)" if found is None else str(found)
                here = "" if found is None else found.parent
        if lost:
            self._add(
                number,
                f"{name} has versions between others that the store does not know, and that no run here makes again: "
                f"{_listed([*lost.values()])}. Ingest their events, or accept that with {_accepting(name)}",
                name,
            )

    def _clean(self, number: int, name: str, live: LiveTable, check: TableCheck) -> None:
        """
        Check that no unknown writer has put bad data into a version: its writes are older, or add no rows.

        The commits show both, so no person has to check.
        """
        unknown = check.version
        while (here := live.versions.get(unknown)) is not None and here.version != check.since:
            is_older = check.time and here.micros and here.micros < check.time
            is_known = here.version in check.known or here.operation in KEEPING_ROWS
            if is_older or here.is_empty or (is_known and not here.parent):
                # Everything before it is older too, or gone.
                return
            if not is_known:
                break
            unknown = here.origin
        if unknown == check.since:
            return
        how = f"{here.operation}, {here.time}" if here is not None else "it expired"
        self._add(
            number,
            f"{name} is rolled back to version {check.version}. No event states which run made version {unknown} "
            f"before it ({how}), after the bad data: check whether it contains them. "
            f"{_accepting(name)} accepts it unchanged",
            name,
        )

    def _there(self, number: int, step: RecoveryStep, check: TableCheck, live: LiveTable) -> None:
        name, version = sql_name(check.table), check.version
        if not is_version(version) or version not in live.versions:
            self._add(number, f"{name} has no version {version}: {_planning_without(name, version)}")
        elif check.table.format == "delta" and not self._session.has_files_of(check.table, version):
            self._add(number, f"files of {name} at version {version} are gone: {_planning_without(name, version)}")
        elif step.action == "roll back" and version not in {each.version for each in live.line}:
            self._detached.add(number)
            note = f"{name}: version {version} is not an ancestor of the current one, so it is set as current"
            self._notes.append((number, note))


def statement_problem(step: RecoveryStep, sql: str, session: TableSession) -> str:
    """Return why a statement of a step must not run, as the session's parser reads it; empty if it may."""
    try:
        found = session.parsed(sql)
    except StoreError as problem:
        return str(problem)
    if found.kind not in _KINDS.get(step.action, frozenset()):
        return f"{found.kind} is not a kind of statement that the step {step.action} may run"
    if step.action == "roll back":
        table, version = step.writes[0], next((each.version for each in step.after), "")
        allowed = {roll_back(table, version), roll_back(table, version, is_ancestor=False)}
        return "" if sql in allowed and is_version(version) else "it is not the statement that rolls its table back"
    if found.target is None:
        return "it does not name what it writes"
    if not any(_same(found.target, table.parts) for table in step.writes):
        names = ", ".join(sql_name(each) for each in step.writes)
        return f"it writes {'.'.join(found.target)}, and the step is about {names}"
    if found.kind == "DropTable" and step.action in ("empty", "switch") and _same(found.target, step.writes[0].parts):
        # Only a table whose rows a copy keeps is dropped.
        return "" if step.action == "empty" and len(step.writes) == 1 else "it drops the table itself"
    return ""


def after_problem(step: RecoveryStep, before: Mapping[str, str], session: TableSession) -> Iterator[str]:
    """
    Yield the conditions that are not met after a step.

    Args:
        step: the step.
        before: the tables that it writes -> their versions before.
        session: the Spark session.
    """
    for check in step.after:
        name = sql_name(check.table)
        live = session.table(check.table)
        if live is None:
            yield f"there is no table {name} after it"
        elif check.check == "current" and not _is_at(live, before.get(name, ""), check):
            yield f"{name} is at version {live.version}, and not at {check.version}"
        elif check.check == "like" and live.version != before.get(name, live.version):
            yield from _unlike(live, check, step, session)


def lost_meanwhile(step: RecoveryStep, there: Mapping[str, Collection[str]], session: TableSession) -> Iterator[str]:
    """
    Yield what something else wrote between the last check of a table and its rollback, which removed that too.

    Args:
        step: the step that rolled tables back.
        there: these tables -> the versions that they had at the check.
        session: the Spark session.
    """
    for table in step.writes:
        name, live = sql_name(table), session.table(table)
        if live is None or name not in there:
            continue
        # What came after the rollback was not removed.
        kept = {each.version for check in step.after for each in live.since(check.version)}
        lost = [
            each
            for each in live.versions.values()
            if each.version not in {*there[name], *kept} and not each.restored and each.operation not in KEEPING_ROWS
        ]
        if lost:
            yield (
                f"something else wrote {name} while it was rolled back, and its rows are gone with that: "
                f"{listed_versions(lost)}. If they are right, append them again from there when all steps are done"
            )


def rolled_back_at(live: LiveTable, then: str, check: TableCheck) -> str:
    """
    Return the version at which a rollback left a table, whatever was written since; empty if it was not rolled back.

    Args:
        live: the table.
        then: its version before.
        check: the version to which it is rolled back.
    """
    if _is_at(live, then, check):
        return live.version
    since = _since(live, then)
    if then in {each.version for each in live.line}:
        return next((each.version for each in since if each.restored == check.version), "")
    return check.version if check.version in {each.version for each in live.line} else ""


def meanwhile_problem(step: RecoveryStep, expected: Mapping[str, str], session: TableSession) -> Iterator[str]:
    """
    Yield which tables of a step something else wrote after the plan was checked, or after an earlier step wrote them.

    Args:
        step: the step.
        expected: tables -> the version at which the checks or the last step left them.
        session: the Spark session.
    """
    for table in step.writes:
        name = sql_name(table)
        # An Iceberg table without rows may have no version.
        if (then := expected.get(name)) is None or (live := session.table(table)) is None:
            continue
        if live.held(live.version) != live.held(then):
            yield (
                f"something else wrote {name} after version {then or '(none)'}, while this recovery ran: "
                f"{listed_versions(_since(live, then)) or f'it is at version {live.version}'}"
            )


def read_problem(
    step: RecoveryStep,
    left: Mapping[TableId, str],
    accepted: Collection[str],
    session: TableReader,
) -> Iterator[str]:
    """
    Yield which tables that a step reads something else wrote after an earlier step.

    Two recoveries of two stores have no common lock, and would read each other's tables.

    Args:
        step: the step.
        left: the tables that earlier steps wrote -> the versions at which they left them.
        accepted: the names of those that may have new versions.
        session: the Spark session.
    """
    read = {table.parts for table in step.reads} - {table.parts for table in step.writes}
    for table, then in left.items():
        name = sql_name(table)
        if table.parts not in read or name in accepted:
            continue
        live = session.table(table)
        if live is None:
            yield f"it reads {name}, which is gone"
        elif live.held(live.version) != live.held(then):
            newer = listed_versions(_since(live, then)) or f"it is at version {live.version or '(none)'}"
            yield (
                f"it reads {name}, which something else wrote after version {then or '(none)'}, while this recovery "
                f"ran: {newer}. Roll it back to that version, or read the new rows too with {_accepting(name)}"
            )


def files_problem(
    tables: Iterable[TableId], left: Mapping[str, str], accepted: Collection[str], session: TableSession
) -> Iterator[str]:
    """
    Yield which tables without versions something else wrote after the checks, or an earlier step that wrote them.

    Args:
        tables: the tables that a step reads or writes.
        left: the names of tables -> a text that differs once their files have changed since.
        accepted: the names of those that may have other rows.
        session: the Spark session.
    """
    for table in dict.fromkeys(tables):
        name = sql_name(table)
        is_checked = name in left and name not in accepted and not is_table_of_path(name)
        if is_checked and session.files_of(table) != left[name]:
            yield (
                f"something else wrote {name} while this recovery ran. It keeps no versions: save the new rows "
                f"elsewhere if they are right. {_accepting(name)} continues with the current rows"
            )


def beside_problem(
    step: RecoveryStep,
    before: Mapping[str, str],
    there: Mapping[str, Collection[str]],
    applications: Collection[str],
    session: TableReader,
) -> Iterator[str]:
    """
    Yield what something else did to the tables of a step while its statements ran: between its last check and now.

    Args:
        step: the step, whose statements are done.
        before: its tables -> their versions before; without those that did not exist.
        there: these tables -> all versions that they had before; none if that is unknown.
        applications: the applications that ran its statements; without any, nobody knows who wrote.
        session: the Spark session.
    """
    for table in step.writes if applications and step.action != "roll back" else ():
        name, live = sql_name(table), session.table(table)
        if live is None or not live.versions:
            continue
        then = before.get(name, "")
        others = [
            each
            for each in _since(live, then)
            if each.application not in ("", *applications) and each.operation not in KEEPING_ROWS
        ]
        here = {each.version for each in live.line}
        known = there.get(name, live.versions)
        own = [
            each for each in live.versions.values() if each.version not in known and each.application in applications
        ]
        if others:
            yield (
                f"something else wrote {name} while it ran: {listed_versions(others)}. Its rows are there beside those "
                "of this step, or were replaced by them"
            )
        elif any(each.version not in here for each in own):
            yield f"something else has rolled {name} back while it ran: it is at version {live.version or '(none)'}"


def left_problem(left: Mapping[TableId, str], session: TableReader) -> Iterator[str]:
    """
    Yield which tables no longer have what a recovery wrote: something else has rolled them back since, or dropped them.

    Args:
        left: the tables that it wrote -> the versions at which it left them.
        session: the Spark session.
    """
    for table, then in left.items():
        name, live = sql_name(table), session.table(table)
        if live is None:
            yield f"{name} is gone"
        elif then and (then not in {each.version for each in live.line} or any(v.restored for v in _since(live, then))):
            yield (
                f"{name} was left at version {then}, and something else has undone that: it is at version "
                f"{live.version or '(none)'}"
            )


def written_problem(
    step: RecoveryStep, before: Mapping[str, str], accepted: Collection[str], session: TableSession
) -> Iterator[str]:
    """
    Yield which tables were written while a person did a step that must not write them.

    Args:
        step: the step.
        before: these tables -> their versions before.
        accepted: the names of those that may have new versions.
        session: the Spark session.
    """
    for table in unwritten_tables(step):
        name = sql_name(table)
        if name not in before or name in accepted:
            continue
        live, then = session.table(table), before[name]
        if live is None:
            yield f"{name} is gone, which it must not drop. {_accepting(name)} continues without it"
        elif not _is_as_before(live, then):
            newer = _since(live, then)
            back = f"roll it back to version {then}" if then else "delete its rows"
            yield (
                f"it must not write {name}, which has new versions since: {listed_versions(newer)}. If the step made "
                f"them, {back}. If something else did, {_accepting(name)} keeps them"
            )


def unwritten_tables(step: RecoveryStep) -> tuple[TableId, ...]:
    """Return the tables that a step must not write."""
    return tuple(check.table for check in step.after if check.check == "unwritten")


def _since(live: LiveTable, version: str) -> list[LiveVersion]:
    """Return the current version and its ancestors after a version, the newest first; all if it is not an ancestor."""
    return list(itertools.takewhile(lambda each: each.version != version, live.line))


def _is_as_before(live: LiveTable, then: str) -> bool:
    """Return whether a table has the rows of a version: since then only files changed, or it was rolled back to it."""
    if not then and live.version in live.versions and live.versions[live.version].is_empty:
        return True
    return live.held(live.version) == live.held(then)


def _is_at(live: LiveTable, then: str, check: TableCheck) -> bool:
    """
    Return whether a rollback has left a table at a version: a RESTORE makes a new one of the same rows.

    Args:
        live: the table.
        then: its version before. A RESTORE of that one makes no new version.
        check: the version to which it is rolled back.
    """
    if check.table.format == "delta" and live.version == check.version:
        return then == check.version
    return live.held(live.version) == live.held(check.version)


def _is_row_level(step: RecoveryStep, session: TableSession) -> bool:
    """Return whether a step changes single rows, by its statements; by the jobs that it repeats if it has none."""
    if step.language == "sql":
        return all(session.parsed(sql).kind in _ROW_LEVEL for sql in step.code)
    return any(changes_rows(each.job) for each in step.again)


def _replaces_table(step: RecoveryStep, session: TableSession) -> bool:
    """Return whether the last statement of a step creates its table, or replaces the existing one."""
    return bool(step.code) and step.language == "sql" and session.parsed(step.code[-1]).kind in _CREATED


def _unlike(live: LiveTable, check: TableCheck, step: RecoveryStep, session: TableSession) -> Iterator[str]:
    name, then, now = sql_name(check.table), live.versions.get(check.version), live.versions.get(live.version)
    if then is None or now is None:
        return
    both = {then.operation, now.operation}
    depends_on_data = check.table.format == "iceberg" and (
        both <= _REMOVING or (both <= _REMOVING | {"append"} and _is_row_level(step, session))
    )
    is_created_again = check.table.format == "delta" and then.operation != "WRITE" and both <= _CREATING
    is_replaced = check.table.format == "iceberg" and both <= _REPLACING and _replaces_table(step, session)
    if len(both) > 1 and not depends_on_data and not is_created_again and not is_replaced:
        yield f"{name}: the new version was made by {now.operation}, and the one that it repeats by {then.operation}"
    if then.added is not None and now.added is not None and _differ(then.added, now.added):
        yield f"{name}: the new version added {now.added} rows, and the one that it repeats {then.added}"


def _differ(then: int, now: int) -> bool:
    low, high = sorted((then, now))
    return high >= _FEW_ROWS and low * _SAME_ORDER < high


def _same(target: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Return whether a name in a statement is a table's whole name; Spark compares without case."""
    return tuple(each.lower() for each in target) == tuple(each.lower() for each in parts)


def _accepting(name: str) -> str:
    """Return the option for a table, quoted for a shell, which would run text in backquotes."""
    return f"--accept-newer {shlex.quote(name)}"


def _planning_without(name: str, version: str) -> str:
    """Return what to do if a version is gone, with the table quoted for a shell."""
    return f"plan again with --expired {shlex.quote(f'{name}@{version}')}"


def listed_versions(versions: Sequence[LiveVersion]) -> str:
    """Return versions as the end of a sentence, each with what made it and when."""
    return _listed([*map(str, versions)])


def _spec(partitions: str | None) -> str:
    """Return the partitions of an Iceberg table in one line."""
    return " ".join((partitions or "").split())


def _listed(texts: Sequence[str]) -> str:
    return ", ".join([*texts[:_SHOWN], *([f"{len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else [])])
