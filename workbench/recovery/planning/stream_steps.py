"""The steps that stop streaming queries, and reset their checkpoints. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from openlineage_pyspark.workbench.recovery.model import statements
from openlineage_pyspark.workbench.recovery.model.plan import CheckpointMove, RecoveryStep

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions
    from openlineage_pyspark.workbench.recovery.planning.restarts import Restart

PROGRAM = "openlineage-pyspark"
RETAINED_BATCHES = 100
"""How many micro-batches Spark keeps in a checkpoint by default (spark.sql.streaming.minBatchesToRetain)."""

_LOCAL = frozenset({"", "file"})
# The options with which a new query does not read what its source already holds.
_BEHIND = {
    "delta": "and the option startingVersion: the version after the one that this makes",
    "iceberg": "and the option stream-from-timestamp: a millisecond after the version that this makes",
}


def stopping_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps that stop the queries that are reset, or continue elsewhere, if they may still run."""
    restarts = decided.restarts
    for units in (*restarts.repeated.values(), *(decided.flow.batches[query] for query in restarts.moved_on)):
        run = decided.facts.run(units[-1][0])
        if not run.ended:
            note = f"Its run {run.id} has not reported an end."
            yield RecoveryStep("stop", f"Stop the streaming query of {run.shown_job}, if it still runs.", notes=(note,))


def checkpoint_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps that reset the checkpoints of these queries."""
    for query in (*decided.restarts.repeated, *decided.restarts.moved_on):
        yield _checkpoint(decided.restarts.of(query))


def reading_steps(decided: Decisions, switched: Iterable[int]) -> Iterator[RecoveryStep]:
    """
    Yield the steps that let queries read all of their sources before these get the rows of their copies.

    These rows come as one version, which contains all rows again, so that no query can read it.

    Args:
        decided: the decisions.
        switched: the datasets that get these rows.
    """
    again = {*switched}
    for query, units in decided.flow.batches.items():
        sources = {each: None for each in _sources(decided, query) if each in again}
        if not sources:
            continue
        copies = decided.copies if query in decided.restarts.repeated else {}
        names = ", ".join(copies.get(each, decided.facts.label(each)) for each in sources)
        job = decided.facts.run(units[-1].run_id).shown_job
        note = "What it has not read by then will be in none of its tables."
        yield RecoveryStep("stop", f"Let {job} read all of {names}, and stop it.", notes=(note,))


def notes_of_new_starts(decided: Decisions, dataset: int) -> Iterator[str]:
    """Yield where the queries that read a dataset continue after it got the rows of its copy."""
    known = decided.facts.datasets[dataset]
    for query, units in decided.flow.batches.items():
        if dataset not in _sources(decided, query):
            continue
        text = f"Start {decided.facts.run(units[-1].run_id).shown_job} with a new checkpoint after this"
        yield f"{text}, {_BEHIND[known.format]}." if known.format in _BEHIND else f"{text}, after these rows."


def _sources(decided: Decisions, query: str) -> list[int]:
    """Return the datasets that a query reads as a stream."""
    return [
        placed.read.dataset for placed in decided.flow.read_by(decided.flow.batches[query]) if placed.read.is_source
    ]


def local_checkpoint(restart: Restart) -> str:
    """Return the folder of a query's checkpoint; empty if that is not on this machine, or unknown."""
    parts = urlsplit(restart.checkpoint)
    if parts.scheme not in _LOCAL:
        return ""
    return unquote(parts.path) if parts.scheme else restart.checkpoint


def _checkpoint(restart: Restart) -> RecoveryStep:
    """Return the step that resets the checkpoint of a query to where the query continues."""
    restored = [dataset for dataset, _ in restart.restored]
    parts = urlsplit(restart.checkpoint)
    path = unquote(parts.path) if parts.scheme == "file" else restart.checkpoint
    if not restart.checkpoint:
        title = f"Reset the checkpoint of {restart.job}" + (
            f" to micro-batch {restart.after}." if restart.after is not None else ": start with an empty one."
        )
        return RecoveryStep("checkpoint", title, doubts=("no event states where its checkpoint is",))
    kept = f"{path.rstrip('/')}.before-recovery"
    words: tuple[str, ...]
    if restart.after is None:
        words = ("mv", path, kept) if parts.scheme in _LOCAL else ("hadoop", "fs", "-mv", path, kept)
        title = f"Move the checkpoint of {restart.job} away: it starts from scratch."
        move = CheckpointMove(path, None, last=restart.last) if parts.scheme in _LOCAL else None
        code = (statements.shell(words),)
        return RecoveryStep("checkpoint", title, "shell", code, notes=_fresh_notes(restored), move=move)
    title = f"Reset the checkpoint of {restart.job} to micro-batch {restart.after}. The old one is kept."
    if restart.after == restart.last:
        title = f"Let {restart.job} continue where its sources were rolled back to. The old checkpoint is kept."
    notes = _cut_notes(restart, restored)
    if parts.scheme in _LOCAL:
        words = (PROGRAM, "checkpoint", path, "--back-to", str(restart.after))
        for dataset in restored:
            words += ("--restored", unquote(urlsplit(dataset.location).path))
        places = tuple((unquote(urlsplit(dataset.location).path), version) for dataset, version in restart.restored)
        move = CheckpointMove(path, restart.after, places, restart.last)
        return RecoveryStep("checkpoint", title, "shell", (statements.shell(words),), notes=notes, move=move)
    doubts = ("the checkpoint is not on this machine: copy it here, run the command on the copy, and copy that back",)
    local = shell_name(path)
    words = (PROGRAM, "checkpoint", local, "--back-to", str(restart.after))
    moves = [("hadoop", "fs", "-get", path, local), words, ("hadoop", "fs", "-mv", path, kept)]
    moves.append(("hadoop", "fs", "-put", local, path))
    if restored:
        return RecoveryStep(
            "checkpoint", title, notes=notes, doubts=(*doubts, "the log of its Delta source must be here too")
        )
    return RecoveryStep("checkpoint", title, "shell", tuple(statements.shell(each) for each in moves), notes=notes)


def shell_name(path: str) -> str:
    """Return the last part of a path, as the name of a local copy."""
    return path.rstrip("/").rpartition("/")[2] or "checkpoint"


def _cut_notes(restart: Restart, restored: Sequence[DatasetFacts]) -> tuple[str, ...]:
    notes = [
        f"Its copy loses offsets/N and commits/N above {restart.after}, and the state that is newer.",
        "It gets a new query id: a Delta table skips a micro-batch that the old id has committed.",
        "If its foreachBatch sets a txnAppId, change that in the code: a Delta table skips what that has committed.",
    ]
    if restart.after is not None and restart.last - restart.after >= RETAINED_BATCHES:
        notes.append(
            f"It made {restart.last - restart.after} micro-batches since, and Spark keeps {RETAINED_BATCHES} unless "
            "spark.sql.streaming.minBatchesToRetain is larger. If this one is gone, recover with --mode full, or "
            "start a new query after the offsets below."
        )
    names = ", ".join(dataset.label for dataset in restored if dataset.format == "delta")
    if names:
        notes.append(
            f"A stream can't read past a RESTORE of its source ({names}): the copy continues at the version after it."
        )
    return tuple(notes)


def _fresh_notes(restored: Iterable[DatasetFacts]) -> tuple[str, ...]:
    names = ", ".join(dataset.label for dataset in restored)
    notes = ["If its code gives a place to start, such as startingVersion or startingOffsets, check it."]
    if names:
        notes.append(f"A new query reads the whole of {names} first.")
    return tuple(notes)
