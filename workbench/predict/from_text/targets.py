"""
Take apart the trees of statements that fill or change several tables: one statement for each table.

MySQL's UPDATE may set columns of any of the tables that it joins. INSERT ALL of Oracle and Snowflake fills each table
with values that are made of one query. A CTE of PostgreSQL may change rows and return them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def single_updates(update: Any, has: Callable[[Any, str], bool | None]) -> list[tuple[Any, bool]]:
    """
    Return the UPDATEs of one table each that set the same columns as an UPDATE of joined tables.

    Args:
        update: the tree of an UPDATE.
        has: returns whether a table has a column; None if that is unknown.

    Returns:
        Each UPDATE, and whether it sets all columns: a name that several tables may have belongs to none of them.
    """
    from sqlglot import exp

    joins = update.this.args.get("joins") or []
    rows = [update.this, *(join.this for join in joins)]
    if not joins:
        return [(update, True)]
    places: dict[int, list[Any]] = {}
    unknown = False
    for each in update.expressions:
        name = each.this if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column) else None
        place = 0 if name is None else _place(name, rows, has)
        if place is None:
            unknown = True
        else:
            places.setdefault(place, []).append(each)
    return [(_with_target(update, place, set_to), not unknown) for place, set_to in (places or {0: []}).items()]


def _place(column: Any, rows: list[Any], has: Callable[[Any, str], bool | None]) -> int | None:
    """Return the place of the table that has a column which is set; None if it is unknown."""
    names = [part.name.lower() for part in column.parts]
    for at, row in enumerate(rows):
        own = [row.alias.lower()] if row.alias else [part.name.lower() for part in getattr(row, "parts", ())]
        if any(names[: len(own) - begin] == own[begin:] for begin in range(len(own)) if len(names) > len(own) - begin):
            return at
    found = [has(row, names[0]) for row in rows]
    if True in found:
        return found.index(True)
    return found.index(None) if found.count(None) == 1 else None


def _with_target(update: Any, place: int, set_to: list[Any]) -> Any:
    """Return a copy of an UPDATE in which the table at a place comes first, with only some of its assignments."""
    made = update.copy()
    if place:
        joins = made.this.args["joins"]
        first, target = made.this, joins[place - 1].this
        first.set("joins", None)
        joins[place - 1].set("this", first.copy())
        target = target.copy()
        target.set("joins", joins)
        made.set("this", target)
    made.set("expressions", [each.copy() for each in set_to])
    return made


def cte_in(tree: Any) -> Any:
    """Return the CTE whose rows an UPDATE or a DELETE changes; None if it changes those of a table."""
    clause = tree.args.get("with") or tree.args.get("with_")
    name = tree.this.name.lower() if len(tree.this.parts) == 1 else ""
    ctes = clause.expressions if clause is not None else ()
    return next((each for each in ctes if each.alias_or_name.lower() == name), None)


def single_deletes(delete: Any) -> list[Any]:
    """
    Return the DELETEs of one table each that delete the same rows as one of several tables.

    Args:
        delete: the tree of a DELETE.
    """
    tables = delete.args.get("tables") or []
    if len(tables) < 2:
        return [delete]
    made = [delete.copy() for _ in tables]
    for each, table in zip(made, tables, strict=True):
        each.set("tables", [table.copy()])
    return made


def single_fills(inserts: Any) -> Iterator[Any]:
    """
    Yield an INSERT of a query for each table that an INSERT ALL or an INSERT FIRST fills.

    Args:
        inserts: the tree of the statement.
    """
    from sqlglot import exp

    if not isinstance(inserts.args.get("source"), exp.Query):
        return
    earlier: list[Any] = []
    is_first = str(inserts.args.get("kind")).upper() == "FIRST"
    for each in inserts.expressions:
        condition, insert = each.args.get("expression"), each.this
        decides = [condition] if condition is not None else earlier if each.args.get("else_") else []
        decides = [*decides, *(earlier if is_first and condition is not None else ())]
        earlier = earlier if condition is None else [*earlier, condition]
        listed = insert.args.get("expression")
        values = listed.expressions[0].expressions if isinstance(listed, exp.Values) else [exp.Star()]
        query = exp.select(*(value.copy() for value in values)).from_(inserts.args["source"].copy().subquery())
        if decides:
            query = query.where(exp.or_(*(one.copy() for one in decides)))
        yield exp.Insert(this=insert.this.copy(), expression=query)


def single_changes(tree: Any) -> list[Any]:
    """
    Return a statement after those in its CTEs that change rows, each as a statement of its own.

    Args:
        tree: the tree of the statement.

    Returns:
        The statements in their order, each with the CTEs before it. What a CTE returns of the rows that it changes is a
        query of its table.
    """
    clause = tree.args.get("with") or tree.args.get("with_")
    if clause is None or not any(_is_change(each.this) for each in clause.expressions):
        return [tree]
    made: list[Any] = []
    earlier: list[Any] = []
    for each in clause.expressions:
        plain = each.copy()
        if _is_change(each.this):
            change = each.this.copy()
            if earlier and not (change.args.get("with") or change.args.get("with_")):
                change.set(clause.arg_key or "with", _clause(clause, earlier))
            made.append(change)
            plain.set("this", _returned(each.this))
        earlier.append(plain)
    main = tree.copy()
    main.set(clause.arg_key or "with", _clause(clause, earlier))
    return [*made, main]


def _is_change(tree: Any) -> bool:
    """Return whether a statement changes the rows of a table that it names."""
    from sqlglot import exp

    return isinstance(tree, (exp.Insert, exp.Update, exp.Delete, exp.Merge)) and isinstance(
        tree.this, (exp.Schema, exp.Table)
    )


def _clause(clause: Any, ctes: list[Any]) -> Any:
    """Return a WITH of some CTEs."""
    made = clause.copy()
    made.set("expressions", [each.copy() for each in ctes])
    return made


def _returned(change: Any) -> Any:
    """Return a query of what a statement returns of the rows that it changes."""
    from sqlglot import exp

    target = change.this.this if isinstance(change.this, exp.Schema) else change.this
    returning = change.args.get("returning")
    values = returning.expressions if returning is not None else [exp.Null()]
    further = change.args.get("from") or change.args.get("from_")
    using = change.args.get("using") or []
    rows = [further.this] if further is not None else using if isinstance(using, list) else [using]
    query = exp.select(*(each.copy() for each in values)).from_(target.copy())
    for row in rows:
        query = query.join(row.copy(), join_type="cross")
    where = change.args.get("where")
    return query if where is None else query.where(where.this.copy())
