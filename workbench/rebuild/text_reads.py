"""
Find what a statement may read from its text alone.

A statement that names nothing but tables reads those whose names are in its text, what views and other names of tables
are made of, and what the routines read that it may call. A text of which names are made, such as one with a variable,
may read any table.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.sql.blank import with_blank_comments

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.project_code import ProjectCode

# The statements that say what they read.
_BEGINS = re.compile(r"\s*(?:\(|(?:CREATE|DELETE|FROM|INSERT|MERGE|REPLACE|SELECT|UPDATE|WITH)\b)", re.IGNORECASE)
# Variables, parameters and wildcards. A path in JSON, such as `a:b`, is no parameter.
_VARIABLE = re.compile(r"[${}&@?]|\w\*|%[(s]|(?<![:\w)\]\"]):\w")
# What runs a string, or makes a name of one.
_DYNAMIC = re.compile(
    r"\b(?:CALL|DO|EXEC|EXECUTE|EXECUTESQL|IDENTIFIER|OPENQUERY|OPENROWSET|PREPARE|QUERY_TO_XML|SP_EXECUTESQL"
    r"|TABLE_DATE_RANGE)\b",
    re.IGNORECASE,
)
# The tables that say which tables there are.
_CATALOG = re.compile(
    r"\b\w*SCHEMA\w*\b|\b(?:ALL|USER)_(?:OBJECTS|TAB\w*|VIEWS)\b|\b(?:DBA|PG)_\w+|\bSYS\b|__TABLES", re.IGNORECASE
)
_ROUTINE = re.compile(
    r"\bCREATE\s+(?:(?!TABLE\b|(?:\w+\s+)?VIEW\b)\S+\s+){0,4}?"
    r"(?:EVENT|FUNCTION|MACRO|PACKAGE|PROC|PROCEDURE|RULE|TASK|TRIGGER)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\w+")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def names_read(text: str, project: ProjectCode | None, routines: frozenset[str]) -> frozenset[str] | None:
    """
    Return the names of what a statement may read, in lower case, and the pieces of which its templates may make others.

    Args:
        text: the statement.
        project: what else decides about a model of dbt; None if it is none.
        routines: the names in the routines that it may call.

    Returns:
        The names; None if it may read anything.
    """
    text = with_blank_comments(text)
    names = words_in(text)
    if project is not None:
        of_templates = project.names_in(" ".join(_TEMPLATE.findall(text)))
        if of_templates is None:
            return None
        names |= of_templates
        text = _TEMPLATE.sub(" ", text)
    is_plain = _BEGINS.match(text) is not None and not any(
        each.search(text) for each in (_VARIABLE, _DYNAMIC, _CATALOG)
    )
    return names | routines if is_plain else None


def words_in(text: str) -> frozenset[str]:
    """Return all names in a text, in lower case."""
    return frozenset(_NAME.findall(text.lower()))


@functools.lru_cache(maxsize=4096)
def makes_routines(text: str) -> bool:
    """Return whether statements may call what a file creates, and so read what it reads."""
    return _ROUTINE.search(text) is not None


def has_template(text: str) -> bool:
    """Return whether a template is left in a model of dbt."""
    return _TEMPLATE.search(text) is not None
