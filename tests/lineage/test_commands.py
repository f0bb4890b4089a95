"""What a command on a table does to which dataset: made, moved, renamed, dropped, or nothing at all."""

from __future__ import annotations

import json
import time

import attrs
import pytest
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.analyze import analyzed_plan
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.limits import ProbeLimits


@pytest.fixture(scope="module")
def planned(session):
    """Give the plan of a statement or a frame that is not run."""
    probe = Probe(session.sparkContext._gateway, ProbeLimits())
    return lambda query: decode_plan(probe.encode(analyzed_plan(session, query), session._jsparkSession))


@pytest.fixture(scope="module")
def understood(planned):
    """Give what is understood of a statement or a frame that is not run."""

    def understood(query):
        plan = planned(query)
        return lineage_of_plan(plan, session_settings_of(plan, None))

    return understood


@pytest.fixture(scope="module")
def warehouse(session):
    return session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")


def one(plan_lineage):
    """Give the only thing that a command does: lifecycle, the dataset's name and its other one, the one before."""
    (output,) = plan_lineage.outputs
    write = output.write
    names = [link.name for link in write.dataset.symlinks]
    before = write.renamed_from.name if write.renamed_from is not None else None
    return write.lifecycle, write.dataset.identifier.name, names, before


def test_a_table_whose_location_is_set_is_what_lies_there(understood, tmp_path):
    found = understood(f"ALTER TABLE report SET LOCATION '{tmp_path}/moved here'")
    assert one(found) == ("ALTER", f"{tmp_path}/moved here", ["default.report"], None)
    assert [field.name for field in found.outputs[0].write.dataset.fields] == ["id", "name", "total"]


@pytest.mark.parametrize("place", ["a%20b", "{}/a%20b", "file:{}//a%20b/"])
def test_a_location_is_that_of_the_catalog_however_it_is_spelled(understood, warehouse, tmp_path, place):
    given = place.format(tmp_path)
    expected = f"{tmp_path if '{}' in place else warehouse}/a%20b"
    for statement in (f"ALTER TABLE report SET LOCATION '{given}'", f"CREATE TABLE odd LIKE report LOCATION '{given}'"):
        (output,) = understood(statement).outputs
        assert output.write.dataset.identifier.name == expected


def test_a_renamed_table_is_moved_by_the_catalog(session, understood, warehouse):
    session.sql("CREATE DATABASE IF NOT EXISTS other")
    session.sql("CREATE TABLE IF NOT EXISTS other.kept (id INT) USING parquet")
    found = understood("ALTER TABLE other.kept RENAME TO renamed")
    place = f"{warehouse}/other.db"
    assert one(found) == ("RENAME", f"{place}/renamed", ["other.renamed"], f"{place}/kept")
    assert [field.name for field in found.outputs[0].write.dataset.fields] == ["id"]


def test_a_renamed_external_table_stays_where_it_lies(session, understood, tmp_path):
    session.sql(f"CREATE TABLE IF NOT EXISTS outside (id INT) USING parquet LOCATION '{tmp_path}/outside'")
    found = understood("ALTER TABLE outside RENAME TO elsewhere")
    assert one(found) == ("RENAME", f"{tmp_path}/outside", ["default.elsewhere"], "default.outside")


def test_a_renamed_view_keeps_no_path(session, understood):
    session.sql("CREATE VIEW IF NOT EXISTS seen AS SELECT id FROM emp")
    assert one(understood("ALTER VIEW seen RENAME TO looked_at")) == ("RENAME", "default.looked_at", [], "default.seen")


def test_a_dropped_table_lies_where_the_catalog_says(session, understood, tmp_path):
    session.sql(f"CREATE TABLE IF NOT EXISTS away (id INT) USING parquet LOCATION '{tmp_path}/away'")
    assert one(understood("DROP TABLE away")) == ("DROP", f"{tmp_path}/away", ["default.away"], None)
    assert one(understood("DROP TABLE IF EXISTS away")) == ("DROP", f"{tmp_path}/away", ["default.away"], None)


def test_a_dropped_view_is_no_path(session, understood):
    session.sql("CREATE VIEW IF NOT EXISTS glimpsed AS SELECT id FROM emp")
    assert one(understood("DROP VIEW glimpsed")) == ("DROP", "default.glimpsed", [], None)


@pytest.mark.parametrize("statement", ["DROP TABLE IF EXISTS never_made", "DROP VIEW IF EXISTS never_made"])
def test_dropping_what_is_not_there_is_nothing(understood, statement):
    found = understood(statement)
    assert (found.outputs, found.quiet, found.gaps) == ((), True, ())


def test_a_table_that_is_there_is_not_made_again(understood, warehouse):
    assert one(understood("CREATE TABLE IF NOT EXISTS report (id INT) USING parquet"))[0] is None
    found = understood("CREATE TABLE IF NOT EXISTS never_made (id INT) USING parquet")
    assert one(found) == ("CREATE", f"{warehouse}/never_made", ["default.never_made"], None)


def test_a_table_that_is_there_is_not_made_again_like_another(session, understood):
    session.sql("CREATE TABLE IF NOT EXISTS twin LIKE emp")
    assert one(understood("CREATE TABLE IF NOT EXISTS twin LIKE emp"))[0] is None
    assert one(understood("CREATE TABLE IF NOT EXISTS never_made LIKE emp"))[0] == "CREATE"


@pytest.mark.parametrize(("seconds", "lifecycle"), [(-3600, "CREATE"), (3600, None)])
def test_a_table_is_made_like_another_if_it_is_not_older_than_the_statement(session, planned, seconds, lifecycle):
    session.sql("CREATE TABLE IF NOT EXISTS twin LIKE emp")
    plan = planned("CREATE TABLE IF NOT EXISTS twin LIKE emp")
    began = int((time.time() + seconds) * 1000)
    run = attrs.evolve(session_settings_of(plan, None), tables={}, began=began)
    assert one(lineage_of_plan(plan, run))[0] == lifecycle


def test_whether_a_query_is_written_to_a_new_table_alone_is_left_to_what_is_counted(understood):
    (unless_there,) = understood("CREATE TABLE IF NOT EXISTS report USING parquet AS SELECT id FROM emp").outputs
    (always,) = understood("CREATE TABLE never_made USING parquet AS SELECT id FROM emp").outputs
    assert (unless_there.write.lifecycle, unless_there.write.may_skip) == ("CREATE", True)
    assert (always.write.lifecycle, always.write.may_skip) == ("CREATE", False)


def test_a_table_of_another_catalog_has_the_columns_that_are_listed(understood):
    """Of Spark's own catalog for databases, where Derby in memory is one."""
    found = understood("CREATE TABLE shop.APP.MADE (id INT COMMENT 'key', name STRING)")
    fields = [(field.name, field.type, field.description) for field in found.outputs[0].write.dataset.fields]
    assert fields == [("id", "int", "key"), ("name", "string", None)]


@pytest.mark.parametrize("statement", ["SHOW TABLES", "CREATE TEMPORARY VIEW passing AS SELECT id FROM emp"])
def test_a_command_that_keeps_nothing_is_quiet(understood, statement):
    found = understood(statement)
    assert (found.outputs, found.inputs, found.quiet, found.gaps) == ((), (), True, ())


def test_directories_with_a_dot_in_their_names_are_each_a_dataset(session, understood, tmp_path):
    for name in ("sales.parquet", "returns.parquet"):
        session.range(3).write.parquet(str(tmp_path / name))
    found = understood(session.read.parquet(str(tmp_path / "sales.parquet"), str(tmp_path / "returns.parquet")))
    names = {dataset.identifier.name for dataset in found.inputs}
    assert names == {f"{tmp_path}/sales.parquet", f"{tmp_path}/returns.parquet"}


def test_files_that_a_wildcard_names_are_their_directory(session, understood, tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("1\n", "utf-8")
    found = understood(session.read.schema("x INT").csv(f"{tmp_path}/*.csv"))
    assert [dataset.identifier.name for dataset in found.inputs] == [str(tmp_path)]


def test_a_plan_that_is_cut_anywhere_tells_what_stands_before(session):
    """With the operators that compare their children: the target stands first, and is kept whatever is missing."""
    raw = Probe(session.sparkContext._gateway, ProbeLimits()).encode(
        analyzed_plan(
            session,
            "INSERT INTO report SELECT DISTINCT id, name, salary FROM (SELECT id, name, salary FROM emp "
            "EXCEPT SELECT id, name, salary FROM former INTERSECT SELECT budget, city, id FROM dept) WHERE id > 1",
        ),
        session._jsparkSession,
    )
    whole = json.loads(raw)
    for kept in range(1, len(whole["nodes"]) + 1):
        nodes = [node if at < kept else None for at, node in enumerate(whole["nodes"])]
        cut = kept < len(nodes)
        plan = decode_plan({**whole, "nodes": nodes, "cut": cut})
        found = lineage_of_plan(plan, session_settings_of(plan, None))
        assert [output.write.dataset.symlinks[0].name for output in found.outputs] == ["default.report"]
        assert [remark.task for remark in found.gaps if remark.task == "plan"] == ["plan"] * cut
    assert [dataset.symlinks[0].name for dataset in found.inputs] == ["default.emp", "default.former", "default.dept"]


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("RENAME COLUMN NAME TO title", [("ID", "int", None), ("title", "string", None), ("PAY", "int", None)]),
        (
            "ADD COLUMNS (since DATE COMMENT 'first day')",
            [("ID", "int", None), ("NAME", "string", None), ("PAY", "int", None), ("since", "date", "first day")],
        ),
        ("DROP COLUMNS (ID, PAY)", [("NAME", "string", None)]),
        ("ALTER COLUMN PAY TYPE BIGINT", [("ID", "int", None), ("NAME", "string", None), ("PAY", "bigint", None)]),
        ("ALTER COLUMN PAY COMMENT 'gross'", [("ID", "int", None), ("NAME", "string", None), ("PAY", "int", "gross")]),
        ("REPLACE COLUMNS (only STRING)", [("only", "string", None)]),
    ],
)
def test_an_altered_table_of_a_v2_catalog_has_its_columns_after_the_change(session, understood, change, columns):
    session.sql("CREATE TABLE IF NOT EXISTS shop.APP.ALTERED (ID INT, NAME STRING, PAY INT)")
    found = understood(f"ALTER TABLE shop.APP.ALTERED {change}")
    assert one(found)[0] == "ALTER"
    assert [(f.name, f.type, f.description) for f in found.outputs[0].write.dataset.fields] == columns
