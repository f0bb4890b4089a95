"""
Split a table's name that BigQuery writes in one pair of backticks: `` `project.dataset.table` ``.

Spark reads such a name as one part. No table of Spark's own catalog has a dot in a part of its name, so a
table's name with dots has several parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Collection

# Variables of other tools are left unchanged.
_PART = re.compile(r"(?:\{\{[^`{}]*\}\}|\$\{[^`{}]*\}|[\w*$-])+")
_DOTTED = re.compile(rf"`{_PART.pattern}(?:\.{_PART.pattern}){{1,2}}`")
_PLAIN = re.compile(r"[A-Za-z_]\w*")
# sqlglot reads these as keywords even in a name.
_KEYWORDS = frozenset(
    """
    ALTER AND AS BETWEEN CREATE CROSS DESCRIBE DISTINCT DROP ELSE EXCEPT FETCH FOR FROM GLOB GRANT HAVING ILIKE INNER
    INSERT INTERSECT INTO JOIN LATERAL LIKE MINUS NOT NOTNULL ON OR OUTER QUALIFY REGEXP RETURNING REVOKE RLIKE ROLLBACK
    SELECT SERDEPROPERTIES TABLESAMPLE THEN UNCACHE UNION USING VALUES WHEN WHERE WITH XOR
    """.split()
)
# Words before the name of a table.
_BEFORE = frozenset("CLONE EXISTS FROM INTO JOIN MERGE OVERWRITE TABLE UPDATE USING VIEW".split())
_BEFORE_CTE = frozenset({"WITH", "RECURSIVE", ","})
_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})


def with_parts_of_names(text: str, views: Collection[str] = ()) -> str:
    """
    Return a statement in which each table that is named in one pair of backticks has a name of several parts.

    A part has backticks if it needs them. If at most one part does, the rest of the statement stays at its place.

    Args:
        text: the statement.
        views: temporary views that earlier statements have made, in lower case: one may have a dot in its name.
    """
    if _DOTTED.search(text) is None:
        return text
    found = list(tokens(text))
    significant = [at for at, each in enumerate(found) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    words = [found[at].text.upper() if found[at].kind is TokenKind.WORD else found[at].text for at in significant]
    # A temporary view or a common table expression may have any name.
    own = {f"`{each}`" for each in views}
    own |= {
        word.lower()
        for place, word in enumerate(words)
        if _is_cte(words, place) or _TEMPORARY.intersection(words[max(0, place - 3) : place])
    }
    parts = [each.text for each in found]
    for place, at in enumerate(significant):
        word = words[place]
        is_table = place > 0 and words[place - 1] in _BEFORE and words[place + 1 : place + 2] != ["."]
        if is_table and word.lower() not in own and _DOTTED.fullmatch(word) is not None:
            parts[at] = _in_parts(word)
    return "".join(parts)


def _is_cte(words: list[str], place: int) -> bool:
    """Return whether a word is the name of a common table expression."""
    return place > 0 and words[place - 1] in _BEFORE_CTE and words[place + 1 : place + 3] == ["AS", "("]


def _is_plain(part: str) -> bool:
    return _PLAIN.fullmatch(part) is not None and part.upper() not in _KEYWORDS


def _in_parts(name: str) -> str:
    """Return a name of several parts, as long as before if at most one of them needs backticks."""
    parts = [each if _is_plain(each) else f"`{each}`" for each in _PART.findall(name)]
    made = ".".join(parts)
    # Its first character stays where it was, because messages point there.
    return f"{made}{' ' * (len(name) - len(made))}"
