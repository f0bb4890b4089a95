"""The tables in which Iceberg keeps what it knows of a table, such as `t.snapshots`, and their columns."""

from __future__ import annotations

_Columns = tuple[tuple[str, str], ...]

_FILES: _Columns = (
    ("content", "INT"), ("file_path", "STRING"), ("file_format", "STRING"), ("spec_id", "INT"),
    ("record_count", "BIGINT"), ("file_size_in_bytes", "BIGINT"), ("column_sizes", "MAP<INT, BIGINT>"),
    ("value_counts", "MAP<INT, BIGINT>"), ("null_value_counts", "MAP<INT, BIGINT>"),
    ("nan_value_counts", "MAP<INT, BIGINT>"), ("lower_bounds", "MAP<INT, BINARY>"),
    ("upper_bounds", "MAP<INT, BINARY>"), ("key_metadata", "BINARY"), ("split_offsets", "ARRAY<BIGINT>"),
    ("equality_ids", "ARRAY<INT>"), ("sort_order_id", "INT"),
)  # fmt: skip
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
    **dict.fromkeys(
        ("files", "data_files", "delete_files", "all_files", "all_data_files", "all_delete_files"), _FILES
    ),
    "partitions": (
        ("spec_id", "INT"), ("record_count", "BIGINT"), ("file_count", "INT"),
        ("total_data_file_size_in_bytes", "BIGINT"), ("position_delete_record_count", "BIGINT"),
        ("position_delete_file_count", "INT"), ("equality_delete_record_count", "BIGINT"),
        ("equality_delete_file_count", "INT"), ("last_updated_at", "TIMESTAMP"),
        ("last_updated_snapshot_id", "BIGINT"),
    ),
}  # fmt: skip


def columns_of_metadata(name: str) -> _Columns | None:
    """
    Return the columns of a metadata table; None if there is none of this name.

    Those whose types depend on the table itself, such as `partition` and `readable_metrics`, are left out.

    Args:
        name: the last part of its name.
    """
    return _COLUMNS.get(name.lower())
