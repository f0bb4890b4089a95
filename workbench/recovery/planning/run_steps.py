"""The steps that repeat runs: a statement from its text, or an application with its streaming queries. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.redaction.settings import known_settings
from openlineage_pyspark.workbench.recovery.model import statements
from openlineage_pyspark.workbench.recovery.model.facts import replaces_partitions
from openlineage_pyspark.workbench.recovery.model.plan import Pin, RecoveryStep, RepeatedRun
from openlineage_pyspark.workbench.recovery.planning.stream_steps import local_checkpoint

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import PlacedRead
    from openlineage_pyspark.workbench.recovery.model.facts import ApplicationFacts, DatasetFacts, RunFacts
    from openlineage_pyspark.workbench.recovery.model.plan import TableId
    from openlineage_pyspark.workbench.recovery.model.rewriting import Rewritten
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions
    from openlineage_pyspark.workbench.recovery.planning.groups import Group
    from openlineage_pyspark.workbench.recovery.planning.repeated_reads import PinnedRead
    from openlineage_pyspark.workbench.recovery.planning.restarts import Restart

_OVERWRITING = re.compile(r"\bOVERWRITE\b", re.IGNORECASE)
# For a statement that replaced some partitions: by default Spark empties the others too.
_PARTITIONS_ALONE = (("spark.sql.sources.partitionOverwriteMode", "dynamic"),)
_SHOWN_GAPS = 3
_CHANGING = re.compile(
    r"\b(current_date|current_timestamp|current_time|localtimestamp|now|rand|randn|random|uuid|shuffle"
    r"|monotonically_increasing_id)\b\s*(?:\(|(?=[,\s)]|$))",
    re.IGNORECASE,
)


def repeating_step(decided: Decisions, group: Group) -> RecoveryStep:
    """Return the step that runs a group again."""
    if decided.is_statement(group):
        return _statement(decided, group)
    return _application(decided, group)


@attrs.frozen
class _Inputs:
    """
    The reads of a repeated statement.

    Args:
        pins: its inputs, for people.
        reads: its inputs, each with the version to which it is pinned.
        doubts: the uncertainties about them.
        corrected: those that earlier steps rebuild.
    """

    pins: tuple[Pin, ...]
    reads: tuple[tuple[DatasetFacts, str], ...]
    doubts: tuple[str, ...]
    corrected: frozenset[int]


def _statement(decided: Decisions, group: Group) -> RecoveryStep:
    """Return the step that runs a statement again."""
    from openlineage_pyspark.workbench.recovery.model.rewriting import rewritten

    facts, copies, unit = decided.facts, decided.copies, group.units[0]
    run = facts.run(unit.run_id)
    writes = decided.flow.written([unit])
    views = decided.reads.opened_views(unit)
    inputs = _inputs(decided, group, views)
    known = [facts.datasets[each] for each in {*writes, *(dataset.id for dataset, _ in inputs.reads)}]
    own = inputs.corrected | (writes & set(decided.again.bases))
    read_copies = {each: name for each, name in copies.items() if each in own}
    text = rewritten(run.sql, inputs.reads, known, copies, read_copies, inputs.corrected, views)
    tables = [facts.datasets[each] for each in sorted(writes)]
    elsewhere = [table for table in tables if not table.is_of_spark]
    doubts = [
        *_uncertainties_of_group(decided, group),
        *inputs.doubts,
        *text.doubts,
        *_uncertainties_of_text(run, text),
        *_uncertainties_of_session(run, stands_alone=text.stands_alone),
        *(f"no event states that {table.label} is a table of Spark: run it where it ran" for table in elsewhere),
    ]
    return RecoveryStep(
        "run",
        f"Run the statement of {run.shown_job} again.",
        "sql" if text.text and not elsewhere else "",
        (*text.before, text.text) if text.text else (),
        inputs=inputs.pins,
        again=tuple(_repeated_runs(decided, group)),
        notes=tuple(
            f"The query of the view {facts.label(each)} replaces it, so that it reads the same versions as before."
            for each in views
        ),
        doubts=tuple(dict.fromkeys(doubts)),
        writes=tuple(statements.table_id(each, copies.get(each.id, "")) for each in tables if each.is_of_spark),
        reads=tuple(
            statements.table_id(each, read_copies.get(each.id, ""))
            for each, version in inputs.reads
            if each.is_of_spark and each.id not in views and (not version or each.id in read_copies)
        ),
        settings=_settings(run),
        before=tuple(decided.conditions.before_repeating(inputs.reads, () if copies else tables)),
        after=tuple(decided.conditions.after_repeating(unit, copies)),
        like="" if copies else run.id,
    )


def _uncertainties_of_text(run: RunFacts, text: Rewritten) -> Iterator[str]:
    """Yield the uncertainties about a repeated statement that its text shows."""
    for name in sorted({found[1].lower() for found in _CHANGING.finditer(run.sql)}):
        yield f"{name} returns a different value when it runs again"
    if not text.text:
        yield f"its statement is: {run.sql}"


def _inputs(decided: Decisions, group: Group, views: Collection[int]) -> _Inputs:
    """Return the reads of a repeated statement; some views are replaced by their queries."""
    unit = group.units[0]
    writes = decided.flow.written([unit])
    pins: list[Pin] = []
    reads: list[tuple[DatasetFacts, str]] = []
    doubts: list[str] = []
    corrected: set[int] = set()
    for placed in decided.flow.read_by([unit]):
        dataset = decided.facts.datasets[placed.read.dataset]
        if dataset.id in views:
            reads.append((dataset, ""))
            continue
        is_named = decided.names_source(group, dataset.id)
        if decided.reads.is_corrected(placed):
            corrected.add(dataset.id)
            pins.append(Pin(dataset.label, affected=True))
            reads.append((dataset, ""))
            doubts += _uncertainties_of_lost(decided, placed)
            reads_itself = dataset.id in writes and not _reads_views(decided, group)
            if not is_named and not reads_itself and decided.is_side_by_side:
                doubts.append(f"it reads {dataset.label} through a view, and so not the copy")
            continue
        version = ""
        if dataset.id not in writes:
            pinned = decided.reads.pinned(placed)
            version = pinned.version
            doubts += _uncertainties_of_pin(dataset, pinned)
        pins.append(Pin(dataset.label, version))
        if version and not is_named:
            if not decided.reads.is_there_again(placed, group):
                read = _worded(version)
                doubts.append(
                    f"it read {read} of {dataset.label} through a view; the repeated run reads what is current then"
                )
            version = ""
        reads.append((dataset, version))
    return _Inputs(tuple(pins), tuple(reads), tuple(doubts), frozenset(corrected))


def _reads_views(decided: Decisions, group: Group) -> bool:
    """Return whether a repeated statement may read a view: an event states the format of everything else."""
    read = (decided.facts.datasets[placed.read.dataset] for placed in decided.flow.read_by([group.units[0]]))
    return any(each.format not in statements.FORMATS for each in read)


def _application(decided: Decisions, group: Group) -> RecoveryStep:
    """Return the step that starts an application again."""
    facts, application = decided.facts, group.application
    jobs = ", ".join(dict.fromkeys(facts.run(unit.run_id).shown_job for unit in group.units))
    streams = _streams_of(decided, group)
    written = decided.flow.written(group.units) | decided.replaced_after(group)
    command, about = _command(application)
    verb = "Start" if streams else "Run"
    doubts = [
        *_uncertainties_of_group(decided, group),
        *_uncertainties_of_inputs(decided, group),
        *_uncertainties_of_root(decided, group),
        *_uncertainties_of_application(decided, group, application),
        *_uncertainties_of_new_queries(decided, streams),
    ]
    tables = [facts.datasets[each] for each in sorted(written)]
    side = decided.is_side_by_side
    return RecoveryStep(
        "run",
        f"{verb} {application.job if application and application.job else jobs} again.",
        "shell" if command and not side else "",
        (command,) if command else (),
        application.folder if application and command else "",
        _pins_of_application(decided, group),
        tuple(_repeated_runs(decided, group)),
        (*_notes_of_application(decided, group, streams), *about),
        tuple(dict.fromkeys(doubts)),
        tuple(statements.table_id(known, decided.copies.get(known.id, "")) for known in tables if known.is_of_spark),
        tuple(_read_by_application(decided, group)),
        before=() if side else tuple(check for each in sorted(written) for check in decided.conditions.newest(each)),
        after=(
            *decided.conditions.after_application(group.units, decided.copies),
            *decided.conditions.after_other_writes(decided.unwritten(group)),
        ),
        checkpoints=tuple(
            place for query in streams if not side and (place := local_checkpoint(decided.restarts.of(query)))
        ),
    )


def _streams_of(decided: Decisions, group: Group) -> list[str]:
    """Return the streaming queries that a group repeats."""
    run_by = {decided.facts.run(unit.run_id).query for unit in group.units}
    return [query for query in decided.restarts.repeated if query in run_by]


def _pins_of_application(decided: Decisions, group: Group) -> tuple[Pin, ...]:
    pins: dict[tuple[str, str], Pin] = {}
    for unit in group.units:
        for placed in decided.flow.read_by([unit]):
            label = decided.facts.label(placed.read.dataset)
            corrected = decided.reads.is_corrected(placed)
            version = "" if corrected or unit.is_batch else decided.reads.pinned(placed).version
            pins[label, version] = Pin(label, version, corrected)
    return tuple(pins.values())


def _read_by_application(decided: Decisions, group: Group) -> Iterator[TableId]:
    """Yield the tables whose current rows an application reads, without those that a person pins to a version."""
    reads = decided.reads
    read = {
        placed.read.dataset: None
        for unit in group.units
        for placed in decided.flow.read_by([unit])
        if unit.is_batch
        or reads.is_corrected(placed)
        or reads.is_there_again(placed, group)
        or not reads.pinned(placed).version
    }
    for known in (decided.facts.datasets[each] for each in read):
        if known.is_of_spark:
            yield statements.table_id(known, decided.copies.get(known.id, ""))


def _notes_of_application(decided: Decisions, group: Group, streams: Collection[str]) -> Iterator[str]:
    if replaced := decided.replaced_after(group):
        names = ", ".join(sorted(map(decided.facts.label, replaced)))
        yield f"It writes {names} too, which a later step replaces as a whole."
    written = [decided.facts.datasets[each] for each in decided.flow.written(group.units)]
    paths = sorted(each.label for each in written if not each.is_of_spark)
    if paths and len(paths) < len(written):
        yield f"No version shows whether it wrote {', '.join(paths)}: check that before you continue."
    for query in streams:
        repeated = decided.restarts.repeated[query]
        if repeated[0] in group.units:
            restart = decided.restarts.of(query)
            # The copies of its sources have no position from which it could continue.
            yield from _notes_of_restart(attrs.evolve(restart, after=None) if decided.is_side_by_side else restart)
        if repeated[-1] not in group.units:
            yield "Let it read everything and end before the next step, which needs its output."
    if decided.is_side_by_side:
        used = decided.flow.written(group.units)
        used |= {placed.read.dataset for placed in decided.flow.read_by(group.units)}
        for each, name in (*decided.copies.items(), *decided.folders.items()):
            if each in used:
                yield f"Let it use {name} in place of {decided.facts.label(each)}."
        if streams:
            yield "Give each streaming query a new checkpoint."


def _uncertainties_of_new_queries(decided: Decisions, streams: Iterable[str]) -> Iterator[str]:
    """Yield that a query with a new checkpoint repeats rows that a copy has, from before the store knew the query."""
    for query in streams if decided.is_side_by_side else ():
        written = decided.flow.written(decided.restarts.repeated[query])
        bases = {each: base for each, base in decided.again.bases.items() if each in written and base.version}
        if decided.restarts.of(query).after is not None and bases:
            names = ", ".join(decided.copies.get(each, decided.facts.label(each)) for each in bases)
            yield (
                f"no event states what its query made before: a new query makes these rows again, but {names} has them"
            )


def _notes_of_restart(restart: Restart) -> Iterator[str]:
    if restart.after is None:
        yield f"{restart.job} starts from scratch, and reads its sources from the start that its code sets."
        return
    yield f"{restart.job} continues after micro-batch {restart.after}."
    for name, offset in restart.offsets:
        if offset:
            yield f"It reads {name} again after {offset}."


def _uncertainties_of_inputs(decided: Decisions, group: Group) -> Iterator[str]:
    """Yield that an application which runs again finds other rows than it read."""
    reads = decided.reads
    for placed in decided.flow.read_by(unit for unit in group.units if not unit.is_batch):
        dataset = decided.facts.datasets[placed.read.dataset]
        if reads.is_corrected(placed):
            lost = [*_uncertainties_of_lost(decided, placed)]
            yield from lost
            if not lost and reads.named_a_version(placed):
                yield (
                    f"it read version {placed.read.version} of {dataset.label} although a later one existed: if its "
                    "code names this version, remove that, so that it reads the corrected data"
                )
        elif not reads.is_there_again(placed, group):
            if version := reads.pinned(placed).version:
                name = statements.sql_name(statements.table_id(dataset))
                how = "" if version == statements.NO_ROWS else f": let its code read {name} VERSION AS OF {version}"
                yield f"it read {_worded(version)} of {dataset.label}, and now reads what is current then{how}"
            elif decided.facts.histories.get(dataset.id) and reads.changed_since(placed):
                yield f"{dataset.label} was written since: it reads what is current then"


def _uncertainties_of_lost(decided: Decisions, placed: PlacedRead) -> Iterator[str]:
    """Yield that a run read bad data that were rolled back since, so that no step rebuilds them for it."""
    if placed.key is not None and not decided.flow.counts(placed.key):
        made, label = decided.flow.made(placed.key), decided.facts.label(placed.read.dataset)
        yield f"it read version {made.version} of {label}, which was rolled back since: it reads the current data"


def _uncertainties_of_application(
    decided: Decisions, group: Group, application: ApplicationFacts | None
) -> Iterator[str]:
    if application is None:
        yield "it is unknown how it was started"
        return
    if not application.command:
        yield "its START event does not state how it was started"
    facts = decided.facts
    for dataset, (creator, _) in decided.created.items():
        if creator == application.run_id and (decided.is_side_by_side or not decided.is_dropped(dataset)):
            label = facts.label(dataset)
            name = decided.copies.get(dataset, label)
            yield f"it created {label}: if it fails because {name} exists, drop that first"
    if application.redacted:
        yield "parts of its command are left out because they are secret: put them in"
    written = decided.flow.written(group.units)
    read = {placed.read.dataset for placed in decided.flow.read_by(group.units)}
    for known in (facts.datasets[each] for each in sorted(written | read)):
        if known.former and known.former != known.sql:
            yield f"{known.former} was renamed to {known.sql}: change the name in its code"
    if unwritten := decided.unwritten(group):
        names = ", ".join(each.label for each in unwritten)
        yield f"it also writes {names}, which need no recovery: prevent that"
    if unseen := [each.label for each in unwritten if not (each.has_versions and each.is_of_spark)]:
        yield f"no version shows whether it wrote {', '.join(unseen)}: check that by hand"


def _uncertainties_of_root(decided: Decisions, group: Group) -> Iterator[str]:
    """Yield that an application makes more versions of the first dataset again than those that must be repeated."""
    application = group.application.run_id if group.application else ""
    if not application or decided.root not in decided.flow.written(group.units):
        return
    line = ((key, decided.flow.made(key)) for key in reversed(decided.flow.line(decided.root)))
    own = [
        decided.flow.name(key)
        for key, made in line
        if made.unit not in group.units and decided.facts.run(made.run_id).application == application
    ]
    if own:
        yield f"it also makes {', '.join(own)} again, which are kept: prevent those writes"


def _uncertainties_of_group(decided: Decisions, group: Group) -> Iterator[str]:
    facts, flow = decided.facts, decided.flow
    if group.in_circle:
        yield "it needs data that is made after it: it runs in its original place"
    for unit in group.units:
        run = facts.run(unit.run_id)
        for gap in run.gaps[:_SHOWN_GAPS]:
            yield f"its event reports missing lineage: {gap}"
        if not run.ended and not unit.is_batch:
            yield f"the run {run.id} never reported an end"
        for placed in flow.read_by([unit]):
            yield from _uncertainties_of_read(decided, unit, placed)
        for key in flow.writes.get(unit, ()):
            if flow.made(key).whole is None:
                yield f"it is unknown whether it replaced all of {facts.label(key.dataset)}, or only partitions"


def _uncertainties_of_read(decided: Decisions, unit: RunPart, placed: PlacedRead) -> Iterator[str]:
    facts, flow, needed = decided.facts, decided.flow, decided.again.versions
    known = facts.datasets[placed.read.dataset]
    is_own = known.id in flow.written([unit])
    is_known = is_own or decided.reads.was_empty(placed) or not known.has_versions
    if placed.read.inferred and not is_known:
        what = f"its event does not state which version of {known.label} it read"
        yield f"{what}: the one that was current then is assumed"
    if placed.key is None or placed.key not in needed or unit.is_batch:
        return
    made = flow.made(placed.key)
    if not made.unit.is_batch:
        return
    together = decided.group_of.get(made.unit)
    following = [flow.made(each) for each in flow.after(placed.key) if each in needed]
    again = {facts.run(each.run_id).query for each in following if decided.group_of.get(each.unit) == together}
    if facts.run(made.run_id).query in again:
        yield f"it read {known.label} while a stream was writing it; the repeated run reads all that the stream made"


def _repeated_runs(decided: Decisions, group: Group) -> Iterator[RepeatedRun]:
    flow = decided.flow
    by_run: dict[str, list[RunPart]] = {}
    for unit in group.units:
        by_run.setdefault(unit.run_id, []).append(unit)
    for run_id, units in by_run.items():
        run = decided.facts.run(run_id)
        numbers = [unit.batch_id for unit in units if unit.is_batch]
        keys = [key for unit in units for key in flow.writes.get(unit, ())]
        rows = [found for key in keys if (found := flow.made(key).rows) is not None]
        yield RepeatedRun(
            run_id,
            run.job,
            (min(numbers), max(numbers)) if numbers else (),
            tuple(map(flow.name, keys)),
            None if numbers else run.seconds,
            sum(rows) if rows else None,
        )


def _worded(version: str) -> str:
    return version if version == statements.NO_ROWS else f"version {version}"


def _uncertainties_of_pin(dataset: DatasetFacts, pinned: PinnedRead) -> Iterator[str]:
    """Yield why a statement does not read the version of a clean input that it read."""
    if pinned.unpinned == "dropped":
        yield f"version {pinned.wanted} of {dataset.label} was lost with its drop: it reads the current data"
    elif pinned.unpinned == "expired":
        nearest = f"version {pinned.version}, the nearest" if pinned.version else "the current data"
        yield f"version {pinned.wanted} of {dataset.label} expired: it reads {nearest}"
    elif pinned.unpinned == "no versions":
        yield f"{dataset.label} keeps no versions and was written since: it reads the current data"


def _command(application: ApplicationFacts | None) -> tuple[str, tuple[str, ...]]:
    """Return the command that starts an application, and the notes about it."""
    if application is None:
        return "", ()
    notes = [f"Its script: {application.script}"] if application.script else []
    if application.deploy_mode and application.deploy_mode != "client":
        notes.append(f"It ran in deploy mode {application.deploy_mode}.")
    if application.redacted:
        notes.append(f"Its command: {statements.shell(application.command)}")
        return "", tuple(notes)
    return statements.shell(application.command) if application.command else "", tuple(notes)


def _settings(run: RunFacts) -> tuple[tuple[str, str], ...]:
    """Return the settings of the session under which a statement is repeated."""
    settings = dict(known_settings(run.session.settings)) if run.session is not None else {}
    if replaces_partitions(run.job):
        settings |= dict(_PARTITIONS_ALONE)
    elif run.session is not None and _OVERWRITING.search(run.sql):
        # The session that repeats it may have another value.
        settings.setdefault(*statements.WHOLE_TABLE)
    return tuple(sorted(settings.items()))


def _uncertainties_of_session(run: RunFacts, *, stands_alone: bool) -> Iterator[str]:
    """Yield the uncertainties about the session in which a statement is repeated."""
    if run.session is None:
        yield "no event states the settings of its session, such as spark.sql.ansi.enabled: the current ones apply"
        return
    left = sorted(dict(run.session.settings).keys() - dict(known_settings(run.session.settings)).keys())
    if left:
        # The events may come from anybody, and a setting can name a class that is loaded.
        yield f"it ran under settings that are not repeated: {', '.join(left)}"
    place = ".".join(filter(None, (run.session.catalog, run.session.schema)))
    if place and not stands_alone:
        yield f"it ran in {place}, where names without a schema are looked up"
