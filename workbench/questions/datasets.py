"""`datasets`: the datasets of a store."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.oddities import names_alike
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers, shown_time, time_column
from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables, datasets
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql


@attrs.frozen
class DatasetRow:
    """
    A dataset.

    Args:
        label: its name as people know it.
        namespace: the namespace of its own name.
        name: its own name.
        others: its other names.
        readers: how many jobs read it.
        writers: how many jobs write it.
        last_written: when a run last wrote it; None if none did.
    """

    label: str
    namespace: str
    name: str
    others: tuple[str, ...]
    readers: int
    writers: int
    last_written: datetime | None


def _table(answer: Answer[Rows[DatasetRow]]) -> TextTable:
    rows = []
    for each in answer.result:
        own = f"{each.namespace} {each.name}"
        rows.append((each.label, f"{each.readers:,}", f"{each.writers:,}", shown_time(each.last_written), own))
    columns = (
        *(TableColumn("dataset"), TableColumn("readers", right=True), TableColumn("writers", right=True)),
        *(time_column("last written"), TableColumn("own name", cut_start=True)),
    )
    return TextTable(columns, rows)


@question(row_writers(_table), name="datasets")
def known_datasets(
    tables: QueriedTables, containing: Annotated[str, Help("only those with this text in a name", "TEXT")] = ""
) -> Answer[Rows[DatasetRow]]:
    """List datasets, by the names that people know."""
    counted: dict[int, list[int | None]] = {}
    for position, table in enumerate(("stated_read", "stated_write")):
        for dataset_id, count in tables.query(
            checked_sql(
                "SELECT i.dataset_id, count(DISTINCT l.job_id) FROM {table} l "
                "JOIN dataset_identity i ON i.name_id = l.name_id GROUP BY i.dataset_id",
                table=table,
            )
        ):
            counted.setdefault(dataset_id, [0, 0, None])[position] = count
    for dataset_id, time in tables.query(
        "SELECT i.dataset_id, max(l.time) FROM sink_snapshot_lineage l "
        "JOIN dataset_identity i ON i.name_id = l.name_id GROUP BY i.dataset_id"
    ):
        counted.setdefault(dataset_id, [0, 0, None])[2] = time
    found = []
    for dataset in datasets(tables, counted).values():
        names = (dataset.name, *(name for _, name in dataset.others))
        if any(containing.lower() in name.lower() for name in names):
            readers, writers, written = counted[dataset.id]
            found.append(_row(dataset, readers or 0, writers or 0, written))
    ordered = tuple(sorted(found, key=lambda row: (row.label, row.namespace, row.name)))
    return answered(Rows("dataset", ordered), names_alike(tables, "dataset"))


def _row(dataset: DatasetName, readers: int, writers: int, written: int | None) -> DatasetRow:
    others = tuple(dict.fromkeys(name for _, name in dataset.others))
    return DatasetRow(dataset.label, dataset.namespace, dataset.name, others, readers, writers, known_time(written))
