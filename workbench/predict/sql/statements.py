"""
Split the text of a file into statements, each with its place.

Strings, quoted names and comments may contain a `;`, and so does an SQL script (`BEGIN ... END`), which is one
statement for Spark. Here each statement of a script is read separately, and what decides whether it runs, such as an
IF, is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, dotted, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.clients import for_parsers
from openlineage_pyspark.workbench.predict.sql.executed import body_in_quotes, given_arguments, with_arguments
from openlineage_pyspark.workbench.predict.sql.foreign_quotes import (
    SQL_SERVER,
    recognized,
    with_backquotes,
    with_plain_strings,
)
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
from openlineage_pyspark.workbench.predict.sql.script_tokens import (
    BEFORE_KIND,
    BODIES,
    ENDED,
    MAKING,
    NO_SCRIPT,
    QUERIES,
    ROUTINES,
    ScriptTokens,
    begins_function,
    begins_script,
    body_in_string,
    body_of_routine,
    declares,
    declares_several,
    end_of_block,
    end_of_condition,
    is_ended_alone,
    words_of_set,
)
from openlineage_pyspark.workbench.predict.sql.trigger_rows import (
    rows_of_trigger,
    table_of_trigger,
    with_changed_rows,
    without_marks,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


_BLOCKS = frozenset({"BEGIN", "CASE", "FOR", "FOREACH", "IF", "LOOP", "REPEAT", "WHILE"})
# In other databases these blocks need no BEGIN around them. SQL Server has them without the second word.
_DO, _THEN = ("DO", "LOOP"), ("THEN",)
_OPENING = {"BEGIN": (), "LOOP": (), "REPEAT": (), "ELSE": (), "IF": _THEN, "ELSEIF": _THEN, "ELSIF": _THEN,
            "CASE": _THEN, "WHEN": _THEN, "EXCEPTION": _THEN, "WHILE": _DO, "FOR": _DO, "FOREACH": _DO}  # fmt: skip
# What may set variables to rows of a query; and what may be before the name of a variable.
_FILLING = frozenset({"DECLARE", "EXECUTE", "FETCH", "SELECT", "SET", "WITH"})
_MARKS = ("@", ":")
# These words only decide where a script continues.
_JUMPS = frozenset({"ITERATE", "LEAVE"})
# The second words of conditions, such as NOT FOUND or SQLSTATE '22012'.
_OF_CONDITIONS = frozenset({"FOUND", "VALUE"})


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
    text = with_plain_strings(with_whole_strings(sql_in(text)))
    dialect = dialect or recognized(text)
    text = for_parsers(with_backquotes(text, dialect), has_set=dialect in SQL_SERVER)
    found = _Splitting(text, file, dialect).statements()
    return tuple(part for each in found for part in _renaming(each))


def _renaming(statement: ScriptStatement) -> tuple[ScriptStatement, ...]:
    """Return the statements that rename one table each, for one that renames several; otherwise only the statement."""
    texts = as_renames(statement.text)
    return (statement,) if texts == (statement.text,) else tuple(attrs.evolve(statement, text=each) for each in texts)


class _Known:
    """What the statements of a text have made known to later ones."""

    def __init__(self) -> None:
        # The open blocks of a script; None for a block that is not a FOR loop.
        self.blocks: list[Loop | None] = []
        # The variables and parameters that are declared so far, in lower case.
        self.variables: frozenset[str] = frozenset()
        # Those that queries have set, besides other names.
        self.filled: set[str] = set()
        # The table of the trigger whose body this is; empty elsewhere.
        self.triggered = ""
        # Those of the package around its routines.
        self.of_package: frozenset[str] = frozenset()
        # The names of cursors in capitals -> their queries.
        self.queries: dict[str, str] = {}

    def enter(self, header: list[Token]) -> None:
        """Know the parameters and variables of a routine; those of another routine are not seen."""
        words = [token.text.upper() for token in header]
        if words[0] == "CREATE":
            is_package = "PACKAGE" in words[:BEFORE_KIND]
            routine = next((at for at, word in enumerate(words) if word in ("FUNCTION", "PROCEDURE")), 0)
            self.of_package = frozenset(declared_before(header[:routine]) if is_package else ())
        self.triggered = table_of_trigger(header)
        outer = self.variables if self.blocks else self.of_package
        self.variables = outer.union(parameters_in(header, ROUTINES), declared_before(header))

    def named(self, found: Iterable[Token]) -> set[str]:
        """Return the variables that some tokens name, perhaps after the name of their routine."""
        names = {token.text.strip("`").lower() for token in found} if self.variables else set()
        return {each for each in self.variables if names.issuperset(each.split("."))}


class _Statements:
    """Makes statements of what is between tokens."""

    def __init__(self, script: ScriptTokens, file: str, known: _Known) -> None:
        self._script = script
        self._file = file
        self._known = known

    def between(self, begin: int, end: int, *, in_script: bool) -> ScriptStatement:
        """Return the statement between two tokens."""
        script = self._script
        filled = self._filled_before(begin, end)
        if in_script or script.separated is not None:
            begin, end = self._inside(begin, end)
        line, column = script.place(script.all[begin][0])
        loops = tuple(each for each in self._known.blocks if each is not None)
        text = script.text_between(begin, end)
        if in_script and script.is_body and script.word(begin) == "PERFORM":
            text = f"SELECT {text[len('PERFORM') :]}"
        if script.word(begin) in QUERIES:
            text = _without_variables(script, text, begin, end, may_be_bare=in_script and not script.is_of_sql_server)
        if script.word(begin) == "FORALL":
            # The place of an element in an array.
            self._known.variables |= {script.word(begin + 1).lower()}
        of_loops = (token for each in loops for token in tokens(each.query))
        head, named = 0, self._known.named([*script.between(begin, end), *of_loops])
        if self._known.triggered and script.separated is not None:
            read, text = text, with_changed_rows(text, script.between(begin, end), self._known.triggered)
            head = len(text) - len(read)
        elif self._known.triggered and script.word(begin) != "SET":
            text = without_marks(text)
            loops += tuple(Loop(name, query) for name, query in rows_of_trigger(self._known.triggered))
        return ScriptStatement(text, self._file, line, column, in_script, loops, head, tuple(sorted(named)), filled)

    def _filled_before(self, begin: int, end: int) -> tuple[str, ...]:
        """Return the variables that a statement names and earlier queries have set; remember those that it sets."""
        script, known = self._script, self._known
        if not (known.filled or script.word(begin) in _FILLING or known.blocks or script.is_body):
            # Most statements of a file have no variables, and may be long.
            return ()
        found = script.between(begin, end)
        own = set(filled_by(found))
        used = {marked_name(found, at) for at, each in enumerate(found) if each.kind is not TokenKind.STRING} - own
        set_before = {each for each in used & known.filled if each[0] in "@$" or each in known.variables}
        known.filled |= own
        return tuple(sorted(set_before))

    def _inside(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the query or the write is in a statement that declares a cursor, assigns or returns it."""
        script = self._script
        first = script.word(begin)
        if first == "RETURN":
            # RETURN TABLE(x) of Snowflake names a variable.
            query = begin + 1 + (script.word(begin + 1) == "QUERY")
            if script.word(query) in QUERIES - {"TABLE"}:
                return query, end
            if script.symbol(query) == "(" and script.word(query + 1) in QUERIES and script.symbol(end - 1) == ")":
                return query + 1, end - 1
        if first in ("DECLARE", "LET", "OPEN"):
            query = next((at + 1 for at in range(begin, end) if script.word(at) == "FOR"), end)
            is_cursor = first == "OPEN" or "CURSOR" in map(script.word, range(begin, min(end, begin + 8)))
            if is_cursor and query < end and script.word(query) in QUERIES:
                self._known.queries[script.word(begin + 1)] = script.text_between(query, end)
                return query, end
        equals = next((at for at in range(begin, min(end, begin + 6)) if script.symbol(at) == ":"), end)
        is_assigned = (
            script.symbol(equals + 1) == "=" and script.symbol(equals + 2) == "(" and script.symbol(end - 1) == ")"
        )
        if is_assigned and equals + 4 < end and script.word(equals + 3) in QUERIES | BODIES:
            return equals + 3, end - 1
        return begin, end


def _without_variables(script: ScriptTokens, text: str, begin: int, end: int, *, may_be_bare: bool) -> str:
    """Return a query with blanks for the variables that it sets; without a mark, INTO x may create a table."""
    into = script.next(("INTO",), begin)
    is_marked = into is not None and script.symbol(into + 1) in _MARKS
    if into is None or into >= end or not (is_marked or may_be_bare):
        return text
    at = into + 1
    if into == begin + 1:
        # In PL/pgSQL, the variables may come first.
        at = _after_names(script, at + (script.word(at) == "STRICT"))
        if script.word(at) == "FROM":
            return text
        return f"{text[: script.all[into][0] - script.all[begin][0]]}{_rest(script, into, at, end)}"
    while script.symbol(at) in (*_MARKS, ",") or (
        script.kind(at) is TokenKind.WORD and script.word(at) != "FROM" and script.symbol(at + 1) != "."
    ):
        # A field of a row, such as :NEW.id in a trigger.
        is_field = script.symbol(at) in _MARKS and script.symbol(at + 2) == "."
        at += 4 if is_field else 1
    if at == into + 1 or (at < end and script.word(at) != "FROM"):
        return text
    start, first = script.all[begin][0], script.all[into - (script.word(into - 1) == "COLLECT") * 2][0]
    stop = script.all[at][0] - start if at < end else len(text)
    return f"{text[: first - start]}{blanked(text[first - start : stop])}{text[stop:]}".rstrip()


def _after_names(script: ScriptTokens, at: int) -> int:
    """Return the token after the names, with commas between them, that begin at another one."""
    while script.symbol(at + 1) in (",", "."):
        at += 2
    return at + 1


def _rest(script: ScriptTokens, begin: int, at: int, end: int) -> str:
    """Return the text up to a token, with blanks up to another one in it."""
    if at >= end:
        return ""
    start, kept = script.all[begin][0], script.all[at][0]
    offset, last = script.all[end - 1]
    return f"{blanked(script.text[start:kept])}{script.text[kept : offset + len(last.text)]}"


class _Splitting:
    """Splits one text, token by token."""

    def __init__(self, text: str, file: str, dialect: str, span: tuple[int, int] | None = None) -> None:
        self._file = file
        self._dialect = dialect
        self._script = ScriptTokens(text, dialect, span)
        self._known = _Known()
        self._made = _Statements(self._script, file, self._known)
        self._at = 0

    def statements(self) -> Iterator[ScriptStatement]:
        """Yield the statements of the text."""
        script = self._script
        in_script = script.is_body
        while self._at < len(script.all):
            word = self._word()
            self._known.triggered = self._known.triggered if in_script else ""
            if script.separated is not None and word in ("ELSE", "IF", "WHILE"):
                list(self._open(word))
                continue
            self._at += words_of_set(script, self._at)
            if script.is_body and declares(script, self._at):
                yield from self._declarations()
            elif (is_block := declares_several(script, self._at)) or begins_script(script, self._at):
                # The body of a routine of SQL Server extends to the end of its batch.
                in_script = in_script or (script.separated is not None and word in MAKING)
                declared = self._known.variables
                if is_block:
                    yield from self._declarations()
                yield from self._statements_of_script()
                self._known.variables = declared
            else:
                yield from self._simple(in_script=in_script)
            in_script = in_script and (script.is_body or not script.is_end_of_batch(self._at - 1))

    def _declarations(self) -> Iterator[ScriptStatement]:
        """Skip a label, or the declarations before a BEGIN; yield the queries of the cursors among these."""
        if self._symbol() == "<":
            self._at += 5
            return
        begin = self._at
        self._at += 1
        while self._at < len(self._script.all) and self._word() != "BEGIN":
            self._at = self._script.next_end(self._at) + 1
        self._known.variables |= set(declared_before(self._script.between(begin, self._at)))
        yield from self._cursors(begin, self._at)

    def _simple(self, *, in_script: bool) -> Iterator[ScriptStatement]:
        """Yield the statement here, up to the next `;`, unless it is empty."""
        begin = self._at
        self._at = self._script.next_end(begin)
        end = end_of_block(self._script, begin, self._at) if in_script else None
        if end is not None:
            self._at = end
        if self._at > begin:
            end_of_this = self._at
            body = body_in_string(self._script, begin, end_of_this)
            # A function can be used by later statements; nothing else is known of a procedure.
            if body is None or begins_function(self._script, begin):
                yield self._made.between(begin, end_of_this, in_script=in_script)
            if body is not None:
                yield from self._statements_in_string(body, begin, end_of_this)
            if self._script.word(begin) in ("DECLARE", "LET"):
                self._known.variables |= set(declared_in(self._script.between(begin, end_of_this)))
        self._at += end is None

    def _statements_in_string(self, at: int, begin_of_this: int, end: int) -> Iterator[ScriptStatement]:
        """Yield the statements of a string, with the arguments that follow it."""
        script = self._script
        offset, token = script.all[at]
        quotes = token.text.index("$", 1) + 1 if token.text.startswith("$") else 1
        begin, last = offset + quotes, offset + len(token.text) - quotes
        text = script.text
        if token.text.startswith("'"):
            text = f"{text[:begin]}{body_in_quotes(text[begin:last])}{text[last:]}"
        inner = _Splitting(text, self._file, self._dialect, (begin, last))
        # Lines are counted once.
        inner._script.count_on(script)
        own = parameters_in(script.between(begin_of_this, at), ROUTINES)
        # What is run sees no variables, but its arguments may be some.
        is_run = script.word(begin_of_this) != "CREATE"
        inner._known.variables = frozenset(own) | (self._known.variables if is_run else frozenset())
        using = next((each for each in range(at + 1, end) if script.word(each) == "USING"), end)
        listed = script.listed(using + 1, end)
        given = inner._known.named(token for each in listed for token in tokens(each))
        arguments = given_arguments(listed)
        for each in inner.statements():
            variables = tuple(sorted(given.union(each.variables)))
            yield attrs.evolve(each, text=with_arguments(each.text, arguments), variables=variables)
        script.count_on(inner._script)

    def _statements_of_script(self) -> Iterator[ScriptStatement]:
        """Yield the statements of the script here."""
        while self._at < len(self._script.all):
            if self._script.is_label(self._at):
                self._at += 2
            word = self._word()
            if word == "END":
                self._close()
                if not self._known.blocks:
                    self._known.triggered = ""
                    return
            elif word in MAKING and (body := body_of_routine(self._script, self._at)) is not None:
                self._known.enter(self._script.between(self._at, body))
                yield from self._cursors(self._at, body)
                self._at = body
                if self._script.word(body) != "BEGIN":
                    if self._script.separated is None:
                        yield from self._simple(in_script=True)
                        self._known.triggered = ""
                    if not self._known.blocks:
                        return
            else:
                yield from self._part(word)
        self._known.blocks.clear()
        self._known.triggered = ""

    def _part(self, word: str) -> Iterator[ScriptStatement]:
        """Yield the statement of a script here, or skip the words here that decide whether one runs."""
        if self._script.is_body and declares(self._script, self._at):
            yield from self._declarations()
        elif word == "BEGIN" and self._word(1) in NO_SCRIPT - {""}:
            yield from self._simple(in_script=True)
        elif word in _OPENING:
            yield from self._open(word)
        elif word == "UNTIL":
            # Its condition comes before the END of the loop.
            found = self._script.next(("END",), self._at + 1)
            self._at = self._script.next_end(self._at) if found is None else found
        elif word in _JUMPS:
            list(self._simple(in_script=True))
        elif word == "DECLARE" and self._word(2) == "HANDLER":
            self._pass_over_conditions()
        elif self._symbol() == ";":
            self._at += 1
        else:
            yield from self._simple(in_script=True)

    def _close(self) -> None:
        """Skip the END of a block, with the kind and the label that may follow it, and close the block."""
        self._at += 1
        if self._word() in ENDED and not is_ended_alone(self._script, self._at):
            self._at += 1
        is_last = self._symbol(1) == ";" or self._at + 1 >= len(self._script.all)
        if is_last and self._script.kind(self._at) in (TokenKind.WORD, TokenKind.NAME) and self._word() != "END":
            self._at += 1
        self._at += self._symbol() == ";"
        if self._known.blocks:
            self._known.blocks.pop()
        # In SQL Server, these blocks belong together.
        if self._word() == "BEGIN" and self._word(1) == "CATCH":
            self._known.blocks.append(None)
            self._at += 2

    def _cursors(self, begin: int, end: int) -> Iterator[ScriptStatement]:
        """Yield the queries of the cursors that are declared between two tokens."""
        script = self._script
        for at in range(begin, end):
            if script.word(at) != "CURSOR":
                continue
            last = script.next_end(at)
            # Its name comes after the word in Oracle, and before it elsewhere.
            query = next((at + step for step in (2, 3) if script.word(at + step - 1) in ("IS", "FOR")), last)
            if query < last:
                found = self._made.between(query, last, in_script=True)
                self._known.queries[script.word(at + 1 if script.word(at + 2) == "IS" else at - 1)] = found.text
                yield found

    def _open(self, word: str) -> Iterator[ScriptStatement]:
        """Skip the beginning of a block; yield the query of a FOR loop, whose row the statements inside can use."""
        script = self._script
        self._at += 1
        if word != "FOR":
            ends = _OPENING[word]
            if word in ("IF", "WHILE") and (script.separated is not None or not script.continues_with(ends, self._at)):
                # The condition of SQL Server, which opens no block.
                self._at = end_of_condition(script, self._at)
                return
            self._known.blocks += [None] * (word in _BLOCKS)
            self._at += word == "BEGIN" and self._word() in ("CATCH", "TRY")
            self._pass_over(ends)
            return
        variable = ""
        if self._word(1) in ("AS", "IN"):
            variable = "".join(dotted(script.all[self._at][1].text))
            self._at += 2
        begin = self._at
        self._pass_over(_OPENING[word])
        end = self._at - 1
        if script.symbol(begin) == "(" and script.symbol(end - 1) == ")":
            # BigQuery has parentheses around the query.
            begin, end = begin + 1, end - 1
        if end <= begin or script.word(begin) not in QUERIES:
            cursor = self._known.queries.get(script.word(begin)) if end == begin + 1 else None
            self._known.blocks.append(None if cursor is None else Loop(variable, cursor))
            if cursor is None and variable:
                self._known.variables |= {variable.lower()}
            return
        query = self._made.between(begin, end, in_script=True)
        yield query
        self._known.blocks.append(Loop(variable, query.text))

    def _pass_over_conditions(self) -> None:
        """Skip the conditions of a handler, which are followed by its statement or block."""
        self._pass_over(("FOR",))
        is_next = True
        while is_next:
            self._at += 1
            while self._word() in _OF_CONDITIONS or self._script.kind(self._at) is TokenKind.STRING:
                self._at += 1
            is_next = self._symbol() == ","
            self._at += is_next

    def _pass_over(self, ends: Collection[str]) -> None:
        """Skip to after the word that ends a condition, if the statement has it."""
        found = self._script.next(ends, self._at) if ends else None
        if found is not None:
            self._at = found + 1

    def _word(self, step: int = 0) -> str:
        """Return the word so many tokens after this place, in capitals; empty if there is none."""
        return self._script.word(self._at + step)

    def _symbol(self, step: int = 0) -> str:
        """Return the operator or the punctuation so many tokens after this place; empty if it is neither."""
        return self._script.symbol(self._at + step)
