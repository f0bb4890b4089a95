"""Parse SQL of any dialect with sqlglot. This module is imported only to parse a text, because sqlglot is large."""

from __future__ import annotations

import logging
import threading
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError

_parsing = threading.local()


class UnparsableError(ValueError):
    """A text that can't be parsed; its message has the reason, on one line."""


def parsed(text: str, dialect: Any = None) -> list[Any]:
    """
    Return the statements of a text as sqlglot's trees.

    Args:
        text: the statements.
        dialect: sqlglot's name of its SQL, or the dialect itself; None for the SQL that most databases know.

    Raises:
        UnparsableError: it can't be parsed, or there is no such dialect.
    """
    # Adding the same filter again changes nothing.
    logging.getLogger("sqlglot").addFilter(_of_others)
    _parsing.active = True
    try:
        return [each for each in sqlglot.parse(text, dialect=dialect) if each is not None]
    except (SqlglotError, ValueError) as problem:
        raise UnparsableError(str(problem).splitlines()[0] if str(problem) else type(problem).__name__) from problem
    except RecursionError:
        # The parser recurses into brackets and subqueries.
        raise UnparsableError("it is nested too deeply") from None
    except (AssertionError, AttributeError, LookupError, TypeError) as problem:
        # On unforeseen texts, the code of sqlglot itself fails.
        raise UnparsableError(f"sqlglot fails with {type(problem).__name__}: {problem}") from problem
    finally:
        _parsing.active = False


def _of_others(_record: logging.LogRecord) -> bool:
    """Return whether sqlglot logs for other code: its warnings quote the text, and ours may contain secrets."""
    return not getattr(_parsing, "active", False)
