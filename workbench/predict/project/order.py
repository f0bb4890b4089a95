"""The order of the models of a project: each comes after those that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


def inputs_first(reads: Mapping[str, Collection[str]]) -> Iterator[str]:
    """
    Yield the ids of models, each after those that it reads.

    Args:
        reads: the id of each model -> the ids of its inputs, of which some may be no models.
    """
    done: set[str] = set()
    for first in reads:
        waiting = [(first, iter(reads[first]))]
        entered = {first}
        while waiting:
            model, inputs = waiting[-1]
            needed = next((each for each in inputs if each in reads and each not in done | entered), None)
            if needed is not None:
                waiting.append((needed, iter(reads[needed])))
                entered.add(needed)
                continue
            waiting.pop()
            if model not in done:
                done.add(model)
                yield model
