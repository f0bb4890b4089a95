"""A store in a file for each test, filled with events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.store.answers import Store
from support.lineage_events import taken

Fill = Callable[..., Store]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Fill]:
    """Return a function that makes a store of events."""
    stores: list[Store] = []

    def fill(*events: dict[str, Any]) -> Store:
        taken(tmp_path / "store.db", list(events))
        stores.append(Store.open(tmp_path / "store.db"))
        return stores[-1]

    yield fill
    for store in stores:
        store.close()
