"""Short names of jobs and ids of runs, for people. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPARKS_CLASS = re.compile(
    r"execute_\w+|adaptive_spark_plan|streaming_query|\w+_(command|exec|plan)|"
    r"(append|overwrite|replace|create|delete|update|merge|write|insert|alter|drop|truncate|atomic)_\w+"
)


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KEPT = 6


def short_id(text: str) -> str:
    """Return a text with each UUID in it cut in the middle, such as `01a216…6e55ab`; the store accepts that too."""
    return _UUID.sub(lambda found: f"{found[0][:_KEPT]}…{found[0][-_KEPT:]}", text)


def without_class(name: str) -> str:
    """
    Return the name of a job without the name of Spark's class in it.

    Args:
        name: such as `shop.execute_insert_into_hadoop_fs_relation_command.gold_sales`, which gives `shop.gold_sales`.
    """
    parts = name.split(".")
    if len(parts) > 2 and _SPARKS_CLASS.fullmatch(parts[-2]):
        del parts[-2]
    return ".".join(parts)


def without_classes(names: Iterable[str]) -> dict[str, str]:
    """
    Return the short names of jobs: without the name of Spark's class, by the full name of each job.

    If several jobs have the same short name, the first word of the class is added: `shop.gold_sales (insert)`. If they
    still have, the name is not shortened.
    """
    every = list(dict.fromkeys(names))
    called = {name: [without_class(name), *_with_verb(name, without_class(name)), name] for name in every}
    often = Counter(short for shorts in called.values() for short in set(shorts))
    return {name: next((short for short in shorts if often[short] == 1), name) for name, shorts in called.items()}


def _with_verb(name: str, short: str) -> list[str]:
    """Return a short name with the verb in the name of Spark's class, such as `insert`; nothing without a class."""
    given = name.split(".")
    if len(given) == len(without_class(name).split(".")):
        return []
    return [f"{short} ({given[-2].removeprefix('execute_').partition('_')[0]})"]


def shortest(jobs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """
    Return the shortest names by which jobs can be distinguished.

    Args:
        jobs: the namespace and the name of each.

    Returns:
        For each job, the last part of its name. If several jobs share it, the verb or as many parts before it as are
        needed are added; if these do not distinguish the jobs, the whole name, or else the namespace and the name.
    """
    every = list(dict.fromkeys(jobs))
    called = {job: _ends(job) for job in every}
    often = Counter(end for ends in called.values() for end in set(ends))
    return {job: next((end for end in ends if often[end] == 1), ends[-1]) for job, ends in called.items()}


def _ends(job: tuple[str, str]) -> list[str]:
    """Return the possible names of a job, the shortest first."""
    namespace, name = job
    if not name:
        return [""]
    parts = without_class(name).split(".")
    # `load.py:7` and `daily.sql:5` are whole names.
    ends = [name] if ":" in parts[-1] else [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    return [*ends[:1], *_with_verb(name, ends[0]), *ends[1:], name, f"{namespace}/{name}"]
