"""Parse SQL of any dialect with sqlglot. This module is imported only to parse a text, because sqlglot is large."""

from __future__ import annotations

import logging
import threading
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_parsing = threading.local()
_WITHOUT_LAMBDAS = frozenset({"postgres", "redshift", "mysql", "sqlite"})
"""The dialects in which an arrow always takes a part of a JSON value."""
_CASE_MATTERS = frozenset({"clickhouse"})
"""The dialects in which names that differ in case are different ones."""
_WITH_MARKS = frozenset({"fabric", "tsql"})
"""The dialects in which the name of a temporary table begins with `#` or `##`."""

_AGGREGATES = frozenset(
    "appx_median approx_set approx_top_count approx_top_k approximate_percentile arbitrary avgif count_big "
    "count_distinct count_min_sketch every favg fsum geometric_mean histogram histogram_numeric json_arrayagg list mad "
    "map_union multimap_agg ndv numeric_histogram product reservoir_quantile skew std stdevp st_union sum_distinct "
    "sumif try_avg try_sum varp wm_concat xmlagg".split()
)
"""The aggregates of several engines that sqlglot does not know, besides those whose names end with `_agg`."""


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
        return _statements(text, dialect)
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


def _statements(text: str, dialect: Any) -> list[Any]:
    found = [each for each in sqlglot.parse(text, dialect=dialect) if each is not None]
    if "->" in text and _name(dialect) in _WITHOUT_LAMBDAS:
        for statement in found:
            _read_arrows(statement)
    elif "->" in text and _name(dialect) not in _CASE_MATTERS:
        for statement in found:
            _read_parameters(statement)
    for statement in found:
        _know_aggregates(statement)
    if "#" in text and _name(dialect) in _WITH_MARKS:
        for statement in found:
            _keep_marks(statement)
    return found


def _name(dialect: Any) -> str:
    """Return the name of a dialect that is given as for `parsed`."""
    return dialect if isinstance(dialect, str) else str(getattr(dialect, "__name__", "")).lower()


def _read_arrows(statement: Any) -> None:
    """Replace functions without a name by parts of JSON values: sqlglot takes `f(j -> 'a')` for one in any dialect."""
    for node in list(statement.find_all(exp.Lambda)):
        names = node.expressions
        if len(names) == 1 and isinstance(names[0], exp.Identifier):
            node.replace(exp.JSONExtract(this=exp.Column(this=names[0]), expression=node.this))


def _read_parameters(statement: Any) -> None:
    """Take the parameters of functions without a name for no columns: sqlglot knows them in the same case only."""
    for function in list(statement.find_all(exp.Lambda)):
        names = {each.name.lower() for each in function.expressions}
        for column in list(function.this.find_all(exp.Column)):
            if column.parts[0].name.lower() in names:
                column.replace(column.to_dot() if column.table else column.this)


def _know_aggregates(statement: Any) -> None:
    """Make aggregates of calls that sqlglot takes for those of any function."""
    for call in list(statement.find_all(exp.Anonymous)):
        name = call.name.lower()
        if name in _AGGREGATES or name.endswith("_agg"):
            call.replace(exp.AnonymousAggFunc(this=call.name, expressions=call.expressions))


def _keep_marks(statement: Any) -> None:
    """Put the marks back into the names of temporary tables: sqlglot takes them off, and other dialects keep them."""
    for name in list(statement.find_all(exp.Identifier)):
        is_global = name.args.get("global_") or name.args.get("global")
        mark = "##" if is_global else "#" if name.args.get("temporary") else ""
        if mark:
            name.replace(exp.to_identifier(f"{mark}{name.name}", quoted=True))


def _of_others(_record: logging.LogRecord) -> bool:
    """Return whether sqlglot logs for other code: its warnings quote the text, and ours may contain secrets."""
    return not getattr(_parsing, "active", False)
