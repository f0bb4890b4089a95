"""Table functions in Python whose columns their own method `analyze` returns: Spark would call it in a worker."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

TABLE_FUNCTIONS = "pyspark.sql.udtf"
_ANALYZE = "analyze"
_HOW = ("withSinglePartition", "partitionBy", "orderBy", "select")


class UnknownArgument(StandIn):
    """An argument of `analyze`, whose type and value are unknown. It remembers whether the method asks for these."""

    def __init__(self, at: int) -> None:
        super().__init__(f"argument {at}")
        self.__dict__["is_used"] = False

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.__dict__["is_used"] = True
        return super().__getattr__(name)


def install_table_functions(stage: Stage) -> None:
    """
    Give such functions the columns that `analyze` returns for unknown arguments.

    Args:
        stage: records that the columns may be others in a real run, or are unknown.
    """
    owner: Any = sys.modules[TABLE_FUNCTIONS].UserDefinedTableFunction
    create = owner._create_judtf

    def creating(function: Any, handler: Any) -> Any:
        if function._returnType is not None:
            return create(function, handler)
        # PySpark refuses a function that has both, so its own type is empty again afterwards.
        columns = columns_of(stage, str(function._name), handler)
        function._returnType = sys.modules["pyspark.sql.types"].StructType([]) if columns is None else columns
        try:
            return create(function, handler)
        finally:
            function._returnType = function._returnType_placeholder = None

    owner._create_judtf = creating


def columns_of(stage: Stage, name: str, handler: Any) -> Any:
    """
    Return the schema of a table function; None if it is unknown.

    Args:
        stage: records it if they depend on arguments.
        name: the name of the function.
        handler: its class.
    """
    arguments = [UnknownArgument(at) for at in range(_number_of_arguments(getattr(handler, _ANALYZE)))]
    try:
        found = getattr(handler, _ANALYZE)(*arguments)
        columns = found.schema
        is_known = hasattr(columns, "fields") and not isinstance(columns, StandIn)
    except Exception:  # noqa: BLE001 (whatever a script raises)
        is_known = False
    if not is_known:
        message = (
            f"the columns of the table function {name} are unknown: its analyze() needs the types of its arguments"
        )
        stage.problem("UNKNOWN_SCHEMA", message)
        return None
    if any(each.__dict__["is_used"] for each in arguments) or any(getattr(found, each, ()) for each in _HOW):
        message = f"the columns of the table function {name} are what its analyze() returns for unknown arguments"
        stage.problem("STAND_IN", message)
    return columns


def _number_of_arguments(analyze: Any) -> int:
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in named for each in inspect.signature(analyze).parameters.values())
