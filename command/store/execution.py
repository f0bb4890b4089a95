"""Carries a plan of recovery out, step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, complain, counted
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.errors import StoreError
from openlineage_pyspark.workbench.recovery.formats import as_text, in_folder
from openlineage_pyspark.workbench.store.spark.session import active_or_new_session, told

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.plan import RecoveryPlan, RecoveryStep
    from pyspark.sql import SparkSession

_FAILED = 1
# What is repeated is lineage like any other, if the configuration says where it goes.
_OWN = {"spark.app.name": "recovery", "spark.openlineage.disabled": "false"}


def execute(plan: RecoveryPlan, conf: Mapping[str, str], *, ask: bool, begin: int = 1) -> int:
    """
    Carry a plan out, and stop at the first step that fails.

    Args:
        plan: the plan.
        conf: the configuration of the Spark session that runs its SQL.
        ask: whether to ask before the first step, and what a person does.
        begin: the number of the first step.

    Returns:
        0 if all was done, else 1.

    Raises:
        StoreError: the plan has no such step.
    """
    if not 1 <= begin <= max(1, len(plan.steps)):
        raise StoreError(f"the plan has {counted(len(plan.steps), 'step')}, and none with the number {begin}")
    sys.stdout.write(as_text(plan))
    if not plan.steps:
        return 0
    if not ask and (number := _of_a_person(plan, begin)):
        step = plan.steps[number - 1]
        complain(f"nothing was done: a person must do step {number}, and --yes asks nobody: {step.title}")
        complain("leave --yes out, or name SQL that corrects the data by --correct-with")
        complain(f"to go on with the same plan: --plan {_kept(plan)}")
        return _FAILED
    if ask and not _agreed(f"Carry out {counted(len(plan.steps) - begin + 1, 'step')}? [y/N] "):
        return _FAILED
    screen, session = Screen(), _LazySession(conf)
    try:
        for number, step in enumerate(plan.steps, 1):
            if number < begin:
                continue
            screen.line(f"{number}/{len(plan.steps)} {step.title}")
            if problem := _do(step, session, ask=ask):
                complain(f"step {number} was not done: {problem}")
                # By then the store may know what the first steps did, and would make another plan.
                kept = _kept(plan)
                complain(f"when that is mended, go on with the same plan: --plan {kept} --from-step {number}")
                return _FAILED
    finally:
        session.stop()
    return 0


def _of_a_person(plan: RecoveryPlan, begin: int) -> int:
    """Return the number of the first step, from `begin` on, that only a person can do; 0 if there is none."""
    found = (number for number, step in enumerate(plan.steps, 1) if not step.language and step.action != "stop")
    return next((number for number in found if number >= begin), 0)


def _kept(plan: RecoveryPlan) -> str:
    """Write a plan to a file of its own, and return the file's name."""
    with tempfile.NamedTemporaryFile("w", prefix="recovery-", suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump(Answer("recover", {}, Values("plan", plan.to_dict())).to_dict(), file, indent=2)
    return file.name


def _do(step: RecoveryStep, session: _LazySession, *, ask: bool) -> str:
    """Do a step, and return why it failed; empty if it did not."""
    if not step.language:
        # Without a question, no other step of a person's comes to this.
        if not ask:
            return ""
        return "" if _agreed("Is this done? [y/N] ") else "it is not done"
    for code in step.code:
        Screen().line(code, indent=2)
        sys.stdout.flush()
        problem = session.run(code) if step.language == "sql" else _shell(step, code, session)
        if problem:
            return problem
    return ""


def _shell(step: RecoveryStep, code: str, session: _LazySession) -> str:
    if step.action == "run":
        # Another Spark may need what this one holds, such as a metastore in a folder.
        session.stop()
    # Our own commands are those of this interpreter, wherever it was started from.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    own = {"PATH": path} if step.action == "checkpoint" else {}
    command = ["/bin/sh", "-c", in_folder(step, code)]
    status = subprocess.run(command, env=os.environ | own, check=False).returncode  # noqa: S603 (it was shown)
    return f"the command ended with {status}" if status else ""


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in {"y", "yes"}
    except EOFError:
        return False


class _LazySession:
    """A Spark session that is started when it is needed."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._conf = conf
        self._session: SparkSession | None = None

    def run(self, sql: str) -> str:
        """Run a statement, and return why it failed; empty if it did not."""
        try:
            if self._session is None:
                self._session = active_or_new_session({**_OWN, **self._conf})
            with told("Spark refused it"):
                self._session.sql(sql).collect()
        except StoreError as problem:
            return str(problem)
        return ""

    def stop(self) -> None:
        """Stop the session, if there is one."""
        if self._session is not None:
            self._session.stop()
            self._session = None
