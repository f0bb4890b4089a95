"""What the magics of a notebook take for a variable and what for SQL, in a shell without a Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NO_SESSION = "there is no active Spark session"
CELLS = {
    "%lineage nowhere": "there is no variable nowhere",
    "%lineage nowhere.select('a')": "there is no variable nowhere",
    "%lineage SELECT 1": NO_SESSION,
    "%lineage VALUES (1)": NO_SESSION,
    "%lineage 'SELECT 1'": NO_SESSION,
    "%lineage known": NO_SESSION,
    "%lineage known.strip()": NO_SESSION,
    "%lineage known.nothing": "'str' object has no attribute 'nothing'",
    "%lineage empty": "there is no statement",
    "%lineage": NO_SESSION,
    "%%lineage\n;\n": "there is no statement",
    "%%lineage known\nSELECT 1": "%%lineage takes nothing on its own line",
    "%%lineage\nSELECT '{known}', '$known'": NO_SESSION,
}
SCRIPT = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.user_ns.update(known="SELECT 1", empty=" ; ")
shell.run_cell("%load_ext openlineage_pyspark")
found = {cell: shell.run_cell(cell).error_in_exec for cell in json.loads(sys.argv[1])}
shell.run_cell("%unload_ext openlineage_pyspark")
gone = [shell.find_magic("lineage", kind) for kind in ("line", "cell")]
print("found:", json.dumps([{cell: str(error) for cell, error in found.items()}, gone]))
"""


def test_a_line_is_an_expression_if_it_begins_with_a_variable_and_else_sql(tmp_path: Path) -> None:
    arguments = [sys.executable, "-I", "-c", SCRIPT, json.dumps(list(CELLS))]
    environment = {"IPYTHONDIR": str(tmp_path), "HOME": str(tmp_path)}
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    said, gone = json.loads(ran.stdout.rpartition("found:")[2])

    assert {cell: said[cell][: len(text)] for cell, text in CELLS.items()} == CELLS
    assert gone == [None, None]
