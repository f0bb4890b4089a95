"""The command `lineage` on real files, with a real Spark, as a user and as a CI calls it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.flat_edges import flat_of
from support.lineage_events import dataset, lineage, run_event, taken
from support.spark_jobs import SPARK_VERSION, without_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.usefixtures("real_spark"), pytest.mark.any_spark]
of_scripts = pytest.mark.skipif(SPARK_VERSION < "4", reason="Spark has the scripts among these statements from 4.0 on")

PAGE = Path(__file__).parents[3] / "docs" / "pull-request.md"
SECONDS = 300
NAMES = ("1.sql", "2.sql", "3.sql", "4.sql", "5.sql", "6.py")
CANARY = "hunter-of-the-machine"
Answer = subprocess.CompletedProcess[str]
DDL = """\
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(10,2) NOT NULL DEFAULT 0, status STRING, day DATE)
USING iceberg PARTITIONED BY (days(day)) LOCATION 's3://nowhere/orders';
CREATE EXTERNAL TABLE customers (id INT, name VARCHAR(20)) PARTITIONED BY (country STRING) STORED AS ORC;
CREATE TABLE lake.raw.events (id INT, payload STRUCT<a: INT, b: STRING>) USING iceberg;
"""
FIRST = """\
-- ; a comment
CREATE TEMP VIEW paid AS SELECT * FROM orders WHERE status = 'a;b';
CREATE TABLE mart.revenue USING delta LOCATION 's3://nowhere/r' AS
SELECT c.country, sum(o.amount) AS net FROM paid o JOIN customers c ON o.customer = c.id GROUP BY c.country;
USE mart;
INSERT INTO revenue SELECT name, 1 FROM default.customers;
"""
SECOND = """\
SELECT net FROM revenue;
SELECT id,
       oops FROM default.orders;
SELECT r.rate, o.id
FROM default.orders o JOIN stage.rates r ON o.id = r.id;
SELECT id FROM default.orders WHERE = 1;
CREATE TABLE lake.mart.flat AS SELECT id, payload.a AS a FROM lake.raw.events VERSION AS OF 7;
ALTER TABLE lake.mart.flat RENAME COLUMN a TO b;
MERGE INTO default.orders t USING lake.mart.flat s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.amount = s.b;
BEGIN DECLARE x INT DEFAULT 1; IF x = 1 THEN INSERT INTO lake.mart.flat SELECT x + id, 2 FROM default.orders; END IF;
END;
DROP TABLE default.customers;
SELECT name FROM default.customers;
"""
THIRD = """\
CREATE TABLE lake.raw.people (id INT, name STRING, mail STRING) USING iceberg;
CREATE VIEW people AS SELECT name FROM lake.raw.people;
ALTER VIEW people AS SELECT mail AS name FROM lake.raw.people;
ALTER VIEW mart.people RENAME TO mart.persons;
CREATE OR REPLACE TABLE names USING delta PARTITIONED BY (name) AS SELECT name FROM persons;
CREATE OR REPLACE TABLE names AS SELECT upper(name) AS name FROM names;
ALTER TABLE lake.raw.people ADD COLUMNS (town STRING FIRST, street STRING AFTER id);
ALTER TABLE lake.raw.people ALTER COLUMN mail AFTER town;
INSERT INTO lake.raw.people SELECT o.status, n.name, o.id, o.status, n.name FROM names n, default.orders o;
CREATE TABLE taken AS SELECT n.a, n.b FROM nowhere n;
INSERT INTO lake.raw.people SELECT n.a, n.b, n.c, n.d, n.e FROM nowhere n;
CREATE TABLE counted AS SELECT count(*) AS n, sum(a) + 1 AS s, concat(b, b) AS c FROM taken GROUP BY b;
BEGIN DECLARE i INT; SET i = 1; SET (i) = (SELECT 2); INSERT INTO names SELECT status FROM default.orders; END;
SELECT name, town2 FROM persons;
"""
FOURTH = """\
CREATE TABLE typed AS SELECT e.payload, e.id, n.c FROM lake.raw.events e JOIN nowhere n ON n.id = e.id;
SELECT payload.b AS b, id, c FROM typed;
CREATE TEMP VIEW files (a INT, b STRING) USING csv OPTIONS (path '/lake/files.csv', header 'true');
CREATE TEMP VIEW unopened USING csv OPTIONS (path '/lake/others');
SELECT upper(b) AS b FROM files;
SELECT b FROM unopened;
BEGIN
FOR r AS SELECT id, status FROM default.orders DO
INSERT INTO names VALUES (r.status);
INSERT INTO names SELECT concat(name, status, r.id) FROM persons; END FOR;
SELECT r.id; END;
"""
FIFTH = """\
CREATE TABLE guessed AS SELECT is_ok, qty, price FROM nowhere;
SELECT sum(CASE WHEN is_ok THEN 1 ELSE 0 END) AS k, sum(qty * price) AS v FROM guessed;
SELECT qty.x AS x FROM guessed;
CREATE OR REFRESH MATERIALIZED VIEW refreshed AS SELECT id, sum(amount) AS s FROM default.orders GROUP BY id;
SELECT s FROM refreshed;
GRANT SELECT ON refreshed TO joe; OPTIMIZE refreshed; VACUUM refreshed;
INSERT INTO lake.mart.flat SELECT frob(id) + 1, customer FROM default.orders WHERE amount > 1;
SELECT frob(id) AS f, customer FROM default.orders;
CREATE FUNCTION declared AS 'com.acme.Declared';
SELECT declared(id, status) AS f FROM default.orders WHERE declared(amount);
SET day = 3;
SELECT id FROM default.orders WHERE customer = ${day};
SELECT id FROM default.orders WHERE status = '${env:CANARY}';
SELECT id,
       ${missing} FROM default.orders;
CREATE TRANSIENT TABLE half AS SELECT id, s FROM nowhere;
SELECT * FROM half;
CREATE STREAMING TABLE other AS SELECT id AS i FROM nowhere;
SELECT * FROM other;
"""
SIXTH = """\
# Databricks notebook source
# MAGIC %sql
# MAGIC CREATE TABLE cell AS
# MAGIC SELECT id AS i FROM default.orders

# COMMAND ----------

# MAGIC %md a text

# COMMAND ----------

# MAGIC %sql SELECT i FROM cell
"""


def called(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> Answer:
    """Call the command in a folder."""
    clean = {name: value for name, value in without_foreign().items() if not name.startswith("GIT_")}
    command = [sys.executable, "-m", "openlineage_pyspark", "lineage", *arguments]
    env = {**clean, "PYSPARK_PYTHON": sys.executable, **(environment or {})}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Answer]]:
    """Give what calls the command as `called` does, but in one process: a JVM of its own costs seconds."""
    script = Path(__file__).parents[2] / "support" / "jobs" / "commands.py"
    env = {**without_foreign(), "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        [sys.executable, str(script)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def call(folder: Path, *arguments: str) -> Answer:
            assert process.stdin is not None
            assert process.stdout is not None
            out = tmp_path_factory.mktemp("out")
            asked = json.dumps({"folder": str(folder), "arguments": ["lineage", *arguments], "out": str(out)})
            process.stdin.write(f"{asked}\n")
            process.stdin.flush()
            code = json.loads(process.stdout.readline())
            told, said = ((out / name).read_text("utf-8") for name in ("stdout", "stderr"))
            return Answer(arguments, code, told, said)

        yield call
        process.communicate()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of files."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in (("ddl.sql", DDL), *zip(NAMES, (FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH), strict=True)):
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def answer(files: Path) -> Answer:
    """Give what the command says of the files; it keeps what Spark told."""
    environment = {"CANARY": CANARY}
    return called(files, *NAMES, "--ddl", "ddl.sql", "--cache", "kept", "--format", "json", environment=environment)


@of_scripts
def test_what_earlier_statements_make_is_followed_across_files(answer: Answer) -> None:
    statements = json.loads(answer.stdout)["result"]["statements"]
    edges = {
        f"{each['file']}:{each['line']}": sorted(
            f"{edge.column} <- {edge.source_table}.{edge.source_column} {edge.subtype}"
            for edge in flat_of(each["lineage"])
            if edge.type == "DIRECT"
        )
        for each in statements
        if each["lineage"] and each["problem"] is None
    }
    assert edges == {
        "1.sql:3": [
            "country <- default.customers.country IDENTITY",
            "net <- default.orders.amount AGGREGATION",
        ],
        "1.sql:6": ["country <- default.customers.name IDENTITY"],
        "2.sql:1": ["net <- mart.revenue.net IDENTITY"],
        "2.sql:7": [
            "a <- lake.raw.events.payload TRANSFORMATION",
            "id <- lake.raw.events.id IDENTITY",
        ],
        "2.sql:9": [
            "amount <- default.orders.amount IDENTITY",
            "amount <- lake.mart.flat.b TRANSFORMATION",
        ],
        "2.sql:10": ["id <- default.orders.id TRANSFORMATION"],
        "3.sql:2": ["name <- lake.raw.people.name IDENTITY"],
        "3.sql:3": ["name <- lake.raw.people.mail IDENTITY"],
        "3.sql:5": ["name <- lake.raw.people.mail IDENTITY"],
        "3.sql:6": ["name <- mart.names.name TRANSFORMATION"],
        "3.sql:9": [
            "id <- default.orders.id IDENTITY",
            "mail <- mart.names.name IDENTITY",
            "name <- mart.names.name IDENTITY",
            "street <- default.orders.status IDENTITY",
            "town <- default.orders.status IDENTITY",
        ],
        "3.sql:12": ["c <- mart.taken.b TRANSFORMATION", "s <- mart.taken.a AGGREGATION"],
        "3.sql:13": ["name <- default.orders.status IDENTITY"],
        "4.sql:2": [
            "b <- mart.typed.payload TRANSFORMATION",
            "c <- mart.typed.c IDENTITY",
            "id <- mart.typed.id IDENTITY",
        ],
        "4.sql:5": ["b <- files.csv.b TRANSFORMATION"],
        "4.sql:8": ["id <- default.orders.id IDENTITY", "status <- default.orders.status IDENTITY"],
        "4.sql:9": ["name <- default.orders.status IDENTITY"],
        "4.sql:10": [
            "name <- default.orders.id TRANSFORMATION",
            "name <- lake.raw.people.mail TRANSFORMATION",
        ],
        "5.sql:2": ["v <- mart.guessed.price AGGREGATION", "v <- mart.guessed.qty AGGREGATION"],
        "5.sql:3": ["x <- mart.guessed.qty TRANSFORMATION"],
        "5.sql:4": ["id <- default.orders.id IDENTITY", "s <- default.orders.amount AGGREGATION"],
        "5.sql:5": ["s <- mart.refreshed.s IDENTITY"],
        "5.sql:10": [
            "f <- default.orders.id TRANSFORMATION",
            "f <- default.orders.status TRANSFORMATION",
        ],
        "5.sql:12": ["id <- default.orders.id IDENTITY"],
        "5.sql:13": ["id <- default.orders.id IDENTITY"],
        "5.sql:17": ["id <- mart.half.id IDENTITY", "s <- mart.half.s IDENTITY"],
        "5.sql:19": ["i <- mart.other.i IDENTITY"],
        "6.py:3": ["i <- default.orders.id IDENTITY"],
        "6.py:12": ["i <- mart.cell.i IDENTITY"],
    }


@of_scripts
def test_what_spark_refuses_has_its_place_and_the_lineage_of_its_text(answer: Answer) -> None:
    unknown = "is unknown: no DDL, no earlier statement and no catalog declares it"
    lines = answer.stderr.splitlines()
    assert answer.returncode == 1
    assert [line.split(" ", 1)[0] for line in lines] == [
        *("2.sql:3:8:", "2.sql:5:28:", "2.sql:6:37:", "2.sql:13:18:"),
        *("3.sql:10:44:", "3.sql:14:14:", "4.sql:6:15:", "4.sql:11:8:"),
        *("5.sql:7:35:", "5.sql:15:8:", "5.sql:16:8:"),
    ]
    assert "`oops`" in lines[0]
    assert lines[1] == f"2.sql:5:28: the table stage.rates {unknown}"
    assert "'='" in lines[2]
    assert lines[3] == f"2.sql:13:18: the table default.customers {unknown}"
    # What several statements lack is said once.
    assert lines[4] == (
        f"3.sql:10:44: the table nowhere {unknown} (and 4 more statements: 3.sql:11, 4.sql:1, 5.sql:1, 5.sql:18)"
    )
    assert lines[6] == (
        "4.sql:6:15: the view unopened is of csv, which is not opened: declare its columns, "
        "as in CREATE TEMPORARY VIEW unopened (id INT, ...) USING csv"
    )
    told = {(each["file"], each["line"]): each["lineage"] for each in json.loads(answer.stdout)["result"]["statements"]}
    text = told["2.sql", 4]
    assert [(edge.column, edge.source_table, edge.certainty) for edge in flat_of(text)] == [
        ("rate", "stage.rates", "text"),
        ("id", "default.orders", "text"),
        (None, "default.orders", "text"),
        (None, "stage.rates", "text"),
    ]
    assert [dataset["namespace"] for dataset in text["inputs"]] == ["spark_catalog", "spark_catalog"]
    placed, viewed = (
        [(edge.column, edge.source_table, edge.source_column) for edge in flat_of(told["3.sql", line])]
        for line in (11, 14)
    )
    assert placed == [
        (column, "mart.nowhere", source)
        for column, source in zip(("town", "mail", "id", "street", "name"), "abcde", strict=True)
    ]
    assert viewed == [("name", "lake.raw.people", "mail")]


@of_scripts
def test_a_function_that_is_not_known_leaves_the_other_columns_as_they_are(answer: Answer) -> None:
    told = {(each["file"], each["line"]): each for each in json.loads(answer.stdout)["result"]["statements"]}
    assert "`frob`" in told["5.sql", 7]["problem"]["message"]
    edges = [
        (edge.column, edge.source_column, edge.subtype, edge.certainty) for edge in flat_of(told["5.sql", 7]["lineage"])
    ]
    assert edges == [
        ("id", "id", "TRANSFORMATION", "opaque"),
        ("b", "customer", "IDENTITY", "exact"),
        (None, "amount", "FILTER", "exact"),
    ]
    assert "`frob`" in told["5.sql", 8]["problem"]["message"]


@of_scripts
def test_a_type_that_nobody_knows_is_no_fault_of_the_statement(answer: Answer) -> None:
    told = {(each["file"], each["line"]): each for each in json.loads(answer.stdout)["result"]["statements"]}
    edges = {
        line: [(edge.column, edge.source_column, edge.subtype) for edge in flat_of(told["5.sql", line]["lineage"])]
        for line in (2, 3, 10)
    }
    assert edges == {
        2: [("k", "is_ok", "CONDITIONAL"), ("v", "price", "AGGREGATION"), ("v", "qty", "AGGREGATION")],
        3: [("x", "qty", "TRANSFORMATION")],
        10: [
            ("f", "id", "TRANSFORMATION"),
            ("f", "status", "TRANSFORMATION"),
            (None, "amount", "FILTER"),
        ],
    }
    assert {line: told["5.sql", line]["problem"] for line in edges} == dict.fromkeys(edges)


@of_scripts
def test_a_variable_has_no_value_of_the_machine(answer: Answer) -> None:
    assert CANARY not in answer.stdout + answer.stderr
    assert "5.sql:15:8: the variable missing has no value" in answer.stderr
    told = {(each["file"], each["line"]): each for each in json.loads(answer.stdout)["result"]["statements"]}
    filters = [edge.expression for edge in flat_of(told["5.sql", 12]["lineage"]) if edge.subtype == "FILTER"]
    assert filters == ["(orders.customer = 3)"]


@of_scripts
def test_what_reads_a_table_of_a_refused_statement_says_so(answer: Answer) -> None:
    told = {(each["file"], each["line"]): each["lineage"] for each in json.loads(answer.stdout)["result"]["statements"]}
    assert [each["message"] for each in told["4.sql", 2]["gaps"]] == [
        (
            "the types of the columns of mart.typed may be different: "
            "Spark can't analyze the statement that makes it (4.sql:1)"
        )
    ]
    assert [each["name"] for each in told["4.sql", 5]["inputs"]] == ["/lake/files.csv"]


def test_what_was_told_once_needs_no_spark(files: Path, answer: Answer) -> None:
    """The same texts are answered from the cache: Java can't be found here."""
    without = {"JAVA_HOME": str(files / "nowhere"), "PATH": str(files)}
    again = called(files, *NAMES, "--ddl", "ddl.sql", "--cache", "kept", "--format", "json", environment=without)
    assert (again.stdout, again.stderr, again.returncode) == (answer.stdout, answer.stderr, 1)
    text = called(files, *NAMES, "--ddl", "ddl.sql", "--cache", "kept", environment=without).stdout
    exactly, from_text = (31, 12) if SPARK_VERSION >= "4" else (29, 14)
    first = f"45 statements in 6 files: {exactly} exactly, {from_text} from the text, 2 not at all"
    assert text.splitlines()[0] == first
    text = text[text.index("1.sql:3:") :]
    assert text.splitlines()[:7] == [
        "1.sql:3: CREATE TABLE mart.revenue USING delta LOCATION 's3://nowhere...",
        "  mart.revenue",
        "    column       from                                           how",
        *[line for line in text.splitlines() if line.startswith(("    country  ", "    net  "))][:2],
        *text.splitlines()[5:7],
    ]


def test_a_spark_that_does_not_start_is_one_line_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1 AS a", "utf-8")
    done = called(tmp_path, "a.sql", "--conf", "spark.serializer=no.such.Class")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        "openlineage-pyspark: Spark did not start: java.lang.ClassNotFoundException: no.such.Class"
    )


@pytest.mark.long
def test_the_next_jvm_takes_its_classes_from_the_cache(files: Path, answer: Answer, tmp_path: Path) -> None:
    assert answer.returncode == 1
    assert [*(files / "kept").glob("spark-classes-*")] == []
    (tmp_path / "first.sql").write_text("CREATE TABLE first AS SELECT 1 AS a", "utf-8")
    # The tests' own archive would be another one.
    without = {"SPARK_SUBMIT_OPTS": ""}
    first = called(tmp_path, "first.sql", "--cache", str(files / "kept"), environment=without)
    assert first.returncode == 0
    assert [each.stat().st_mode & 0o777 for each in (files / "kept").glob("spark-classes-*")] == [0o600]
    (tmp_path / "new.sql").write_text("CREATE TABLE new AS SELECT 1 AS a", "utf-8")
    log = without | {"JAVA_TOOL_OPTIONS": f"-Xlog:class+load=info:file={tmp_path}/%p.log"}

    done = called(tmp_path, "new.sql", "--cache", str(files / "kept"), environment=log)

    assert (done.returncode, done.stderr.replace(log["JAVA_TOOL_OPTIONS"], "")) == (0, "")
    assert done.stdout.startswith("1 statement in 1 file: 1 exactly\n")
    loaded = max((each.read_text("utf-8") for each in tmp_path.glob("*.log")), key=len).splitlines()
    kept = [line for line in loaded if line.endswith("shared objects file (top)")]
    assert len(kept) > len(loaded) // 2


HOSTILE = """\
DECLARE leak = java_method('java.lang.System', 'getenv', 'SECRET_OF_CI');
CREATE TABLE stolen AS SELECT * FROM IDENTIFIER(leak);
SET /* a comment */ spark.sql.runSQLOnFiles = true;
CREATE TABLE read AS SELECT * FROM csv.`data.csv`;
INSERT OVERWRITE DIRECTORY 'written' USING nobody SELECT id FROM orders;
CREATE FUNCTION f AS 'a.B' USING JAR 'http://127.0.0.1:9/b.jar';
ADD JAR 'http://127.0.0.1:9/b.jar';
DECLARE known STRING DEFAULT 'orders';
DECLARE number = CAST(-1 AS BIGINT);
DECLARE today = current_date() - 1;
CREATE TABLE kept AS SELECT id, date_add(today, 1) AS day, number + 1 AS n FROM IDENTIFIER(known);
RESET;
CREATE TABLE after AS SELECT id FROM orders;
"""


@pytest.mark.long
def test_a_script_of_anybody_computes_nothing_and_opens_nothing(tmp_path: Path) -> None:
    evil = "open('imported', 'w').close()\nclass DefaultSource: pass\n"
    given = {"hostile.sql": HOSTILE, "ddl.sql": DDL, "data.csv": "a,b\n1,2\n", "pyspark_evil.py": evil}
    for name, text in given.items():
        (tmp_path / name).write_text(text, "utf-8")
    environment = {"SECRET_OF_CI": "s3cr3t-of-ci"}
    answer = called(tmp_path, "hostile.sql", "--ddl", "ddl.sql", "--format", "json", environment=environment)
    assert "s3cr3t-of-ci" not in answer.stdout + answer.stderr
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == set(given)
    made = {
        each["line"]: [edge.column for edge in flat_of(each["lineage"])]
        for each in json.loads(answer.stdout)["result"]["statements"]
        if each["lineage"] and each["problem"] is None
    }
    # Spark 3.5 has no variables.
    kept = ["id"] if SPARK_VERSION >= "4" else None
    assert {line: made.get(line) for line in (4, 11, 13)} == {4: None, 11: kept, 13: ["id"]}


def example(name: str) -> dict[str, Any]:
    """Return a worked example of the document."""
    block = re.search(rf"<!-- {name} -->\n```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    found: dict[str, Any] = yaml.safe_load(block.group(1))
    return found


def github() -> tuple[str, str]:
    """Return what GitHub's example compares with, in a pull request to `main`, and its commands that do it."""
    job = example("github")["jobs"]["lineage"]
    (commands,) = [step["run"] for step in job["steps"] if "openlineage-pyspark lineage" in step.get("run", "")]
    return job["env"]["BASE"].replace("${{ github.base_ref }}", "main"), commands


def gitlab() -> tuple[str, str, str]:
    """Return the same of GitLab's example, with the command that fetches it."""
    job = example("gitlab")["lineage"]
    (fetch,) = [line for line in job["before_script"] if line.startswith("git ")]
    (command,) = job["script"]
    return job["variables"]["BASE"].replace("$CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"), fetch, command


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, git: str) -> Path:
    """Give a clone whose branch changes an expression, with a later file that reads it; its origin has a `main`."""
    folder = tmp_path_factory.mktemp("repository")
    for part in ("sql", "ddl"):
        (folder / part).mkdir()
    (folder / "ddl" / "tables.sql").write_text("CREATE TABLE orders (id INT, amount INT, tax INT) USING delta", "utf-8")
    (folder / "sql" / "1.sql").write_text("CREATE TABLE net AS SELECT id, amount AS value FROM orders;\n", "utf-8")
    (folder / "sql" / "2.sql").write_text("CREATE TABLE total AS SELECT sum(value) AS total FROM net;\n", "utf-8")
    command = [git, "-c", "user.name=t", "-c", "user.email=t@example.com"]
    origin = str(folder.with_name(f"{folder.name}.git"))
    for arguments in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*command, *arguments], check=True, cwd=folder)
    for arguments in (["clone", "-q", "--bare", ".", origin], ["remote", "add", "origin", origin]):
        subprocess.run([*command, *arguments], check=True, cwd=folder)
    # As the checkout of GitHub's example does with `fetch-depth: 0`.
    subprocess.run([*command, "fetch", "-q", "origin"], check=True, cwd=folder)
    subprocess.run([*command, "switch", "-qc", "change"], check=True, cwd=folder)
    (folder / "sql" / "1.sql").write_text("CREATE TABLE net AS SELECT id, amount - tax AS value FROM orders", "utf-8")
    subprocess.run([*command, "commit", "-qam", "change"], check=True, cwd=folder)
    events = [
        run_event(
            "board",
            "COMPLETE",
            2,
            inputs=(dataset("default.total"),),
            outputs=(
                dataset("board", columns=("y",), columnLineage=lineage(y=[("default.total", "total", "IDENTITY")])),
            ),
        )
    ]
    taken(folder / "lineage.db", events)
    return folder


@pytest.mark.long
def test_the_worked_examples_do_what_they_say(repository: Path) -> None:
    """Their shell commands run here; the second one finds all that it needs in the cache of the first."""
    env = {
        **{name: value for name, value in without_foreign().items() if not name.startswith("GIT_")},
        "PYSPARK_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    }
    run: Callable[[str], Answer] = lambda text: subprocess.run(  # noqa: E731
        ["bash", "-eo", "pipefail", "-c", text],
        cwd=repository,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    env["BASE"], commands = github()
    first = run(commands)
    assert first.returncode == 0, first.stderr
    written = (repository / "lineage.md").read_text("utf-8")
    assert [
        line.rsplit("|", 3)[0].strip() for line in written.splitlines() if line.startswith(("| added", "| changed"))
    ] == [
        "| changed | edge | `default.orders.amount -> default.net.value`",
        "| added | edge | `default.orders.tax -> default.net.value`",
    ]
    assert written.endswith("**Downstream of it** (1):\n\n- `default.total.total`\n")
    env["JAVA_HOME"] = str(repository / "nowhere")
    env["BASE"], fetch, command = gitlab()
    fetched = run(fetch)
    assert fetched.returncode == 0, fetched.stderr
    second = run(command)
    assert second.returncode == example("gitlab")["lineage"]["allow_failure"]["exit_codes"] == 3, second.stderr
    assert second.stdout == written == (repository / "lineage.md").read_text("utf-8")
    stored = run(command.replace("--format markdown", "--format json --store lineage.db"))
    assert stored.returncode == 3, stored.stderr
    assert json.loads(stored.stdout)["result"]["downstream"] == [
        {"name": "default.total.total", "depth": 1},
        {"name": "board.y", "depth": 2},
    ]
    nothing = run(command.replace("$BASE", "HEAD"))
    assert (nothing.returncode, nothing.stdout) == (0, "No lineage changed.\n")


REFUSED = """\
DELETE customers WHERE id = 1;
CREATE TABLE copied AS SELECT a, b FROM nowhere;
INSERT INTO target SELECT a, b, 'x' FROM copied;
CREATE TEMP VIEW passing AS SELECT a, b FROM nowhere WHERE c > 1;
CREATE VIEW kept AS SELECT a + 1 AS x FROM nowhere;
INSERT INTO target SELECT b, a, upper(b) FROM passing;
SELECT max(x) AS m FROM kept WHERE x > 2;
CREATE OR REPLACE VIEW kept AS SELECT id AS x FROM customers;
SELECT x FROM kept;
INSERT INTO target SELECT named_struct('f', 1), 2, 'x';
SELECT _metadata.file_name AS f, id FROM customers
"""
REFUSED_DDL = """\
CREATE TABLE customers (id BIGINT, name STRING) USING parquet;
CREATE TABLE target (id BIGINT, net DOUBLE, country STRING) USING parquet;
"""


@pytest.mark.long
def test_what_reads_a_table_or_a_view_that_is_refused_has_its_columns_and_no_false_error(
    tmp_path: Path, shared: Callable[..., Answer]
) -> None:
    (tmp_path / "ddl.sql").write_text(REFUSED_DDL, "utf-8")
    (tmp_path / "q.sql").write_text(REFUSED, "utf-8")

    ended = shared(tmp_path, "q.sql", "--ddl", "ddl.sql", "--format", "json")

    assert [line.split(": ")[0] for line in ended.stderr.splitlines()] == [*("q.sql:1:8", "q.sql:2:41", "q.sql:10:1")]
    statements = [each for each in json.loads(ended.stdout)["result"]["statements"] if each["lineage"]]
    assert {
        each["line"]: [
            f"{edge.column} <- {edge.source_table}.{edge.source_column} {edge.subtype} {edge.certainty}"
            for edge in flat_of(each["lineage"])
        ]
        for each in statements
        if each["line"] not in (1, 10)
    } == {
        2: ["a <- default.nowhere.a IDENTITY text", "b <- default.nowhere.b IDENTITY text"],
        3: ["id <- default.copied.a TRANSFORMATION exact", "net <- default.copied.b TRANSFORMATION exact"],
        5: ["x <- default.nowhere.a TRANSFORMATION text"],
        6: [
            "id <- default.nowhere.b TRANSFORMATION text",
            "net <- default.nowhere.a TRANSFORMATION text",
            "country <- default.nowhere.b TRANSFORMATION text",
            "None <- default.nowhere.c FILTER text",
        ],
        7: ["m <- default.nowhere.a AGGREGATION text", "None <- default.nowhere.a FILTER text"],
        8: ["x <- default.customers.id IDENTITY exact"],
        9: ["x <- default.customers.id IDENTITY exact"],
        11: ["id <- default.customers.id IDENTITY exact"],
    }
    gaps = {each["line"]: [gap["message"] for gap in each["lineage"]["gaps"]] for each in statements}
    assert gaps[7] == ["the columns of the view default.kept are taken from its text: Spark can't analyze it (q.sql:5)"]


@pytest.mark.long
@pytest.mark.skipif(SPARK_VERSION < "4.1", reason="Spark has declarative pipelines from 4.1 on")
def test_the_tables_and_flows_of_pipelines_have_their_lineage(tmp_path: Path, shared: Callable[..., Answer]) -> None:
    (tmp_path / "ddl.sql").write_text(REFUSED_DDL, "utf-8")
    (tmp_path / "q.sql").write_text(
        """\
CREATE MATERIALIZED VIEW seen AS SELECT id, upper(name) AS name FROM customers;
CREATE STREAMING TABLE streamed AS SELECT name FROM STREAM customers;
CREATE FLOW filling AS INSERT INTO target BY NAME SELECT id FROM STREAM customers;
SELECT name FROM seen;
SELECT name FROM streamed;
CREATE STREAMING TABLE lake.d.filled (id INT, name STRING);
USE CATALOG lake;
CREATE FLOW other AS INSERT INTO d.filled BY NAME SELECT id FROM STREAM spark_catalog.default.customers;
CREATE STREAMING TABLE d.grown COMMENT 'by its flows';
CREATE FLOW more AS INSERT INTO d.grown BY NAME SELECT id + 1 AS next FROM STREAM spark_catalog.default.customers;
CREATE MATERIALIZED VIEW last AS SELECT next FROM d.grown;
CREATE MATERIALIZED VIEW missing AS
SELECT id FROM nowhere
""",
        "utf-8",
    )

    ended = shared(tmp_path, "q.sql", "--ddl", "ddl.sql", "--format", "json")

    # The query is analyzed in another statement, so the place of the error in it is not known.
    assert [line.split(": ")[0] for line in ended.stderr.splitlines()] == ["q.sql:12:1"]
    assert {
        each["line"]: [
            f"{edge.output_table}.{edge.column} <- {edge.source_table}.{edge.source_column}"
            for edge in flat_of(each["lineage"])
        ]
        for each in json.loads(ended.stdout)["result"]["statements"]
    } == {
        1: ["default.seen.id <- default.customers.id", "default.seen.name <- default.customers.name"],
        2: ["default.streamed.name <- default.customers.name"],
        3: ["default.target.id <- default.customers.id"],
        4: ["None.name <- default.seen.name"],
        5: ["None.name <- default.streamed.name"],
        8: ["lake.d.filled.id <- default.customers.id"],
        10: ["lake.d.grown.next <- default.customers.id"],
        11: ["lake.last.next <- lake.d.grown.next"],
        12: ["lake.missing.id <- lake.nowhere.id"],
    }


def test_files_of_other_engines_keep_their_names_and_one_that_cant_be_read_costs_itself(
    tmp_path: Path, shared: Callable[..., Answer]
) -> None:
    (tmp_path / "a.sql").write_text(
        """\
CREATE TABLE "Orders" ("Id" INT, "Amount" INT);
CREATE PROCEDURE p() LANGUAGE sql AS $$ INSERT INTO "Orders" ("Amount") SELECT "Id" FROM "Orders" $$;
SELECT "Amount", 'x' AS b FROM "Orders"
""",
        "utf-8",
    )
    (tmp_path / "b.sql").write_text(
        """\
CREATE TABLE [The Names] ([Id] INT, [The Name] STRING)
GO
CREATE PROC dbo.q @a INT AS
SET NOCOUNT ON
DECLARE @x INT = 1
SET @x = @a + 1
PRINT 'x'
INSERT INTO [The Names] SELECT [Id], "The Name" FROM [The Names]
RETURN 0
""",
        "utf-8",
    )
    (tmp_path / "c.sql").symlink_to("nothing.sql")

    ended = shared(tmp_path, "a.sql", "b.sql", "c.sql", "--format", "json")

    assert ended.stderr == "c.sql: can't be read: No such file or directory\n"
    assert ended.returncode == 1
    statements = json.loads(ended.stdout)["result"]["statements"]
    edges = {
        f"{each['file']}:{each['line']}": [
            f"{edge.column} <- {edge.source_table}.{edge.source_column} {edge.certainty}"
            for edge in flat_of(each["lineage"])
        ]
        for each in statements
        if each["lineage"]
    }
    assert edges == {
        "a.sql:2": ["Amount <- default.orders.Id exact"],
        "a.sql:3": ["Amount <- default.orders.Amount exact"],
        "b.sql:8": ["Id <- default.the names.Id exact", "The Name <- default.the names.The Name exact"],
    }


def test_a_statement_that_is_nested_too_deeply_costs_itself_and_says_why(
    tmp_path: Path, shared: Callable[..., Answer]
) -> None:
    deep = f"SELECT {'(' * 3000}id{')' * 3000} FROM t"
    (tmp_path / "a.sql").write_text(f"CREATE TABLE t (id INT);\n{deep};\nSELECT id FROM t", "utf-8")

    ended = shared(tmp_path, "a.sql", "--format", "json")

    assert ended.stderr == (
        "a.sql:2:1: it is nested too deeply for Spark: make several statements of it, such as temporary views\n"
    )
    assert [each["certainty"] for each in json.loads(ended.stdout)["result"]["statements"]] == ["nothing", "exact"]


@pytest.mark.long
def test_a_store_and_event_files_declare_tables(tmp_path: Path, shared: Callable[..., Answer]) -> None:
    fields = [
        {"name": "a", "type": "struct", "fields": [{"name": "x", "type": "int"}]},
        {"name": "b", "type": "string"},
    ]
    links = {"identifiers": [{"namespace": "file:/w", "name": "shop.orders", "type": "TABLE"}]}
    event = run_event("load", "COMPLETE", 1, outputs=(dataset("/w/orders", schema={"fields": fields}, symlinks=links),))
    (tmp_path / "events.ndjson").write_text(f"{json.dumps(event)}\n", "utf-8")
    (tmp_path / "q.sql").write_text("USE lake.shop; SELECT a.x, upper(b) AS u FROM orders", "utf-8")
    answer = shared(tmp_path, "q.sql", "--catalog", "events.ndjson", "--format", "json")
    assert answer.returncode == 0, answer.stderr
    (found,) = json.loads(answer.stdout)["result"]["statements"]
    assert [(edge.column, edge.source, edge.source_column) for edge in flat_of(found["lineage"])] == [
        ("x", "/w/orders", "a"),
        ("u", "/w/orders", "b"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.sql"], "none.sql can't be read"),
        (["q.sql", "--diff", "nowhere"], "git"),
        (["q.sql", "--catalog", "none.db"], "none.db"),
        (["q.sql", "--catalog", "lake.lineage"], "lake.lineage is not an existing file"),
        (["q.sql", "--diff", "HEAD", "--store", "lake.lineage"], "a store in Spark's tables"),
        (["q.sql", "--conf", "x"], "argument -c/--conf: must be KEY=VALUE"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_why(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "q.sql").write_text("", "utf-8")
    answer = called(tmp_path, *arguments, environment={"JAVA_HOME": str(tmp_path)})
    assert (answer.returncode, answer.stdout) == (2, "")
    assert said in answer.stderr


@pytest.mark.usefixtures("git")
def test_a_folder_that_did_not_change_has_no_difference_and_a_setting_that_spark_refuses_costs_itself_alone(
    tmp_path: Path, shared: Callable[..., Answer]
) -> None:
    """The two sides of a comparison are analyzed in one process."""
    (tmp_path / "a.sql").write_text(
        "CREATE TABLE mart.a USING parquet AS SELECT id, name AS nm FROM raw.src;\n"
        "SET spark.sql.shuffle.partitions = ${n};\n"
        "CREATE TABLE mart.b USING parquet AS SELECT nm FROM mart.a;\n",
        "utf-8",
    )
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)

    same = shared(tmp_path, "a.sql", "--diff", "HEAD")
    (tmp_path / "0.sql").write_text("CREATE TABLE raw.src (id INT, name STRING);\n", "utf-8")
    other = shared(tmp_path, "0.sql", "a.sql", "--diff", "HEAD")

    refused = [line for line in same.stderr.splitlines() if line.startswith("a.sql:2:")]
    assert same.stdout == "nothing changed\n"
    assert len(refused) == 1
    assert "Traceback" not in same.stderr + other.stderr
    assert "raw.src.name" in other.stdout
