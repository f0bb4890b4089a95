"""Run dbt models in Python: dbt calls their function `model`, and makes a table from the DataFrame that it returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.sql_lexer import dotted
from openlineage_pyspark.workbench.predict.project.python_models import MODEL, function_in
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, in_backticks

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_MAKE = "_make_model"
_DATABASE = "default"
_COMPILED = "dbtObj"
"""The class that dbt adds to a compiled model: it knows the tables of the project."""


class ModelConfig:
    """
    The configuration that a model sees.

    Args:
        stage: records a setting whose value is unknown.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._values: dict[str, Any] = {}

    def __call__(self, **values: Any) -> None:
        """Set some values."""
        self._values.update(values)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value; one that the files of the project may set is unknown."""
        if key not in self._values:
            message = f"dbt.config.get({key!r}): only a compiled model shows what the project sets: {default!r} is used"
            self._stage.problem("STAND_IN", message)
        return self._values.get(key, default)


class ModelTable:
    """
    The table of a model.

    Args:
        parts: its name, perhaps without a catalog and a schema.
    """

    def __init__(self, parts: tuple[str, ...]) -> None:
        self._parts = parts
        self.database, self.schema, self.identifier = (SPARK_CATALOG, _DATABASE, *parts)[-3:]

    def __str__(self) -> str:
        return ".".join(map(in_backticks, self._parts))


class ModelContext:
    """
    The argument `dbt` of a model that is not compiled, in the first run of its project.

    Args:
        stage: records what is unknown.
        spark: the session.
        own: the name of the model's table, as for `ModelTable`.
    """

    is_incremental = False

    def __init__(self, stage: Stage, spark: Any, own: tuple[str, ...]) -> None:
        self._spark = spark
        self.config = ModelConfig(stage)
        self.this = ModelTable(own)

    def ref(self, *names: str, **_version: Any) -> Any:
        """Return a model's table, after which the model is named; a package may come before it."""
        return self._spark.table(in_backticks(names[-1]))

    def source(self, *names: str) -> Any:
        """Return the table of a source."""
        return self._spark.table(".".join(map(in_backticks, names)))


def make_model(stage: Stage, spark: Any, names: dict[str, Any]) -> None:
    """
    Call the function of a model whose file was run, and write what it returns.

    Args:
        stage: has the request, which names the table.
        spark: the session.
        names: the names that the file has defined.
    """
    request = stage.request

    def make() -> None:
        compiled = names.get(_COMPILED)
        own = dotted(request.model)
        found = names[MODEL](ModelContext(stage, spark, own) if compiled is None else compiled(spark.table), spark)
        if hasattr(found, "to_spark"):
            found = found.to_spark()
        if found is None:
            raise TypeError("the model returns nothing: dbt needs a DataFrame")
        frame = found if hasattr(found, "write") else spark.createDataFrame(found)
        frame.write.mode("overwrite").saveAsTable(request.model)

    names[_MAKE] = make
    function = function_in(request.source)
    # No line of the file writes the table: the line of the function stands for it.
    call = ast.increment_lineno(ast.parse(f"{_MAKE}()"), 0 if function is None else function.lineno - 1)
    exec(compile(call, request.path, "exec"), names)  # noqa: S102 (this is what the user asks for)
