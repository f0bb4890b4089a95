"""A recovery plan, and the request for it, as values."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin

import attrs
from openlineage_pyspark.workbench.model.document import (
    camel_case,
    document_of_fields,
    from_document,
    is_record,
    types_of_fields,
)
from openlineage_pyspark.workbench.recovery.model.affected import Passes, everything

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace

FORMAT_VERSION = 9
"""The version of a plan's JSON: `recover apply` reads no other."""


class Mode(enum.Enum):
    """How to recover."""

    FULL = "full"
    INCREMENTAL = "incremental"
    SIDE_BY_SIDE = "side-by-side"


@attrs.frozen
class RecoveryRequest:
    """
    The request for a plan.

    Args:
        start: the bad version.
        mode: how to recover.
        passes: returns whether data from one input of a job get into an output.
        expired: versions that are gone from the storage: the dataset and the version of each.
        correction: the statements that correct the dataset; none if a person does it.
        by_column: whether only some column is bad.
    """

    start: HistoryPlace
    mode: Mode
    passes: Passes = everything
    expired: frozenset[tuple[int, str]] = frozenset()
    correction: tuple[str, ...] = ()
    by_column: bool = False


@attrs.frozen
class Pin:
    """
    An input of a step.

    Args:
        dataset: the dataset.
        version: the version that was read then and is read again; empty for the rows that are current at the step.
        affected: whether earlier steps correct it.
    """

    dataset: str
    version: str = ""
    affected: bool = False


@attrs.frozen
class TableId:
    """
    The identity of a table that a step writes.

    Args:
        parts: its name in statements: catalog, namespace and name, each without quotes.
        format: such as iceberg, delta or parquet; empty if it is unknown.
        location: where its files are; empty if that is unknown.
    """

    parts: tuple[str, ...]
    format: str = ""
    location: str = ""


@attrs.frozen
class TableCheck:
    """
    A condition on a table before or after a step.

    Args:
        check: `newest`: the table's version is the newest one that the store knows; `there`: the version can be read;
            `clean`: no unknown writer has put bad data into the version; `current`: the table is at the version;
            `like`: the step changed the table as the original run did; `made`: the step made as many versions as the
            original runs did; `unwritten`: whoever does the step by hand keeps it from writing the table; `rows`: the
            table has as many rows as runs in the store wrote.
        table: the table.
        version: the version; empty if the store knows none. For `rows`: how many rows.
        since: for `newest`: the version after which all that the table has is rebuilt; empty if all of it is. For
            `clean`: a version that is older than the bad data; empty if none is known.
        known: for `newest`: the versions that runs in the store made. No run in the store makes the rows of others
            again, so they would be lost. For `clean`: those that runs in the store made. For `made`: those that the
            original runs made.
        time: for `newest`: when the version was made, in microseconds since 1970: one of this name that was committed
            later is of another table. 0 if that is unknown. For `clean`: when the run began that made the bad data.
        table_id: for `newest`: the id that the format gives the table; empty if no event states it.
        unknown: for `newest`: the versions after `since` of which the store knows only that they existed, because the
            storage forgets that when versions expire.
    """

    check: Literal["newest", "there", "clean", "current", "like", "made", "unwritten", "rows"]
    table: TableId
    version: str = ""
    since: str = ""
    known: tuple[str, ...] = ()
    time: int = 0
    table_id: str = ""
    unknown: tuple[str, ...] = ()


@attrs.frozen
class CheckpointMove:
    """
    The move that resets a checkpoint on this machine.

    Args:
        path: its folder.
        back_to: the last remaining micro-batch; None if the query starts from scratch.
        restored: folders of tables that the query reads and that are reset, each with the version to which it is rolled
            back; empty for a table that is emptied.
        last: the last micro-batch that the store knows. If it is also the last remaining one, no micro-batch is
            repeated: the query only continues elsewhere.
    """

    path: str
    back_to: int | None
    restored: tuple[tuple[str, str], ...] = ()
    last: int | None = None

    @property
    def keeps_all(self) -> bool:
        """Return whether all micro-batches remain."""
        return self.back_to is not None and self.back_to == self.last


@attrs.frozen
class RepeatedRun:
    """
    A run that a step repeats.

    Args:
        run_id: the run.
        job: the name of its job.
        batches: the first and the last micro-batch; empty for a run without.
        made: the versions that it made then, with their datasets: `db.t@12`.
        seconds: how long it took then; None for micro-batches, and if that is unknown.
        rows: how many rows it wrote then; None if that is unknown.
    """

    run_id: str
    job: str
    batches: tuple[int, ...] = ()
    made: tuple[str, ...] = ()
    seconds: float | None = None
    rows: int | None = None


@attrs.frozen
class RecoveryStep:
    """
    One step.

    Args:
        action: `stop`, `copy`, `keep`, `roll back`, `empty`, `correct`, `checkpoint`, `run` or `switch`.
        title: the step, as a sentence.
        language: `sql`; `shell` for a command that a person or an orchestrator runs; empty if a person decides how.
        code: the statements or the commands.
        folder: where a shell step runs; empty for anywhere.
        inputs: the datasets that it reads.
        again: the runs that it repeats.
        notes: the notes for the user.
        doubts: the uncertainties.
        writes: the tables that its statements write, make or drop.
        reads: the tables whose current rows it reads; without those of which it names a version.
        settings: the settings of the session under which its statements run, with their values.
        before: what must hold before the first step of the plan.
        after: what must hold after this step.
        move: the checkpoint that it resets; None for other steps, and if the checkpoint is not on this machine.
        corrects: the bad version that its statements correct in place, without a rollback; empty for other steps.
        like: the run whose event describes what the statements do, for the events of the recovery; empty for none.
        checkpoints: the folders of the checkpoints, on this machine, of the streaming queries that it continues.
    """

    BESIDE_ITS_FIELDS: ClassVar[dict[str, Any]] = {"number": {"type": "integer", "minimum": 1}}

    action: Literal["stop", "copy", "keep", "roll back", "empty", "correct", "checkpoint", "run", "switch"]
    title: str
    language: Literal["sql", "shell", ""] = ""
    code: tuple[str, ...] = ()
    folder: str = ""
    inputs: tuple[Pin, ...] = ()
    again: tuple[RepeatedRun, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    writes: tuple[TableId, ...] = ()
    reads: tuple[TableId, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    before: tuple[TableCheck, ...] = ()
    after: tuple[TableCheck, ...] = ()
    move: CheckpointMove | None = None
    corrects: str = ""
    like: str = ""
    checkpoints: tuple[str, ...] = ()


@attrs.frozen
class TouchedDataset:
    """
    An affected dataset: it contains, or contained, bad data.

    Args:
        dataset: its name.
        bad: its versions that contain bad data, in order.
        last_good: the version before the first of them; empty if that is unknown.
        because: the dataset and the version from which the bad data came; empty for the start.
        is_clean: whether its newest version contains no bad data any more, so that there is nothing to do.
    """

    dataset: str
    bad: tuple[str, ...]
    last_good: str
    because: str
    is_clean: bool = False


@attrs.frozen
class RecoveryPlan:
    """
    The steps that repair the datasets after one of them got a wrong version.

    Args:
        mode: how.
        dataset: the dataset.
        version: the wrong version.
        datasets: all that hold or held its data, in the order in which they got them.
        steps: what must be done, in order.
        cycles: datasets that are made from each other, or from themselves.
        doubts: the uncertainties about the plan as a whole.
        store: the store that it was made from; empty if it was made from none that has a name.
        made: when it was made (ISO 8601, UTC); empty if that is unknown.
        since: when the wrong version was made (ISO 8601, UTC); empty if that is unknown.
    """

    BESIDE_ITS_FIELDS: ClassVar[dict[str, Any]] = {
        "type": {"const": "plan"},
        "formatVersion": {"const": FORMAT_VERSION},
        "id": {"type": "string"},
    }

    mode: Mode
    dataset: str
    version: str
    datasets: tuple[TouchedDataset, ...]
    steps: tuple[RecoveryStep, ...]
    cycles: tuple[tuple[str, ...], ...] = ()
    doubts: tuple[str, ...] = ()
    store: str = ""
    made: str = ""
    since: str = ""

    @property
    def id(self) -> str:
        """Return a short hash of the plan's content."""
        return hashlib.sha256(json.dumps(document_of_fields(self), sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON."""
        document = document_of_fields(self)
        steps = [{"number": number, **step} for number, step in enumerate(document["steps"], 1)]
        return {"type": "plan", "formatVersion": FORMAT_VERSION, "id": self.id, **document, "steps": steps}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> RecoveryPlan:
        """
        Return the plan from the plain values that `to_dict` returned.

        Args:
            plain: the values.

        Raises:
            ValueError: they are not those of a plan, or of a plan in another version of the format, or the plan was
                changed since.
        """
        if plain.get("formatVersion") != FORMAT_VERSION:
            raise ValueError(f"its format has the version {plain.get('formatVersion')}, and not {FORMAT_VERSION}")
        if damage := next(_damage(cls, plain, ""), ""):
            raise ValueError(f"it is damaged: {damage}")
        plan = from_document(cls, plain)
        if plan.to_dict() != {"type": "plan", **plain}:
            raise ValueError("it was changed since it was made")
        return plan


_WORDS: Mapping[Any, str] = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    Mapping: "an object",
    tuple: "an array",
}


def _damage(type_: Any, plain: Any, place: str) -> Iterator[str]:
    """
    Yield where plain values are not those of a type, as sentences without a full stop.

    Args:
        type_: the type.
        plain: the values.
        place: where they are in the plan; empty for the whole plan.
    """
    inner = get_args(type_)
    if NoneType in inner:
        yield from () if plain is None else _damage(inner[0], plain, place)
    elif is_record(type_):
        yield from _damage_of_record(type_, plain, place)
    elif get_origin(type_) is tuple:
        yield from _damage_of_array(inner, plain, place)
    elif get_origin(type_) is Literal or issubclass(type_, enum.Enum):
        words = inner or tuple(each.value for each in type_)
        if plain not in words:
            yield f"{place} must be one of {', '.join(map(repr, words))}"
    elif not isinstance(plain, (int, float) if type_ is float else type_):
        yield _wrong(place, type_)


def _damage_of_record(type_: Any, plain: Any, place: str) -> Iterator[str]:
    if not isinstance(plain, Mapping):
        yield _wrong(place, Mapping)
        return
    for name, each in types_of_fields(type_).items():
        key = camel_case(name)
        here = f"{place}.{key}" if place else key
        yield from _damage(each, plain[key], here) if key in plain else (f"{here} is missing",)


def _damage_of_array(types: tuple[Any, ...], plain: Any, place: str) -> Iterator[str]:
    if not isinstance(plain, (list, tuple)):
        yield _wrong(place, tuple)
        return
    every = types[:1] * len(plain) if types[-1] is Ellipsis else types
    if len(every) != len(plain):
        yield f"{place} must have {len(every)} values"
    for number, (type_, each) in enumerate(zip(every, plain, strict=False)):
        yield from _damage(type_, each, f"{place}[{number}]")


def _wrong(place: str, type_: Any) -> str:
    return f"{place or 'the plan'} must be {_WORDS[type_]}"
