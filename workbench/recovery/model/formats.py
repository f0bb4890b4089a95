"""Write a recovery plan for people, as SQL, or as a shell script."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.pictures.plain import plain

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.plan import Pin, RecoveryPlan, RecoveryStep

_WIDTH = 80
_SHOWN = 5
# A shorter time is shown in seconds.
_MINUTES_FROM = 90


def as_text(plan: RecoveryPlan) -> str:
    """Return a plan for people, in lines of at most 80 characters; commands are not broken."""
    lines = [*_folded(f"Recovery of {plan.dataset} from its version {plan.version} ({plan.mode.value})"), ""]
    lines += [*_folded(_summary(plan)), ""]
    lines += _touched(plan)
    for cycle in plan.cycles:
        lines += _folded(_cycle(cycle), "- ")
    lines += [line for doubt in plan.doubts for line in _folded(f"Uncertain: {doubt}", "- ")]
    if plan.cycles or plan.doubts:
        lines.append("")
    for number, step in enumerate(plan.steps, 1):
        lines += _step(number, step)
    if not plan.steps:
        lines.append("There is nothing to do.")
    return "\n".join(lines).rstrip() + "\n"


def as_sql(plan: RecoveryPlan) -> str:
    """Return a plan as an SQL script. A step that is not SQL becomes a comment."""
    lines = _head(plan, "-- ")
    for number, step in enumerate(plan.steps, 1):
        lines += ["", *_commented(number, step, "-- ")]
        if step.language == "sql":
            lines += [f"{text};" for text in _under_settings(step)]
        else:
            lines += _by_hand(step, "-- ")
    return "\n".join(lines) + "\n"


def as_shell(plan: RecoveryPlan, sql: str = "spark-sql") -> str:
    """
    Return a plan as a shell script, which stops where something fails or a person must act.

    Args:
        plan: the plan.
        sql: the command that runs the statements after `-e`. Those of a step share a session, because of its settings.
    """
    lines = ["#!/usr/bin/env bash", "set -euo pipefail", *_head(plan, "# ")]
    for number, step in enumerate(plan.steps, 1):
        lines += ["", *_commented(number, step, "# ")]
        if step.language == "sql":
            # A statement may end with a comment.
            code = "\n;\n".join(_under_settings(step))
            lines.append(f"{sql} -e {shlex.quote(code)}")
        elif step.language == "shell":
            lines += [in_folder(step, command) for command in step.code]
        else:
            lines.append(f"read -r -p {shlex.quote(f'{number}. {step.title} Then press Enter. ')}")
    return "\n".join(lines) + "\n"


PLAN_FORMATS: dict[str, Callable[[RecoveryPlan], str]] = {"text": as_text, "sql": as_sql, "shell": as_shell}
"""The formats by name, apart from JSON."""


def _under_settings(step: RecoveryStep) -> list[str]:
    """Return the statements of a step between those that set and reset its settings."""
    before = [f"SET {key}={value}" for key, value in step.settings]
    return [*before, *step.code, *(f"RESET {key}" for key, _ in step.settings)]


def in_folder(step: RecoveryStep, command: str) -> str:
    """Return a command of a step as a shell runs it in its folder."""
    return f"(cd {shlex.quote(step.folder)} && {command})" if step.folder else command


def _head(plan: RecoveryPlan, mark: str) -> list[str]:
    head = [f"Recovery of {plan.dataset} from its version {plan.version} ({plan.mode.value})."]
    head += [_cycle(cycle) for cycle in plan.cycles]
    head += [f"Uncertain: {doubt}" for doubt in plan.doubts]
    return [line for text in head for line in _marked(text, mark)]


def _commented(number: int, step: RecoveryStep, mark: str) -> list[str]:
    texts = [f"{number}. {step.title}", *_about(step)]
    return [line for text in texts for line in _marked(text, mark)]


def _by_hand(step: RecoveryStep, mark: str) -> list[str]:
    if step.language:
        return [f"{mark}  $ {plain(line)}" for command in step.code for line in in_folder(step, command).splitlines()]
    return [f"{mark}>>> Do this by hand. <<<"]


def _marked(text: str, mark: str) -> list[str]:
    return [f"{mark}{plain(line)}" for line in text.splitlines()]


def _step(number: int, step: RecoveryStep) -> list[str]:
    lines = _folded(step.title, f"{number}. ")
    for text in _about(step):
        lines += _folded(text, "   - ")
    lines += [f"     {plain(line)}" for code in step.code for line in in_folder(step, code).splitlines()]
    return [*lines, ""]


def _about(step: RecoveryStep) -> Iterator[str]:
    """Yield what there is to know about a step, as sentences."""
    for again in step.again[:_SHOWN]:
        batches = _batches(again.batches)
        made = _some(again.made)
        yield f"It repeats the run {again.run_id}{batches}" + (f", which made {made}." if made else ".")
    if len(step.again) > _SHOWN:
        yield f"It repeats {len(step.again) - _SHOWN} more runs."
    if step.inputs:
        yield f"It reads {', '.join(map(_pin, step.inputs))}."
    if step.settings:
        yield f"It runs under {', '.join(f'{key}={value}' for key, value in step.settings)}."
    yield from step.notes
    yield from (f"Uncertain: {doubt}." for doubt in step.doubts)


def _batches(batches: tuple[int, ...]) -> str:
    if not batches:
        return ""
    first, last = batches
    return f", micro-batches {first} to {last}" if first != last else f", micro-batch {first}"


def _pin(pin: Pin) -> str:
    if pin.affected:
        return f"{pin.dataset} (corrected)"
    return f"{pin.dataset}@{pin.version}" if pin.version else pin.dataset


def _touched(plan: RecoveryPlan) -> list[str]:
    lines = ["Affected datasets, in order:", ""]
    for each in plan.datasets:
        what = "version" if len(each.bad) == 1 else "versions"
        text = (
            f"{each.dataset}: {what} {_some(each.bad)}" if any(each.bad) else f"{each.dataset}: no version is recorded"
        )
        text += f", from {each.because}" if each.because else ""
        text += f"; last good version {each.last_good}" if each.last_good else ""
        text += "; clean again, nothing to do" if each.is_clean else ""
        lines += _folded(text, "- ")
    return [*lines, ""]


_COUNTED = {
    "roll back": "rollback",
    "keep": "copy to keep",
    "copy": "copy",
    "empty": "table to empty",
    "correct": "correction",
    "checkpoint": "checkpoint to reset",
    "run": "run to repeat",
    "switch": "switch",
    "stop": "query to stop",
}


def _summary(plan: RecoveryPlan) -> str:
    """Return a plan in a paragraph: how much is affected, the work to do, its duration, and the obstacles."""
    versions = sum(len(each.bad) for each in plan.datasets)
    counts: Counter[str] = Counter(step.action for step in plan.steps)
    steps = ", ".join(_many(counts[action], word) for action, word in _COUNTED.items() if counts[action])
    by_hand = sum(step.language != "sql" and step.move is None for step in plan.steps)
    what = f"{_many(len(plan.steps), 'step')}: {steps}" if plan.steps else "No steps"
    touched = f"{_many(len(plan.datasets), 'dataset')} with {_many(versions, 'bad version')}"
    touched += f" since {plan.since[:19].replace('T', ' ')} UTC" if plan.since else ""
    sentences = [touched, what, *_last_time(plan), f"Manual steps: {by_hand}", *_doubtful(plan)]
    return "".join(f"{each}. " for each in sentences).rstrip()


def _last_time(plan: RecoveryPlan) -> Iterator[str]:
    """Yield how long the runs that are repeated took, and how many rows they wrote."""
    again = [each for step in plan.steps for each in step.again]
    seconds = [each.seconds for each in again if each.seconds is not None]
    rows = [each.rows for each in again if each.rows is not None]
    took = f"took {_time(sum(seconds))}" if seconds else ""
    wrote = f"wrote {_many(sum(rows), 'row')}" if rows else ""
    if took or wrote:
        yield f"Last time the runs {' and '.join(filter(None, (took, wrote)))}"


def _time(seconds: float) -> str:
    return _many(round(seconds / 60), "minute") if seconds >= _MINUTES_FROM else _many(round(seconds), "second")


def _doubtful(plan: RecoveryPlan) -> Iterator[str]:
    """Yield how many steps are uncertain, and which of them wait for the user's consent."""
    doubtful = [number for number, step in enumerate(plan.steps, 1) if step.doubts]
    stopping = [number for number in doubtful if plan.steps[number - 1].language]
    yield f"Uncertain steps: {len(doubtful)}"
    if stopping:
        listed = ", ".join(map(str, stopping))
        yield f"Must be accepted first: {'step' if len(stopping) == 1 else 'steps'} {listed}"


def _many(count: int, words: str) -> str:
    """Return a count with its noun in the plural, such as `2 runs to repeat`: what follows `to` stays unchanged."""
    noun, to, rest = words.partition(" to ")
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun}{to}{rest}"


def _cycle(cycle: tuple[str, ...]) -> str:
    if len(cycle) == 1:
        return f"{cycle[0]} is made from itself: its runs are repeated in the order in which they ran."
    return f"{', '.join(cycle)} are made from each other: their runs are repeated in the order in which they ran."


def _some(names: Iterable[str]) -> str:
    every = list(names)
    if len(every) <= _SHOWN:
        return ", ".join(every)
    return f"{', '.join(every[: _SHOWN - 1])}, ... {every[-1]} ({len(every)} in all)"


def _folded(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(plain(text).split()),
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
