"""No statement shows a secret, whatever form names it and however its parts are nested."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.events import build
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation, Wording
from openlineage_pyspark.facets.model.run import Failure, RunOutput
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.facets.sql_lexer import string_literal
from support.sources import nodes_of

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.run import RunState

ROOT = Path(__file__).parents[2]
CANARY = "c4nary"
NAMES = (
    "password", "t.password", "db.t.apiKey", "`api key`", "client_secret", "ACCESS_TOKEN", "u.pwd", "jwt", "session_id",
    "credentials", "pin", "s.auth.token",
)  # fmt: skip
KEYS = ("password", "db.password", "$.auth.token", "apiKey", "X-Api-Key", "$.users[0].pwd")
QUOTED = st.sampled_from(
    [
        f"'{CANARY}'", f'"{CANARY}"', f"r'{CANARY}'", f"'it\\'s {CANARY}'", f"'it''s {CANARY}'", f"$${CANARY}$$",
        f"$t${CANARY}$t$", f"X'{CANARY}'", f"'a' '{CANARY}'", f"'{CANARY}\n{CANARY}'", f"'{CANARY}; -- no comment'",
    ]
)  # fmt: skip
COMMENTS = st.sampled_from(["", f" -- {CANARY}\n", f" /* {CANARY} /* {CANARY} */ */ ", f" /*+ HINT('{CANARY}') */ "])


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return expressions around other ones."""
    shapes = (
        "lower({0})", "CAST({0} AS STRING)", "({0})", "{0} || {1}", "concat({0}, {1})", "coalesce({0}, {1})",
        "CASE WHEN a = 1 THEN {0} ELSE {1} END", "CASE {0} WHEN {1} THEN 'b' END", "{0} IN ({1}, {0})",
        "transform(xs, x -> x = {0})", "(SELECT max({0}) FROM t WHERE {1} = 'c')", "named_struct('a', {0}, 'b', {1})",
        "map('k', {0})", "f(kind => {0}, {1})", "{0} BETWEEN {1} AND {0}", "array({0}, {1})", "struct({0} AS a)",
        "sha2({0}, 256)", "{0}::string", "from_json({0}, 'a INT', map('mode', {1}))", "a:['k'] = {0}",
        "NOT {0} <=> {1}",
    )  # fmt: skip
    return st.builds(lambda shape, one, two: shape.format(one, two), st.sampled_from(shapes), inner, inner)


EXPRESSIONS = st.recursive(QUOTED, wrapped, max_leaves=6)
OF_A_NAME = (
    "SELECT {1} FROM t WHERE {0} = {1}", "SELECT {1} AS x, {0} FROM t", "SELECT {1} AS `db password`, {0} FROM t",
    "UPDATE t SET a = {1}, {0} = {1} WHERE b = {1}", "SELECT f({0}, {1})", "WITH q AS (SELECT {0} FROM t) SELECT {1}",
    "SELECT * FROM t PIVOT (max(v) FOR {0} IN ({1} AS a))", "SELECT a FROM t WHERE a = {1} GROUP BY {0}",
    "MERGE INTO t USING s ON {0} = s.x WHEN MATCHED THEN UPDATE SET a = {1}", "SELECT a FROM t ORDER BY {0}, {1}",
    "DELETE FROM t WHERE a = {1} AND {0} IS NULL", "FROM t |> WHERE a = {1} |> SELECT {0}", "SELECT ({1}, {0})",
    "SELECT filter(xs, x -> x = {1}) FROM t JOIN s ON t.a = {0}", "SELECT CASE {0} WHEN 'a' THEN {1} END",
    "BEGIN IF {0} = {1} THEN SELECT {1}; END IF; END",
)  # fmt: skip
OF_ONE_WORD = (
    "INSERT INTO t (a, {0}) VALUES (1, {1}), (2, {1})", "INSERT INTO t ({0}) SELECT {1}", "SELECT {1} AS {0}",
    "CREATE VIEW v (a, {0}) AS SELECT 1, {1}", "WITH q(a, {0}) AS (SELECT 1, {1}) SELECT * FROM q",
    "SELECT * FROM VALUES (1, {1}) AS t(a, {0})", "SELECT a FROM t LATERAL VIEW explode(array({1})) x AS {0}",
    "CREATE TABLE t ({0} STRING DEFAULT {1})", "CREATE FUNCTION f({0} STRING DEFAULT {1}) RETURNS INT RETURN 1",
    "CALL p(kind => {1}, {0} => {1})", "SELECT * FROM f({0} => {1})", "SET VAR {0} = {1}; SELECT {1}",
    "DECLARE OR REPLACE VARIABLE {0} STRING DEFAULT {1}", "ALTER USER u WITH {0} {1}", "SELECT {1} {0}, 1",
)  # fmt: skip
OF_A_KEY = (
    "SELECT conf[{0}] = {1}", "SELECT map({0}, {1})", "SELECT named_struct('a', 1, {0}, {1})", "SELECT f({0}, {1})",
    "SELECT get_json_object(x, {0}) = {1}", "ALTER TABLE t SET TAGS ({0} = 'c4nary')", "SELECT element_at(c, {0}), {1}",
    "SELECT map_from_arrays(array({0}), array({1}))", "SELECT concat_ws('=', {0}, {1})", "VALUES ({0}, {1})",
    "SELECT {1} AS {0}", "SELECT map_from_entries(array(struct({0}, {1})))", "SELECT http('u', map({0}, {1}))",
)  # fmt: skip
WITHOUT_A_NAME = (
    "SELECT aes_encrypt(a, {0})", "SELECT aes_decrypt(a, key => {0})", "SELECT hmac_sha256({0}, a)",
    "SELECT db.my_encrypt(a, {0})", "SELECT 'password=' || {0}", "SELECT concat('https://me:', {0}, '@host')",
    "SELECT format_string('Bearer %s', {0})", "SELECT concat('Authorization: Basic ', {0})",
    "CREATE USER u IDENTIFIED BY {0}", "SELECT map('user', {0})",
)  # fmt: skip
STRINGS = st.sampled_from(
    [
        f'{{"password": "{CANARY}"}}', f'{{"a": {{"token": ["{CANARY}"]}}}}', f"https://me:{CANARY}@host/x",
        f"https://host/x?sig={CANARY}", f"jdbc:postgresql://h/d?user=u&password={CANARY}", f"password: {CANARY}",
        f"AccountKey={CANARY}==;EndpointSuffix=x", f"<password>{CANARY}</password>", f"--password {CANARY}",
        f"Authorization: Bearer {CANARY}", f"machine h login u password {CANARY}", f"s3a://key:{CANARY}@bucket/x",
        f"[('password', '{CANARY}')]", f"setPassword('{CANARY}')", f"https://hooks.slack.com/services/T/B/{CANARY}",
    ]
)  # fmt: skip
OPTIONS = (
    "CREATE TABLE t USING jdbc OPTIONS ({0} {1}, dbtable 'o')", "CREATE TABLE t TBLPROPERTIES ({0}={1}) AS SELECT 1",
    "ALTER TABLE t SET SERDEPROPERTIES ({0} = {1})", "SELECT to_avro(x, 's', map({0}, {1}))",
    "SELECT from_json(x, 'a INT', map('mode', 'FAILFAST', {0}, {1}))", "SELECT * FROM t WITH ({0} = {1})",
    "COPY INTO t FROM 's3://b' WITH (CREDENTIAL ({0} = {1}))",
)  # fmt: skip


def naming() -> st.SearchStrategy[str]:
    """Return statements that name a secret in one of many forms, with the canary in all their literals."""
    keys = st.sampled_from(KEYS).map(string_literal)
    words = st.sampled_from(["password", "api_key", "`user password`", "pw", "clientSecret", "refresh_token"])
    return st.one_of(
        st.builds(str.format, st.sampled_from(OF_A_NAME), st.sampled_from(NAMES), EXPRESSIONS),
        st.builds(str.format, st.sampled_from(OF_ONE_WORD), words, EXPRESSIONS),
        st.builds(str.format, st.sampled_from(OF_A_KEY), keys, EXPRESSIONS),
        st.builds(str.format, st.sampled_from(WITHOUT_A_NAME), EXPRESSIONS),
    )


def statements() -> st.SearchStrategy[str]:
    """Return the same, and statements that hide a value without naming a secret, behind any comment."""
    shaped = st.one_of(
        naming(),
        st.builds(str.format, st.just("EXECUTE IMMEDIATE 'SELECT ?' USING {0}"), EXPRESSIONS),
        st.builds(str.format, st.just("SELECT a FROM t WHERE b = {0}"), STRINGS.map(string_literal)),
        st.builds(str.format, st.sampled_from(OPTIONS), st.sampled_from(["'vault.slot'", "'password'"]), QUOTED),
        st.builds(str.format, st.just("SET spark.hadoop.fs.s3a.{0}={1}"), st.sampled_from(["secret.key", "x"]), QUOTED),
    )
    return st.builds(lambda before, text: before + text, COMMENTS, shaped)


@given(statements())
def test_no_statement_in_any_form_shows_a_secret(sql: str) -> None:
    shown = Redaction().sql(sql).text

    assert CANARY not in shown
    assert Redaction().sql(shown).text == shown


@given(statements(), st.integers(0, 400))
def test_no_statement_that_is_cut_shows_a_secret_after_its_name(sql: str, end: int) -> None:
    """Before its name nothing says what it is: such a text is marked as cut where it is made."""
    cut = sql[:end]
    shown = Redaction(mask_literals=True).sql(cut).text

    assert CANARY not in shown


@given(naming(), st.sampled_from(["statement", "expression"]))
def test_what_one_text_names_is_hidden_in_all_texts_of_a_run(
    full_run: tuple[RunState, RunState], sql: str, where: str
) -> None:
    """The name stands in the statement or in an expression alone; the secret stands in all of them."""
    plain = f"concat(a, '{CANARY}', 5)"
    source = full_run[1].inputs[0].dataset.identifier
    ways = (Transformation("DIRECT", "TRANSFORMATION", plain),)
    is_statement = where == "statement"
    wording = Wording() if is_statement else Wording(texts=(sql,))
    lineage = ColumnLineage((OutputColumn("c", (InputField(source, "a", ways),)),), wording=wording)
    statement = f"{sql}; SELECT 'x'" if is_statement else f"INSERT INTO t SELECT {plain}"
    state = attrs.evolve(
        full_run[1],
        job=attrs.evolve(full_run[1].job, sql=statement),
        outputs=(RunOutput(full_run[1].outputs[0].dataset, lineage=lineage),),
        failure=Failure("no luck", "PYTHON"),
    )
    shown = redacted(state, Redaction())

    assert CANARY not in repr(attrs.asdict(shown))


@pytest.mark.slow
def test_every_event_of_the_package_is_made_by_the_call_that_redacts_first() -> None:
    made = [
        path.relative_to(ROOT).as_posix()
        for folder in ("command", "facets", "files", "listener", "transport")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("build_event")
    ]
    (function,) = ast.parse(inspect.getsource(build.event_of)).body
    assert isinstance(function, ast.FunctionDef)

    assert made == ["facets/events/build.py"]
    assert ast.unparse(function.body[1]) == "shown = redacted(state, options.redaction, earlier)"
