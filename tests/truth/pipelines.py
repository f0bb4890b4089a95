"""Random pipelines, as values: tables in layers, and what applications do to them day by day. Pure."""

from __future__ import annotations

import random

import attrs

DAYS = 3
DAILY = ("load", "append", "overwrite", "static", "dynamic", "where", "merge", "update", "delete", "replace", "stream")
_BY_OTHERS = ("rollback", "recreate", "truncate")
_ODD = ("a.b", "z`1", "two words", "größe", "select", "Mixed", "x;y", "it's")
_KEYS, _PARTS = 6, 3


@attrs.frozen
class Table:
    """
    A table.

    Args:
        name: its name, without its namespace.
        has_versions: whether it is one of the lake, or of Parquet files.
        parted: whether it has partitions.
        appended: whether rows are only ever appended to it, so that a stream can read it.
        is_path: whether it is Parquet files that only have a path.
    """

    name: str
    has_versions: bool = True
    parted: bool = True
    appended: bool = False
    is_path: bool = False


@attrs.frozen
class Action:
    """
    What an application does.

    Args:
        job: the number of its job; each day it does the same.
        kind: such as `append`.
        form: how it is written: `sql`, `short` (names without a namespace), `temp` (over a temporary view), `global`,
            `args`, `frame`, `cte` or `view`.
        target: the table that it writes.
        sources: the tables that it reads.
        second: another table that a stream writes; None for none.
        day: the day, which is a partition too.
        number: a number in its query.
        rows: the rows that a load brings.
        seen: whether the listener is there.
        to: the action to whose end a table is rolled back.
        writes: of the kind `several`: what the application does, in order.
    """

    job: int
    kind: str
    form: str
    target: int
    sources: tuple[int, ...] = ()
    second: int | None = None
    day: int = 0
    number: int = 0
    rows: tuple[tuple[int, int, int], ...] = ()
    seen: bool = True
    to: int = -1
    writes: tuple[Action, ...] = ()

    @property
    def each_write(self) -> tuple[Action, ...]:
        """Return its writes, each as an action: itself if it has one."""
        return self.writes or (self,)


@attrs.frozen
class Pipeline:
    """
    A pipeline.

    Args:
        seed: what it was made from.
        tables: its tables; the first one gets the bad load.
        actions: what is done, in order.
        bad: the place of the bad load among the actions.
        wrong: the rows that the bad load brings instead.
        after: what is done on the day after the recovery.
    """

    seed: int
    tables: tuple[Table, ...]
    actions: tuple[Action, ...]
    bad: int
    wrong: tuple[tuple[int, int, int], ...]
    after: tuple[Action, ...]

    def reached(self, *, by_column: bool = False) -> set[int]:
        """
        Return the tables that data of the bad load may have reached: all others are never touched.

        Args:
            by_column: whether only the column `v` is bad, which a count does not read.
        """
        found = {self.actions[self.bad].target}
        for action in (each for done in self.actions[self.bad :] for each in done.each_write):
            if found & set(action.sources) and not (by_column and action.kind == "count"):
                found |= {action.target} | ({action.second} if action.second is not None else set())
        return found


def pipeline(seed: int, lake: str) -> Pipeline:
    """
    Return the pipeline of a seed.

    Args:
        seed: any number.
        lake: `iceberg` or `delta`.
    """
    return _Making(random.Random(f"{lake} {seed}"), seed, lake).pipeline()  # noqa: S311 (a pipeline is no secret)


def streams_to_the_end(made: Pipeline) -> Pipeline:
    """Return a pipeline whose streams have read all at its end, as they have when tables get the rows of copies."""
    last = {each.job: place for place, each in enumerate(made.actions)}
    written = {write.target: place for place, each in enumerate(made.actions) for write in each.each_write}
    streams = [each for each in made.after if each.kind == "stream"]
    # One stream may read what another one writes.
    written |= {each.target: len(made.actions) for each in streams}
    behind = (each for each in streams if last.get(each.job, -1) < written.get(each.sources[0], -1))
    late = [attrs.evolve(each, day=each.day - 1) for each in behind]
    return attrs.evolve(made, actions=(*made.actions, *late))


class _Making:
    def __init__(self, chance: random.Random, seed: int, lake: str) -> None:
        self._chance = chance
        self._seed = seed
        self._lake = lake
        self._tables: list[Table] = []
        self._jobs: list[Action] = []

    def pipeline(self) -> Pipeline:
        chance = self._chance
        self._roots()
        for layer in range(chance.choice((1, 2, 2))):
            self._layer(layer)
        if chance.random() < 0.5:
            self._several()
        days = [self._day(day) for day in range(DAYS + 1)]
        actions = [each for day in days[:DAYS] for each in day]
        if chance.random() < 0.1:
            # One job runs without the listener.
            place = chance.randrange(len(actions))
            actions[place] = attrs.evolve(actions[place], seen=False)
        actions = self._by_others(actions)
        loads = [place for place, each in enumerate(actions) if each.kind == "load" and each.target == 0 and each.seen]
        bad = chance.choice(loads[1:] if len(loads) > 1 and chance.random() < 0.8 else loads)
        wrong = tuple((k, -900 - v, p) for k, v, p in actions[bad].rows)
        if chance.random() < 0.4:
            wrong = (*wrong[1:], (_KEYS + 1, -77, chance.randrange(_PARTS)))
        return Pipeline(self._seed, tuple(self._tables), tuple(actions), bad, wrong, tuple(days[DAYS]))

    def _roots(self) -> None:
        """Make the tables that are loaded from outside: the first one gets the bad load."""
        for place in range(self._chance.choice((1, 1, 2))):
            appended = self._chance.random() < 0.7
            kind = "append" if appended else self._chance.choice(("merge", "overwrite", "append"))
            self._tables.append(Table(f"raw{place}", appended=appended))
            form = self._chance.choice(("sql", "sql", "frame")) if place and kind == "append" else "sql"
            self._jobs.append(attrs.evolve(Action(len(self._jobs), "load", form, place), number=_LOADS.index(kind)))

    def _layer(self, layer: int) -> None:
        chance = self._chance
        above = list(range(len(self._tables)))
        for each in range(chance.choice((1, 1, 2))):
            source = chance.choice(above) if each or layer else 0
            place = len(self._tables)
            odd = chance.random() < 0.35
            name = f"{chance.choice(_ODD)}{place}" if odd else f"t{layer}{each}"
            writing = chance.choice(("appends", "mixed", "mixed", "whole", "stream", "plain"))
            readable = [other for other in above if self._tables[other].appended]
            if writing == "stream" and readable:
                self._stream(name, chance.choice(readable))
                continue
            plain = writing == "plain"
            self._tables.append(
                Table(f"p{place}" if plain else name, not plain, chance.random() < 0.7, writing == "appends")
            )
            sources = (source,) if chance.random() < 0.6 else (source, chance.choice(above))
            kinds = {"appends": ["append"], "plain": ["append", "overwrite"], "whole": ["overwrite", "replace"]}
            self._write(place, sources, kinds.get(writing, list(DAILY[1:9])))

    def _stream(self, name: str, source: int) -> None:
        place = len(self._tables)
        two = self._chance.random() < 0.5
        self._tables.append(Table(name, appended=not two))
        if two:
            self._tables.append(Table(f"s{place}"))
        self._jobs.append(Action(len(self._jobs), "stream", "frame", place, (source,), place + 1 if two else None))

    def _write(self, place: int, sources: tuple[int, ...], kinds: list[str]) -> None:
        """Add one job or two that write a table."""
        for _ in range(self._chance.choice((1, 1, 2))):
            kind = self._chance.choice(kinds)
            if kind in ("static", "dynamic", "where") and not self._tables[place].parted:
                kind = "merge"
            self._jobs.append(self._job(place, sources, kind))
        if not any(job.target == place and job.sources for job in self._jobs):
            # UPDATE and DELETE alone would leave it empty.
            self._jobs.insert(len(self._jobs) - 1, self._job(place, sources, "append"))

    def _job(self, place: int, sources: tuple[int, ...], kind: str) -> Action:
        forms: tuple[str, ...] = ("sql", "sql", "sql", "short", "temp", "global", "args", "cte", "view")
        if kind in ("append", "dynamic", "where"):
            forms = (*forms, "frame")
        form = self._chance.choice(forms)
        if kind in ("update", "delete"):
            form, sources = self._chance.choice(("sql", "sql", "short", "args")), ()
        if (kind, self._lake) == ("replace", "delta"):
            # Delta Lake 3.3 on Spark 3.5.9 takes CREATE OR REPLACE of a table that is there for an overwrite, and
            # refuses that.
            kind = "overwrite"
        return Action(len(self._jobs), kind, form, place, sources, number=self._chance.randrange(9))

    def _several(self) -> None:
        """Let one application do what some jobs did, and write files and tables that no bad data reach as well."""
        chance, place = self._chance, len(self._tables)
        good, kept, replaced, files = range(place, place + 4)
        self._tables += [Table("good", appended=True), Table("kept", appended=True), Table("replaced")]
        self._tables.append(Table("files", has_versions=False, parted=False, is_path=True))
        own = [job for job in self._jobs if job.kind not in ("load", "stream")]
        own = chance.sample(own, min(len(own), chance.choice((1, 2, 2))))
        self._jobs = [job for job in self._jobs if job not in own]
        number = max(job.job for job in (*self._jobs, *own)) + 1
        self._jobs.append(Action(number, "load", "sql", good, number=_LOADS.index("append")))
        also = [
            Action(number + 1, "append", chance.choice(("sql", "frame")), kept, (good,), number=1),
            Action(number + 2, "overwrite", "sql", replaced, (good,), number=1),
            Action(number + 3, "overwrite", "frame", files, (chance.randrange(place),), number=1),
        ]
        writes = [*own, *chance.sample(also, chance.choice((1, 2, 3)))]
        chance.shuffle(writes)
        sources = tuple({source for each in writes for source in each.sources})
        target = writes[0].target
        self._jobs.append(Action(number + 4, "several", "frame", target, sources, writes=tuple(writes)))
        self._jobs.append(Action(number + 5, "overwrite", "sql", replaced, (good,), number=2))

    def _day(self, day: int) -> list[Action]:
        found = []
        for job in self._jobs:
            if day < DAYS and job.kind != "load" and self._chance.random() < 0.15:
                continue
            number = job.number
            if job.kind in ("update", "delete") and self._chance.random() < 0.3:
                number = 100
            rows = self._rows(day) if job.kind == "load" else ()
            writes = tuple(attrs.evolve(each, day=day) for each in job.writes)
            found.append(attrs.evolve(job, day=day, number=number, rows=rows, writes=writes))
        return found

    def _rows(self, day: int) -> tuple[tuple[int, int, int], ...]:
        keys = self._chance.sample(range(_KEYS), self._chance.choice((2, 3, 4)))
        return tuple((key, self._chance.randrange(100), day % _PARTS) for key in keys)

    def _by_others(self, actions: list[Action]) -> list[Action]:
        """Put in what somebody else does to a table now and then."""
        chance = self._chance
        made = [place for place, each in enumerate(self._tables) if not each.appended and each.has_versions]
        streamed = {
            each for job in self._jobs if job.kind == "stream" for each in (job.target, job.second, *job.sources)
        }
        made = [place for place in made if place not in streamed and not self._tables[place].name.startswith("raw")]
        if not made or chance.random() < 0.6:
            return actions
        place = chance.choice(made)
        kind = chance.choice(_BY_OTHERS)
        writes = [number for number, each in enumerate(actions) if each.target == place]
        if len(writes) < 2:
            return actions
        last = chance.choice(writes[1:])
        to = max(number for number in writes if number < last)
        other = Action(len(self._jobs), kind, "sql", place, seen=chance.random() < 0.85, to=to)
        return [*actions[: last + 1], other, *actions[last + 1 :]]


_LOADS = ("append", "merge", "overwrite")


def kind_of_load(action: Action) -> str:
    """Return how a load writes."""
    return _LOADS[action.number]
