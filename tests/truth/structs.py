"""
Prove the sources of struct fields by execution: random nested tables, and random queries over them.

    ./run truth structs --queries 200 --seed 1

Each query is asked for its lineage, and is run on some rows, and on the same with the values of a leaf of the schema
changed, for each leaf. What then differs in the result has that leaf among its sources: nothing that differs may lack
an edge, and each edge of a value must name a field of which some leaf makes a difference. No expectation is written by
hand.
The exit code is 1 if something was found. A finding names its query, which `--first N --queries 1` asks again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import attrs
from openlineage_pyspark import lineage
from openlineage_pyspark.facets.sql_names import name_parts
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from support import class_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.report import Lineage

TABLES = ("left", "right")
KEY, VARIANT = "id", "variant"
ROWS = (1, 2)
_OWN = (VARIANT, "key")
"""The columns that tell apart which leaf was changed: no expression reads them."""
_FIELDS = ("a", "b", "City", "zip.code", "x`y", "größe", "two words")
_EVERY_ROW = "(every row)"
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
Leaf = tuple[str, ...]
"""A table, a column, then the fields below it."""


class Finding(NamedTuple):
    """What is wrong with the lineage of a query."""

    query: int
    what: str


# Schemas, and rows of them.


def schema(rng: random.Random) -> T.StructType:
    """Return a random schema: the key, a struct, an array of structs, a map and some columns of any type."""
    columns = [T.StructField(VARIANT, T.IntegerType()), T.StructField(KEY, T.IntegerType())]
    made = [_struct(rng, 2), T.ArrayType(_struct(rng, 1)), T.MapType(T.StringType(), _struct(rng, 0))]
    made += [_type(rng, 2) for _ in range(rng.randint(0, 2))]
    names = rng.sample(("s", "lines", "marks", "n.m", "Other", "q"), len(made))
    columns += [T.StructField(name, type_) for name, type_ in zip(names, made, strict=True)]
    return T.StructType(columns)


def _struct(rng: random.Random, depth: int) -> T.StructType:
    names = rng.sample(_FIELDS, rng.randint(2, 3))
    return T.StructType([T.StructField(name, _type(rng, depth)) for name in names])


def _type(rng: random.Random, depth: int) -> T.DataType:
    kind = rng.choice(("int", "string") if depth <= 0 else ("int", "string", "struct", "array"))
    if kind == "struct":
        return _struct(rng, depth - 1)
    if kind == "array":
        return T.ArrayType(_type(rng, depth - 1))
    return T.IntegerType() if kind == "int" else T.StringType()


def leaves(table: str, at: T.StructType) -> Iterator[Leaf]:
    """Yield the leaves of a table, but not its key: a map is one."""
    for field in at.fields:
        if field.name not in (KEY, VARIANT):
            yield from _leaves((table, field.name), field.dataType)


def _leaves(path: Leaf, type_: T.DataType) -> Iterator[Leaf]:
    while isinstance(type_, T.ArrayType):
        type_ = type_.elementType
    if isinstance(type_, T.StructType):
        for field in type_.fields:
            yield from _leaves((*path, field.name), field.dataType)
    else:
        yield path


def rows(table: str, at: T.StructType, changed: list[Leaf | None]) -> str:
    """Return the rows of a table as SQL, which Spark reads without a job: those of each variant, by its number."""
    found = [row for number, leaf in enumerate(changed) for row in Values(leaf).rows(table, at, number)]
    names = ", ".join(_quoted(name) for name in at.fieldNames())
    return f"SELECT * FROM VALUES {', '.join(f'({row})' for row in found)} AS rows({names})"


class Values:
    """The values of a table: each is another one, and those of one leaf are changed."""

    def __init__(self, changed: Leaf | None) -> None:
        self._changed = changed
        self._next = 0

    def rows(self, table: str, at: T.StructType, variant: int) -> list[str]:
        """Return the rows of a variant of a table as SQL."""
        types = [(f.dataType, (table, f.name)) for f in at.fields if f.name not in (KEY, VARIANT)]
        return [", ".join([str(variant), str(key), *[self._of(*each) for each in types]]) for key in ROWS]

    def _of(self, type_: T.DataType, path: Leaf) -> str:
        if isinstance(type_, T.StructType):
            return _struct_of([(f.name, self._of(f.dataType, (*path, f.name))) for f in type_.fields])
        if isinstance(type_, T.ArrayType):
            return f"array({self._of(type_.elementType, path)}, {self._of(type_.elementType, path)})"
        if isinstance(type_, T.MapType):
            return f"map('k', {self._of_entry(type_.valueType, path)}, 'l', {self._of_entry(type_.valueType, path)})"
        return self._atom(type_, changed=path == self._changed)

    def _of_entry(self, type_: T.DataType, path: Leaf) -> str:
        assert isinstance(type_, T.StructType)
        return _struct_of([(f.name, self._atom(f.dataType, changed=path == self._changed)) for f in type_.fields])

    def _atom(self, type_: T.DataType, *, changed: bool) -> str:
        self._next += 1
        if isinstance(type_, T.IntegerType):
            return str(self._next + (100_000 if changed else 0))
        return f"'v{self._next}{'~' if changed else ''}'"


def _struct_of(fields: list[tuple[str, str]]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields) + ")"


# Queries.


@attrs.define
class Query:
    """
    A query that is being made.

    Args:
        rng: chooses; the same seed makes the same query.
        spark: the session.
        is_tight: whether each field that it reads makes a difference, so that each edge can be held to it.
    """

    rng: random.Random
    spark: SparkSession
    is_tight: bool = True
    _names: int = 0

    def name(self) -> str:
        """Return a new name of a column."""
        self._names += 1
        return f"c{self._names}"

    def made(self) -> DataFrame:
        """Return the query: some steps over a table, each of which chooses among what the one before has."""
        frame = self._selected(self._keyed(TABLES[0], "key"))
        steps: list[Callable[[DataFrame], DataFrame]] = [
            self._selected, self._selected, self._exploded, self._filtered, self._united, self._grouped, self._joined,
            self._viewed, self._distinct, self._changed, self._windowed,
        ]  # fmt: skip
        for step in self.rng.choices(steps, k=self.rng.randint(1, 4)):
            frame = step(frame)
        return self._selected(frame)

    def _keyed(self, table: str, name: str) -> DataFrame:
        return self.spark.table(table).withColumn(name, F.concat_ws("/", VARIANT, KEY))

    # Steps.

    def _selected(self, frame: DataFrame) -> DataFrame:
        made = [self._expression(frame, 2).alias(self.name()) for _ in range(self.rng.randint(2, 4))]
        return frame.select("key", *_kept(frame, self.rng), *made)

    def _exploded(self, frame: DataFrame) -> DataFrame:
        arrays = [f for f in frame.schema.fields if isinstance(f.dataType, T.ArrayType)]
        if not arrays:
            return frame
        field = self.rng.choice(arrays)
        at, item = self.name(), self.name()
        inner = isinstance(field.dataType.elementType, T.StructType) and self.rng.random() < 0.3
        if inner:
            names = [self.name() for _ in field.dataType.elementType.fields]
            made = frame.select("*", F.inline(_col(field.name)).alias(*names))
            # Rows of one key are told apart by what they have; nothing else depends on it.
            return made.drop(field.name) if len(names) > 1 else made
        made = frame.select("*", F.posexplode(_col(field.name)).alias(at, item))
        return made.withColumn("key", F.concat("key", F.lit("/"), F.col(at).cast("string"))).drop(at)

    def _filtered(self, frame: DataFrame) -> DataFrame:
        number = self._leaf(frame, T.IntegerType())
        # The first row stays in any case, so that what is read of it can be seen.
        return frame if number is None else frame.where((number < 100_000) | F.col("key").contains("/1"))

    def _united(self, frame: DataFrame) -> DataFrame:
        other = frame.withColumn("key", F.concat("key", F.lit("+")))
        structs = [f for f in frame.schema.fields if isinstance(f.dataType, T.StructType)]
        if structs:
            # A union matches fields by position, whatever their names are.
            field = self.rng.choice(structs)
            other = other.withColumn(field.name, _col(field.name).cast(_renamed(field.dataType)))
        return frame.union(other.select([_col(name) for name in frame.columns]))

    def _grouped(self, frame: DataFrame) -> DataFrame:
        made: list[Any] = []
        for field in _readable(frame)[:4]:
            column = _col(field.name)
            is_ordered = not _has_map(field.dataType)
            ways = [F.first(column), F.last(column), F.collect_list(column)]
            ways += [F.max(column), F.max_by(column, F.col("key"))] if is_ordered else []
            made.append(self.rng.choice(ways).alias(self.name()))
        return frame.groupBy("key").agg(*made) if made else frame

    def _joined(self, frame: DataFrame) -> DataFrame:
        key = self.name()
        other = self._keyed(TABLES[1], "key")
        made = [self._expression(other, 1).alias(self.name()) for _ in range(2)]
        other = other.select(F.col("key").alias(key), *made)
        whole = F.regexp_extract("key", "^[0-9]+/[0-9]+", 0)
        return frame.join(other, whole == F.col(key)).drop(key)

    def _viewed(self, frame: DataFrame) -> DataFrame:
        name = f"view_{self.name()}"
        frame.createOrReplaceTempView(name)
        return self.spark.sql(f"WITH w AS (SELECT * FROM {name}) SELECT * FROM w")

    def _distinct(self, frame: DataFrame) -> DataFrame:
        return frame if any(_has_map(f.dataType) for f in frame.schema.fields) else frame.dropDuplicates(["key"])

    def _windowed(self, frame: DataFrame) -> DataFrame:
        if not _readable(frame):
            return frame
        field = self.rng.choice(_readable(frame))
        self.is_tight = False
        function = self.rng.choice(["lag", "lead", "first_value"])
        made = F.expr(
            f"{function}({_quoted(field.name)}) OVER (PARTITION BY substring_index(key, '/', 1) ORDER BY key)"
        )
        return frame.withColumn(self.name(), made)

    def _changed(self, frame: DataFrame) -> DataFrame:
        structs = [f for f in frame.schema.fields if isinstance(f.dataType, T.StructType)]
        if not structs:
            return frame
        field = self.rng.choice(structs)
        inner = self.rng.choice(field.dataType.fields)
        column = _col(field.name)
        if self.rng.random() < 0.5 and len(field.dataType.fields) > 1:
            return frame.withColumn(field.name, column.dropFields(_quoted(inner.name)))
        value = self._expression(frame, 1)
        place = self.rng.choice((_quoted(inner.name), "added"))
        if isinstance(inner.dataType, T.StructType) and self.rng.random() < 0.5:
            place = f"{_quoted(inner.name)}.{_quoted(inner.dataType.fields[0].name)}"
        return frame.withColumn(field.name, column.withField(place, value))

    # Expressions.

    def _expression(self, frame: DataFrame, depth: int) -> Any:
        """Return a random expression over the columns of a frame."""
        if depth <= 0 or self.rng.random() < 0.3:
            return self._read(frame)
        ways = [
            self._read, self._sum, self._text, self._packed, self._mapped, self._array_function, self._case, self._cast,
            self._entry,
        ]  # fmt: skip
        made = self.rng.choice(ways)(frame)
        return self._read(frame) if made is None else made

    def _read(self, frame: DataFrame) -> Any:
        """Return a column, or a field of one: of a struct, or of all structs in an array."""
        if not _readable(frame):
            return F.lit(1)
        field = self.rng.choice(_readable(frame))
        column, type_ = _col(field.name), field.dataType
        while self.rng.random() < 0.75:
            if isinstance(type_, T.StructType):
                inner = self.rng.choice(type_.fields)
                column, type_ = column.getField(inner.name), inner.dataType
            elif isinstance(type_, T.ArrayType) and isinstance(type_.elementType, T.StructType):
                inner = self.rng.choice(type_.elementType.fields)
                column, type_ = column.getField(inner.name), T.ArrayType(inner.dataType)
            elif isinstance(type_, T.ArrayType):
                # Of a list that a query has made, the other elements may be of other leaves.
                self.is_tight = self.is_tight and not isinstance(type_.elementType, T.ArrayType)
                column, type_ = column.getItem(0), type_.elementType
            else:
                break
        return column

    def _leaf(self, frame: DataFrame, wanted: T.DataType) -> Any:
        """Return a field of a type, however deep; None if there is none."""
        found: list[Any] = []
        pending = [(_col(f.name), f.dataType) for f in _readable(frame)]
        while pending:
            column, type_ = pending.pop()
            if type_ == wanted:
                found.append(column)
            elif isinstance(type_, T.StructType):
                pending += [(column.getField(f.name), f.dataType) for f in type_.fields]
        return self.rng.choice(found) if found else None

    def _sum(self, frame: DataFrame) -> Any:
        numbers = [self._leaf(frame, T.IntegerType()) for _ in range(2)]
        return None if numbers[0] is None else numbers[0] + numbers[1] * 2

    def _text(self, frame: DataFrame) -> Any:
        texts = [self._leaf(frame, T.StringType()) for _ in range(2)]
        if texts[0] is None:
            return None
        return F.concat(F.upper(texts[0]), F.lit("|"), texts[1])

    def _packed(self, frame: DataFrame) -> Any:
        return F.struct(*[self._read(frame).alias(name) for name in self.rng.sample(_FIELDS, 2)])

    def _case(self, frame: DataFrame) -> Any:
        values = [self._leaf(frame, T.StringType()) for _ in range(2)]
        number = self._leaf(frame, T.IntegerType())
        if values[0] is None or number is None:
            return None
        self.is_tight = False
        return F.when(number > 50_000, values[0]).otherwise(values[1])

    def _cast(self, frame: DataFrame) -> Any:
        structs = [f for f in frame.schema.fields if isinstance(f.dataType, T.StructType)]
        if not structs:
            return None
        field = self.rng.choice(structs)
        to = _renamed(field.dataType)
        column = _col(field.name).cast(to)
        return column.getField(to.fields[-1].name) if self.rng.random() < 0.7 else column

    def _arrays(self, frame: DataFrame) -> tuple[Any, T.StructType] | None:
        """Return an array of structs that has a number and a text at the top; None if there is none."""
        found = [
            f
            for f in frame.schema.fields
            if isinstance(f.dataType, T.ArrayType) and isinstance(f.dataType.elementType, T.StructType)
        ]
        if not found:
            return None
        field = self.rng.choice(found)
        return _col(field.name), field.dataType.elementType

    def _mapped(self, frame: DataFrame) -> Any:
        """Return what a lambda function makes of the structs in an array."""
        found = self._arrays(frame)
        if found is None:
            return None
        array, type_ = found
        one, other = (self.rng.choice(type_.fields).name for _ in range(2))
        ways: list[Callable[[], Any]] = [
            lambda: F.transform(array, lambda x: x.getField(one)),
            lambda: F.transform(array, lambda x: F.struct(x.getField(one).alias("p"), x.getField(other).alias("q"))),
            lambda: F.transform(array, lambda x, _at: F.struct(x.getField(one).alias("p"))).getField("p"),
            lambda: F.transform(array, lambda x: x.withField("added", x.getField(one))).getItem(0),
        ]
        numbers = [f.name for f in type_.fields if isinstance(f.dataType, T.IntegerType)]
        if numbers:
            number = self.rng.choice(numbers)
            ways += [
                lambda: F.aggregate(array, F.lit(0), lambda sum_, x: sum_ + x.getField(number)),
                lambda: F.exists(array, lambda x: x.getField(number) > 50_000),
                lambda: F.filter(array, lambda x: x.getField(number) < 50_000).getField(one),
            ]
        return self.rng.choice(ways)()

    def _array_function(self, frame: DataFrame) -> Any:
        found = self._arrays(frame)
        if found is None:
            return None
        array, type_ = found
        one = self.rng.choice(type_.fields)
        field = one.name
        part = array.getField(field)
        ways: list[Callable[[], Any]] = [
            lambda: F.reverse(array).getField(field),
            lambda: F.concat(array, array).getField(field),
            lambda: F.slice(array, 1, 1).getField(field),
            lambda: F.element_at(array, 1).getField(field),
            lambda: F.arrays_zip(part.alias("p"), array.alias("q")).getField("p"),
            lambda: F.flatten(F.array(array, array)).getField(field),
            lambda: F.zip_with(
                array, array, lambda x, y: F.struct(x.getField(field).alias("p"), y.alias("q"))
            ).getField("p"),
        ]
        if not _has_map(type_):
            ways += [
                lambda: F.array_max(array).getField(field),
                lambda: F.sort_array(array).getField(field),
                lambda: F.array_distinct(array).getField(field),
            ]
        return self.rng.choice(ways)()

    def _entry(self, frame: DataFrame) -> Any:
        maps = [f for f in frame.schema.fields if isinstance(f.dataType, T.MapType)]
        if not maps:
            return None
        column = _col(self.rng.choice(maps).name)
        made = self.rng.choice((F.map_values, F.map_keys, lambda map_: map_.getItem("k")))
        # A map counts as a whole, and its keys stay.
        self.is_tight = self.is_tight and made is not F.map_keys
        return made(column)


def _kept(frame: DataFrame, rng: random.Random) -> list[Any]:
    """Return some of a frame's columns, as they are."""
    return [_col(f.name) for f in _readable(frame) if f.name != KEY and rng.random() < 0.6]


def _readable(frame: DataFrame) -> list[T.StructField]:
    return [f for f in frame.schema.fields if f.name not in _OWN]


def _renamed(type_: T.StructType) -> T.StructType:
    """Return a struct's type with other names, at every depth of structs."""
    fields = [
        T.StructField(f"r{at}", _renamed(f.dataType) if isinstance(f.dataType, T.StructType) else f.dataType)
        for at, f in enumerate(type_.fields)
    ]
    return T.StructType(fields)


def _has_map(type_: T.DataType) -> bool:
    return "map<" in type_.simpleString()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _col(name: str) -> Any:
    return F.col(_quoted(name))


# The judgement.


def found_by(told: Lineage, columns: dict[str, set[str]]) -> dict[str, dict[Leaf, set[str]]]:
    """Return column -> source -> whether it is DIRECT or not; the sources of all rows are those of `(every row)`."""
    (_, found), *_ = told.outputs
    each = [*((column.name, column.edges) for column in found.columns), (_EVERY_ROW, found.dataset)]
    result: dict[str, dict[Leaf, set[str]]] = {}
    for name, edges in each:
        sources = result.setdefault(name, {})
        for edge in edges:
            table = edge.dataset.name.rpartition("/")[2]
            path = path_of(edge.field, columns[table])
            sources.setdefault((table, *path), set()).update(t.type for t in edge.transformations)
    return result


def path_of(name: str, columns: set[str]) -> tuple[str, ...]:
    """Return the column and the fields that a name in lineage is made of, as docs/lineage.md says."""
    return (name,) if name in columns else name_parts(name)


def _covers(source: Leaf, leaf: Leaf) -> bool:
    return leaf[: len(source)] == source


class Trial:
    """One query on its tables, which is asked and run."""

    def __init__(self, spark: SparkSession, seed: int, number: int) -> None:
        self.number = number
        self.session = spark.newSession()
        self.asked = spark.newSession()
        rng = random.Random(f"{seed}/{number}")  # noqa: S311 (a query is no secret)
        self.schemas = {table: schema(rng) for table in TABLES}
        self.leaves = [leaf for table, at in self.schemas.items() for leaf in leaves(table, at)]
        self.seed = rng.random()
        self.coarse: Counter[str] = Counter()

    def query(self, session: SparkSession) -> tuple[DataFrame, bool]:
        """Return the query on a session's tables, and whether all that it reads makes a difference."""
        query = Query(random.Random(self.seed), session)  # noqa: S311
        return query.made(), query.is_tight

    def results(self) -> list[dict[str, list[tuple[Any, ...]]]]:
        """
        Return the rows of each variant by key: the first has no changed leaf.

        The tables are temporary views of the session, which hide those of the catalog.
        """
        for table, at in self.schemas.items():
            self.session.sql(rows(table, at, [None, *self.leaves])).createOrReplaceTempView(table)
        frame, _ = self.query(self.session)
        found: list[dict[str, list[tuple[Any, ...]]]] = [{} for _ in (None, *self.leaves)]
        for row in frame.collect():
            variant, _, key = row["key"].partition("/")
            found[int(variant)].setdefault(key, []).append(tuple(row)[1:])
        return found

    def findings(self) -> list[Finding]:
        """Return what is wrong with the lineage of the query."""
        for table, at in self.schemas.items():
            self.asked.sql(f"DROP TABLE IF EXISTS {table}")
            self.asked.catalog.createTable(table, source="parquet", schema=at)
        frame, is_tight = self.query(self.asked)
        told = lineage(self.asked, frame)
        names = frame.columns[1:]
        columns = {table: set(at.fieldNames()) for table, at in self.schemas.items()}
        edges = found_by(told, columns)
        problems = [f"a gap: {gap.message}" for gap in told.gaps]
        before, *changed = self.results()
        differs: dict[str, set[Leaf]] = {name: set() for name in (*names, _EVERY_ROW)}
        for leaf, after in zip(self.leaves, changed, strict=True):
            if after.keys() != before.keys() or any(len(before[k]) != len(after[k]) for k in before):
                differs[_EVERY_ROW].add(leaf)
            same = [(before[key], after[key]) for key in before.keys() & after.keys()]
            for at, name in enumerate(names):
                if any([row[at] for row in was] != [row[at] for row in now] for was, now in same):
                    differs[name].add(leaf)
        everywhere = edges[_EVERY_ROW]
        for name in (*names, _EVERY_ROW):
            here = {**everywhere, **edges.get(name, {})}
            missing = [leaf for leaf in sorted(differs[name]) if not any(_covers(source, leaf) for source in here)]
            problems += [f"{name} differs with {leaf}, and has no such source: {sorted(here)}" for leaf in missing]
        if is_tight:
            problems += self._loose(edges, differs)
        return [Finding(self.number, each) for each in problems]

    def _loose(self, edges: dict[str, dict[Leaf, set[str]]], differs: dict[str, set[Leaf]]) -> Iterator[str]:
        """Yield the sources of values that make no difference to them."""
        for name, sources in edges.items():
            for source, types in sources.items():
                below = [leaf for leaf in self.leaves if _covers(source, leaf)]
                if "DIRECT" not in types or not below or name in _OWN:
                    continue
                made = [leaf for leaf in below if leaf in differs[name]]
                if not made:
                    yield f"{name} has the source {source}, which makes no difference: {sorted(differs[name])}"
                elif len(made) < len(below):
                    self.coarse[f"query {self.number}: {name} has {source}; only {made} make a difference"] += 1


def session() -> SparkSession:
    """Return a session for tiny queries."""
    folder = tempfile.mkdtemp(prefix="truth-structs-")
    spark = (
        SparkSession.builder.master("local[1]")
        .appName("truth of struct fields")
        .config(map=class_archive.INTERPRETED)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", folder)
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.ansi.enabled", "false")
        # It breaks plans of unions of structs with other names.
        .config("spark.sql.optimizer.excludedRules", f"{_OPTIMIZER}.PushProjectionThroughUnion")
        .config("spark.sql.legacy.createHiveTableByDefault", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> int:
    """Try queries, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=20, help="so many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print the lineage of each query, and what is coarse")
    options = parser.parse_args()
    spark = session()
    found: list[Finding] = []
    refused = 0
    for number in range(options.first, options.first + options.queries):
        trial = Trial(spark, options.seed, number)
        try:
            problems = trial.findings()
        except (Py4JJavaError, PySparkException) as problem:
            refused += 1
            print(f"query {number}: Spark does not run it: {str(problem)[:200]}", flush=True)
            continue
        found += problems
        print("".join(f"query {each.query}: {each.what}\n" for each in problems), end="", flush=True)
        if options.show:
            print(lineage(trial.asked, trial.query(trial.asked)[0]))
            print(*trial.coarse, sep="\n", flush=True)
    print(f"{options.queries} queries, {refused} of them not run by Spark, {len(found)} findings")
    return int(bool(found) or refused > options.queries / 5)


if __name__ == "__main__":
    sys.exit(main())
