"""
Rewrite statements that move or change the rows of whole tables under other words, into an INSERT, UPDATE or DELETE.

Other engines move partitions or all rows with ALTER TABLE, change rows with it (ClickHouse), change them for each
element of an array (FORALL of Oracle), and know a table by a further name (a synonym, a stream of its changes).
"""

from __future__ import annotations

import re

_NAME = r"(?:`[^`]+`|\"[^\"]+\"|[\w$#]+)(?:\s*\.\s*(?:`[^`]+`|\"[^\"]+\"|[\w$#]+))*"
_ALTERED = rf"\s*ALTER\s+TABLE\s+(?P<table>{_NAME})\s+(?:ON\s+CLUSTER\s+\S+\s+)?"
_PARTITION = r"(?:PARTITION\s+(?:ID\s+)?(?:\([^)]*\)|'[^']*'|[\w.]+)\s+)?"
# The other table has the rows before, or after.
_FROM = re.compile(
    rf"{_ALTERED}(?:(?:ATTACH|REPLACE)\s+{_PARTITION}FROM|APPEND\s+FROM|EXCHANGE\s+{_PARTITION}WITH\s+TABLE)\s+"
    rf"(?P<other>{_NAME})",
    re.IGNORECASE,
)
_TO = re.compile(
    rf"{_ALTERED}(?:MOVE\s+{_PARTITION}TO\s+TABLE|SWITCH\s+{_PARTITION}TO)\s+(?P<other>{_NAME})", re.IGNORECASE
)
_UPDATED = re.compile(
    rf"{_ALTERED}UPDATE\s+(?P<set>.*?)(?:\s+IN\s+{_PARTITION.removesuffix('?')})?\s*(?P<where>\bWHERE\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_DELETED = re.compile(
    rf"{_ALTERED}DELETE\s+(?:IN\s+{_PARTITION.removesuffix('?')})?(?P<where>WHERE\b.*)", re.IGNORECASE | re.DOTALL
)
_FOR_ALL = re.compile(r"\s*FORALL\s+\w+\s+IN\b.*?(?=\b(?:DELETE|INSERT|MERGE|UPDATE)\b)", re.IGNORECASE | re.DOTALL)
_OTHER_NAME = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?(?:PUBLIC\s+)?(?:SYNONYM|STREAM)\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?(?P<table>{_NAME})\s+(?:COPY\s+GRANTS\s+)?"
    rf"(?:FOR|ON\s+(?:(?:EXTERNAL|DYNAMIC|EVENT)\s+)?(?:TABLE|VIEW))\s+(?P<other>{_NAME})",
    re.IGNORECASE,
)
_CHANGES = (
    (_FROM, "INSERT INTO {table} SELECT * FROM {other}"),
    (_TO, "INSERT INTO {other} SELECT * FROM {table}"),
    (_UPDATED, "UPDATE {table} SET {set} {where}"),
    (_DELETED, "DELETE FROM {table} {where}"),
    (_OTHER_NAME, "CREATE VIEW {table} AS SELECT * FROM {other}"),
)
"""Each kind of statement with the change that it makes, in the words that all engines have."""


def as_change(text: str) -> str:
    """
    Return a statement that changes rows, or names a table, as an INSERT, UPDATE, DELETE or CREATE VIEW.

    Args:
        text: the statement. Any other one is returned unchanged.
    """
    for pattern, change in _CHANGES:
        found = pattern.match(text)
        if found is not None:
            return change.format(**found.groupdict())
    found = _FOR_ALL.match(text)
    return text if found is None else text[found.end() :]
