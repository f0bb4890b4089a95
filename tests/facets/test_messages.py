"""Messages and traces are shown without what they quote, and without credentials."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.redaction.errors import redact_message
from openlineage_pyspark.facets.redaction.text import redact_text

PYTHON = """Traceback (most recent call last):
  File "/app/job.py", line 3, in <module>
    connect(
        "alice", phrase="s3cr3t")
    ^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/job.py", line 9, in connect
    raise ValueError(f"no login with password={phrase}")
ValueError: no login with password=s3cr3t

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/job.py", line 12, in <module>
RuntimeError: it is over"""

JVM = """org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] it is s3cr3t SQLSTATE: P0001
\tat org.apache.spark.sql.Errors$.raise(Errors.scala:12)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 12 more
Caused by: java.sql.SQLException: No suitable driver"""

PARSING = """[PARSE_SYNTAX_ERROR] Syntax error at or near 's3cr3t'. SQLSTATE: 42601 (line 1, pos 9)

== SQL ==
OPTIONS (vault s3cr3t) 'x
---------^^^

JVM stacktrace:
org.apache.spark.sql.ParseException: no
\tat a.b(C.scala:1)"""

ANALYSIS = """[UNRESOLVED_COLUMN] A column with name `nope` cannot be resolved. SQLSTATE: 42703; line 1 pos 7;
'Project ['nope]
+- Filter (token#5 = s3cr3t)
   +- Relation spark_catalog.default.t[id#3] parquet"""

STREAMING = """Query x terminated with exception: no luck
=== Streaming Query ===
Current State: ACTIVE

Logical Plan:
WriteToMicroBatchDataSourceV1 FileSink[/x], [vault=s3cr3t], Append
+- Project [id#1]

\tat a.b(C.scala:1)"""


def shown(text: str, hidden: tuple[str, ...] = (), *, mask: bool = False) -> str:
    return redact_message(text, redact_text, hidden, mask=mask)


def test_of_a_python_trace_the_frames_stay_and_the_lines_of_source_go():
    assert shown(PYTHON).splitlines() == [
        "Traceback (most recent call last):",
        '  File "/app/job.py", line 3, in <module>',
        '  File "/app/job.py", line 9, in connect',
        "ValueError: no login with password=***",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        '  File "/app/job.py", line 12, in <module>',
        "RuntimeError: it is over",
    ]


def test_a_trace_of_the_jvm_stays():
    assert shown(JVM) == JVM


def test_the_statement_in_a_message_goes_and_what_was_hidden_in_it_with_it():
    assert shown(PARSING).splitlines() == [
        "[PARSE_SYNTAX_ERROR] Syntax error at or near '***'. SQLSTATE: 42601 (line 1, pos 9)",
        "",
        "== SQL ==",
        "***",
        "JVM stacktrace:",
        "org.apache.spark.sql.ParseException: no",
        "\tat a.b(C.scala:1)",
    ]


@pytest.mark.parametrize("text", [ANALYSIS, STREAMING])
def test_the_plan_in_a_message_goes(text):
    assert "s3cr3t" not in shown(text)
    assert shown(text).splitlines()[0] == text.splitlines()[0]


def test_the_query_of_another_database_in_a_message_goes():
    query = "SELECT * FROM (SELECT 1 -- s3cr3t\n) q WHERE 1=0. No such table."
    around = "[X] No. The error was caused by the query {} The error occurred during resolution. SQLSTATE: 42000"

    assert shown(around.format(query)) == around.format("***")
    assert shown(f"The error was caused by the query {query}") == "The error was caused by the query ***"


def test_what_was_hidden_in_the_statement_is_hidden_in_its_message():
    assert shown("Schema 'ALICE' is not there, nor is bob or bobby", ("ALICE", "bob")) == (
        "Schema '***' is not there, nor is *** or bobby"
    )


def test_a_literal_that_is_the_name_of_a_secret_does_not_keep_the_value_behind_it_in_a_message():
    hidden = ("password", "db.user", "https://", "two long words", "token=abc")
    text = "password=s3cr3t, password=two long words, db.user=bob https://me:s3cr3t@host token=abc"
    assert shown(text, hidden) == "***=***, ***=***, ***=*** ******@host ***"


def test_the_last_word_of_a_message_that_was_cut_goes():
    """It may be half a secret that no rule recognizes."""
    assert shown("x " * 1000 + "s3a://KEY:s3cr3...") == "x " * 1000 + "..."
    assert shown("wait for s3...") == "wait for s3..."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ValueError: it is s3cr3t", "ValueError: ?"),
        ("it is s3cr3t\nand s3cr3t", "?"),
        ("[CAST_INVALID_INPUT] The value 's3cr3t' SQLSTATE: 22018", "[CAST_INVALID_INPUT] ? SQLSTATE: 22018"),
        (": java.lang.RuntimeException: s3cr3t", ": java.lang.RuntimeException: ?"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        (
            JVM,
            """org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] ? SQLSTATE: P0001
\tat org.apache.spark.sql.Errors$.raise(Errors.scala:12)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 12 more
Caused by: java.sql.SQLException: ?""",
        ),
    ],
)
def test_where_literals_are_masked_only_what_can_be_none_stays(text, expected):
    assert shown(text, mask=True) == expected
    assert shown(expected, mask=True) == expected


@pytest.mark.parametrize("text", [PYTHON, JVM, PARSING, ANALYSIS, STREAMING])
def test_no_value_survives_where_literals_are_masked(text):
    assert "s3cr3t" not in shown(text, mask=True)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "\n" * 60_000,
        "== SQL ==\n" * 20_000,
        '  File "x", line 1\n    a\n' * 6_000,
        "x;\nX\n" * 20_000,
        "+- a\n" * 20_000,
        "A." * 60_000,
        " " * 180_000,
        "a" * 180_000 + "Error",
        "  at a(" * 20_000,
    ],
    ids=lambda text: repr(text)[:12],
)
def test_a_large_message_is_read_in_one_pass(text, mask):
    assert isinstance(shown(text, mask=mask), str)
