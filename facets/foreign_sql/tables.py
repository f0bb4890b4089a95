"""
The tables that a text in any SQL names after FROM and JOIN, found without a parser.

They are used for a query that can't be parsed, and for every query if sqlglot is not installed. The search needs one
pass, linear in the length of the text. A doubtful name is left out: the event reports a gap in any case, but a name
that is not a table would be a false input. So a name is not a table if it is that of a function, a common table
expression or an alias, or if it is in a string, a comment or a function such as EXTRACT(YEAR FROM day).
"""

from __future__ import annotations

import functools
import re
from collections import Counter

import attrs

NO_TABLES = frozenset({"dual", "null", "sysdummy1", "system.one"})
"""Tables of one row, which databases have for a SELECT that reads nothing; and a word that can't be a table's name."""


def _quoted(quote: str, *, backslash: bool) -> str:
    """Return the pattern of a text in quotes, without the closing one; two quotes in it mean one."""
    free = rf"[^{quote}\\]" if backslash else f"[^{quote}]"
    pairs = rf"{quote * 2}|\\.|\\\Z" if backslash else quote * 2
    return f"{quote}{free}*(?:(?:{pairs}){free}*)*"


_SQUARE = r"\[[^\]]*(?:\]\][^\]]*)*\](?!\])"
_BACKTICK = _quoted("`", backslash=False) + "`(?!`)"
_DOUBLE = _quoted('"', backslash=False) + '"(?!")'
_ANY_PART = rf"(?:{_DOUBLE}|{_BACKTICK}|{_SQUARE}|[^\W\d][\w$\#@]*|[\#@]+\w+)"
_NAME = re.compile(rf"\s*{_ANY_PART}(?:\s*\.+\s*{_ANY_PART})*\s*")
_PART = re.compile(_ANY_PART)
_COMMENT_EDGE = re.compile(r"/\*|\*/")

# The differences between the SQL of databases; the empty name is an unknown database.
_BACKSLASHES = frozenset({"clickhouse", "databricks", "hive", "mysql", "redshift", "snowflake", "spark"})
_DOUBLE_QUOTED_STRINGS = frozenset({"databricks", "hive", "mysql", "spark"})
_SQUARE_NAMES = frozenset({"sqlite", "tsql"})
_HASH_COMMENTS = frozenset({"", "clickhouse", "mysql"})
_HASH_IN_NAMES = frozenset({"oracle", "teradata"})
_AT_IN_NAMES = frozenset({"db2", "tsql"})
_FLAT_COMMENTS = frozenset({"mysql", "oracle", "snowflake", "sqlite", "trino"})
_DOLLAR_STRINGS = frozenset({"", "h2", "postgres", "redshift", "snowflake", "spark"})
# Where a common table expression reads itself only with the word RECURSIVE.
_WRITES_RECURSIVE = frozenset({"clickhouse", "h2", "hsqldb", "mysql", "postgres", "redshift", "spark", "trino"})
_HAS_SCRIPTS = frozenset({"databricks", "hive", "spark"})
# Where FROM may also name the columns of a table before them.
_HAS_FIELDS_IN_FROM = frozenset({"redshift"})

# Words that end the list of tables after FROM; then words that do so unless they are the name of a table.
_ENDS = frozenset(
    """
    WHERE GROUP ORDER HAVING LIMIT UNION EXCEPT INTERSECT MINUS ARRAY WINDOW QUALIFY PREWHERE FOR FETCH OFFSET INTO
    """.split()
)
_MAY_END = frozenset("START CONNECT MODEL OPTION SETTINGS FORMAT LOCK PROCEDURE CLUSTER DISTRIBUTE SORT".split())
# In Hive these follow a FROM, as SELECT does, with the columns that a script reads.
_OF_SCRIPTS = frozenset({"MAP", "REDUCE"})
_NEVER_NAMES = frozenset("ON USING AS AND OR SET LEFT RIGHT FULL INNER CROSS NATURAL OUTER WHEN BY".split())
_BEFORE_NAME = frozenset({"LATERAL", "ONLY"})
_BEFORE_QUERY = frozenset({"AS", "NOT", "MATERIALIZED"})
_SELECT = frozenset({"SELECT", "SEL"})
# The last one begins an operator of Spark: FROM t |> WHERE a > 1.
_FOLLOWERS = frozenset({",", ")", ";", "|"})
# The hints of SQL Server, in brackets after the name of a table, where a function has its arguments.
_HINTS = frozenset(
    """
    NOLOCK HOLDLOCK READPAST READUNCOMMITTED READCOMMITTED REPEATABLEREAD ROWLOCK PAGLOCK TABLOCK TABLOCKX UPDLOCK XLOCK
    NOEXPAND FORCESEEK
    """.split()
)


def is_name(text: str) -> bool:
    """Return whether a text is the name of a table and nothing else, perhaps quoted and with a schema."""
    return _NAME.fullmatch(text) is not None


def named_tables(text: str, dialect: str | None = None, *, cut: bool = False) -> tuple[str, ...]:
    """
    Return the names of the tables in a text as they are written, each once.

    Args:
        text: SQL, a part of it, or anything else.
        dialect: the name of its SQL, as for `foreign_sql.read_query`; None if it is unknown.
        cut: whether the end of the text is missing, and perhaps that of its last name.
    """
    scan = _Scan(dialect or "")
    at = 0
    while at < len(text):
        # In an unknown database, square brackets may hold a name or a list.
        squares = scan.dialect in _SQUARE_NAMES or (not scan.dialect and scan.expected)
        found = _pieces(scan.dialect, squares=squares).match(text, at)
        # The last alternative matches any character.
        kind, piece, at = (found.lastgroup, found.group(), found.end()) if found else ("symbol", text[at], at + 1)
        if kind == "comment":
            at = _end_of_comment(text, at, nests=scan.dialect not in _FLAT_COMMENTS)
        elif kind == "dollar":
            end = text.find(piece, at)
            at = len(text) if end < 0 else end + len(piece)
            scan.take("value", piece)
        elif kind != "skipped":
            scan.take(str(kind), piece)
    return scan.tables(cut=cut)


@functools.lru_cache(maxsize=64)
def _pieces(dialect: str, *, squares: bool) -> re.Pattern[str]:
    """Return the pattern of one piece of a text: a skipped part, a name or keyword, a value, or another character."""
    backslash = dialect in _BACKSLASHES
    more = r"\w$\#@" if dialect in _AT_IN_NAMES else r"\w$\#" if dialect in _HASH_IN_NAMES else r"\w$"
    parts = [_quoted("`", backslash=backslash) + "`(?!`)", rf"[^\W\d][{more}]*"]
    parts += [_SQUARE] if squares else []
    parts += [r"[\#@]+\w+"] if dialect == "tsql" else []
    strings = [_quoted("'", backslash=backslash) + r"(?:'|\Z)"]
    if not dialect:
        # It is unknown whether the backslash escapes the quote, and so where the string ends.
        strings = [r"'[^'\\]*(?:\\(?!')[^'\\]*)*(?:'|\\'(?s:.*)|\Z)"]
    if dialect in _DOUBLE_QUOTED_STRINGS:
        strings.append(_quoted('"', backslash=backslash) + r'(?:"|\Z)')
    else:
        parts.append(_quoted('"', backslash=backslash) + '"(?!")')
    if dialect == "oracle":
        pairs = "|".join(rf"\{a}(?s:.*?)(?:\{b}'|\Z)" for a, b in ("[]", "{}", "()", "<>"))
        strings.insert(0, rf"[nN]?[qQ]'(?:{pairs}|(?P<mark>\S)(?s:.*?)(?:(?P=mark)'|\Z))")
    if dialect in ("postgres", "redshift", ""):
        strings.insert(0, "[eE]" + _quoted("'", backslash=True) + r"(?:'|\Z)")
    if dialect == "spark":
        strings.insert(0, r"""[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z))""")
    skipped = [r"\s+", r"--(?=\s|\Z)[^\n]*" if dialect == "mysql" else r"--[^\n]*"]
    skipped += [r"\#[^\n]*"] if dialect in _HASH_COMMENTS else []
    skipped += [r"//[^\n]*"] if dialect == "snowflake" else []
    dollar = r"\$(?:[^\W\d]\w{0,63})?\$" if dialect in _DOLLAR_STRINGS else r"(?!)"
    opening = r"\"`\[" if squares else r"\"`"
    part = f"(?:{'|'.join(parts)})"
    # A name whose quote is never closed extends to the end.
    return re.compile(
        rf"(?P<skipped>{'|'.join(skipped)})|(?P<comment>/\*)|(?P<dollar>{dollar})|(?P<value>(?:{'|'.join(strings)}))"
        rf"|(?P<name>{part}(?:\s*\.+\s*{part})*)|(?P<number>\d[\w.$]*)|(?P<open>[{opening}](?s:.*))|(?P<symbol>(?s:.))"
    )


def _end_of_comment(text: str, at: int, *, nests: bool) -> int:
    """Return the end of a comment that begins before `at`."""
    if not nests:
        end = text.find("*/", at)
        return len(text) if end < 0 else end + 2
    depth = 1
    for found in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


@attrs.define
class _Bracket:
    """
    A bracket, or the whole text.

    Args:
        query: whether FROM begins a clause in it; None before its first word.
        tables: whether a comma in it separates tables.
        in_from: whether FROM is before the current position, in the bracket or around it.
        owner: the name before it.
        function: the name before it, if a table could be there: it is that of a function, or of a table with a hint.
        defines: the common table expression whose query it is.
        has_ctes: whether the current position is in a list of common table expressions.
        recursive: whether these may read themselves and later ones.
        ctes: the common table expressions in it so far.
    """

    query: bool | None
    tables: bool = False
    in_from: bool = False
    owner: str = ""
    function: str = ""
    defines: str = ""
    has_ctes: bool = False
    recursive: bool = False
    square: bool = False
    ctes: list[str] = attrs.Factory(list)


@attrs.define
class _Scan:
    """
    The state of reading a text.

    Args:
        dialect: the name of its SQL; empty if it is unknown.
        expected: whether a table is next.
    """

    dialect: str
    expected: bool = False
    # The names after FROM and JOIN, and whether they are tables.
    _found: dict[str, bool] = attrs.Factory(dict)
    # The common table expressions that can be read here, and those that are read before they are defined.
    _ctes: Counter[str] = attrs.Factory(Counter)
    _recursive: set[str] = attrs.Factory(set)
    _aliases: set[str] = attrs.Factory(set)
    _brackets: list[_Bracket] = attrs.Factory(lambda: [_Bracket(query=True)])
    # A name that is a table unless a bracket follows; the last word and the one before it; the last name.
    _waiting: str = ""
    _before: str = ""
    _earlier: str = ""
    _owner: str = ""

    def take(self, kind: str, piece: str) -> None:
        """Add the next piece of the text."""
        name, self._waiting = self._waiting, ""
        if name and (piece in _FOLLOWERS or (kind == "name" and piece.upper() != "FROM")):
            self._accept(name)
        if piece == "(":
            self._open(name)
        elif piece in (")", "]"):
            self._close(piece)
        elif piece == ",":
            self.expected = self._brackets[-1].tables
        elif kind == "name":
            self._name(piece)
        else:
            if piece == "[":
                self._brackets.append(_Bracket(query=False, square=True))
            self.expected = False
        word = piece.upper()
        self._earlier, self._before = self._before, "AS" if word in _BEFORE_QUERY else word

    def tables(self, *, cut: bool) -> tuple[str, ...]:
        """Return the tables; `cut` as for `named_tables`."""
        if not cut:
            self.take("symbol", ";")
            # If brackets are still open, the text is not SQL: a name before one may be a table.
            for bracket in self._brackets:
                self._accept(bracket.function)
        return tuple(name for name, is_table in self._found.items() if is_table and _key(name) not in self._recursive)

    def _accept(self, name: str) -> None:
        """Accept a name as that of a table, unless it means something else."""
        key = _key(name)
        first, dot, _ = key.partition(".")
        is_cte, is_column = not dot and self._ctes[key] > 0, bool(dot) and first in self._aliases
        if not (name == "" or name.startswith("@") or is_cte or is_column or _reads_nothing(key)):
            self._found[name] = True
            if self.dialect in _HAS_FIELDS_IN_FROM:
                self._aliases.add(key.rpartition(".")[2])

    def _open(self, name: str) -> None:
        here = self._brackets[-1]
        defines = _key(self._owner) if self._before == "AS" and here.has_ctes else ""
        if defines and here.recursive:
            self._recursive.add(defines)
        elif defines and self.dialect not in _WRITES_RECURSIVE:
            self._define(defines)
        joins = self.expected and not name and here.in_from
        self.expected = joins
        if name:
            # This keeps the order of the text, in case it turns out to be a table.
            self._found.setdefault(name, False)
        inner = _Bracket(True if joins else None, joins, joins, name or self._owner, name, defines)
        self._brackets.append(inner)

    def _close(self, piece: str) -> None:
        if piece == "]" and not self._brackets[-1].square:
            return
        closed = self._brackets.pop() if len(self._brackets) > 1 else self._brackets[0]
        self.expected, self._owner = False, closed.owner
        self._ctes.subtract(closed.ctes)
        closed.ctes = []
        if closed.defines and self.dialect in _WRITES_RECURSIVE:
            self._define(closed.defines)

    def _define(self, key: str) -> None:
        self._brackets[-1].ctes.append(key)
        self._ctes[key] += 1

    def _name(self, name: str) -> None:
        here, word = self._brackets[-1], name.upper()
        if here.query is None:
            here.query = word in _SELECT or word in ("WITH", "VALUES")
            if word in _HINTS and self.dialect in ("", "tsql"):
                self._accept(here.function)
        if not self._keyword(here, word):
            if self.expected and word not in _BEFORE_NAME:
                self.expected, self._waiting = False, name
            elif here.tables and not self.expected:
                self._aliases.add(_key(name))
        if word not in _BEFORE_QUERY:
            self._owner = name

    def _keyword(self, here: _Bracket, word: str) -> bool:
        """Follow a keyword that begins or ends a list of tables; return whether the word is one."""
        if word in _SELECT:
            here.query, here.has_ctes, here.in_from = True, False, False
            here.tables = self.expected = False
        elif word == "WITH":
            here.query = here.has_ctes = True
            # At the beginning of a subquery, and not before a hint: WITH (NOLOCK).
            here.tables = here.tables and not self.expected
            self.expected = False
        elif word == "RECURSIVE" and self._before == "WITH":
            here.recursive = True
        elif self._begins_tables(here, word):
            here.in_from = here.in_from or word == "FROM"
            self.expected = here.tables = True
        elif self._ends_tables(word):
            self.expected = here.tables = False
        elif word in _NEVER_NAMES:
            self.expected = False
        else:
            return False
        return True

    def _begins_tables(self, here: _Bracket, word: str) -> bool:
        if word == "FROM":
            return bool(here.query) and self._before != "DISTINCT"
        if word == "JOIN":
            return self._before not in ("ARRAY", "FOR")
        return here.in_from and (
            word == "STRAIGHT_JOIN" or (word == "APPLY" and self._before in ("CROSS", "OUTER") and here.tables)
        )

    def _ends_tables(self, word: str) -> bool:
        # NTH_VALUE(a, 2) FROM FIRST OVER (...)
        counts = word in ("FIRST", "LAST") and (self._earlier, self._before) == (")", "FROM")
        rows = word == "VALUES" and self.expected
        view = word == "VIEW" and self._before == "LATERAL"
        script = word in _OF_SCRIPTS and not self.expected and self._before != "AS" and self.dialect in _HAS_SCRIPTS
        return word in _ENDS or (word in _MAY_END and not self.expected) or counts or rows or view or script


def _key(name: str) -> str:
    """Return a name without quotes in lower case, by which names are compared."""
    parts = (_unquoted(found.group()) for found in _PART.finditer(name))
    return ".".join(parts).lower()


def _unquoted(part: str) -> str:
    close = {'"': '"', "`": "`", "[": "]"}.get(part[0])
    return part if close is None else part[1:-1].replace(close * 2, close)


def _reads_nothing(key: str) -> bool:
    return key in NO_TABLES or key.rpartition(".")[2] in NO_TABLES
