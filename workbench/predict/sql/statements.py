"""
Split the text of a file into statements, each with its place.

Strings, quoted names and comments may contain a `;`, and so does an SQL script (`BEGIN ... END`), which is one
statement for Spark. Here each statement of a script is read separately, and what decides whether it runs, such as an
IF, is skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, dotted, replaced, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.clients import for_parsers
from openlineage_pyspark.workbench.predict.sql.executed import body_in_quotes, given_arguments, with_arguments
from openlineage_pyspark.workbench.predict.sql.foreign_quotes import SQL_SERVER, recognized, with_backquotes
from openlineage_pyspark.workbench.predict.sql.jinja import with_whole_strings
from openlineage_pyspark.workbench.predict.sql.local_names import (
    declared_before,
    declared_in,
    filled_by,
    marked_name,
    parameters_in,
)
from openlineage_pyspark.workbench.predict.sql.moved_rows import as_renames
from openlineage_pyspark.workbench.predict.sql.notebooks import sql_in
from openlineage_pyspark.workbench.predict.sql.parts import parts_of
from openlineage_pyspark.workbench.predict.sql.sql_server import separated
from openlineage_pyspark.workbench.predict.sql.trigger_rows import (
    rows_of_trigger,
    table_of_trigger,
    with_changed_rows,
    without_marks,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from openlineage_pyspark.workbench.predict.sql.sql_server import SeparatedTokens

_BLOCKS = frozenset({"BEGIN", "CASE", "FOR", "FOREACH", "IF", "LOOP", "REPEAT", "WHILE"})
# In other databases these blocks need no BEGIN around them. SQL Server has them without the second word.
_DO, _THEN = ("DO", "LOOP"), ("THEN",)
_ALONE = {"FOR": _DO, "IF": _THEN, "WHILE": _DO}
# A statement of the script begins after one of these words.
_QUERIES = frozenset({"FROM", "SELECT", "TABLE", "VALUES", "WITH"})
_OPENING = {"BEGIN": (), "LOOP": (), "REPEAT": (), "ELSE": (), "IF": _THEN, "ELSEIF": _THEN, "ELSIF": _THEN,
            "CASE": _THEN, "WHEN": _THEN, "EXCEPTION": _THEN, "WHILE": _DO, "FOR": _DO, "FOREACH": _DO}  # fmt: skip
# In SQL Server, nothing but such a word ends the condition of an IF or a WHILE.
_STATEMENTS = frozenset(
    "ALTER BEGIN BREAK CONTINUE CREATE DECLARE DELETE DROP EXEC EXECUTE GOTO IF INSERT MERGE PRINT RAISERROR RETURN "
    "ROLLBACK SELECT SET THROW TRUNCATE UPDATE WHILE WITH".split()
)
# What may follow the END of a block, besides its label.
_ENDED = frozenset({"CASE", "CATCH", "FOR", "IF", "LOOP", "REPEAT", "TRY", "WHILE"})
_AFTER_END = frozenset({"", "BEGIN", "ELSE", "ELSEIF", "ELSIF", "END", "EXCEPTION", "WHEN"}) | _STATEMENTS
# A routine runs the statements of its body, each of which is read separately.
_ROUTINES = frozenset({"EVENT", "FUNCTION", "PACKAGE", "PROC", "PROCEDURE", "TASK", "TRIGGER"})
_BEFORE_ROUTINE = frozenset(
    "ALTER BODY CREATE CURRENT_USER DEFINER EDITIONABLE NONEDITIONABLE OR REPLACE TEMP TEMPORARY".split()
)
# In a package of Oracle, a routine has no word before its kind.
_MAKING = frozenset({"ALTER", "CREATE", "FUNCTION", "PROCEDURE"})
_BODIES = frozenset({"DELETE", "INSERT", "MERGE", "UPDATE"})
_BEFORE_BODY = frozenset({"AS", "DO", "IS", "ROW"})
# A body in dollar quotes has statements in these languages, and begins with one of these words, unless it is a value.
_LANGUAGES = frozenset({"EDBSPL", "PLPGSQL", "PLSQL", "SQL"})
_OF_BODIES = _QUERIES | _STATEMENTS | {"(", "<", "CALL", "COPY", "EXCEPTION", "FOR", "GRANT", "LET", "REVOKE"}
# After the text that is run: where its results go, and its arguments.
_AFTER_EXECUTED = frozenset({"BULK", "END", "INTO", "RETURNING", "USING"})
# How far a line is read around the word that ends a batch.
_NEAR = 80
# A CREATE names the kind of what it creates within so many words.
_BEFORE_KIND = 12
# What may set variables to rows of a query; and what may be before the name of a variable.
_FILLING = frozenset({"EXECUTE", "FETCH", "SELECT", "SET", "WITH"})
_MARKS = ("@", ":")
# These words only decide where a script continues.
_JUMPS = frozenset({"ITERATE", "LEAVE"})
# The second words of conditions, such as NOT FOUND or SQLSTATE '22012'.
_OF_CONDITIONS = frozenset({"FOUND", "VALUE"})
# With one of these after BEGIN, a transaction of another database begins, and no script.
_NO_SCRIPT = frozenset({"", "DIALOG", "DISTRIBUTED", "TRANSACTION", "TRAN", "WORK"})
_OF_SQL_SERVER = re.compile(r"\bDECLARE\s+@|\bNOCOUNT\b|^[ \t]*GO[ \t]*$|\bdbo\b", re.IGNORECASE | re.MULTILINE)


@attrs.frozen
class Loop:
    """
    A FOR loop of a script.

    Args:
        variable: the name of the row in its statements; empty if it has none.
        query: the query over whose rows it loops.
    """

    variable: str
    query: str


@attrs.frozen
class ScriptStatement:
    """
    A statement of a file.

    Args:
        text: its text, from its first word on, without the `;`.
        file: the file's name, as it was given.
        line: the line on which it begins, from 1.
        column: the position of its first character on that line, from 1.
        in_script: whether it is between BEGIN and END, so that it may not run.
        loops: the FOR loops around it, the outermost first.
        head: how many characters of the text were put before the file's own.
        variables: the variables and parameters of scripts and routines that it may name, in lower case.
        filled: the variables that it may name and that an earlier query has set, in lower case.
    """

    text: str
    file: str
    line: int
    column: int
    in_script: bool = False
    loops: tuple[Loop, ...] = ()
    head: int = 0
    variables: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()

    def place(self, line: int | None, column: int | None) -> tuple[int, int]:
        """
        Return the line and the column, in the file, of a place in the statement.

        Args:
            line: its line within the statement, from 1; None if it is unknown.
            column: its position on that line, from 0; None if it is unknown.
        """
        if line is None or column is None:
            return self.line, self.column
        return self.line + line - 1, max(1, column + (self.column - self.head if line == 1 else 1))


def statements_of(text: str, file: str, dialect: str = "") -> tuple[ScriptStatement, ...]:
    """
    Return the statements of a file, in their order.

    Args:
        text: the file's content; only the SQL cells of a notebook are read.
        file: the file's name.
        dialect: its SQL dialect, by sqlglot's name; empty if it is Spark's, or unknown.
    """
    text = with_whole_strings(sql_in(text))
    dialect = dialect or recognized(text)
    text = for_parsers(with_backquotes(text, dialect), has_set=dialect in SQL_SERVER)
    found = _Splitting(text, file, dialect).statements()
    return tuple(part for each in found for part in _renaming(each))


def _renaming(statement: ScriptStatement) -> tuple[ScriptStatement, ...]:
    """Return the statements that rename one table each, for one that renames several; otherwise only the statement."""
    texts = as_renames(statement.text)
    return (statement,) if texts == (statement.text,) else tuple(attrs.evolve(statement, text=each) for each in texts)


class _Splitting:
    """Splits one text, token by token."""

    def __init__(self, text: str, file: str, dialect: str, span: tuple[int, int] | None = None) -> None:
        self._text = text
        self._file = file
        self._dialect = dialect
        # A body in dollar quotes declares variables before its BEGIN.
        self._is_body = span is not None
        self._tokens: list[tuple[int, Token]] = []
        at, end = span or (0, len(text))
        for token in tokens(text[at:end] if self._is_body else text):
            # Spark will report a comment without an end.
            if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) or not token.whole:
                self._tokens.append((at, token))
            at += len(token.text)
        self._at = 0
        # The open blocks of a script; None for a block that is not a FOR loop.
        self._blocks: list[Loop | None] = []
        # The variables and parameters that are declared so far, in lower case.
        self._variables: frozenset[str] = frozenset()
        # Those that queries have set, besides other names.
        self._filled: set[str] = set()
        # The table of the trigger whose body this is; empty elsewhere.
        self._triggered = ""
        # Those of the package around its routines.
        self._of_package: frozenset[str] = frozenset()
        # The names of cursors in capitals -> their queries.
        self._queries: dict[str, str] = {}
        self._counted, self._line, self._line_begin = 0, 1, 0
        # No body in dollar quotes is of SQL Server, and there may be many.
        self._is_of_sql_server = dialect in SQL_SERVER or (
            not self._is_body and _OF_SQL_SERVER.search(text) is not None
        )
        # Where statements and bodies of routines begin in SQL Server, whose statements need no `;`; None elsewhere.
        self._separated: SeparatedTokens | None = None
        if dialect in SQL_SERVER:
            self._separated = separated(self._tokens)
            self._tokens = self._separated.tokens

    def statements(self) -> Iterator[ScriptStatement]:
        """Yield the statements of the text."""
        in_script = self._is_body
        while self._at < len(self._tokens):
            word = self._word(self._at)
            self._triggered = self._triggered if in_script else ""
            if self._separated is not None and word in ("ELSE", "IF", "WHILE"):
                list(self._open(word))
                continue
            self._at += self._words_of_set()
            if self._is_body and self._declares():
                yield from self._declarations()
            elif (is_block := self._declares_several()) or self._is_script():
                # The body of a routine of SQL Server extends to the end of its batch.
                in_script = in_script or (self._separated is not None and word in _MAKING)
                declared = self._variables
                if is_block:
                    yield from self._declarations()
                yield from self._script()
                self._variables = declared
            else:
                yield from self._simple(in_script=in_script)
            in_script = in_script and (self._is_body or not self._is_end_of_batch(self._at - 1))

    def _words_of_set(self) -> int:
        """Return how many words begin a set of statements of Flink here, besides its BEGIN."""
        words = [self._word(self._at + step) for step in range(4)]
        if words == ["EXECUTE", "STATEMENT", "SET", "BEGIN"]:
            return 3
        return 3 + (self._symbol(self._at + 3) == ";") if words[:3] == ["BEGIN", "STATEMENT", "SET"] else 0

    def _is_end_of_batch(self, at: int) -> bool:
        """Return whether a `;` is on a line of its own, as where the file has GO."""
        if self._symbol(at) != ";":
            return False
        offset = self._tokens[at][0]
        before, after = self._text[max(0, offset - _NEAR) : offset], self._text[offset + 1 : offset + _NEAR]
        return not before.rpartition("\n")[2].strip() and not after.partition("\n")[0].strip()

    def _declares(self) -> bool:
        """Return whether variables are declared here, or a label is, before the BEGIN of a body in dollar quotes."""
        return self._word(self._at) == "DECLARE" or self._symbol(self._at) == self._symbol(self._at + 1) == "<"

    def _declares_several(self) -> bool:
        """Return whether one DECLARE declares several variables for the block after it, as in Oracle."""
        if self._word(self._at) != "DECLARE" or self._separated is not None:
            return False
        at = first = self._next_end(self._at) + 1
        while self._word(at) not in {*_STATEMENTS, *_QUERIES, ""}:
            at = self._next_end(at) + 1
        return at > first and self._word(at) == "BEGIN"

    def _declarations(self) -> Iterator[ScriptStatement]:
        """Skip a label, or the declarations before a BEGIN; yield the queries of the cursors among these."""
        if self._symbol(self._at) == "<":
            self._at += 5
            return
        begin = self._at
        self._at += 1
        while self._at < len(self._tokens) and self._word(self._at) != "BEGIN":
            self._at = self._next_end(self._at) + 1
        self._variables = self._variables.union(declared_before(self._between(begin, self._at)))
        yield from self._cursors(begin, self._at)

    def _is_script(self) -> bool:
        """Return whether a script begins here, perhaps after its label."""
        at = self._at + (2 if self._is_label() else 0)
        word = self._word(at)
        if word in _ALONE:
            return self._continues_with(_ALONE[word], at) or (word != "FOR" and self._continues_with(("BEGIN",), at))
        if word in _MAKING and self._body(at) is not None:
            return True
        return word == "BEGIN" and (self._word(at + 1) or self._symbol(at + 1)) not in (*_NO_SCRIPT, ";")

    def _is_label(self) -> bool:
        """Return whether a label is here, and no assignment."""
        return self._symbol(self._at + 1) == ":" and self._symbol(self._at + 2) != "="

    def _continues_with(self, words: Collection[str], at: int) -> bool:
        """Return whether the statement at a token has one of some words outside of parentheses and of CASE."""
        return self._next(words, at) is not None

    def _next(self, words: Collection[str], at: int) -> int | None:
        """Return the first token that is one of some words, up to the next `;`, outside of parentheses and of CASE."""
        inside = 0
        while at < len(self._tokens) and (symbol := self._symbol(at)) != ";":
            found = self._word(at)
            if not inside and found in words:
                return at
            inside += (found == "CASE") + (symbol == "(") - (found == "END") - (symbol == ")")
            at += 1
        return None

    def _body(self, at: int) -> int | None:
        """Return the token at which the body of a routine begins; None if no routine with statements begins here."""
        if self._separated is not None:
            return self._separated.bodies.get(at)
        kind = next((at + step for step in range(_BEFORE_KIND) if self._word(at + step) in _ROUTINES), None)
        if kind is None or not all(
            self._word(each) in _BEFORE_ROUTINE or self._is_definer(each) for each in range(at, kind)
        ):
            return None
        while at < len(self._tokens):
            found = self._next({"BEGIN", *_BODIES}, at)
            while found is not None and self._word(found) != "BEGIN" and self._word(found - 1) not in _BEFORE_BODY:
                found = self._next({"BEGIN", *_BODIES}, found + 1)
            if found is not None and (self._word(found) == "BEGIN" or self._word(kind) != "FUNCTION"):
                return found
            # Variables are declared before the BEGIN of Oracle.
            end = self._next_end(at)
            if self._next(("AS", "DECLARE", "IS"), kind) is None or self._word(end + 1) in {*_STATEMENTS, ""} - {
                "BEGIN"
            }:
                return None
            at = end + 1
        return None

    def _is_definer(self, at: int) -> bool:
        """Return whether a token may be a part of the account that MySQL names before the kind of a routine."""
        kind = self._kind(at)
        return kind in (TokenKind.NAME, TokenKind.STRING) or self._symbol(at) in ("=", "@", "%", "(", ")")

    def _next_end(self, at: int) -> int:
        """Return the next `;`, or the end of the file."""
        while at < len(self._tokens) and self._symbol(at) != ";":
            at += 1
        return at

    def _simple(self, *, in_script: bool) -> Iterator[ScriptStatement]:
        """Yield the statement here, up to the next `;`, unless it is empty."""
        begin = self._at
        self._at = self._next_end(begin)
        end = self._end_of_block(begin, self._at) if in_script else None
        if end is not None:
            self._at = end
        if self._at > begin:
            end_of_this = self._at
            body = self._body_in_string(begin, end_of_this)
            # A function can be used by later statements; nothing else is known of a procedure.
            if body is None or self._makes_function(begin):
                yield self._statement(begin, end_of_this, in_script=in_script)
            if body is not None:
                yield from self._statements_in_string(body, begin, end_of_this)
            if self._word(begin) in ("DECLARE", "LET"):
                self._variables = self._variables.union(declared_in(self._between(begin, end_of_this)))
        self._at += end is None

    def _makes_function(self, begin: int) -> bool:
        return self._word(begin) == "CREATE" and "FUNCTION" in map(self._word, range(begin, begin + 5))

    def _body_in_string(self, begin: int, end: int) -> int | None:
        """Return the token that has the SQL of a routine, or that is run, as a string; None if there is none."""
        first = self._word(begin)
        if first in ("EXEC", "EXECUTE", "PREPARE"):
            return self._executed(begin, end)
        if first not in ("CREATE", "DO"):
            return None
        found = next((at for at in range(begin, end) if self._is_body_here(at)), None)
        if found is None or (
            first == "CREATE" and not _ROUTINES.intersection(map(self._word, range(begin, begin + 7)))
        ):
            return None
        language = next((self._unquoted(at + 1) for at in range(begin, end) if self._word(at) == "LANGUAGE"), "SQL")
        return found if language.upper() in _LANGUAGES and self._runs(found) else None

    def _executed(self, begin: int, end: int) -> int | None:
        """Return the string whose statements are run here; None if there is none, or if it is only a part."""
        at = begin + 1
        if self._word(begin) == "PREPARE":
            at += 2 if self._word(at + 1) == "FROM" else 0
        elif self._word(at) == "IMMEDIATE":
            at += 1
        elif self._word(at) == "SYS" and self._symbol(at + 1) == ".":
            at += 2
        at += self._word(at) == "SP_EXECUTESQL"
        at += self._symbol(at) == "("
        at += self._word(at) == "N"
        is_string = at < end and self._kind(at) is TokenKind.STRING and self._tokens[at][1].whole
        is_all = at + 1 >= end or self._symbol(at + 1) in (")", ",") or self._word(at + 1) in _AFTER_EXECUTED
        return at if is_string and is_all else None

    def _is_body_here(self, at: int) -> bool:
        kind, token = self._kind(at), self._tokens[at][1]
        is_after_word = self._word(at - 1) in ("AS", "DO") and self._word(at - 2) != "RETURNS"
        return kind is TokenKind.STRING and token.whole and (token.text.startswith("$") or is_after_word)

    def _unquoted(self, at: int) -> str:
        """Return a word or the content of a string or a quoted name; empty if there is none."""
        return self._tokens[at][1].text.strip("'\"`") if at < len(self._tokens) else ""

    def _runs(self, at: int) -> bool:
        """Return whether the body of a routine has statements, and is no expression."""
        _, token = self._tokens[at]
        inner = (each for each in tokens(unquoted(token)) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT))
        return next((each.text.upper() for each in inner), "") in _OF_BODIES

    def _between(self, begin: int, end: int) -> list[Token]:
        """Return the tokens between two of them."""
        return [token for _, token in self._tokens[begin:end]]

    def _statements_in_string(self, at: int, begin_of_this: int, end: int) -> Iterator[ScriptStatement]:
        """Yield the statements of a string, with the arguments that follow it."""
        offset, token = self._tokens[at]
        quotes = token.text.index("$", 1) + 1 if token.text.startswith("$") else 1
        begin, last = offset + quotes, offset + len(token.text) - quotes
        text = self._text
        if token.text.startswith("'"):
            text = f"{text[:begin]}{body_in_quotes(text[begin:last])}{text[last:]}"
        inner = _Splitting(text, self._file, self._dialect, (begin, last))
        # Lines are counted once.
        inner._counted, inner._line, inner._line_begin = self._counted, self._line, self._line_begin
        own = parameters_in(self._between(begin_of_this, at), _ROUTINES)
        # What is run sees no variables, but its arguments may be some.
        inner._variables = self._variables.union(own) if self._word(begin_of_this) != "CREATE" else frozenset(own)
        using = next((each for each in range(at + 1, end) if self._word(each) == "USING"), end)
        listed = self._listed(using + 1, end)
        arguments, given = given_arguments(listed), inner._named(token for each in listed for token in tokens(each))
        for each in inner.statements():
            variables = tuple(sorted(given.union(each.variables)))
            yield attrs.evolve(each, text=with_arguments(each.text, arguments), variables=variables)
        self._counted, self._line, self._line_begin = inner._counted, inner._line, inner._line_begin

    def _listed(self, begin: int, end: int) -> list[str]:
        """Return the texts between commas outside of brackets; none of an empty list."""
        if begin >= end:
            return []
        offset, last = self._tokens[end - 1]
        text = self._text[self._tokens[begin][0] : offset + len(last.text)]
        return [each for each in parts_of(replaced(text, {TokenKind.COMMENT}, " ")) if each.strip()]

    def _end_of_block(self, begin: int, end: int) -> int | None:
        """Return the END of a block, or an ELSE, before which the last statement has no `;`; None if there is none."""
        inside = 0
        for at in range(begin, end):
            word, symbol = self._word(at), self._symbol(at)
            if not inside and at > begin and word in ("ELSE", "END") and self._ends_here(at):
                return at
            inside += (word == "CASE") + (symbol == "(") - (word == "END") - (symbol == ")")
        return None

    def _ends_here(self, at: int) -> bool:
        """Return whether END or ELSE is a word of the script, and not a name such as that of a column."""
        before, after = self._word(at - 1), self._word(at + 1)
        is_name = before in ("AS", "BY", "SELECT") or self._symbol(at - 1) in (".", ",", "(", "=")
        is_last = at + 1 >= len(self._tokens) or self._symbol(at + 1) == ";"
        return not is_name and (is_last or after in _ENDED or (after != "" and after in _AFTER_END))

    def _statement(self, begin: int, end: int, *, in_script: bool) -> ScriptStatement:
        """Return the statement between two tokens."""
        filled = self._filled_before(begin, end)
        if in_script or self._separated is not None:
            begin, end = self._inside(begin, end)
        start = self._tokens[begin][0]
        offset, last = self._tokens[end - 1]
        line, column = self._place(start)
        loops = tuple(each for each in self._blocks if each is not None)
        text = self._text[start : offset + len(last.text)]
        if in_script and self._is_body and self._word(begin) == "PERFORM":
            text = f"SELECT {text[len('PERFORM') :]}"
        if self._word(begin) in _QUERIES:
            text = self._without_variables(text, begin, end, in_script=in_script)
        if self._word(begin) == "FORALL":
            # The place of an element in an array.
            self._variables |= {self._word(begin + 1).lower()}
        of_loops = (token for each in loops for token in tokens(each.query))
        head, named = 0, self._named([*self._between(begin, end), *of_loops])
        if self._triggered and self._separated is not None:
            read, text = text, with_changed_rows(text, self._between(begin, end), self._triggered)
            head = len(text) - len(read)
        elif self._triggered and self._word(begin) != "SET":
            text = without_marks(text)
            loops += tuple(Loop(name, query) for name, query in rows_of_trigger(self._triggered))
        return ScriptStatement(text, self._file, line, column, in_script, loops, head, tuple(sorted(named)), filled)

    def _filled_before(self, begin: int, end: int) -> tuple[str, ...]:
        """Return the variables that a statement names and earlier queries have set; remember those that it sets."""
        if not self._filled and self._word(begin) not in _FILLING and not self._blocks and not self._is_body:
            # Most statements of a file have no variables, and may be long.
            return ()
        found = self._between(begin, end)
        own = set(filled_by(found))
        used = {marked_name(found, at) for at, each in enumerate(found) if each.kind is not TokenKind.STRING} - own
        known = {each for each in used & self._filled if each[0] in "@$" or each in self._variables}
        self._filled |= own
        return tuple(sorted(known))

    def _named(self, found: Iterable[Token]) -> set[str]:
        """Return the variables that some tokens name, perhaps after the name of their routine."""
        names = {token.text.strip("`").lower() for token in found} if self._variables else set()
        return {each for each in self._variables if names.issuperset(each.split("."))}

    def _inside(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the query or the write is in a statement that declares a cursor, assigns or returns it."""
        first = self._word(begin)
        if first == "RETURN":
            # RETURN TABLE(x) of Snowflake names a variable.
            query = begin + 1 + (self._word(begin + 1) == "QUERY")
            if self._word(query) in _QUERIES - {"TABLE"}:
                return query, end
            if self._symbol(query) == "(" and self._word(query + 1) in _QUERIES and self._symbol(end - 1) == ")":
                return query + 1, end - 1
        if first in ("DECLARE", "LET", "OPEN"):
            query = next((at + 1 for at in range(begin, end) if self._word(at) == "FOR"), end)
            is_cursor = first == "OPEN" or "CURSOR" in map(self._word, range(begin, min(end, begin + 8)))
            if is_cursor and query < end and self._word(query) in _QUERIES:
                start, (offset, last) = self._tokens[query][0], self._tokens[end - 1]
                self._queries[self._word(begin + 1)] = self._text[start : offset + len(last.text)]
                return query, end
        equals = next((at for at in range(begin, min(end, begin + 6)) if self._symbol(at) == ":"), end)
        is_assigned = (
            self._symbol(equals + 1) == "=" and self._symbol(equals + 2) == "(" and self._symbol(end - 1) == ")"
        )
        if is_assigned and equals + 4 < end and self._word(equals + 3) in _QUERIES | _BODIES:
            return equals + 3, end - 1
        return begin, end

    def _without_variables(self, text: str, begin: int, end: int, *, in_script: bool) -> str:
        """Return a query with blanks for the variables that it sets; without a mark, INTO x may create a table."""
        into = self._next(("INTO",), begin)
        is_marked = into is not None and self._symbol(into + 1) in _MARKS
        if into is None or into >= end or not (is_marked or (in_script and not self._is_of_sql_server)):
            return text
        at = into + 1
        if into == begin + 1:
            # In PL/pgSQL, the variables may come first.
            at = self._after_names(at + (self._word(at) == "STRICT"))
            if self._word(at) == "FROM":
                return text
            return f"{text[: self._tokens[into][0] - self._tokens[begin][0]]}{self._rest(into, at, end)}"
        while self._symbol(at) in (*_MARKS, ",") or (
            self._kind(at) is TokenKind.WORD and self._word(at) != "FROM" and self._symbol(at + 1) != "."
        ):
            # A field of a row, such as :NEW.id in a trigger.
            is_field = self._symbol(at) in _MARKS and self._symbol(at + 2) == "."
            at += 4 if is_field else 1
        if at == into + 1 or (at < end and self._word(at) != "FROM"):
            return text
        start, first = self._tokens[begin][0], self._tokens[into - (self._word(into - 1) == "COLLECT") * 2][0]
        stop = self._tokens[at][0] - start if at < end else len(text)
        return f"{text[: first - start]}{blanked(text[first - start : stop])}{text[stop:]}".rstrip()

    def _after_names(self, at: int) -> int:
        """Return the token after the names, with commas between them, that begin at another one."""
        while self._symbol(at + 1) in (",", "."):
            at += 2
        return at + 1

    def _rest(self, begin: int, at: int, end: int) -> str:
        """Return the text up to a token, with blanks up to another one in it."""
        if at >= end:
            return ""
        start, kept = self._tokens[begin][0], self._tokens[at][0]
        offset, last = self._tokens[end - 1]
        return f"{blanked(self._text[start:kept])}{self._text[kept : offset + len(last.text)]}"

    def _script(self) -> Iterator[ScriptStatement]:
        while self._at < len(self._tokens):
            if self._is_label():
                self._at += 2
            word = self._word(self._at)
            if word == "END":
                self._close()
                if not self._blocks:
                    self._triggered = ""
                    return
            elif word in _MAKING and (body := self._body(self._at)) is not None:
                self._enter(self._between(self._at, body))
                yield from self._cursors(self._at, body)
                self._at = body
                if self._word(body) != "BEGIN":
                    if self._separated is None:
                        yield from self._simple(in_script=True)
                        self._triggered = ""
                    if not self._blocks:
                        return
            else:
                yield from self._part(word)
        self._blocks.clear()
        self._triggered = ""

    def _enter(self, header: list[Token]) -> None:
        """Know the parameters and variables of a routine; those of another routine are not seen."""
        words = [token.text.upper() for token in header]
        if words[0] == "CREATE":
            is_package = "PACKAGE" in words[:_BEFORE_KIND]
            routine = next((at for at, word in enumerate(words) if word in ("FUNCTION", "PROCEDURE")), 0)
            self._of_package = frozenset(declared_before(header[:routine]) if is_package else ())
        self._triggered = table_of_trigger(header)
        outer = self._variables if self._blocks else self._of_package
        self._variables = outer.union(parameters_in(header, _ROUTINES), declared_before(header))

    def _part(self, word: str) -> Iterator[ScriptStatement]:
        """Yield the statement of a script here, or skip the words here that decide whether one runs."""
        if self._is_body and self._declares():
            yield from self._declarations()
        elif word == "BEGIN" and self._word(self._at + 1) in _NO_SCRIPT - {""}:
            yield from self._simple(in_script=True)
        elif word in _OPENING:
            yield from self._open(word)
        elif word == "UNTIL":
            # Its condition comes before the END of the loop.
            found = self._next(("END",), self._at + 1)
            self._at = self._next_end(self._at) if found is None else found
        elif word in _JUMPS:
            list(self._simple(in_script=True))
        elif word == "DECLARE" and self._word(self._at + 2) == "HANDLER":
            self._pass_over_conditions()
        elif self._symbol(self._at) == ";":
            self._at += 1
        else:
            yield from self._simple(in_script=True)

    def _close(self) -> None:
        """Skip the END of a block, with the kind and the label that may follow it, and close the block."""
        self._at += 1
        if self._word(self._at) in _ENDED and not self._is_ended_alone():
            self._at += 1
        is_last = self._symbol(self._at + 1) == ";" or self._at + 1 >= len(self._tokens)
        if is_last and self._kind(self._at) in (TokenKind.WORD, TokenKind.NAME) and self._word(self._at) != "END":
            self._at += 1
        self._at += self._symbol(self._at) == ";"
        if self._blocks:
            self._blocks.pop()
        # In SQL Server, these blocks belong together.
        if self._word(self._at) == "BEGIN" and self._word(self._at + 1) == "CATCH":
            self._blocks.append(None)
            self._at += 2

    def _is_ended_alone(self) -> bool:
        """Return whether the word after an END begins a statement: SQL Server names no kind of a block."""
        word = self._word(self._at)
        after = self._symbol(self._at + 1)
        is_label = self._symbol(self._at + 2) == ";"
        return word in ("IF", "WHILE") and after != ";" and not is_label and self._at + 1 < len(self._tokens)

    def _cursors(self, begin: int, end: int) -> Iterator[ScriptStatement]:
        """Yield the queries of the cursors that are declared between two tokens."""
        for at in range(begin, end):
            if self._word(at) != "CURSOR":
                continue
            last = self._next_end(at)
            # Its name comes after the word in Oracle, and before it elsewhere.
            query = next((at + step for step in (2, 3) if self._word(at + step - 1) in ("IS", "FOR")), last)
            if query < last:
                found = self._statement(query, last, in_script=True)
                self._queries[self._word(at + 1 if self._word(at + 2) == "IS" else at - 1)] = found.text
                yield found

    def _open(self, word: str) -> Iterator[ScriptStatement]:
        """Skip the beginning of a block; yield the query of a FOR loop, whose row the statements inside can use."""
        self._at += 1
        if word != "FOR":
            ends = _OPENING[word]
            if word in ("IF", "WHILE") and (self._separated is not None or not self._continues_with(ends, self._at)):
                # The condition of SQL Server, which opens no block.
                self._at = self._end_of_condition()
                return
            self._blocks += [None] * (word in _BLOCKS)
            self._at += word == "BEGIN" and self._word(self._at) in ("CATCH", "TRY")
            self._pass_over(ends)
            return
        variable = ""
        if self._word(self._at + 1) in ("AS", "IN"):
            variable = "".join(dotted(self._tokens[self._at][1].text))
            self._at += 2
        begin = self._at
        self._pass_over(_OPENING[word])
        end = self._at - 1
        if self._symbol(begin) == "(" and self._symbol(end - 1) == ")":
            # BigQuery has parentheses around the query.
            begin, end = begin + 1, end - 1
        if end <= begin or self._word(begin) not in _QUERIES:
            cursor = self._queries.get(self._word(begin)) if end == begin + 1 else None
            self._blocks.append(None if cursor is None else Loop(variable, cursor))
            if cursor is None and variable:
                self._variables |= {variable.lower()}
            return
        query = self._statement(begin, end, in_script=True)
        yield query
        self._blocks.append(Loop(variable, query.text))

    def _end_of_condition(self) -> int:
        """Return the statement after a condition of SQL Server, or the end of both."""
        end = self._next_end(self._at)
        if self._separated is not None:
            return next((at for at in range(self._at, end) if at in self._separated.begins), end)
        found = self._next(_STATEMENTS, self._at)
        return end if found is None else found

    def _pass_over_conditions(self) -> None:
        """Skip the conditions of a handler, which are followed by its statement or block."""
        self._pass_over(("FOR",))
        is_next = True
        while is_next:
            self._at += 1
            while self._word(self._at) in _OF_CONDITIONS or self._kind(self._at) is TokenKind.STRING:
                self._at += 1
            is_next = self._symbol(self._at) == ","
            self._at += is_next

    def _pass_over(self, ends: Collection[str]) -> None:
        """Skip to after the word that ends a condition, if the statement has it."""
        found = self._next(ends, self._at) if ends else None
        if found is not None:
            self._at = found + 1

    def _kind(self, at: int) -> TokenKind | None:
        """Return the kind of a token; None if there is none."""
        return self._tokens[at][1].kind if at < len(self._tokens) else None

    def _word(self, at: int) -> str:
        """Return the word at a token in capitals; empty if there is none."""
        if at >= len(self._tokens) or self._tokens[at][1].kind is not TokenKind.WORD:
            return ""
        return self._tokens[at][1].text.upper()

    def _symbol(self, at: int) -> str:
        """Return the operator or the punctuation at a token; empty if it is neither."""
        if at >= len(self._tokens) or self._tokens[at][1].kind is not TokenKind.SYMBOL:
            return ""
        return self._tokens[at][1].text

    def _place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, which is not before that of the previous call."""
        while (end := self._text.find("\n", self._counted, offset)) >= 0:
            self._line += 1
            self._counted = self._line_begin = end + 1
        self._counted = offset
        return self._line, offset - self._line_begin + 1
