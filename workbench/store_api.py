"""The questions that people ask of a store."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import WORKBENCH, require
from openlineage_pyspark.workbench.errors import StoreError
from openlineage_pyspark.workbench.model.times import known_time, micros_of_time, time_of
from openlineage_pyspark.workbench.questions.diff import diff_of_runs, diff_of_times, downstream_of
from openlineage_pyspark.workbench.questions.graph import graph_of_answer, whole_graph
from openlineage_pyspark.workbench.questions.history_graph import history_graph
from openlineage_pyspark.workbench.questions.lists import dataset_lines, history, jobs, runs
from openlineage_pyspark.workbench.questions.reach import Direction, Limits
from openlineage_pyspark.workbench.questions.reached import Grain
from openlineage_pyspark.workbench.questions.table_schemas import table_schemas
from openlineage_pyspark.workbench.questions.things import find_run
from openlineage_pyspark.workbench.questions.ways import reached_from, ways_between
from openlineage_pyspark.workbench.recovery.plan import Mode
from openlineage_pyspark.workbench.recovery.planning import RecoveryRequest, plan
from openlineage_pyspark.workbench.recovery.reading import BadVersion, read_facts
from openlineage_pyspark.workbench.store.dialect import of_sqlite
from openlineage_pyspark.workbench.store.spark.session import active_or_new_session
from openlineage_pyspark.workbench.store.spark.tables import SparkTables, is_in_session_catalog, is_schema_name
from openlineage_pyspark.workbench.store.sqlite import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.questions.diff import Diff
    from openlineage_pyspark.workbench.questions.lists import DatasetLine, JobLine, RunLine, VersionLine
    from openlineage_pyspark.workbench.questions.reached import LinkedNodes
    from openlineage_pyspark.workbench.questions.table_schemas import TableSchema
    from openlineage_pyspark.workbench.recovery.facts import Facts
    from openlineage_pyspark.workbench.recovery.plan import RecoveryPlan
    from openlineage_pyspark.workbench.store.names import QueriedTables
    from pyspark.sql import SparkSession


class Store:
    """
    A lineage store, to be asked.

    Args:
        tables: the engine. `Store.open` makes one of a file.
    """

    def __init__(self, tables: QueriedTables) -> None:
        self._tables = tables

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """
        Open a store, to be read.

        Args:
            path: its file; or its schema in a catalog of the active Spark session, such as `lake.lineage`.

        Raises:
            StoreError: there is none, or it can't be read.
            MissingExtraError: the extra `workbench` is not installed.
        """
        require(WORKBENCH)
        name = str(path)
        if is_schema_name(name) and not Path(path).exists():
            return cls(SparkTables(active_or_new_session({}, is_session_catalog=is_in_session_catalog(name)), name))
        return cls(Database(Path(path), read_only=True))

    @classmethod
    def open_spark(cls, session: SparkSession, schema_name: str) -> Store:
        """
        Open the store in Spark's tables, to be read.

        Args:
            session: the Spark session.
            schema_name: the schema with its catalog, such as `lake.lineage`; without one, in Spark's own.

        Raises:
            StoreError: there is none, or it can't be read.
            MissingExtraError: the extra `workbench` is not installed.
        """
        require(WORKBENCH)
        return cls(SparkTables(session, schema_name))

    def __enter__(self) -> Store:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._tables, Database):
            self._tables.close()

    def upstream(
        self,
        thing: str,
        *,
        depth: int | None = None,
        direct: bool = False,
        as_of: str = "",
        ever: bool = False,
        by: str = "",
    ) -> LinkedNodes:
        """
        Return where a thing comes from.

        Args:
            thing: a dataset; a dataset, a dot and a column; a dataset, `@` and a version, `latest` or a time; `job:`
                and a name; `run:` and an id. The end of a dataset's name is enough if only one has it, and the
                beginning of a version and of a run's id.
            depth: how many jobs to pass at most; None for all.
            direct: whether to leave out columns that only decide about rows, as in a filter.
            as_of: a time (ISO 8601, or an age such as `2 d`): the answer is the one that held then; empty for now.
            ever: whether to count what a job did once and does no longer.
            by: what the nodes are: `table`, `column`, `snapshot` or `job`. By default what fits the thing: columns for
                a column, versions for a version and for a run, else tables.

        Raises:
            StoreError: nothing has this name, or several things have it; or the time can't be read.
        """
        how_far = limits(depth, as_of, direct=direct, ever=ever)
        return reached_from(self._tables, thing, Direction.UPSTREAM, how_far, Grain(by) if by else None)

    def downstream(
        self,
        thing: str,
        *,
        depth: int | None = None,
        direct: bool = False,
        as_of: str = "",
        ever: bool = False,
        by: str = "",
    ) -> LinkedNodes:
        """
        Return what is made from a thing.

        Args:
            thing: as in `upstream`.
            depth: as there.
            direct: as there.
            as_of: as there.
            ever: as there.
            by: as there.

        Raises:
            StoreError: as there.
        """
        how_far = limits(depth, as_of, direct=direct, ever=ever)
        return reached_from(self._tables, thing, Direction.DOWNSTREAM, how_far, Grain(by) if by else None)

    def between(
        self, source: str, target: str, *, direct: bool = False, as_of: str = "", ever: bool = False
    ) -> LinkedNodes:
        """
        Return the ways from one thing to another, and nothing else.

        Args:
            source: where they begin, as in `upstream`.
            target: where they end. If the source is a column and the target a dataset, any column of that.
            direct: as in `upstream`.
            as_of: as there.
            ever: as there.

        Raises:
            StoreError: as there.
        """
        return ways_between(self._tables, source, target, limits(None, as_of, direct=direct, ever=ever))

    def graph(
        self, around: str = "", *, depth: int | None = None, direct: bool = False, as_of: str = "", ever: bool = False
    ) -> Graph:
        """
        Return the lineage as a graph.

        Args:
            around: a dataset or a column, as in `upstream`: the graph has what is upstream and downstream of it. Empty
                for all that the store has.
            depth: with `around`, how many jobs to pass at most each way; None for all.
            direct: as in `upstream`.
            as_of: as there.
            ever: as there.

        Raises:
            StoreError: as there.
        """
        return whole_graph(self._tables, limits(depth, as_of, direct=direct, ever=ever), around)

    def graph_of(self, answer: LinkedNodes, *, direct: bool = False, as_of: str = "", ever: bool = False) -> Graph:
        """
        Return an answer as a graph, with the ways of its edges, how sure they are, and the runs of its jobs.

        Args:
            answer: what `upstream`, `downstream` or `between` returned; its own `graph` asks nothing, and says less.
            direct: as it was asked.
            as_of: as it was asked.
            ever: as it was asked.

        Raises:
            StoreError: the time can't be read.
        """
        return graph_of_answer(self._tables, limits(None, as_of, direct=direct, ever=ever), answer)

    def last_seen(self) -> str:
        """Return the newest time that the store knows of, ISO 8601; empty if it is empty."""
        [(newest,)] = self._tables.query("SELECT max(last_time) FROM job")
        time = known_time(newest)
        return "" if time is None else time.isoformat().replace("+00:00", "Z")

    def datasets(self, *, containing: str = "") -> list[DatasetLine]:
        """Return the datasets of which a name contains a text."""
        return dataset_lines(self._tables, containing=containing)

    def jobs(self, *, containing: str = "", as_of: str = "") -> list[JobLine]:
        """
        Return the jobs whose names contain a text, and whether each one is late.

        A job is late if its last run began more than twice its usual pause ago, and at least a minute more than that.
        The usual pause is the median of the times between the beginnings of its last twenty runs, of at least four.

        Args:
            containing: the text; empty for all jobs.
            as_of: the time at which they are late, as in `upstream`; empty for now.

        Raises:
            StoreError: the time can't be read.
        """
        return jobs(self._tables, containing=containing, now=time_or_now(as_of))

    def runs(
        self,
        *,
        job: str = "",
        states: Iterable[str] = (),
        since: str = "",
        limit: int | None = None,
        late: bool = False,
        as_of: str = "",
    ) -> list[RunLine]:
        """
        Return runs, the latest first.

        Args:
            job: a text that the job's name contains.
            states: such as FAIL and ABORT; all if there is none.
            since: a time or an age, as `as_of` in `upstream`; empty for all.
            limit: how many at most.
            late: only those that took, or take already, more than three times as long as the last twenty complete runs
                of the job before them, by their median, and at least a minute longer. There must be three of them.
            as_of: the time until which a run without an end took, as in `upstream`; empty for now.

        Raises:
            StoreError: the time can't be read.
        """
        begin = time_of(since, datetime.now(timezone.utc)) if since else 0
        now = time_or_now(as_of) if late else None
        return runs(self._tables, job=job, states=states, since=begin, limit=limit, late=now)

    def diff(self, before: str, after: str) -> Diff:
        """
        Return what changed between two points in time, or is different between two runs.

        Args:
            before: a time, an age or `now`; or `run:` and an id.
            after: the same.

        Raises:
            StoreError: a time can't be read, or there is no such run.
        """
        if before.startswith("run:") or after.startswith("run:"):
            ids = [find_run(self._tables, each.removeprefix("run:")).run_id for each in (before, after)]
            return diff_of_runs(self._tables, *ids)
        times = [time_or_now("" if each == "now" else each) for each in (before, after)]
        return diff_of_times(self._tables, *times)

    def sql(self, query: str, *, dialect: str = "spark") -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """
        Ask by a query of one's own.

        Args:
            query: a SELECT on the store's tables and views. `source_job_lineage`, `sink_job_lineage`,
                `source_snapshot_lineage` and `sink_snapshot_lineage` are the views with names here, so that queries as
                in Paimon's proposal of lineage tables run unchanged.
            dialect: the dialect that the query is written in, by its name in sqlglot.

        Returns:
            The names of the columns, and the rows.

        Raises:
            StoreError: the text is no query, or a wrong one; or the store is in another engine, which is to be asked.
        """
        if not isinstance(self._tables, Database):
            raise StoreError("this store is in tables of an engine: ask them there")
        return self._tables.ask(of_sqlite(query, dialect))

    def downstream_of(
        self, places: Mapping[tuple[str, str], int]
    ) -> tuple[dict[tuple[str, str], int], tuple[str, ...]]:
        """
        Return what is made from columns that are known by their names.

        Args:
            places: the name of a dataset and a column, which is empty for the dataset -> how many jobs it is away.

        Returns:
            Each further dataset and column -> how many jobs it is away; and why some name could not be looked up.
        """
        return downstream_of(self._tables, places)

    def table_schemas(self) -> tuple[TableSchema, ...]:
        """Return each table that the store knows with its columns, under each of its names."""
        return table_schemas(self._tables)

    def history(self, thing: str) -> list[VersionLine]:
        """
        Return the versions of a dataset, the latest first.

        Raises:
            StoreError: nothing has this name, or several things have it.
        """
        return history(self._tables, thing)

    def history_graph(self, thing: str) -> Graph:
        """
        Return the versions of a dataset as a graph: each with its run, and with the versions that this run read.

        Raises:
            StoreError: nothing has this name, or several things have it.
        """
        return history_graph(self._tables, thing)

    def recover(
        self,
        thing: str,
        *,
        version: str = "",
        run: str = "",
        batch: int | None = None,
        time: str = "",
        mode: str = "incremental",
        column: str = "",
        expired: Iterable[str] = (),
        correction: Iterable[str] = (),
    ) -> RecoveryPlan:
        """
        Return what must be done again after a dataset got a wrong version. Nothing is done.

        Args:
            thing: the dataset.
            version: the wrong version, as after the `@` of a thing; without any of these four, the newest one.
            run: the run that made it, or the beginning or the end of its id.
            batch: the micro-batch that made it.
            time: when it was current, as `as_of` in `upstream`.
            mode: `full`, `incremental` or `side-by-side`.
            column: the only column that is wrong; empty if all are.
            expired: versions that are gone from the storage.
            correction: the statements that put the right data in; none if a person does it.

        Raises:
            StoreError: nothing has this name, or several things have it; the wrong version, or one that expired, is not
                there; or the time can't be read.
        """
        when = time_of(time, datetime.now(timezone.utc)) if time else None
        facts, start, passes = read_facts(self._tables, thing, BadVersion(version, run, batch, when), column)
        gone = frozenset(expired)
        _refuse_unknown(gone, facts)
        return plan(facts, RecoveryRequest(start, Mode(mode), passes, gone, tuple(correction), bool(column)))


def _refuse_unknown(expired: frozenset[str], facts: Facts) -> None:
    """
    Refuse versions that no dataset of the recovery has: a plan would not heed them.

    Raises:
        StoreError: there is one.
    """
    made = [each for history in facts.histories.values() for each in history]
    unknown = sorted(expired - {version for each in made for version in (each.snapshot, each.parent)})
    if unknown:
        raise StoreError(f"no dataset that the recovery looks at has a version {' or '.join(unknown)}")


def time_or_now(text: str) -> int:
    """
    Return a time that people write, or the present one for an empty text, as microseconds since 1970.

    Raises:
        StoreError: the time can't be read.
    """
    now = datetime.now(timezone.utc)
    return time_of(text, now) if text else micros_of_time(now)


def limits(depth: int | None, as_of: str, *, direct: bool, ever: bool) -> Limits:
    """
    Return the limits of a question.

    Raises:
        StoreError: the time can't be read.
    """
    return Limits(depth, direct, time_of(as_of, datetime.now(timezone.utc)) if as_of else None, ever)
