"""Find the names of variables and parameters that a script or a routine declares, in the tokens of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_BEFORE_DECLARED = frozenset({"AS", "DECLARE", "IS"})
_MODES = frozenset({"IN", "INOUT", "OUT", "VARIADIC"})
_BEFORE_NAME = frozenset({"DECLARE", "LET", "OR", "REPLACE", "VAR", "VARIABLE"})
# What else is declared than variables; and the words of statements.
_NO_VARIABLE = frozenset(
    "ALTER BEGIN CONTINUE CREATE CURSOR EXCEPTION EXIT FUNCTION PRAGMA PROCEDURE SELECT SUBTYPE TYPE UNDO WITH".split()
)
_DECLARING = frozenset({"DECLARE", "LET"})
_NO_VALUE = frozenset({"CONDITION", "CURSOR", "EXCEPTION"})
_INTO = frozenset({"EXECUTE", "FETCH", "SELECT", "WITH"})
_MARKS = ("@", ":")
_OPENING, _CLOSING = ("(", "[", "<"), (")", "]", ">")


def parameters_in(header: Sequence[Token], kinds: Collection[str]) -> Iterator[str]:
    """
    Yield the names of the parameters of routines, in lower case, alone and after that of the routine; not those with @.

    Args:
        header: the tokens before the body of a routine, without spaces and comments.
        kinds: the words before the names of routines, in capitals.
    """
    for at, token in enumerate(header):
        if _word(token) not in kinds:
            continue
        begin = at + 1
        while begin < len(header) and (_is_name(header[begin]) or header[begin].text == "."):
            begin += 1
        if begin == at + 1 or begin >= len(header) or header[begin].text != "(":
            continue
        for part in _parts(header[begin + 1 :], ","):
            named = part[1:] if len(part) > 1 and _word(part[0]) in _MODES and _is_name(part[1]) else part
            # A parameter may have only a type.
            if len(named) > 1 and _is_name(named[0]) and _is_name(named[1]):
                yield _name(named[0])
                yield f"{_name(header[begin - 1])}.{_name(named[0])}"


def declared_before(header: Sequence[Token]) -> Iterator[str]:
    """
    Yield the variables of a routine of Oracle, which are declared between IS and BEGIN, in lower case.

    Args:
        header: the tokens before the body of the routine, without spaces and comments.
    """
    for declaration in _parts(header, ";"):
        begin = 0
        if _word(declaration[0]) not in ("CURSOR", "SUBTYPE", "TYPE"):
            outside = (at for at, depth in enumerate(_depths(declaration)) if not depth)
            begin = max((at + 1 for at in outside if _word(declaration[at]) in _BEFORE_DECLARED), default=0)
        yield from declared_in(declaration[begin:])


def filled_by(statement: Sequence[Token]) -> Iterator[str]:
    """
    Yield what a statement sets to rows of a query, in lower case: variables, which may begin with @, and other names.

    Args:
        statement: its tokens, without spaces and comments.
    """
    words = [_word(each) for each in statement]
    first = words[0] if words else ""
    if first in _INTO and "INTO" in words:
        yield from _after_into(statement, words)
    is_of_rows = ("FROM" if first == "SELECT" else "SELECT") in words
    if is_of_rows and first in _DECLARING:
        yield from _declared_of_rows(statement)
    end = 0 if not is_of_rows else words.index("FROM") if first == "SELECT" else len(words)
    for at, token in enumerate(statement[:end]):
        if token.text == "=" and at > 1 and _is_name(statement[at - 1]):
            before = statement[at - 2]
            if before.text == "@":
                yield marked_name(statement, at - 1)
            elif at == 2 and first == "SET":
                yield _name(statement[1])
                # Snowflake marks it where it is used.
                yield f"${_name(statement[1])}"
        elif token.text == ":" and at == 1 and statement[2:3] and statement[2].text == "=":
            yield _name(statement[0])


def _after_into(statement: Sequence[Token], words: list[str]) -> Iterator[str]:
    """Yield the names after INTO in a statement with these words."""
    at = words.index("INTO") + 1
    at += words[at : at + 1] == ["STRICT"]
    while at < len(statement) and (statement[at].text in (*_MARKS, ",") or _is_name(statement[at])):
        if words[at] == "FROM":
            break
        if _is_name(statement[at]):
            yield marked_name(statement, at)
        at += 1


def _declared_of_rows(declaration: Sequence[Token]) -> Iterator[str]:
    """Yield the variables that a declaration sets to the result of a query."""
    for part in _parts(declaration[1:], ","):
        mark = "@" if part[0].text == "@" else ""
        if "SELECT" in map(_word, part):
            yield from (f"{mark}{each}" for each in declared_in(part[len(mark) :]))


def marked_name(statement: Sequence[Token], at: int) -> str:
    """Return a name in lower case, after its @ or $ if it has one."""
    mark = statement[at - 1].text if at and statement[at - 1].text in ("@", "$") else ""
    return f"{mark}{_name(statement[at])}"


def declared_in(declaration: Sequence[Token]) -> Iterator[str]:
    """
    Yield the variables that one declaration names, in lower case.

    Args:
        declaration: its tokens, without spaces and comments, from the word DECLARE or from its first name on.
    """
    at = 0
    while at < len(declaration) - 1 and _word(declaration[at]) in _BEFORE_NAME:
        at += 1
    names = []
    while at < len(declaration) and _is_name(declaration[at]) and _word(declaration[at]) not in _NO_VARIABLE:
        names.append(_name(declaration[at]))
        at += 1
        if at >= len(declaration) or declaration[at].text != ",":
            break
        at += 1
    is_typed = at < len(declaration) and (_is_name(declaration[at]) or declaration[at].text in (":", "="))
    if is_typed and _word(declaration[at]) not in _NO_VALUE:
        yield from names


def _parts(found: Sequence[Token], separator: str) -> Iterator[Sequence[Token]]:
    """Yield the parts between separators outside of brackets, up to a bracket that closes what is around."""
    begin = 0
    for at, depth in enumerate(_depths(found)):
        if depth < 0 or (not depth and found[at].text == separator):
            if at > begin:
                yield found[begin:at]
            begin = at + 1
            if depth < 0:
                return
    if begin < len(found):
        yield found[begin:]


def _depths(found: Sequence[Token]) -> Iterator[int]:
    """Yield the number of brackets around each token, or of those that it leaves open."""
    depth = 0
    for token in found:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        yield depth


def _is_name(token: Token) -> bool:
    return token.kind in (TokenKind.NAME, TokenKind.WORD)


def _word(token: Token) -> str:
    return token.text.upper() if token.kind is TokenKind.WORD else ""


def _name(token: Token) -> str:
    return token.text.strip("`").lower()
