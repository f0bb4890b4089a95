"""What a session of a script would write, which is only recorded."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.naming import is_absolute
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING
from openlineage_pyspark.listener.probe.client import analysis_errors, spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.boundary import TableWriter, Writer
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.script.partitions import with_more_columns
from openlineage_pyspark.workbench.dryrun.script.places import datasets_of
from openlineage_pyspark.workbench.dryrun.script.records import WriteRecord
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, in_backticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace

from openlineage_pyspark.workbench.dryrun.empty_spark.reads import Reads

_IN_MEMORY = "memory"
_OF_PARTITIONS = "partitionoverwritemode"


class Writes:
    """
    The writes of one session of a script.

    Args:
        reads: what the session reads.
    """

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._spark = reads.spark
        self._session = reads.session
        self._stage = reads.stage

    def writer(self, frame: Any) -> Writer:
        """Return the replacement of a writer in the JVM."""

        def to_place(place: DataPlace, writer: Writer) -> None:
            is_added = writer.saves == "append"
            self.write_place(frame, self._reads.of_script(place), writer.partitions, is_added=is_added, writer=writer)
            if place.format == _IN_MEMORY and writer.query:
                self._put_rows_in_memory(writer.query, frame)

        def to_table(name: str, writer: Writer, mode: str) -> None:
            parts = self._reads.whole(name)
            known = self._session.known(parts)
            is_new = known is None or known.identifier is not None
            path = writer.given.get("path", "") or (self._reads.path_of_new(parts) if is_new else "")
            place = writer.place((path,) if path else ())
            # A relative path would be below the warehouse, which is unknown here.
            is_placed = place.is_of_files and is_absolute(path)
            at = place if is_placed else None
            self.write_table(frame, name, mode, writer.partitions, at, writer.manner_of_rows, writer.replaces)
            if mode == "append" and writer.is_on("mergeSchema"):
                self._widen(parts, frame)
            if place.is_of_files and Unknown.of(frame) is None:
                # The table has its own path, by which the script may read it.
                self._stage.learn(place, self._reads.columns_of(frame), writer.partitions)

        return Writer(self._reads.default_format, self._stage.request.folder, to_place, to_table)

    def table_writer(self, frame: Any, name: str) -> TableWriter:
        """Return the replacement of a `DataFrameWriterV2`."""

        def to_table(name: str, mode: str, manner: str) -> None:
            is_whole = mode == "create" and writer.replaces
            self.write_table(frame, name, mode, (), manner=manner, is_whole=is_whole)

        writer = TableWriter(name, self._reads.default_format, self._stage.request.folder, to_table)
        return writer

    def rows_of(self, frame: Any) -> Any:
        """Return the rows of a DataFrame as an RDD of the JVM, which has none but shows that they come from it."""
        file = self._stage.file_of_rows()
        self._stage.record("frame", file=file, plan=self._reads.plan(frame))
        return self._spark.sparkContext._jsc.textFile(file, 1)

    def _put_rows_in_memory(self, name: str, frame: Any) -> None:
        """Create the temporary view by which a script reads what a stream has written to memory."""
        known = Unknown.of(frame)
        if known is not None:
            self._reads.put_view(name, known)
            return
        # Spark keeps the rows, and nothing of the stream's query, as in a real run.
        self._stage.hides("what a stream writes to memory")
        self._stage.problem("STAND_IN", f"the rows of the table {name} in memory have no sources where they are read")
        rows = self._spark._jsparkSession.createDataFrame(self._reads.jvm.java.util.ArrayList(), frame._jdf.schema())
        rows.createOrReplaceTempView(name)
        self._reads.drop_view(name)

    def _widen(self, parts: tuple[str, ...], frame: Any) -> None:
        """Add to a table the new columns of rows that are appended to it."""
        known = self._session.known(parts)
        if known is not None and Unknown.of(frame) is None:
            self._session.declare(
                attrs.evolve(known, columns=with_more_columns(known.columns, self._reads.columns_of(frame)))
            )
            self._reads.record_tables()

    def write_place(
        self,
        frame: Any,
        place: DataPlace,
        partitions: Sequence[str] = (),
        *,
        is_added: bool = False,
        writer: Writer | None = None,
    ) -> None:
        """
        Record a write to a place, and remember the columns that would be there.

        Args:
            frame: the rows of the write.
            place: the place.
            partitions: the partition columns.
            is_added: whether the rows that are already there remain.
            writer: the writer that the script has called; None if there is none.
        """
        if place.keeps_nothing:
            return
        if is_added and place.is_of_files:
            frame = self._with_generated(frame, (SPARK_CATALOG, place.short, place.paths[0]))
        # A path may name a part of its dataset, such as a partition.
        is_part = any(each != DEFAULT_TRIMMING.dataset(each) for each in datasets_of(place))
        is_whole = writer is not None and writer.replaces and not is_part
        manner = "" if writer is None else writer.manner_of_rows
        record = attrs.evolve(self._record_of(frame), manner=manner, is_whole=self._is_all(is_whole))
        self._stage.record("write", **attrs.asdict(attrs.evolve(record, target=place.to_text())))
        if record.schema:
            columns = self._reads.columns_of(frame)
            if is_added:
                columns = with_more_columns(self._stage.known_of(place), columns)
            self._stage.learn(place, columns, partitions)
            if place.is_of_files:
                # A file of CSV or of text does not keep the names of its columns.
                read = self._stage.columns_of(place, header=False, inferred=False) or columns
                self._reads.declare((SPARK_CATALOG, place.short, place.paths[0]), read, partitions)

    def _is_all(self, is_whole: bool) -> bool:  # noqa: FBT001 (it becomes the answer)
        """Return whether a write replaces everything in its target, unless a setting leaves other partitions there."""
        every = {**self._stage.request.conf, **self._stage.settings}
        return is_whole and not any(_OF_PARTITIONS in f"{key} {value}".lower() for key, value in every.items())

    def write_table(
        self,
        frame: Any,
        name: str,
        mode: str,
        partitions: Sequence[str],
        place: DataPlace | None = None,
        manner: str = "",
        is_whole: bool = False,  # noqa: FBT001, FBT002 (it goes with the manner)
    ) -> None:
        """
        Record a write to a table, and declare the table that it would create.

        Args:
            frame: the rows of the write.
            name: the table's name, as the script writes it.
            mode: `create`, `append`, or `insert` for an insert by the positions of columns.
            partitions: the partition columns.
            place: the place of the table; None if its catalog decides that.
            manner: a hash of how the rows are written; empty if not all of that is known.
            is_whole: whether the write replaces everything in the table.
        """
        parts = self._reads.whole(self._reads.undated(name))
        known = self._session.known(parts)
        if mode == "append":
            frame = self._with_generated(frame, parts)
        record = attrs.evolve(self._record_of(frame), table=parts, manner=manner, is_whole=self._is_all(is_whole))
        if known is None and mode == "insert":
            self._reads.missing_table(name)
        if record.schema:
            given = [column for column, _ in self._reads.columns_of(frame)]
            if known is not None and mode != "create":
                own = [column for column, _ in known.columns]
                spelt = {column.lower(): column for column in own}
                names = own if mode == "insert" else [spelt.get(each.lower(), each) for each in given]
                record = attrs.evolve(record, names=tuple(names[: len(given)]))
            elif mode != "insert":
                self._reads.declare(parts, self._reads.columns_of(frame), partitions, place)
        elif mode == "create" or (known is None and mode == "append"):
            self._reads.forget_columns(parts)
        self._stage.record("write", **attrs.asdict(record))

    def _with_generated(self, frame: Any, parts: tuple[str, ...]) -> Any:
        """Return the rows that are added to a table, with the columns that Delta Lake computes from the others."""
        known = self._session.known(parts)
        made = {} if known is None else dict(known.computed)
        if not made or Unknown.of(frame) is not None:
            return frame
        given = {column.lower() for column, _ in self._reads.columns_of(frame)}
        new = [f"{text} AS {in_backticks(name)}" for name, text in made.items() if name.lower() not in given]
        try:
            return frame.selectExpr("*", *new)
        except analysis_errors():
            names = ", ".join(made)
            self._stage.problem("NOT_DONE", f"the columns that Delta Lake computes are left out here: {names}")
            return frame

    def _record_of(self, frame: Any) -> WriteRecord:
        """Return the part of a write's record that describes its rows."""
        unknown = Unknown.of(frame)
        if unknown is None and not frame.schema.fields:
            # A script that chooses columns by data keeps some of them in a real run.
            self._stage.problem("UNKNOWN_SCHEMA", "no column is left here: the columns of a real run are unknown")
            unknown = Unknown((self._reads.plan(frame),))
        if unknown is not None:
            return self.record_of_unknown(unknown)
        schema = str(frame._jdf.schema().json())
        return WriteRecord(
            self._stage.spot(),
            (self._reads.plan(frame),),
            schema=schema,
            shape=self._shape(frame),
            within=self._within(),
            settings=f"{self.settings()}{_metadata_in(schema)}",
            held=tuple(self._stage.held),
        )

    def record_of_unknown(self, unknown: Unknown) -> WriteRecord:
        """Return the part of a write's record that describes rows without known columns."""
        tables = tuple(f"table:{'.'.join(self._reads.whole(each))}" for each in unknown.tables)
        held = tuple(self._stage.held)
        return WriteRecord(self._stage.spot(), unknown.plans, places=(*unknown.places, *tables), held=held)

    def _shape(self, frame: Any) -> str:
        """Return the shape of a DataFrame's plan; empty if shapes are not requested, or if Spark can't give it."""
        if self._stage.request.shapes:
            with contextlib.suppress(*spark_errors()):
                return self._session.shape_of(frame._jdf.queryExecution().analyzed())
        return ""

    def _within(self) -> str:
        return ".".join(self._session.current()) if self._stage.request.shapes else ""

    def settings(self) -> str:
        """Return what the script has set, in a form that can be compared."""
        return json.dumps(sorted(self._stage.settings.items()))


def _metadata_in(schema: str) -> str:
    """Return the metadata of columns, such as comments, with the columns; empty if there are none."""
    found: list[Any] = []

    def note(values: dict[str, Any]) -> dict[str, Any]:
        if values.get("metadata") and "name" in values:
            found.append([values["name"], values["metadata"]])
        return values

    json.loads(schema, object_hook=note)
    return json.dumps(found) if found else ""
