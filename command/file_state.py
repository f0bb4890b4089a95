"""The state of files, as `lineage` and its comparison see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.scripts import StatementLineage
    from openlineage_pyspark.workbench.rebuild.statements import FileStep


@attrs.frozen
class FileState:
    """
    The files in one state.

    Args:
        found: the lineage of their statements.
        steps: what their statements do, if a plan is requested.
    """

    found: tuple[StatementLineage, ...]
    steps: tuple[FileStep, ...] = ()
