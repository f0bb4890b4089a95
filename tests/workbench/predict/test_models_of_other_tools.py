"""Models of SQLMesh and Dataform create the tables that their headers name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.predict.project.dataform import scripts_of_dataform
from openlineage_pyspark.workbench.predict.project.sqlmesh import scripts_of_sqlmesh
from openlineage_pyspark.workbench.predict.scripts import Script, statements_in

if TYPE_CHECKING:
    from pathlib import Path

_MODEL = """-- daily
MODEL (
  name shop.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column (day, '%Y')),
  audits (unique_values(columns = (day)))
);
SET x = 1;
/* the query */
SELECT day, total FROM shop.orders WHERE day BETWEEN @start_ds AND @end_ds;
ALTER TABLE shop.daily SET TBLPROPERTIES ('a' = 'b');
ON_VIRTUAL_UPDATE_BEGIN;
GRANT SELECT ON VIEW shop.daily TO ROLE r;
ON_VIRTUAL_UPDATE_END;
"""


def texts_of(scripts: list[Script]) -> list[str]:
    return [" ".join(each.text.split()) for each, _ in statements_in(scripts)]


def test_the_query_of_a_sqlmesh_model_creates_its_table_where_the_file_has_it() -> None:
    scripts = scripts_of_sqlmesh([Script("daily.sql", _MODEL)])
    assert texts_of(scripts) == [
        "SET x = 1",
        "CREATE TABLE shop.daily AS SELECT day, total FROM shop.orders WHERE day BETWEEN @start_ds AND @end_ds",
        "ALTER TABLE shop.daily SET TBLPROPERTIES ('a' = 'b')",
    ]
    query = statements_in(scripts)[1][0]
    assert (query.line, query.column, query.place(1, len("CREATE TABLE shop.daily AS "))) == (8, 1, (8, 1))


def test_models_of_sqlmesh_come_after_those_that_they_read_and_audits_are_left_out() -> None:
    texts = {
        "a.sql": "MODEL (name s.a);\n\nSELECT x FROM `s`.B",
        "audit.sql": "AUDIT (name no_nulls);\nSELECT * FROM @this_model WHERE x IS NULL",
        "b.sql": "MODEL (\n name s.b, kind FULL);\n\nJINJA_QUERY_BEGIN;\nSELECT x FROM s.seed\nJINJA_END;",
        "plain.sql": "SELECT model (1)",
        "seed.sql": "MODEL (name s.seed, kind SEED (path '../x.csv'), columns (x INT, y TEXT))",
        "unknown_seed.sql": "MODEL (name s.other, kind SEED (path '../y.csv'))",
    }
    assert texts_of(scripts_of_sqlmesh([Script(name, text) for name, text in texts.items()])) == [
        "SELECT model (1)",
        "CREATE TABLE s.seed (x INT, y TEXT)",
        "CREATE TABLE s.b AS SELECT x FROM s.seed",
        "CREATE TABLE s.a AS SELECT x FROM `s`.B",
    ]


def test_files_of_dataform_create_tables_named_after_them() -> None:
    texts = {
        "definitions/a.sqlx": """config { type: "table", description: "a } brace", columns: { x: 'X' } }
js { const f = (a) => { return `${a} }`; } }
pre_operations { SET y = 1 }
SELECT x, '${when(incremental(), `late`, "first")}' AS y FROM ${ref("b")} JOIN ${ref("raw", "Orders")}
${when(incremental(), `WHERE x > (SELECT max(x) FROM ${self()})`)}
LIMIT ${constants.most}, ${f( {a: "b c"} )}""",
        "definitions/assertion.sqlx": 'config { type: "assertion" }\nSELECT 1 FROM ${ref("a")}',
        "definitions/b.sqlx": 'config { type: "incremental" }\nSELECT * FROM ${ref({schema: "s", name: "c"})}',
        "definitions/c.sqlx": "config { type: 'declaration', schema: 's' }",
        "definitions/d.sqlx": 'config { type: "operations", hasOutput: true }\nDELETE FROM t WHERE x = 1\n---\n'
        "CREATE TABLE ${self()} AS SELECT x FROM ${resolve('a')}",
    }
    made = texts_of(scripts_of_dataform([Script(name, text) for name, text in texts.items()]))
    assert made == [
        "CREATE TABLE `b` AS SELECT * FROM `s`.`c`",
        "CREATE TABLE `a` AS SELECT x, 'first ' AS y FROM `b` JOIN `raw`.`Orders` LIMIT ${constants.most}, ${f_a_b_c_}",
        "DELETE FROM t WHERE x = 1",
        "CREATE TABLE `d` AS SELECT x FROM `a`",
    ]


_SQLX = 'config { type: "table", uniqueKey: ["x"] }\nSELECT x FROM ${ref("b")} WHERE ${lib.of("x")}'
_OF_MESH = "MODEL (name s.a, kind FULL, description 'why');\nSELECT @m(x) AS x FROM s.b"


@pytest.mark.parametrize(
    ("name", "before", "after", "beside", "states"),
    [
        ("a.sqlx", _SQLX, _SQLX, "1", 1),
        ("a.sqlx", _SQLX, _SQLX, "2", 2),
        ("a.sqlx", _SQLX, _SQLX.replace('["x"]', '["y"]'), "1", 2),
        ("a.sql", _OF_MESH, _OF_MESH, "1", 1),
        ("a.sql", _OF_MESH, _OF_MESH, "2", 2),
        ("a.sql", _OF_MESH, _OF_MESH.replace("FULL", "VIEW"), "1", 2),
        ("a.sql", _OF_MESH, _OF_MESH.replace("why", "what"), "1", 1),
    ],
)
def test_the_settings_of_a_model_and_the_code_of_its_project_decide_about_its_table(
    tmp_path: Path, name: str, before: str, after: str, beside: str, states: int
) -> None:
    for root in ("dataform.json", "config.yaml"):
        (tmp_path / root).touch()
    read = scripts_of_dataform if name.endswith(".sqlx") else scripts_of_sqlmesh
    script = str(tmp_path / "models" / name)
    projects = set()
    for text, code in ((before, "1"), (after, beside)):
        files = [Script(str(tmp_path / "of.js"), code)]
        (made,) = read([Script(script, text)], {tmp_path: files}.__getitem__)
        projects.add(made.project)
    assert len(projects - {None}) == states
