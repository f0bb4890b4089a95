"""
Rewrite statements that move, rename or change the rows of whole tables under other words into those that Spark has.

Other engines move partitions or all rows with ALTER TABLE, change rows with it (ClickHouse), change them for each
element of an array (FORALL of Oracle), copy a table into files and back (EXPORT and IMPORT of Hive), and know a table
by a further name (a synonym, a stream of its changes). One statement of theirs can rename several tables, or let two
tables exchange their names.
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
# Hive copies tables with their definition, whose format no file states.
_OF_COPY = rf"TABLE\s+(?P<table>{_NAME})\s+(?:PARTITION\s*\([^)]*\)\s*)?"
_EXPORTED = re.compile(rf"\s*EXPORT\s+{_OF_COPY}TO\s+'(?P<path>[^']*)'", re.IGNORECASE)
_IMPORTED = re.compile(rf"\s*IMPORT\s+(?:EXTERNAL\s+)?{_OF_COPY}FROM\s+'(?P<path>[^']*)'", re.IGNORECASE)
_RENAMING = rf"{_NAME}\s+TO\s+{_NAME}"
_RENAMED = re.compile(
    rf"\s*RENAME\s+(?:TABLES?\s+)?(?:IF\s+EXISTS\s+)?(?P<pairs>{_RENAMING}(?:\s*,\s*{_RENAMING})*)"
    r"(?:\s+ON\s+CLUSTER\s+\S+)?\s*\Z",
    re.IGNORECASE,
)
_OF_PAIR = re.compile(rf"({_NAME})\s+TO\s+({_NAME})", re.IGNORECASE)
_RENAMED_BY_PROCEDURE = re.compile(
    r"\s*(?:EXEC(?:UTE)?\s+)?(?:sys\.)?sp_rename\s+(?:@objname\s*=\s*)?N?'(?P<table>[^']+)'\s*,"
    r"\s*(?:@newname\s*=\s*)?N?'(?P<name>[^']+)'(?:\s*,\s*(?:@objtype\s*=\s*)?N?'OBJECT')?\s*\Z",
    re.IGNORECASE,
)
_EXCHANGED = re.compile(
    rf"\s*(?:ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?P<swapped>{_NAME})\s+SWAP\s+WITH"
    rf"|EXCHANGE\s+TABLES\s+(?P<table>{_NAME})\s+AND)\s+(?P<other>{_NAME})",
    re.IGNORECASE,
)
_CHANGES = (
    (_FROM, "INSERT INTO {table} SELECT * FROM {other}"),
    (_TO, "INSERT INTO {other} SELECT * FROM {table}"),
    (_UPDATED, "UPDATE {table} SET {set} {where}"),
    (_DELETED, "DELETE FROM {table} {where}"),
    (_OTHER_NAME, "CREATE VIEW {table} AS SELECT * FROM {other}"),
    (_EXPORTED, "INSERT OVERWRITE DIRECTORY '{path}' USING binaryfile SELECT * FROM {table}"),
    (_IMPORTED, "INSERT INTO {table} SELECT * FROM binaryfile.`{path}`"),
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


def as_renames(text: str) -> tuple[str, ...]:
    """
    Return the statements that rename one table each, or give it the rows of the one with which it exchanges its name.

    Args:
        text: the statement. Any other one is returned unchanged.
    """
    exchanged = _EXCHANGED.match(text)
    if exchanged is not None:
        table, other = exchanged["swapped"] or exchanged["table"], exchanged["other"]
        made = "CREATE OR REPLACE TABLE {} AS SELECT * FROM {}"
        return made.format(table, other), made.format(other, table)
    procedure = _RENAMED_BY_PROCEDURE.match(text)
    if procedure is not None:
        # The new name is in the schema of the table, and may have quotes only if these belong to it.
        schema, dot, _ = procedure["table"].rpartition(".")
        return (f"ALTER TABLE {procedure['table']} RENAME TO {schema}{dot}{_quoted(procedure['name'])}",)
    renamed = _RENAMED.match(text)
    pairs = () if renamed is None else _OF_PAIR.findall(renamed["pairs"])
    return tuple(f"ALTER TABLE {old} RENAME TO {new}" for old, new in pairs) or (text,)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else f"`{name}`"
