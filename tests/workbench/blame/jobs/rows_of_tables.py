"""Writes tables of one lake, asks for each condition which run wrote the rows, and prints what is answered."""

import json
import sys
from pathlib import Path

from openlineage_pyspark import Store, register
from openlineage_pyspark.errors import StoreError
from pyspark.sql import SparkSession

kind, folder = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
above = "ice.db" if kind == "iceberg" else "db"
tracking = "'format-version' = '3'" if kind == "iceberg" else "'delta.enableRowTracking' = 'true'"


def sql(text):
    """Run statements on the tables of the lake."""
    for statement in text.split(";"):
        spark.sql(statement.replace("DB.", f"{above}."))


handle = register(spark)
sql(f"CREATE DATABASE {above}")
sql(f"""
CREATE TABLE DB.t (id INT, name STRING) USING {kind} TBLPROPERTIES ({tracking});
INSERT INTO DB.t VALUES (1, 'a'), (2, 'b');
INSERT INTO DB.t VALUES (3, 'c');
UPDATE DB.t SET name = 'bb' WHERE id = 2;
CREATE TABLE DB.untracked (id INT) USING {kind};
INSERT INTO DB.untracked VALUES (1);
CREATE TABLE DB.again (id INT) USING {kind} TBLPROPERTIES ({tracking});
INSERT INTO DB.again VALUES (1)
""")
handle.close()


def ask(name, table, where, **more):
    """Print the answer, or why there is none."""
    with Store.open(f"{folder}/lineage.db") as store:
        try:
            answer = store.blame(f"db.{table}", where=where, **more)
        except StoreError as problem:
            print(json.dumps([name, {"error": str(problem)}]))
            return
    rows = [
        [dict(getattr(row, "values", {})), row.operation, bool(row.run_id), bool(row.version)] for row in answer.result
    ]
    said = [each.message for each in answer.diagnostics]
    print(json.dumps([name, {"of": answer.result.of, "rows": rows, "said": said}]))


ask("all", "t", "true")
ask("one", "t", "name = 'bb'", key=("ID",))
ask("cut", "t", "id > 0", limit=1)
ask("untracked", "untracked", "id = 1")
for place, condition in enumerate(json.loads(Path(folder, "conditions.json").read_text())):
    ask(f"condition {place}", "t", condition)
sql(
    "CALL ice.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))"
    if kind == "iceberg"
    else "OPTIMIZE DB.t"
)
ask("compacted", "t", "true")
sql("INSERT INTO DB.t VALUES (4, 'd')")
ask("unknown", "t", "id = 4")
sql(f"ALTER TABLE DB.untracked SET TBLPROPERTIES ({tracking})")
ask("tracked later", "untracked", "id = 1")
sql(f"DROP TABLE DB.again; CREATE TABLE DB.again (id INT) USING {kind} TBLPROPERTIES ({tracking})")
sql("INSERT INTO DB.again VALUES (1)")
ask("another table of its name", "again", "id = 1")
