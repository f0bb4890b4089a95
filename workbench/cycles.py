"""Leaves Python's search for cycles off where much is made that has none."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_cycle_collection() -> Iterator[None]:
    """
    Leave Python's search for cycles off for a while; leave it as it was if the user has turned it off.

    Events, plans and answers are large trees without cycles, and the search goes through all that are held: with events
    it costs four times what the parsing does, with a plan a seventh of its tracing, with a large answer a third.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
