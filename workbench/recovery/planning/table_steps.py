"""The steps that reset tables before runs are repeated, or make copies of them and switch to these. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.model import statements
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep, TableCheck, TableId
from openlineage_pyspark.workbench.recovery.planning.remade import Base
from openlineage_pyspark.workbench.recovery.planning.stream_steps import notes_of_new_starts, reading_steps

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions

_PARTITIONS = "`recover apply` adds the table's partitions. By hand, add PARTITIONED BY if the table has any."


def preparing_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps that reset each table to the version from which it is rebuilt."""
    facts = decided.facts
    for dataset, base in decided.again.bases.items():
        known = facts.datasets[dataset]
        like = facts.histories[dataset][base.place].run_id
        if decided.is_dropped(dataset):
            yield from _dropped(decided, known, decided.created[dataset][1], like)
            continue
        if decided.flow.is_gone(dataset):
            yield from _creation(decided, dataset, base)
            continue
        if base.replaced:
            if known.is_of_spark:
                yield from _kept(decided, known)
            continue
        notes = _expired_note(base, decided.again.expired.get(dataset, ""))
        checks = decided.conditions.before_rollback(dataset, base)
        if base.version:
            made = (each.run_id for each in facts.histories[dataset] if each.snapshot == base.version)
            step = _rolled_back(known, base.version, notes, checks, next(made, "") or like)
            yield attrs.evolve(step, doubts=(*step.doubts, *_uncertainties_of_restores(decided, dataset, base)))
        elif dataset != decided.root or decided.again.goes_back:
            doubts = (
                *_uncertainties_of_emptying(decided, dataset, base),
                *_uncertainties_of_restores(decided, dataset, base),
            )
            yield from _emptied(decided, known, notes, doubts, checks, like)


def copying_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps that make a copy of each table, at the version from which it is rebuilt."""
    made: set[str] = set()
    bases = decided.again.bases
    for dataset in dict.fromkeys((decided.root, *bases)):
        known, base = decided.facts.datasets[dataset], bases.get(dataset, Base(0))
        name = decided.copies.get(dataset)
        if name is None and (folder := decided.folders.get(dataset)):
            if dataset not in bases:
                yield RecoveryStep("copy", f"Copy the files of {known.location} to {folder}.")
            # The first run that writes such a folder creates it.
            continue
        if name is None:
            why = "no event states that it is a table of Spark" if known.sql else "it has no name in SQL"
            yield RecoveryStep("copy", f"Make a copy of {known.label}.", doubts=(why,))
            continue
        if name in made:
            # It is the same table under an earlier name.
            continue
        made.add(name)
        if decided.flow.is_gone(dataset):
            doubts = ("it was dropped since", *_uncertainties_of_emptying(decided, dataset, base))
            yield RecoveryStep("copy", f"Make {name} with the columns of {known.label}, without rows.", doubts=doubts)
            continue
        what = f"version {base.version}" if base.version else "no rows"
        text = statements.copied(known, name, base.version)
        if dataset not in bases:
            what, text = "all of its rows", statements.copied_whole(known, name)
        there = (TableCheck("there", statements.table_id(known), base.version),) if base.version else ()
        yield RecoveryStep(
            "copy",
            f"Make {name}, a copy of {known.label} with {what}.",
            "sql",
            (text,),
            notes=(*_expired_note(base, decided.again.expired.get(dataset, "")), _PARTITIONS),
            doubts=tuple(_uncertainties_of_copy(decided, dataset)),
            writes=(statements.table_id(known, name),),
            reads=(statements.table_id(known),) if dataset not in bases else (),
            before=(*decided.conditions.before_rollback(dataset, base), *there),
        )


def switching_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps that give each table the rows of its copy."""
    switched = {name: dataset for dataset, name in decided.copies.items() if not decided.flow.is_gone(dataset)}
    yield from reading_steps(decided, switched.values())
    for name, dataset in switched.items():
        known = decided.facts.datasets[dataset]
        notes = ["Check the copy first.", *notes_of_new_starts(decided, dataset)]
        if statements.is_table_of_path(name):
            notes.append("No statement drops a table that has only a path: remove the copy's files at the end.")
        title = f"Give {known.label} the rows of {name}."
        writes = (statements.table_id(known), statements.table_id(known, name))
        code = statements.switched(known, name)
        # The copy does not contain what something else wrote since it was made.
        before = decided.conditions.newest(dataset)
        settings = (statements.WHOLE_TABLE,)
        # Without versions, nothing else brings back what is replaced.
        yield from _kept(decided, known)
        yield RecoveryStep(
            "switch",
            title,
            "sql",
            code,
            notes=tuple(notes),
            writes=writes,
            reads=writes[1:],
            settings=settings,
            before=before,
        )
    yield from _switched_files(decided)


def _uncertainties_of_copy(decided: Decisions, dataset: int) -> Iterator[str]:
    """Yield the uncertainties about a copy that begins without rows, and whose rows the dataset gets at the end."""
    base = decided.again.bases.get(dataset)
    if base is not None and not base.version and not base.replaced:
        yield from _uncertainties_of_first_rows(decided, dataset, base)


def _switched_files(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps in which a person gives paths the files of their copies."""
    for dataset, folder in decided.folders.items():
        known = decided.facts.datasets[dataset]
        yield RecoveryStep(
            "switch",
            f"Move the files of {known.location} away, and those of {folder} there.",
            notes=("Check the copy first, and keep the old files.",),
            doubts=tuple(_uncertainties_of_copy(decided, dataset)),
        )


def _creation(decided: Decisions, dataset: int, base: Base) -> Iterator[RecoveryStep]:
    """Yield the step that creates a dropped dataset again, unless its first run does that."""
    first = decided.facts.histories[dataset][base.place]
    if first.change == "CREATE" or (base.replaced and first.change == "RENAME"):
        return
    dropped = decided.flow.made(decided.flow.newest(dataset))
    title = f"Create {decided.facts.label(dataset)} again, without rows."
    job = decided.facts.run(dropped.run_id).shown_job
    note = f"The run {dropped.run_id} of {job} dropped it, and that is repeated below."
    yield RecoveryStep("empty", title, notes=(note,), doubts=tuple(_uncertainties_of_emptying(decided, dataset, base)))


def _uncertainties_of_emptying(decided: Decisions, dataset: int, base: Base) -> Iterator[str]:
    """Yield the uncertainties about emptying a dataset."""
    flow, known = decided.flow, decided.facts.datasets[dataset]
    history = decided.facts.histories[dataset]
    yield from _uncertainties_of_first_rows(decided, dataset, base)
    if known.format == "iceberg" and decided.restarts.reads_as_source(dataset):
        yield (
            f"a stream that reads {known.label} would read its old versions again: it needs the options "
            "streaming-skip-delete-snapshots=true and stream-from-timestamp (when this step was, in milliseconds)"
        )
    if not known.has_versions and known.location and any(made.unit.is_batch for made in history):
        yield (
            f"a stream writes it: if {known.location} has a folder _spark_metadata, remove that too, for the "
            "stream skips the micro-batches that are in it, and Spark reads only the files that are in it"
        )
    if not flow.is_gone(dataset) and flow.is_dropped_after(HistoryPlace(dataset, base.place)):
        yield f"{known.label} was dropped and created again since: it may have had other columns before"


def _uncertainties_of_first_rows(decided: Decisions, dataset: int, base: Base) -> Iterator[str]:
    """Yield that a dataset may have had rows before what is rebuilt, which no recorded run may have made."""
    history = decided.facts.histories[dataset]
    before = decided.flow.before.get(HistoryPlace(dataset, base.place))
    begins = history[base.place].whole is True or (before is not None and history[before.place].empties)
    if not begins:
        yield (
            f"{decided.facts.label(dataset)} may have had rows before {history[base.place].version}: no recorded run "
            "can make them again"
        )


def _uncertainties_of_restores(decided: Decisions, dataset: int, base: Base) -> Iterator[str]:
    """Yield the RESTOREs since a base whose version no event states: they may have removed the bad data."""
    for made in decided.facts.histories[dataset][base.place :]:
        if made.restored == "":
            yield (
                f"the run {made.run_id} restored {decided.facts.label(dataset)} to a time, and no event states to "
                "which version: what it removed is repeated too. If DESCRIBE HISTORY shows that it removed the bad "
                "data, leave this table unchanged"
            )


def _rolled_back(
    known: DatasetFacts, version: str, notes: tuple[str, ...], checks: tuple[TableCheck, ...], like: str
) -> RecoveryStep:
    """Return the step that resets a table to a version."""
    doubts: tuple[str, ...] = ()
    if any(check.check == "clean" for check in checks):
        unknown = f"No event states which run made the versions before version {version}."
        refusal = "`recover apply` refuses this step if one of them came after the bad data and added rows."
        notes = (*notes, f"{unknown} {refusal}")
    table = statements.table_id(known)
    if known.format == "iceberg" and not statements.names_catalog(table):
        doubts = (f"no event names the catalog of {known.label}: the current one is assumed",)
    return RecoveryStep(
        "roll back",
        f"Roll {known.label} back to version {version}.",
        "sql",
        (statements.roll_back(table, version),),
        notes=notes,
        doubts=doubts,
        writes=(table,),
        before=(*checks, TableCheck("there", table, version)),
        after=(TableCheck("current", table, version),),
        # Iceberg makes no version of a rollback.
        like=like if known.format == "delta" else "",
    )


def _emptied(
    decided: Decisions,
    known: DatasetFacts,
    notes: tuple[str, ...],
    doubts: tuple[str, ...],
    newest: tuple[TableCheck, ...],
    like: str,
) -> Iterator[RecoveryStep]:
    """Yield the steps that remove all rows of a dataset; one that keeps no versions is copied first."""
    notes = (*notes, *_why_emptied(known))
    if known.sql and not known.is_of_spark:
        # Spark's catalog may have another table of this name.
        notes = (*notes, "No event states that it is a table of Spark.")
        yield RecoveryStep("empty", f"Empty {known.label}.", notes=notes, doubts=doubts)
        return
    code = statements.empty(known)
    if not code:
        yield _moved_away(known, notes, doubts, like)
        return
    yield from _kept(decided, known)
    writes = [statements.table_id(known)]
    if statements.is_overwritten(known):
        writes.append(statements.table_id(known, statements.empty_copy_name(known)))
    yield RecoveryStep(
        "empty",
        f"Empty {known.label}.",
        "sql",
        code,
        notes=notes,
        doubts=doubts,
        writes=tuple(writes),
        settings=(statements.WHOLE_TABLE,) if len(writes) > 1 else (),
        before=newest,
        like=like,
    )


def _kept(decided: Decisions, known: DatasetFacts) -> Iterator[RecoveryStep]:
    """Yield the step that copies a table that keeps no versions, before its rows are removed."""
    if known.has_versions:
        return
    copy = statements.kept_name(known)
    yield RecoveryStep(
        "keep",
        f"Keep the rows of {known.label} in {copy}.",
        "sql",
        (statements.copied_whole(known, copy),),
        notes=("`recover forget-copies` drops it when everything is correct.",),
        writes=(statements.table_id(known, copy),),
        reads=(statements.table_id(known),),
        before=decided.conditions.all_rows(known.id),
    )


def _moved_away(known: DatasetFacts, notes: tuple[str, ...], doubts: tuple[str, ...], like: str) -> RecoveryStep:
    """Return the step in which a person moves files of no table away. Its `like` lets the store record that."""
    title = f"Move the files of {known.location or known.label} away, and keep them."
    files = (TableId((known.format, known.location), known.format, known.location),) if known.location else ()
    return RecoveryStep("empty", title, notes=notes, doubts=doubts, writes=files, like=like if files else "")


def _dropped(decided: Decisions, known: DatasetFacts, job: str, like: str) -> Iterator[RecoveryStep]:
    """Yield the steps that drop a table, or move files away, that an application creates again."""
    notes = (f"{job} creates it again.",)
    if known.sql and not known.is_of_spark:
        # It is a table of a database. Spark's catalog may have another table of its name.
        why = "No event states that it is a table of Spark."
        yield RecoveryStep("empty", f"Drop {known.label}.", notes=(*notes, why))
    elif known.sql:
        yield from _kept(decided, known)
        code, writes = (statements.drop(known),), (statements.table_id(known),)
        yield RecoveryStep("empty", f"Drop {known.label}.", "sql", code, notes=notes, writes=writes)
    else:
        yield _moved_away(known, notes, (), like)


def _expired_note(base: Base, expired: str) -> tuple[str, ...]:
    if not expired:
        return ()
    near = f"version {base.version} is the nearest before it" if base.version else "no earlier version exists"
    return (f"Version {expired} expired; {near}.",)


def _why_emptied(known: DatasetFacts) -> tuple[str, ...]:
    why = (
        "It is rebuilt from its first recorded run."
        if known.has_versions
        else ("It keeps no versions to roll back to: it is rebuilt from its first recorded run.")
    )
    notes = [why]
    if known.sql and statements.is_overwritten(known):
        notes.append(
            "TRUNCATE TABLE would refuse an external table. If the table has partitions, they are removed only where "
            "spark.sql.sources.partitionOverwriteMode is static, as it is by default."
        )
    elif not known.has_versions and known.is_of_spark:
        notes += _emptied_by_hand(known)
    return tuple(notes)


def _emptied_by_hand(known: DatasetFacts) -> list[str]:
    """Return the manual remedy if TRUNCATE TABLE refuses a table."""
    notes = [
        f"{which}: {'; '.join(code)}."
        for which, has_partitions in (("Without partitions", False), ("With partitions", True))
        if (code := statements.empty_external(known, has_partitions=has_partitions))
    ]
    if notes:
        notes.insert(
            0, "TRUNCATE TABLE refuses an external table: then empty it by hand, and continue with the next step."
        )
    return notes
