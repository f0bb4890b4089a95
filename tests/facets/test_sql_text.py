"""SQL is shown without comments, without credentials and, where asked, without any literal."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openlineage_pyspark.facets.redaction.sql import redact_sql
from openlineage_pyspark.facets.redaction.text import redact_text
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens


def shown(text: str) -> str:
    return redact_sql(text, redact_text).text


def masked(text: str) -> str:
    return redact_sql(text, redact_text, mask=True).text


CREDENTIALS = [
    (
        "OPTIONS (url 'jdbc:postgresql://me:s3cr3t@db/shop', dbtable 'o', `password` \"s3cr3t\", vault = 's3cr3t')",
        "OPTIONS (url 'jdbc:postgresql://db/shop;***', dbtable 'o', `password` '***', vault = '***')",
    ),
    ("OPTIONS (truncate true, fetchsize 10, pin 1234)", "OPTIONS (truncate true, fetchsize 10, pin '***')"),
    ("OPTIONS ('header' 'true', 'vault.slot' 's3cr3t')", "OPTIONS ('header' 'true', 'vault.slot' '***')"),
    ("OPTIONS (a.b-c 's3cr3t', d)", "OPTIONS (a.b-c '***', d)"),
    ("options(vault concat('s3', 'cr3t'))", "options(vault '***')"),
    ("OPTIONS (vault 's3cr3t", "OPTIONS (vault '***'"),
    ("OPTIONS (dbtable '(SELECT 1 /* s3cr3t */) q')", "OPTIONS (dbtable '(SELECT 1  ) q')"),
    ("SET TBLPROPERTIES ('delta.x'='1', 'slot'='s3cr3t')", "SET TBLPROPERTIES ('delta.x'='1', 'slot'='***')"),
    ("UNSET TBLPROPERTIES ('slot', 'x')", "UNSET TBLPROPERTIES ('slot', 'x')"),
    (
        "WITH SERDEPROPERTIES ('field.delim'=',', 'slot'='s3cr3t')",
        "WITH SERDEPROPERTIES ('field.delim'=',', 'slot'='***')",
    ),
    ("FROM t WITH (slot = 's3cr3t', header=true)", "FROM t WITH (slot = '***', header=true)"),
    ("COPY INTO t WITH (CREDENTIAL (KEY = 's3cr3t', B = 's3cr3t'))", "COPY INTO t WITH (CREDENTIAL '***')"),
    ("SET spark.shop.token=s3cr3t; and -- more", "SET spark.shop.token='***' "),
    ("set `fs.s3a.key` = 's3cr3t'", "set `fs.s3a.key` = '***'"),
    ("BEGIN SET spark.a.b=s3cr3t; SELECT 'x'; END", "BEGIN SET spark.a.b='***'; SELECT 'x'; END"),
    ("SET spark.sql.catalog.prod.password=s3cr3t", "SET spark.sql.catalog.prod.password='***'"),
    ("SET spark.sql.shuffle.partitions=3", "SET spark.sql.shuffle.partitions=3"),
    ("LOCATION 's3a://KEY:s3/cr3t@bucket/x'", "LOCATION 's3a://***@bucket/x'"),
    ("FROM parquet.`s3a://KEY:s3cr3t@bucket/x`", "FROM parquet.`s3a://***@bucket/x`"),
    ("FROM parquet.`abfss://c@a/x?sig=s3cr3t`", "FROM parquet.`abfss://c@a/x?***`"),
    ("SELECT 's3a:\\/\\/KEY:s3cr3t@bucket'", "SELECT 's3a://***@bucket'"),
    ("ADD JAR https://me:s3cr3t@host/x.jar", "ADD JAR https://***@host/x.jar"),
    ("SELECT raise_error('no login with password=s3cr3t')", "SELECT raise_error('no login with password=***')"),
    ("SELECT aes_encrypt(a, 's3cr3t', 'GCM')", "SELECT aes_encrypt(a, '***', '***')"),
    (
        "aes_decrypt(unhex(f(a, 'b')), CAST('s3cr3t' AS BINARY))",
        "aes_decrypt(unhex(f(a, '***')), CAST('***' AS BINARY))",
    ),
    ("FROM f(path => 'x', token => 's3cr3t')", "FROM f(path => '***', token => '***')"),
    ("SET VAR token = 's3cr3t'", "SET VAR token = '***'"),
    (
        "SET VARIABLE s.pw = concat('s3', 'cr3t') || 's3cr3t', pin = 1234, n = 5; x",
        "SET VARIABLE s.pw = '***'; x",
    ),
    ("SET VAR n = 5, token = concat('s3', 'cr3t')", "SET VAR n = '***'"),
    ("SET VAR (n, token) = (SELECT 5, 's3cr3t')", "SET VAR (n, token) = '***'"),
    ("DECLARE VARIABLE pw STRING DEFAULT 's3cr3t'", "DECLARE VARIABLE pw STRING DEFAULT '***'"),
    ("BEGIN DECLARE a, `pin` INT = 1234; SELECT 'x'; END", "BEGIN DECLARE a, `pin` INT = '***'; SELECT '***'; END"),
    ("WHERE password = 's3cr3t' AND a = 'b'", "WHERE password = '***' AND a = '***'"),
    ("WHERE t.`api-key` <=> 's3cr3t' OR pwd != \"s3cr3t\"", "WHERE t.`api-key` <=> '***' OR pwd != '***'"),
    ("WHERE api_key IN ('s3cr3t', f('s3cr3t')) AND 'x'", "WHERE api_key IN ('***', f('***')) AND '***'"),
    ("WHERE token NOT IN('s3cr3t') OR token LIKE 's3cr3t%'", "WHERE token NOT IN('***') OR token LIKE '***'"),
    (
        "UPDATE t SET a.b = 'x', password = 's3cr3t' WHERE id = 1",
        "UPDATE t SET a.b = '***', password = '***' WHERE id = '***'",
    ),
    ("UPDATE t SET secret = sha2('s3cr3t', 256)", "UPDATE t SET secret = sha2('***', '***')"),
    (
        "from_json(x, 'a int', map('password', 's3cr3t', 'mode', 'FAILFAST'))",
        "from_json(x, '***', map('***', '***', '***', '***'))",
    ),
    ("to_avro(x, 's', map('vault.slot', 's3cr3t'))", "to_avro(x, 's', map('vault.slot', '***'))"),
    ("map('basic.auth.user.info', 's3cr3t', 'a', 'b')", "map('***', '***', '***', '***')"),
    ("hmac_sha256(a, 's3cr3t')", "hmac_sha256(a, '***')"),
    ("password 's3cr3t', x", "password '***', x"),
    ("SELECT 1 -- s3cr3t\nFROM t /* s3cr3t /* s3cr3t */ */ x", "SELECT 1 \nFROM t   x"),
    ("SELECT /*+ BROADCAST(s3cr3t) */ a", "SELECT   a"),
    ("SELECT a FROM t /* s3cr3t", "SELECT a FROM t  "),
    ("SELECT 'no end s3cr3t", "SELECT '***'"),
    ("SELECT `no end s3cr3t", "SELECT `***`"),
]


@pytest.mark.parametrize(("text", "expected"), CREDENTIALS)
def test_credentials_and_comments_leave_and_the_rest_stays(text, expected):
    assert shown(text) == expected


@pytest.mark.parametrize(("text", "_"), CREDENTIALS)
def test_with_masked_literals_they_leave_as_well(text, _):
    for part in ("s3cr3t", "s3", "1234"):
        assert part not in masked(text).replace("s3a", "").replace("s3://", "")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, 'b', \"c\", r'd\\', 1.5e3 FROM t WHERE city = 'Bonn' AND `na me` LIKE '%x''y%'",
        "UPDATE t SET a.b = 'x', partkey = p WHERE id = 1 AND user = 'y' AND token_count = 5",
        "WHERE n IN (SELECT key FROM s WHERE kind = 'x') AND passenger IS NOT NULL AND tokenized = other",
        "from_json(x, 'a int', map('mode', 'FAILFAST', 'dateFormat', 'yyyy'))",
        "to_json(map('name', t.name, 'n', 5 + t.n))",
        "EXECUTE IMMEDIATE 'SELECT a FROM t' INTO x",
        "SELECT map('a', 'b', 'c', 'd'), map(a, 'b'), tokenize('x'), map('mode', 'x')",
        "DECLARE x STRING DEFAULT 'y'",
        "WITH q AS (SELECT 'x' AS passenger) SELECT * FROM q",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.a = 'x'",
        "SET VAR x = 'y'",
        "(spark_catalog.default.t.id + CAST('x' AS INT))",
        "no SQL at all: 'anything' ((",
    ],
)
def test_other_literals_stay_by_default(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WHERE token = 's3cr3t' AND n > 15", "WHERE token = ? AND n > ?"),
        ("SELECT \"a\", r'b\\', X'1F', 'it''s', 1.5e3, .5D, -10L", "SELECT ?, ?, ?, ?, ?, ?, -?"),
        (
            "SELECT DATE '2024-01-02', INTERVAL 5 DAYS, CAST(a AS DECIMAL(10,2))",
            "SELECT DATE ?, INTERVAL ? DAYS, CAST(a AS DECIMAL(?,?))",
        ),
        ("SELECT a1, `2b`, t.3c, true, NULL", "SELECT a1, `2b`, t.3c, true, NULL"),
        ("OPTIONS (path '/x', 'vault' 's3cr3t')", "OPTIONS (path ?, ? ?)"),
        ("COMMENT 'x' LOCATION '/x' PARTITION (day='x')", "COMMENT ? LOCATION ? PARTITION (day=?)"),
        ("SET spark.shop.token=s3cr3t", "SET spark.shop.token=?"),
        ("SELECT $$a 'b' $$, 'cut", "SELECT ?, ?"),
        ("SELECT 0x1F, 0b101, 1_000, 2024_sales", "SELECT ?, ?, ?, 2024_sales"),
    ],
)
def test_every_literal_becomes_a_question_mark_where_that_is_asked(text, expected):
    assert masked(text) == expected
    assert masked(expected) == expected


@pytest.mark.parametrize("name", ["pin", "kennwort", "senha", "jwt", "salt", "p_wd", "cookie", "verification_code"])
def test_a_number_beside_the_name_of_a_secret_is_hidden_in_a_text_without_any_other_sign_of_one(name):
    for text in (f"(t.{name} = 4711)", f"4711 <=> {name}", f"{name} IN (4711, 1)"):
        assert "4711" not in shown(text)
    assert shown(f"(t.{name} = u.{name}) AND (n = 4711)") == f"(t.{name} = u.{name}) AND (n = '***')"
    assert shown(f"(t.{name}_count = u.n) AND (n = 4711)") == f"(t.{name}_count = u.n) AND (n = 4711)"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT concat('https://bob:', 's3cr3t', '@host/x')",
        "SELECT concat('jdbc:postgresql://h/d?user=bo&password=', lower('s3cr3t'))",
        "SELECT 'password=' || 's3cr3t' || '&x'",
        "SELECT 'token: ' || lower('s3cr3t')",
        "SELECT concat('Bearer ', 's3cr3t'), concat('Authorization: Basic ', 's3cr3t')",
        "SELECT format_string('Bearer %s', 's3cr3t'), printf('a=%s&pwd=%s', b, 's3cr3t')",
        "SELECT concat_ws('=', 'password', 's3cr3t'), concat_ws(': ', 'a', 'b', 'token', lower('s3cr3t'))",
        "SELECT stack(1, 'bo', 's3cr3t') AS (user, password)",
        "SELECT a FROM t LATERAL VIEW stack(1, 'bo', 's3cr3t') x AS user, password",
    ],
)
def test_a_string_that_another_one_begins_is_hidden_and_so_is_one_of_several_columns(text):
    assert "s3cr3t" not in shown(text)


def test_a_string_behind_another_one_that_begins_no_secret_stays():
    text = "SELECT concat('a=', 'x'), 'count: ' || 'x', format_string('%s=%s', 'x', a), stack(1, 'x') AS (a, b)"
    text += ", concat_ws(', ', 'kind', 'x'), concat_ws('=', 'a', 'x')"
    assert shown(text) == text


def test_what_is_bound_to_a_statement_is_hidden_and_the_statement_is_not() -> None:
    text = "EXECUTE IMMEDIATE 'SELECT 1 WHERE a = ?' USING 's3cr3t', 4711; SELECT 'x'"
    assert shown(text) == "EXECUTE IMMEDIATE 'SELECT 1 WHERE a = ?' USING '***', '***'; SELECT 'x'"


def test_what_was_taken_out_is_known_for_the_message_of_the_statement():
    found = redact_sql("CREATE TABLE t OPTIONS (user 'alice', vault s3cr3t, path '/x', pin 1)", redact_text)

    assert found.hidden == {"alice", "s3cr3t"}


PIECES = st.sampled_from(
    [
        "'a b'",
        '"c"',
        "`d`",
        "12",
        "OPTIONS (",
        "SET ",
        "x",
        ".",
        " ",
        "=",
        ",",
        ")",
        "(",
        ";",
        "--",
        "/*",
        "*/",
        "\n",
        "'",
    ]
)


@given(st.lists(PIECES).map("".join))
@example("SET 'a b'.=")
@example("SET VARIABLE 'a' password = 1")
@example("DECLARE 'a' password = 1")
def test_no_literal_is_left_in_any_text_where_literals_are_masked(text):
    """This holds even for texts that no parser accepts."""
    kinds = {token.kind for token in tokens(masked(text))}

    assert not kinds & {TokenKind.STRING, TokenKind.NUMBER, TokenKind.COMMENT}


@pytest.mark.slow
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("thousands", [30, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("begin", "repeated"),
    [
        ("INSERT INTO t VALUES (0, 'name', 'https://host/0')", ", (1, 'name 1', 'https://host/1')"),
        ("SELECT '", "x"),
        ("", "OPTIONS (a 'b',"),
        ("", "OPTIONS ("),
        ("", "BEGIN SET "),
        ("", "aes_encrypt("),
        ("", "password 'x' "),
        ("", "password = ("),
        ("", "map('password', "),
        ("SET VAR ", "pin = 1, "),
        ("", "BEGIN SET VAR pin "),
        ("", "BEGIN DECLARE a "),
        ("", "token NOT IN "),
    ],
)
def test_a_megabyte_of_sql_is_read_in_one_pass(begin, repeated, thousands, mask):
    """A rule that reads something twice would take hours on a megabyte, and minutes on its thirtieth."""
    text = begin + repeated * (thousands * 1000 // len(repeated))
    assert redact_sql(text, redact_text, mask=mask).text
