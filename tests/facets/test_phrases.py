"""Secrets leave a text by the names that stand before them, by their form, and by being known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.redaction.text import redact_text, secrets_in

REDACTED = [
    ("no login with password=s3cr3t at once", "no login with password=*** at once"),
    ("password: s3cr3t", "password: ***"),
    ("password => s3cr3t", "password => ***"),
    ("db.password='two words', x", "db.password='***', x"),
    ('{"apiKey": "s3cr3t", "id": 1}', '{"apiKey": "***", "id": 1}'),
    (r"{\"token\":\"s3cr3t\", \"id\": 1}", r"{\"token\":***"),
    ("password=['s3cr3t', 'b'] and more\nnext", "password=***\nnext"),
    ("password='s3cr3t\nand' more\nnext\n\tat a.B.c(D.java:1)", "password=***\n\tat a.B.c(D.java:1)"),
    ("<password>s3cr3t</password><id>1</id>", "<password>***"),
    ("{'secret': 's3cr3t', 'id': 1}", "{'secret': '***', 'id': 1}"),
    ("job --password s3cr3t --date today", "job --password *** --date today"),
    ("--api-key=s3cr3t", "--api-key=***"),
    ("user=alice;password=s3cr3t;database=shop", "user=***;password=***;database=shop"),
    ("Server=h;Uid=u v;Pwd=s3cr3t s3cr3t;Encrypt=no", "Server=h;Uid=***;Pwd=***;Encrypt=no"),
    ("Pwd=s3cr3t s3cr3t;", "Pwd=***;"),
    ("a; Pwd=s3cr3t s3cr3t; and so on", "a; Pwd=***; and so on"),
    ("with password=s3cr3t at once; then more", "with password=***; then more"),
    ("-----BEGIN PRIVATE KEY-----\ns3cr3t/+A=\n-----END PRIVATE KEY-----\nx", "***\nx"),
    ("-----BEGIN RSA PRIVATE KEY-----\\ns3cr3t", "***"),
    ("a ghp_s3cr3tABCDEFGHIJKLMNOPQRSTUVWXYZ0123, b", "a ***, b"),
    ("a github_pat_s3cr3t1234567890_abcdef b", "a *** b"),
    ("a xoxb-s3cr3t-1234567890 b", "a *** b"),
    ("a ya29.s3cr3t-ABC_def b", "a *** b"),
    ("key AIzas3cr3tABCDEFGHIJKLMNOPQRSTUVWXYZ012 b", "key *** b"),
    ("a sk_live_s3cr3tABCDEF, sk-proj-s3cr3tABCDEFGHIJKL b", "a ***, *** b"),
    ("a dapi0123456789abcdef0123456789abcdef-2 b", "a *** b"),
    ("a hvs.s3cr3tABCDEFGHIJKLMNOP b", "a *** b"),
    ("a=1&sig=s3cr3t&b=2", "a=1&sig=***&b=2"),
    ("AccountKey=s3cr3t==;EndpointSuffix=x", "AccountKey=***;EndpointSuffix=x"),
    ("Authorization: Basic s3cr3t and more\nnext", "Authorization: ***\nnext"),
    ("sent Bearer abcdefghijklmnop.qrst", "sent Bearer ***"),
    ('FATAL: password authentication failed for user "alice"', 'FATAL: password authentication failed for user "***"'),
    (
        'Permission denied: user=alice, access=WRITE, inode="/a":hdfs:drwxr-xr-x',
        'Permission denied: user=***, access=WRITE, inode="/a":hdfs:drwxr-xr-x',
    ),
    ('{"message":"bad token","user":"alice","detail":["x"]}', '{"message":"bad token","user":"***","detail":["x"]}'),
    ("Access denied for user 'alice'@'host'", "Access denied for user '***'@'host'"),
    ("the key AKIAABCDEFGHIJKLMNOP does not exist", "the key *** does not exist"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.abc", "***"),
    ("List((password,s3cr3t))", "List((password,***))"),
    ("{host=h, vault=s3cr3t, fetchsize=10}", "{host=h, vault=***, fetchsize=10}"),
    ("[path=/a/b, vault=s3,cr3t, day=2024-01-02]", "[path=/a/b, vault=***, day=2024-01-02]"),
    ("Map(dbtable -> orders, vault -> s3cr3t)", "Map(dbtable -> orders, vault -> ***)"),
    ("Schema 'S3CR3T' does not exist", "Schema '***' does not exist"),
    ("at https://alice:s3cr3t@host/x?a=b", "at https://***@host/x?***"),
]


@pytest.mark.parametrize(("text", "shown"), REDACTED)
def test_what_stands_behind_the_name_of_a_secret_is_hidden(text, shown):
    assert redact_text(text) == shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Table or view not found: orders; line 1 pos 14",
        "the password of the user",
        "partition=2024-01-02/part-00000",
        "compass=north, tokenizer=standard",
        "[UNRESOLVED_COLUMN] a column with name `x` cannot be resolved",
        "No suitable driver",
        "Status Code: 400; Error Code: ExpiredToken; Request ID: 7T; S3 Extended Request ID: j=",
        "JWT token is invalid: can't parse header\n\tat a.b.C(D.java:1)\nCaused by: x.Y: z",
        "fs.s3a.access.key is not set",
        "basic authentication is off",
        'java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null',
        "password=***, token=?",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "the sk-learn-model-of-all-the-customers, npm_config, ghp_x, risk-free-and-otherwise-uninteresting-words",
        "\tat org.apache.hadoop.security.token.Token.decode(Token.java:99)",
        "java.security.GeneralSecurityException: Invalid key: 32 bytes expected",
        "TypeError: connect() got an unexpected keyword argument 'password'",
        "KeyError: 'password'",
        "{spark.sql.session.timeZone=UTC, spark.sql.shuffle.partitions=200}",
        "Did you mean one of the following? [`name`, `id`, `passwd`]",
        "partition key=abc, order_key = 12, primary key: id",
        "tokens: 128, max_tokens=5, SparkSession: default",
        "[a, b], {c}",
        "",
    ],
)
def test_a_text_without_secrets_stays(text):
    assert redact_text(text) == text


def test_what_is_known_to_be_secret_is_hidden_wherever_it_stands():
    assert redact_text("of s3cr3t/x and s3cr3t", ["s3cr3t/x", "s3cr3t"]) == "of *** and ***"


@given(st.lists(st.tuples(st.sampled_from([text for text, _ in REDACTED]), st.sampled_from([" ", "\n", ", ", "; "]))))
def test_no_secret_survives_among_others(parts):
    shown = redact_text("".join(f"{text}{between}" for text, between in parts))

    assert "s3cr3t" not in shown.lower()
    assert redact_text(shown) == shown


NAMES = [
    "password",
    "db.password",
    "apiKey",
    "TOKEN",
    "client_secret",
    "pw",
    "--password",
    "fs.s3a.secret.key",
    "PASS_1",
]
ASSIGNED = ["=", ": ", ":", " = ", " => ", "=>", " -> ", "==", " <> ", "+=", " := ", "%3D", "&#61;", "\\u003d"]
BEGINS = ["", *"'\"`[({<|$&!", "\\'", '\\"', "'''", '"""', "b'", 'u"', "['", '("', "{'"]
BEGINS += ["Some(", "&quot;", "%22", "!!str "]
ODD = st.text(st.sampled_from([*"abc 01'\"`\\()[]{}<>;:,=&|+-/?#%$*!\t\n"]), max_size=30)


@given(ODD, st.sampled_from(NAMES), st.sampled_from(ASSIGNED), st.sampled_from(BEGINS), ODD)
def test_a_value_is_hidden_however_it_begins_and_whatever_follows(before, name, sign, begin, after):
    text = f"{before} {name}{sign}{begin}s3cr3t{after}"

    assert "s3cr3t" not in redact_text(text)


@given(ODD, st.sampled_from(NAMES), st.sampled_from(["'", '"']), st.sampled_from([" = ", "==", " != ", " <> "]), ODD)
def test_a_value_is_hidden_before_the_name_that_it_is_compared_with(before, name, quote, sign, after):
    text = f"{before} {quote}s3cr3t{quote}{sign}{name.lstrip('-')} {after}"

    assert "s3cr3t" not in redact_text(text)


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("-Xmx1g -Djavax.net.ssl.keyStorePassword=s3cr3t -ea", ["s3cr3t"]),
        ('x required username="alice" password="s3cr3t";', ["s3cr3t"]),
        ("https://alice:s3%2Fcr3t@host/x", ["s3%2Fcr3t", "s3/cr3t"]),
        ("run --date today --token s3cr3t", ["s3cr3t"]),
        ("local[2]", []),
    ],
)
def test_the_secrets_in_a_value_are_found(text, secrets):
    assert sorted(secrets_in(text)) == sorted(secrets)


@pytest.mark.parametrize(
    "text",
    [
        "password=" * 10_000,
        "password=x y;" * 8_000,
        "-----BEGIN PRIVATE KEY-----" * 6_000,
        "password" * 24_000,
        "a=b " * 20_000,
        "{a=b," * 20_000,
        "[a=b, " * 20_000,
        "a'" * 60_000,
        "eyJ-" * 40_000,
        "password ' " * 8_000,
        "a." * 80_000,
        "-" * 180_000,
    ],
    ids=lambda text: text[:9],
)
def test_a_large_text_is_read_in_one_pass(text):
    assert isinstance(redact_text(text), str)
