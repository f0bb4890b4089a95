"""`recover`: plans the recovery of datasets after one of them got a wrong version, and applies such plans."""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.command.consent import add_consent, is_agreed, is_answered_yes
from openlineage_pyspark.command.questions import show
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store_option import add_store, asking, whole_number
from openlineage_pyspark.errors import RecoveryError, StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.recovery.applying.apply import PlanApplication
from openlineage_pyspark.workbench.recovery.applying.given_plan import Consent, GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import journal_of, journals_of_store
from openlineage_pyspark.workbench.recovery.applying.kept_copies import drop_copy, kept_copies, uncertainties_of_copies
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.applying.recording import Recorder
from openlineage_pyspark.workbench.recovery.model.formats import PLAN_FORMATS, as_text
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan
from openlineage_pyspark.workbench.recovery.model.statements import sql_name
from openlineage_pyspark.workbench.store.spark.session import active_or_new_session, named_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.workbench.recovery.applying.apply import PlanOutcome
    from openlineage_pyspark.workbench.recovery.applying.journal import Journal
    from openlineage_pyspark.workbench.store_api import Store

_DESCRIPTION = """Plans the recovery after a dataset got a wrong version: which versions of which datasets contain its
data, which tables to roll back, and which jobs to run again, in which order and on which inputs. It changes nothing.
`recover apply PLAN` carries out a plan that --output has written: it checks everything first, asks for confirmation,
and keeps a journal. `recover forget-copies PLAN` drops the copies of tables that were made before the tables were
emptied."""

_APPLY, _FORGET = "apply", "forget-copies"
_OF_STEPS = (
    ("--accept-doubt", "carry out step N although it is uncertain; repeatable"),
    ("--done", "confirm that step N was done by hand; repeatable"),
    (
        "--undo",
        "roll back what the application of step N wrote, because it ended too early and must run again; repeatable",
    ),
)
_WRONG = 2
_CODES: dict[PlanOutcome, int] = {"applied": 0, "refused": 1, "declined": 1, "failed": 1, "waits": 3}
_NAME = "recovery"
_PLAN, _OTHER = "plan", "it is the answer of another command"
_AGAIN = "Plan again, or use an unchanged copy of the plan; if it was already started, only the copy can continue it"
_LOGGED = "Exception while sending command."
_LISTENER_IS_OFF = "spark.openlineage.disabled"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("recover", description=_DESCRIPTION)
    parser.add_argument(
        "ref",
        metavar="DATASET[@VERSION]",
        help="the dataset and its wrong version, which may be @latest or a time; without one, the newest version. "
        "Or the word apply or forget-copies",
    )
    parser.add_argument(
        "plan", nargs="?", type=Path, metavar="PLAN", help="for apply and forget-copies: the plan's file"
    )
    which = parser.add_argument_group("the wrong version, if DATASET does not name it")
    which.add_argument("--run", default="", dest="made_by", metavar="ID", help="the version that this run made")
    which.add_argument("--batch", type=whole_number(0), metavar="N", help="the version that this micro-batch made")
    which.add_argument("--time", default="", metavar="TIME", help="the version that was current at a time, such as 2d")
    planning = parser.add_argument_group("the plan")
    modes = [mode.value for mode in Mode]
    planning.add_argument("--mode", choices=modes, default=Mode.INCREMENTAL.value, help="default: incremental")
    planning.add_argument("--column", default="", metavar="NAME", help="only this column is wrong")
    planning.add_argument(
        "--expired",
        action="append",
        default=[],
        metavar="TABLE@VERSION",
        help="a version that the storage no longer has; without a table, of each table that had a version of this "
        "name; repeatable",
    )
    planning.add_argument(
        "--correct-with",
        type=Path,
        metavar="FILE",
        help="SQL that writes the correct data; else you correct it by hand",
    )
    planning.add_argument("--format", choices=("text", "json", *list(PLAN_FORMATS)[1:]), help="default: text")
    planning.add_argument("-o", "--output", metavar="FILE", help="write the plan to a file, for `recover apply`")
    applying = parser.add_argument_group("apply")
    applying.add_argument("--resume", action="store_true", help="continue a plan that was started")
    add_consent(applying)
    applying.add_argument(
        "--accept-newer",
        action="append",
        default=[],
        metavar="TABLE",
        help="accept the loss of the versions of this table that the store does not know; or keep those that were "
        "written during a manual step that must not write the table; repeatable",
    )
    for option, help_ in _OF_STEPS:
        applying.add_argument(option, type=whole_number(1), action="append", default=[], metavar="N", help=help_)
    add_store(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.plan is None:
        return asking(_plan)(options)
    try:
        _refuse_planning(options)
        return _apply(options) if options.ref == _APPLY else _forget(options)
    except (RecoveryError, StoreError) as problem:
        complain(str(problem))
        return _WRONG


def _plan(store: Store, options: argparse.Namespace) -> int:
    if options.ref in (_APPLY, _FORGET):
        raise StoreError(f"name the plan's file: recover {options.ref} PLAN")
    _refuse(options)
    dataset, _, version = options.ref.rpartition("@") if "@" in options.ref else (options.ref, "", "")
    asked = store.recover(
        dataset,
        version=version,
        run=options.made_by,
        batch=options.batch,
        time=options.time,
        mode=options.mode,
        column=options.column,
        expired=tuple(options.expired),
        correction=tuple(_statements(options.correct_with)),
    )
    path = Path(options.store).expanduser()
    now = datetime.now(timezone.utc).isoformat()
    plan = attrs.evolve(asked.result, store=str(path.resolve()) if path.is_file() else options.store, made=now)
    answer = attrs.evolve(asked, result=plan)
    if options.output is not None:
        _write(Path(options.output), answer.to_dict())
    show(answer, options.format or "text")
    if options.output is not None and options.format in (None, "text"):
        Screen().line(
            f"The plan is in {options.output}. `openlineage-pyspark recover apply {options.output}` carries it out."
        )
    return 0


def _write(file: Path, answer: Mapping[str, Any]) -> None:
    """Write the answer with a plan to a new file."""
    try:
        with file.open("x", encoding="utf-8") as out:
            json.dump(answer, out, indent=2)
            out.write("\n")
    except FileExistsError:
        raise StoreError(f"{file} already exists: name another file, or remove it") from None
    except OSError as problem:
        raise StoreError(f"{file} can't be written: {problem.strerror}") from None


def _apply(options: argparse.Namespace) -> int:
    plan = _plan_of(options.plan)
    journal = journal_of(plan, options.plan)
    with journal.held():
        _refuse_start(options, plan, journal)
        if not plan.steps:
            Screen().line("Nothing has to be done.")
            return 0
        if not options.resume:
            sys.stdout.write(as_text(plan))
            Screen().line()
        if options.dry_run:
            return 0
        try:
            outcome = _outcome(options, plan, journal)
        except KeyboardInterrupt:
            _advise(journal, options.plan)
            raise
        except (RecoveryError, StoreError) as problem:
            complain(str(problem))
            outcome = "failed"
    if outcome == "failed":
        _advise(journal, options.plan)
    return _CODES[outcome]


def _refuse_start(options: argparse.Namespace, plan: RecoveryPlan, journal: Journal) -> None:
    """
    Refuse options that do not fit how far the plan, or another one of its store, has come.

    Raises:
        RecoveryError: one does not.
    """
    if journal.entries and not journal.is_unfinished and not options.resume:
        raise RecoveryError(
            f"the plan was already carried out ({journal.path}): plan again if something is still wrong"
        )
    if journal.entries and not options.resume:
        raise RecoveryError(f"the plan was already started ({journal.path}): continue it with --resume")
    # The journal of this plan has no line yet.
    for other in [] if journal.entries or not plan.store else journals_of_store(Path(plan.store)):
        if other.is_unfinished:
            raise RecoveryError(
                f"another recovery of this store is not finished ({other.path}): {other.remains}. Then plan again"
            )
        if other.is_written_after(plan.made):
            raise RecoveryError(
                f"another recovery of this store was applied after this plan was made ({other.path}): plan again"
            )
    if options.resume and not journal.entries:
        raise RecoveryError("the plan was not started yet: leave out --resume")
    if beyond := [each for each in (*options.accept_doubt, *options.done, *options.undo) if each > len(plan.steps)]:
        raise RecoveryError(f"there is no step {beyond[0]}: the plan has {len(plan.steps)}")
    checked = (each.table for step in plan.steps for each in (*step.before, *step.after))
    tables = {
        sql_name(each) for each in (*checked, *(each for step in plan.steps for each in (*step.writes, *step.reads)))
    }
    if strangers := [each for each in options.accept_newer if each not in tables]:
        raise RecoveryError(f"the plan has no table {strangers[0]}: it has {', '.join(sorted(tables))}")


def _outcome(options: argparse.Namespace, plan: RecoveryPlan, journal: Journal) -> PlanOutcome:
    """
    Apply a plan in the session that the options describe, and return what came of it.

    Raises:
        StoreError: Spark can't be queried, or has ended; or the store can't be written.
        RecoveryError: the journal can't be written, or it is unknown whether a step was done.
    """
    consent = Consent(options.accept_newer, options.accept_doubt, options.done, options.undo)
    recorder = Recorder(plan, Path(plan.store)) if plan.store and _is_file(Path(plan.store)) else None
    if plan.store and recorder is None:
        Screen().line(f"The store {plan.store} is not updated: it is not a file on this machine.")
    if recorder is not None:
        recorder.refuse_unwritable()
    ask = None if options.yes else is_answered_yes
    with _session(options, is_recorded=recorder is not None) as session:
        return PlanApplication(GivenPlan(plan, session, journal, Screen().line, ask, consent, recorder)).apply()


def _is_file(store: Path) -> bool:
    """
    Return whether a store is a file.

    Raises:
        StoreError: that can't be found out.
    """
    try:
        return store.is_file()
    except OSError as problem:
        raise StoreError(f"nothing was done: {store} can't be read: {problem.strerror}") from None


def _advise(journal: Journal, file: Path) -> None:
    """Report how to continue a plan that was started."""
    if journal.is_unfinished:
        complain(f"continue with: recover apply {file} --resume")


def _forget(options: argparse.Namespace) -> int:
    plan = _plan_of(options.plan)
    journal = journal_of(plan, options.plan)
    gone = True
    with journal.held():
        copies = kept_copies(plan, journal)
        if not copies:
            Screen().line("The plan has made no copies.")
            return 0
        Screen().line(f"It drops {', '.join(map(sql_name, copies))}.")
        doubtful = {
            each: found for each, found in uncertainties_of_copies(plan).items() if each not in options.accept_doubt
        }
        for number, found in doubtful.items():
            Screen().line(f"step {number} was uncertain, and rows may be in the copy alone: {'; '.join(found)}")
        if doubtful and options.yes and not options.dry_run:
            accepting = " ".join(f"--accept-doubt {number}" for number in doubtful)
            complain(f"nothing was dropped: accept it with {accepting}, or leave out --yes")
            return 1
        if not is_agreed("Drop them?", options):
            return int(not options.dry_run)
        with _session(options, is_recorded=True) as session:
            for copy, files in copies.items():
                is_gone, sentence = drop_copy(copy, files, session)
                gone &= is_gone
                Screen().line(sentence)
    return int(not gone)


@contextmanager
def _session(options: argparse.Namespace, *, is_recorded: bool) -> Iterator[LiveSession]:
    """
    Yield the Spark session that the options describe, and stop it at the end if it was started here.

    Args:
        options: the options.
        is_recorded: whether the store gets the events of the recovery by other means, so that no listener reports it
            twice.
    """
    spark = sys.modules.get("pyspark.sql")
    is_running = spark is not None and spark.SparkSession.getActiveSession() is not None
    conf = {"spark.app.name": _NAME, _LISTENER_IS_OFF: "false", **dict(options.conf)}
    if is_recorded:
        conf[_LISTENER_IS_OFF] = "true"
    if options.packages:
        conf["spark.jars.packages"] = options.packages
    # py4j logs a stack, by the root logger, for what it raises when its JVM ends or Ctrl-C interrupts a call.
    logging.getLogger("root").addFilter(lambda record: record.msg != _LOGGED)
    session = active_or_new_session(conf, what="applying a plan")
    try:
        yield LiveSession(session)
    finally:
        if not is_running:
            # If its JVM has ended, the work has shown that, and there is nothing to stop.
            with suppress(StoreError), named_failure("Spark did not stop"):
                session.stop()


def _plan_of(file: Path) -> RecoveryPlan:
    """Return the plan in a file."""
    try:
        document = json.loads(file.read_text("utf-8"))
        other = _other_answer(document)
        found = None if other else Answer.from_dict(document).result
    except OSError as problem:
        raise StoreError(f"{file} can't be read: {problem.strerror}") from None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as problem:
        raise RecoveryError(f"{file} is not a plan written by `recover --output`: {_why(problem)}. {_AGAIN}") from None
    if not isinstance(found, RecoveryPlan):
        raise RecoveryError(f"{file} is not a plan written by `recover --output`: {other or _OTHER}. {_AGAIN}")
    return found


def _other_answer(document: Any) -> str:
    """Return, in words, what a document is if it is not an answer with a plan; empty if it is one."""
    result = document.get("result") if isinstance(document, dict) else None
    if not isinstance(result, dict):
        return "it is not an answer of a command"
    return "" if result.get("type") == _PLAN else _OTHER


def _why(problem: Exception) -> str:
    """Return, in words, why a file is not a plan."""
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(problem, json.JSONDecodeError):
        return f"it is not JSON from line {problem.lineno}, column {problem.colno} on"
    return f"it lacks {problem}" if isinstance(problem, KeyError) else str(problem)


def _refuse(options: argparse.Namespace) -> None:
    """
    Refuse options that can't be combined.

    Raises:
        StoreError: some of them can't.
    """
    applying = (
        *(
            ("--resume", options.resume),
            ("--yes", options.yes),
            ("--dry-run", options.dry_run),
            ("--accept-newer", options.accept_newer),
        ),
        *(("--accept-doubt", options.accept_doubt), ("--done", options.done), ("--undo", options.undo)),
    )
    if unused := [name for name, value in applying if value]:
        takes = "`recover apply PLAN` and `recover forget-copies PLAN` take it"
        raise StoreError(f"{' and '.join(unused)} can't be used here: only {takes}")
    versions = (
        *(("@VERSION", "@" in options.ref), ("--run", options.made_by)),
        *(("--batch", options.batch is not None), ("--time", options.time)),
    )
    given = [name for name, value in versions if value]
    # A run may have made a version in each of its micro-batches.
    if len(given) > 1 and given != ["--run", "--batch"]:
        raise StoreError(f"{' and '.join(given)} each name the version: give one of them")


def _refuse_planning(options: argparse.Namespace) -> None:
    """
    Refuse options of planning where a plan is applied.

    Raises:
        StoreError: one of them is given, or the plan's file is given without `apply` or `forget-copies`.
    """
    planning = (
        *(("--run", options.made_by), ("--batch", options.batch is not None), ("--time", options.time)),
        *(("--mode", options.mode != Mode.INCREMENTAL.value), ("--column", options.column)),
        *(("--expired", options.expired), ("--correct-with", options.correct_with)),
        *(("--format", options.format), ("--output", options.output)),
    )
    if options.ref not in (_APPLY, _FORGET):
        raise StoreError(f"{options.plan} can't be used: only `recover apply` and `recover forget-copies` take a plan")
    if unused := [name for name, value in planning if value]:
        raise StoreError(f"{' and '.join(unused)} can't be used with a plan: the plan states what is done")


def _statements(file: Path | None) -> tuple[str, ...]:
    """Return the statements of a file: a semicolon at the end of a line ends one."""
    if file is None:
        return ()
    try:
        text = file.read_text("utf-8")
    except OSError as problem:
        raise StoreError(f"{file} can't be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{file} can't be read: it is not UTF-8 text; name a file of SQL statements") from None
    return tuple(each.strip() for each in re.split(r";[ \t]*(?:\n|$)", text) if each.strip())
