"""What `lineage --diff --plan` prints of a change."""

from __future__ import annotations

import pytest
from openlineage_pyspark.command.change import JudgedChange, text_of_change
from openlineage_pyspark.workbench.questions.changes import Diff
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, TablePlan

MADE = RebuildPlan((TablePlan("t", "make", "a setting"),))
KEPT = RebuildPlan((TablePlan("t", "keep", "it stays", is_downstream=False),))


@pytest.mark.parametrize(
    ("plan", "first"),
    [
        pytest.param(None, "nothing changed", id="without a plan"),
        pytest.param(KEPT, "nothing changed", id="a plan that makes nothing again"),
        pytest.param(MADE, "no column and no edge is different", id="other rows by the same edges"),
    ],
)
def test_nothing_changed_is_printed_only_where_no_table_is_made_again(plan: RebuildPlan | None, first: str) -> None:
    assert text_of_change(JudgedChange(Diff((), ()), plan, ())).splitlines()[0] == first
