"""Find the names that belong to one dataset. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def dataset_ids(same_as: Mapping[int, int | None]) -> dict[int, int]:
    """
    Return the dataset that each name belongs to.

    An event that names a dataset and other names for it makes those names point to the dataset's own. A name follows
    its pointers to the end. If they go round in a circle, as if two producers each state the other's name as the
    additional one, the least id of the circle is the end.

    Args:
        same_as: a name's id -> the id that it points to; None if it points to none. Each target is a key too.

    Returns:
        A name's id -> the id of the dataset's own name.
    """
    ends: dict[int, int] = {}
    for start in same_as:
        path: list[int] = []
        here, seen = start, set[int]()
        while here not in ends and here not in seen:
            seen.add(here)
            path.append(here)
            following = same_as.get(here)
            if following is None or following == here:
                break
            here = following
        if here in ends:
            end = ends[here]
        elif here in seen and path[-1] != here:
            end = min(path[path.index(here) :])
        else:
            end = here
        ends.update(dict.fromkeys(path, end))
    return ends
