"""dbt models in Python: they are run, and dbt makes tables of what their functions return."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.dryrun.files import ScriptSettings, lineage_of_files
from openlineage_pyspark.workbench.dryrun.libraries.dbt_models import ModelTable
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.predict.project.raw_models import scripts_of_raw_models
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from support.script_edges import edges_of_lineage

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

RATES = DeclaredTable(("raw", "rates"), (("customer", "INT"), ("rate", "INT")))
FIRST = """\
import pyspark.sql.functions as F

sc.addPyFile("s3://libraries/needs.zip")


def model(dbt, session):
    dbt.config(materialized="incremental", unit=100)
    orders = dbt.ref("shop", "orders")
    rates = dbt.source("raw", "rates")
    if dbt.is_incremental:
        orders = orders.where(F.col("id") > session.table(str(dbt.this)).agg(F.max("id")).first()[0])
    unit = dbt.config.get("unit") * dbt.config.get("factor", 1)
    return orders.join(rates, "customer").select(orders.id, (rates.rate * unit).alias("paid"))
"""
# dbt writes what is below the function into a compiled model.
COMPILED = """\
def model(dbt, session):
    return dbt.ref("first").selectExpr("id", f"paid * {dbt.config.get('factor')} AS more")

def ref(*args, dbt_load_df_function):
    return dbt_load_df_function({"first": "`first`"}[".".join(args)])

class config:
    @staticmethod
    def get(key, default=None):
        return {"factor": 7}.get(key, default)

class dbtObj:
    def __init__(self, load_df_function):
        self.ref = lambda *args: ref(*args, dbt_load_df_function=load_df_function)
        self.config = config
"""


def of_models(folder: Path, texts: dict[str, str]) -> tuple[StatementLineage, ...]:
    """Return the lineage of the models in Python of a project, by their runs."""
    (folder / "dbt_project.yml").write_text("name: shop", "utf-8")
    scripts = scripts_of_raw_models(Script(str(folder / "models" / name), text) for name, text in texts.items())
    return lineage_of_files(scripts, KnownColumns([RATES]), ScriptSettings(), lambda *_: ())


@pytest.fixture(scope="module")
def found(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[StatementLineage]]:
    """Give what the dry runs of some models have found, by the names of their files."""
    texts = {
        "compiled.py": COMPILED,
        "rows.py": "def model(dbt, session):\n    return dbt.ref('compiled').toPandas()[['more']]\n",
        "first.py": FIRST,
        "holidays.py": "import holidays\n\ndef model(dbt, session):\n    return dbt.ref(holidays.NAME)\n",
        "nothing.py": "def model(dbt, session):\n    dbt.ref('first')\n",
        "wrong.py": "def model(dbt, session):\n    rows = dbt.ref('first')\n    return rows.select('missing')\n",
        "orders.sql": "select 1 as id, 2 as customer",
    }
    by_file: dict[str, list[StatementLineage]] = {}
    for each in of_models(tmp_path_factory.mktemp("project"), texts):
        by_file.setdefault(each.script.rpartition("/")[2], []).append(each)
    return by_file


def edges_of(found: list[StatementLineage]) -> list[str]:
    return edges_of_lineage(found, Path("/"))


def problems_of(found: list[StatementLineage]) -> list[tuple[int, str]]:
    return [(each.problem.line, each.problem.message) for each in found if each.problem is not None]


def test_a_model_makes_a_table_of_the_frame_that_it_returns(found: dict[str, list[StatementLineage]]) -> None:
    of_model = found["first.py"]
    made = [each for each in of_model if each.lineage is not None]
    assert [(each.statement.line, each.statement.text) for each in made] == [(6, "def model(dbt, session):")]
    assert edges_of(of_model) == [
        "default.orders.customer -> default.first.* INDIRECT JOIN (orders.customer = rates.customer)",
        "default.orders.id -> default.first.id DIRECT IDENTITY",
        "raw.rates.customer -> default.first.* INDIRECT JOIN (orders.customer = rates.customer)",
        "raw.rates.rate -> default.first.paid DIRECT TRANSFORMATION (rates.rate * 100)",
    ]
    message = "dbt.config.get('factor'): only a compiled model shows what the project sets: 1 is used"
    assert problems_of(of_model) == [(12, message)]


def test_a_compiled_model_has_what_dbt_has_written_into_it(found: dict[str, list[StatementLineage]]) -> None:
    assert edges_of(found["compiled.py"]) == [
        "default.first.id -> default.compiled.id DIRECT IDENTITY",
        "default.first.paid -> default.compiled.more DIRECT TRANSFORMATION (first.paid * 7)",
    ]
    assert problems_of(found["compiled.py"]) == []


def test_a_model_that_makes_no_table_says_why(found: dict[str, list[StatementLineage]]) -> None:
    message = "the script fails here: TypeError: the model returns nothing: dbt needs a DataFrame"
    assert problems_of(found["nothing.py"]) == [(1, message)]
    assert [(line, "UNRESOLVED_COLUMN" in text) for line, text in problems_of(found["wrong.py"])] == [(3, True)]


def test_a_model_knows_the_name_of_its_table() -> None:
    full, short = (ModelTable(parts) for parts in (("lake", "mart", "a.b"), ("reporting.ratio",)))
    assert (full.database, full.schema, full.identifier, str(full)) == ("lake", "mart", "a.b", "`lake`.`mart`.`a.b`")
    assert (short.database, short.schema, short.identifier) == ("spark_catalog", "default", "reporting.ratio")
    assert str(short) == "`reporting.ratio`"


def test_a_model_does_not_import_the_models_beside_it(found: dict[str, list[StatementLineage]]) -> None:
    message = "the module holidays is not installed: what it returns is unknown"
    assert problems_of(found["holidays.py"])[0] == (1, message)


def test_rows_that_a_model_returns_become_a_table_without_known_sources(
    found: dict[str, list[StatementLineage]],
) -> None:
    (lineage,) = (each.lineage for each in found["rows.py"] if each.lineage is not None)
    assert [dataset and dataset.identifier.name for dataset, _ in lineage.outputs] == ["default.rows"]
    assert edges_of(found["rows.py"]) == []
