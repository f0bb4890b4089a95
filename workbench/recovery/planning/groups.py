"""Group the runs that are repeated together, and order the groups. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow
    from openlineage_pyspark.workbench.recovery.model.facts import ApplicationFacts, HistoryPlace


_APPLICATION = "application "
_CORRECTION = "correction"


@attrs.frozen
class Group:
    """
    What is repeated together: a statement, or an application with its streaming queries.

    Args:
        units: its runs and micro-batches, in order.
        application: the application that is started again; None for a statement, and if it is unknown.
        in_circle: whether it also needs the results of later groups.
        is_correction: whether it is the place of the correction in the order; it has no runs then.
        too_late: whether it should run before another group rebuilds data, but also needs rebuilt data of that group.
    """

    units: tuple[RunPart, ...]
    application: ApplicationFacts | None = None
    in_circle: bool = False
    is_correction: bool = False
    too_late: bool = False


def groups(
    flow: Flow,
    needed: Collection[HistoryPlace],
    start: RunPart,
    stands_alone: Callable[[RunPart], bool] = lambda _: True,
    names_source: Callable[[RunPart, int], bool] = lambda _unit, _dataset: True,
) -> list[Group]:
    """
    Return the groups to run again, in an order in which each finds its inputs.

    Args:
        flow: the versions and their reads.
        needed: the versions that must be rebuilt.
        start: what made the bad version. A run is not repeated: the correction comes instead of it, before all groups
            but those that read the earlier rows and can't name their version. A micro-batch is repeated, after the
            correction.
        stands_alone: returns whether the statement of a run can be repeated without its application.
        names_source: returns whether the statement of a run names a dataset that it reads, which a view may hide.
    """
    units = _repeated(flow, needed, start)
    names = _names(flow, needed, units, stands_alone)
    members: dict[str, list[RunPart]] = {}
    for unit in sorted(units, key=lambda unit: (_time(flow, unit), unit)):
        members.setdefault(names[unit], []).append(unit)
    times = {_CORRECTION: -1} | {name: _time(flow, inside[0]) for name, inside in members.items()}
    known = names | ({start: _CORRECTION} if not start.is_batch else {})
    after, too_late = _dependencies(flow, needed, known, names_source)
    return [
        Group(
            tuple(members.get(name, ())),
            flow.facts.applications.get(name.removeprefix(_APPLICATION)),
            in_circle,
            name == _CORRECTION,
            name in too_late,
        )
        for name, in_circle in _sorted(times, after)
    ]


def started_applications(
    flow: Flow, needed: Collection[HistoryPlace], start: RunPart, stands_alone: Callable[[RunPart], bool]
) -> set[str]:
    """
    Return the runs of the applications that `groups` starts again.

    Args:
        flow: the versions and their reads.
        needed: the versions that must be rebuilt.
        start: what made the bad version.
        stands_alone: returns whether the statement of a run can be repeated without its application.
    """
    names = _names(flow, needed, _repeated(flow, needed, start), stands_alone)
    return {name.removeprefix(_APPLICATION) for name in names.values() if name.startswith(_APPLICATION)}


def _repeated(flow: Flow, needed: Collection[HistoryPlace], start: RunPart) -> set[RunPart]:
    """Return the runs and micro-batches that are repeated."""
    units = {flow.made(key).unit for key in needed if not flow.made(key).nothing}
    return {unit for unit in units if unit.run_id in flow.facts.runs and (unit != start or start.is_batch)}


def _names(
    flow: Flow, needed: Collection[HistoryPlace], units: Collection[RunPart], stands_alone: Callable[[RunPart], bool]
) -> dict[RunPart, str]:
    """Return the group of each unit."""
    names = _names_of_streams(flow, needed, units)
    statements: list[RunPart] = []
    for unit in units:
        run = flow.facts.run(unit.run_id)
        if run.query:
            continue
        if not run.application or (run.sql and (not _can_start(flow, run.application) or stands_alone(unit))):
            statements.append(unit)
        else:
            names[unit] = f"{_APPLICATION}{run.application}"
    # An application that is started again repeats all of its statements.
    started = set(names.values())
    for unit in statements:
        application = f"{_APPLICATION}{flow.facts.run(unit.run_id).application}"
        names[unit] = application if application in started else f"run {unit.run_id}"
    return names


def _names_of_streams(flow: Flow, needed: Collection[HistoryPlace], units: Collection[RunPart]) -> dict[RunPart, str]:
    """
    Return the group of each micro-batch.

    The latest application of a query repeats all of it at once, unless others read or wrote its tables in between: then
    each application repeats its own part.
    """
    latest: dict[str, tuple[int, str]] = {}
    for run in flow.facts.runs.values():
        if run.query and run.application:
            latest[run.query] = max(latest.get(run.query, (-1, "")), (run.started, run.application))
    queries: dict[str, list[RunPart]] = {}
    for unit in units:
        if query := flow.facts.run(unit.run_id).query:
            queries.setdefault(query, []).append(unit)
    names: dict[RunPart, str] = {}
    for query, batches in queries.items():
        name = f"{_APPLICATION}{latest[query][1]}" if query in latest else f"query {query}"
        following: RunPart | None = None
        # Whether all that its sources got later is rebuilt: then it is not there yet when the query pauses.
        is_later_again = True
        for unit in sorted(
            batches, key=lambda unit: (unit.batch_id, flow.facts.run(unit.run_id).started), reverse=True
        ):
            if following is not None and is_later_again and _is_pause(flow, needed, units, unit, following):
                name = f"{_APPLICATION}{flow.facts.run(unit.run_id).application}"
            names[unit] = name
            following = unit
            read = (placed.key for placed in flow.reads.get(unit, ()) if placed.read.is_source)
            is_later_again = is_later_again and all(key in needed for key in read)
    return names


def _is_pause(
    flow: Flow, needed: Collection[HistoryPlace], units: Collection[RunPart], unit: RunPart, following: RunPart
) -> bool:
    """Return whether others need a query's output up to a micro-batch, and its application can repeat just that."""
    run, later = flow.facts.run(unit.run_id), flow.facts.run(following.run_id)
    if not (run.ended and _can_start(flow, run.application) and run.application != later.application):
        return False
    made = [key for key in flow.writes.get(unit, ()) if key in needed]
    others = {each for key in made for each in flow.readers.get(key, ()) if not each.is_batch}
    others |= {flow.made(after).unit for key in made for after in flow.after(key)}
    return any(each in units and flow.facts.run(each.run_id).query != run.query for each in others)


def _can_start(flow: Flow, application: str) -> bool:
    """Return whether it is known how an application was started."""
    known = flow.facts.applications.get(application)
    return known is not None and bool(known.command)


def _time(flow: Flow, unit: RunPart) -> int:
    """Return when a unit first wrote something; else when its run began."""
    run = flow.facts.run(unit.run_id)
    times = [flow.made(key).time for key in flow.writes.get(unit, ())]
    return min(times) if times else run.started


def _dependencies(
    flow: Flow,
    needed: Collection[HistoryPlace],
    names: Mapping[RunPart, str],
    names_source: Callable[[RunPart, int], bool],
) -> tuple[dict[str, set[str]], set[str]]:
    """
    Return which groups must wait for which, and which ones come too late.

    Args:
        flow: the versions and their reads.
        needed: the versions that must be rebuilt.
        names: a run or a micro-batch -> the name of its group.
        names_source: returns whether the statement of a run names a dataset that it reads.

    Returns:
        The name of a group -> the names of those that come before; and the groups that should run before something
        is rebuilt, but need that as well.
    """
    before: dict[str, set[str]] = {}

    def wait(late: str | None, early: str | None) -> None:
        if late is not None and early is not None and late != early:
            before.setdefault(late, set()).add(early)

    previous: dict[int, HistoryPlace] = {}
    readers: dict[int, list[tuple[RunPart, HistoryPlace]]] = {}
    paused, ended = _ends_of_streams(flow, names)
    soft: list[tuple[str, str]] = []
    for key in sorted(needed):
        maker = names.get(flow.made(flow.writer(key)).unit)
        if (last := previous.get(key.dataset)) is not None and not flow.made(key).nothing:
            earlier = names.get(flow.made(last).unit)
            wait(maker, earlier)
            found = [(names.get(unit), unit, read) for unit, read in readers.pop(key.dataset, ()) if maker != earlier]
            # A stream reads later versions too, and no group can be placed in the middle of another one.
            for name in (name for name, unit, read in found if not unit.is_batch or (name, read) in paused):
                wait(maker, name)
            soft += [(maker, name) for name, _, read in found if maker and name and (name, read) in ended]
        for unit in flow.readers.get(key, ()):
            wait(names.get(unit), maker)
        readers.setdefault(key.dataset, []).extend((unit, key) for unit in flow.readers.get(key, ()))
        if not flow.made(key).nothing:
            previous[key.dataset] = key
    _let_first(before, soft)
    return before, _let_first(before, _clean_readers(flow, needed, names, names_source))


def _ends_of_streams(
    flow: Flow, names: Mapping[RunPart, str]
) -> tuple[set[tuple[str, HistoryPlace]], set[tuple[str, HistoryPlace]]]:
    """
    Return the last version of each source that a query reads in each group: no later one should exist then.

    Returns:
        The groups after which the query continues, and those in which it ends, each with such a version.
    """
    lasts: dict[tuple[str, int], dict[str, HistoryPlace]] = {}
    numbers: dict[str, dict[str, int]] = {}
    for unit, name in names.items():
        query = flow.facts.run(unit.run_id).query
        if not query:
            continue
        numbers.setdefault(query, {})[name] = max(unit.batch_id, numbers.get(query, {}).get(name, -1))
        for placed in flow.reads.get(unit, ()):
            if placed.read.is_source and placed.key is not None:
                found = lasts.setdefault((query, placed.read.dataset), {})
                found[name] = max(placed.key, found.get(name, placed.key))
    paused: set[tuple[str, HistoryPlace]] = set()
    ended: set[tuple[str, HistoryPlace]] = set()
    for (query, _), found in lasts.items():
        final = max(numbers[query], key=lambda name: numbers[query][name])
        for name, key in found.items():
            (ended if name == final else paused).add((name, key))
    return paused, ended


def _let_first(before: dict[str, set[str]], pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Let the second group of each pair come before the first one; return those that can't."""
    too_late = set()
    for late, early in pairs:
        # The work of one application keeps its order.
        if late != early and _waits_for(before, early, late):
            too_late.add(early)
        elif late != early:
            before.setdefault(late, set()).add(early)
    return too_late


def _clean_readers(
    flow: Flow,
    needed: Collection[HistoryPlace],
    names: Mapping[RunPart, str],
    names_source: Callable[[RunPart, int], bool],
) -> Iterator[tuple[str, str]]:
    """Yield the group that rebuilds each dataset's first version, with each group that must find the one before."""
    firsts: dict[int, HistoryPlace] = {}
    for key in sorted(needed, reverse=True):
        firsts[key.dataset] = key
    for first in sorted(firsts.values()):
        maker = names.get(flow.made(flow.writer(first)).unit)
        if maker is not None:
            yield from ((maker, each) for each in _readers_of_clean(flow, first, names, names_source))


def _readers_of_clean(
    flow: Flow, first: HistoryPlace, names: Mapping[RunPart, str], names_source: Callable[[RunPart, int], bool]
) -> Iterator[str]:
    """Yield the groups that read a dataset as it was before its first rebuilt version, and can't name that version."""
    keys = flow.same_rows(flow.held(flow.before.get(first)))
    for unit in (unit for key in keys for unit in flow.readers.get(key, ())):
        # A statement names the version that it reads, unless it reads through a view, and a stream its offset.
        name = names.get(unit, "")
        if not unit.is_batch and name and (name.startswith(_APPLICATION) or not names_source(unit, first[0])):
            yield name


def _waits_for(before: Mapping[str, set[str]], late: str, early: str) -> bool:
    """Return whether one group waits for another, directly or through others."""
    seen, waiting = {late}, [late]
    while waiting:
        found = before.get(waiting.pop(), set()) - seen
        if early in found:
            return True
        seen |= found
        waiting += found
    return False


def _sorted(times: Mapping[str, int], before: Mapping[str, set[str]]) -> list[tuple[str, bool]]:
    """Return the groups, each after those that it waits for, and with whether that was impossible."""
    missing = {name: len(before.get(name, ())) for name in times}
    waiting_for: dict[str, list[str]] = {}
    for late, earlier in before.items():
        for early in earlier:
            waiting_for.setdefault(early, []).append(late)
    ready = [(times[name], name) for name, count in missing.items() if not count]
    every = sorted((time, name) for name, time in times.items())
    heapq.heapify(ready)
    done: dict[str, bool] = {}
    at = 0
    while len(done) < len(times):
        in_circle = not ready
        if in_circle:
            # In a circle, what came first comes first.
            while every[at][1] in done:
                at += 1
            name = every[at][1]
        else:
            name = heapq.heappop(ready)[1]
        if name in done:
            continue
        done[name] = in_circle
        for late in waiting_for.get(name, ()):
            missing[late] -= 1
            if not missing[late] and late not in done:
                heapq.heappush(ready, (times[late], late))
    return list(done.items())


def circles(edges: Mapping[int, Iterable[int]]) -> list[tuple[int, ...]]:
    """
    Return the nodes of a graph that are on cycles, those of one cycle together (Tarjan's algorithm).

    Args:
        edges: a node -> the nodes after it.
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[tuple[int, ...]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(tuple(edges.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for each in following:
                if each not in index:
                    index[each] = low[each] = len(index)
                    stack.append(each)
                    on_stack.add(each)
                    work.append((each, iter(tuple(edges.get(each, ())))))
                    break
                if each in on_stack:
                    low[node] = min(low[node], index[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found += _taken_from(stack, on_stack, node, edges)
    return found


def _taken_from(
    stack: list[int], on_stack: set[int], node: int, edges: Mapping[int, Iterable[int]]
) -> list[tuple[int, ...]]:
    part: list[int] = []
    while True:
        each = stack.pop()
        on_stack.discard(each)
        part.append(each)
        if each == node:
            break
    return [tuple(sorted(part))] if len(part) > 1 or node in edges.get(node, ()) else []
