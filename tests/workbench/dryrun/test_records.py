"""What the records of a script say: models and tables by their folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.script.places import MODEL, data_place
from openlineage_pyspark.workbench.dryrun.script.records import Spot, WriteRecord
from openlineage_pyspark.workbench.dryrun.script.request import document_of_table
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.report import Lineage

SPOT = Spot("job.py", 3, "...")
FOLDER = data_place(MODEL, {}, ("/models/m",), "/work").to_text()
TABLE = ("spark_catalog", "shop", "t")


def lineage_of(*records: dict[str, Any]) -> Lineage:
    """Return the lineage of the only statement in some records."""
    (found,) = lineage_of_script(records, ())
    assert found.lineage is not None
    return found.lineage


def write(**values: Any) -> dict[str, Any]:
    """Return the record of a write."""
    return {"k": "write", **json.loads(json.dumps(attrs.asdict(WriteRecord(SPOT, (), **values))))}


def test_a_saved_model_is_one_dataset_without_columns() -> None:
    found = lineage_of(write(target=FOLDER))

    assert [each.identifier for each, _ in found.outputs if each is not None] == [Identifier("file", "/models/m")]
    assert (found.inputs, [each.task for each in found.gaps]) == ((), ["model"])


def test_a_model_whose_columns_are_unknown_is_an_input_of_what_it_makes() -> None:
    target = data_place("parquet", {}, ("out",), "/work").to_text()

    found = lineage_of(write(target=target, places=(FOLDER,)))

    assert [each.identifier for each in found.inputs] == [Identifier("file", "/models/m")]
    assert [each.task for each in found.gaps] == ["schema"]


def test_a_table_whose_columns_are_unknown_is_named_by_the_location_that_the_script_gives_it() -> None:
    at = Identifier("s3://lake", "t")
    located = {"k": "located", **document_of_table(DeclaredTable(TABLE, (), identifier=at))}
    schema = '{"type":"struct","fields":[{"name":"id","type":"integer","nullable":true,"metadata":{}}]}'

    written = lineage_of(located, write(table=TABLE, schema=schema))
    read = lineage_of(located, write(table=("spark_catalog", "shop", "other"), places=(f"table:{'.'.join(TABLE)}",)))

    assert [each.identifier for each, _ in written.outputs if each is not None] == [at]
    assert [each.identifier for each in read.inputs] == [at]
