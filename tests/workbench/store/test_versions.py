"""Versions: their order, who read and made them, and what comes from what, against a plain graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx
import pytest
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.questions.reach.reach import Direction
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.version_reach import reach_versions
from openlineage_pyspark.workbench.questions.versions.versions import RunPart, VersionKey, VersionKind
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.names import DroppedRuns
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import Content, at, company_of_versions, dataset, run_event, symlink, taken
from support.reached import versions_of

Know = Callable[..., StoredVersions]


@pytest.fixture
def know(tmp_path: Path) -> Iterator[Know]:
    """Return a function that makes a store of events, and returns its versions."""
    databases: list[Database] = []

    def make(*events: dict[str, Any], **options: bool) -> StoredVersions:
        taken(tmp_path / "store.db", list(events))
        databases.append(Database(tmp_path / "store.db", read_only=True))
        return StoredVersions(databases[-1], **options)

    yield make
    for database in databases:
        database.close()


def id_of(name: str) -> int:
    """Return the id of a made-up dataset."""
    return identity("dataset", "lake", name)


def version(number: str, parent: str = "", **facets: Any) -> dict[str, Any]:
    """Return the facets of a dataset with a version."""
    snapshot = {"versions": [number], **({"parent": parent} if parent else {})}
    return {"version": {"datasetVersion": number}, "pyspark_snapshot": snapshot, **facets}


def change(what: str) -> dict[str, Any]:
    """Return the facet of a dataset's change."""
    return {"lifecycleStateChange": {"lifecycleStateChange": what}}


def reference(
    graph: networkx.DiGraph[Content], start: tuple[str, str], direction: Direction, depth: int | None
) -> dict[VersionKey, int]:
    """Return what the plain graph reaches from a version, with the distances."""
    down = direction is Direction.DOWNSTREAM
    ways = graph if down else graph.reverse()
    begin = (*start, "added" if down else "all")
    reached = networkx.single_source_dijkstra_path_length(ways, begin, cutoff=depth)
    depths: dict[VersionKey, int] = {}
    for (table, id_, _), far in reached.items():
        key = VersionKey(id_of(table), id_)
        depths[key] = min(int(far), depths.get(key, int(far)))
    return depths


@pytest.mark.slow
@pytest.mark.parametrize("depth", [None, 1])
@pytest.mark.parametrize("seed", range(6))
def test_versions_up_and_down_are_those_of_a_plain_graph(know: Know, seed: int, depth: int | None) -> None:
    events, graph = company_of_versions(seed)
    versions = know(*events)
    for table, id_ in sorted({content[:2] for content in graph}):
        for direction in Direction:
            found = reach_versions(versions, [VersionKey(id_of(table), id_)], direction, depth=depth)
            assert found.depths == reference(graph, (table, id_), direction, depth), (table, id_, direction)


def test_what_one_question_reads_is_independent_of_the_number_of_versions(tmp_path: Path) -> None:
    counts = []
    for steps in (60, 240):
        events, _ = company_of_versions(1, steps=steps)
        path = tmp_path / f"{steps}.db"
        taken(path, events)
        with Database(path, read_only=True) as database:
            asked = _Counted(database)
            reach_versions(StoredVersions(asked), [VersionKey(id_of("t1"), "0")], Direction.DOWNSTREAM, depth=2)
            counts.append(asked.count)
    assert counts[0] == counts[1]


class _Counted:
    """Counts the queries that it passes on."""

    damage = ""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.count = 0

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        self.count += 1
        return self._database.query(sql, parameters)

    def dropped(self) -> list[DroppedRuns]:
        self.count += 1
        return self._database.dropped()


def test_a_version_is_that_of_the_storage_else_the_run_that_wrote_it(know: Know) -> None:
    versions = know(
        run_event("load", "COMPLETE", 1, run="r1", outputs=(dataset("a", **version("7")), dataset("b"))),
        run_event("load", "FAIL", 2, run="r2", outputs=(dataset("b"),)),
        run_event("load", "COMPLETE", 3, run="r3", outputs=(dataset("b", **change("OVERWRITE")),)),
    )
    (stored,) = versions.of(id_of("a"))
    assert (stored.id, stored.kind, stored.run_id, stored.batch_id) == ("7", VersionKind.STORAGE, "r1", -1)
    first, second = versions.of(id_of("b"))
    assert (first.id, first.kind, first.time, first.keeps) == ("r1", VersionKind.RUN, microseconds(at(1)), False)
    assert (second.id, second.parent, second.parent_inferred, second.keeps) == ("r3", "r1", True, False)


def test_an_overwrite_may_be_taken_to_keep_rows(know: Know) -> None:
    versions = know(
        run_event("load", "COMPLETE", 1, run="r1", outputs=(dataset("b"),)),
        run_event("load", "COMPLETE", 3, run="r3", outputs=(dataset("b", **change("OVERWRITE")),)),
        overwrites_replace=False,
    )
    assert [each.keeps for each in versions.of(id_of("b"))] == [False, True]


def test_versions_stand_after_their_parents_and_were_there_before_later_ones(know: Know) -> None:
    versions = know(
        run_event("a", "COMPLETE", 1, run="r1", outputs=(dataset("t", **version("30")),)),
        run_event("b", "COMPLETE", 9, run="r2", outputs=(dataset("t", **version("20", "30")),)),
        run_event("c", "COMPLETE", 5, run="r3", outputs=(dataset("t", **version("10", "20")),)),
        run_event("d", "COMPLETE", 6, run="r4", outputs=(dataset("t", **version("5", "99")),)),
    )
    found = versions.of(id_of("t"))
    assert [(each.id, each.parent, each.storage_parent) for each in found] == [
        ("30", "", ""),
        ("20", "30", "30"),
        ("10", "20", "20"),
        ("5", "10", "99"),
    ]
    assert [each.time for each in found] == [microseconds(at(minute)) for minute in (1, 5, 5, 6)]
    current = versions.current(id_of("t"), microseconds(at(5)))
    assert current is not None
    assert current.id == "10"
    assert versions.current(id_of("t"), microseconds(at(0))) is None


def test_versions_whose_parents_go_round_in_a_circle_are_in_order_of_time(know: Know) -> None:
    versions = know(
        run_event("a", "COMPLETE", 1, outputs=(dataset("t", **version("1", "2")),)),
        run_event("b", "COMPLETE", 2, outputs=(dataset("t", **version("2", "1")),)),
        run_event("c", "COMPLETE", 3, outputs=(dataset("t", **version("3", "2")),)),
    )
    assert [each.id for each in versions.of(id_of("t"))] == ["1", "2", "3"]


def test_a_read_without_a_version_is_of_the_one_that_was_current_when_the_run_began(know: Know) -> None:
    versions = know(
        run_event("load", "COMPLETE", 1, run="w1", outputs=(dataset("s"),)),
        run_event("use", "START", 2, run="r", inputs=(dataset("s"), dataset("never"))),
        run_event("load", "COMPLETE", 3, run="w2", outputs=(dataset("s"),)),
        run_event("use", "COMPLETE", 4, run="r", inputs=(dataset("s"), dataset("never")), outputs=(dataset("t"),)),
    )
    reads = versions.read_by([RunPart("r", -1)])[RunPart("r", -1)]
    found = {read.version: (read.inferred, read.time) for read in reads}
    begun = microseconds(at(2))
    assert found == {(id_of("s"), "w1"): (True, begun), (id_of("never"), ""): (True, begun)}
    assert [read.part for read in versions.readers([VersionKey(id_of("s"), "w1")])[VersionKey(id_of("s"), "w1")]] == [
        ("r", -1)
    ]
    assert versions.readers([VersionKey(id_of("s"), "w2")]) == {VersionKey(id_of("s"), "w2"): ()}
    (edge,) = versions.used([(VersionKey(id_of("s"), "w1"), True)])
    assert (edge.target, edge.part, edge.inferred, edge.kept) == ((id_of("t"), "r"), ("r", -1), True, False)


def test_a_run_that_reads_what_it_writes_read_the_version_before(know: Know) -> None:
    versions = know(
        run_event("load", "COMPLETE", 1, run="w1", outputs=(dataset("s"),)),
        run_event("merge", "COMPLETE", 2, run="w2", inputs=(dataset("s"),), outputs=(dataset("s"),)),
    )
    (read,) = versions.read_by([RunPart("w2", -1)])[RunPart("w2", -1)]
    assert read.version == (id_of("s"), "w1")
    assert versions.made_by([RunPart("w2", -1), RunPart("w1", -1), RunPart("other", -1)]) == {
        ("w1", -1): ((id_of("s"), "w1"),),
        ("w2", -1): ((id_of("s"), "w2"),),
    }


def test_other_names_and_other_tellers_of_a_version_make_no_second_one(know: Know) -> None:
    other = dataset("db.t", namespace="catalog", **version("7"))
    versions = know(
        run_event("task", "COMPLETE", 2, run="task", outputs=(other,)),
        run_event("load", "RUNNING", 1, run="r", outputs=(dataset("t", symlinks=symlink("db.t")),)),
        run_event("load", "COMPLETE", 1, run="r", outputs=(dataset("t", **version("7"), symlinks=symlink("db.t")),)),
    )
    (only,) = versions.of(id_of("t"))
    assert (only.id, only.parts, only.time) == ("7", (("r", -1), ("task", -1)), microseconds(at(1)))


def test_a_version_that_was_only_read_is_known_without_a_run(know: Know) -> None:
    versions = know(
        run_event("use", "COMPLETE", 4, run="r", inputs=(dataset("s", **version("5")),), outputs=(dataset("t"),))
    )
    (only,) = versions.of(id_of("s"))
    assert (only.id, only.kind, only.parts, only.time) == ("5", VersionKind.STORAGE, (), microseconds(at(4)))
    assert versions.get(VersionKey(id_of("s"), "6")).kind is VersionKind.UNKNOWN


def batch_read(versions_of_source: list[dict[str, Any]], **source: Any) -> list[dict[str, Any]]:
    """Return the events of a table's versions and of one micro-batch that reads some of them."""
    made = [
        run_event("load", "COMPLETE", number, run=f"w{number}", outputs=(dataset("s", **facets),))
        for number, facets in enumerate(versions_of_source)
    ]
    read = {"namespace": "lake", "name": "s", "from": None, "to": None, **source}
    batch = {"batchId": 4, "time": at(50), "sources": [read], "sinks": [{"namespace": "lake", "name": "t"}]}
    stream = run_event(
        "stream",
        "RUNNING",
        60,
        run="q",
        inputs=(dataset("s"),),
        outputs=(dataset("t"),),
        pyspark_micro_batches={"queryId": "q", "batches": [batch]},
    )
    return [*made, stream]


DELTA = [version(str(number)) for number in range(12)]
ICEBERG = [version("50"), version("30", "50"), version("40", "30"), version("20", "40")]


@pytest.mark.parametrize(
    ("made", "source", "read", "added"),
    [
        (
            DELTA,
            {"from": '{"reservoirVersion":9,"index":-1}', "to": '{"reservoirVersion":12,"index":-1}', "version": "11"},
            ["9", "10", "11"],
            True,
        ),
        (
            DELTA,
            {"from": '{"reservoirVersion":9,"index":3}', "to": '{"reservoirVersion":9,"index":7}', "version": "9"},
            ["9"],
            True,
        ),
        (DELTA, {"to": '{"reservoirVersion":5,"index":-1}', "version": "4"}, ["4"], False),
        (
            DELTA,
            {
                "from": '{"reservoirVersion":4,"index":3,"isStartingVersion":true}',
                "to": '{"reservoirVersion":5,"index":-1}',
                "version": "4",
            },
            ["4"],
            False,
        ),
        (
            ICEBERG,
            {"from": '{"snapshot_id":50,"position":2}', "to": '{"snapshot_id":40,"position":1}', "version": "40"},
            ["30", "40"],
            True,
        ),
        (
            ICEBERG,
            {"from": '{"snapshot_id":30,"position":1}', "to": '{"snapshot_id":30,"position":2}', "version": "30"},
            ["30"],
            True,
        ),
        (ICEBERG, {"from": '{"snapshot_id":99,"position":1}', "version": "30"}, ["50", "30"], True),
        (ICEBERG, {"from": '{"topic":{"0":3}}', "version": "30"}, ["30"], False),
        (ICEBERG, {"from": "no JSON", "version": "30"}, ["30"], False),
    ],
)
def test_a_micro_batch_read_the_versions_between_its_offsets(
    know: Know, made: list[dict[str, Any]], source: dict[str, Any], read: list[str], *, added: bool
) -> None:
    versions = know(*batch_read(made, **source))
    found = versions.read_by([RunPart("q", 4)])[RunPart("q", 4)]
    assert sorted(each.version[1] for each in found) == sorted(read)
    assert {(each.added, each.inferred) for each in found} == {(added, False)}
    assert versions.made_by([RunPart("q", 4)]) == {("q", 4): ((id_of("t"), "q/4"),)}


def test_what_a_stream_has_read_before_does_not_arrive_again(know: Know) -> None:
    offsets = {"from": '{"snapshot_id":30,"position":1}', "version": "40"}
    versions = know(*batch_read(ICEBERG, **offsets))

    def downstream(id_: str) -> set[str]:
        reached = reach_versions(versions, [VersionKey(id_of("s"), id_)], Direction.DOWNSTREAM).depths
        return {id_ for dataset_id, id_ in reached if dataset_id == id_of("t")}

    assert downstream("30") == set()
    assert downstream("40") == {"q/4"}


@pytest.mark.parametrize("rows", [None, 0])
def test_a_commit_that_did_not_happen_is_no_version(filled: Callable[..., Store], rows: int | None) -> None:
    """An UPDATE that finds no row commits nothing: its event has the table as an output, without a version."""
    counted = {} if rows is None else {"outputFacets": {"outputStatistics": {"rowCount": rows}}}
    update = {**dataset("d"), **counted}
    store = filled(
        run_event("create", "COMPLETE", 1, outputs=(dataset("d", **version("0")),)),
        run_event("insert", "COMPLETE", 2, outputs=(dataset("d", **version("1", "0")),)),
        run_event("update", "COMPLETE", 3, inputs=(dataset("d", **version("1")),), outputs=(update,)),
    )
    assert [line.version for line in store.history("d").result] == ["1", "0"]
    assert store.sql("SELECT snapshot_id FROM sink_snapshot_lineage ORDER BY 1").table()[1] == [("0",), ("1",)]
    assert store.sql("SELECT version FROM dataset_version ORDER BY 1").table()[1] == [("0",), ("1",)]


def test_a_write_without_a_version_that_wrote_rows_or_read_no_version_is_one(filled: Callable[..., Store]) -> None:
    written = {**dataset("d"), "outputFacets": {"outputStatistics": {"rowCount": 3}}}
    store = filled(
        run_event("create", "COMPLETE", 1, outputs=(dataset("d", **version("0")),)),
        run_event("rows", "COMPLETE", 2, run="r-2", inputs=(dataset("d", **version("0")),), outputs=(written,)),
        run_event("foreign", "COMPLETE", 3, run="r-3", outputs=(dataset("d"),)),
        run_event("drop", "COMPLETE", 4, run="r-4", inputs=(dataset("d", **version("0")),),
                  outputs=(dataset("d", lifecycleStateChange={"lifecycleStateChange": "DROP"}),)),
    )  # fmt: skip
    assert [line.version for line in store.history("d").result] == ["r-4", "r-3", "r-2", "0"]


ENDS = [version("s1"), version("s2", "s1"), version("s3", "s2"), version("s4", "s3"), version("s5", "s4")]


def offset(snapshot: str, position: int) -> str:
    return f'{{"version":1,"snapshot_id":"{snapshot}","position":{position},"scan_all_files":false}}'


@pytest.mark.parametrize(
    ("begin", "end", "read"),
    [
        (None, offset("s2", 0), ["s1"]),
        (None, offset("s1", 0), []),
        (None, offset("s2", 1), ["s2"]),
        (offset("s2", 0), offset("s3", 0), ["s2"]),
        (offset("s2", 0), offset("s2", 1), ["s2"]),
        (offset("s3", 0), offset("s5", 0), ["s3", "s4"]),
        (offset("s2", 1), offset("s5", 0), ["s3", "s4"]),
        (offset("s2", 1), offset("s5", 1), ["s3", "s4", "s5"]),
        (offset("s5", 0), offset("s5", 0), []),
        (offset("s5", 1), offset("s5", 1), []),
        (offset("s9", 0), offset("s9", 1), ["s9"]),
        ('{"t":{"0":5}}', '{"t":{"0":5}}', []),
        ('{"reservoirVersion":3,"index":-1}', '{"reservoirVersion":3,"index":-1}', []),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_offsets_tell_what_a_micro_batch_read_to_questions_and_to_sql_alike(
    filled: Callable[..., Store], begin: str | None, end: str, read: list[str], *, named: bool
) -> None:
    """An offset of Iceberg at which nothing of a snapshot is done is the end of the snapshot before it."""
    done = begin == end or '"position":0' not in end
    source = {"version": end.split('"')[5]} if named and done and "snapshot_id" in end else {}
    store = filled(*batch_read(ENDS, **{"from": begin, "to": end}, **source))
    rows = store.sql("SELECT snapshot_id, inferred FROM source_snapshot_lineage WHERE batch_id = 4 ORDER BY 1").table()[
        1
    ]
    assert rows == [(each, 0) for each in read]
    answers = versions_of(store.upstream("t@q/4", depth=1), "s")
    assert set(read) <= answers if read else answers == set()


def _lives() -> list[dict[str, Any]]:
    """Return the events of a table of Delta Lake that is dropped, and made again with the same numbers."""
    events = []
    for life, minute in ((1, 0), (2, 10)):
        for number in range(3):
            made = dataset("d", **version(str(number), str(number - 1) if number else ""))
            events.append(
                run_event(f"make{number}", "COMPLETE", minute + number, run=f"w{life}{number}", outputs=(made,))
            )
        read = (dataset("d", **version("1")),)
        copied = (dataset("c", **change("OVERWRITE")),)
        events.append(run_event("copy", "COMPLETE", minute + 5, run=f"copy{life}", inputs=read, outputs=copied))
        if life == 1:
            events.append(run_event("drop", "COMPLETE", 7, run="drop", outputs=(dataset("d", **change("DROP")),)))
    return events


def test_a_table_that_was_dropped_and_made_again_is_another_one(filled: Callable[..., Store]) -> None:
    store = filled(*_lives())
    assert [(line.version, line.run_id) for line in store.history("d").result] == [
        *[("2", "w22"), ("1", "w21"), ("0", "w20"), ("drop", "drop")],
        *[("2~1", "w12"), ("1~1", "w11"), ("0~1", "w10")],
    ]
    assert [line.parent for line in store.history("d").result] == ["1", "0", "drop", "2~1", "1~1", "0~1", ""]
    copies = versions_of(store.downstream("d@1"), "c")
    assert copies == {"copy2"}
    former = versions_of(store.downstream("d@1~1"), "c")
    assert former == {"copy1"}
    assert versions_of(store.upstream("c@copy1"), "d") >= {"1~1"}


def test_a_drop_without_a_second_life_renames_no_version(filled: Callable[..., Store]) -> None:
    store = filled(*_lives()[:5])
    assert [line.version for line in store.history("d").result] == ["drop", "2", "1", "0"]


def test_a_recovery_looks_at_the_life_of_the_table_that_is_meant(filled: Callable[..., Store]) -> None:
    plan = filled(*_lives()).recover("d", version="1").result
    assert [each.bad for each in plan.datasets] == [("1", "2"), ("copy2",)]
