"""Notebooks of Jupyter as scripts."""

from __future__ import annotations

import ast
import json

import pytest
from openlineage_pyspark.workbench.dryrun.script.kinds import with_unreadable_notebooks
from openlineage_pyspark.workbench.dryrun.script.notebooks import (
    cell_and_line,
    commands_in,
    is_harmless,
    language_of_cell,
    runnable_of,
    runs_as_script,
    script_of_notebook,
    script_of_source,
)
from openlineage_pyspark.workbench.dryrun.script.values import executed_text, passed_values, value_like
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook
from openlineage_pyspark.workbench.predict.sql.statements import statements_of


def notebook(*cells: tuple[str, str], language: str = "python") -> str:
    """Return the JSON of a notebook."""
    made = [{"cell_type": kind, "source": source.splitlines(keepends=True)} for kind, source in cells]
    return json.dumps({"metadata": {"kernelspec": {"language": language}}, "cells": made})


def test_the_cells_of_code_are_a_script_of_as_many_lines() -> None:
    found = script_of_notebook(
        notebook(
            ("markdown", "# Title\ntext"),
            ("code", "%pip install x\nimport a\nif a:\n    !ls"),
            ("code", ""),
            ("code", "%%sql\nCREATE TABLE t AS\nSELECT 'it''s' AS a;"),
            ("code", "%%bash\nrm -rf /"),
            ("code", "%sql SELECT 1"),
        )
    )
    assert found is not None
    source, begins = found
    assert source.splitlines() == [
        "_left_out_of_cell('%pip install x')",
        "import a",
        "if a:",
        "    _left_out_of_cell('!ls')",
        "",
        "_sqldf = _sql_of_cell(\"CREATE TABLE t AS\\nSELECT 'it''s' AS a\")",
        "",
        "_left_out_of_cell('%%bash\\nrm -rf /')",
        "",
        "_sqldf = _sql_of_cell('SELECT 1')",
    ]
    compile(source, "notebook", "exec")
    assert begins == (1, 1, 5, 5, 8, 10)
    assert [cell_and_line(begins, line) for line in (1, 4, 6, 10)] == [(2, 1), (2, 4), (4, 2), (6, 1)]


def test_a_line_of_an_sql_cell_goes_on_behind_a_backslash() -> None:
    found = script_of_notebook(notebook(("code", "%%sql\nINSERT INTO t \\\nSELECT a FROM s")))
    assert found is not None
    assert found[0].splitlines() == ["", "_sqldf = _sql_of_cell('INSERT INTO t \\nSELECT a FROM s')", ""]


@pytest.mark.parametrize(
    ("of_notebook", "of_cells", "expected"),
    [
        (
            {"kernelspec": {"name": "synapse_pyspark"}, "microsoft": {"language": "sparksql"}},
            [None, None, {"microsoft": {"language": "python"}}, {"microsoft": {"language": "sparkr"}}],
            ["_sqldf = _sql_of_cell('SELECT 1')", "x = 1", "y = 2", "_left_out_of_cell('%sparkr y = 3')"],
        ),
        (
            {"application/vnd.databricks.v1+notebook": {"language": "sql"}, "language_info": {"name": "sql"}},
            [None, None],
            ["_sqldf = _sql_of_cell('SELECT 1')", "x = 1"],
        ),
    ],
)
def test_a_cell_has_the_language_that_its_platform_states(
    of_notebook: object, of_cells: list[object], expected: list[str]
) -> None:
    sources = ["SELECT 1", "%%pyspark\nx = 1", "y = 2", "y = 3"]
    cells = [
        {"cell_type": "code", "source": source, **({} if each is None else {"metadata": each})}
        for source, each in zip(sources, of_cells, strict=False)
    ]
    found = script_of_notebook(json.dumps({"metadata": of_notebook, "cells": cells}))
    assert found is not None
    assert [line for line in found[0].splitlines() if line and not line.startswith("#")] == expected


def test_a_notebook_of_another_language_with_a_kernel_of_python_is_none() -> None:
    of_r = {"kernelspec": {"name": "synapse_pyspark"}, "microsoft": {"language": "sparkr"}}
    assert (
        script_of_notebook(json.dumps({"metadata": of_r, "cells": [{"cell_type": "code", "source": "x <- 1"}]})) is None
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", "[" * 100_000, "{}", '{"cells": 5}', notebook(("code", "1"), language="scala")]
)
def test_what_is_no_notebook_of_python_is_none(text: str) -> None:
    assert script_of_notebook(text) is None


@pytest.mark.parametrize(
    ("metadata", "is_python"),
    [
        ({"kernelspec": {"language": "Python", "name": "synapse_pyspark"}}, True),
        ({"kernelspec": {"language": "", "name": "pysparkkernel"}, "language_info": {"name": "pyspark"}}, True),
        ({"kernelspec": None, "language_info": {"name": "python"}}, True),
        ({"kernelspec": {"name": "glue_pyspark"}, "language_info": {"name": "Python_Glue_Session"}}, True),
        ({"kernelspec": {"name": "synapse_pyspark"}, "language_info": {"name": "scala"}}, True),
        ({"language_info": {"name": "scala"}}, False),
        ({"kernelspec": {"language": "Scala", "name": "synapse_spark"}}, False),
        ({"kernelspec": {"name": "sqldatawarehouse"}, "language_info": {"name": "sql"}}, False),
        (None, True),
    ],
)
def test_a_notebook_is_python_however_its_kernel_spells_that(metadata: object, *, is_python: bool) -> None:
    document = {**json.loads(notebook(("code", "a = 1"))), "metadata": metadata}
    assert (script_of_notebook(json.dumps(document)) is not None) is is_python


def test_a_notebook_that_is_not_python_counts_as_unreadable() -> None:
    scripts = [Script("a.ipynb", notebook(("code", "1"), language="scala")), Script("b.ipynb", notebook(("code", "1")))]
    found = with_unreadable_notebooks([*scripts, Script("c.py", "{")])
    assert [(each.name, each.text, each.unreadable) for each in found] == [
        ("a.ipynb", "", "is not a Python notebook"),
        ("b.ipynb", scripts[1].text, ""),
        ("c.py", "{", ""),
    ]


def lines_of(cell: str) -> list[str]:
    """Return the lines of the script of a notebook with one cell; they are Python."""
    found = script_of_notebook(notebook(("code", cell)))
    assert found is not None
    compile(found[0], "notebook", "exec")
    return found[0].splitlines()


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 1", "%%capture out", "%%spark", "%%pyspark"])
def test_the_code_of_a_cell_runs_where_its_magic_runs_it(magic: str) -> None:
    assert lines_of(f"{magic}\na = 1\n%matplotlib inline\nwrite(a)") == [
        f"# {magic}",
        "a = 1",
        "_left_out_of_cell('%matplotlib inline')",
        "write(a)",
    ]


def test_the_code_of_a_line_runs_where_its_magic_runs_it() -> None:
    cell = "%time write(1)\nif a:\n    %timeit -n 3 -r 1 write(2)\n%time\n%timeit"
    assert lines_of(cell) == [
        "write(1)",
        "if a:",
        "    write(2)",
        "_left_out_of_cell('%time')",
        "_left_out_of_cell('%timeit')",
    ]


def test_questions_for_help_are_left_out() -> None:
    assert lines_of("?spark\nspark.read??\na = 1\n%time?\n??a") == [
        "pass  # ?spark",
        "pass  # spark.read??",
        "a = 1",
        "pass  # %time?",
        "pass  # ??a",
    ]


def test_the_result_of_a_magic_is_assigned() -> None:
    assert lines_of("rows = %sql SELECT 1\nfiles = !ls -l") == [
        "rows = _sql_of_cell('SELECT 1')",
        "files = __import__('subprocess').check_output('ls -l', shell=True).splitlines()",
    ]


def test_a_line_that_goes_on_with_an_operator_is_no_magic() -> None:
    cell = 'text = ("%s-%s"\n        % (1, 2))\nq = """\n%sql x\nwhy?\n"""'
    assert lines_of(cell) == cell.splitlines()


SOURCE = """\
# Databricks notebook source
# MAGIC %md
# MAGIC # Title

# COMMAND ----------

day = dbutils.widgets.get("day")
# MAGIC left as it is

# COMMAND ----------

# MAGIC %sql
# MAGIC DROP TABLE a;
# MAGIC
# MAGIC INSERT INTO b SELECT 'x;y' AS c;
# MAGIC INSERT INTO d VALUES (1)

# COMMAND ----------

# MAGIC %run ./shared $day="x"

# COMMAND ----------

# MAGIC %scala
# MAGIC val a = 1

# COMMAND ----------

# MAGIC %python
# MAGIC print(day)
"""


def test_cells_of_sql_in_a_notebook_of_another_language_are_calls() -> None:
    source = """\
-- Databricks notebook source
-- Orders.
CREATE TABLE a AS SELECT 1 AS b;
-- MAGIC no magic

-- COMMAND ----------
-- DBTITLE 1,Title
-- MAGIC %python
-- MAGIC x = 1
-- COMMAND ----------
-- MAGIC %run ./b"""
    assert script_of_source(source, ".sql").split("\n") == [
        "# -- Databricks notebook source",
        "# -- Orders.",
        "_sqldf = _sql_of_cell('CREATE TABLE a AS SELECT 1 AS b')",
        "",
        "",
        "# COMMAND ----------",
        "# -- DBTITLE 1,Title",
        "",
        "x = 1",
        "# COMMAND ----------",
        "_run_notebook('./b')",
    ]
    assert runs_as_script(source, ".sql")
    assert not runs_as_script(source.split("-- COMMAND", maxsplit=1)[0], ".sql")
    assert runnable_of(source, ".sql") == script_of_source(source, ".sql")
    assert runnable_of("SELECT 1", ".sql") is None


@pytest.mark.parametrize(("ending", "comment"), [(".scala", "//"), (".r", "#")])
def test_cells_in_scala_and_r_are_left_out_of_the_script(ending: str, comment: str) -> None:
    cells = "Databricks notebook source\na <- 1\nb\n", "COMMAND ----------\n", "MAGIC %sql\n", "MAGIC SELECT 1"
    source = "".join(f"{comment} {each}" for each in cells)
    assert script_of_source(source, ending).split("\n")[1:] == [
        f"_left_out_of_cell('%{ending[1:]} a <- 1\\nb')",
        "",
        "# COMMAND ----------",
        "",
        "_sqldf = _sql_of_cell('SELECT 1')",
    ]
    assert runs_as_script(source, ending)


OF_SQL = "# Databricks notebook source\n# MAGIC %sql\n# MAGIC SELECT 1\n\n# COMMAND ----------\n"


def test_a_notebook_in_source_form_is_a_script_with_each_line_in_its_place() -> None:
    source = script_of_source(SOURCE)
    lines = source.split("\n")
    assert len(lines) == len(SOURCE.split("\n"))
    assert {at: line for at, line in enumerate(lines, 1) if line and not line.startswith("#")} == {
        7: 'day = dbutils.widgets.get("day")',
        13: "_sqldf = _sql_of_cell('DROP TABLE a')",
        15: "_sqldf = _sql_of_cell(\"INSERT INTO b SELECT 'x;y' AS c\")",
        16: "_sqldf = _sql_of_cell('INSERT INTO d VALUES (1)')",
        20: "_run_notebook('./shared $day=\"x\"')",
        24: "_left_out_of_cell('%scala\\nval a = 1')",
        30: "print(day)",
    }
    compile(source, "notebook", "exec")


def test_a_magic_that_goes_on_in_the_next_line_is_one_call() -> None:
    assert lines_of("!pip install \\\n    a \\\n    b\nx = 1") == [
        "_left_out_of_cell('!pip install a b')",
        "",
        "",
        "x = 1",
    ]


def test_a_command_between_lines_of_python_is_a_call_and_python_below_a_command_stays() -> None:
    cells = "# DBTITLE 1,Title\n# MAGIC %pip install a\nx = 1", "if x:\n# MAGIC     !ls\n    y = 2"
    source = script_of_source("# Databricks notebook source\n" + "\n# COMMAND ----------\n".join(cells))
    assert source.split("\n") == [
        "# Databricks notebook source",
        "# DBTITLE 1,Title",
        "_left_out_of_cell('%pip install a')",
        "x = 1",
        "# COMMAND ----------",
        "if x:",
        "    _left_out_of_cell('!ls')",
        "    y = 2",
    ]


def test_commands_that_a_dry_run_leaves_out_are_found_in_the_script() -> None:
    source = script_of_source(SOURCE)
    assert commands_in(ast.parse(source)) == ["%scala\nval a = 1"]
    assert commands_in(ast.parse("x = 1")) == []


@pytest.mark.parametrize(
    "command",
    ["!ls -l", "! pip install a", "%pip install a", "%sh\n# all\nls\n", "%%bash", "%fs ls /a", "%env A=1", "!"],
)
def test_a_command_that_only_shows_something_or_installs_a_package_is_harmless(command: str) -> None:
    assert is_harmless(command)


@pytest.mark.parametrize(
    "command",
    [
        "!ls > a",
        "!wget a",
        "%sh\nls\nrm -rf a",
        "%%bash\necho `rm a`",
        "%fs rm /a",
        "%scala\nval a = 1",
        "%%writefile a",
        "%",
    ],
)
def test_any_other_command_may_change_data(command: str) -> None:
    assert not is_harmless(command)


FABRIC = """\
# Fabric notebook source

# METADATA ********************

# META {
# META   "kernel_info": {"name": "synapse_pyspark"}
# META }

# PARAMETERS CELL ********************

day = "2024-01-01"

# METADATA ********************

# META {"language": "python"}

# MARKDOWN ********************

# # A title

# CELL ********************

%pip install semantic-link
df = spark.table("orders")

# CELL ********************

# MAGIC %%sql
# MAGIC INSERT INTO b SELECT 1;
# MAGIC DELETE FROM c

# CELL ********************

# MAGIC %%spark
# MAGIC df.write.saveAsTable("d")

# CELL ********************

# MAGIC %%sh
# MAGIC ls

# CELL ********************

# MAGIC %run shared
"""


def test_a_notebook_of_fabric_is_a_script_with_each_line_in_its_place() -> None:
    assert is_notebook(FABRIC)
    source = script_of_source(FABRIC)
    lines = source.split("\n")
    assert len(lines) == len(FABRIC.split("\n"))
    assert {at: line for at, line in enumerate(lines, 1) if line and not line.startswith("#")} == {
        11: 'day = "2024-01-01"',
        13: "_take_parameters()",
        23: "_left_out_of_cell('%pip install semantic-link')",
        24: 'df = spark.table("orders")',
        29: "_sqldf = _sql_of_cell('INSERT INTO b SELECT 1')",
        30: "_sqldf = _sql_of_cell('DELETE FROM c')",
        34: "_left_out_of_cell('%%scala\\ndf.write.saveAsTable(\"d\")')",
        39: "_left_out_of_cell('%%sh\\nls')",
        44: "_run_notebook('shared')",
    }
    compile(source, "notebook", "exec")


def test_the_statements_of_a_notebook_of_fabric_keep_their_places() -> None:
    found = statements_of(FABRIC, "notebook-content.py")
    assert [(each.line, each.column, each.text) for each in found] == [
        (29, 9, "INSERT INTO b SELECT 1"),
        (30, 9, "DELETE FROM c"),
    ]


def test_the_parameters_of_a_notebook_of_jupyter_are_taken_after_their_cell() -> None:
    document = json.loads(notebook(("code", "day = 1"), ("code", "b = day")))
    document["cells"][0]["metadata"] = {"tags": ["parameters"]}
    assert script_of_notebook(json.dumps(document)) == ("day = 1\n_take_parameters()\nb = day\n", (1, 3))


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [("7", "1", "7"), ("7", 1, 7), ("7", 1.5, 7.0), ("true", False, True), ("[1, 2]", [], [1, 2]), ("x", 1, "x")],
)
def test_the_value_of_a_parameter_has_the_type_of_the_value_that_it_replaces(
    text: str, default: object, expected: object
) -> None:
    assert (value_like(text, default), type(value_like(text, default))) == (expected, type(expected))


def test_a_cell_in_another_language_is_reported_where_it_is() -> None:
    assert lines_of("\n%%scala\ndf.show()") == ["", "_left_out_of_cell('%%scala\\ndf.show()')", ""]
    assert lines_of("%%spark\nval a = 1") == ["_left_out_of_cell('%%spark\\nval a = 1')", ""]
    databricks = "# Databricks notebook source\n# MAGIC %r\n# MAGIC library(SparkR)"
    assert script_of_source(databricks).split("\n")[1:] == ["_left_out_of_cell('%r\\nlibrary(SparkR)')", ""]
    commands = ("%%scala\n1", "%r\n1", "%%spark\nval a = 1", "%%sh\nls", "!scala a", "%matplotlib inline")
    assert [language_of_cell(each) for each in commands] == ["Scala", "R", "Scala", "", "", ""]


def test_a_cell_that_is_not_python_is_reported_and_leaves_the_other_cells() -> None:
    assert lines_of("a = 1\nprint 'x'") == [
        "# a = 1",
        """_invalid_cell("Missing parentheses in call to 'print'. Did you mean print(...)?")""",
    ]
    source = "# Databricks notebook source\na = 1\n\n# COMMAND ----------\n\nif :\n"
    assert script_of_source(source).split("\n")[5] == "_invalid_cell('invalid syntax')"


@pytest.mark.parametrize("magic", ["%run ./a", "%scala\n# MAGIC val a = 1", "!wget a", "%python\n# MAGIC a = 1"])
def test_a_notebook_with_anything_but_sql_runs(magic: str) -> None:
    assert runs_as_script(SOURCE)
    assert runs_as_script(f"{OF_SQL}# MAGIC {magic}")


@pytest.mark.parametrize("magic", ["%sql\n# MAGIC SELECT 2", "%md\n# MAGIC # Title", "%pip install a"])
def test_a_notebook_of_sql_alone_does_not_run(magic: str) -> None:
    assert not runs_as_script(f"{OF_SQL}# MAGIC {magic}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("execute IMMEDIATE 'INSERT INTO t SELECT ? AS a' USING 5", "INSERT INTO t SELECT (5) AS a"),
        ("SELECT 'EXECUTE IMMEDIATE'", "SELECT 'EXECUTE IMMEDIATE'"),
        ("EXECUTE IMMEDIATE statement", ""),
    ],
)
def test_the_text_that_a_statement_runs_is_the_statement(text: str, expected: str) -> None:
    assert executed_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./shared", {}),
        (
            './shared $day="2024-01-01" $env=\'dev\' $n=3 $none=""',
            {"day": "2024-01-01", "env": "dev", "n": "3", "none": ""},
        ),
        ('Shared { "day": "x", "n": 3, "on": true }', {"day": "x", "n": "3", "on": "True"}),
        ("Shared {day}", {}),
    ],
)
def test_a_notebook_passes_values_to_one_that_it_runs(text: str, expected: dict[str, str]) -> None:
    assert passed_values(text) == expected
