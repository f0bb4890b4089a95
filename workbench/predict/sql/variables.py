"""
The variables in the statements of scripts: `${name}`, as in Spark's own substitution, and parameters of other tools.

Spark also substitutes environment variables and properties of the JVM. Scripts must not see them, because their author
could make a secret of the machine appear in the output. Spark also replaces an unset variable by nothing, which
causes an error elsewhere in the statement.

Parameters are `:name`, as in Spark's API and Databricks, whose value is inserted as a string; and `{{ name }}` and
`@name`, whose value is inserted unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, string_literal, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VARIABLE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_SESSION = frozenset({"", "conf", "spark", "sparkconf", "hivevar", "hiveconf"})
_DEEPEST = 40
_TEMPLATE = re.compile(r"\{\{\s*(.*?)\s*\}\}|\{%.*?%\}", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_][\w.]*")
_PARAMETER = re.compile(r"(?<![\w@`:.\])])(?:@(?P<raw>[A-Za-z_]\w*)|:(?P<text>[A-Za-z_]\w*))")
_LOAD = re.compile(
    r"LOAD\s+(?:DATA|XML)\s+(?:(?:LOW_PRIORITY|CONCURRENT)\s+)?(?:LOCAL\s+)?INFILE\b|BULK\s+INSERT\b", re.IGNORECASE
)
_COPIES = re.compile(r"(?:\s|--.*\n)*COPY\s+INTO\b", re.IGNORECASE)
_NEAR = 80
_BEFORE_STAGE = re.compile(r"\b(?:FROM|INTO)\s+\Z", re.IGNORECASE)
# What follows the name of files of Snowflake in a query; and columns that only rows of such files have.
_STAGE = re.compile(r"(?:\.\w+)*(?:/|\s*\(\s*(?:FILE_FORMAT|PATTERN)\s*=>)", re.IGNORECASE)
_OF_FILE = re.compile(r"(?<![\w$])\$\d+\b|\bMETADATA\$FILE", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
# After these words, `:name` is a parameter; after others, it is a part of the value before it.
_BEFORE_PARAMETER = frozenset(
    "AND AS BETWEEN BY CASE DATE DEFAULT DIV ELSE ESCAPE FROM HAVING ILIKE IN INTERVAL IS LIKE LIMIT NOT OFFSET ON OR "
    "RETURN RLIKE SELECT SET THEN TIMESTAMP USING VALUES WHEN WHERE".split()
)
# These words are followed by a name.
_BEFORE_NAME = frozenset(
    "CATALOG DATABASE DESCRIBE EXISTS FROM INTO JOIN NAMESPACE OVERWRITE SCHEMA TABLE UPDATE USE USING VIEW".split()
)
_MARKED = re.compile(r"(?:\w|\$\{[^}]+\}|\{\{[^}]*\}\}|(?<!\w)@(?=[A-Za-z_]))+")
_HELD = re.compile(r"\$\{|\{\{|@")
_OF_TEMPLATE = "template "
_BEGINNING = re.compile(r"(?:\s|--.*\n)+(?:CREATE|DELETE|INSERT|MERGE|SELECT|UPDATE|WITH)\b", re.IGNORECASE)
_HELD_TEMPLATE = "template(*)"
# Strings and parameters that make the name of a table, in Databricks.
_IDENTIFIER = re.compile(
    r"(?P<before>\b(?:FROM|INTO|JOIN|OVERWRITE|TABLE|UPDATE|USING|VIEW|EXISTS)\s+)IDENTIFIER\s*"
    r"\((?P<given>(?:\s*(?:'[^'\\]*'|:\w+|\|\|))+)\s*\)",
    re.IGNORECASE,
)
_OF_IDENTIFIER = re.compile(r"'([^']*)'|:(\w+)")
# After these words, a value or a clause begins.
_BEFORE_VALUE = frozenset(
    "ALL AND ANY AS BETWEEN BY CASE DESC DISTINCT ELSE EXCEPT EXISTS FROM HAVING IN INTERSECT INTERVAL IS JOIN LIKE "
    "LIMIT MINUS NOT NULLS OFFSET ON OR OVER QUALIFY RETURN RLIKE SELECT SET THEN UNION USING VALUES WHEN WHERE "
    "WINDOW WITH".split()
)
_NAMING = re.compile(r"(?:ref|source)\s*\((\s*['\"][^'\"]+['\"]\s*(?:,\s*['\"][^'\"]+['\"]\s*)*)\)")
_BRANCH = re.compile(r"\{%[-+]?\s*(if|for|elif|else|endif|endfor)\b.*?%\}", re.DOTALL)
_OPENING, _ENDING = frozenset({"if", "for"}), frozenset({"endif", "endfor"})
_STATEMENT_OF_TEMPLATE = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
# A parameter of a notebook of Databricks.
_WIDGET = re.compile(r"""\s*CREATE\s+WIDGET\s+\w+\s+`?(\w+)`?\s+DEFAULT\s+(["'])(.*?)\2.*""", re.IGNORECASE | re.DOTALL)


_BEFORE_DATE = re.compile(r"(?<![\w.])(?:DATE|TIME|TIMESTAMP(?:_NTZ|_LTZ)?)\s*$", re.IGNORECASE)
_LONGEST_TYPE = 20
_DATE = re.compile(rf"{_BEFORE_DATE.pattern[:-1]}'[^']*\$\{{[^']*'", re.IGNORECASE)
"""A literal of a date or a time with a variable."""


class UnknownVariableError(ValueError):
    """
    Raised if a variable of a statement has no value.

    Args:
        message: the missing value, and how to set it.
        name: the variable; empty if it is a template.
        line: its line within the statement, from 1.
        column: its position on that line, from 0.
    """

    def __init__(self, message: str, name: str, line: int, column: int) -> None:
        super().__init__(message)
        self.name = name
        self.line = line
        self.column = column


def substituted(text: str, value_of: Callable[[str], str | None], *, keeps: bool = False) -> str:
    """
    Return a statement with the values of its variables.

    Args:
        text: the statement.
        value_of: returns the value of a variable by its name; None if it has none.
        keeps: whether variables without a value are left unchanged everywhere.

    Returns:
        The statement. In strings and comments, a variable without a value is left unchanged, because it does no harm;
        except in the literals of dates and times, such as `DATE '${day}'`.

    Raises:
        UnknownVariableError: there is a variable without a value elsewhere.
    """
    if "${" in text:
        text = _with_variables(text, value_of, keeps=keeps)
    if "{{" in text or "{%" in text:
        text = _with_templates(text, value_of, keeps=keeps)
    return _with_parameters(text, value_of, keeps=keeps) if "@" in text or ":" in text else text


def default_of_widget(text: str) -> tuple[str, str] | None:
    """Return the name and the default of the parameter that a CREATE WIDGET declares; None for other statements."""
    found = _WIDGET.fullmatch(text)
    return None if found is None else (found[1], found[3])


def loads_file(text: str) -> bool:
    """Return whether a statement fills a table from a file as MySQL, where `@name` is a field of it, or SQL Server."""
    return _LOAD.match(text) is not None


def placeheld(text: str) -> str:
    """
    Return a statement with placeholders for variables: their own text where a name is expected, else NULL.

    Args:
        text: a statement with variables that have no values.
    """
    text = _DATE.sub(lambda found: "NULL".ljust(len(found[0])), text)
    text = _IDENTIFIER.sub(_identified, _with_first_branches(text) if "{%" in text else text)
    text = _TEMPLATE.sub(_template_held, _STATEMENT_OF_TEMPLATE.sub(lambda found: blanked(found[0]), text))
    parts: list[str] = []
    at, before = 0, ""
    for begin, end in [*_spans(text, (TokenKind.STRING, TokenKind.COMMENT, TokenKind.NAME)), (len(text), len(text))]:
        parts.append(_held(text[at:begin], before, text[begin:] if at == 0 else ""))
        parts.append(text[begin:end])
        at, before = end, text[max(0, end - 1) : end]
    return "".join(parts)


def _identified(found: re.Match[str]) -> str:
    """Return the name of a table that strings and parameters without values make."""
    parts = (each[1] if each[1] is not None else f"${{{each[2]}}}" for each in _OF_IDENTIFIER.finditer(found["given"]))
    return f"{found['before']}{'.'.join(f'`{each}`' for each in ''.join(parts).split('.'))}"


def _with_first_branches(text: str) -> str:
    """Return a template with blanks for all branches of each `if` but the first: together they make no statement."""
    parts: list[str] = []
    at = depth = 0
    # The depths of the statements whose first branch has ended.
    ended: list[int] = []
    for found in _BRANCH.finditer(text):
        part = text[at : found.start()]
        parts.append(blanked(part) if ended else part)
        word = found[1]
        depth += word in _OPENING
        if word in ("else", "elif") and depth not in ended:
            ended.append(depth)
        elif word in _ENDING:
            ended = [each for each in ended if each != depth]
            depth = max(0, depth - 1)
        parts.append(blanked(found[0]))
        at = found.end()
    return "".join([*parts, text[at:]])


def _template_held(found: re.Match[str]) -> str:
    """Return the placeholder of a template; for a model or a source of dbt, its name."""
    inside = found[1] or ""
    if _PLAIN.fullmatch(inside):
        return found[0]
    named = _NAMING.fullmatch(inside)
    if named is not None:
        return ".".join(f"`{each}`" for each in re.findall(r"['\"]([^'\"]+)['\"]", named[1]))
    # Its words make a name by which the template can be recognized.
    return f"${{{_OF_TEMPLATE}{'_'.join(re.findall(r'[A-Za-z0-9]+', inside))}}}"


def _held(text: str, before: str, behind: str) -> str:
    """
    Return a part of a statement with placeholders for its variables.

    Args:
        text: the part, which contains no string, comment or quoted name.
        before: the last character of the statement before it; empty at the beginning.
        behind: the statement after the first part; empty for any other part.
    """

    def held(found: re.Match[str]) -> str:
        run = found[0]
        if _HELD.search(run) is None:
            return run
        rest, word = text[: found.start()], ""
        if not before and not rest.strip() and _BEGINNING.match(f"{text[found.end() :]}{behind}"):
            # A placeholder before the statement makes only comments or settings.
            return blanked(run)
        last = (rest.rstrip() or before)[-1:]
        for each in re.finditer(r"\w+", rest):
            word = each[0].upper()
        follows = text[found.end() : found.end() + 1]
        is_after_word = bool(re.search(r"\w\s*$", rest))
        is_name = last == "." or follows == "." or (is_after_word and word in _BEFORE_NAME)
        is_part = re.fullmatch(r"\$\{[^}]*\}|\{\{[^}]*\}\}|@\w+", run) is None
        if is_name or is_part:
            return f"`{run}`"
        if _OF_TEMPLATE not in run:
            return "NULL"
        if rest.rstrip().endswith("::") or (word == "AS" and is_after_word and follows == ")"):
            # A type.
            return "STRING"
        # The text does not show the columns that a template reads. After a value, it usually makes further columns.
        is_further = _ends_value(rest.rstrip() or before, word)
        return f", {_HELD_TEMPLATE}" if is_further else _HELD_TEMPLATE

    return _with_held_parameters(_MARKED.sub(held, text))


def holds_template(text: str) -> bool:
    """Return whether `placeheld` has put a placeholder for a template into a statement."""
    return _HELD_TEMPLATE in text


def _ends_value(before: str, word: str) -> bool:
    """
    Return whether a text may end with a value.

    Args:
        before: the text.
        word: its last word, in capitals.
    """
    if re.search(r"\w$", before):
        return word not in _BEFORE_VALUE
    return before.endswith((")", "]", "}", "'", '"', "`"))


def _with_held_parameters(text: str) -> str:
    return _PARAMETER.sub(lambda found: "NULL" if found["text"] and _is_parameter(text, found) else found[0], text)


def _with_variables(text: str, value_of: Callable[[str], str | None], *, keeps: bool) -> str:
    spans = _harmless(text)

    def value(found: re.Match[str]) -> str:
        known = _value(found, value_of, 0)
        if known is not None:
            return known
        if keeps or _is_within(spans, found.start()):
            return found[0]
        raise _unknown(found[2], text, found.start())

    return _VARIABLE.sub(value, text)


def _with_templates(text: str, value_of: Callable[[str], str | None], *, keeps: bool) -> str:
    spans = _harmless(text)

    def value(found: re.Match[str]) -> str:
        name = found[1] or ""
        known = value_of(name) if _PLAIN.fullmatch(name) else None
        if known is not None:
            return known
        if keeps or _is_within(spans, found.start()):
            return found[0]
        if _PLAIN.fullmatch(name):
            raise _unknown(name, text, found.start())
        message = " ".join(found[0].split())
        why = f"the template {message} is not rendered: use the rendered files, such as those that dbt compiles"
        raise UnknownVariableError(why, "", *_place(text, found.start()))

    return _TEMPLATE.sub(value, text)


def _with_parameters(text: str, value_of: Callable[[str], str | None], *, keeps: bool) -> str:
    if loads_file(text):
        return text
    spans = list(_spans(text, (TokenKind.STRING, TokenKind.COMMENT, TokenKind.NAME)))

    def value(found: re.Match[str]) -> str:
        if _is_within(spans, found.start()) or not (found["raw"] or _is_parameter(text, found)):
            return found[0]
        name = found["raw"] or found["text"]
        if found["raw"] and _is_stage(text, found):
            return found[0]
        known = value_of(name)
        if known is None and keeps:
            return found[0]
        if known is None:
            raise _unknown(name, text, found.start())
        return known if found["raw"] or _NUMBER.fullmatch(known) else string_literal(known)

    return _PARAMETER.sub(value, text)


def _is_stage(text: str, found: re.Match[str]) -> bool:
    """Return whether an `@name` is that of files of Snowflake, which a COPY or a FROM names."""
    is_copied = _COPIES.match(text) is not None
    before = text[max(0, found.start() - _NEAR) : found.start()]
    is_read = _STAGE.match(text, found.end()) is not None or _OF_FILE.search(text) is not None
    return _BEFORE_STAGE.search(before) is not None and (is_copied or is_read)


def _is_parameter(text: str, found: re.Match[str]) -> bool:
    """Return whether a `:name` is a parameter, and not a part of the value before it, as in `value:field`."""
    before = re.search(r"(\w+|[^\w\s])\s*$", text[: found.start()])
    if before is None:
        return False
    is_word = re.fullmatch(r"\w+", before[1]) is not None
    return before[1].upper() in _BEFORE_PARAMETER if is_word else before[1] not in ")]`'\":"


def _unknown(name: str, text: str, at: int) -> UnknownVariableError:
    message = f"the variable {name} has no value: set it with --conf {name}=VALUE, or with SET in a file"
    return UnknownVariableError(message, name, *_place(text, at))


def _place(text: str, at: int) -> tuple[int, int]:
    """Return the line of a position, from 1, and its column, from 0."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1)


def _value(found: re.Match[str], value_of: Callable[[str], str | None], depth: int) -> str | None:
    """Return the value of a variable, which may contain others; None if one of them has no value."""
    known = value_of(found[2]) if (found[1] or "") in _OF_SESSION and depth < _DEEPEST else None
    if known is None:
        return None
    inner = [_value(each, value_of, depth + 1) for each in _VARIABLE.finditer(known)]
    if None in inner:
        return None
    values = iter(inner)
    return _VARIABLE.sub(lambda _: next(values) or "", known)


def _harmless(text: str) -> list[tuple[int, int]]:
    """Return the positions of the strings and comments of a statement, except strings that must be a date or a time."""
    spans = _spans(text, (TokenKind.STRING, TokenKind.COMMENT))
    return [each for each in spans if _BEFORE_DATE.search(text[max(0, each[0] - _LONGEST_TYPE) : each[0]]) is None]


def _spans(text: str, kinds: tuple[TokenKind, ...]) -> Iterator[tuple[int, int]]:
    """Yield where each token of some kinds begins and ends."""
    at = 0
    for token in tokens(text):
        if token.kind in kinds:
            yield at, at + len(token.text)
        at += len(token.text)


def _is_within(spans: list[tuple[int, int]], at: int) -> bool:
    return any(begin <= at < end for begin, end in spans)
