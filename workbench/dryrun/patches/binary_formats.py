"""Functions of Avro and Protobuf: a dry run does not load their jars, but their results have the right types."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.script.avro import type_of_avro
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

AVRO, PROTOBUF = "pyspark.sql.avro.functions", "pyspark.sql.protobuf.functions"
"""The modules that `install_avro` and `install_protobuf` patch, after their import."""


def install_avro(stage: Stage) -> None:
    """
    Make Avro's functions return columns of the types that their schemas state.

    Args:
        stage: records a schema that is unknown here.
    """
    module: Any = importlib.import_module(AVRO)

    def from_avro(data: Any, schema: Any, *_: Any, **__: Any) -> Any:
        try:
            type_ = type_of_avro(json.loads(schema), {})
        except (TypeError, ValueError, LookupError):
            type_ = _unknown(stage, "from_avro")
        return _function("from_avro", type_)(data)

    module.from_avro = from_avro
    module.to_avro = lambda data, *_, **__: _function("to_avro", "BINARY")(data)


def install_protobuf(stage: Stage) -> None:
    """
    Make Protobuf's functions return columns; their fields are unknown, because only descriptors show them.

    Args:
        stage: records each unknown schema.
    """
    module: Any = importlib.import_module(PROTOBUF)
    module.from_protobuf = lambda data, *_, **__: _function("from_protobuf", _unknown(stage, "from_protobuf"))(data)
    module.to_protobuf = lambda data, *_, **__: _function("to_protobuf", "BINARY")(data)


def _unknown(stage: Stage, name: str) -> str:
    stage.problem(
        "UNKNOWN_SCHEMA", f"the schema that {name} gets is unknown here: its result is assumed to be a string"
    )
    return "STRING"


def _function(name: str, type_: str) -> Any:
    def of_connector(*_: Any) -> None:
        """Represent a connector's function, which is never called."""

    of_connector.__name__ = name
    return F.udf(of_connector, type_)
