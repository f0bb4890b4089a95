"""
Find the expressions and the branches of Jinja in a text, without running any of its code.

Braces and parentheses nest in an expression, and its strings may contain any character, so a pattern alone does not
find its end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where no expression ends, each beginning of one would be searched to the end of the text.
_LONGEST = 20_000
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_PART = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-+]?\}\}|[\[({]|[\])}]|,|.""", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z_][\w.]*)\s*")
_STRING = re.compile(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_KEYWORD = re.compile(r"[A-Za-z_]\w*\s*=(?!=)")
_TAG = re.compile(r"\{%[-+]?\s*(if|for|elif|else|endif|endfor)\b(.*?)[-+]?%\}", re.DOTALL)
_IN_STRING = re.compile(r"""'[^']*?\{\{|"[^"]*?\{\{""")
_LATER_RUN = re.compile(r"is_incremental\(\)(?:\s+and\b.*)?", re.DOTALL)
_FIRST_RUN = re.compile(r"not\s+is_incremental\(\)(?:\s+or\b.*)?", re.DOTALL)


@attrs.frozen
class Call:
    """
    An expression that is only a name, or only a call.

    Args:
        name: the name, such as `ref`.
        given: the values of its arguments without keywords: None for each that is no literal.
        begin: the position of the expression in the text.
        text: the expression, with its braces.
    """

    name: str
    given: tuple[str | None, ...]
    begin: int
    text: str

    @property
    def end(self) -> int:
        """Return the position after the expression."""
        return self.begin + len(self.text)

    @property
    def plain(self) -> tuple[str, ...]:
        """Return the values of its arguments if all are literals; else none."""
        plain = tuple(each for each in self.given if each is not None)
        return plain if len(plain) == len(self.given) else ()


def without_comments(text: str) -> str:
    """Return a text with blanks for the comments of Jinja."""
    return _COMMENT.sub(lambda found: blanked(found[0]), text)


def with_whole_strings(text: str) -> str:
    """
    Return a text in which no string of SQL ends within an expression of Jinja: the quotes in there are of another kind.

    Args:
        text: the text, such as one with `'{{ var('day') }}'`.
    """
    at = 0 if _IN_STRING.search(text) is not None else len(text)
    while at < len(text):
        for token in tokens(text, at):
            begin, at = at, at + len(token.text)
            opened = begin + token.text.rfind("{{")
            end = _end(text, opened + 2) if _IN_STRING.match(token.text) is not None and opened > begin else None
            if end is not None and end > at:
                quote = token.text[0]
                inside = text[opened:end].replace(quote, '"' if quote == "'" else "'")
                text, at = f"{text[:opened]}{inside}{text[end:]}", begin
                break
    return text


def calls_in(text: str) -> Iterator[Call]:
    """Yield the expressions in a text that are only a name or a call; others are passed over."""
    begin = text.find("{{")
    while begin >= 0:
        end = _end(text, begin + 2)
        if end is None:
            begin = text.find("{{", begin + 2)
            continue
        inside = text[begin + 2 : end - 2].removeprefix("-").removeprefix("+").removesuffix("-").removesuffix("+")
        call = _call(inside)
        if call is not None:
            yield Call(*call, begin, text[begin:end])
        begin = text.find("{{", end)


def first_run(text: str) -> str:
    """Return a model of dbt as in its first run: with blanks for what only later runs of it contain."""
    opened: list[list[re.Match[str]]] = []
    kept: list[str] = []
    spans: list[tuple[int, int]] = []
    for found in _TAG.finditer(text):
        word = found[1]
        if word in ("if", "for"):
            opened.append([found])
        elif opened:
            opened[-1].append(found)
            if word in ("endif", "endfor"):
                spans += _of_later_runs(opened.pop())
    at = 0
    for begin, end in sorted(spans):
        if begin >= at:
            kept += [text[at:begin], blanked(text[begin:end])]
            at = end
    return "".join([*kept, text[at:]])


def _of_later_runs(tags: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the parts to blank of an `if` about the run; none for any other tags."""
    first, *branches, last = tags
    condition = first[2].strip()
    if first[1] != "if" or any(each[1] != "else" for each in branches) or len(branches) > 1:
        return []
    otherwise = branches[0] if branches else last
    if _LATER_RUN.fullmatch(condition):
        return [(first.start(), otherwise.end()), (last.start(), last.end())]
    if _FIRST_RUN.fullmatch(condition):
        return [(first.start(), first.end()), (otherwise.start(), last.end())]
    return []


def _end(text: str, at: int) -> int | None:
    """Return the position after an expression whose inside begins at a position; None if it has no end."""
    depth = 0
    for found in _PART.finditer(text, at, at + _LONGEST):
        part = found[0]
        if depth <= 0 and part.endswith("}}"):
            return found.end()
        # Where a brace is open, two of them are not the end.
        depth += part in "[({"
        depth -= 2 if part.endswith("}}") else part in "])}"
    return None


def _call(inside: str) -> tuple[str, tuple[str | None, ...]] | None:
    """Return the name and the arguments of a call; None for another expression."""
    name = _NAME.match(inside)
    if name is None:
        return None
    rest = inside[name.end() :].rstrip()
    if not rest:
        return name[1], ()
    if not rest.startswith("("):
        return None
    arguments, depth, at = [""], 0, 0
    for found in _PART.finditer(rest):
        part, at = found[0], found.end()
        depth += 1 if part in "[({" else 0
        if part in "])}" or part.endswith("}}"):
            depth -= len(part.lstrip("-+"))
            if depth <= 0:
                break
        if part == "," and depth == 1:
            arguments.append("")
        elif at > 1:
            arguments[-1] += part
    if depth != 0 or at != len(rest):
        return None
    given = [each.strip() for each in arguments]
    return name[1], tuple(_literal(each) for each in given if each and _KEYWORD.match(each) is None)


def _literal(argument: str) -> str | None:
    """Return the value of an argument: of a string, a number, or a `var` with a default; None for any other."""
    found = _STRING.fullmatch(argument)
    if found is not None:
        return found[1] if found[1] is not None else found[2]
    if _NUMBER.fullmatch(argument):
        return argument
    call = _call(argument)
    if call is not None and call[0] == "var" and len(call[1]) == 2:
        return call[1][1]
    return None
