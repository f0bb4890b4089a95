"""Random statements over declared tables: joins, CTEs, unions, windows, pivots, laterals, subqueries and structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

TABLES = {
    "t1": (("a", "int"), ("b", "int"), ("c", "str"), ("k", "int"), ("tags", "arr"), ("st", "st")),
    "t2": (("a", "int"), ("e", "int"), ("c", "str"), ("k", "int"), ("g", "str"), ("t1", "int")),
    "db.t3": (("h", "int"), ("k", "int"), ("items", "items"), ("m", "map"), ("s", "str"), ("st", "st")),
    "t4": (("q1", "int"), ("q2", "int"), ("q3", "int"), ("k", "int"), ("c", "str")),
    "target": (("k", "int"), ("b", "int"), ("c", "str"), ("st", "st")),
}
"""The tables, and the types of their columns."""
_TYPES = {
    "int": "INT",
    "str": "STRING",
    "arr": "ARRAY<STRING>",
    "st": "STRUCT<x: INT, y: STRING>",
    "items": "ARRAY<STRUCT<p: INT, q: STRING>>",
    "map": "MAP<STRING, INT>",
}
_FIELDS = {"st": (("x", "int"), ("y", "str")), "item": (("p", "int"), ("q", "str"))}
# Names that columns of tables have as well.
_ALIASES = ("a", "b", "c", "k", "x", "y", "st", "t1", "n1", "n2", "n3", "n4", "val", "tag")
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN")
_NO_COLUMNS = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")

Columns = tuple[tuple[str, str], ...]


def ddl() -> str:
    """Return the statements that declare the tables."""
    written = {**TABLES, "one": (("v", "str"),), "two": (("v", "str"), ("w", "int"))}
    tables = ((name, ", ".join(f"{n} {_TYPES[t]}" for n, t in columns)) for name, columns in written.items())
    return ";\n".join(f"CREATE TABLE {name} ({columns})" for name, columns in tables)


@attrs.frozen
class _Source:
    """What a FROM names: how it is called there, its columns, and those that are called without it."""

    name: str
    columns: Columns


class Queries:
    """
    Makes random statements.

    Args:
        chance: decides.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._number = 0

    def statement(self) -> str:
        """Return a statement."""
        kinds: tuple[tuple[Callable[[], str], int], ...] = (
            (self._made, 10),
            (self._inserted, 2),
            (self._merged, 2),
            (self._updated, 1),
            (self._multiple, 1),
        )
        makers, weights = zip(*kinds, strict=True)
        return str(self._chance.choices(makers, weights)[0]())

    def _made(self) -> str:
        text, _ = self._with_ctes()
        return f"CREATE TABLE made AS {text}"

    def _inserted(self) -> str:
        text, columns = self._with_ctes()
        names = ", ".join(f"z{at}" for at in range(len(columns)))
        return f"CREATE TABLE made AS SELECT * FROM ({text}) AS q({names})"

    def _merged(self) -> str:
        source, columns = self._query(1, {})
        ints = [name for name, type_ in columns if type_ == "int"] or ["k"]
        some, key = self._chance.choice(ints), self._chance.choice(ints)
        matched = self._chance.choice(("", f" AND s.{some} > 1", " AND t.b < 3"))
        deletes = self._chance.choice(("", "WHEN NOT MATCHED BY SOURCE AND t.b > 2 THEN DELETE "))
        sets = self._chance.choice((f"b = s.{some}", f"b = t.b + s.{some}, c = 'x'", f"t.b = {some}, st.x = s.{key}"))
        return (
            f"MERGE INTO target t USING ({source}) s ON t.k = s.{key} WHEN MATCHED{matched} THEN UPDATE SET {sets} "
            f"WHEN NOT MATCHED THEN INSERT (k, b) VALUES (s.{key}, {some} + 1) {deletes}"
        )

    def _updated(self) -> str:
        value, _ = self._query(0, {}, only="int")
        return f"UPDATE target SET b = (SELECT max(q.v) FROM ({value}) AS q(v)) + b WHERE k > 1"

    def _multiple(self) -> str:
        source, columns = self._query(1, {})
        name = self._chance.choice([name for name, _ in columns])
        return f"FROM ({source}) s INSERT INTO one SELECT s.{name} AS v INSERT INTO two SELECT {name} AS v, 1 AS w"

    def _with_ctes(self) -> tuple[str, Columns]:
        ctes: dict[str, Columns] = {}
        texts = []
        for at in range(self._chance.choice((0, 0, 0, 1, 2))):
            # A CTE may have the name of a table, also of one that it reads.
            name = self._chance.choice((f"cte{at}", f"cte{at}", "t1", "t2", "c"))
            if name in ctes:
                continue
            text, columns = self._query(1, dict(ctes))
            renamed = self._chance.random() < 0.2
            if renamed:
                columns = tuple((f"r{n}", type_) for n, (_, type_) in enumerate(columns))
            names = f"({', '.join(n for n, _ in columns)})" if renamed else ""
            texts.append(f"{name}{names} AS ({text})")
            ctes[name] = columns
        text, columns = self._query(2, ctes)
        return (f"WITH {', '.join(texts)} {text}" if texts else text), columns

    def _query(self, depth: int, ctes: dict[str, Columns], only: str = "") -> tuple[str, Columns]:
        """Return a query and its columns; `only` asks for one column of a type."""
        if not only and depth and self._chance.random() < 0.12:
            return self._set_operation(depth, ctes)
        if not only and self._chance.random() < 0.08:
            return self._pivot()
        if not only and self._chance.random() < 0.08:
            return self._unpivot()
        return self._select(depth, ctes, only)

    def _set_operation(self, depth: int, ctes: dict[str, Columns]) -> tuple[str, Columns]:
        left, columns = self._query(depth - 1, ctes)
        right, others = self._query(depth - 1, ctes)
        shared = [(n, t, o) for (n, t), (o, u) in zip(columns, others, strict=False) if t == u]
        operation = self._chance.choice(("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
        # A map can't be compared.
        shared = [each for each in shared if each[1] != "map"] or [(columns[0][0], "str", others[0][0])]
        if shared[0][1] == "str":
            first = ", ".join(f"CAST({n} AS STRING) AS {n}" for n, _, _ in shared)
            second = ", ".join(f"CAST({o} AS STRING) AS {o}" for _, _, o in shared)
            made = tuple((n, "str") for n, _, _ in shared)
        else:
            first, second = ", ".join(n for n, _, _ in shared), ", ".join(o for _, _, o in shared)
            made = tuple((n, t) for n, t, _ in shared)
        return f"SELECT {first} FROM ({left}) {operation} SELECT {second} FROM ({right})", made

    def _pivot(self) -> tuple[str, Columns]:
        source = self._chance.choice(("t4", "(SELECT k, c, q1 FROM t4)", "(SELECT k, c, q1 + q2 AS q1 FROM t4)"))
        aggregate = self._chance.choice(("sum(q1)", "max(q1) AS top", "max(q1)"))
        values = self._chance.choice(("'x' AS x, 'y' AS y", "'x', 'y'"))
        name = "_top" if "top" in aggregate else ""
        end = self._chance.choice(("", " AS p", " p"))
        chosen = self._chance.choice(("*", f"k, x{name if False else ''}", "k, x + y AS z"))
        columns: dict[str, Columns] = {
            "*": (("k", "int"), ("x", "int"), ("y", "int")),
            "k, x": (("k", "int"), ("x", "int")),
            "k, x + y AS z": (("k", "int"), ("z", "int")),
        }
        return f"SELECT {chosen} FROM {source} PIVOT ({aggregate} FOR c IN ({values})){end}", columns[chosen]

    def _unpivot(self) -> tuple[str, Columns]:
        source = self._chance.choice(("t4", "(SELECT * FROM t4)", "(SELECT k, q1, q2 + k AS q2 FROM t4)"))
        listed = self._chance.choice(("q1, q2", "q1 AS one, q2 AS two"))
        nulls = self._chance.choice(("", "INCLUDE NULLS "))
        several = self._chance.random() < 0.2
        what = "(v, w) FOR q IN ((q1, q2) AS one, (q2, k) AS two)" if several else f"v FOR q IN ({listed})"
        chosen: tuple[str, Columns] = self._chance.choice(
            (
                ("*", (("q", "str"), ("v", "int"))),
                ("q, v", (("q", "str"), ("v", "int"))),
                ("v + 1 AS v", (("v", "int"),)),
            )
        )
        end = self._chance.choice(("", " u", " AS u"))
        return f"SELECT {chosen[0]} FROM {source} UNPIVOT {nulls}({what}){end}", chosen[1]

    def _select(self, depth: int, ctes: dict[str, Columns], only: str) -> tuple[str, Columns]:
        text, sources, using = self._froms(depth, ctes)
        views, made = self._lateral_views(sources)
        sources = [*sources, *made]
        where = f" WHERE {self._condition(sources, depth, ctes)}" if self._chance.random() < 0.35 else ""
        if only:
            item = self._of_type(only, sources)
            return f"SELECT {item} AS one FROM {text}{views}{where}", (("one", only),)
        if self._chance.random() < 0.2:
            return self._grouped(f"{text}{views}{where}", sources)
        if self._chance.random() < 0.15:
            return self._starred(f"{text}{views}{where}", sources, using)
        items, columns = self._items(sources, depth, ctes)
        distinct = "DISTINCT " if self._chance.random() < 0.05 and not any(t == "map" for _, t in columns) else ""
        order = f" ORDER BY {self._chance.choice(columns)[0]}" if self._chance.random() < 0.1 else ""
        limit = " LIMIT 3" if self._chance.random() < 0.05 else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {text}{views}{where}{order}{limit}", columns

    def _starred(self, text: str, sources: list[_Source], using: Sequence[str]) -> tuple[str, Columns]:
        source = self._chance.choice(sources)
        if len(sources) == 1 and not using:
            name = self._chance.choice(source.columns)[0]
            rest = tuple(each for each in source.columns if each[0] != name)
            ways: tuple[tuple[str, Columns], ...] = (("*", source.columns),)
            ways += ((f"* EXCEPT ({name})", rest), (f"{source.name}.* EXCEPT ({name})", rest)) if rest else ()
            ways += ((f"*, {name} AS again", (*source.columns, (name and "again", source.columns[0][1]))),)
            star, columns = self._chance.choice(ways)
        elif using and self._chance.random() < 0.5:
            return f"SELECT * FROM {text}", (("k", "int"),)
        else:
            star, columns = f"{source.name}.*", source.columns
        return f"SELECT {star} FROM {text}", columns

    def _froms(self, depth: int, ctes: dict[str, Columns]) -> tuple[str, list[_Source], list[str]]:
        text, first = self._from(depth, ctes)
        sources, using = [first], []
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            more, source = self._from(depth, ctes)
            if source.name in {each.name for each in sources}:
                continue
            kind = self._chance.choice(_JOINS)
            keys = [{n for n, t in each.columns if t == "int"} for each in (*sources, source)]
            shared = sorted(set.intersection(*keys))
            if kind == "CROSS JOIN":
                text += self._chance.choice((f" CROSS JOIN {more}", f", {more}"))
            elif shared and self._chance.random() < 0.3:
                using.append(self._chance.choice(shared))
                text += f" {kind} {more} USING ({using[-1]})"
            else:
                text += f" {kind} {more} ON {self._of_type('int', sources)} = {self._of_type('int', [source])}"
            if kind not in _NO_COLUMNS:
                sources.append(source)
        if self._chance.random() < 0.05:
            name, inner = self._new("l"), self._of_type("int", sources)
            table = self._chance.choice(("t1", "t2"))
            text += f", LATERAL (SELECT {inner} + b1.k AS lat, b1.a FROM {table} b1 WHERE b1.k = {inner}) {name}"
            sources.append(_Source(name, (("lat", "int"), ("a", "int"))))
        return text, sources, using

    def _from(self, depth: int, ctes: dict[str, Columns]) -> tuple[str, _Source]:
        if depth and self._chance.random() < 0.3:
            text, columns = self._query(depth - 1, ctes)
            name = self._new("s")
            return f"({text}) {self._chance.choice(('', 'AS '))}{name}", _Source(name, columns)
        if ctes and self._chance.random() < 0.6:
            name = self._chance.choice(sorted(ctes))
            columns = ctes[name]
        else:
            name = self._chance.choice([each for each in TABLES if each not in ctes and each != "target"])
            columns = TABLES[name]
        if self._chance.random() < 0.6:
            alias = self._chance.choice((self._new("x"), self._new("x"), "t1", "a"))
            if self._chance.random() < 0.05:
                names = [f"v{at}" for at in range(len(columns))]
                renamed = tuple(zip(names, (t for _, t in columns), strict=True))
                return f"{name} AS {alias}({', '.join(names)})", _Source(alias, renamed)
            return f"{name} {alias}", _Source(alias, columns)
        return name, _Source(name, columns)

    def _lateral_views(self, sources: list[_Source]) -> tuple[str, list[_Source]]:
        text, made = "", []
        for source in sources:
            for name, type_ in source.columns:
                if type_ not in ("arr", "items", "map") or self._chance.random() > 0.25:
                    continue
                view, outer = self._new("lv"), self._chance.choice(("", "OUTER "))
                column = f"{source.name}.{name}"
                ways: dict[str, tuple[tuple[str, Columns], ...]] = {
                    "arr": (("explode", (("tag", "str"),)), ("posexplode", (("pos", "int"), ("tag", "str")))),
                    "items": (
                        ("inline", (("p1", "int"), ("q1", "str"))),
                        ("explode", (("item", "item"),)),
                        ("inline", (("k", "int"), ("c", "str"))),
                    ),
                    "map": (("explode", (("key", "str"), ("val", "int"))),),
                }
                function, columns = self._chance.choice(ways[type_])
                names = ", ".join(n for n, _ in columns)
                text += f" LATERAL VIEW {outer}{function}({column}) {view} AS {names}"
                made.append(_Source(view, columns))
        return text, made

    def _condition(self, sources: list[_Source], depth: int, ctes: dict[str, Columns]) -> str:
        ints = self._of_type("int", sources)
        texts = self._of_type("str", sources)
        choices = [f"{ints} > 1", f"{texts} = 'x' AND {ints} < {self._of_type('int', sources)}", f"{ints} IS NOT NULL"]
        if depth:
            inner, _ = self._query(0, ctes, only="int")
            choices += [
                f"{ints} IN ({inner})",
                f"{ints} = (SELECT max(one) FROM ({inner}))",
                f"EXISTS (SELECT 1 FROM t2 inn WHERE inn.k = {self._of_type('int', sources)})",
                f"EXISTS (SELECT 1 FROM t4 WHERE q1 = {self._of_type('int', sources)} AND q2 > 1)",
            ]
        return str(self._chance.choice(choices))

    def _grouped(self, text: str, sources: list[_Source]) -> tuple[str, Columns]:
        key = self._of_type(self._chance.choice(("int", "str")), sources)
        value, other = self._of_type("int", sources), self._of_type("str", sources)
        aggregate = self._chance.choice(
            (
                *(f"sum({value})", f"count(DISTINCT {other})", f"max(CASE WHEN {other} = 'x' THEN {value} END)"),
                *(f"coalesce(max({value}), 0)", f"sum({value}) FILTER (WHERE {other} = 'x')", "count(*)"),
                f"sum(sum({value})) OVER (ORDER BY {key})",
            )
        )
        having = f" HAVING max({value}) > 1" if self._chance.random() < 0.2 else ""
        by = self._chance.choice((f"GROUP BY {key}", "GROUP BY ALL", "GROUP BY 1", f"GROUP BY ROLLUP ({key})"))
        return f"SELECT {key} AS key, {aggregate} AS val FROM {text} {by}{having}", (("key", "str"), ("val", "int"))

    def _items(self, sources: list[_Source], depth: int, ctes: dict[str, Columns]) -> tuple[list[str], Columns]:
        items, columns = [], []
        for _ in range(self._chance.choice((1, 2, 3, 4))):
            text, type_, name = self._item(sources, depth, ctes, columns)
            if not name or self._chance.random() < 0.5:
                name = self._chance.choice((*_ALIASES, self._new("n")))
                text = f"{text} AS {name}"
            if name.lower() in {each for each, _ in columns}:
                continue
            items.append(text)
            columns.append((name, type_))
        return items, tuple(columns)

    def _item(
        self, sources: list[_Source], depth: int, ctes: dict[str, Columns], before: list[tuple[str, str]]
    ) -> tuple[str, str, str]:
        """Return an expression, its type, and the name that it has without an alias; empty for none."""
        one, two, text = self._of_type("int", sources), self._of_type("int", sources), self._of_type("str", sources)
        if self._chance.random() < 0.45:
            source = self._chance.choice(sources)
            name, type_ = self._chance.choice(source.columns)
            return self._called(source, name), type_, name
        choices = [
            (f"{one} + {two}", "int"),
            (f"upper({text})", "str"),
            (f"CASE WHEN {text} = 'x' THEN {one} ELSE {two} END", "int"),
            (f"CASE {text} WHEN 'x' THEN {one} END", "int"),
            (f"coalesce({one}, {two}, 0)", "int"),
            (f"nvl({one}, {two})", "int"),
            (f"if({one} > 1, {text}, 'n')", "str"),
            (f"nullif({one}, {two})", "int"),
            (f"row_number() OVER (PARTITION BY {text} ORDER BY {one})", "int"),
            (f"sum({one}) OVER (PARTITION BY {text})", "int"),
            (f"lag({one}, 1, {two}) OVER (ORDER BY {text})", "int"),
            (f"struct({one} AS x, {text} AS y)", "st"),
            (f"named_struct('x', {one}, 'y', {text})", "st"),
            (f"struct({one} AS x, {text} AS y).y", "str"),
            (f"array({text}, 'z')[0]", "str"),
            (f"concat({text}, '-', {self._of_type('str', sources)})", "str"),
            (f"{text} || 'x'", "str"),
            (f"CAST({one} AS STRING)", "str"),
            (f"decode({one}, 1, {text}, 'x')", "str"),
            (f"greatest({one}, {two})", "int"),
            (f"{one} IN ({two}, 3)", "bool"),
            (f"{text} LIKE 'x%'", "bool"),
            (f"{one} BETWEEN 1 AND {two}", "bool"),
            ("1", "int"),
        ]
        arrays = [(s, n) for s in sources for n, t in s.columns if t == "arr"]
        if arrays:
            array = self._called(*self._chance.choice(arrays))
            choices += [
                (f"size({array})", "int"),
                (f"transform({array}, e -> concat(e, {text}))", "arr"),
                (f"filter({array}, c -> c = {text})", "arr"),
                (f"{array}[{one}]", "str"),
                (f"explode({array})", "str"),
                (f"aggregate({array}, 0, (acc, k) -> acc + {one})", "int"),
            ]
        if depth:
            inner, _ = self._query(0, ctes, only="int")
            choices += [
                (f"(SELECT max(one) FROM ({inner}))", "int"),
                (f"(SELECT max(t2.e) FROM t2 WHERE t2.k = {one})", "int"),
                (f"(SELECT max(e + {one}) FROM t2)", "int"),
                (f"(SELECT count(*) FROM t4 WHERE q1 = {one})", "int"),
            ]
        ints = [n for n, t in before if t == "int"]
        if ints:
            choices += [(f"{self._chance.choice(ints)} + 1", "int")] * 2
        made, type_ = self._chance.choice(choices)
        return made, type_, ""

    def _of_type(self, type_: str, sources: list[_Source]) -> str:
        """Return a column of a type, perhaps a field, or a constant if no source has one."""
        found = [self._called(source, name) for source in sources for name, each in source.columns if each == type_]
        found += [
            f"{self._called(source, name)}.{field}"
            for source in sources
            for name, each in source.columns
            for field, inner in _FIELDS.get(each, ())
            if inner == type_
        ]
        return self._chance.choice(found) if found else {"int": "7", "str": "'z'"}.get(type_, "NULL")

    def _called(self, source: _Source, name: str) -> str:
        """Return a column as a query may call it."""
        draw = self._chance.random()
        if draw < 0.55:
            return f"{source.name}.{name}"
        if draw < 0.6 and "." in source.name:
            return f"{source.name.rpartition('.')[2]}.{name}"
        if draw < 0.65:
            return f"{source.name}.{name.upper()}"
        return name if draw < 0.95 else f"`{name}`"

    def _new(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"
