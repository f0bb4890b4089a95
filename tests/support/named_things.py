"""Things that have names, and random ways to write, read and change them: folders and tables, in any spelling."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyspark

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k BIGINT, v STRING"
FILES = ("parquet", "orc", "json", "csv")
PARTS = ("Data", "data", "with space", "100%", "a%20b", "a b", "über", "日本", "a+b", "a&b", "a,b", "a#b", "it's",
         "x.parquet", "v1.0", "a;b", "(a)", "~a", "@a", "a--b")  # fmt: skip
DATABASES = ("default", "sales", "Mixed_Db", "Placed")
WAREHOUSE = "Ware House 100%41"
DERBY = f"org.apache.derby.{'iapi.' if pyspark.__version__ >= '4' else ''}jdbc.AutoloadedDriver"


class Use(NamedTuple):
    """A thing as a statement uses it: its namespace and name, and the table by whose name the statement uses it."""

    name: tuple[str, str]
    table: str = ""


class Executed(NamedTuple):
    """A statement that Spark has run: its text, when it ran, and what it reads and writes."""

    text: str
    began: float
    ended: float
    reads: tuple[Use, ...]
    writes: tuple[Use, ...]


class World:
    """
    Runs statements, and remembers them.

    Args:
        spark: the session.
        folder: where everything is.
        chance: makes the choices.
        lakes: whether the session has Delta Lake and Iceberg.
    """

    def __init__(self, spark: SparkSession, folder: Path, chance: random.Random, *, lakes: bool) -> None:
        self.spark, self.folder, self.chance, self.lakes = spark, folder, chance, lakes
        self.executed: list[Executed] = []
        self.refused: Counter[str] = Counter()
        self.rows = spark.range(3).selectExpr("id AS k", "CAST(id AS STRING) AS v").coalesce(1)
        self.rows.createOrReplaceTempView("rows")
        self.rows.write.json(self.source)
        self.current = "default"
        self._count = 0
        self._paths: set[str] = set()
        for database in DATABASES[1:]:
            place = f"LOCATION '{self.folder}/Databases/{database} %41'" if database == "Placed" else ""
            spark.sql(f"CREATE DATABASE {database} {place}")
        spark.sql(f"CREATE TABLE pattern ({SCHEMA}) USING {'delta' if lakes else 'parquet'}")

    @property
    def source(self) -> str:
        """The folder that streams read."""
        return str(self.folder / "source")

    @property
    def warehouse(self) -> str:
        """The folder of managed tables."""
        return str(self.folder / WAREHOUSE)

    def number(self) -> int:
        """Return another number each time."""
        self._count += 1
        return self._count

    def run(self, text: str, what: Callable[[], object], writes: Iterable[Use], reads: Iterable[Use] = ()) -> bool:
        """Run a statement, and remember it unless Spark refuses it."""
        # Statements have different times, in milliseconds.
        time.sleep(0.02)
        began = time.time()
        try:
            what()
        except Exception as error:  # noqa: BLE001
            self.refuse(text, error)
            return False
        self.executed.append(Executed(text, began, time.time(), tuple(reads), tuple(writes)))
        time.sleep(0.02)
        return True

    def live(self, kind: str, format_: str) -> None:
        """Make a thing and use it, as far as Spark does not refuse that."""
        try:
            KINDS[kind](self, format_).live()
        except Exception as error:  # noqa: BLE001
            self.refuse(kind, error)

    def refuse(self, text: str, error: Exception) -> None:
        """Count what Spark refuses."""
        self.refused[f"{text.split(maxsplit=1)[0]}: {type(error).__name__} {str(error)[:200]}"] += 1

    def sql(self, text: str, writes: Iterable[Use], reads: Iterable[Use] = ()) -> bool:
        """Run a statement of SQL."""
        return self.run(text, lambda: self.spark.sql(text), writes, reads)

    def read(self, text: str, frame: Callable[[], DataFrame], *uses: Use) -> None:
        """Write what is read to a folder of its own."""
        sink = f"{self.folder}/sinks/{self.number()}"
        self.run(f"read {text}", lambda: frame().write.parquet(sink), [Use(("file", sink))], uses)

    def read_stream(self, text: str, frame: Callable[[], DataFrame], *uses: Use) -> None:
        """Write what a stream reads to a folder of its own."""
        sink = f"{self.folder}/sinks/{self.number()}"
        go = functools.partial(self._stream, frame, lambda writer: writer.format("parquet").start(sink))
        self.run(f"stream {text}", go, [Use(("file", sink))], uses)

    def write_stream(self, text: str, start: Callable[[Any], Any], use: Use) -> None:
        """Write to a thing by a stream."""
        reader = self.spark.readStream.schema(SCHEMA)
        go = functools.partial(self._stream, lambda: reader.json(self.source), start)
        self.run(f"stream to {text}", go, [use], [Use(("file", self.source))])

    def _stream(self, frame: Callable[[], DataFrame], start: Callable[[Any], Any]) -> None:
        writer = frame().writeStream.option("checkpointLocation", f"{self.folder}/states/{self.number()}")
        start(writer.trigger(availableNow=True)).awaitTermination()

    def new_path(self) -> str:
        """Return a path at which there is nothing, and that is not around or inside another one."""
        while True:
            parts = self.chance.choices(PARTS, k=self.chance.randint(0, 2))
            last = f"{self.chance.choice(PARTS)}{self.number() if self.chance.random() < 0.7 else ''}"
            path = "/".join([str(self.folder), "lake", *parts, last])
            if not any(f"{path}/".startswith(f"{each}/") or each.startswith(f"{path}/") for each in self._paths):
                self._paths.add(path)
                return path

    def spelled(self, path: str) -> str:
        """Spell a path in any way."""
        head, _, tail = path.rpartition("/")
        relative = os.path.relpath(path, self.folder)
        ways = [path, relative, f"./{relative}", f"{path}/", f"{path}//", f"{head}//{tail}", f"{head}/./{tail}"]
        ways += [f"{head}/other/../{tail}", f"file:{path}", f"file://{path}", f"file://{path}/", f"file:{head}//{tail}"]
        return self.chance.choice(ways)

    def quoted(self, path: str) -> str:
        """Spell a path in any way, between the quotes of SQL."""
        return "'" + self.spelled(path).replace("'", "\\'") + "'"


class Thing:
    """
    Something with a name. Its methods `make_...`, `write_...`, `read_...` and `change_...` are its ways.

    Args:
        world: what runs statements.
        format_: the format of its files.
    """

    def __init__(self, world: World, format_: str) -> None:
        self.world, self.format, self.spark, self.chance = world, format_, world.spark, world.chance

    def do(self, kind: str) -> Any:
        """Use any way of a kind."""
        return getattr(self, self.chance.choice([name for name in dir(self) if name.startswith(f"{kind}_")]))()

    def live(self) -> None:
        """Make, write, read and change it."""
        raise NotImplementedError


class Folder(Thing):
    """A folder of files, or a table of Delta Lake at a path."""

    def __init__(self, world: World, format_: str) -> None:
        super().__init__(world, format_)
        self.path = world.new_path()
        self.use = Use(("file", self.path))
        self.schema = "v STRING" if format_ == "text" else SCHEMA
        self.frame = world.rows.select("v") if format_ == "text" else world.rows
        # What a stream writes is not for other writers.
        self.streamed = format_ not in ("text", "delta") and self.chance.random() < 0.2

    def live(self) -> None:
        for _ in range(self.chance.randint(1, 3)):
            self.do("stream" if self.streamed else "write")
        for _ in range(self.chance.randint(2, 4) if Path(self.path).exists() else 0):
            self.do("read")

    def reader(self, read: Any) -> Any:
        read = read.format(self.format)
        return read if self.format == "delta" else read.schema(self.schema)

    def stream_start(self) -> None:
        at = self.world.spelled(self.path)
        self.world.write_stream(f"{self.format} {at}", lambda writer: writer.format(self.format).start(at), self.use)

    def write_save(self) -> None:
        at, mode = self.world.spelled(self.path), self.chance.choice(["append", "overwrite"])
        self.world.run(f"save {at}", lambda: self.frame.write.format(self.format).mode(mode).save(at), [self.use])

    def write_short(self) -> None:
        at = self.world.spelled(self.path)
        if self.format == "delta":
            return self.write_save()
        writer = self.frame.write.mode(self.chance.choice(["append", "overwrite"]))
        self.world.run(f"write.{self.format} {at}", lambda: getattr(writer, self.format)(at), [self.use])
        return None

    def write_sql(self) -> None:
        query, at = f"SELECT {'v' if self.format == 'text' else '*'} FROM rows", self.world.quoted(self.path)
        if self.format != "delta":
            self.world.sql(f"INSERT OVERWRITE DIRECTORY {at} USING {self.format} {query}", [self.use])
        elif Path(self.path).exists():
            self.world.sql(f"INSERT INTO delta.`{self.path}` {query}", [self.use])

    def read_load(self) -> None:
        at = self.world.spelled(self.path)
        self.world.read(at, lambda: self.reader(self.spark.read).load(at), self.use)

    def read_list(self) -> None:
        at = [self.world.spelled(self.path) for _ in range(self.chance.randint(1, 2))]
        at = at[:1] if self.format == "delta" else at
        self.world.read(str(at), lambda: self.reader(self.spark.read).load(at), self.use)

    def read_sql(self) -> None:
        at = self.world.spelled(self.path)
        self.world.read(f"`{at}`", lambda: self.spark.sql(f"SELECT * FROM {self.format}.`{at}`"), self.use)

    def read_pattern(self) -> None:
        if self.format != "delta":
            at = f"{self.world.spelled(self.path)}/part-*"
            self.world.read(at, lambda: self.reader(self.spark.read).load(at), self.use)

    def read_part(self) -> None:
        files = sorted(Path(self.path).glob("part-*"))
        if self.format != "delta" and files:
            at = self.world.spelled(str(files[0])).rstrip("/")
            self.world.read(at, lambda: self.reader(self.spark.read).load(at), self.use)

    def read_stream(self) -> None:
        at = self.world.spelled(self.path)
        self.world.read_stream(at, lambda: self.reader(self.spark.readStream).load(at), self.use)

    def read_view(self) -> None:
        at = self.world.spelled(self.path)
        self.reader(self.spark.read).load(at).createOrReplaceTempView("between")
        self.world.read(f"a view of {at}", lambda: self.spark.table("between"), self.use)

    def read_as_table(self) -> None:
        table = CatalogTable(self.world, self.format)
        columns = "" if self.format == "delta" else f"({self.schema})"
        made = f"CREATE TABLE {table.called()} {columns} USING {self.format} LOCATION {self.world.quoted(self.path)}"
        if table.ran(made, lambda: self.spark.sql(made)) and table.use.name == self.use.name:
            table.do("read")


class CatalogTable(Thing):
    """A table of the session catalog."""

    def __init__(self, world: World, format_: str) -> None:
        super().__init__(world, format_)
        self.database = self.chance.choice(DATABASES)
        self.name = f"{self.chance.choice(['T', 'Orders', 'u_x'])}_{world.number()}"

    def live(self) -> None:
        # A table that is dropped is made again, perhaps as another one.
        for _ in range(self.chance.randint(1, 2)):
            if not self.do("make"):
                return
            for _ in range(self.chance.randint(2, 5)):
                self.do(self.chance.choice(["write", "read", "read", "change"]))
            self.world.sql(f"DROP TABLE {self.called()}", [self.use])
            self.format = self.chance.choice([*FILES, *(["delta"] if self.world.lakes else [])])

    @property
    def table(self) -> str:
        return f"{self.database}.{self.name}".lower()

    @property
    def use(self) -> Use:
        """Ask Spark's catalog where the table is."""
        jvm, session = self.spark._jvm, self.spark._jsparkSession
        identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(self.name, jvm.scala.Some(self.database))
        location = session.sessionState().catalog().getTableMetadata(identifier).location()
        return Use(("file", str(location.getPath()).rstrip("/")), self.table)

    def called(self) -> str:
        """Spell its name in any way, perhaps after USE."""
        either = self.database, self.name
        whole = self.chance.choice([".".join(either), ".".join(either).upper(), ".".join(either).lower()])
        database, name = whole.split(".")
        if self.chance.random() < 0.2:
            self.spark.sql(f"USE spark_catalog.{database}")
            self.world.current = self.database
        ways = [f"{database}.{name}", f"`{database}`.`{name}`", f"spark_catalog.{database}.{name}"]
        here = [name, f"`{name}`"] if self.world.current == self.database else []
        return self.chance.choice([*ways, *here, *here])

    def ran(self, text: str, what: Callable[[], object], reads: Iterable[Use] = ()) -> bool:
        """Run a statement that says where the table is then; only Spark knows where its relative paths begin."""
        done = self.world.run(text, what, [], reads)
        if done:
            self.world.executed.append(self.world.executed.pop()._replace(writes=(self.use,)))
        return done

    def make_empty(self) -> bool:
        text = f"CREATE TABLE {self.called()} ({SCHEMA}) USING {self.format}"
        return self.ran(text, lambda: self.spark.sql(text))

    def make_in_parts(self) -> bool:
        text = f"CREATE TABLE {self.called()} ({SCHEMA}) USING {self.format} PARTITIONED BY (v)"
        return self.ran(text, lambda: self.spark.sql(text))

    def make_like(self) -> bool:
        text = f"CREATE TABLE {self.called()} LIKE default.pattern USING parquet"
        self.format = "parquet"
        return self.ran(text, lambda: self.spark.sql(text))

    def make_clone(self) -> bool:
        if not self.world.lakes:
            return self.make_empty()
        text = f"CREATE TABLE {self.called()} SHALLOW CLONE default.pattern"
        self.format = "delta"
        read = Use(("file", f"{self.world.warehouse}/pattern"), "default.pattern")
        return self.ran(text, lambda: self.spark.sql(text), [read])

    def make_by_query(self) -> bool:
        text = f"CREATE TABLE {self.called()} USING {self.format} AS SELECT * FROM rows"
        return self.ran(text, lambda: self.spark.sql(text))

    def make_at_location(self) -> bool:
        at = self.world.quoted(self.world.new_path())
        text = f"CREATE TABLE {self.called()} USING {self.format} LOCATION {at} AS SELECT * FROM rows"
        return self.ran(text, lambda: self.spark.sql(text))

    def make_at_path(self) -> bool:
        called, at = self.called(), self.world.spelled(self.world.new_path())
        writer = self.world.rows.write.format(self.format).option("path", at)
        return self.ran(f"saveAsTable {called} {at}", lambda: writer.saveAsTable(called))

    def make_saved(self) -> bool:
        writer, called = self.world.rows.write.format(self.format), self.called()
        writer = writer.partitionBy("v") if self.chance.random() < 0.3 else writer
        return self.ran(f"saveAsTable {called}", lambda: writer.saveAsTable(called))

    def make_in_buckets(self) -> bool:
        called = self.called()
        writer = self.world.rows.write.format("parquet").bucketBy(2, "k")
        self.format = "parquet"
        return self.ran(f"bucketBy saveAsTable {called}", lambda: writer.saveAsTable(called))

    def make_by_builder(self) -> bool:
        called = self.called()
        return self.ran(f"writeTo.create {called}", lambda: self.world.rows.writeTo(called).using(self.format).create())

    def columns(self) -> list[str]:
        return [str(name) for name in self.spark.table(self.table).columns]

    def frame(self) -> DataFrame:
        return self.world.rows.selectExpr(*(name if name in ("k", "v") else f"k AS {name}" for name in self.columns()))

    def write_insert_into(self) -> None:
        called, frame, over = self.called(), self.frame(), self.chance.random() < 0.3
        self.world.run(f"insertInto {called}", lambda: frame.write.insertInto(called, overwrite=over), [self.use])

    def write_append(self) -> None:
        called, frame = self.called(), self.frame()
        writer = frame.write.format(self.format).mode("append")
        self.world.run(f"append saveAsTable {called}", lambda: writer.saveAsTable(called), [self.use])

    def write_sql(self) -> None:
        self.frame().createOrReplaceTempView("shaped")
        word = self.chance.choice(["INTO", "INTO TABLE", "OVERWRITE", "OVERWRITE TABLE"])
        by_name = self.chance.choice(["", "", "BY NAME "])
        self.world.sql(f"INSERT {word} {self.called()} {by_name}SELECT * FROM shaped", [self.use])

    def write_to_path(self) -> None:
        use, frame = self.use, self.frame()
        at = self.world.spelled(use.name[1])
        writer = frame.write.format(self.format).mode("append")
        self.world.run(f"save to the path of {self.name} {at}", lambda: writer.save(at), [Use(use.name)])

    def write_again(self) -> None:
        called = self.called()
        writer = self.world.rows.write.format(self.format).mode("overwrite")
        self.ran(f"overwrite saveAsTable {called}", lambda: writer.saveAsTable(called))

    def read_table(self) -> None:
        called, read = self.called(), self.chance.choice([self.spark.table, self.spark.read.table])
        self.world.read(f"table {called}", lambda: read(called), self.use)

    def read_sql(self) -> None:
        called = self.called()
        query = self.chance.choice(
            [
                f"SELECT * FROM {called}",
                f"WITH c AS (SELECT * FROM {called}) SELECT * FROM c",
                f"SELECT *, (SELECT max(v) FROM {called}) AS m FROM rows",
            ]
        )
        self.world.read(query, lambda: self.spark.sql(query), self.use)

    def read_cached(self) -> None:
        called = self.called()
        self.world.read(f"cached {called}", lambda: self.spark.table(called).cache(), self.use)

    def read_temporary_view(self) -> None:
        called = self.called()
        self.spark.table(called).createOrReplaceTempView("between")
        self.world.read(f"a temporary view of {called}", lambda: self.spark.table("between"), self.use)

    def view(self, name: str) -> Use:
        """Return the use of a view; a namespace has none of the characters that receivers refuse in it."""
        return Use((f"file://{re.sub('[ %]', '_', self.world.warehouse)}", name.lower()))

    def read_cached_query(self) -> None:
        name, called = f"kept_{self.world.number()}", self.called()
        self.world.sql(f"CACHE TABLE {name} AS SELECT * FROM {called}", [])
        self.world.read(f"{name} of {called}", lambda: self.spark.table(name), self.use)

    def read_nothing(self) -> None:
        ways = [
            "ANALYZE TABLE {} COMPUTE STATISTICS",
            "CACHE TABLE {}",
            "REFRESH TABLE {}",
            "UNCACHE TABLE IF EXISTS {}",
        ]
        self.world.sql(self.chance.choice(ways).format(self.called()), [])

    def read_view(self) -> None:
        view = f"default.view_{self.world.number()}"
        there = self.view(view)
        if self.world.sql(f"CREATE VIEW {view} AS SELECT * FROM {self.called()}", [there], [self.use]):
            self.world.read(view, lambda: self.spark.table(view), self.use, there)
            over = f"Placed.over_{self.world.number()}"
            self.world.sql(f"CREATE VIEW {over} AS SELECT * FROM {view}", [self.view(over)], [self.use, there])
            self.world.read(over, lambda: self.spark.table(over), self.use, there, self.view(over))

    def has_files(self) -> bool:
        return any(Path(self.use.name[1]).rglob("part-*"))

    def read_stream(self) -> None:
        called = self.called()
        # A stream has no run until there is something to read.
        if self.has_files():
            self.world.read_stream(f"table {called}", lambda: self.spark.readStream.table(called), self.use)

    def read_path(self) -> None:
        use = self.use
        at = self.world.spelled(use.name[1])
        if self.has_files():
            self.world.read(
                f"the path of {self.name} {at}", lambda: self.spark.read.format(self.format).load(at), Use(use.name)
            )

    def change_name(self) -> None:
        called, name = self.called(), self.name
        self.name = f"Re_{self.world.number()}"
        either = f"{self.database}.{self.name}", f"`{self.database.upper()}`.`{self.name.upper()}`"
        text = f"ALTER TABLE {called} RENAME TO {self.chance.choice(either)}"
        if not self.ran(text, lambda: self.spark.sql(text)):
            self.name = name

    def change_location(self) -> None:
        if self.format != "delta":
            text = f"ALTER TABLE {self.called()} SET LOCATION {self.world.quoted(self.world.new_path())}"
            self.ran(text, lambda: self.spark.sql(text))

    def change_columns(self) -> None:
        if self.format in ("parquet", "delta") and self.columns() == ["k", "v"]:
            self.world.sql(f"ALTER TABLE {self.called()} ADD COLUMNS (c BIGINT)", [self.use])

    def change_partitions(self) -> None:
        if self.spark.catalog.listColumns(self.table)[-1].isPartition and self.format != "delta":
            at, value = self.world.quoted(self.world.new_path()), self.world.number()
            self.world.sql(f"ALTER TABLE {self.called()} ADD PARTITION (v = 'p{value}') LOCATION {at}", [self.use])
            self.world.sql(f"INSERT INTO {self.called()} PARTITION (v = 'p{value}') SELECT 1", [self.use])
            self.world.sql(f"MSCK REPAIR TABLE {self.called()}", [])

    def change_rows(self) -> None:
        use = self.use
        if use.name[1].startswith(f"{self.world.warehouse}/"):
            self.world.sql(f"{'DELETE FROM' if self.format == 'delta' else 'TRUNCATE TABLE'} {self.called()}", [use])


class JdbcTable(Thing):
    """A table of Derby or SQLite."""

    def __init__(self, world: World, format_: str = "jdbc") -> None:
        super().__init__(world, format_)
        number = world.number()
        if self.chance.random() < 0.5:
            path, self.driver, self.key = f"{world.folder}/shop_{number}.db", "org.sqlite.JDBC", "k"
            self.urls, self.names = [f"jdbc:sqlite:{path}"], ["thing", '"thing"', "main.thing", "THING"]
            self.use = Use((f"sqlite:{path}", "thing"))
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("CREATE TABLE thing (k BIGINT, v VARCHAR(9))")
        else:
            url, self.driver, self.key = f"jdbc:derby:memory:w{number};create=true", DERBY, '"k"'
            self.urls = [url, f"{url};user=APP"]
            self.names = ["thing", "THING", "App.Thing", '"APP"."THING"', '"THING"']
            self.use = Use((f"derby:memory:w{number}", "APP.THING"))
            options = {"driver": self.driver}
            world.run("jdbc thing", lambda: world.rows.write.jdbc(url, "thing", properties=options), [self.use])

    def live(self) -> None:
        for _ in range(self.chance.randint(3, 5)):
            self.do(self.chance.choice(["write", "read"]))

    def options(self, **more: str) -> dict[str, str]:
        return {"url": self.chance.choice(self.urls), "driver": self.driver, **more}

    def write_jdbc(self) -> None:
        name, url = self.chance.choice(self.names), self.chance.choice(self.urls)
        writer = self.world.rows.write.mode("append")
        self.world.run(f"jdbc {name}", lambda: writer.jdbc(url, name, properties={"driver": self.driver}), [self.use])

    def write_options(self) -> None:
        options = self.options(dbtable=self.chance.choice(self.names))
        writer = self.world.rows.write.format("jdbc").options(**options).mode("append")
        self.world.run(f"save {options}", writer.save, [self.use])

    def loaded(self, **more: str) -> None:
        options = self.options(**more)
        self.world.read(str(options), lambda: self.spark.read.format("jdbc").options(**options).load(), self.use)

    def read_name(self) -> None:
        self.loaded(dbtable=self.chance.choice(self.names))

    def read_query(self) -> None:
        self.loaded(query=f"SELECT {self.key} FROM {self.chance.choice(self.names)}")

    def read_inner_query(self) -> None:
        self.loaded(dbtable=f"(SELECT {self.key} FROM {self.chance.choice(self.names)}) q")

    def read_table(self) -> None:
        table = f"default.jdbc_{self.world.number()}"
        use = self.use._replace(table=table)
        options = ", ".join(f"{key} '{value}'" for key, value in self.options(dbtable=self.names[0]).items())
        if self.world.sql(f"CREATE TABLE {table} USING jdbc OPTIONS ({options})", [use]):
            self.world.read(table, lambda: self.spark.table(table), use)
            self.world.sql(f"INSERT INTO {table} SELECT * FROM rows", [use])


class IcebergTable(Thing):
    """A table in Iceberg's catalog of folders, which distinguishes upper and lower case."""

    def __init__(self, world: World, format_: str = "iceberg") -> None:
        super().__init__(world, format_)
        self.database = self.chance.choice(["db", "Db", "my db"])
        self.name = f"{self.chance.choice(['T', 'orders', 'Über'])}_{world.number()}"
        self.path = f"{world.folder}/ice/{self.database}/{self.name}"
        self.use = Use(("file", self.path), f"{self.database}.{self.name}")
        self.whole = f"ice.`{self.database}`.`{self.name}`"
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS ice.`{self.database}`")

    def live(self) -> None:
        if self.do("make"):
            for _ in range(self.chance.randint(2, 5)):
                self.do(self.chance.choice(["write", "read"]))
        self.spark.sql("USE spark_catalog.default")
        self.world.current = "default"

    def called(self) -> str:
        if self.chance.random() < 0.7:
            return self.whole
        self.spark.sql(f"USE ice.`{self.database}`")
        return f"`{self.name}`"

    def ran(self, text: str, what: Callable[[str], object]) -> bool:
        called = self.called()
        return self.world.run(f"{text} {called}", lambda: what(called), [self.use])

    def make_empty(self) -> bool:
        return self.world.sql(f"CREATE TABLE {self.called()} ({SCHEMA}) USING iceberg", [self.use])

    def make_by_query(self) -> bool:
        return self.world.sql(f"CREATE TABLE {self.called()} USING iceberg AS SELECT * FROM rows", [self.use])

    def make_by_builder(self) -> bool:
        return self.ran("writeTo.create", lambda called: self.world.rows.writeTo(called).using("iceberg").create())

    def make_or_replace(self) -> bool:
        return self.ran("createOrReplace", lambda called: self.world.rows.writeTo(called).createOrReplace())

    def make_saved(self) -> bool:
        return self.ran("saveAsTable", lambda called: self.world.rows.write.format("iceberg").saveAsTable(called))

    def write_append(self) -> None:
        self.ran("writeTo.append", lambda called: self.world.rows.writeTo(called).append())

    def write_insert_into(self) -> None:
        self.ran("insertInto", self.world.rows.write.insertInto)

    def write_sql(self) -> None:
        word = self.chance.choice(["INTO", "OVERWRITE"])
        self.world.sql(f"INSERT {word} {self.called()} SELECT * FROM rows", [self.use])

    def write_delete(self) -> None:
        self.world.sql(f"DELETE FROM {self.called()} WHERE k = 1 AND v > 'a'", [self.use], [self.use])

    def write_save(self) -> None:
        at, use = self.chance.choice([(self.whole, self.use), (self.world.spelled(self.path), Use(self.use.name))])
        writer = self.world.rows.write.format("iceberg").mode("append")
        self.world.run(f"save iceberg {at}", lambda: writer.save(at), [use])

    def read_load(self) -> None:
        at, use = self.chance.choice([(self.whole, self.use), (self.world.spelled(self.path), Use(self.use.name))])
        self.world.read(f"iceberg {at}", lambda: self.spark.read.format("iceberg").load(at), use)

    def read_table(self) -> None:
        called = self.called()
        self.world.read(f"table {called}", lambda: self.spark.table(called), self.use)

    def read_sql(self) -> None:
        called = self.called()
        self.world.read(f"SQL {called}", lambda: self.spark.sql(f"SELECT * FROM {called}"), self.use)

    def read_stream(self) -> None:
        called = self.called()
        self.world.read_stream(f"table {called}", lambda: self.spark.readStream.table(called), self.use)


KINDS: dict[str, type[Thing]] = {"folder": Folder, "table": CatalogTable, "jdbc": JdbcTable, "iceberg": IcebergTable}
