"""
Plans of recovery that would do harm, on real tables of Iceberg and Delta Lake: each is applied.

Argument: a folder. A line of JSON for each trap: its name, the outcome, what was said, and the rows and the versions.
"""

import json
import shutil
import sys
from pathlib import Path

from openlineage_pyspark.errors import Error
from openlineage_pyspark.workbench.recovery.applying.apply import PlanApplication
from openlineage_pyspark.workbench.recovery.applying.given_plan import Consent, GivenPlan
from openlineage_pyspark.workbench.recovery.applying.journal import Journal, JournalEntry
from openlineage_pyspark.workbench.recovery.applying.live import LiveSession
from openlineage_pyspark.workbench.recovery.model.plan import Mode, RecoveryPlan, RecoveryStep, TableCheck, TableId
from openlineage_pyspark.workbench.recovery.model.statements import roll_back, sql_name
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
    spark.sql(f"CREATE TABLE {sql_name(table)} (k INT) USING {format_} {options}")
    versions = []
    for batch in batches or ("(1)", "(2)", "(3)"):
        spark.sql(f"INSERT INTO {sql_name(table)} VALUES {batch}")
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
        before=(TableCheck("newest", table, versions[newest]), TableCheck("there", table, versions[to])),
        after=(TableCheck("current", table, versions[to]),),
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
        outcome = PlanApplication(GivenPlan(plan, live, journal, said.append, ask, consent or Consent())).apply()
    except Error as problem:
        outcome = f"{type(problem).__name__}: {problem}"
    rows = {}
    for each in watched:
        spark.sql(f"REFRESH TABLE {sql_name(each)}") if each.format == "iceberg" else None
        rows[each.parts[-1]] = sorted(row[0] for row in spark.sql(f"SELECT * FROM {sql_name(each)}").collect())
    told = {
        "outcome": outcome,
        "said": said,
        "rows": list(rows.values()),
        "states": [[entry.step, entry.state] for entry in journal.entries],
    }
    print(json.dumps([name, told], default=str), flush=True)
    return journal


spark.sql("CREATE DATABASE IF NOT EXISTS ice.db")
spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.db")

for format_ in ("iceberg", "delta"):
    table, versions = made(format_)
    applied(f"{format_} right", [back(table, versions)], table)

    table, versions = made(format_)
    spark.sql(f"INSERT INTO {sql_name(table)} VALUES (99)")
    applied(f"{format_} somebody unknown has written", [back(table, versions)], table)
    applied(f"{format_} that is accepted", [back(table, versions)], table, consent=Consent(newer=(sql_name(table),)))

    table, versions = made(format_)
    applied(f"{format_} a version that never was", [back(table, ["77", *versions], 0)], table)

    table, versions = made(format_)
    spark.sql(f"DROP TABLE {sql_name(table)}")
    applied(f"{format_} a table that is gone", [back(table, versions)])

    table, versions = made(format_)
    other, _ = made(format_)
    wrong = TableId(table.parts, format_, other.location)
    applied(f"{format_} another table of this name", [back(wrong, versions)], table)

    # Nothing is done where a later step can't be.
    table, versions = made(format_)
    sql = f"INSERT INTO {sql_name(table)} SELECT nothing FROM {sql_name(table)}"
    applied(f"{format_} a later statement has an error", [back(table, versions), again(table, sql)], table)

    for what, sql in {
        "drops another table": f"DROP TABLE {sql_name(other)}",
        "writes another table": f"INSERT INTO {sql_name(other)} VALUES (7)",
        "does two things": f"INSERT INTO {sql_name(table)} VALUES (7); DROP TABLE {sql_name(other)}",
        "hides in a comment": f"/* INSERT INTO {sql_name(table)} */ DELETE FROM {sql_name(other)}",
        "sets a property": "SET spark.sql.ansi.enabled=false",
        "adds a jar": "ADD JAR '/tmp/x.jar'",
        "loads a script": f"INSERT OVERWRITE DIRECTORY '{folder}/out' USING text SELECT 'x'",
        "calls": "CALL ice.system.expire_snapshots('db.t0')",
    }.items():
        applied(f"{format_} a statement that {what}", [again(table, sql)], table, other)
        assert not (folder / "out").exists()

    table, versions = made(format_)
    other, _ = made(format_)
    query = f"SELECT IF((SELECT max(k) FROM {sql_name(other)}) > 1, CAST(raise_error('no') AS INT), 5)"
    steps = [back(table, versions), again(table, f"INSERT INTO {sql_name(table)} {query}")]
    applied(f"{format_} a statement fails", steps, table)
    spark.sql(f"DELETE FROM {sql_name(other)} WHERE k > 1")
    applied(f"{format_} a statement fails, and goes on", steps, table, on=f"{format_} a statement fails")

    table, versions = made(format_)
    doubtful = again(table, f"INSERT INTO {sql_name(table)} VALUES (5)", doubts=("perhaps",))
    applied(f"{format_} a doubt", [back(table, versions), doubtful], table)
    accepted = Consent(doubts=(2,))
    applied(f"{format_} a doubt that is accepted", [back(table, versions), doubtful], table, consent=accepted)

    # Killed after the commit, and before the journal knew it.
    table, versions = made(format_)
    sql = f"INSERT INTO {sql_name(table)} VALUES (8)"
    spark.sql(sql)
    begun = [JournalEntry(1, 0, "begun", {sql_name(table): versions[-1]}, sql)]
    applied(f"{format_} killed after a commit", [again(table, sql)], table, begun=begun)
    # Killed before it.
    table, versions = made(format_)
    sql = f"INSERT INTO {sql_name(table)} VALUES (8)"
    begun = [JournalEntry(1, 0, "begun", {sql_name(table): versions[-1]}, sql)]
    applied(f"{format_} killed before a commit", [again(table, sql)], table, begun=begun)

    # The format states who made a version.
    table, versions = made(format_)
    sql = f"INSERT INTO {sql_name(table)} VALUES (8)"
    begun = [JournalEntry(1, 0, "begun", {sql_name(table): versions[-1]}, sql, application=live.application)]
    live.run(sql)
    applied(f"{format_} killed after a commit of its own", [again(table, sql)], table, begun=begun)
    table, versions = made(format_)
    sql = f"INSERT INTO {sql_name(table)} VALUES (8)"
    begun = [JournalEntry(1, 0, "begun", {sql_name(table): versions[-1]}, sql, application="gone")]
    spark.sql(f"INSERT INTO {sql_name(table)} VALUES (99)")
    name = f"{format_} killed, and somebody else wrote"
    applied(name, [again(table, sql)], table, begun=begun)
    spark.sql(roll_back(table, versions[-1]))
    applied(f"{name}, which is undone", [again(table, sql)], table, on=name)

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
    spark.sql(f"CREATE TABLE {sql_name(parted)} (k INT, d INT) USING {format_} PARTITIONED BY (d)")
    spark.sql(f"INSERT INTO {sql_name(parted)} VALUES (1, 1), (2, 2)")
    sql = f"INSERT OVERWRITE {sql_name(parted)} SELECT 9, 2"
    mode = (("spark.sql.sources.partitionOverwriteMode", "dynamic"),)
    applied(f"{format_} some partitions", [again(parted, sql, settings=mode)], parted)
    assert spark.conf.get("spark.sql.sources.partitionOverwriteMode") == "STATIC"

    # A name with a dot or a backquote is one part.
    odd, versions = made(format_, name="a.b") if format_ == "iceberg" else made(format_)
    applied(f"{format_} an odd name", [back(odd, versions)], odd)

table, versions = made("iceberg")
spark.sql(
    f"CALL ice.system.expire_snapshots(table => 'ice.db.{table.parts[-1]}', snapshot_ids => ARRAY({versions[1]}))"
)
applied("iceberg a version between expired", [back(table, versions)], table)

table, versions = made("delta")
spark.sql(f"DELETE FROM {sql_name(table)} WHERE k = 1")
spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
spark.sql(f"VACUUM {sql_name(table)} RETAIN 0 HOURS")
newest = live.table(table).version
applied("delta vacuumed", [back(table, [*versions, newest], 1)], table)

# A table that the recovery has rolled back, and that somebody wrote and restored since.
for to, what in ((0, "to where it was"), (1, "elsewhere")):
    table, versions = made("delta")
    live.run(roll_back(table, versions[0]))
    left = live.table(table).version
    spark.sql(f"INSERT INTO {sql_name(table)} VALUES (99)")
    spark.sql(roll_back(table, str(int(left) + to)))
    done = [JournalEntry(1, 1, "finished", {sql_name(table): left})]
    newest = (TableCheck("newest", table, versions[-1]),)
    steps = [back(table, versions), again(table, f"INSERT INTO {sql_name(table)} VALUES (8)", before=newest)]
    applied(f"delta restored {what}", steps, table, begun=done)

for place in ("two words", "per%20cent"):
    odd = TableId(("delta", f"{folder}/{place}"), "delta", f"file:{folder}/{place}")
    for k in (1, 2, 3):
        spark.range(k, k + 1).selectExpr("CAST(id AS INT) AS k").write.format("delta").mode("append").save(odd.parts[1])
    applied(f"delta {place}", [back(odd, ["0", "1", "2"])], odd)

beside = TableId(("delta", f"{folder}/beside"), "delta", f"file:{folder}/beside")
copied = f"CREATE TABLE {sql_name(beside)} USING delta AS SELECT * FROM {sql_name(odd)}"
applied("delta a copy at a path", [RecoveryStep("copy", "Copy it.", "sql", (copied,), writes=(beside,))], beside)

plain = TableId(("spark_catalog", "db", "plain"), "parquet")
spark.sql(f"CREATE TABLE {sql_name(plain)} (k INT) USING parquet")
spark.sql(f"INSERT INTO {sql_name(plain)} VALUES (1)")
copy = TableId(("spark_catalog", "db", "plain_before_recovery"), "parquet")
keep = RecoveryStep(
    "keep",
    "Keep it.",
    "sql",
    (f"CREATE TABLE {sql_name(copy)} USING parquet AS SELECT * FROM {sql_name(plain)}",),
    writes=(copy,),
)
empty = RecoveryStep("empty", "Empty it.", "sql", (f"TRUNCATE TABLE {sql_name(plain)}",), writes=(plain,))
applied("a table whose place is not known", [keep, empty], plain)
known = TableId(plain.parts, "parquet", live.table(plain).location)
empty = RecoveryStep("empty", "Empty it.", "sql", (f"TRUNCATE TABLE {sql_name(plain)}",), writes=(known,))
left = Path(known.location.removeprefix("file:")).with_name("plain_before_recovery") / "_temporary"
left.mkdir(parents=True)
applied("files where a copy would be", [keep, empty], plain)
shutil.rmtree(left.parent)
applied("a copy first", [keep, empty], plain, copy)
applied("a copy that is there", [keep, empty], plain, copy)
begun = [JournalEntry(1, 0, "finished"), JournalEntry(2, 0, "begun", {}, "TRUNCATE")]
applied("killed while a table without versions was emptied", [keep, empty], plain, copy, begun=begun)
# A statement that failed has changed nothing, or empties what is in a copy.
query = f"SELECT IF((SELECT max(k) FROM {sql_name(plain)}) > 0, CAST(raise_error('no') AS INT), 5)"
other = TableId(("spark_catalog", "db", "filled"), "parquet")
spark.sql(f"CREATE TABLE {sql_name(other)} (k INT) USING parquet")
other = TableId(other.parts, "parquet", live.table(other).location)
spark.sql(f"INSERT INTO {sql_name(plain)} VALUES (1)")
fill = again(other, f"INSERT INTO {sql_name(other)} {query}")
applied("a statement fails on a table without versions", [fill], other)
spark.sql(f"TRUNCATE TABLE {sql_name(plain)}")
name = "a statement fails on a table without versions"
applied(f"{name}, and goes on", [fill], other, on=name)
applied(
    "a person says that it is done",
    [keep, empty],
    *(plain, copy),
    consent=Consent(done=(2,)),
    on="killed while a table without versions was emptied",
)

# Emptied by three statements, of which the first was done.
late = TableId(("spark_catalog", "db", "late"), "parquet")
spark.sql(f"CREATE TABLE {sql_name(late)} (k INT) USING parquet")
spark.sql(f"INSERT INTO {sql_name(late)} VALUES (1)")
late = TableId(late.parts, "parquet", live.table(late).location)
none = TableId(("spark_catalog", "db", "late_empty"), "parquet")
code = (
    f"CREATE TABLE {sql_name(none)} USING parquet AS SELECT * FROM {sql_name(late)} WHERE false",
    f"INSERT OVERWRITE {sql_name(late)} SELECT * FROM {sql_name(none)}",
    f"DROP TABLE {sql_name(none)}",
)
spark.sql(code[0])
step = RecoveryStep("empty", "Empty it.", "sql", code, writes=(late, none))
begun = [JournalEntry(1, 0, "begun", {}, code[0]), JournalEntry(1, 0, "done")]
applied("killed between the statements of a step", [step], late, begun=begun)
spark.stop()
