"""A store in a file for each test, filled with events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.store.answers import Store
from support.lineage_events import taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Give what makes a store of events."""
    stores: list[Store] = []

    def fill(*events: dict[str, Any]) -> Store:
        taken(tmp_path / "store.db", list(events))
        stores.append(Store.open(tmp_path / "store.db"))
        return stores[-1]

    yield fill
    for store in stores:
        store.close()
