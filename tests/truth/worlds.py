"""A world: the tables of a pipeline in a namespace of their own, and what applications do to them, in a real Spark."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.model.plan import TableId
from openlineage_pyspark.workbench.recovery.model.statements import quoted_part, sql_name
from pyspark.sql import functions

from truth.pipelines import Action, Pipeline, Table, kind_of_load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = "k BIGINT, v BIGINT, p INT"
_MODE = "spark.sql.sources.partitionOverwriteMode"
Rows = Counter[tuple[int | None, ...]]


class World:
    """
    The tables of a pipeline.

    Args:
        spark: the session.
        folder: for checkpoints, and for tables that have only a path.
        lake: `iceberg` or `delta`.
        namespace: that of the tables.
        pipeline: the pipeline.
        wrong: whether the bad load brings the wrong rows.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, lake: str, namespace: str, pipeline: Pipeline, *, wrong: bool
    ) -> None:
        self._spark = spark
        self._folder = folder / namespace
        self._lake = lake
        self._namespace = namespace
        self._pipeline = pipeline
        self._wrong = wrong
        self._live = LiveSession(spark)
        self._reached: dict[tuple[int, int], str] = {}
        self._pins: Mapping[str, str] = {}
        self._copies: Mapping[int, TableId] = {}
        # The jobs of streams that began anew -> the option that says where, and its value.
        self._begun: dict[int, tuple[str, str]] = {}

    # What is there.

    def table_id(self, place: int) -> TableId:
        """Return a table's name, or that of its copy where that is used."""
        return self._copies.get(place) or self._own_id(place)

    def _own_id(self, place: int) -> TableId:
        table = self._pipeline.tables[place]
        if table.is_path:
            return TableId(("parquet", str(self._folder / "paths" / table.name)), "parquet")
        # The session catalog writes names in lower case.
        in_session = ("spark_catalog", self._namespace, table.name.lower())
        if not table.has_versions:
            return TableId(in_session, "parquet")
        if self._lake == "iceberg":
            return TableId(("ice", self._namespace, table.name), "iceberg")
        if _is_plain(table):
            return TableId(in_session, "delta")
        return TableId(("delta", str(self._folder / "paths" / table.name)), "delta")

    def name(self, place: int) -> str:
        """Return the name of a table in statements, with the capital letters that its author gave it."""
        table = self.table_id(place)
        if place in self._copies or table.parts[0] != "spark_catalog":
            return sql_name(table)
        return sql_name(attrs.evolve(table, parts=(*table.parts[:-1], self._pipeline.tables[place].name)))

    def version(self, place: int) -> str:
        """Return the current version of a table; for one without versions, its files."""
        if self._pipeline.tables[place].has_versions:
            live = self._live.table(self.table_id(place))
            return live.version if live else "gone"
        self._refresh(place)
        return " ".join(sorted(self._spark.sql(f"SELECT * FROM {self.name(place)}").inputFiles()))

    def rows(self, place: int) -> Rows:
        """Return the rows of a table, with how often each is there."""
        self._refresh(place)
        return Counter(tuple(row) for row in self._spark.sql(f"SELECT k, v, p FROM {self.name(place)}").collect())

    def _refresh(self, place: int) -> None:
        if self._pipeline.tables[place].is_path:
            self._spark.catalog.refreshByPath(self.table_id(place).parts[1])
        else:
            self._spark.sql(f"REFRESH TABLE {self.name(place)}")

    # What is done.

    def create(self) -> None:
        """Create all tables, and a view on each one."""
        self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS spark_catalog.{self._namespace}")
        if self._lake == "iceberg":
            self._spark.sql(f"CREATE NAMESPACE IF NOT EXISTS ice.{self._namespace}")
        for place in range(len(self._pipeline.tables)):
            self._create(place)
            view, name = self._view(place), self.name(place)
            self._spark.sql(f"CREATE OR REPLACE VIEW {view} AS SELECT k, v, p FROM {name}")

    def _create(self, place: int) -> None:
        table = self._pipeline.tables[place]
        if table.is_path:
            empty = self._spark.sql("SELECT 0L AS k, 0L AS v, 0 AS p WHERE false")
            empty.coalesce(1).write.parquet(self.table_id(place).parts[1])
            return
        parted = " PARTITIONED BY (p)" if table.parted else ""
        self._spark.sql(f"CREATE TABLE {self.name(place)} ({_COLUMNS}) USING {self._format(place)}{parted}")

    def perform(self, number: int, action: Action) -> None:
        """
        Do what an application does.

        Args:
            number: its place among the actions; those of the day after the recovery follow the others.
            action: what it does.
        """
        getattr(self, f"_{action.kind}")(number, action)
        if self._copies:
            return
        if number == self._pipeline.bad or number in {each.to for each in self._pipeline.actions}:
            self._reached[number, action.target] = self.version(action.target)

    @contextmanager
    def changed(self, copies: Mapping[int, TableId], pins: Mapping[str, str]) -> Iterator[None]:
        """
        Run what runs meanwhile as if a person had changed its code.

        Args:
            copies: the tables -> the copies that it uses instead, with other checkpoints.
            pins: the names of tables -> the versions at which it reads them.
        """
        self._copies, self._pins = copies, pins
        try:
            yield
        finally:
            self._copies, self._pins = {}, {}

    def begin_behind(self, action: Action) -> None:
        """Let a stream begin with a new checkpoint, behind what its source holds."""
        place = action.sources[0]
        version = self.version(place)
        if self._lake == "delta":
            self._begun[action.job] = ("startingVersion", str(int(version) + 1))
            return
        live = self._live.table(self.table_id(place))
        assert live is not None
        self._begun[action.job] = ("stream-from-timestamp", str(live.versions[version].micros // 1000 + 1))

    def reached(self, number: int, place: int) -> str:
        """Return the version of a table after an action."""
        return self._reached[number, place]

    def loading(self, action: Action, rows: tuple[tuple[int, int, int], ...]) -> str:
        """Return the statement by which a load brings rows."""
        values = ", ".join(f"({k}, {v}, {p})" for k, v, p in rows)
        name = self.name(action.target)
        if kind_of_load(action) == "merge":
            source = f"SELECT col1 AS k, col2 AS v, col3 AS p FROM VALUES {values}"
            return self._merging(name, source)
        verb = "INSERT OVERWRITE" if kind_of_load(action) == "overwrite" else "INSERT INTO"
        return f"{verb} {name} VALUES {values}"

    def _load(self, number: int, action: Action) -> None:
        is_wrong = self._wrong and number == self._pipeline.bad
        rows = self._pipeline.wrong if is_wrong else action.rows
        if action.form == "frame":
            frame = self._spark.createDataFrame(list(rows), _COLUMNS)
            frame.coalesce(1).writeTo(self.name(action.target)).append()
        else:
            self._spark.sql(self.loading(action, rows))

    def _append(self, _: int, action: Action) -> None:
        if self._pipeline.tables[action.target].has_versions:
            self._write(action, "INSERT INTO {}", lambda frame, name: frame.writeTo(name).append())
        else:
            self._write(action, "INSERT INTO {}", lambda frame, name: frame.write.insertInto(name))

    def _overwrite(self, _: int, action: Action) -> None:
        if self._pipeline.tables[action.target].is_path:
            path = self.table_id(action.target).parts[1]
            self._write(action, "", lambda frame, _: frame.write.mode("overwrite").parquet(path))
        else:
            self._write(action, "INSERT OVERWRITE {}")

    def _several(self, number: int, action: Action) -> None:
        for each in action.writes:
            getattr(self, f"_{each.kind}")(number, each)

    def _count(self, _: int, action: Action) -> None:
        self._write(action, "INSERT OVERWRITE {}")

    def _static(self, _: int, action: Action) -> None:
        self._write(action, f"INSERT OVERWRITE {{}} PARTITION (p = {action.day % 3})", columns="k, v")

    def _dynamic(self, _: int, action: Action) -> None:
        with self._set(_MODE, "dynamic"):
            self._write(action, "INSERT OVERWRITE {}", lambda frame, name: frame.writeTo(name).overwritePartitions())

    def _where(self, _: int, action: Action) -> None:
        """Replace the rows of a day's partition, by a condition."""
        part = action.day % 3
        self._write(
            action,
            f"INSERT INTO {{}} REPLACE WHERE p = {part}",
            lambda frame, name: frame.writeTo(name).overwrite(functions.col("p") == part),
            columns=f"k, v, {part} AS p",
        )

    def _merge(self, _: int, action: Action) -> None:
        self._write(action, "")

    def _replace(self, _: int, action: Action) -> None:
        using = self._format(action.target)
        self._write(action, f"CREATE OR REPLACE TABLE {{}} USING {using} AS")

    def _update(self, _: int, action: Action) -> None:
        self._change(action, "UPDATE {} SET v = v + {step} WHERE k = {key}")

    def _delete(self, _: int, action: Action) -> None:
        self._change(action, "DELETE FROM {} WHERE k = {key} AND v > {step}")

    def _change(self, action: Action, text: str) -> None:
        values = {"step": action.day + 1, "key": action.number % 7 if action.number < 100 else 1000}
        with self._names(action) as (name, _):
            if action.form == "args":
                self._spark.sql(text.format(name, step=":step", key=":key"), args=values)
            else:
                self._spark.sql(text.format(name, **values))

    def _stream(self, _: int, action: Action) -> None:
        source, target = self.name(action.sources[0]), self.name(action.target)
        reader, place = self._spark.readStream, self._folder / "state" / str(action.job)
        if self._copies:
            place = place.with_suffix(".beside")
        elif action.job in self._begun:
            place = place.with_suffix(".anew")
            reader = reader.option(*self._begun[action.job])
        frame = reader.table(source).selectExpr("k", f"v + {action.number} AS v", "p")
        writer = frame.writeStream.queryName(f"q{action.job}").option("checkpointLocation", str(place))
        if action.second is None:
            query = writer.toTable(target, format=self._lake)
        else:
            second = self.name(action.second)

            def both(batch: DataFrame, _: int) -> None:
                batch.writeTo(target).append()
                batch.selectExpr("k", "v * 2 AS v", "p").writeTo(second).append()

            query = writer.foreachBatch(both).start()
        query.processAllAvailable()
        query.stop()

    def _rollback(self, _: int, action: Action) -> None:
        version = self._reached[action.to, action.target]
        if self._lake == "delta":
            self._spark.sql(f"RESTORE TABLE {self.name(action.target)} TO VERSION AS OF {version}")
            return
        parts = ".".join(map(quoted_part, self.table_id(action.target).parts[1:])).replace("'", "\\'")
        self._spark.sql(f"CALL ice.system.set_current_snapshot('{parts}', {version})")

    def _recreate(self, _: int, action: Action) -> None:
        if self.table_id(action.target).parts[0] == "delta":
            # DROP TABLE leaves the files of a table that has only a path.
            self._spark.sql(f"DELETE FROM {self.name(action.target)}")
            return
        self._spark.sql(f"DROP TABLE {self.name(action.target)}")
        self._create(action.target)

    def _expire(self, _: int, action: Action) -> None:
        """Let all versions but the current one expire."""
        if self._lake == "delta":
            with self._set("spark.databricks.delta.retentionDurationCheck.enabled", "false"):
                self._spark.sql(f"VACUUM {self.name(action.target)} RETAIN 0 HOURS")
            return
        parts = ".".join(map(quoted_part, self.table_id(action.target).parts[1:])).replace("'", "\\'")
        until = f"{datetime.now() + timedelta(seconds=1):%Y-%m-%d %H:%M:%S}"
        arguments = f"table => '{parts}', older_than => TIMESTAMP '{until}', retain_last => 1"
        self._spark.sql(f"CALL ice.system.expire_snapshots({arguments})")

    def _truncate(self, _: int, action: Action) -> None:
        verb = "DELETE FROM" if self._lake == "delta" else "TRUNCATE TABLE"
        self._spark.sql(f"{verb} {self.name(action.target)}")

    # How a statement is written.

    def _write(self, action: Action, verb: str, framed=None, columns: str = "k, v, p") -> None:
        with self._names(action) as (name, sources):
            query = _query(action, sources)
            if action.form == "frame" and framed is not None:
                framed(self._spark.sql(query).selectExpr(*columns.split(", ")).coalesce(1), name)
                return
            arguments = None
            if action.form in ("temp", "global"):
                view = f"rows_of_{action.job}"
                frame = self._spark.sql(query)
                if action.form == "temp":
                    frame.createOrReplaceTempView(view)
                else:
                    frame.createOrReplaceGlobalTempView(view)
                    view = f"global_temp.{view}"
                query = f"SELECT k, v, p FROM {view}"
            if action.form == "args":
                query, arguments = f"SELECT * FROM ({query}) WHERE v > :least", {"least": -10_000}
            if not verb:
                text = self._merging(name, f"SELECT k, max(v) AS v, max(p) AS p FROM ({query}) GROUP BY k")
            elif action.form == "cte":
                text = f"{verb.format(name)} WITH found AS ({query}) SELECT {columns} FROM found"
            else:
                text = f"{verb.format(name)} SELECT {columns} FROM ({query})"
            if arguments:
                self._spark.sql(text, args=arguments)
            else:
                self._spark.sql(text)

    def _merging(self, name: str, source: str) -> str:
        return (
            f"MERGE INTO {name} AS t USING ({source}) AS s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.p)"
        )

    @contextmanager
    def _names(self, action: Action) -> Iterator[tuple[str, list[str]]]:
        """Give the names of what an action writes and reads, as its form has them."""
        own = self.table_id(action.target).parts
        sources = [self._view(each) if action.form == "view" else self._source(each) for each in action.sources]
        if action.form != "short" or own[0] == "delta":
            yield self.name(action.target), sources
            return
        self._spark.sql(f"USE {own[0]}.{own[1]}")
        try:
            yield (
                quoted_part(own[2]),
                [
                    quoted_part(parts[2]) if (parts := self.table_id(each).parts)[:2] == own[:2] else self.name(each)
                    for each in action.sources
                ],
            )
        finally:
            self._spark.sql("USE spark_catalog.default")

    def _source(self, place: int) -> str:
        own = sql_name(self._own_id(place))
        version = self._pins.get(own)
        return f"(SELECT * FROM {own} VERSION AS OF {version})" if version else self.name(place)

    @contextmanager
    def _set(self, key: str, value: str) -> Iterator[None]:
        self._spark.conf.set(key, value)
        try:
            yield
        finally:
            self._spark.conf.unset(key)

    def _view(self, place: int) -> str:
        if place in self._copies or sql_name(self._own_id(place)) in self._pins:
            # Who changes the code writes the table in place of its view.
            return f"(SELECT k, v, p FROM {self._source(place)})"
        return f"spark_catalog.{self._namespace}.view_{place}"

    def _format(self, place: int) -> str:
        return self._lake if self._pipeline.tables[place].has_versions else "parquet"


def _is_plain(table: Table) -> bool:
    return table.name.isascii() and table.name.replace("_", "").isalnum()


def _query(action: Action, sources: list[str]) -> str:
    """Return what a job reads: all rows, a day's rows, sums, or a join."""
    if len(sources) == 2:
        return (
            f"SELECT x.k, sum(x.v + coalesce(y.v, 0)) AS v, max(x.p) AS p FROM {sources[0]} AS x LEFT JOIN "
            f"(SELECT k, max(v) AS v FROM {sources[1]} GROUP BY k) AS y ON x.k = y.k GROUP BY x.k"
        )
    source, number = sources[0], action.number
    if action.kind == "count":
        return f"SELECT k, count(1) AS v, max(p) AS p FROM {source} GROUP BY k"
    if action.kind == "static" or number % 3 == 0:
        return f"SELECT k, sum(v) AS v, max(p) AS p FROM {source} WHERE p = {action.day % 3} GROUP BY k"
    if number % 3 == 1:
        return f"SELECT k, max(v) + {number} AS v, min(p) AS p FROM {source} GROUP BY k"
    return f"SELECT k, sum(v) AS v, p FROM {source} WHERE k <> {number % 5} GROUP BY k, p"
