"""Every text of an event passes one place, where secrets leave it, and literals where that is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.dataset import accepted_namespace
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import Contribution
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation, Wording
from openlineage_pyspark.facets.model.run import Engine, Failure, Gap, RunInput, RunOutput
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.run import RunState

URL = "https://alice:s3cr3t@host/x"
KNOWN = "k9-known-value"
SOURCE = Identifier("file", "/data/source")


def test_a_setting_is_shown_only_with_a_value_of_the_list(full_run: tuple[RunState, RunState]) -> None:
    settings = (
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.session.timeZone", f"password={KNOWN}"),
        ("spark.sql.storeAssignmentPolicy", "hunter2"),
        ("spark.hadoop.fs.s3a.secret.key", "x"),
    )
    state = attrs.evolve(full_run[1], session=StatementSession(settings, KNOWN, "mart"))
    shown = redacted(state, Redaction(known=(KNOWN,))).session

    assert shown is not None
    assert shown.settings == (("spark.sql.ansi.enabled", "false"),)
    assert (KNOWN in shown.catalog, shown.schema) == (False, "mart")


@pytest.fixture
def state(full_run: tuple[RunState, RunState]) -> RunState:
    """Give a failed run with a secret in each of its texts, and with a plain literal where there may be one."""
    table = Dataset(
        SOURCE,
        (Field("id", "bigint", f"from {URL} or plain"), Field("s", "struct", fields=(Field("a", "int", f"of {URL}"),))),
        description=f"filled with password=s3cr3t, {KNOWN}, plain",
    )
    ways = (
        Transformation("DIRECT", "TRANSFORMATION", f"concat(id, '{URL}', 'plain')"),
        Transformation("INDIRECT", "CONDITIONAL", f"(a = '{KNOWN}')"),
    )
    lineage = ColumnLineage(
        (OutputColumn("id", (InputField(SOURCE, "id", ways),)),), (InputField(SOURCE, "id", ways[:1]),)
    )
    return attrs.evolve(
        full_run[1],
        job=attrs.evolve(
            full_run[1].job, sql=f"CREATE TABLE t OPTIONS (vault 's3cr3t') AS SELECT '{URL}', 'plain' -- s3cr3t"
        ),
        engine=Engine(
            "4.3.0",
            application=(("master", f"k8s://{URL}"), ("appName", f"app {KNOWN}")),
            properties=(("spark.shop.password", "s3cr3t"), ("spark.shop.url", URL), ("spark.shop.size", "plain")),
        ),
        inputs=(RunInput(table),),
        outputs=(RunOutput(table, lineage=lineage),),
        failure=Failure(
            f"no login at {URL} with s3cr3t, {KNOWN}, plain", "JAVA", f"X: no login at {URL}, plain\n\tat a.b(C.java:1)"
        ),
        gaps=(Gap("SomeOperator", f"what it reads at {URL} is not known"),),
    )


def text_of(state: RunState, options: EventOptions) -> str:
    contribution = Contribution("mine", failure=f"ValueError: no login at {URL}")
    return serialise(build_event(redacted(state, options.redaction), options, (contribution,))).decode()


def test_no_secret_is_left_in_the_event_by_default_and_plain_literals_are(state: RunState) -> None:
    text = text_of(state, EventOptions(redaction=Redaction(known=(KNOWN,))))
    event = json.loads(text)

    for secret in ("s3cr3t", "alice", KNOWN):
        assert secret not in text
    assert event["job"]["facets"]["sql"]["query"] == (
        "CREATE TABLE t OPTIONS (vault '***') AS SELECT 'https://***@host/x', 'plain' "
    )
    facets = event["run"]["facets"]
    assert facets["errorMessage"]["message"] == "no login at https://***@host/x with ***, ***, plain"
    assert facets["errorMessage"]["stackTrace"] == "X: no login at https://***@host/x, plain\n\tat a.b(C.java:1)"
    assert facets["spark_properties"]["properties"] == {
        "spark.shop.password": "***", "spark.shop.url": "https://***@host/x", "spark.shop.size": "plain",
    }  # fmt: skip
    (table,) = event["inputs"]
    assert table["facets"]["documentation"]["description"] == "filled with password=***, ***, plain"
    assert table["facets"]["schema"]["fields"][0]["description"] == "from https://***@host/x or plain"
    (edge,) = event["outputs"][0]["facets"]["columnLineage"]["fields"]["id"]["inputFields"]
    assert [way["description"] for way in edge["transformations"]] == [
        "concat(id, 'https://***@host/x', 'plain')", "(a = '***')",
    ]  # fmt: skip


def test_no_literal_is_left_where_literals_are_masked(state: RunState) -> None:
    """Comments are literals of the statement that set them; the value of a property is none."""
    plain = attrs.evolve(state, engine=Engine("4.3.0"))
    text = text_of(plain, EventOptions(redaction=Redaction(mask_literals=True)))
    event = json.loads(text)

    for literal in ("s3cr3t", "alice", KNOWN, "plain"):
        assert literal not in text
    assert event["job"]["facets"]["sql"]["query"] == "CREATE TABLE t OPTIONS (vault ?) AS SELECT ?, ? "
    assert event["run"]["facets"]["errorMessage"]["message"] == "?"
    assert event["run"]["facets"]["errorMessage"]["stackTrace"] == "?\n\tat a.b(C.java:1)"
    (edge,) = event["outputs"][0]["facets"]["columnLineage"]["fields"]["id"]["inputFields"]
    assert [way["description"] for way in edge["transformations"]] == ["concat(id, ?, ?)", "(a = ?)"]


def test_two_expressions_that_differ_in_a_literal_alone_become_one(state: RunState) -> None:
    ways = tuple(Transformation("DIRECT", "TRANSFORMATION", f"(id + {n})") for n in (1, 2))
    lineage = ColumnLineage((OutputColumn("id", (InputField(SOURCE, "id", ways),)),))
    given = attrs.evolve(state, outputs=(attrs.evolve(state.outputs[0], lineage=lineage),))

    found = redacted(given, Redaction(mask_literals=True)).outputs[0].lineage

    assert found is not None
    assert found.columns[0].edges[0].transformations == (Transformation("DIRECT", "TRANSFORMATION", "(id + ?)"),)


@pytest.mark.parametrize("redaction", [Redaction(known=(KNOWN,)), Redaction(mask_literals=True)])
def test_what_was_redacted_before_does_not_change(state: RunState, redaction: Redaction) -> None:
    once = redacted(state, redaction)

    assert redacted(once, redaction) == once


def described(
    state: RunState, column: str, sql: str, *ways: Transformation, wording: Wording | None = None
) -> list[str]:
    """Redact a run whose output has one column, and return the expressions of that column."""
    lineage = ColumnLineage((OutputColumn(column, (InputField(SOURCE, "id", ways),)),), wording=wording or Wording())
    given = attrs.evolve(
        state, job=attrs.evolve(state.job, sql=sql), outputs=(attrs.evolve(state.outputs[0], lineage=lineage),)
    )
    found = redacted(given, Redaction()).outputs[0].lineage
    assert found is not None
    return [way.description for way in found.columns[0].edges[0].transformations]


def test_of_a_run_that_writes_a_column_called_after_a_secret_every_string_is_hidden(state: RunState) -> None:
    direct = Transformation("DIRECT", "TRANSFORMATION", "concat(id, 'x', 5)")
    indirect = Transformation("INDIRECT", "CONDITIONAL", "(kind = 'y')")

    assert described(state, "apiKey", "SELECT 1", direct, indirect) == ["concat(id, '***', 5)", "(kind = '***')"]
    assert described(state, "name", "SELECT 1", direct, indirect) == ["concat(id, 'x', 5)", "(kind = 'y')"]


def test_of_a_run_that_names_a_secret_that_may_be_a_number_every_number_is_hidden(state: RunState) -> None:
    way = Transformation("DIRECT", "TRANSFORMATION", "concat(id, 'x', 5)")

    assert described(state, "userPassword", "SELECT 1", way) == ["concat(id, '***', '***')"]


def test_what_one_text_of_a_run_names_hides_the_literals_of_all_others(state: RunState) -> None:
    way = Transformation("DIRECT", "TRANSFORMATION", "concat(id, 'x')")
    named = Transformation("INDIRECT", "FILTER", "(t.token IS NULL)")
    wording = Wording(frozenset(("pw",)), ())

    assert described(state, "c", "SELECT session_id FROM t", way) == ["concat(id, '***')"]
    assert described(state, "c", "SELECT 1", way, named) == ["concat(id, '***')", "(t.token IS NULL)"]
    assert described(state, "c", "SELECT 1", way, wording=wording) == ["concat(id, '***')"]
    assert described(state, "c", "SELECT 1", way, wording=Wording(texts=("f(api_key)",))) == ["concat(id, '***')"]


def test_a_constant_in_no_text_of_an_edge_is_hidden_in_the_message_of_the_run(state: RunState) -> None:
    lineage = ColumnLineage((OutputColumn("p", ()),), wording=Wording(frozenset(("password",)), ("'hunter2'", "4711")))
    given = attrs.evolve(
        state,
        job=attrs.evolve(state.job, sql="SELECT 1"),
        outputs=(attrs.evolve(state.outputs[0], lineage=lineage),),
        failure=Failure("no luck with hunter2 and 4711", "PYTHON"),
    )

    assert redacted(given, Redaction()).failure == Failure("no luck with *** and ***", "PYTHON")


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("INSERT INTO t VALUES ('a', 'x'), ('b', 'y')", "INSERT INTO t VALUES ('***', '***'), ('***', '***')"),
        (
            "INSERT OVERWRITE t PARTITION (d) SELECT 'a', lower('x')",
            "INSERT OVERWRITE t PARTITION (d) SELECT '***', lower('***')",
        ),
        ("INSERT INTO t (password, name) VALUES ('x', 'a')", "INSERT INTO t (password, name) VALUES ('***', '***')"),
        ("DELETE FROM t WHERE name = 'a'", "DELETE FROM t WHERE name = 'a'"),
        (
            "CREATE TABLE t AS SELECT 'a' AS name, 'b' AS password",
            "CREATE TABLE t AS SELECT '***' AS name, '***' AS password",
        ),
    ],
)
def test_what_is_inserted_into_a_secret_column_is_hidden_also_without_a_list_of_columns(
    state: RunState, sql: str, shown: str
) -> None:
    """Whether the columns are known from the plan, or only from the table."""
    table = Dataset(SOURCE, (Field("name", "string"), Field("password", "string")))
    given = attrs.evolve(state, job=attrs.evolve(state.job, sql=sql), outputs=(RunOutput(table),))

    assert redacted(given, Redaction()).job.sql == shown


@pytest.mark.parametrize(("written", "shown"), [("name", "'a', 'b'"), ("token", "'***', '***'")])
def test_of_a_table_with_a_secret_column_only_the_columns_that_are_written_count(
    state: RunState, written: str, shown: str
) -> None:
    table = Dataset(SOURCE, (Field("name", "string"), Field("token", "string")))
    lineage = ColumnLineage((OutputColumn("id", ()), OutputColumn(written, ())))
    job = attrs.evolve(state.job, sql="INSERT INTO t SELECT 'a', 'b'")
    given = attrs.evolve(state, job=job, outputs=(RunOutput(table, lineage=lineage),))

    assert redacted(given, Redaction()).job.sql == f"INSERT INTO t SELECT {shown}"


@pytest.mark.parametrize("marker", [":p", "?"])
def test_of_a_statement_with_parameters_only_strings_of_its_text_are_shown(state: RunState, marker: str) -> None:
    """A bound value is in the plan like any other literal."""
    way = Transformation("DIRECT", "TRANSFORMATION", "concat(id, 'bound', 'written')")

    assert described(state, "c", f"SELECT concat(id, {marker}, 'written') AS c FROM t", way) == [
        "concat(id, '***', 'written')"
    ]


def test_the_value_of_an_option_is_hidden_in_every_text(state: RunState) -> None:
    """The name of an option hides its own value alone."""
    way = Transformation("DIRECT", "TRANSFORMATION", "array(id, 's3cr3t', 'plain')")
    read = Transformation("DIRECT", "TRANSFORMATION", "from_json(x, 'a INT', map('vault.slot', 'zufall7'))")
    sql = "CREATE TABLE t OPTIONS (password 's3cr3t') AS SELECT array(id, 1, 'plain'), 'zufall7'"

    assert described(state, "c", sql, way) == ["array(id, '***', 'plain')"]
    given = attrs.evolve(state, job=attrs.evolve(state.job, sql=sql))
    lineage = ColumnLineage((OutputColumn("c", (InputField(SOURCE, "id", (read,)),)),))
    shown = redacted(attrs.evolve(given, outputs=(attrs.evolve(given.outputs[0], lineage=lineage),)), Redaction())
    assert shown.job.sql == "CREATE TABLE t OPTIONS (password '***') AS SELECT array(id, 1, 'plain'), '***'"


def test_a_run_without_anything_to_hide_stays_as_it_is(full_run: tuple[RunState, RunState]) -> None:
    for state in full_run:
        assert redacted(state, Redaction()) == state


def test_what_is_known_to_be_secret_is_in_no_repr() -> None:
    assert KNOWN not in repr(EventOptions(redaction=Redaction(known=(KNOWN,))))


@pytest.mark.parametrize(
    ("namespace", "accepted"),
    [
        ("https://alice:s3cr3t@host/x", "https://host/x"),
        ("s3://AKIA:s3/cr3t@bucket", "s3://bucket"),
        ("abfss://box@account", "abfss://box@account"),
        ("hdfs://nn:8020/a@b", "hdfs://nn:8020/a@b"),
    ],
)
def test_a_login_in_a_namespace_is_cut_out(namespace: str, accepted: str) -> None:
    assert accepted_namespace(namespace) == accepted
