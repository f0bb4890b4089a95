"""
Find where the statements of SQL Server begin: it needs no `;` between them.

Most words that begin a statement are reserved there, so that no name can be one of them. A few also continue a
statement, such as SELECT after INSERT INTO t, or UPDATE in a MERGE. One pass over the tokens finds the others, puts a
`;` before each, and finds the bodies of routines, which need no BEGIN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEMICOLON = Token(TokenKind.SYMBOL, ";")
# These words begin a statement wherever they are; END and ELSE stand for themselves.
_ALWAYS = frozenset(
    "BACKUP BEGIN BREAK CHECKPOINT CLOSE COMMIT CONTINUE DBCC DEALLOCATE DECLARE DENY ELSE END GOTO KILL OPEN PRINT "
    "RAISERROR RECONFIGURE RESTORE RETURN REVERT REVOKE SHUTDOWN USE WAITFOR WHILE".split()
)
# These words also continue some statements.
_SOMETIMES = frozenset(
    "ALTER BULK CREATE DELETE DROP EXEC EXECUTE FETCH GRANT IF INSERT MERGE ROLLBACK SAVE SELECT SET THROW TRUNCATE "
    "UPDATE".split()
)
_GRANTING = frozenset({"DENY", "GRANT", "REVOKE"})
_MAIN = frozenset({"DELETE", "INSERT", "MERGE", "SELECT", "UPDATE"})
_SOURCES = frozenset({"DEFAULT", "EXEC", "EXECUTE", "SELECT", "VALUES"})
_ROUTINES = frozenset({"FUNCTION", "PROC", "PROCEDURE", "TRIGGER"})
_OBJECTS = frozenset(
    "AGGREGATE ASSEMBLY CONSTRAINT COLUMN DATABASE DEFAULT FUNCTION INDEX LOGIN PROC PROCEDURE ROLE RULE SCHEMA "
    "SEQUENCE STATISTICS SYNONYM TABLE TRIGGER TYPE USER VIEW".split()
)
# What follows ON DELETE and ON UPDATE in a foreign key; SET NOCOUNT ON may also be before an UPDATE.
_ACTIONS = frozenset({"CASCADE", "NO", "SET"})
# What ALTER TABLE drops, or the words before its name.
_DROPPED = frozenset({"COLUMN", "CONSTRAINT", "IF", "MEMBER", "PERIOD"})
# After these words, the word is a part of the same statement.
_BEFORE = {
    "SELECT": frozenset({"ALL", "AS", "EXCEPT", "FOR", "INTERSECT", "UNION"}),
    "INSERT": frozenset({"AFTER", "BULK", "FOR", "OF", "THEN", ","}),
    "UPDATE": frozenset({"AFTER", "FOR", "OF", "THEN", ","}),
    "DELETE": frozenset({"AFTER", "FOR", "OF", "THEN", ","}),
    "SET": frozenset({"DELETE", "UPDATE"}),
    "EXEC": frozenset({"WITH", ","}),
    "EXECUTE": frozenset({"WITH", ","}),
    "ALTER": frozenset({"OR"}),
    "FETCH": frozenset({"ROW", "ROWS"}),
    "GRANT": frozenset({"WITH"}),
    "ROLLBACK": frozenset({"WITH"}),
}
# Before these words, the word is a part of the same statement, or a name.
_NOT_BEFORE = {"UPDATE": frozenset({"("}), "MERGE": frozenset({"JOIN"}), "ALTER": frozenset({"COLUMN"})}
# Only before these words it begins a statement.
_ONLY_BEFORE = {
    "BULK": frozenset({"INSERT"}),
    "SAVE": frozenset({"TRAN", "TRANSACTION"}),
    "TRUNCATE": frozenset({"TABLE"}),
}
_OF_BLOCKS = frozenset({"CATCH", "TRY"})
_NO_BLOCK = frozenset({"CONVERSATION", "DIALOG", "DISTRIBUTED", "TRAN", "TRANSACTION"})


@attrs.frozen
class SeparatedTokens:
    """
    The tokens of a file of SQL Server, with a `;` between statements.

    Args:
        tokens: the tokens, each with its offset.
        begins: the positions of tokens that begin a statement, without a `;` before some of them.
        bodies: the position at which a routine begins -> that at which its body begins.
    """

    tokens: list[tuple[int, Token]]
    begins: frozenset[int]
    bodies: dict[int, int]


def separated(given: Sequence[tuple[int, Token]]) -> SeparatedTokens:
    """
    Return the tokens of a file of SQL Server with a `;` before each statement.

    Args:
        given: the tokens except white space and comments, each with its offset.
    """
    separating = _Separating(given)
    for at in range(len(given)):
        separating.take(at)
    return SeparatedTokens(separating.made, frozenset(separating.begins), separating.bodies)


class _Separating:
    """
    Reads the tokens of one file.

    Args:
        given: the tokens.

    Attributes:
        made: the tokens so far, with those that were put between them.
        begins: as in `SeparatedTokens`.
        bodies: as in `SeparatedTokens`.
    """

    def __init__(self, given: Sequence[tuple[int, Token]]) -> None:
        self._given = given
        self.made: list[tuple[int, Token]] = []
        self.begins: set[int] = set()
        self.bodies: dict[int, int] = {}
        self._begin_statement("")

    def _begin_statement(self, first: str) -> None:
        """Begin a statement with its first word; empty if the next token is the first one."""
        self._first = first
        # The open parentheses and CASEs.
        self._open: list[str] = []
        # Whether a CTE or an INSERT has not yet met its query.
        self._awaits = first in ("INSERT", "WITH")
        self._sets = first in ("ALTER", "UPDATE")
        # The position of the routine in whose header this is.
        self._header: int | None = None
        self._is_function = False

    def take(self, at: int) -> None:
        """Take the next token."""
        offset, token = self._given[at]
        word = self._text(at) if token.kind is TokenKind.WORD and self._text(at - 1) not in ("@", ".", "#") else ""
        if token.text == ";":
            self._begin_statement("")
        elif word and not self._open and self._takes_header(at, word):
            pass
        elif word and not self._open and self._first == "":
            self._begins(at, word)
        elif word and not self._open and self._is_begin(at, word):
            # The condition of an IF has no end but this.
            if self._first not in ("IF", "WHILE") or word in ("ELSE", "END"):
                self.made.append((offset, _SEMICOLON))
            self._begins(at, word)
        else:
            self._first = self._first or token.text
            self._continues(token, word, at)
        self.made.append((offset, token))
        if self._first == "END" and not self._is_end_next(at):
            self.made.append((offset + len(token.text), _SEMICOLON))
            self._begin_statement("")

    def _begins(self, at: int, word: str) -> None:
        """Begin a statement here."""
        self.begins.add(len(self.made))
        following = self._text(at + 1)
        self._begin_statement(word)
        if word == "ELSE" or (word == "BEGIN" and following not in _NO_BLOCK):
            self._begin_statement("")
        if word in _OF_BLOCKS and self._text(at - 1) == "BEGIN":
            self._begin_statement("")
        if word in ("ALTER", "CREATE"):
            kind = next((each for each in (following, self._text(at + 3)) if each in _ROUTINES), "")
            self._header = len(self.made) if kind and (following == kind or following == "OR") else None
            self._is_function = kind == "FUNCTION"

    def _continues(self, token: Token, word: str, at: int) -> None:
        """Take a token that is a part of the statement."""
        if token.text == "(" and token.kind is TokenKind.SYMBOL:
            self._open.append("(")
        elif token.text == ")" and token.kind is TokenKind.SYMBOL:
            while self._open and self._open.pop() != "(":
                continue
        elif word == "CASE":
            self._open.append(word)
        elif word == "END" and self._open and self._open[-1] == "CASE":
            self._open.pop()
        elif not self._open:
            self._passes(word, at)

    def _passes(self, word: str, at: int) -> None:
        """Take a word of the statement that is in no parentheses."""
        if word in ("FROM", "TO") and self._first in _GRANTING:
            self._first = word
        elif word == "WITH" and self._text(at - 1) in ("AS", "FOR", "RETURN") and self._text(at + 1) != "(":
            self._awaits = True
        elif word == "UPDATE":
            self._sets, self._awaits = self._awaits, False
        elif word == "SET":
            self._sets = False
        elif word in _MAIN or word in _SOURCES:
            # After its CTEs, an INSERT still waits for its query.
            self._awaits = word == "INSERT" and self._awaits

    def _takes_header(self, at: int, word: str) -> bool:
        """Return whether a token belongs to the header of a routine; remember where its body begins."""
        if self._header is None:
            return False
        before = self._text(at - 1)
        is_body = word == "BEGIN" or (word == "AS" and before not in ("EXEC", "EXECUTE") and self._text(at - 2) != "@")
        if not is_body:
            return True
        header, self._header = self._header, None
        if word == "BEGIN":
            self.bodies[header] = len(self.made)
            self._begins(at, word)
        elif self._text(at + 1) == "RETURN" and self._is_function:
            self._first, self._awaits = "RETURN", True
        elif self._text(at + 1) == "EXTERNAL":
            self._first = "CREATE"
        else:
            self.bodies[header] = len(self.made) + 1
            self._begin_statement("")
        return True

    def _is_begin(self, at: int, word: str) -> bool:
        """Return whether a word begins another statement."""
        if word not in _ALWAYS and word not in _SOMETIMES:
            return False
        before, after = self._text(at - 1), self._text(at + 1)
        if word in _ALWAYS:
            return not (word == "RETURN" and self._first == "RETURN" and self._awaits)
        if before in _BEFORE.get(word, ()) or after in _NOT_BEFORE.get(word, ()):
            return False
        if self._first in _GRANTING or (before == "ON" and after in _ACTIONS):
            return False
        if word in _ONLY_BEFORE:
            return after in _ONLY_BEFORE[word]
        if self._awaits and (word in _MAIN or word in _SOURCES):
            return False
        return self._is_begin_here(word, before, after)

    def _is_begin_here(self, word: str, before: str, after: str) -> bool:
        """Return whether a word begins another statement that continues some, by the words around it."""
        if word == "SET":
            return not self._sets
        if word == "THROW":
            return after in ("", ";", "@", "END") or after.isdigit()
        if word == "DROP":
            return self._first != "ALTER" or (after in _OBJECTS and after not in _DROPPED)
        if word == "IF":
            return not (before in _OBJECTS and after in ("EXISTS", "NOT"))
        return True

    def _is_end_next(self, at: int) -> bool:
        """Return whether a further word belongs to the END of a block."""
        return self._text(at) == "END" and self._text(at + 1) in (*_OF_BLOCKS, "CONVERSATION")

    def _text(self, at: int) -> str:
        """Return a token in capitals; empty if there is none, or if it is a string or a quoted name."""
        if not 0 <= at < len(self._given):
            return ""
        token = self._given[at][1]
        return "" if token.kind in (TokenKind.STRING, TokenKind.NAME) else token.text.upper()
