"""
Plans of recovery that would do harm, on real tables of Iceberg and Delta Lake: each is applied.

Argument: a folder. A line of JSON for each trap: its name, the outcome, what was said, and the rows and the versions.
"""

import json
import sys
from pathlib import Path

from openlineage_pyspark.workbench.errors import StoreError
from openlineage_pyspark.workbench.recovery.apply import Application, Consent
from openlineage_pyspark.workbench.recovery.journal import Entry, Journal
from openlineage_pyspark.workbench.recovery.live import LiveSession
from openlineage_pyspark.workbench.recovery.plan import Check, Mode, RecoveryPlan, RecoveryStep, TableId
from openlineage_pyspark.workbench.recovery.statements import name_of, roll_back
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
live = LiveSession(spark)
tables = iter(range(100))


def made(format_="iceberg", *batches, name=None, options=""):
    """Make a table of numbers, one version for each batch, and return it with its versions."""
    parts = (
        ("ice", "db", name or f"t{next(tables)}")
        if format_ == "iceberg"
        else ("spark_catalog", "db", f"t{next(tables)}")
    )
    table = TableId(parts, format_)
    spark.sql(f"CREATE TABLE {name_of(table)} (k INT) USING {format_} {options}")
    versions = []
    for batch in batches or ("(1)", "(2)", "(3)"):
        spark.sql(f"INSERT INTO {name_of(table)} VALUES {batch}")
        versions.append(live.table(table).version)
    place = live.table(table).location
    return TableId(parts, format_, place), versions


def back(table, versions, to=0, newest=-1):
    """Return the step that rolls a table back."""
    return RecoveryStep(
        "roll back",
        "Roll it back.",
        "sql",
        (roll_back(table, versions[to]),),
        writes=(table,),
        before=(Check("newest", table, versions[newest]), Check("there", table, versions[to])),
        after=(Check("current", table, versions[to]),),
    )


def again(table, sql, **about):
    """Return the step that repeats a statement."""
    return RecoveryStep("run", "Run it again.", "sql", (sql,), writes=(table,), **about)


def applied(name, steps, *watched, ask=None, consent=None, begun=(), on=""):
    """Apply a plan of some steps, or go on with it, and print what came of it."""
    plan = RecoveryPlan(Mode.INCREMENTAL, "t", "1", (), tuple(steps), made=on or name)
    journal = Journal(folder / f"{(on or name).replace(' ', '-')}.jsonl")
    for entry in begun:
        journal.write(entry)
    said = []
    try:
        outcome = Application(plan, live, journal, said.append, ask, consent or Consent()).apply()
    except StoreError as problem:
        outcome = f"{type(problem).__name__}: {problem}"
    rows = {}
    for each in watched:
        spark.sql(f"REFRESH TABLE {name_of(each)}") if each.format == "iceberg" else None
        rows[each.parts[-1]] = sorted(row[0] for row in spark.sql(f"SELECT * FROM {name_of(each)}").collect())
    told = {
        "outcome": outcome,
        "said": said,
        "rows": list(rows.values()),
        "states": [[entry.step, entry.state] for entry in journal.entries],
    }
    print(json.dumps([name, told], default=str), flush=True)
    return journal


spark.sql("CREATE DATABASE IF NOT EXISTS ice.db")
spark.sql("CREATE DATABASE IF NOT EXISTS db")

for format_ in ("iceberg", "delta"):
    table, versions = made(format_)
    applied(f"{format_} right", [back(table, versions)], table)

    table, versions = made(format_)
    spark.sql(f"INSERT INTO {name_of(table)} VALUES (99)")
    applied(f"{format_} somebody unknown has written", [back(table, versions)], table)
    applied(f"{format_} that is accepted", [back(table, versions)], table, consent=Consent(newer=(name_of(table),)))

    table, versions = made(format_)
    applied(f"{format_} a version that never was", [back(table, ["77", *versions], 0)], table)

    table, versions = made(format_)
    spark.sql(f"DROP TABLE {name_of(table)}")
    applied(f"{format_} a table that is gone", [back(table, versions)])

    table, versions = made(format_)
    other, _ = made(format_)
    wrong = TableId(table.parts, format_, other.location)
    applied(f"{format_} another table of this name", [back(wrong, versions)], table)

    # Nothing is done where a later step can't be.
    table, versions = made(format_)
    sql = f"INSERT INTO {name_of(table)} SELECT nothing FROM {name_of(table)}"
    applied(f"{format_} a later statement has an error", [back(table, versions), again(table, sql)], table)

    for what, sql in {
        "drops another table": f"DROP TABLE {name_of(other)}",
        "writes another table": f"INSERT INTO {name_of(other)} VALUES (7)",
        "does two things": f"INSERT INTO {name_of(table)} VALUES (7); DROP TABLE {name_of(other)}",
        "hides in a comment": f"/* INSERT INTO {name_of(table)} */ DELETE FROM {name_of(other)}",
        "sets a property": "SET spark.sql.ansi.enabled=false",
        "adds a jar": "ADD JAR '/tmp/x.jar'",
        "loads a script": f"INSERT OVERWRITE DIRECTORY '{folder}/out' USING text SELECT 'x'",
        "calls": "CALL ice.system.expire_snapshots('db.t0')",
    }.items():
        applied(f"{format_} a statement that {what}", [again(table, sql)], table, other)
        assert not (folder / "out").exists()

    table, versions = made(format_)
    other, _ = made(format_)
    query = f"SELECT IF((SELECT max(k) FROM {name_of(other)}) > 1, CAST(raise_error('no') AS INT), 5)"
    steps = [back(table, versions), again(table, f"INSERT INTO {name_of(table)} {query}")]
    applied(f"{format_} a statement fails", steps, table)
    spark.sql(f"DELETE FROM {name_of(other)} WHERE k > 1")
    applied(f"{format_} a statement fails, and goes on", steps, table, on=f"{format_} a statement fails")

    table, versions = made(format_)
    doubtful = again(table, f"INSERT INTO {name_of(table)} VALUES (5)", doubts=("perhaps",))
    applied(f"{format_} a doubt", [back(table, versions), doubtful], table)
    accepted = Consent(doubts=(2,))
    applied(f"{format_} a doubt that is accepted", [back(table, versions), doubtful], table, consent=accepted)

    # Killed after the commit, and before the journal knew it.
    table, versions = made(format_)
    sql = f"INSERT INTO {name_of(table)} VALUES (8)"
    spark.sql(sql)
    begun = [Entry(1, 0, "begun", {name_of(table): versions[-1]}, sql)]
    applied(f"{format_} killed after a commit", [again(table, sql)], table, begun=begun)
    # Killed before it.
    table, versions = made(format_)
    sql = f"INSERT INTO {name_of(table)} VALUES (8)"
    begun = [Entry(1, 0, "begun", {name_of(table): versions[-1]}, sql)]
    applied(f"{format_} killed before a commit", [again(table, sql)], table, begun=begun)

    # What an event names is shown to a person, and not run.
    table, versions = made(format_)
    command = RecoveryStep("run", "Run it again.", "shell", (f"touch {folder}/ran",), writes=(table,))
    applied(f"{format_} a command", [command], table)
    assert not (folder / "ran").exists()
    answers = iter([True, True, False])
    applied(
        f"{format_} a command of which no new version came", [command], table, ask=lambda _, given=answers: next(given)
    )

    # Only some partitions were replaced then, and only those are now.
    parted = TableId(("ice" if format_ == "iceberg" else "spark_catalog", "db", f"p{format_}"), format_)
    spark.sql(f"CREATE TABLE {name_of(parted)} (k INT, d INT) USING {format_} PARTITIONED BY (d)")
    spark.sql(f"INSERT INTO {name_of(parted)} VALUES (1, 1), (2, 2)")
    sql = f"INSERT OVERWRITE {name_of(parted)} SELECT 9, 2"
    mode = (("spark.sql.sources.partitionOverwriteMode", "dynamic"),)
    applied(f"{format_} some partitions", [again(parted, sql, settings=mode)], parted)
    assert spark.conf.get("spark.sql.sources.partitionOverwriteMode") == "STATIC"

    # A name with a dot or a backquote is one part.
    odd, versions = made(format_, name="a.b") if format_ == "iceberg" else made(format_)
    applied(f"{format_} an odd name", [back(odd, versions)], odd)

table, versions = made("iceberg")
spark.sql(f"CALL ice.system.expire_snapshots(table => 'db.{table.parts[-1]}', snapshot_ids => ARRAY({versions[1]}))")
applied("iceberg a version between expired", [back(table, versions)], table)

table, versions = made("delta")
spark.sql(f"DELETE FROM {name_of(table)} WHERE k = 1")
spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
spark.sql(f"VACUUM {name_of(table)} RETAIN 0 HOURS")
newest = live.table(table).version
applied("delta vacuumed", [back(table, [*versions, newest], 1)], table)

plain = TableId(("spark_catalog", "db", "plain"), "parquet")
spark.sql(f"CREATE TABLE {name_of(plain)} (k INT) USING parquet")
spark.sql(f"INSERT INTO {name_of(plain)} VALUES (1)")
copy = TableId(("spark_catalog", "db", "plain_before_recovery"), "parquet")
keep = RecoveryStep(
    "keep",
    "Keep it.",
    "sql",
    (f"CREATE TABLE {name_of(copy)} USING parquet AS SELECT * FROM {name_of(plain)}",),
    writes=(copy,),
)
empty = RecoveryStep("empty", "Empty it.", "sql", (f"TRUNCATE TABLE {name_of(plain)}",), writes=(plain,))
applied("a table whose place is not known", [keep, empty], plain)
known = TableId(plain.parts, "parquet", live.table(plain).location)
empty = RecoveryStep("empty", "Empty it.", "sql", (f"TRUNCATE TABLE {name_of(plain)}",), writes=(known,))
applied("a copy first", [keep, empty], plain, copy)
applied("a copy that is there", [keep, empty], plain, copy)
begun = [Entry(1, 0, "finished"), Entry(2, 0, "begun", {}, "TRUNCATE")]
applied("killed while a table without versions was emptied", [keep, empty], plain, copy, begun=begun)
spark.stop()
