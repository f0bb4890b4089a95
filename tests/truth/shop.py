"""One larger pipeline, as a value: eleven tables with all that recoveries meet at once. Pure."""

from __future__ import annotations

import random

import attrs

from truth.pipelines import Action, Pipeline, Table

DAYS = 4
_KEYS, _PARTS = 6, 3
_TABLES = (
    Table("raw0", appended=True),
    Table("rates", parted=False),
    Table("eur"),
    Table("latest", parted=False),
    Table("daily"),
    Table("report"),
    Table("live", appended=True),
    Table("live two"),
    Table("audit", appended=True),
    Table("export", has_versions=False),
    Table("counts", parted=False),
)
_RAW, _RATES, _EUR, _LATEST, _DAILY, _REPORT, _LIVE, _TWO, _AUDIT, _EXPORT, _COUNTS = range(len(_TABLES))
_FORMS = ("sql", "sql", "sql", "short", "cte", "view")
# Tables whose old versions somebody lets expire.
_TIDIED = (_EUR, _LATEST, _DAILY, _REPORT, _AUDIT)


def shop(seed: int, lake: str) -> Pipeline:
    """
    Return a pipeline of two layers of MERGE, a dynamic overwrite, a stream with two sinks, and files without versions.

    Somebody without the listener writes a table, and somebody lets old versions of another one expire. The seed says
    which, when, and how the jobs are written.

    Args:
        seed: any number.
        lake: `iceberg` or `delta`.
    """
    chance = random.Random(f"shop {lake} {seed}")  # noqa: S311 (a pipeline is no secret)
    jobs = _jobs(chance)
    days = [_day(chance, jobs, day) for day in range(DAYS + 1)]
    actions = [each for day in days[:DAYS] for each in day]
    loads = [each for each in actions if each.target == _RAW]
    bad_load = chance.choice(loads[1:-1])
    actions = _with_others(chance, actions, len(jobs), actions.index(bad_load))
    bad = actions.index(bad_load)
    wrong = tuple((k, -900 - v, p) for k, v, p in bad_load.rows)
    return Pipeline(seed, _TABLES, tuple(actions), bad, wrong, tuple(days[DAYS]))


def _jobs(chance: random.Random) -> list[Action]:
    """Return what runs each day, in order."""
    made: list[tuple[str, int, tuple[int, ...], tuple[str, ...]]] = [
        ("load", _RAW, (), ("sql",)),
        ("load", _RATES, (), ("sql",)),
        ("merge", _EUR, (_RAW, _RATES), _FORMS),
        ("update", _EUR, (), ("sql", "short")),
        ("merge", _LATEST, (_EUR,), _FORMS),
        ("delete", _LATEST, (), ("sql", "short")),
        ("dynamic", _DAILY, (_RAW,), (*_FORMS, "frame")),
        (chance.choice(("overwrite", "where")), _REPORT, (_DAILY,), _FORMS),
        ("stream", _LIVE, (_RAW,), ("frame",)),
        ("append", _AUDIT, (_EUR,), (*_FORMS, "temp", "args")),
        ("overwrite", _EXPORT, (_LATEST,), ("sql", "cte")),
        ("count", _COUNTS, (_RAW,), _FORMS),
    ]
    jobs = []
    for number, (kind, target, sources, forms) in enumerate(made):
        # How a load writes: by an append, or by a MERGE.
        lot = {_RAW: 0, _RATES: 1}[target] if kind == "load" else chance.randrange(9)
        second = _TWO if kind == "stream" else None
        jobs.append(Action(number, kind, chance.choice(forms), target, sources, second, number=lot))
    return jobs


def _day(chance: random.Random, jobs: list[Action], day: int) -> list[Action]:
    found = []
    for job in jobs:
        rows: tuple[tuple[int, int, int], ...] = ()
        if job.kind == "load":
            keys = chance.sample(range(_KEYS), chance.choice((3, 4)))
            rows = tuple((key, chance.randrange(100), day % _PARTS) for key in keys)
        # An UPDATE or a DELETE that matches nothing.
        number = 100 if job.kind in ("update", "delete") and chance.random() < 0.3 else job.number
        found.append(attrs.evolve(job, day=day, rows=rows, number=number))
    return found


def _with_others(chance: random.Random, actions: list[Action], job: int, bad: int) -> list[Action]:
    """Put in what others do: one run without the listener, and old versions that expire."""
    found = list(actions)
    # What somebody unknown wrote after the bad load is declined.
    until = len(found) if chance.random() < 0.1 else bad
    unseen = chance.choice([place for place, each in enumerate(found[:until]) if each.kind in ("append", "count")])
    found[unseen] = attrs.evolve(found[unseen], seen=False)
    place = chance.randrange(len(found) // 3, len(found))
    return [*found[:place], Action(job, "expire", "sql", chance.choice(_TIDIED), seen=False), *found[place:]]
