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
    """Return a text with each UUID in it cut in the middle, as the store takes it too: `01a216…6e55ab`."""
    return _UUID.sub(lambda found: f"{found[0][:_KEPT]}…{found[0][-_KEPT:]}", text)


def without_class(name: str) -> str:
    """
    Return the name of a job without the class of Spark's in it.

    Args:
        name: such as `shop.execute_insert_into_hadoop_fs_relation_command.gold_sales`, which gives `shop.gold_sales`.
    """
    parts = name.split(".")
    if len(parts) > 2 and _SPARKS_CLASS.fullmatch(parts[-2]):
        del parts[-2]
    return ".".join(parts)


def without_classes(names: Iterable[str]) -> dict[str, str]:
    """
    Return each name of a job -> it without the class of Spark's in it.

    If several would be called so, the first word of the class follows: `shop.gold_sales (insert)`.
    """
    every = list(dict.fromkeys(names))
    called = {name: [without_class(name), *_with_verb(name, without_class(name)), name] for name in every}
    often = Counter(short for shorts in called.values() for short in set(shorts))
    return {name: next((short for short in shorts if often[short] == 1), name) for name, shorts in called.items()}


def _with_verb(name: str, short: str) -> list[str]:
    """Return a short name of a job with what its statement does, as the class of Spark's in its name says it."""
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
        A job -> the last part of its name; if several have that, as many parts before it as are needed; if these do not
        distinguish it from the others, its name, and with that in several namespaces, both.
    """
    every = list(dict.fromkeys(jobs))
    called = {job: _ends(job) for job in every}
    often = Counter(end for ends in called.values() for end in set(ends))
    return {job: next((end for end in ends if often[end] == 1), ends[-1]) for job, ends in called.items()}


def _ends(job: tuple[str, str]) -> list[str]:
    """Return the names by which a job may be called, the shortest first."""
    namespace, name = job
    if not name:
        return [""]
    parts = without_class(name).split(".")
    # `load.py:7` and `daily.sql:5` are whole names.
    ends = [name] if ":" in parts[-1] else [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    return [*ends[:1], *_with_verb(name, ends[0]), *ends[1:], name, f"{namespace}/{name}"]
