"""Tables of catalogs: where a statement that makes or drops one can't tell its location, another one does."""

from __future__ import annotations

from typing import Any

import pytest
from support.assembled import Assembled

COMMAND = "org.apache.spark.sql.execution.command"
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
SESSION_CATALOG = {"o": "org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog", "name": "spark_catalog"}
DELTA_CATALOG = {"o": "org.apache.spark.sql.delta.catalog.DeltaCatalog", "name": "spark_catalog"}
ICEBERG_CATALOG = {"o": "org.apache.iceberg.spark.SparkCatalog", "name": "ice"}


def plan(*nodes: tuple[str, dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Give an encoded plan: of each node the class, the arguments and the readings."""
    return {
        "classes": [[name, "P", list(arguments)] for name, arguments, _ in nodes],
        "types": [],
        "attributes": [],
        "session": {"warehouse": "file:/warehouse", "catalog": "in-memory"},
        "cut": False,
        "nodes": [[at, [], list(arguments.values()), further] for at, (_, arguments, further) in enumerate(nodes)],
    }


def identifier(table: str) -> dict[str, Any]:
    return {"o": "org.apache.spark.sql.catalyst.TableIdentifier", "table": table, "database": "default"}


def metadata(table: str, place: str) -> dict[str, Any]:
    return {
        "o": "org.apache.spark.sql.catalyst.catalog.CatalogTable",
        "identifier": identifier(table),
        "kind": "EXTERNAL",
        "locationUri": f"file:{place}",
    }


def created(table: str, place: str) -> dict[str, Any]:
    arguments = {"table": metadata(table, place), "ignoreIfExists": False}
    return plan((f"{COMMAND}.CreateDataSourceTableCommand", arguments, {}))


def dropped(
    table: str, *, if_exists: bool = True, view: bool = False, found: dict[str, Any] | None = None
) -> dict[str, Any]:
    arguments = {"tableName": identifier(table), "ifExists": if_exists, "isView": view, "purge": False}
    readings = {"tableMetadata": found, "tableIdentifier": identifier(table), "tablePath": f"file:/warehouse/{table}"}
    return plan((f"{COMMAND}.DropTableCommand", arguments, readings))


def dropped_v2(
    table: str,
    *,
    if_exists: bool = True,
    catalog: dict[str, Any] = SESSION_CATALOG,
    found: dict[str, Any] | None = None,
) -> dict[str, Any]:
    name = {"o": "org.apache.spark.sql.connector.catalog.IdentifierImpl", "name": table, "namespace": ["default"]}
    further = {"tableMetadata": found, "tablePath": f"file:/warehouse/{table}"} if "Session" in catalog["o"] else {}
    return plan(
        (f"{LOGICAL}.DropTable", {"child": -1, "ifExists": if_exists, "purge": False}, {}),
        (
            "org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier",
            {"catalog": catalog, "identifier": name},
            further,
        ),
    )


class Application:
    """An application whose statements run one after the other."""

    def __init__(self) -> None:
        self._assembled = Assembled()
        self._executions = 0

    def run(
        self, encoded: dict[str, Any], *gone: str, late: bool = False, inside: dict[str, Any] | None = None, **end: Any
    ) -> list[Any]:
        """
        Run a statement, in which Spark drops what is `gone`.

        Args:
            encoded: its plan.
            gone: tables.
            late: whether its plan comes with its end.
            inside: the plan of a nested execution.
            end: more keys of its end.
        """
        self._executions += 1
        id_ = self._executions
        plan = {"plan": encoded, "class": encoded["classes"][0][0], "command": True}
        begin = {"k": "start", "id": id_, "root": id_, "time": 1000 * id_, **({} if late else plan)}
        states = self._assembled.feed(begin)
        if inside is not None:
            own = {"plan": inside, "class": inside["classes"][0][0], "command": True}
            states += self._assembled.feed({"k": "start", "id": 100, "root": id_, "time": 1000 * id_ + 1, **own})
            states += self._assembled.feed({"k": "end", "id": 100, "time": 1000 * id_ + 2})
        for table in gone:
            states += self._assembled.feed({"k": "table_dropped", "database": "default", "table": table})
        return states + self._assembled.feed(
            {"k": "end", "id": id_, "time": 1000 * id_ + 5, **(plan if late else {}), **end}
        )


def told(states: list[Any]) -> list[tuple[str, int, list[tuple[str, str | None]], list[str]]]:
    """Give of each state its type, its time, what becomes of which dataset, and its remarks."""
    return [
        (
            state.event_type,
            round(state.event_time.timestamp() * 1000),
            [(output.dataset.identifier.name, output.lifecycle) for output in state.outputs],
            [gap.message for gap in state.gaps],
        )
        for state in states
    ]


def both(id_: int, name: str, *remarks: str) -> list[tuple[str, int, list[tuple[str, str | None]], list[str]]]:
    outputs: list[tuple[str, str | None]] = [(name, "DROP")]
    return [
        ("START", 1000 * id_, outputs, list(remarks)),
        ("COMPLETE", 1000 * id_ + 5, outputs, list(remarks)),
    ]


GONE = "the table was no longer in the catalog when it was looked up: its location is assumed to be the default one"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("if_exists", [False, True])
@pytest.mark.parametrize("drop", [dropped, dropped_v2])
def test_a_table_that_the_catalog_has_forgotten_lies_where_it_was_created(
    drop: Any, *, if_exists: bool, late: bool
) -> None:
    application = Application()
    application.run(created("t", "/lake/t"))
    assert told(application.run(drop("t", if_exists=if_exists), "t", late=late)) == both(2, "/lake/t")


@pytest.mark.parametrize("drop", [dropped, dropped_v2])
def test_a_table_that_nobody_has_used_is_taken_to_lie_where_the_catalog_puts_it(drop: Any) -> None:
    assert told(Application().run(drop("t"), "t")) == both(1, "/warehouse/t", GONE)


@pytest.mark.parametrize("drop", [dropped, dropped_v2])
def test_what_was_not_there_is_not_told(drop: Any) -> None:
    assert Application().run(drop("t")) == []


@pytest.mark.parametrize("drop", [dropped, dropped_v2])
def test_a_table_that_was_made_afterwards_is_not_the_one_that_was_to_be_dropped(drop: Any) -> None:
    """The catalog is asked late, and has a new table of the same name by then."""
    assert Application().run(drop("t", found=metadata("t", "/lake/new"))) == []

    application = Application()
    application.run(created("t", "/lake/old"))
    assert told(application.run(drop("t", found=metadata("t", "/lake/new")), "t")) == both(2, "/lake/old")


def test_a_table_that_was_dropped_is_forgotten() -> None:
    application = Application()
    application.run(created("t", "/lake/t"))
    application.run(dropped("t"), "t")
    assert told(application.run(dropped("t"), "t")) == both(3, "/warehouse/t", GONE)


def test_a_table_whose_creation_failed_is_not_remembered() -> None:
    application = Application()
    application.run(created("t", "/lake/t"), error={"class": "x.Error", "message": "no", "stack": ""})
    assert told(application.run(dropped("t"), "t")) == both(2, "/warehouse/t", GONE)


def test_the_name_of_a_table_is_the_same_in_any_case() -> None:
    application = Application()
    application.run(created("SavedTable", "/lake/t"))
    states = application.run(dropped("savedtable"), "savedtable")
    assert told(states) == both(2, "/lake/t")
    assert states[0].job.name.endswith(".default_savedtable")


def test_a_view_has_no_path() -> None:
    assert told(Application().run(dropped("v", view=True), "v")) == both(1, "default.v")
    assert Application().run(dropped("v", view=True)) == []


def test_a_drop_that_fails_is_told() -> None:
    failed = Application().run(dropped("t"), error={"class": "x.Error", "message": "no", "stack": ""})
    assert [state.event_type for state in failed] == ["START", "FAIL"]


def test_another_table_that_goes_at_the_same_time_is_not_the_one() -> None:
    assert Application().run(dropped("t"), "u") == []


@pytest.mark.parametrize("if_exists", [False, True])
def test_where_a_catalog_does_not_tell_whether_there_was_a_table_the_drop_says_so(*, if_exists: bool) -> None:
    remarks = ["this catalog does not report whether the table existed"] if if_exists else []
    found = Application().run(dropped_v2("t", if_exists=if_exists, catalog=ICEBERG_CATALOG))
    assert told(found) == both(1, "default.t", *remarks)


def test_in_a_session_catalog_that_reports_no_drops_nothing_is_told_of_what_may_not_be_there() -> None:
    assert Application().run(dropped_v2("t", catalog={**DELTA_CATALOG, "o": "DeltaSessionCatalog"})) == []


def test_a_database_takes_the_tables_with_it_that_were_used() -> None:
    application = Application()
    application.run(created("a", "/lake/a"))
    application.run(created("b", "/lake/b"))
    drop = plan((f"{COMMAND}.DropDatabaseCommand", {"databaseName": "default", "ifExists": True, "cascade": True}, {}))
    remark = "only those tables of the database are known that the application has used"
    outputs: list[tuple[str, str | None]] = [("/lake/a", "DROP"), ("/lake/b", "DROP")]
    assert told(application.run(drop)) == [("START", 3000, outputs, [remark]), ("COMPLETE", 3005, outputs, [remark])]
    assert application.run(drop) == []


def made(command: str, table: str) -> dict[str, Any]:
    """Give the plan of a statement that makes a table in a catalog of Iceberg, with or without a query."""
    name = {"o": "org.apache.spark.sql.connector.catalog.IdentifierImpl", "name": table, "namespace": ["default"]}
    resolved = "org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier"
    query = {"query": -2} if command.endswith("AsSelect") else {}
    return plan(
        (f"{LOGICAL}.{command}", {"name": -1, **query}, {}),
        (resolved, {"catalog": ICEBERG_CATALOG, "identifier": name}, {}),
        (f"{LOGICAL}.OneRowRelation", {}, {}),
    )


def filled(table: str, place: str) -> dict[str, Any]:
    """Give the plan of the write inside of such a statement."""
    name = {"o": "org.apache.spark.sql.connector.catalog.IdentifierImpl", "name": table, "namespace": ["default"]}
    kept = {"o": "org.apache.iceberg.spark.source.SparkTable", "name": f"ice.default.{table}", "location": place}
    relation = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
    return plan(
        (f"{LOGICAL}.AppendData", {"table": -1, "query": -2, "isByName": False}, {}),
        (relation, {"table": kept, "catalog": ICEBERG_CATALOG, "identifier": name}, {}),
        (f"{LOGICAL}.OneRowRelation", {}, {}),
    )


def names(states: list[Any]) -> list[tuple[str, list[str], list[str]]]:
    """Give of each state its type, the names of its outputs, and those of their symlinks."""
    return [
        (
            state.event_type,
            [f"{o.dataset.identifier.namespace} {o.dataset.identifier.name}" for o in state.outputs],
            [f"{link.namespace} {link.name}" for o in state.outputs for link in o.dataset.symlinks],
        )
        for state in states
    ]


LINKS = ["ice default.t"]


@pytest.mark.parametrize("command", ["CreateTableAsSelect", "ReplaceTableAsSelect"])
def test_a_table_that_a_query_makes_is_named_at_the_end_as_later_statements_name_it(command: str) -> None:
    application = Application()
    states = application.run(made(command, "t"), inside=filled("t", "/lake/default/t"))
    assert names(states) == [("START", ["ice default.t"], []), ("COMPLETE", ["file /lake/default/t"], LINKS)]
    assert [output.lifecycle for state in states for output in state.outputs] == [
        "CREATE" if command.startswith("Create") else "OVERWRITE"
    ] * 2
    assert len({state.job.name for state in states}) == 1


def test_a_dropped_table_of_such_a_catalog_lies_where_it_was_made() -> None:
    application = Application()
    application.run(made("CreateTableAsSelect", "t"), inside=filled("t", "/lake/default/t"))
    states = application.run(dropped_v2("t", catalog=ICEBERG_CATALOG))
    assert names(states) == [(event, ["file /lake/default/t"], LINKS) for event in ("START", "COMPLETE")]


def test_another_write_inside_is_one_more_output() -> None:
    states = Application().run(made("CreateTableAsSelect", "t"), inside=filled("u", "/lake/default/u"))
    assert [name for name, *_ in [outputs for _, outputs, _ in names(states)]] == ["ice default.t", "ice default.t"]
    assert names(states)[1][1] == ["ice default.t", "file /lake/default/u"]


@pytest.mark.parametrize(
    ("end", "lifecycle", "columns", "remarks"),
    [
        ({"made": True}, "CREATE", ["a"], []),
        ({"made": False}, None, [], []),
        ({}, None, [], ["this catalog does not report whether the table was there before"]),
        ({"error": {"class": "x.Error", "message": "no", "stack": ""}}, "CREATE", ["a"], []),
    ],
)
def test_a_table_that_is_made_unless_it_is_there_is_made_if_the_catalog_says_so_at_the_end(
    end: dict[str, Any], lifecycle: str | None, columns: list[str], remarks: list[str]
) -> None:
    schema = '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}'
    name = {"o": "org.apache.spark.sql.connector.catalog.IdentifierImpl", "name": "t", "namespace": ["default"]}
    create = plan(
        (f"{LOGICAL}.CreateTable", {"name": -1, "tableSchema": schema, "ignoreIfExists": True}, {}),
        (
            "org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier",
            {"catalog": ICEBERG_CATALOG, "identifier": name},
            {},
        ),
    )
    application = Application()
    begun, ended = application.run(create, **end)

    assert told([begun])[0][2:] == ([("default.t", "CREATE")], [])
    assert told([ended])[0][2:] == ([("default.t", lifecycle)], remarks)
    assert [field.name for field in ended.outputs[0].dataset.fields] == columns
    again = application.run(create, made=True)
    assert [state.outputs[0].lifecycle for state in again] == (["CREATE", "CREATE"] if "error" in end else [None, None])
