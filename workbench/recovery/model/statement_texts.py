"""The names in the statements of runs, and the reads through views, as far as events state the texts. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow
    from openlineage_pyspark.workbench.recovery.model.facts import RunFacts
    from openlineage_pyspark.workbench.recovery.model.rewriting import Rewritten

_VIEW = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?VIEW\b", re.IGNORECASE)
_OF_WRITES = frozenset({"spark.sql.sources.partitionOverwriteMode", "spark.sql.storeAssignmentPolicy"})


class StatementTexts:
    """
    The statements of runs, each parsed once.

    Args:
        flow: the versions and their reads.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._facts = flow.facts
        self._texts: dict[tuple[str, frozenset[int], tuple[tuple[int, str], ...]], Rewritten] = {}
        self._views: dict[RunPart, dict[int, str]] = {}

    def stands_alone(self, unit: RunPart) -> bool:
        """Return whether the statement of a run can be repeated from its text, without its application."""
        text = self._text_of(unit)
        return bool(text.text) and text.stands_alone

    def names_source(self, unit: RunPart, dataset: int) -> bool:
        """Return whether the statement of a run names a dataset, which it may read through a view."""
        text = self._text_of(unit)
        return not text.text or dataset in text.named

    def views_of(self, unit: RunPart) -> dict[int, str]:
        """Return the views that a statement read -> their queries at that time, as far as events state them."""
        if unit not in self._views:
            self._views[unit] = self._read_views(unit)
        return self._views[unit]

    def _text_of(self, unit: RunPart) -> Rewritten:
        """Return the statement of a run with whole names, and with queries instead of views."""
        from openlineage_pyspark.workbench.recovery.model.rewriting import rewritten

        known = self._flow.written([unit]) | {placed.read.dataset for placed in self._flow.read_by([unit])}
        views = self.views_of(unit)
        # The runs of a job have the same text.
        key = (self._facts.run(unit.run_id).sql, frozenset(known), tuple(sorted(views.items())))
        if key not in self._texts:
            datasets = [self._facts.datasets[each] for each in sorted(known)]
            self._texts[key] = rewritten(key[0], (), datasets, {}, {}, views=views)
        return self._texts[key]

    def _read_views(self, unit: RunPart) -> dict[int, str]:
        found = {}
        here = _settings_of_queries(self._facts.run(unit.run_id))
        for placed in self._flow.read_by([unit]):
            maker = self._facts.run(self._flow.made(placed.key).run_id) if placed.key is not None else None
            # A view keeps the settings under which it was created.
            if maker is not None and _VIEW.match(maker.sql) and _settings_of_queries(maker) == here:
                found[placed.read.dataset] = maker.sql
        if not found:
            return {}
        from openlineage_pyspark.workbench.recovery.model.rewriting import query_of_view

        datasets = [self._facts.datasets[placed.read.dataset] for placed in self._flow.reads[unit]]
        queries = ((view, query_of_view(sql, datasets)) for view, sql in found.items())
        return {view: query for view, query in queries if query}


def _settings_of_queries(run: RunFacts) -> dict[str, str] | None:
    """Return the settings under which a run read, without those of writes; None if no event states them."""
    if run.session is None:
        return None
    return {key: value for key, value in run.session.settings if key not in _OF_WRITES}
