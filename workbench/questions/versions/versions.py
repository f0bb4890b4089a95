"""
The versions of datasets, and what runs read and made of them.

A version is the snapshot or the version that the storage gave it, else the run, or the micro-batch of a run, that wrote
the dataset. A run that states no version is assumed to have read the one that was current when it began: such a read is
marked as inferred.
"""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeAlias

import attrs
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH


class VersionKey(NamedTuple):
    """
    A version of a dataset.

    Args:
        dataset: the dataset's id.
        version: the version's id; empty for what the dataset held before the first version that is known.
    """

    dataset: int
    version: str


class RunPart(NamedTuple):
    """
    A run, or one of its micro-batches.

    Args:
        run_id: the run.
        batch_id: the micro-batch's number; NO_BATCH for a run that has none.
    """

    run_id: str
    batch_id: int

    @property
    def is_batch(self) -> bool:
        """Return whether it is a micro-batch."""
        return self.batch_id != NO_BATCH


StreamedRead: TypeAlias = "tuple[str, int, int, str, bool]"
"""A run, a micro-batch, a dataset, the version that was read, and whether it is inferred."""
VersionPlace: TypeAlias = "tuple[VersionKey, bool]"
"""A version, and whether the rows that it added are meant."""


class VersionKind(enum.Enum):
    """The origin of a version's id."""

    STORAGE = "storage"
    RUN = "run"
    UNKNOWN = "unknown"


@attrs.frozen
class DatasetVersion:
    """
    A version of a dataset.

    Args:
        dataset_id: the dataset.
        id: the snapshot or version of the storage; else the run's id, and with a micro-batch, a slash and its number.
        kind: where the id comes from.
        time: when it was made, microseconds since 1970, as far as is known: no later than its run, or than a later
            version. If no event states when it was made: when it was first read.
        parts: the runs and micro-batches that made it according to their events, the best known one first; empty if no
            event states who did.
        job_id: the job of the first of them; None if it is unknown.
        parent: the version before it, which the storage or the order states; empty if there is none that is known.
        parent_inferred: whether the order states it, and not the storage.
        storage_parent: the version before it in the storage, even if the store knows nothing else of that one; empty if
            the storage does not state it.
        keeps: whether it keeps rows of the version before.
        change: such as OVERWRITE or DROP; empty for an append.
        rows: how many rows were written; None if it is unknown.
        bytes: how many bytes were written; None if it is unknown.
    """

    dataset_id: int
    id: str
    kind: VersionKind
    time: int
    parts: tuple[RunPart, ...] = ()
    job_id: int | None = None
    parent: str = ""
    parent_inferred: bool = False
    storage_parent: str = ""
    keeps: bool = False
    change: str = ""
    rows: int | None = None
    bytes: int | None = None

    @property
    def key(self) -> VersionKey:
        """Return the dataset and the id."""
        return VersionKey(self.dataset_id, self.id)

    @property
    def run_id(self) -> str:
        """Return the run that made it; empty if it is unknown."""
        return self.parts[0][0] if self.parts else ""

    @property
    def batch_id(self) -> int:
        """Return the micro-batch that made it; NO_BATCH if there is none."""
        return self.parts[0][1] if self.parts else NO_BATCH


@attrs.frozen
class VersionRead:
    """
    A run, or one micro-batch of it, read a version.

    Args:
        part: the run and the micro-batch.
        version: the version. Its id is empty if the store knows none that existed at that time.
        job_id: the job; None if it is unknown.
        time: when it was read, microseconds since 1970.
        inferred: whether the event does not name the version, so that the one that was current then is assumed.
        added: whether only the rows were read that the version added, as streams do, and not all of the dataset.
        offset_from: where a micro-batch began to read, as JSON; empty if it is unknown.
        offset_to: where it ended; empty if it is unknown.
        rows: how many rows were read, of all versions of the dataset together; None if it is unknown.
    """

    part: RunPart
    version: VersionKey
    job_id: int | None
    time: int
    inferred: bool = False
    added: bool = False
    offset_from: str = ""
    offset_to: str = ""
    rows: int | None = None


@attrs.frozen
class VersionEdge:
    """
    Rows of one version went into another.

    Args:
        source: where they come from.
        target: where they go.
        part: the run and micro-batch that made the target.
        job_id: its job; None if it is unknown.
        kept: whether the target is the dataset's next version, which keeps the rows of the one before.
        inferred: whether the events do not name the source: it was current then, or it is the one before by its time.
        added: whether only the rows that the source added went there.
    """

    source: VersionKey
    target: VersionKey
    part: RunPart
    job_id: int | None
    kept: bool = False
    inferred: bool = False
    added: bool = False


@attrs.frozen
class VersionClosure:
    """
    The result of a traversal from versions.

    Args:
        depths: each version of the result, and each start -> how many runs are between, the closest first. An edge that
            only keeps rows counts none.
        edges: all edges that were passed, each one once.
        last: the places at which the depth ends the traversal; none if it is complete.
    """

    depths: dict[VersionKey, int]
    edges: tuple[VersionEdge, ...]
    last: tuple[VersionPlace, ...] = ()
