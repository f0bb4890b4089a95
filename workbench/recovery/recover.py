"""`recover`: plan what must be repeated after a dataset got a wrong version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from openlineage_pyspark.errors import RecoveryError, StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import FOREVER, time_of
from openlineage_pyspark.workbench.questions.arguments import DatasetRef, now
from openlineage_pyspark.workbench.questions.reach.reach import Direction, has_gaps
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.run_details import gaps_of
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.version_reach import reach_versions
from openlineage_pyspark.workbench.recovery.applying.journal import journals_of_store
from openlineage_pyspark.workbench.recovery.model.formats import PLAN_FORMATS
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryRequest
from openlineage_pyspark.workbench.recovery.planning.make_plan import plan
from openlineage_pyspark.workbench.recovery.reading import BadVersion, read_facts
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from openlineage_pyspark.workbench.answer import Writer
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts, Facts, HistoryPlace

ModeName: TypeAlias = Literal["full", "incremental", "side-by-side"]

_VERSION = "the wrong version, as after the @ of a ref; default: the newest one, unless a run, batch or time is given"
_EXPIRED = "a version that the storage no longer has; without a table, of each table that had a version of this name"
_CORRECTION = "a statement that writes the correct data; without one, a person does it"


def _writer(name: str) -> Writer:
    return lambda answer: PLAN_FORMATS[name](answer.result)


@question({name: _writer(name) for name in PLAN_FORMATS})
def recover(
    tables: QueriedTables,
    dataset: DatasetRef,
    *,
    version: Annotated[str, Help(_VERSION)] = "",
    run: Annotated[str, Help("the version that this run made", "ID")] = "",
    batch: Annotated[int | None, Help("the version that this micro-batch made", "N")] = None,
    time: Annotated[str, Help("the version that was current then, such as 2d", "TIME")] = "",
    mode: Annotated[ModeName, Help("default: incremental")] = "incremental",
    column: Annotated[str, Help("only this column is wrong", "NAME")] = "",
    expired: Annotated[tuple[str, ...], Help(_EXPIRED, "TABLE@VERSION")] = (),
    correction: Annotated[tuple[str, ...], Help(_CORRECTION, "SQL")] = (),
) -> Answer[RecoveryPlan]:
    """
    Plan what must be repeated after a dataset got a wrong version. Nothing is changed.

    The plan lists the versions of datasets that contain its data, what is rolled back, which jobs run again, in which
    order, and on what.
    """
    when = time_of(time, now()) if time else None
    facts, start, passes = read_facts(tables, dataset, BadVersion(version, run, batch, when), column)
    gone = frozenset(pair for each in expired for pair in _versions_called(each, facts))
    made = plan(facts, RecoveryRequest(start, Mode(mode), passes, gone, tuple(correction), bool(column)))
    return answered(made, (*_unfinished_recoveries(tables, facts), *_gaps(tables, facts, start)))


def _gaps(tables: QueriedTables, facts: Facts, start: HistoryPlace) -> tuple[Diagnostic, ...]:
    """Return the gaps of the runs that read what came from the wrong version: they may have written more of it."""
    if not has_gaps(tables):
        return ()
    bad = facts.histories[start.dataset][start.place]
    versions = StoredVersions(tables, overwrites_replace=False)
    made = [
        each.key for each in versions.of(start.dataset) if (each.run_id, each.batch_id) == (bad.run_id, bad.batch_id)
    ]
    reached = reach_versions(versions, made, Direction.DOWNSTREAM).depths
    runs = {read.part.run_id for reads in versions.readers(reached).values() for read in reads}
    return gaps_of(tables, runs, FOREVER)


def _unfinished_recoveries(tables: QueriedTables, facts: Facts) -> list[Diagnostic]:
    """
    Return a diagnostic for each unfinished recovery of the store: its finished steps hide what it still has to do.

    Raises:
        StoreError: a journal can't be read.
    """
    if not isinstance(tables, Database):
        return []
    journals = journals_of_store(tables.path)
    try:
        unfinished = [(each.path, each.remains) for each in journals if each.is_unfinished]
    except RecoveryError as problem:
        raise StoreError(str(problem)) from problem
    message = "a recovery of this store is not finished, so the plan may lack what it still has to do"
    return [
        *(
            Diagnostic("unfinished-recovery", f"{message}: {remains}", missing=True, place=str(path))
            for path, remains in unfinished
        ),
        *_without_journal(facts, {each.path.stem for each in journals}),
    ]


def _without_journal(facts: Facts, journals: Collection[str]) -> Iterator[Diagnostic]:
    """
    Yield a diagnostic for each recovery whose journal is gone, if no run shows that its last step was done.

    Args:
        facts: the facts.
        journals: the ids of the plans whose journals are there.
    """
    steps: dict[str, dict[int, int]] = {}
    for run in facts.runs.values():
        if run.recovery is not None and run.recovery.plan not in journals:
            steps.setdefault(run.recovery.plan, {})[run.recovery.step] = run.recovery.last
    for plan_id, found in sorted(steps.items()):
        if max(found) < max(found.values()):
            done = ", ".join(map(str, sorted(found)))
            yield Diagnostic(
                "unfinished-recovery",
                f"a recovery of this store may not be finished, so the plan may lack what it still has to do: there "
                f"are runs of its steps {done}, and none of its step {max(found.values())}. Its journal states what "
                f"was done, and is not beside the store: put {plan_id}.jsonl back, or continue the plan where its "
                "file is. If the journal is lost, compare the steps of the plan with the tables by hand",
                missing=True,
                place=plan_id,
            )


def _versions_called(text: str, facts: Facts) -> list[tuple[int, str]]:
    """
    Return the versions that a text names, each with its dataset.

    The versions of Delta tables are small numbers, so many tables have a version of the same name.

    Args:
        text: a version, or a table, `@` and a version.
        facts: the facts.

    Raises:
        StoreError: no dataset of the recovery has such a version: a plan would ignore it.
    """
    name, _, version = text.rpartition("@")
    found = [
        (dataset, version)
        for dataset, history in facts.histories.items()
        if not name or name.lower() in _names(facts.datasets[dataset])
        if any(version in (each.snapshot, each.parent) for each in history)
    ]
    if not found or not version:
        raise StoreError(f"no dataset that the recovery looks at has a version {text}")
    return found


def _names(dataset: DatasetFacts) -> set[str]:
    return {each.lower() for each in (dataset.label, dataset.sql, dataset.former) if each}
