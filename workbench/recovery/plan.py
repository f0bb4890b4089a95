"""A plan of recovery, as values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs


class Mode(enum.Enum):
    """How to recover."""

    FULL = "full"
    INCREMENTAL = "incremental"
    SIDE_BY_SIDE = "side-by-side"


@attrs.frozen
class Pin:
    """
    What a step reads.

    Args:
        dataset: the dataset.
        version: the version that was read then, which it reads again; empty for what the dataset then holds.
        affected: whether it is one that is corrected before.
    """

    dataset: str
    version: str = ""
    affected: bool = False


@attrs.frozen
class RepeatedRun:
    """
    A run that a step repeats.

    Args:
        run_id: the run.
        job: the name of its job.
        batches: the first and the last micro-batch; empty for a run without.
        made: the versions that it made then, with their datasets: `db.t@12`.
    """

    run_id: str
    job: str
    batches: tuple[int, ...] = ()
    made: tuple[str, ...] = ()


@attrs.frozen
class RecoveryStep:
    """
    One step.

    Args:
        action: `stop`, `copy`, `roll back`, `empty`, `correct`, `checkpoint`, `run` or `switch`.
        title: what it does, as a sentence.
        language: `sql` or `shell`; empty if only a person can do it.
        code: the statements or the commands.
        folder: where a shell step runs; empty for anywhere.
        inputs: what it reads.
        again: the runs that it repeats.
        notes: what a person should know.
        doubts: what is not certain.
    """

    action: str
    title: str
    language: str = ""
    code: tuple[str, ...] = ()
    folder: str = ""
    inputs: tuple[Pin, ...] = ()
    again: tuple[RepeatedRun, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@attrs.frozen
class TouchedDataset:
    """
    A dataset that holds or held bad data.

    Args:
        dataset: its name.
        bad: its versions that hold bad data, in order.
        last_good: the version before the first of them; empty if that is not known.
        because: the dataset and the version from which the bad data came; empty for the start.
        is_clean: whether its newest version holds none any more, so that nothing is done about it.
    """

    dataset: str
    bad: tuple[str, ...]
    last_good: str
    because: str
    is_clean: bool = False


@attrs.frozen
class RecoveryPlan:
    """
    What must be done after a dataset got a wrong version.

    Args:
        mode: how.
        dataset: the dataset.
        version: the wrong version.
        datasets: all that hold or held its data, in the order in which these came.
        steps: what must be done, in order.
        cycles: datasets that are made from each other, or from themselves.
        doubts: what is not certain about the plan as a whole.
    """

    mode: Mode
    dataset: str
    version: str
    datasets: tuple[TouchedDataset, ...]
    steps: tuple[RecoveryStep, ...]
    cycles: tuple[tuple[str, ...], ...] = ()
    doubts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON."""
        plain: dict[str, Any] = attrs.asdict(
            self,
            value_serializer=lambda _, __, value: (
                value.value if isinstance(value, Mode) else list(value) if isinstance(value, tuple) else value
            ),
        )
        plain["steps"] = [{"number": number, **step} for number, step in enumerate(plain["steps"], 1)]
        return plain

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any]) -> RecoveryPlan:
        """
        Return the plan of which `to_dict` made plain values.

        Raises:
            KeyError, TypeError, ValueError: they are those of no plan.
        """
        steps = []
        for each in plain["steps"]:
            step = {key: value for key, value in each.items() if key != "number"}
            step["inputs"] = [Pin(**pin) for pin in step["inputs"]]
            step["again"] = [RepeatedRun(**_with_tuples(run)) for run in step["again"]]
            steps.append(RecoveryStep(**_with_tuples(step)))
        return cls(
            Mode(plain["mode"]),
            plain["dataset"],
            plain["version"],
            tuple(TouchedDataset(**_with_tuples(each)) for each in plain["datasets"]),
            tuple(steps),
            tuple(map(tuple, plain["cycles"])),
            tuple(plain["doubts"]),
        )


def _with_tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}
