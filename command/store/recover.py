"""`recover`: what must be done again after a dataset got a wrong version."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen
from openlineage_pyspark.command.store.execution import execute
from openlineage_pyspark.command.store_option import add_store, asking, pairs
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.errors import StoreError
from openlineage_pyspark.workbench.recovery.formats import PLAN_FORMATS
from openlineage_pyspark.workbench.recovery.plan import Mode, RecoveryPlan

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store_api import Store

_DESCRIPTION = """Plans what must be done again after a dataset got a wrong version: which versions of which datasets
hold its data, what is rolled back, which jobs run again, in which order, and on what. Nothing is done without
--execute."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("recover", description=_DESCRIPTION)
    parser.add_argument(
        "thing",
        metavar="DATASET[@VERSION]",
        help="the dataset and its wrong version, also @latest or a time; without one, the newest",
    )
    which = parser.add_argument_group("which version, if it is not named")
    which.add_argument("--run", default="", dest="made_by", metavar="ID", help="the one that this run made")
    which.add_argument("--batch", type=int, metavar="N", help="the one that this micro-batch made")
    which.add_argument("--time", default="", metavar="TIME", help="the one that was current then, such as 2d")
    modes = [mode.value for mode in Mode]
    parser.add_argument("--mode", choices=modes, default=Mode.INCREMENTAL.value, help="default: incremental")
    parser.add_argument("--column", default="", metavar="NAME", help="only this column is wrong")
    parser.add_argument(
        "--expired", action="append", default=[], metavar="VERSION", help="a version that is gone from the storage"
    )
    parser.add_argument(
        "--correct-with", type=Path, metavar="FILE", help="SQL that puts the right data in; else a person does it"
    )
    parser.add_argument(
        "--format", choices=("text", "json", *list(PLAN_FORMATS)[1:]), default="text", help="default: text"
    )
    running = parser.add_argument_group("to carry it out")
    running.add_argument("--execute", action="store_true", help="carry the plan out, and stop where a step fails")
    running.add_argument("--yes", action="store_true", help="do not ask before the first step")
    running.add_argument("--plan", type=Path, metavar="FILE", help="this plan, which --format json has printed")
    running.add_argument("--from-step", type=int, metavar="N", help="begin with this step; default: 1")
    add_store(parser)
    parser.set_defaults(run=asking(_recover))


def _recover(store: Store, options: argparse.Namespace) -> int:
    _refuse(options)
    thing, _, version = options.thing.rpartition("@") if "@" in options.thing else (options.thing, "", "")
    plan = _plan_of(options.plan) if options.plan else _planned(store, thing, version, options)
    if options.execute:
        conf = pairs(options.conf)
        if options.packages:
            conf["spark.jars.packages"] = options.packages
        begin = 1 if options.from_step is None else options.from_step
        return execute(plan, conf, ask=not options.yes, begin=begin)
    if options.format == "json":
        given = {"mode": options.mode, "column": options.column, "run": options.made_by, "time": options.time}
        given |= {"batch": options.batch, "expired": options.expired}
        given = {name: value for name, value in given.items() if value not in ("", None, [])}
        found = Values("plan", plan.to_dict())
        Screen().json(Answer("recover", {"ref": options.thing, **given}, found, last_seen=store.last_seen()).to_dict())
    else:
        sys.stdout.write(PLAN_FORMATS[options.format](plan))
    return 0


def _plan_of(file: Path) -> RecoveryPlan:
    """Return the plan in a file."""
    try:
        return RecoveryPlan.of_dict(Answer.from_dict(json.loads(file.read_text("utf-8"))).result.values)
    except OSError as problem:
        raise StoreError(f"{file} can't be read: {problem.strerror}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise StoreError(f"{file} has no plan that `recover --format json` printed") from None


def _planned(store: Store, thing: str, version: str, options: argparse.Namespace) -> RecoveryPlan:
    return store.recover(
        thing,
        version=version,
        run=options.made_by,
        batch=options.batch,
        time=options.time,
        mode=options.mode,
        column=options.column,
        expired=options.expired,
        correction=_statements(options.correct_with),
    )


def _refuse(options: argparse.Namespace) -> None:
    """
    Refuse options that mean nothing together.

    Raises:
        StoreError: some do.
    """
    if not options.execute and (options.yes or options.from_step is not None):
        raise StoreError(f"{'--yes' if options.yes else '--from-step'} needs --execute")
    ways = (
        *(("@VERSION", "@" in options.thing), ("--run", options.made_by)),
        *(("--batch", options.batch is not None), ("--time", options.time)),
    )
    if options.batch is not None and options.batch < 0:
        raise StoreError(f"there is no micro-batch {options.batch}: they are numbered from 0")
    given = [name for name, value in ways if value]
    other = ("--column", options.column), ("--expired", options.expired), ("--correct-with", options.correct_with)
    unused = [*given, *(name for name, value in other if value)]
    if options.plan and unused:
        raise StoreError(f"{' and '.join(unused)} can't be used: --plan says what is done")
    # A run may have made a version in each of its micro-batches.
    if len(given) > 1 and given != ["--run", "--batch"]:
        raise StoreError(f"{' and '.join(given)} each name the version: give one of them")


def _statements(file: Path | None) -> tuple[str, ...]:
    """Return the statements of a file: a semicolon at the end of a line ends one."""
    if file is None:
        return ()
    try:
        text = file.read_text("utf-8")
    except OSError as problem:
        raise StoreError(f"{file} can't be read: {problem.strerror}") from None
    return tuple(each.strip() for each in re.split(r";[ \t]*(?:\n|$)", text) if each.strip())
