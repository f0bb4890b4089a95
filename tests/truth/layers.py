"""Random pipelines of SQL in layers, and random changes of them, as values that can be written and executed."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Columns = tuple[tuple[str, str], ...]
"""The columns of a table: their names, and `int`, `dec`, `str` or `dbl`."""
SOURCES: Mapping[str, Columns] = {
    "raw_orders": (
        *(("id", "int"), ("cust", "int"), ("qty", "int"), ("price", "dec"), ("state", "str"), ("tax", "dbl")),
        *(("place", "str"), ("rebate", "dec"), ("part", "int"), ("remark", "str"), ("weight", "dbl"), ("days", "int")),
    ),
    "raw_customers": (
        *(("id", "int"), ("name", "str"), ("country", "str"), ("score", "int"), ("limit_", "dec"), ("age", "int")),
        *(("street", "str"), ("rate", "dbl"), ("since", "int"), ("debt", "dec")),
    ),
    "raw_items": (
        *(("id", "int"), ("ord", "int"), ("kind", "str"), ("n", "int"), ("w", "dbl"), ("cost", "dec")),
        *(("label", "str"), ("shelf", "int"), ("lot", "str")),
    ),
}
TYPES = {"int": "INT", "dec": "DECIMAL(12,2)", "str": "STRING", "dbl": "DOUBLE"}
_TEXTS = ("fr", "de", "open", "done", "x", "ann", "bob")
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


@attrs.frozen
class Item:
    """A column of a query: its name, how it is made, and its type."""

    name: str
    text: str
    type: str


@attrs.frozen
class Select:
    """
    A query.

    Args:
        items: its columns.
        source: the table that it reads, called `l`.
        other: the table that it joins with, called `r`; empty without one.
        join: the kind of the join.
        on: its condition.
        where: conditions on rows.
        keys: how many of the items are the keys of its groups; -1 without groups.
        having: a condition on groups.
        is_distinct: whether equal rows are one.
        order: the column that sorts it, and perhaps a limit; empty without.
        lateral: an array that is taken apart as `e`; empty without.
        union: a second query, and how the two are put together.
        style: how it is written: `plain`, `cte` or `nested`.
    """

    items: tuple[Item, ...]
    source: str
    other: str = ""
    join: str = "JOIN"
    on: str = ""
    where: tuple[str, ...] = ()
    keys: int = -1
    having: str = ""
    is_distinct: bool = False
    order: str = ""
    lateral: str = ""
    union: tuple[str, Select] | None = None
    style: str = "plain"

    @property
    def columns(self) -> Columns:
        """Return its columns."""
        return tuple((each.name, each.type) for each in self.items)

    @property
    def reads(self) -> frozenset[str]:
        """Return the tables that it names."""
        own = {self.source, *([self.other] if self.other else [])}
        inner = {table for text in (*self.where, *(each.text for each in self.items)) for table in _within(text)}
        return frozenset(own | inner | (self.union[1].reads if self.union else frozenset()))

    def text(self) -> str:
        """Return it as SQL."""
        listed = ", ".join(f"{each.text} AS {each.name}" for each in self.items)
        text = f"SELECT {'DISTINCT ' if self.is_distinct else ''}{listed} FROM {self.source} l"
        if self.other:
            text += f" {self.join} {self.other} r ON {self.on}"
        if self.lateral:
            text += f" LATERAL VIEW explode({self.lateral}) x AS e"
        if self.where:
            text += f" WHERE {' AND '.join(self.where)}"
        if self.keys >= 0:
            grouped = ", ".join(each.text for each in self.items[: self.keys])
            text += f" GROUP BY {grouped}" if grouped else ""
            text += f" HAVING {self.having}" if self.having else ""
        if self.union:
            text = f"{text} {self.union[0]} {self.union[1].text()}"
        if self.order:
            text = f"SELECT * FROM ({text}) ORDER BY {self.order}"
        if self.style == "cte":
            return f"WITH made AS ({text}) SELECT * FROM made"
        if self.style == "nested":
            return f"SELECT {', '.join(each.name for each in self.items)} FROM ({text}) AS inner_one"
        return text


def _within(text: str) -> list[str]:
    words = text.replace("(", " ").replace(")", " ").split()
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word == "FROM"]


@attrs.frozen
class Statement:
    """
    A statement of a pipeline.

    Args:
        kind: `table`, `insert` (into a new table), `again` (into one that is there), `overwrite`, `view`, `temporary`,
            `update`, `delete` or `merge`.
        table: what it makes or changes.
        columns: the columns of that.
        query: its query; of an update and a delete there is none, and of a merge it is the source.
        condition: of an update, a delete and a merge.
        sets: of an update and a merge: a column -> its new value.
        inserts: of a merge, the values of new rows.
        head: what stands before the query, beside the name: the format.
        note: a comment, or another layout.
    """

    kind: str
    table: str
    columns: Columns
    query: Select | None = None
    condition: str = ""
    sets: tuple[tuple[str, str], ...] = ()
    inserts: tuple[str, ...] = ()
    head: str = "USING parquet"
    note: str = ""

    @property
    def reads(self) -> frozenset[str]:
        """Return the tables that it names."""
        found = set(_within(" ".join((self.condition, *(text for _, text in self.sets)))))
        found |= self.query.reads if self.query else set()
        return frozenset(found | ({self.table} if self.changes else set()))

    @property
    def changes(self) -> bool:
        """Return whether it keeps some of what the table had."""
        return self.kind in ("again", "update", "delete", "merge")

    def statements(self) -> list[str]:
        """Return it as SQL; one that also makes its table is two statements."""
        query = self.query.text() if self.query else ""
        ddl = ", ".join(f"{name} {TYPES[type_]}" for name, type_ in self.columns)
        found = {
            "table": [f"CREATE TABLE {self.table} {self.head} AS {query}"],
            "insert": [f"CREATE TABLE {self.table} ({ddl}) {self.head}", f"INSERT INTO {self.table} {query}"],
            "again": [f"INSERT INTO {self.table} {query}"],
            "overwrite": [f"INSERT OVERWRITE {self.table} {query}"],
            "view": [f"CREATE OR REPLACE VIEW {self.table} AS {query}"],
            "temporary": [f"CREATE OR REPLACE TEMPORARY VIEW {self.table} AS {query}"],
            "update": [f"UPDATE {self.table} SET {self._sets()} WHERE {self.condition}"],
            "delete": [f"DELETE FROM {self.table} WHERE {self.condition}"],
            "merge": [self._merge(query)],
        }[self.kind]
        return [*found[:-1], self.note.replace("{}", found[-1]) if self.note else found[-1]]

    def _merge(self, query: str) -> str:
        names = ", ".join(name for name, _ in self.columns)
        return (
            f"MERGE INTO {self.table} t USING ({query}) s ON t.id = s.id WHEN MATCHED AND {self.condition} THEN "
            f"UPDATE SET {self._sets()} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({', '.join(self.inserts)})"
        )

    def _sets(self) -> str:
        return ", ".join(f"{name} = {text}" for name, text in self.sets)

    def executed(self) -> str:
        """Return a query that gives the rows of the table after the statement, by the SQL that every engine has."""
        query = self.query.text() if self.query else ""
        names = [name for name, _ in self.columns]
        if self.kind in ("insert", "again", "overwrite"):
            cast = ", ".join(f"CAST({name} AS {TYPES[type_]}) AS {name}" for name, type_ in self.columns)
            made = f"SELECT {cast} FROM ({query}) AS made({', '.join(names)})"
            return f"SELECT * FROM {self.table} UNION ALL {made}" if self.kind == "again" else made
        if self.kind == "delete":
            return f"SELECT * FROM {self.table} WHERE NOT coalesce({self.condition}, false)"
        new = dict(self.sets)
        if self.kind == "update":
            listed = (
                f"CASE WHEN {self.condition} THEN CAST({new[n]} AS {TYPES[t]}) ELSE {n} END AS {n}" if n in new else n
                for n, t in self.columns
            )
            return f"SELECT {', '.join(listed)} FROM {self.table}"
        if self.kind == "merge":
            listed = (
                f"CASE WHEN t.there IS NULL THEN CAST({inserted} AS {TYPES[type_]}) "
                + (
                    f"WHEN s.there IS NOT NULL AND {self.condition} THEN CAST({new[n]} AS {TYPES[type_]}) "
                    if n in new
                    else ""
                )
                + f"ELSE t.{n} END AS {n}"
                for (n, type_), inserted in zip(self.columns, self.inserts, strict=True)
            )
            return (
                f"SELECT {', '.join(listed)} FROM (SELECT *, 1 AS there FROM {self.table}) t FULL JOIN "
                f"(SELECT *, 1 AS there FROM ({query})) s ON t.id = s.id"
            )
        return query


Pipeline = tuple[Statement, ...]


class Maker:
    """Makes random pipelines and random changes of them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._numbers = 0
        self._key_of: dict[str, str] = {}

    def pipeline(self) -> Pipeline:
        """Return a random pipeline: each layer reads the sources and the layers before it."""
        known: dict[str, Columns] = dict(SOURCES)
        made: list[Statement] = []
        for at in range(self.rng.randint(10, 16)):
            statement = self._statement(at, known, made)
            made.append(statement)
            known[statement.table] = statement.columns
            query = statement.query
            if query is not None and query.keys == 1 and not query.union and query.items[0].type == "int":
                self._key_of[statement.table] = query.items[0].name
        return tuple(made)

    def _statement(self, at: int, known: Mapping[str, Columns], made: Sequence[Statement]) -> Statement:
        changed = [each for each in made if each.kind in ("table", "insert")]
        roll = self.rng.random()
        if changed and roll < 0.14:
            return self._change_of_rows(self.rng.choice(changed), known)
        kind = self.rng.choice(("table", "table", "table", "insert", "view", "temporary"))
        name = f"{ {'view': 'v', 'temporary': 'tmp'}.get(kind, 't') }{at}"
        query = self.query(known)
        # A view that is stored can't read one that is not.
        if kind == "view" and any(each.startswith("tmp") for each in query.reads):
            kind = "table"
            name = f"t{at}"
        return Statement(kind, name, query.columns, query)

    def _change_of_rows(self, of: Statement, known: Mapping[str, Columns]) -> Statement:
        names = [name for name, _ in of.columns]
        kind = self.rng.choice(("update", "delete", "again", "merge") if "id" in names else ("update", "delete"))
        condition = self.condition(dict(of.columns), "", known)
        chosen = self.rng.sample(of.columns, min(len(of.columns), self.rng.randint(1, 2)))
        sets = tuple((name, self.value(type_, dict(of.columns), "")) for name, type_ in chosen if name != "id")
        if kind == "update" and sets:
            return Statement("update", of.table, of.columns, condition=condition, sets=sets)
        if kind == "again":
            items = [
                Item(name, self.value(type_, dict(SOURCES["raw_orders"]), "l."), type_) for name, type_ in of.columns
            ]
            query = Select(
                tuple(items), "raw_orders", where=(self.condition(dict(SOURCES["raw_orders"]), "l.", known),)
            )
            return Statement("again", of.table, of.columns, query)
        if kind == "merge":
            source = dict(SOURCES["raw_customers"])
            own = tuple(Item(name, f"l.{name}", type_) for name, type_ in SOURCES["raw_customers"])
            query = Select(own, "raw_customers", where=(self.condition(source, "l.", known),))
            merged = tuple((name, self.value(type_, source, "s.")) for name, type_ in chosen if name != "id")
            if merged:
                inserts = tuple("s.id" if n == "id" else self.value(t, source, "s.") for n, t in of.columns)
                return Statement(
                    "merge", of.table, of.columns, query, f"({self.condition(source, 's.', {})})", merged, inserts
                )
        return Statement("delete", of.table, of.columns, condition=condition)

    def query(self, known: Mapping[str, Columns], depth: int = 0) -> Select:
        """Return a random query of some tables that are known."""
        rng = self.rng
        made = list(known)[len(SOURCES) :]
        source = rng.choice(made if made and rng.random() < 0.8 else list(known))
        columns, other, on, join = dict(known[source]), "", "", rng.choices(JOINS, (5, 3, 1, 1, 1, 1))[0]
        scope = [("l.", dict(known[source]))]
        if rng.random() < 0.35:
            other = rng.choice(list(known))
            with_key = [each for each in self._key_of if each in known]
            if with_key and rng.random() < 0.3:
                # A row of it is looked up.
                other, join = rng.choice(with_key), "LEFT JOIN"
            keys = [
                (a, b)
                for a, t in known[source]
                for b, u in known[other]
                if t == u == "int" and self._key_of.get(other, b) == b
            ]
            if keys:
                a, b = rng.choice(keys)
                on = f"l.{a} = r.{b}"
                if "SEMI" not in join and "ANTI" not in join:
                    scope.append(("r.", dict(known[other])))
            else:
                other = ""
        where = tuple(self.condition(columns, "l.", known) for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
        lateral = (
            f"array({self.value('int', columns, 'l.')}, {self.value('int', columns, 'l.')})"
            if rng.random() < 0.06
            else ""
        )
        base = Select((), source, other, join, on, where, lateral=lateral)
        found = self._grouped(base, scope) if rng.random() < 0.3 else self._projected(base, scope)
        if depth == 0 and rng.random() < 0.12:
            found = self._united(found, known)
        if rng.random() < 0.08:
            found = attrs.evolve(found, is_distinct=found.keys < 0)
        if rng.random() < 0.08:
            limit = f" LIMIT {rng.randint(2, 9)}" if rng.random() < 0.6 else ""
            found = attrs.evolve(found, order=f"{rng.choice(found.items).name}{limit}")
        return attrs.evolve(found, style=rng.choice(("plain", "plain", "cte", "nested")))

    def _projected(self, base: Select, scope: Sequence[tuple[str, Mapping[str, str]]]) -> Select:
        items: dict[str, Item] = {}
        for prefix, columns in scope:
            for name, type_ in columns.items():
                if self.rng.random() < (0.45 if prefix == "l." else 0.3):
                    own = name if name not in items else f"{name}_{len(items)}"
                    roll = self.rng.random()
                    text = f"{prefix}{name}" if roll < 0.6 or name == "id" else self.value(type_, columns, prefix)
                    items[own] = Item(own, text, type_)
        prefix, columns = scope[0]
        if base.lateral:
            items["e_1"] = Item("e_1", "x.e", "int")
        if self.rng.random() < 0.25:
            name = self.new_name()
            items[name] = Item(name, self.windowed(dict(columns), prefix), "int")
        if len(items) < 2:
            name = self.new_name()
            items[name] = Item(name, self.value("int", columns, prefix), "int")
        return attrs.evolve(base, items=tuple(items.values()))

    def _grouped(self, base: Select, scope: Sequence[tuple[str, Mapping[str, str]]]) -> Select:
        prefix, columns = scope[0]
        by = self.rng.sample(sorted(columns), min(len(columns), self.rng.randint(1, 2)))
        items = [Item(name, f"{prefix}{name}", columns[name]) for name in by]
        for each, names in scope:
            for _ in range(self.rng.randint(1, 2)):
                text, type_ = self.aggregate(names, each)
                items.append(Item(self.new_name(), text, type_))
        having = f"count(*) > {self.rng.randint(0, 2)}" if self.rng.random() < 0.3 else ""
        return attrs.evolve(base, items=tuple(items), keys=len(by), having=having, lateral="")

    def _united(self, found: Select, known: Mapping[str, Columns]) -> Select:
        source = self.rng.choice(list(known))
        columns = dict(known[source])
        items = tuple(Item(each.name, self.value(each.type, columns, "l."), each.type) for each in found.items)
        other = Select(items, source, where=(self.condition(columns, "l.", known),))
        return attrs.evolve(found, union=(self.rng.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT")), other))

    def new_name(self) -> str:
        """Return a name that no column has yet."""
        self._numbers += 1
        return f"{self.rng.choice(string.ascii_lowercase)}_{self._numbers}"

    def value(self, type_: str, columns: Mapping[str, str], prefix: str) -> str:
        """Return a random expression of a type."""
        rng = self.rng
        of = [f"{prefix}{name}" for name, each in columns.items() if each == type_]
        one = rng.choice(of) if of else self.literal(type_)
        two = rng.choice(of) if of else self.literal(type_)
        ints = [f"{prefix}{name}" for name, each in columns.items() if each == "int"] or ["1"]
        if type_ == "int":
            return rng.choice(
                (one, f"{one} + {rng.randint(1, 9)}", f"{one} * {rng.randint(2, 4)}",
                 f"coalesce({one}, {rng.randint(0, 5)})", f"{one} - {two}",
                 f"CASE WHEN {one} > {rng.randint(0, 9)} THEN {two} ELSE {rng.randint(0, 9)} END",
                 f"abs({one})", f"nullif({one}, {two})", str(rng.randint(0, 20)),
                 f"transform(array({one}, {two}), z -> z + {rng.randint(1, 3)})[{rng.randint(0, 1)}]")
            )  # fmt: skip
        if type_ == "dec":
            texts = (one, f"{one} * {rng.randint(2, 5)}", f"{one} + {rng.randint(1, 5)}", f"{one} + {rng.choice(ints)}")
            return f"CAST({rng.choice(texts)} AS DECIMAL(12,2))"
        if type_ == "dbl":
            return rng.choice((one, f"{one} * {rng.randint(2, 4)}D", f"round({one}, {rng.randint(0, 2)})"))
        return rng.choice(
            (one, f"upper({one})", f"concat({one}, '{rng.choice(_TEXTS)}')",
             f"coalesce({one}, '{rng.choice(_TEXTS)}')",
             f"substring({one}, 1, {rng.randint(1, 3)})", f"'{rng.choice(_TEXTS)}'",
             f"CAST({rng.choice(ints)} AS STRING)")
        )  # fmt: skip

    def literal(self, type_: str) -> str:
        """Return a literal of a type."""
        number = self.rng.randint(0, 9)
        return {
            "int": str(number),
            "dec": f"{number}.50BD",
            "dbl": f"{number}D",
            "str": f"'{self.rng.choice(_TEXTS)}'",
        }[type_]

    def condition(self, columns: Mapping[str, str], prefix: str, known: Mapping[str, Columns]) -> str:
        """Return a random condition on the rows of a table."""
        rng = self.rng
        name = rng.choice(sorted(columns))
        type_ = columns[name]
        of = f"{prefix}{name}"
        if type_ == "str":
            one, two = rng.choice(_TEXTS), rng.choice(_TEXTS)
            like = f"{of} LIKE '{rng.choice('fdoxab')}%'"
            return rng.choice((f"{of} <> '{one}'", like, f"{of} IS NOT NULL", f"{of} IN ('fr', '{two}', 'ann')"))
        if type_ == "int" and known and rng.random() < 0.15:
            table = rng.choice(list(known))
            keys = [each for each, other in known[table] if other == "int"]
            if keys:
                return f"{prefix}{name} IN (SELECT {rng.choice(keys)} FROM {table})"
        between = f"{of} BETWEEN {rng.randint(0, 2)} AND {rng.randint(5, 40)}"
        return rng.choice((f"{of} > {rng.randint(0, 4)}", between, f"{of} IS NOT NULL", f"{of} <> {rng.randint(0, 9)}"))

    def aggregate(self, columns: Mapping[str, str], prefix: str) -> tuple[str, str]:
        """Return a random aggregate, and its type."""
        rng = self.rng
        name = rng.choice(sorted(columns))
        type_ = columns[name]
        of = f"{prefix}{name}"
        if rng.random() < 0.3:
            return rng.choice(("count(*)", f"count({of})", f"count(DISTINCT {of})")), "int"
        if type_ == "int":
            return (
                f"CAST({rng.choice(('sum', 'sum', 'min', 'max', 'min', 'max', 'count', 'first'))}({of}) AS INT)",
                "int",
            )
        if type_ == "dec":
            return f"CAST({rng.choice(('sum', 'min', 'max', 'avg'))}({of}) AS DECIMAL(12,2))", "dec"
        if type_ == "dbl":
            return f"{rng.choice(('sum', 'min', 'max'))}({of})", "dbl"
        return rng.choice(
            (
                f"min({of})",
                f"max({of})",
                f"concat_ws('-', collect_list({of}))",
                f"min({of})",
                f"max({of})",
                f"first({of})",
            )
        ), "str"

    def windowed(self, columns: Mapping[str, str], prefix: str) -> str:
        """Return a random function over a window."""
        rng = self.rng
        a, b, c = (f"{prefix}{rng.choice(sorted(columns))}" for _ in range(3))
        function = rng.choice(
            (
                "row_number()",
                "rank()",
                "dense_rank()",
                f"count({c})",
                "count(*)",
                "rank()",
                f"max({c})",
                f"lag({rng.randint(1, 9)})",
            )
        )
        return f"{function if not function.startswith('lag') else 'ntile(2)'} OVER (PARTITION BY {a} ORDER BY {b})"


class Changer:
    """
    Makes random changes of a pipeline.

    Args:
        rng: decides.
        pipeline: what is changed.
    """

    def __init__(self, rng: random.Random, pipeline: Pipeline) -> None:
        self.rng = rng
        self.maker = Maker(rng)
        self.maker._numbers = 500
        self.pipeline = pipeline
        self.known: dict[str, Columns] = {**SOURCES, **{each.table: each.columns for each in pipeline}}

    def change(self) -> tuple[str, Pipeline]:
        """Return a change by its name, and the pipeline after it."""
        changes = (
            (self._expression, 36), (self._literal, 8), (self._where, 5), (self._join, 3), (self._keys, 2),
            (self._added_column, 6), (self._dropped_column, 4), (self._renamed_column, 3), (self._flag, 5),
            (self._union, 3), (self._layout, 8), (self._style, 8), (self._format, 2), (self._moved, 4),
            (self._removed, 2), (self._added, 3), (self._rows, 6), (self._order_of_columns, 3), (self._kind, 2),
            (self._source, 2),
        )  # fmt: skip
        while True:
            (change,) = self.rng.choices([each for each, _ in changes], [weight for _, weight in changes])
            at = self.rng.randrange(len(self.pipeline))
            found = change(at, self.pipeline[at])
            if found is not None and found != self.pipeline:
                return change.__name__.strip("_"), found

    def _with(self, at: int, statement: Statement) -> Pipeline:
        return (*self.pipeline[:at], statement, *self.pipeline[at + 1 :])

    def _query(self, at: int, statement: Statement, **changes: object) -> Pipeline | None:
        if statement.query is None:
            return None
        query = attrs.evolve(statement.query, **changes)  # type: ignore[arg-type]
        return self._with(at, attrs.evolve(statement, query=query))

    def _expression(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or statement.kind == "merge":
            return None
        place = self.rng.randrange(len(query.items))
        item = query.items[place]
        columns = dict(self.known[query.source])
        if query.keys >= 0:
            if place < query.keys:
                return None
            text, type_ = self.maker.aggregate(columns, "l.")
            if type_ != item.type:
                return None
        elif " OVER " in item.text:
            text = self.maker.windowed(columns, "l.")
        else:
            text = self.maker.value(item.type, columns, "l.")
        items = (*query.items[:place], attrs.evolve(item, text=text), *query.items[place + 1 :])
        return self._query(at, statement, items=items)

    def _literal(self, at: int, statement: Statement) -> Pipeline | None:
        if statement.query is None:
            return None
        query = statement.query
        texts = [each.text for each in query.items] + list(query.where)
        places = [
            n
            for n, each in enumerate(texts)
            if any(each[at].isdigit() and each[at - 1] == " " for at in range(1, len(each)))
        ]
        if not places:
            return None
        place = self.rng.choice(places)
        text = texts[place]
        spots = [n for n in range(1, len(text)) if text[n].isdigit() and text[n - 1] == " "]
        spot = self.rng.choice(spots)
        changed = text[:spot] + str(self.rng.randint(1, 9)) + text[spot + 1 :]
        if place < len(query.items):
            items = list(query.items)
            items[place] = attrs.evolve(items[place], text=changed)
            return self._query(at, statement, items=tuple(items))
        where = list(query.where)
        where[place - len(query.items)] = changed
        return self._query(at, statement, where=tuple(where))

    def _where(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None:
            return None
        if query.where and self.rng.random() < 0.4:
            return self._query(at, statement, where=query.where[1:])
        earlier = {name: each for name, each in self.known.items() if name in SOURCES}
        new = self.maker.condition(dict(self.known[query.source]), "l.", earlier)
        return self._query(at, statement, where=(*query.where, new))

    def _join(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or not query.other:
            return None
        alike = JOINS[:4] if "SEMI" not in query.join and "ANTI" not in query.join else JOINS[4:]
        return self._query(at, statement, join=self.rng.choice(alike))

    def _keys(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.keys < 1:
            return None
        first = query.items[0]
        text = self.maker.value(first.type, dict(self.known[query.source]), "l.")
        if not any(each in text for each in ("l.",)):
            return None
        return self._query(at, statement, items=(attrs.evolve(first, text=text), *query.items[1:]))

    def _added_column(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.union or statement.kind not in ("table", "view", "temporary"):
            return None
        columns = dict(self.known[query.source])
        text, type_ = (
            self.maker.aggregate(columns, "l.") if query.keys >= 0 else (self.maker.value("int", columns, "l."), "int")
        )
        items = (*query.items, Item(self.maker.new_name(), text, type_))
        return self._again_with(at, statement, items)

    def _again_with(self, at: int, statement: Statement, items: tuple[Item, ...]) -> Pipeline | None:
        """Return the pipeline with other columns in a table, if nothing that changes the table names them."""
        if any(each.table == statement.table and each is not statement for each in self.pipeline):
            return None
        assert statement.query is not None
        query = attrs.evolve(statement.query, items=items)
        return self._with(at, attrs.evolve(statement, query=query, columns=query.columns))

    def _is_used(self, statement: Statement, name: str) -> bool:
        own = statement.query.order.split(" ")[0] if statement.query else ""
        texts = (text for each in self.pipeline if statement.table in each.reads for text in each.statements())
        return own == name or any(f".{name}" in text or f" {name} " in f" {text} " for text in texts)

    def _dropped_column(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.union or len(query.items) < 3 or statement.kind not in ("table", "view", "temporary"):
            return None
        free = [n for n, each in enumerate(query.items) if n >= query.keys and not self._is_used(statement, each.name)]
        if not free:
            return None
        place = self.rng.choice(free)
        return self._again_with(at, statement, (*query.items[:place], *query.items[place + 1 :]))

    def _renamed_column(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.union or statement.kind not in ("table", "view", "temporary"):
            return None
        free = [n for n, each in enumerate(query.items) if not self._is_used(statement, each.name)]
        if not free:
            return None
        place = self.rng.choice(free)
        renamed = attrs.evolve(query.items[place], name=self.maker.new_name())
        return self._again_with(at, statement, (*query.items[:place], renamed, *query.items[place + 1 :]))

    def _order_of_columns(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.keys >= 0 or query.union or statement.kind not in ("table", "insert", "temporary"):
            return None
        items = list(query.items)
        if len(items) < 2:
            return None
        first = self.rng.randrange(len(items) - 1)
        items[first], items[first + 1] = items[first + 1], items[first]
        if statement.kind == "insert":
            # By position: another column is filled.
            return (
                self._query(at, statement, items=tuple(items)) if items[first].type == items[first + 1].type else None
            )
        return self._again_with(at, statement, tuple(items))

    def _flag(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None:
            return None
        roll = self.rng.randrange(4)
        if roll == 0 and query.keys < 0:
            return self._query(at, statement, is_distinct=not query.is_distinct)
        if roll == 1 and query.keys >= 0:
            return self._query(at, statement, having="" if query.having else "count(*) > 1")
        if roll == 2 and not query.lateral and query.keys < 0:
            return self._query(at, statement, lateral="array(1, 2)")
        limit = "" if query.order else f"{query.items[0].name} LIMIT {self.rng.randint(2, 9)}"
        return self._query(at, statement, order=limit)

    def _union(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None or query.order:
            return None
        if query.union:
            how = self.rng.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
            return self._query(at, statement, union=self.rng.choice((None, (how, query.union[1]))))
        columns = dict(SOURCES["raw_items"])
        items = tuple(Item(each.name, self.maker.value(each.type, columns, "l."), each.type) for each in query.items)
        return self._query(at, statement, union=("UNION ALL", Select(items, "raw_items")))

    def _layout(self, at: int, statement: Statement) -> Pipeline | None:
        return self._with(
            at, attrs.evolve(statement, note=self.rng.choice(("-- a remark\n{}", "/* why */ {}", "\n\n  {}  ")))
        )

    def _style(self, at: int, statement: Statement) -> Pipeline | None:
        return self._query(at, statement, style=self.rng.choice(("plain", "cte", "nested")))

    def _format(self, at: int, statement: Statement) -> Pipeline | None:
        return (
            self._with(at, attrs.evolve(statement, head="USING orc")) if statement.kind in ("table", "insert") else None
        )

    def _moved(self, at: int, _statement: Statement) -> Pipeline | None:
        """Return the pipeline with two neighbours the other way round."""
        if at == 0:
            return None
        first, second = self.pipeline[at - 1], self.pipeline[at]
        if first.table in second.reads and not (first.changes and second.changes):
            return None
        return (*self.pipeline[: at - 1], second, first, *self.pipeline[at + 1 :])

    def _removed(self, at: int, statement: Statement) -> Pipeline | None:
        others = (*self.pipeline[:at], *self.pipeline[at + 1 :])
        if not statement.changes and any(statement.table in {*each.reads, each.table} for each in others):
            return None
        return others

    def _added(self, at: int, _statement: Statement) -> Pipeline | None:
        before = [each for each in self.pipeline[:at] if each.kind in ("table", "insert")]
        known = {**SOURCES, **{each.table: each.columns for each in self.pipeline[:at]}}
        if before and self.rng.random() < 0.7:
            new = self.maker._change_of_rows(self.rng.choice(before), known)
        else:
            query = self.maker.query(known)
            new = Statement("table", f"t_new{at}", query.columns, query)
        return (*self.pipeline[:at], new, *self.pipeline[at:])

    def _rows(self, at: int, statement: Statement) -> Pipeline | None:
        if statement.kind not in ("update", "delete", "merge"):
            return None
        source = dict(SOURCES["raw_customers"]) if statement.kind == "merge" else dict(statement.columns)
        prefix = "s." if statement.kind == "merge" else ""
        if statement.sets and self.rng.random() < 0.5:
            name = statement.sets[0][0]
            value = self.maker.value(dict(statement.columns)[name], source, prefix)
            return self._with(at, attrs.evolve(statement, sets=((name, value), *statement.sets[1:])))
        if statement.inserts and self.rng.random() < 0.5:
            place = self.rng.randrange(len(statement.inserts))
            name, type_ = statement.columns[place]
            if name == "id":
                return None
            inserts = list(statement.inserts)
            inserts[place] = self.maker.value(type_, source, prefix)
            return self._with(at, attrs.evolve(statement, inserts=tuple(inserts)))
        return self._with(at, attrs.evolve(statement, condition=f"({self.maker.condition(source, prefix, {})})"))

    def _kind(self, at: int, statement: Statement) -> Pipeline | None:
        kinds = {"table": "insert", "insert": "table"}
        return self._with(at, attrs.evolve(statement, kind=kinds[statement.kind])) if statement.kind in kinds else None

    def _source(self, at: int, statement: Statement) -> Pipeline | None:
        query = statement.query
        if query is None:
            return None
        alike = [
            each.table for each in self.pipeline[:at]
            if each.table != query.source and dict(self.known[query.source]).items() <= dict(each.columns).items()
        ]  # fmt: skip
        return self._query(at, statement, source=self.rng.choice(alike)) if alike else None
