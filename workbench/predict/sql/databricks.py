"""
Rewrite Databricks statements that Spark's grammar lacks into statements that it has.

Where possible, blanks replace the parts that are left out, so that positions in the statement stay the same.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.blank import blanked, with_blank_comments
from openlineage_pyspark.workbench.predict.sql.moved_rows import as_change
from openlineage_pyspark.workbench.predict.sql.parts import closing, parts_of
from openlineage_pyspark.workbench.predict.sql.quoted_names import with_parts_of_names
from openlineage_pyspark.workbench.predict.sql.versions import with_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_FUNCTION = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP\w*\s+)?(?:AGGREGATE\s+)?FUNCTION\b", re.IGNORECASE)
_PIPELINE = re.compile(
    r"CREATE\s+(?:OR\s+(?:REFRESH|REPLACE)\s+)?(?P<temporary>(?:TEMP|TEMPORARY|PRIVATE)\s+)?(?:INCREMENTAL\s+)?"
    r"(?:(?:STREAMING\s+LIVE|LIVE\s+STREAMING|STREAMING|LIVE)\s+(?P<kind>TABLE|VIEW)|MATERIALIZED\s+VIEW)"
    r"(?:\s+IF\s+NOT\s+EXISTS)?\s+",
    re.IGNORECASE,
)
_CAPTURE = re.compile(r"\b(?:APPLY\s+CHANGES|AUTO\s+CDC)\b", re.IGNORECASE)
_SOURCE_AND_KEYS = r"FROM\s+(?P<source>(?:STREAM\s*\([^)]*\)|STREAM\s+\S+|\S+))\s+KEYS\s*\((?P<keys>[^)]*)\)"
_CHANGES = re.compile(
    r"(?:CREATE\s+FLOW\s+\S+\s+(?:COMMENT\s+'[^']*'\s+)?AS\s+)?(?:APPLY\s+CHANGES|AUTO\s+CDC(?:\s+ONCE)?)\s+INTO\s+"
    rf"(?P<target>\S+)\s+{_SOURCE_AND_KEYS}",
    re.IGNORECASE,
)
_TABLE_OF_CHANGES = re.compile(
    r"CREATE\s+(?:OR\s+\w+\s+)?STREAMING\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<target>[\w`.]+)\b.*?\bFLOW\s+AUTO\s+CDC"
    rf"(?:\s+ONCE)?\s+{_SOURCE_AND_KEYS}",
    re.IGNORECASE | re.DOTALL,
)
_DELETES = re.compile(
    r"APPLY\s+AS\s+DELETE\s+WHEN\s+(.*?)(?=\bAPPLY\s+AS\b|\bSEQUENCE\s+BY\b)", re.IGNORECASE | re.DOTALL
)
_SEQUENCE = re.compile(r"SEQUENCE\s+BY\s+(.*?)(?=\bCOLUMNS\b|\bSTORED\s+AS\b|\bTRACK\b|$)", re.IGNORECASE | re.DOTALL)
_COLUMNS = re.compile(r"\bCOLUMNS\s+(.*?)(?=\bSTORED\s+AS\b|\bTRACK\b|$)", re.IGNORECASE | re.DOTALL)
_ALL_BUT = re.compile(r"\*(?:\s*EXCEPT\b)?\s*", re.IGNORECASE)
_HISTORY = re.compile(r"\bSTORED\s+AS\s+SCD\s+TYPE\s+2\b", re.IGNORECASE)
# A flow that runs once; a table may have the name ONCE, too.
_ONCE = re.compile(r"(?<=INTO)\s+ONCE(?=\s+(?!(?:BY\s+NAME|FROM|SELECT|TABLE|VALUES|WITH)\b)[\w`])", re.IGNORECASE)
_FLOW = re.compile(r"CREATE\s+FLOW\b", re.IGNORECASE)
_CLONE = re.compile(
    r"(CREATE\s+(?:OR\s+REPLACE\s+)?)(?:SNAPSHOT\s+)?(TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?)(\S+)\s+"
    r"(?:(?:(?:DEEP|SHALLOW)\s+)?CLONE(?:\s+AS)?|COPY)\s+(?!GRANTS\b)(\S+)",
    re.IGNORECASE,
)
_ROW_FILTER = re.compile(r"(?:\bWITH\s+)?\bROW\s+FILTER\s+[\w.`]+\s+ON\s*\([^)]*\)", re.IGNORECASE)
# Columns of Snowflake about a row of a stream or a file, whose names other parsers divide.
_METADATA = re.compile(r"(?<![\w`\"$])METADATA\$\w+", re.IGNORECASE)
_PIPE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?PIPE\b.*?\bAS\s+(?=COPY\s+INTO\b)", re.IGNORECASE | re.DOTALL)
_COPY = re.compile(r"COPY\s+INTO\s+(\S+)\s*(\([^)]*\))?\s*FROM\s+", re.IGNORECASE)
_FORMAT = re.compile(r"FILEFORMAT\s*=\s*'?(\w+)", re.IGNORECASE)
_PATH = re.compile(r"(?P<before>\A|\bFROM\s+)'(?P<path>[^']*)'", re.IGNORECASE)
_LOADED = re.compile(
    r"LOAD\s+DATA\s+(?:LOCAL\s+)?INPATH\s+(?:'(?P<path>[^']*)'|\"(?P<quoted>[^\"]*)\")\s+(?P<overwrite>OVERWRITE\s+)?"
    r"INTO\s+TABLE\s+(?P<table>[\w.`]+)",
    re.IGNORECASE,
)
# Spark names a catalog in SET CATALOG only.
_USED_CATALOG = re.compile(r"USE(?=\s+CATALOG\s+[\w`])", re.IGNORECASE)
_FILES = re.compile(r"\b(?:STREAM\s+)?(?:read_files|cloud_files|read_kafka)\s*\(", re.IGNORECASE)
_CHANGED = re.compile(r"\btable_changes\s*\(\s*['\"]([^'\"]+)['\"][^)]*\)", re.IGNORECASE)
COLUMNS_OF_CHANGES = (("_change_type", "STRING"), ("_commit_version", "BIGINT"), ("_commit_timestamp", "TIMESTAMP"))
"""The columns that a read of a table's changes adds, with their types."""
_NAMED_FORMAT = re.compile(r"\bformat\s*=>\s*['\"](\w+)['\"]", re.IGNORECASE)
_CONDITIONS = "\n) WHERE "
_EXPECT = re.compile(r"\bEXPECT\s*\(", re.IGNORECASE)
_FED = re.compile(
    r"\s*(?:ON\s+CLUSTER\s+\S+\s+)?(?:REFRESH\s+(?:AFTER|EVERY)\b[^'\"`]*?\s)?TO\s+(?=[\w`])", re.IGNORECASE
)
_DROP = re.compile(r"\s*ON\s+VIOLATION\s+DROP\s+ROW\b", re.IGNORECASE)
_LIVE = re.compile(r"(?<![\w.`])LIVE\s*\.\s*(?=[\w`])", re.IGNORECASE)
_STREAM_OF = re.compile(r"\bSTREAM\s*\(\s*([\w.`]+)\s*\)", re.IGNORECASE)
_STREAM = re.compile(r"(?:(?<=FROM\s)|(?<=JOIN\s)|(?<=,\s))\s*STREAM\s+(?=[\w`])", re.IGNORECASE)
# Words that may follow the type of a column, and words that begin an item of a column list that is not a column.
_AFTER_TYPE = frozenset({"MASK", "CONSTRAINT", "FOREIGN", "PRIMARY", "REFERENCES", "GENERATED"})
# The brackets in the types of columns.
_OF_TYPES = ("(<", ")>")
_NO_COLUMN = frozenset({"CONSTRAINT", "PRIMARY", "FOREIGN"})

# Statements that have no lineage, whatever follows their first words.
_VERBS = frozenset(
    "ANALYZE BEGIN COMMENT COMMIT CONVERT DENY DESC DESCRIBE END EXPLAIN FSCK GRANT KILL LIST LOCK MSCK OPTIMIZE PUT "
    "REASSIGN REFRESH REMOVE REORG RESET RESTORE REVOKE ROLLBACK SHOW START SYNC TRUNCATE UNDROP UNLOCK USE "
    "VACUUM".split()
)
# Those of blocks, batches and packages in other engines.
_VERBS_OF_BLOCKS = frozenset(
    "ASSERT BACKUP BREAK CHECKPOINT CLOSE CONTINUE DBCC DEALLOCATE EXIT FETCH FUNCTION GOTO NULL OPEN PRINT PROCEDURE "
    "RAISE RAISERROR RECONFIGURE RELEASE REVERT SAVE SAVEPOINT SHUTDOWN THROW WAITFOR".split()
)
# What SET changes of a connection, besides settings.
_OF_CONNECTION = frozenset("AUTHORIZATION CHARACTER CONSTRAINTS NAMES PASSWORD ROLE TRANSACTION".split())
_ASSIGNMENT = re.compile(
    r"\s*(?:SET\s+@\w+\s*[-+*/%]?=|(?:LET\s+)?[\w.$]+(?:\s+[\w(),.%]+)?\s*:=|SET\s+[\w,\s]+\s(?:ON|OFF)\s*\Z)",
    re.IGNORECASE,
)
_SET_IN_STRING = re.compile(r"\s*SET\s+'", re.IGNORECASE)
# With options of another engine; a schema may be created with its tables.
_CREATED_DATABASE = re.compile(r"\s*CREATE\s+(?:DATABASE|SCHEMA)\b(?!.*\bCREATE\b)", re.IGNORECASE | re.DOTALL)
# Procedures of Iceberg that change no rows.
_PROCEDURES = frozenset(
    "ANCESTORS_OF COMPUTE_PARTITION_STATS COMPUTE_TABLE_STATS EXPIRE_SNAPSHOTS REMOVE_ORPHAN_FILES REWRITE_DATA_FILES "
    "REWRITE_MANIFESTS REWRITE_POSITION_DELETE_FILES REWRITE_TABLE_PATH".split()
)
_MANAGING = frozenset({"ALTER", "CREATE", "DROP"})
_MANAGED = frozenset(
    "CATALOG CONNECTION CREDENTIAL CREDENTIALS EXTENSION GROUP INDEX LOCATION PACKAGE POLICY POOL PROVIDER QUEUE "
    "RECIPIENT ROLE SEQUENCE SERVER SHARE STAGE USER VOLUME WAREHOUSE WIDGET".split()
)
_BEFORE_MANAGED = frozenset(
    "BITMAP CLUSTERED COLUMNSTORE EDITIONABLE EXTERNAL FOREIGN FULLTEXT IF NONCLUSTERED NOT EXISTS OR PRIMARY "
    "REPLACE SERVICE SPATIAL STORAGE UNIQUE".split()
)


def manages_no_table(text: str) -> bool:
    """Return whether a statement creates, changes or drops something else than tables and views, such as a role."""
    words = iter(_words(text))
    managed = (word for word in words if word not in _BEFORE_MANAGED)
    return next(words, "") in _MANAGING and next(managed, "") in _MANAGED


def has_no_lineage(text: str) -> bool:
    """Return whether a statement that Spark can't analyze only manages or inspects, so that it has no lineage."""
    words = _words(as_change(text))
    first = next(words, "")
    if first in _VERBS or first in _VERBS_OF_BLOCKS:
        return True
    if first in ("LET", "RETURN") or _ASSIGNMENT.match(text) is not None:
        return "SELECT" not in words
    if first == "SET":
        # A key in a string is one of Flink.
        return (
            _SET_IN_STRING.match(text) is not None
            or next((word for word in words if word not in ("LOCAL", "SESSION")), "") in _OF_CONNECTION
        )
    if first == "CALL":
        name = itertools.takewhile(lambda token: token.text != "(", tokens(text))
        names = [token.text.strip("`").upper() for token in name if token.kind in (TokenKind.WORD, TokenKind.NAME)]
        return names[-1] in _PROCEDURES
    if first == "DECLARE":
        # Without a query, its value comes from no table.
        return "SELECT" not in words
    if first not in _MANAGING:
        return False
    if manages_no_table(text) or _CREATED_DATABASE.match(text) is not None:
        return True
    # ALTER of a table or a view, and DROP; but ALTER VIEW may set a new query.
    return first == "DROP" or (first == "ALTER" and "SELECT" not in words)


def makes_function(text: str) -> bool:
    """Return whether a statement creates a function, in any language."""
    return _FUNCTION.match(text) is not None


def reads_files(text: str) -> bool:
    """Return whether a statement loads files, or may read them or a table's changes with a function of Databricks."""
    return any(each.search(text) is not None for each in (_FILES, _CHANGED)) or _LOADED.match(text) is not None


def reads_changes(text: str) -> bool:
    """Return whether a statement may read the changes of a table."""
    return _CHANGED.search(text) is not None


def with_columns_of_changes(text: str) -> str:
    """Return a statement in which a query of the table, with the columns of changes, replaces each `table_changes`."""
    columns = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in COLUMNS_OF_CHANGES)
    return _replaced(_CHANGED, text, lambda found: f"(SELECT *, {columns} FROM {found[1]})")  # noqa: S608 (only analyzed)


def captures_changes(text: str) -> bool:
    """Return whether a statement may capture changes, which newer versions of Spark parse, too."""
    return _CAPTURE.search(text) is not None


def as_spark(text: str, views: Collection[str] = ()) -> str:
    """
    Return a Databricks statement in a form that Spark's grammar has; return any other text unchanged.

    Args:
        text: a statement.
        views: the temporary views that earlier statements have made, in lower case.
    """
    text = _USED_CATALOG.sub("SET", as_change(with_parts_of_names(with_versions(text), views)), count=1)
    if captures_changes(text):
        plain = with_blank_comments(text)
        changes = _CHANGES.match(plain) or _TABLE_OF_CHANGES.match(plain)
        if changes is not None:
            return _as_query(plain, changes)
    if _FLOW.match(text) is not None:
        text = _without(_ONCE, text)
    text = _replaced(_METADATA, text, lambda found: f"`{found[0]}`")
    text = _without(_ROW_FILTER, _CLONE.sub(r"\1\2\3 AS SELECT * FROM \4", text, count=1))
    text = _loaded(_copied(_PIPE.sub("", text, count=1)))
    pipeline = _PIPELINE.match(text)
    if pipeline is not None:
        text = _without(_STREAM, _as_table(_without(_LIVE, text), pipeline))
    text = _replaced(_STREAM_OF, _files_as_paths(text), _only_name)
    return _replaced(_CHANGED, _with_plain_columns(text), lambda found: found[1])


def columns_beside_query(text: str) -> str:
    """
    Return the columns and types that a pipeline's table declares beside its query, as in a CREATE TABLE.

    Args:
        text: a statement.

    Returns:
        Empty if it is not such a statement, or does not declare a type for each of its columns.
    """
    head = _PIPELINE.match(text)
    if head is None:
        return ""
    end = _end_of_name(text, head.end())
    opened = re.match(r"\s*\(", text[end:])
    if opened is None:
        return ""
    first = end + opened.end()
    parts = parts_of(with_blank_comments(text[first : closing(text, first)]), brackets=_OF_TYPES)
    columns = [each.strip() for each in map(_plain_column, parts) if each.strip()]
    return ", ".join(columns) if all(map(_has_type, columns)) else ""


def _has_type(column: str) -> bool:
    """Return whether a type follows the name of a column."""
    words = [token for token in tokens(column) if token.kind is not TokenKind.SPACE]
    return len(words) > 1 and words[1].kind is TokenKind.WORD and words[1].text.upper() != "COMMENT"


def _as_table(text: str, head: re.Match[str]) -> str:
    """Return a statement that creates a pipeline's table as a CREATE TABLE, or as a temporary view."""
    is_view = head["temporary"] is not None or (head["kind"] or "").upper() == "VIEW"
    made = "CREATE TEMP VIEW" if is_view else "CREATE TABLE"
    begin, name = head.end(), dotted(text, head.end())
    if not name:
        return text
    query = _query_at(text, begin)
    blank = blanked(text[len(made) : begin])
    if query is None:
        return f"{made}{blank}{text[begin:]}"
    end = _end_of_name(text, begin)
    fed = _FED.match(text, end, query)
    if fed is not None:
        return _as_insert(text, fed.end(), query)
    header, asked, rest = blanked(text[end:query]), _dropping(text[end:query]), text[query:]
    filtered = _put_in(header, "AS SELECT * FROM (") if asked else None
    if filtered is not None:
        conditions = " AND ".join(f"({each})" for each in asked)
        header, rest = filtered, f"  {rest[2:]}{_CONDITIONS}{conditions}"
    return f"{made}{blank}{text[begin:end]}{header}{rest}"


def _as_insert(text: str, name: int, query: int) -> str:
    """Return a materialized view of ClickHouse that fills another table, by the names of its columns, as an INSERT."""
    words = f"INSERT INTO {text[name : _end_of_name(text, name)]} BY NAME"
    begin = query + len("AS")
    placed = _put_in(f" {blanked(text[:begin])}", words)
    return f"{words if placed is None else placed[1:]}{text[begin:]}"


def _dropping(header: str) -> list[str]:
    """Return the conditions of the expectations that drop rows."""
    plain, found = with_blank_comments(header), []
    for each in _EXPECT.finditer(plain):
        end = closing(plain, each.end())
        if _DROP.match(plain, end + 1) is not None:
            found.append(plain[each.end() : end].strip())
    return found


def _put_in(blank: str, words: str) -> str | None:
    """Return blanks with words among them, each where it fits on a line; None if they don't all fit."""
    at, made = 0, blank
    for word in words.split():
        place = made.find(" " * (len(word) + 1), at)
        if place < 0:
            return None
        made = f"{made[: place + 1]}{word}{made[place + 1 + len(word) :]}"
        at = place + 1 + len(word)
    return made


def keeps_places(text: str, made: str) -> bool:
    """Return whether the result of `as_spark` for a statement has each part at its original place."""
    return len(made) == len(text) or made.startswith(_CONDITIONS, len(text))


def without_conditions_on(text: str, name: str) -> str | None:
    """
    Return the result of `as_spark` for a pipeline's table, without the expectations that name a column.

    An expectation may be about a column that the query does not return. It states nothing about the other columns.

    Args:
        text: the result of `as_spark`.
        name: the name of the column.

    Returns:
        None if no expectation names it.
    """
    query, mark, tail = text.rpartition(_CONDITIONS)
    every = list(_grouped(tail)) if mark else []
    kept = [each for each in every if name.lower() not in map(str.lower, _names(each))]
    if len(kept) == len(every):
        return None
    return f"{query}{mark}{' AND '.join(kept)}" if kept else f"{query}\n)"


def _grouped(text: str) -> Iterator[str]:
    """Yield the parts in parentheses of a condition such as `(a) AND (b)`."""
    at = 0
    while (begin := text.find("(", at)) >= 0:
        at = min(len(text), closing(text, begin + 1) + 1)
        yield text[begin:at]


def _names(text: str) -> Iterator[str]:
    """Yield the names in a text, without backticks."""
    return (each.text.strip("`") for each in tokens(text) if each.kind in (TokenKind.NAME, TokenKind.WORD))


def _query_at(text: str, begin: int) -> int | None:
    """Return the position of the AS before the query of a CREATE; None if there is none."""
    at, depth = begin, 0
    for token in tokens(text[begin:]):
        if token.kind is TokenKind.WORD and not depth and token.text.upper() == "AS":
            return at
        depth += (token.text == "(") - (token.text == ")")
        at += len(token.text)
    return None


def _end_of_name(text: str, begin: int) -> int:
    """Return the position at which a dotted name ends."""
    at = begin
    for token in tokens(text[begin:]):
        if token.kind not in (TokenKind.WORD, TokenKind.NAME) and token.text != ".":
            break
        at += len(token.text)
    return at


def _as_query(text: str, found: re.Match[str]) -> str:
    """Return a capture of changes as a query: of the newest row of each key, or of all rows with their times."""
    source = _without(_STREAM, "FROM " + _STREAM_OF.sub(r"\1", _LIVE.sub("", found["source"])))
    target = _LIVE.sub("", found["target"])
    deletes, sequence, columns = (pattern.search(text, found.end()) for pattern in (_DELETES, _SEQUENCE, _COLUMNS))
    order = sequence[1].strip() if sequence is not None else ""
    is_whole = columns is None or columns[1].startswith("*")
    listed = _ALL_BUT.sub("", columns[1], count=1).strip() if columns is not None else ""
    listed = listed.removeprefix("(").removesuffix(")")
    conditions = [f"NOT ({deletes[1].strip()})"] if deletes is not None else []
    rows = f"(PARTITION BY {found['keys']}{' ORDER BY ' if order else ''}{order})"
    if order and _HISTORY.search(text, found.end()) is not None:
        # The next row of a key ends the time of the one before it.
        made = f"{order} AS `__START_AT`, lead({order}) OVER {rows} AS `__END_AT`"
        chosen = f"{listed}, `__START_AT`, `__END_AT`" if not is_whole else f"* EXCEPT ({listed})" if listed else "*"
    else:
        made = f"row_number() OVER {rows} AS `newest first`"
        chosen = f"* EXCEPT (`newest first`{', ' if listed else ''}{listed})" if is_whole else listed
        conditions.insert(0, "`newest first` = 1")
    kept = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"CREATE TABLE {target} AS SELECT {chosen} FROM (SELECT *, {made} {source}){kept}"  # noqa: S608 (not run)


def _copied(text: str) -> str:
    """Return a COPY INTO as an INSERT."""
    found = _COPY.match(text)
    if found is None:
        return text
    format_ = _FORMAT.search(text)
    provider = (format_[1] if format_ is not None else "binaryfile").lower()
    rest = text[found.end() :]
    is_query = rest.startswith("(")
    read = rest[1 : closing(rest, 1)] if is_query else rest
    path = _PATH.search(read) if is_query else _PATH.match(read)
    if path is None:
        # The files of another engine are in a stage.
        return text
    columns = f" {found[2]}" if found[2] else ""
    of_path = f"{provider}.`{path['path']}`"
    query = f"SELECT * FROM {of_path}"  # noqa: S608 (the user's own text, which is not run)
    if is_query:
        query = _PATH.sub(rf"\g<before>{provider}.`\g<path>`", read)
    return f"INSERT INTO {found[1]}{columns} {query}"


def _loaded(text: str) -> str:
    """Return a LOAD DATA of Hive as an INSERT: Spark analyzes none."""
    found = _LOADED.match(text)
    if found is None:
        return text
    path = found["path"] or found["quoted"]
    verb = "OVERWRITE" if found["overwrite"] else "INTO"
    return f"INSERT {verb} {found['table']} SELECT * FROM textfile.`{path}`"  # noqa: S608 (it is not run)


def _files_as_paths(text: str) -> str:
    found = _FILES.search(text)
    while found is not None:
        end = closing(text, found.end())
        given = text[found.end() : end]
        path = next((unquoted(each) for each in tokens(given) if each.kind is TokenKind.STRING), None)
        format_ = _NAMED_FORMAT.search(given)
        if path is None:
            return text
        read = f"{format_[1].lower() if format_ is not None else 'binaryfile'}.`{path}`"
        text = f"{text[: found.start()]}{read}{text[end + 1 :]}"
        found = _FILES.search(text, found.start() + len(read))
    return text


def _with_plain_columns(text: str) -> str:
    """Return a CREATE TABLE whose columns only have names and types: no masks, expectations or keys."""
    head = re.match(
        r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:EXTERNAL\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?", text, re.IGNORECASE
    )
    if head is None:
        return text
    begin = _end_of_name(text, head.end())
    opened = re.match(r"\s*\(", text[begin:])
    if opened is None:
        return text
    first = begin + opened.end()
    last = closing(text, first)
    columns = [
        each for each in (_plain_column(part) for part in parts_of(text[first:last], brackets=_OF_TYPES)) if each
    ]
    listed = f"({','.join(columns)})" if columns else ""
    return f"{text[: first - 1]}{listed}{text[last + 1 :]}"


def _plain_column(part: str) -> str:
    """Return a column without the part after its type, except a comment; empty for an item that is not a column."""
    at = depth = 0
    is_first = True
    for token in tokens(part):
        word = token.text.upper() if token.kind is TokenKind.WORD and not depth else ""
        if word and is_first:
            if word in _NO_COLUMN:
                return ""
            is_first = False
        elif word in _AFTER_TYPE:
            return part[:at].rstrip()
        depth += (token.text in ("(", "<")) - (token.text in (")", ">"))
        at += len(token.text)
    return part


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with blanks for each match outside of strings and comments."""
    return _replaced(pattern, text, lambda found: blanked(found[0]))


def _replaced(pattern: re.Pattern[str], text: str, by: Callable[[re.Match[str]], str]) -> str:
    """Return a text with a replacement for each match that begins outside of strings and comments."""
    if pattern.search(text) is None:
        return text
    spans, at = [], 0
    for token in tokens(text):
        if token.kind in (TokenKind.STRING, TokenKind.COMMENT):
            spans.append((at, at + len(token.text)))
        at += len(token.text)

    def made(found: re.Match[str]) -> str:
        inside = any(begin <= found.start() < end for begin, end in spans)
        return found[0] if inside else by(found)

    return pattern.sub(made, text)


def _only_name(found: re.Match[str]) -> str:
    """Return the name in `STREAM(name)` at its position, with blanks around it."""
    before = found.start(1) - found.start()
    return f"{' ' * before}{found[1]}{' ' * (len(found[0]) - before - len(found[1]))}"


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text, in capitals."""
    return (token.text.upper() for token in tokens(text) if token.kind is TokenKind.WORD)
