"""The journal of a plan that is applied: each begun and finished step, on disk before anything else happens."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

import attrs
from openlineage_pyspark.errors import RecoveryError
from openlineage_pyspark.workbench.recovery.model.statements import copy_made, table_dropped

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan

State: TypeAlias = Literal["begun", "done", "failed", "waits", "finished"]
"""Of a statement or of what a person does: `begun`, `done`, `failed`, `waits`. Of a whole step: `finished`."""


@attrs.frozen
class JournalEntry:
    """
    A line of a journal.

    Args:
        step: the number of the step.
        place: the place of the statement within the step, from 0.
        state: what happened.
        tables: the tables that the step writes -> their versions then.
        text: the statement, or why it failed.
        time: when (ISO 8601, UTC).
        files: the tables that the step writes and that keep no versions -> a text that differs once they change.
        unwritten: the tables that the step must not write -> their versions then.
        steps: how many steps the plan has.
        application: the application that began the statement; empty if that is unknown.
        batches: the checkpoints of the queries that the step continues -> the last micro-batch that they had begun
            then; None for none.
        plan: the id of the plan; empty in a line of an earlier version.
    """

    step: int
    place: int
    state: State
    tables: Mapping[str, str] = attrs.field(factory=dict)
    text: str = ""
    time: str = ""
    files: Mapping[str, str] = attrs.field(factory=dict)
    unwritten: Mapping[str, str] = attrs.field(factory=dict)
    steps: int = 0
    application: str = ""
    batches: Mapping[str, int | None] = attrs.field(factory=dict)
    plan: str = ""


class Journal:
    """
    The journal of a plan, which one process writes at a time.

    Args:
        path: the file. It is created with its first line.
        steps: how many steps the plan has; 0 if the journal is only read.
        lock: the file that shows that a process applies the plan; by default one beside the journal.
        plan: the id of the plan; empty if that of any plan is read.
    """

    def __init__(self, path: Path, steps: int = 0, lock: Path | None = None, plan: str = "") -> None:
        self.path = path
        self._steps = steps
        self._plan = plan
        self._lock = lock or path.with_name(f"{path.name}.lock")
        self._entries: tuple[JournalEntry, ...] | None = None

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """
        Return the lines.

        Raises:
            RecoveryError: the file can't be read, or it is the journal of another plan.
        """
        if self._entries is None:
            entries = tuple(_read(self.path))
            # Beside a plan, a journal is found by the name of the plan's file, which another plan may have had before.
            # The numbers of its finished steps would then say that the steps of this plan are done.
            if self._plan and any(entry.plan not in ("", self._plan) for entry in entries):
                raise RecoveryError(
                    f"{self.path} is the journal of another plan, whose file had this name: "
                    "give the file of this plan another name, in its folder"
                )
            self._entries = entries
        return self._entries

    def write(self, entry: JournalEntry) -> None:
        """
        Add a line, and wait until the disk has it.

        Raises:
            RecoveryError: it can't be written.
        """
        before = self.entries
        entry = attrs.evolve(entry, time=datetime.now(timezone.utc).isoformat(), steps=self._steps, plan=self._plan)
        line = json.dumps(attrs.asdict(entry), sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                # A kill may have cut the last line. The new one must not continue it.
                cut = file.tell() and not _ends_with_a_line(self.path)
                file.write((b"\n" if cut else b"") + line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise RecoveryError(f"the journal {self.path} can't be written: {problem.strerror}") from None
        self._entries = (*before, entry)

    @contextmanager
    def held(self) -> Iterator[None]:
        """
        Hold the lock, so that no other process applies the plan meanwhile, or another plan of the same store.

        Raises:
            RecoveryError: another process holds it, or its folder can't be written.
        """
        with self._lock_file() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecoveryError(f"another process applies a plan: it holds {self._lock}") from None
            except OSError as problem:
                raise RecoveryError(f"{self._lock} can't be locked: {problem.strerror}") from None
            # Another process may have continued the plan before it released the lock.
            self._entries = None
            # An error of the work under the lock is not the lock's.
            yield

    def _lock_file(self) -> IO[bytes]:
        try:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
            return self._lock.open("ab")
        except OSError as problem:
            raise RecoveryError(f"the journal {self.path} can't be written: {problem.strerror}") from None

    def finished(self) -> frozenset[int]:
        """Return the numbers of the steps that are done."""
        return frozenset(entry.step for entry in self.entries if entry.state == "finished")

    @property
    def is_unfinished(self) -> bool:
        """Return whether the plan was begun, and some of its steps are left."""
        return bool(self.entries) and len(self.finished()) < max(each.steps for each in self.entries)

    @property
    def remains(self) -> str:
        """
        Return how far an unfinished plan has come, and what to do about it, as sentences.

        The store has the runs of its finished steps. So a new plan would not contain the steps that are left.
        """
        finished, copies = sorted(self.finished()), self._copies()
        begun = sorted({each.step for each in self.entries} - self.finished())
        count = max((each.steps for each in self.entries), default=0)
        numbers = f" ({', '.join(map(str, finished))})" if finished else ""
        parts = [f"{len(finished)} of its {count} steps are done{numbers}"]
        parts += [f"step {number} was begun" for number in begun]
        kept = f" These copies may have rows that are nowhere else: {', '.join(copies)}." if copies else ""
        return (
            f"{', and '.join(parts)}. Continue it by `recover apply PLAN --resume`.{kept} Do not remove its journal: "
            "no new plan has the steps that are left. If you give it up, first do these by hand, or undo the others: "
            "the journal states the versions of their tables before and after each statement. Only then move it away"
        )

    def _copies(self) -> list[str]:
        """Return the names of the copies that it has begun to make and not begun to drop."""
        copies: dict[str, None] = {}
        for entry in self.entries:
            if entry.state == "begun" and (copy := copy_made(entry.text)):
                copies[copy] = None
            elif entry.state == "begun" and (dropped := table_dropped(entry.text)):
                copies.pop(dropped, None)
        return [*copies]

    def is_written_after(self, made: str) -> bool:
        """
        Return whether the plan was applied after another one was made, which knows nothing of that.

        Args:
            made: when that was made (ISO 8601); empty if that is unknown.
        """
        since = datetime.fromisoformat(made) if made else None
        return since is not None and any(datetime.fromisoformat(each.time) > since for each in self.entries)

    def begun(self) -> frozenset[int]:
        """Return the numbers of the steps with a finished statement."""
        return frozenset(entry.step for entry in self.entries if entry.state == "done")

    def before(self, step: int) -> dict[str, str]:
        """Return the versions of a step's tables before its first statement; none if it was not begun."""
        first = next((entry for entry in self.entries if entry.step == step and entry.state == "begun"), None)
        return dict(first.tables) if first is not None else {}

    def last(self, step: int) -> JournalEntry | None:
        """Return the last line about a step; None if it was not begun."""
        return next((entry for entry in reversed(self.entries) if entry.step == step), None)

    def reached(self) -> dict[str, str]:
        """Return the tables that were written -> the version at which the last finished statement left them."""
        found: dict[str, str] = {}
        for entry in self.entries:
            if entry.state in ("done", "finished"):
                found.update(entry.tables)
        return found


def journal_of(plan: RecoveryPlan, file: Path) -> Journal:
    """
    Return the journal of a plan: beside its store, so that all who apply the plan share it; else beside its own file.

    A journal that exists stays where it is, even if the store was moved or its folder can't be written any more, or
    can be written again: otherwise a plan that was started would count as new.

    Args:
        plan: the plan.
        file: the file that the plan was read from.
    """
    beside_plan = Journal(file.with_name(f"{file.name}.journal"), len(plan.steps), plan=plan.id)
    if not plan.store:
        return beside_plan
    store = Path(plan.store)
    folder = _folder(store)
    # Two plans of one store change the same tables.
    beside_store = Journal(folder / f"{plan.id}.jsonl", len(plan.steps), folder / "lock", plan.id)
    if _exists(beside_store.path):
        return beside_store
    if not _exists(store) or not store.is_file() or not os.access(store.parent, os.W_OK):
        return beside_plan
    if _exists(beside_plan.path) and any(entry.plan == plan.id for entry in _read(beside_plan.path)):
        return Journal(beside_plan.path, len(plan.steps), folder / "lock", plan.id)
    return beside_store


def _exists(path: Path) -> bool:
    """Return whether there is such a file or folder, without an error if its folder may not be searched."""
    return os.access(path, os.F_OK)


def journals_of_store(store: Path) -> list[Journal]:
    """
    Return the journals of all plans of a store, each of which is read when it is first asked about.

    Args:
        store: the file of the store.
    """
    return [Journal(path) for path in sorted(_folder(store).glob("*.jsonl"))]


def _folder(store: Path) -> Path:
    return store.with_name(f"{store.name}.recovery")


def _read(path: Path) -> Iterator[JournalEntry]:
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as problem:
        raise RecoveryError(f"the journal {path} can't be read: {problem.strerror}") from None
    yield from (entry for line in lines if (entry := _entry(line)) is not None)


def _entry(line: str) -> JournalEntry | None:
    """Return the entry of a line; None if a kill has cut it: its step is then looked up in the tables."""
    try:
        return JournalEntry(**json.loads(line))
    except (TypeError, ValueError):
        return None


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
