"""A script without its data has the edges of a real run, which are recorded; a real run is compared with them too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.facets.datasets.naming import location
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.schemas import columns_of_ddl
from openlineage_pyspark.workbench.dryrun.script.places import key_of_dataset
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from support.real_scripts import SCHEMAS, SCRIPTS
from support.script_edges import edges_of_events, edges_of_lineage
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUPPORT = Path(__file__).parents[2] / "support"
NEWER = frozenset({"pandas_on_spark", "readers", "tpch"}) if SPARK_VERSION < "4" else frozenset()
"""The scripts that Spark 3.5 does not run (with NumPy 2, or a column that is replaced in `to`), or writes otherwise."""
NAMES = sorted({path.stem for path in SCRIPTS.glob("*.py") if not path.stem.endswith("_steps")} - NEWER)
IN_THE_CHECK = ("argparse_job", "stream_batches")
EACH = [pytest.param(name, marks=() if name in IN_THE_CHECK else pytest.mark.long) for name in NAMES]
TABLES = [
    DeclaredTable(tuple(name.split(".")), columns_of_ddl(ddl)) for name, ddl in SCHEMAS.items() if "/" not in name
]


# A store continues the columns of a renamed table by the event's lifecycle change, so the event has no edges for them.
RENAMED = {
    "global_views": (
        "mart.states.amount -> mart.renamed.amount DIRECT IDENTITY",
        "mart.states.status -> mart.renamed.status DIRECT IDENTITY",
    )
}


@pytest.fixture(scope="module")
def runner(real_spark: None) -> Iterator[ScriptRunner]:
    """Give what runs scripts without data."""
    with ScriptRunner({}) as found:
        yield found


@pytest.fixture(scope="module")
def real(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder in which all scripts have really run."""
    folder = tmp_path_factory.mktemp("real") / "scripts"
    command = [sys.executable, "-W", "ignore", str(SUPPORT / "real_scripts.py"), str(folder), *NAMES]
    # The JVM begins there: for it, the checkpoint of a stream is relative to that folder.
    subprocess.run(command, check=True, capture_output=True, cwd=folder.parent)
    assert json.loads((folder / "failed.json").read_text("utf-8")) == {}
    return folder


def request_of(name: str, folder: Path) -> ScriptRequest:
    """Return a script, to be run in a folder without data."""
    path = SCRIPTS / f"{name}.py"
    places = {
        key_of_dataset(location(str(folder / where))): columns_of_ddl(ddl)
        for where, ddl in SCHEMAS.items()
        if "/" in where
    }
    text, here = path.read_text("utf-8"), str(folder)
    return ScriptRequest(path.name, str(path), text, (), here, "", here, tables=tuple(TABLES), columns=places)


def _heads(edges: list[str], name: str) -> list[str]:
    """Return edges; those of models without the text of what is done."""
    return sorted({" ".join(each.split(" ")[:5]) for each in edges}) if name == "models" else edges


@pytest.mark.any_spark
@pytest.mark.parametrize("name", EACH)
def test_a_script_without_data_has_the_edges_of_a_real_run(runner: ScriptRunner, tmp_path: Path, name: str) -> None:
    told = runner.run(request_of(name, tmp_path))
    found = edges_of_lineage(lineage_of_script(told, TABLES), tmp_path)
    assert told[-1] == {"k": "end"}
    recorded = (Path(__file__).parents[2] / "golden" / "scripts" / f"{name}.txt").read_text("utf-8").splitlines()
    recorded = sorted((*recorded, *RENAMED.get(name, ())))
    # What a model that nobody has trained does has no text.
    assert _heads(found, name) == _heads(recorded, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.any_spark
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_real_run_has_the_recorded_edges(real: Path, golden: Callable[[str, str], None], name: str) -> None:
    edges = edges_of_events(real / name / "events.ndjson", real / name)
    golden(f"scripts/{name}.txt", "\n".join([*edges, ""]))
