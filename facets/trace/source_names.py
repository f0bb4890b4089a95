"""Readable names of the datasets that a plan reads, for the texts of its expressions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

from openlineage_pyspark.facets.model.dataset import Dataset, Identifier

_TABLE = "TABLE"


def readable_names(datasets: Iterable[Dataset]) -> dict[Identifier, str]:
    """
    Return a name for each of some datasets: as short as it can be to tell it from the others.

    That is the table's own name; with its database if two tables have the same; and of a path the last directory.

    Args:
        datasets: all that a plan reads.
    """
    parts = {dataset.identifier: _parts(dataset) for dataset in datasets}
    names: dict[Identifier, str] = {}
    length = 1
    while len(names) < len(parts):
        open_ = [identifier for identifier in parts if identifier not in names]
        short = {identifier: parts[identifier][-length:] for identifier in open_}
        often = Counter(short.values())
        for identifier in open_:
            if often[short[identifier]] == 1 or length >= len(parts[identifier]):
                names[identifier] = ".".join(map(quoted_name, short[identifier]))
        length += 1
    return names


@functools.lru_cache(maxsize=8192)
def quoted_name(name: str) -> str:
    """Return a name as SQL writes it: in backticks if it is no plain identifier."""
    is_plain = name.isascii() and name.replace("_", "a").isalnum() and not name.isdigit()
    return name if is_plain or not name else "`" + name.replace("`", "``") + "`"


def _parts(dataset: Dataset) -> tuple[str, ...]:
    table = next((link.name for link in dataset.symlinks if link.type == _TABLE), None)
    name = table or dataset.identifier.name
    if table is None and dataset.type == "TOPIC":
        return (name,)
    by = "/" if table is None and "/" in name else "."
    return tuple(part for part in name.split(by) if part) or (name,)
