"""The settings of a Spark session that change the meaning of a statement."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

_FLAG = re.compile(r"true|false", re.IGNORECASE)
_REBASE = re.compile(r"EXCEPTION|CORRECTED|LEGACY", re.IGNORECASE)
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]{1,64}")
ALWAYS = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
"""The settings whose defaults differ between versions of Spark, or between machines: an event always has them."""
SETTINGS: Mapping[str, re.Pattern[str]] = {
    "spark.sql.ansi.enabled": _FLAG,
    "spark.sql.session.timeZone": _ZONE,
    "spark.sql.ansi.doubleQuotedIdentifiers": _FLAG,
    "spark.sql.ansi.enforceReservedKeywords": _FLAG,
    "spark.sql.caseSensitive": _FLAG,
    "spark.sql.decimalOperations.allowPrecisionLoss": _FLAG,
    "spark.sql.groupByAliases": _FLAG,
    "spark.sql.groupByOrdinal": _FLAG,
    "spark.sql.legacy.charVarcharAsString": _FLAG,
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": _FLAG,
    "spark.sql.legacy.literal.pickMinimumPrecision": _FLAG,
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": _FLAG,
    "spark.sql.legacy.setopsPrecedence.enabled": _FLAG,
    "spark.sql.legacy.sizeOfNull": _FLAG,
    "spark.sql.legacy.timeParserPolicy": _REBASE,
    "spark.sql.mapKeyDedupPolicy": re.compile(r"EXCEPTION|LAST_WIN", re.IGNORECASE),
    "spark.sql.orderByOrdinal": _FLAG,
    "spark.sql.parquet.datetimeRebaseModeInWrite": _REBASE,
    "spark.sql.parser.escapedStringLiterals": _FLAG,
    "spark.sql.parser.quotedRegexColumnNames": _FLAG,
    "spark.sql.sources.partitionOverwriteMode": re.compile(r"STATIC|DYNAMIC", re.IGNORECASE),
    "spark.sql.storeAssignmentPolicy": re.compile(r"ANSI|LEGACY|STRICT", re.IGNORECASE),
    "spark.sql.timestampType": re.compile(r"TIMESTAMP_(?:NTZ|LTZ)", re.IGNORECASE),
}
"""The only settings that events have -> the form of their values."""


@attrs.frozen
class StatementSession:
    """
    The session of a statement.

    Args:
        settings: the names and values of those of `SETTINGS` that differ from Spark's defaults, and of `ALWAYS`.
        catalog: the current catalog; empty for Spark's own.
        schema: the current schema in it; empty for `default`, and for the initial schema of another catalog.
    """

    settings: tuple[tuple[str, str], ...] = ()
    catalog: str = ""
    schema: str = ""
