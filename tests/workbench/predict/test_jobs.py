"""The Python of a folder that runs by itself."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.workbench.predict.project.jobs import is_job

SESSION = "from pyspark.sql import SparkSession\n"


def notebook(*cells: str, kind: str = "code", language: str = "python") -> str:
    """Return a Jupyter notebook."""
    of_cells = [{"cell_type": kind, "source": [*each.splitlines(keepends=True)]} for each in cells]
    return json.dumps({"cells": of_cells, "metadata": {"kernelspec": {"language": language}}})


@pytest.mark.parametrize(
    "text",
    [
        f"{SESSION}spark = SparkSession.builder.getOrCreate()\nspark.table('a').write.saveAsTable('b')",
        f"{SESSION}def main():\n    pass\n\nif __name__ == '__main__':\n    main()",
        "from jobs.lib import spark\n\nspark.sql('INSERT INTO a SELECT * FROM b')",
        "import dlt\n\n@dlt.table\ndef a():\n    return 1",
        "from pyspark import pipelines as dp\n\n@dp.table\ndef a():\n    return 1",
        "from pyspark.pipelines import table\n\n@table\ndef a():\n    return 1",
        "import sys\nfrom awsglue.utils import getResolvedOptions\ngetResolvedOptions(sys.argv, ['a'])",
        f"{SESSION}try:\n    SparkSession.builder.getOrCreate()\nexcept Exception:\n    pass",
        f"{SESSION}def f(:",
        "def model(dbt, session):\n    return dbt.ref('a')",
        "def model(dbt, session):\n    return dbt.ref('a'",
    ],
)
def test_a_script_that_uses_spark_is_a_job(text: str) -> None:
    assert is_job(text, ".py")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print('nothing of Spark')",
        "# spark\nprint(1)",
        "from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator\nSparkSubmitOperator()",
        f'"""Functions."""\n{SESSION}LIMIT = 3\n\ndef of(spark):\n    return spark.table("a")',
        f"{SESSION}import pytest\n\n@pytest.fixture\ndef spark():\n    return SparkSession.builder.getOrCreate()",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pyspark.sql import DataFrame",
        "spark def f(:",
        "def model(dbt):\n    return 1",
        "def model(session, dbt):\n    return 1",
        "import snowflake.snowpark as s\n\ndef model(dbt, session):\n    return dbt.ref('a')",
    ],
)
def test_a_module_is_no_job(text: str) -> None:
    assert not is_job(text, ".py")


def test_a_jupyter_notebook_is_a_job_if_a_cell_of_python_uses_spark() -> None:
    assert is_job(notebook("x = 1", "spark.table('a')"), ".ipynb")
    assert is_job(notebook("%%sql\nSELECT 1"), ".ipynb")
    assert not is_job(notebook("x = 1"), ".ipynb")
    assert not is_job(notebook("spark", kind="markdown"), ".ipynb")
    assert not is_job(notebook("spark.table(1)", language="scala"), ".ipynb")
    assert not is_job("no JSON of spark", ".ipynb")
