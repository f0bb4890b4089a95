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
from openlineage_pyspark.workbench.predict.sql.clients import for_parsers
from openlineage_pyspark.workbench.predict.sql.notebooks import sql_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCKS = frozenset({"BEGIN", "CASE", "FOR", "IF", "LOOP", "REPEAT", "WHILE"})
# In other databases these blocks need no BEGIN around them. SQL Server has them without the second word.
_ALONE = {"FOR": "DO", "IF": "THEN", "WHILE": "DO"}
# A statement of the script begins after each of these words.
_OPENING = {"BEGIN": "", "LOOP": "", "REPEAT": "", "ELSE": "", "IF": "THEN", "ELSEIF": "THEN", "CASE": "THEN",
            "WHEN": "THEN", "EXCEPTION": "THEN", "WHILE": "DO", "FOR": "DO"}  # fmt: skip
# These words only decide where a script continues.
_JUMPS = frozenset({"ITERATE", "LEAVE"})
# The second words of conditions, such as NOT FOUND or SQLSTATE '22012'.
_OF_CONDITIONS = frozenset({"FOUND", "VALUE"})
# With one of these after BEGIN, a transaction of another database begins, and no script.
_NO_SCRIPT = frozenset({"", "TRANSACTION", "TRAN", "WORK"})


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
    """

    text: str
    file: str
    line: int
    column: int
    in_script: bool = False
    loops: tuple[Loop, ...] = ()
    head: int = 0

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


def statements_of(text: str, file: str) -> tuple[ScriptStatement, ...]:
    """
    Return the statements of a file, in their order.

    Args:
        text: the file's content; only the SQL cells of a notebook are read.
        file: the file's name.
    """
    return tuple(_Splitting(for_parsers(sql_in(text)), file).statements())


class _Splitting:
    """Splits one text, token by token."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._tokens: list[tuple[int, Token]] = []
        at = 0
        for token in tokens(text):
            # Spark will report a comment without an end.
            if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) or not token.whole:
                self._tokens.append((at, token))
            at += len(token.text)
        self._at = 0
        # The open blocks of a script; None for a block that is not a FOR loop.
        self._blocks: list[Loop | None] = []
        self._counted, self._line, self._line_begin = 0, 1, 0

    def statements(self) -> Iterator[ScriptStatement]:
        while self._at < len(self._tokens):
            if self._is_script():
                yield from self._script()
            else:
                yield from self._simple(in_script=False)

    def _is_script(self) -> bool:
        """Return whether a script begins here, perhaps after its label."""
        at = self._at + (2 if self._symbol(self._at + 1) == ":" else 0)
        word = self._word(at)
        if word in _ALONE:
            return self._continues_with(_ALONE[word], at)
        return word == "BEGIN" and (self._word(at + 1) or self._symbol(at + 1)) not in (*_NO_SCRIPT, ";")

    def _continues_with(self, word: str, at: int) -> bool:
        """Return whether the statement at a token has a word outside of parentheses and of CASE."""
        inside = 0
        while at < len(self._tokens) and (symbol := self._symbol(at)) != ";":
            found = self._word(at)
            if not inside and found == word:
                return True
            inside += (found == "CASE") + (symbol == "(") - (found == "END") - (symbol == ")")
            at += 1
        return False

    def _simple(self, *, in_script: bool) -> Iterator[ScriptStatement]:
        """Yield the statement here, up to the next `;`, unless it is empty."""
        begin = self._at
        while self._at < len(self._tokens) and self._symbol(self._at) != ";":
            self._at += 1
        if self._at > begin:
            yield self._statement(begin, self._at, in_script=in_script)
        self._at += 1

    def _statement(self, begin: int, end: int, *, in_script: bool) -> ScriptStatement:
        """Return the statement between two tokens."""
        start = self._tokens[begin][0]
        offset, last = self._tokens[end - 1]
        line, column = self._place(start)
        loops = tuple(each for each in self._blocks if each is not None)
        return ScriptStatement(self._text[start : offset + len(last.text)], self._file, line, column, in_script, loops)

    def _script(self) -> Iterator[ScriptStatement]:
        while self._at < len(self._tokens):
            if self._symbol(self._at + 1) == ":":
                self._at += 2
            word = self._word(self._at)
            if word == "END":
                # The kind and the label of the block may follow END.
                list(self._simple(in_script=True))
                self._blocks.pop()
                if not self._blocks:
                    return
            elif word in _OPENING:
                yield from self._open(word)
            elif word == "UNTIL":
                # Its condition comes before the END of the loop.
                self._pass_over("END")
                self._at -= 1
            elif word in _JUMPS:
                list(self._simple(in_script=True))
            elif word == "DECLARE" and self._word(self._at + 2) == "HANDLER":
                self._pass_over_conditions()
            elif self._symbol(self._at) == ";":
                self._at += 1
            else:
                yield from self._simple(in_script=True)
        self._blocks.clear()

    def _open(self, word: str) -> Iterator[ScriptStatement]:
        """Skip the beginning of a block; yield the query of a FOR loop, whose row the statements inside can use."""
        self._at += 1
        if word != "FOR":
            self._blocks += [None] * (word in _BLOCKS)
            self._pass_over(_OPENING[word])
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
        if end <= begin:
            self._blocks.append(None)
            return
        query = self._statement(begin, end, in_script=True)
        yield query
        self._blocks.append(Loop(variable, query.text))

    def _pass_over_conditions(self) -> None:
        """Skip the conditions of a handler, which are followed by its statement or block."""
        self._pass_over("FOR")
        is_next = True
        while is_next:
            self._at += 1
            while self._word(self._at) in _OF_CONDITIONS or self._kind(self._at) is TokenKind.STRING:
                self._at += 1
            is_next = self._symbol(self._at) == ","
            self._at += is_next

    def _pass_over(self, end: str) -> None:
        """Skip to the word that ends a condition, ignoring CASE expressions and parentheses inside it."""
        inside = 0
        while end and self._at < len(self._tokens):
            word, symbol = self._word(self._at), self._symbol(self._at)
            self._at += 1
            if not inside and word == end:
                return
            inside += (word == "CASE") + (symbol == "(") - (word == "END") - (symbol == ")")

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
