"""The tables in which Iceberg keeps what it knows of a table, such as `t.snapshots`, and their columns."""

from __future__ import annotations

_Columns = tuple[tuple[str, str], ...]

_MANIFESTS: _Columns = (
    ("content", "INT"), ("path", "STRING"), ("length", "BIGINT"), ("partition_spec_id", "INT"),
    ("added_snapshot_id", "BIGINT"), ("added_data_files_count", "INT"), ("existing_data_files_count", "INT"),
    ("deleted_data_files_count", "INT"), ("added_delete_files_count", "INT"), ("existing_delete_files_count", "INT"),
    ("deleted_delete_files_count", "INT"),
    ("partition_summaries",
     "ARRAY<STRUCT<contains_null: BOOLEAN, contains_nan: BOOLEAN, lower_bound: STRING, upper_bound: STRING>>"),
)  # fmt: skip
_COLUMNS: dict[str, _Columns] = {
    "snapshots": (
        ("committed_at", "TIMESTAMP"), ("snapshot_id", "BIGINT"), ("parent_id", "BIGINT"), ("operation", "STRING"),
        ("manifest_list", "STRING"), ("summary", "MAP<STRING, STRING>"),
    ),
    "history": (
        ("made_current_at", "TIMESTAMP"), ("snapshot_id", "BIGINT"), ("parent_id", "BIGINT"),
        ("is_current_ancestor", "BOOLEAN"),
    ),
    "refs": (
        ("name", "STRING"), ("type", "STRING"), ("snapshot_id", "BIGINT"), ("max_reference_age_in_ms", "BIGINT"),
        ("min_snapshots_to_keep", "INT"), ("max_snapshot_age_in_ms", "BIGINT"),
    ),
    "metadata_log_entries": (
        ("timestamp", "TIMESTAMP"), ("file", "STRING"), ("latest_snapshot_id", "BIGINT"), ("latest_schema_id", "INT"),
        ("latest_sequence_number", "BIGINT"),
    ),
    "manifests": _MANIFESTS,
    "all_manifests": (*_MANIFESTS, ("reference_snapshot_id", "BIGINT")),
}  # fmt: skip


def columns_of_metadata(name: str) -> _Columns | None:
    """
    Return the columns of a metadata table; None if there is none of this name, or if the table decides about them.

    So it does about `partition` and `readable_metrics` in `files`, `partitions` and `entries`.

    Args:
        name: the last part of its name.
    """
    return _COLUMNS.get(name.lower())
