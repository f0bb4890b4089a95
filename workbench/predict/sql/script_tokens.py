"""
Read the tokens of a file of SQL, and decide where its scripts, blocks and bodies of routines begin and end.

In an SQL script (`BEGIN ... END`) statements are nested in each other, in ways that differ between databases.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, replaced, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.foreign_quotes import SQL_SERVER
from openlineage_pyspark.workbench.predict.sql.parts import parts_of
from openlineage_pyspark.workbench.predict.sql.sql_server import separated

if TYPE_CHECKING:
    from collections.abc import Collection

    from openlineage_pyspark.workbench.predict.sql.sql_server import SeparatedTokens

_ALONE = {"FOR": ("DO", "LOOP"), "IF": ("THEN",), "WHILE": ("DO", "LOOP")}
# A statement of the script begins after one of these words.
QUERIES = frozenset({"FROM", "SELECT", "TABLE", "VALUES", "WITH"})
# In SQL Server, nothing but such a word ends the condition of an IF or a WHILE.
_STATEMENTS = frozenset(
    "ALTER BEGIN BREAK CONTINUE CREATE DECLARE DELETE DROP EXEC EXECUTE GOTO IF INSERT MERGE PRINT RAISERROR RETURN "
    "ROLLBACK SELECT SET THROW TRUNCATE UPDATE WHILE WITH".split()
)
# What may follow the END of a block, besides its label.
ENDED = frozenset({"CASE", "CATCH", "FOR", "IF", "LOOP", "REPEAT", "TRY", "WHILE"})
_AFTER_END = frozenset({"", "BEGIN", "ELSE", "ELSEIF", "ELSIF", "END", "EXCEPTION", "WHEN"}) | _STATEMENTS
# A routine runs the statements of its body, each of which is read separately.
ROUTINES = frozenset({"EVENT", "FUNCTION", "PACKAGE", "PROC", "PROCEDURE", "TASK", "TRIGGER"})
_BEFORE_ROUTINE = frozenset(
    "ALTER BODY CREATE CURRENT_USER DEFINER EDITIONABLE NONEDITIONABLE OR REPLACE TEMP TEMPORARY".split()
)
# In a package of Oracle, a routine has no word before its kind.
MAKING = frozenset({"ALTER", "CREATE", "FUNCTION", "PROCEDURE"})
BODIES = frozenset({"DELETE", "INSERT", "MERGE", "UPDATE"})
_BEFORE_BODY = frozenset({"AS", "DO", "IS", "ROW"})
# A body in dollar quotes has statements in these languages, and begins with one of these words, unless it is a value.
_LANGUAGES = frozenset({"EDBSPL", "PLPGSQL", "PLSQL", "SQL"})
_OF_BODIES = QUERIES | _STATEMENTS | {"(", "<", "CALL", "COPY", "EXCEPTION", "FOR", "GRANT", "LET", "REVOKE"}
# After the text that is run: where its results go, and its arguments.
_AFTER_EXECUTED = frozenset({"BULK", "END", "INTO", "RETURNING", "USING"})
# How far a line is read around the word that ends a batch.
_NEAR = 80
# A CREATE names the kind of what it creates within so many words.
BEFORE_KIND = 12
# With one of these after BEGIN, a transaction of another database begins, and no script.
NO_SCRIPT = frozenset({"", "DIALOG", "DISTRIBUTED", "TRANSACTION", "TRAN", "WORK"})
_OF_SQL_SERVER = re.compile(r"\bDECLARE\s+@|\bNOCOUNT\b|^[ \t]*GO[ \t]*$|\bdbo\b", re.IGNORECASE | re.MULTILINE)


class ScriptTokens:
    """
    The tokens of a text without blanks and comments, each with its offset.

    Args:
        text: the text.
        dialect: its SQL dialect, by sqlglot's name; empty if it is Spark's, or unknown.
        span: where the body in it begins and ends; None for all of it.
    """

    def __init__(self, text: str, dialect: str, span: tuple[int, int] | None) -> None:
        self.text = text
        # A body in dollar quotes declares variables before its BEGIN.
        self.is_body = span is not None
        # No body in dollar quotes is of SQL Server, and there may be many.
        self.is_of_sql_server = dialect in SQL_SERVER or (span is None and _OF_SQL_SERVER.search(text) is not None)
        self.all: list[tuple[int, Token]] = []
        at, end = span or (0, len(text))
        for token in tokens(text[at:end] if span is not None else text):
            # Spark will report a comment without an end.
            if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) or not token.whole:
                self.all.append((at, token))
            at += len(token.text)
        self._counted, self._line, self._line_begin = 0, 1, 0
        # Where statements and bodies of routines begin in SQL Server, whose statements need no `;`; None elsewhere.
        self.separated: SeparatedTokens | None = None
        if dialect in SQL_SERVER:
            self.separated = separated(self.all)
            self.all = self.separated.tokens

    def kind(self, at: int) -> TokenKind | None:
        """Return the kind of a token; None if there is none."""
        return self.all[at][1].kind if at < len(self.all) else None

    def word(self, at: int) -> str:
        """Return the word at a token in capitals; empty if there is none."""
        if at >= len(self.all) or self.all[at][1].kind is not TokenKind.WORD:
            return ""
        return self.all[at][1].text.upper()

    def symbol(self, at: int) -> str:
        """Return the operator or the punctuation at a token; empty if it is neither."""
        if at >= len(self.all) or self.all[at][1].kind is not TokenKind.SYMBOL:
            return ""
        return self.all[at][1].text

    def between(self, begin: int, end: int) -> list[Token]:
        """Return the tokens between two of them."""
        return [token for _, token in self.all[begin:end]]

    def next(self, words: Collection[str], at: int) -> int | None:
        """Return the first token that is one of some words, up to the next `;`, outside of parentheses and of CASE."""
        inside = 0
        while at < len(self.all) and (symbol := self.symbol(at)) != ";":
            found = self.word(at)
            if not inside and found in words:
                return at
            inside += (found == "CASE") + (symbol == "(") - (found == "END") - (symbol == ")")
            at += 1
        return None

    def continues_with(self, words: Collection[str], at: int) -> bool:
        """Return whether the statement at a token has one of some words outside of parentheses and of CASE."""
        return self.next(words, at) is not None

    def next_end(self, at: int) -> int:
        """Return the next `;`, or the end of the file."""
        while at < len(self.all) and self.symbol(at) != ";":
            at += 1
        return at

    def unquoted(self, at: int) -> str:
        """Return a word or the content of a string or a quoted name; empty if there is none."""
        return self.all[at][1].text.strip("'\"`") if at < len(self.all) else ""

    def is_end_of_batch(self, at: int) -> bool:
        """Return whether a `;` is on a line of its own, as where the file has GO."""
        if self.symbol(at) != ";":
            return False
        offset = self.all[at][0]
        before, after = self.text[max(0, offset - _NEAR) : offset], self.text[offset + 1 : offset + _NEAR]
        return not before.rpartition("\n")[2].strip() and not after.partition("\n")[0].strip()

    def is_label(self, at: int) -> bool:
        """Return whether a label is here, and no assignment."""
        return self.symbol(at + 1) == ":" and self.symbol(at + 2) != "="

    def listed(self, begin: int, end: int) -> list[str]:
        """Return the texts between commas outside of brackets; none of an empty list."""
        if begin >= end:
            return []
        return [
            each for each in parts_of(replaced(self.text_between(begin, end), {TokenKind.COMMENT}, " ")) if each.strip()
        ]

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, which is not before that of the previous call."""
        while (end := self.text.find("\n", self._counted, offset)) >= 0:
            self._line += 1
            self._counted = self._line_begin = end + 1
        self._counted = offset
        return self._line, offset - self._line_begin + 1

    def text_between(self, begin: int, end: int) -> str:
        """Return the text from a token to the one before another."""
        offset, last = self.all[end - 1]
        return self.text[self.all[begin][0] : offset + len(last.text)]

    def count_on(self, other: ScriptTokens) -> None:
        """Count lines on from where the last place in another part of the same file was."""
        self._counted, self._line, self._line_begin = other._counted, other._line, other._line_begin


def words_of_set(script: ScriptTokens, at: int) -> int:
    """Return how many words begin a set of statements of Flink here, besides its BEGIN."""
    words = [script.word(at + step) for step in range(4)]
    if words == ["EXECUTE", "STATEMENT", "SET", "BEGIN"]:
        return 3
    return 3 + (script.symbol(at + 3) == ";") if words[:3] == ["BEGIN", "STATEMENT", "SET"] else 0


def declares(script: ScriptTokens, at: int) -> bool:
    """Return whether variables are declared here, or a label is, before the BEGIN of a body in dollar quotes."""
    return script.word(at) == "DECLARE" or script.symbol(at) == script.symbol(at + 1) == "<"


def declares_several(script: ScriptTokens, at: int) -> bool:
    """Return whether one DECLARE declares several variables for the block after it, as in Oracle."""
    if script.word(at) != "DECLARE" or script.separated is not None:
        return False
    at = first = script.next_end(at) + 1
    while script.word(at) not in {*_STATEMENTS, *QUERIES, ""}:
        at = script.next_end(at) + 1
    return at > first and script.word(at) == "BEGIN"


def begins_script(script: ScriptTokens, at: int) -> bool:
    """Return whether a script begins here, perhaps after its label."""
    at += 2 if script.is_label(at) else 0
    word = script.word(at)
    if word in _ALONE:
        return script.continues_with(_ALONE[word], at) or (word != "FOR" and script.continues_with(("BEGIN",), at))
    if word in MAKING and body_of_routine(script, at) is not None:
        return True
    return word == "BEGIN" and (script.word(at + 1) or script.symbol(at + 1)) not in (*NO_SCRIPT, ";")


def body_of_routine(script: ScriptTokens, at: int) -> int | None:
    """Return the token at which the body of a routine begins; None if no routine with statements begins here."""
    if script.separated is not None:
        return script.separated.bodies.get(at)
    kind = next((at + step for step in range(BEFORE_KIND) if script.word(at + step) in ROUTINES), None)
    if kind is None or not all(
        script.word(each) in _BEFORE_ROUTINE or _is_definer(script, each) for each in range(at, kind)
    ):
        return None
    while at < len(script.all):
        found = script.next({"BEGIN", *BODIES}, at)
        while found is not None and script.word(found) != "BEGIN" and script.word(found - 1) not in _BEFORE_BODY:
            found = script.next({"BEGIN", *BODIES}, found + 1)
        if found is not None and (script.word(found) == "BEGIN" or script.word(kind) != "FUNCTION"):
            return found
        # Variables are declared before the BEGIN of Oracle.
        end = script.next_end(at)
        if script.next(("AS", "DECLARE", "IS"), kind) is None or script.word(end + 1) in {*_STATEMENTS, ""} - {"BEGIN"}:
            return None
        at = end + 1
    return None


def _is_definer(script: ScriptTokens, at: int) -> bool:
    """Return whether a token may be a part of the account that MySQL names before the kind of a routine."""
    kind = script.kind(at)
    return kind in (TokenKind.NAME, TokenKind.STRING) or script.symbol(at) in ("=", "@", "%", "(", ")")


def begins_function(script: ScriptTokens, begin: int) -> bool:
    """Return whether a statement creates a function."""
    return script.word(begin) == "CREATE" and "FUNCTION" in map(script.word, range(begin, begin + 5))


def body_in_string(script: ScriptTokens, begin: int, end: int) -> int | None:
    """Return the token that has the SQL of a routine, or that is run, as a string; None if there is none."""
    first = script.word(begin)
    if first in ("EXEC", "EXECUTE", "PREPARE"):
        return _executed(script, begin, end)
    if first not in ("CREATE", "DO"):
        return None
    found = next((at for at in range(begin, end) if _is_body_here(script, at)), None)
    if found is None or (first == "CREATE" and not ROUTINES.intersection(map(script.word, range(begin, begin + 7)))):
        return None
    language = next((script.unquoted(at + 1) for at in range(begin, end) if script.word(at) == "LANGUAGE"), "SQL")
    return found if language.upper() in _LANGUAGES and _runs(script, found) else None


def _executed(script: ScriptTokens, begin: int, end: int) -> int | None:
    """Return the string whose statements are run here; None if there is none, or if it is only a part."""
    at = begin + 1
    if script.word(begin) == "PREPARE":
        at += 2 if script.word(at + 1) == "FROM" else 0
    elif script.word(at) == "IMMEDIATE":
        at += 1
    elif script.word(at) == "SYS" and script.symbol(at + 1) == ".":
        at += 2
    at += script.word(at) == "SP_EXECUTESQL"
    at += script.symbol(at) == "("
    at += script.word(at) == "N"
    is_string = at < end and script.kind(at) is TokenKind.STRING and script.all[at][1].whole
    is_all = at + 1 >= end or script.symbol(at + 1) in (")", ",") or script.word(at + 1) in _AFTER_EXECUTED
    return at if is_string and is_all else None


def _is_body_here(script: ScriptTokens, at: int) -> bool:
    kind, token = script.kind(at), script.all[at][1]
    is_after_word = script.word(at - 1) in ("AS", "DO") and script.word(at - 2) != "RETURNS"
    return kind is TokenKind.STRING and token.whole and (token.text.startswith("$") or is_after_word)


def _runs(script: ScriptTokens, at: int) -> bool:
    """Return whether the body of a routine has statements, and is no expression."""
    _, token = script.all[at]
    inner = (each for each in tokens(unquoted(token)) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT))
    return next((each.text.upper() for each in inner), "") in _OF_BODIES


def end_of_block(script: ScriptTokens, begin: int, end: int) -> int | None:
    """Return the END of a block, or an ELSE, before which the last statement has no `;`; None if there is none."""
    inside = 0
    for at in range(begin, end):
        word, symbol = script.word(at), script.symbol(at)
        if not inside and at > begin and word in ("ELSE", "END") and _ends_here(script, at):
            return at
        inside += (word == "CASE") + (symbol == "(") - (word == "END") - (symbol == ")")
    return None


def _ends_here(script: ScriptTokens, at: int) -> bool:
    """Return whether END or ELSE is a word of the script, and not a name such as that of a column."""
    before, after = script.word(at - 1), script.word(at + 1)
    is_name = before in ("AS", "BY", "SELECT") or script.symbol(at - 1) in (".", ",", "(", "=")
    is_last = at + 1 >= len(script.all) or script.symbol(at + 1) == ";"
    return not is_name and (is_last or after in ENDED or (after != "" and after in _AFTER_END))


def is_ended_alone(script: ScriptTokens, at: int) -> bool:
    """Return whether the word after an END begins a statement: SQL Server names no kind of a block."""
    word = script.word(at)
    after = script.symbol(at + 1)
    is_label = script.symbol(at + 2) == ";"
    return word in ("IF", "WHILE") and after != ";" and not is_label and at + 1 < len(script.all)


def end_of_condition(script: ScriptTokens, at: int) -> int:
    """Return the statement after a condition of SQL Server, or the end of both."""
    end = script.next_end(at)
    if script.separated is not None:
        return next((each for each in range(at, end) if each in script.separated.begins), end)
    found = script.next(_STATEMENTS, at)
    return end if found is None else found
