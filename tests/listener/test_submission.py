"""How an application was started: the command that would start it again, without secrets."""

from __future__ import annotations

import datetime

import pytest
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.run import run_facets
from openlineage_pyspark.facets.model.run import Engine, Job, RunState, Submission
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.listener.start.application import started_by

JVM = ["java", "-cp", "/spark/jars/*", "-Xmx1g", "org.apache.spark.deploy.SparkSubmit"]


def test_a_script_that_python_ran_is_run_by_python_again() -> None:
    assert started_by(None, ["/venv/python", "-u", "app.py", "a b"], {}) == ("/venv/python", "-u", "app.py", "a b")


@pytest.mark.parametrize(("home", "program"), [("/spark", "/spark/bin/spark-submit"), ("", "spark-submit")])
def test_what_spark_submit_started_is_submitted_again(home: str, program: str) -> None:
    parent = [*JVM, "--conf", "spark.x=-Da -Db", "app.py", "1"]

    assert started_by(parent, ["python3", "app.py"], {"SPARK_HOME": home}) == (
        program,
        "--conf",
        "spark.x=-Da -Db",
        "app.py",
        "1",
    )


@pytest.mark.parametrize("parent", [[], ["java", "org.apache.spark.deploy.yarn.ApplicationMaster", "--class", "x"]])
def test_a_command_that_can_not_be_known_is_none(parent: list[str]) -> None:
    assert started_by(parent, ["python3", "app.py"], {}) == ()


def shown(*words: str, known: tuple[str, ...] = (), mask: bool = False) -> Submission:
    time = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    state = RunState(
        "START", time, "r", Job("n", "j", "APPLICATION", "NONE"), Engine("4.3"),
        submission=Submission(words, "/jobs", "client"),
    )  # fmt: skip
    found = redacted(state, Redaction(known=known, mask_literals=mask)).submission
    assert found is not None
    return found


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:derby:;databaseName=/a/b;create=true",
        "jdbc:derby:;databaseName=/a b/c;create=true",
        "jdbc:derby:memory:x;create=true",
        "jdbc:mysql://h:3306/hive?createDatabaseIfNotExist=true&useSSL=false",
        "jdbc:postgresql://h/hive",
    ],
)
def test_the_url_of_a_metastore_without_credentials_stays_as_it_is(url: str) -> None:
    words = ("spark-submit", "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL={url}", "app.py")

    assert shown(*words) == Submission(words, "/jobs", "client")


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:derby:/a;user=sa;password=s3cr3t",
        "jdbc:derby:;databaseName=/a;create=true;password=s3cr3t",
        "jdbc:derby:;databaseName=/a;bootPassword=s3cr3t",
        "jdbc:mysql://h/hive?useSSL=false&user=s3cr3t",
        "jdbc:mysql://u:s3cr3t@h/hive",
        "jdbc:oracle:thin:scott/s3cr3t",
        "s3cr3t",
    ],
)
def test_the_url_of_a_metastore_with_credentials_is_hidden(url: str) -> None:
    word = f"spark.hadoop.javax.jdo.option.ConnectionURL={url}"

    found = shown("spark-submit", "--conf", word, "app.py")

    assert (found.redacted, "s3cr3t" in " ".join(found.command)) == (True, False)


def test_a_command_without_secrets_stays_as_it_is() -> None:
    words = ("spark-submit", "--conf", "spark.sql.shuffle.partitions=2", "app.py", "--day=2026-01-01", "s3a://b/p")

    assert shown(*words) == Submission(words, "/jobs", "client")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--conf", "spark.hadoop.fs.s3a.secret.key=abc123"), ("--conf", "spark.hadoop.fs.s3a.secret.key=[REDACTED]")),
        (("--password", "abc123"), ("--password", "[REDACTED]")),
        (("--password=abc123",), ("--password=[REDACTED]",)),
        (("jdbc:postgresql://u:abc123@h/db",), ("jdbc:postgresql://[REDACTED]@h/db",)),
        (("abc123",), ("[REDACTED]",)),
    ],
)
def test_a_secret_in_a_command_is_replaced_and_that_is_said(words: tuple[str, ...], expected: tuple[str, ...]) -> None:
    found = shown("spark-submit", *words, "app.py", known=("abc123",) if words == ("abc123",) else ())

    assert "abc123" not in " ".join(found.command)
    assert found == Submission(("spark-submit", *found.command[1:-1], "app.py"), "/jobs", "client", redacted=True)
    assert len(found.command) == len(expected) + 2


def test_the_facet_tells_the_command() -> None:
    time = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    state = RunState("START", time, "r", Job("n", "j", "APPLICATION", "NONE"), Engine("4.3"))
    with_command = RunState(
        "START", time, "r", Job("n", "j", "APPLICATION", "NONE"), Engine("4.3"),
        submission=Submission(("python", "app.py"), "/jobs", "client"),
    )  # fmt: skip

    assert "pyspark_submission" not in run_facets(state, EventOptions(), (), "id")
    facet = run_facets(with_command, EventOptions(), (), "id")["pyspark_submission"]
    told = {name: getattr(facet, name) for name in ("command", "workingDirectory", "deployMode", "redacted")}
    assert told == {
        "command": ["python", "app.py"],
        "workingDirectory": "/jobs",
        "deployMode": "client",
        "redacted": False,
    }


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        (
            ("spark-submit", "--conf", "a=b", "app.py", "--day=2026-01-02", "--dry", "x = 'y'", "-n", "4711"),
            ("spark-submit", "--conf", "a=b", "app.py", "--day=?", "--dry", "?", "?", "?"),
        ),
        (("python", "-m", "jobs.load", "4711"), ("python", "-m", "jobs.load", "?")),
        (("run", "4711"), ("run", "?")),
    ],
)
def test_where_literals_are_masked_so_are_the_arguments_of_the_script(
    words: tuple[str, ...], masked: tuple[str, ...]
) -> None:
    assert shown(*words, mask=True) == Submission(masked, "/jobs", "client", redacted=True)
