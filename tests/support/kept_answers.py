"""Sessions for answers, one after the other in one Spark: none sees what another one has made."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.predict.scripts import session_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from openlineage_pyspark.workbench.predict.scripts import Given
    from openlineage_pyspark.workbench.predict.session import ScriptSession


def sessions_of(spark: Any) -> Callable[[Given], AbstractContextManager[ScriptSession]]:
    """Return what gives a session that knows what is given."""

    @contextmanager
    def session(given: Given) -> Iterator[ScriptSession]:
        yield session_in(spark.newSession(), given)
        _clear(spark.newSession())

    return session


def _clear(spark: Any) -> None:
    """Drop all databases and views, which all sessions of a Spark share."""
    for (name,) in spark.sql("SHOW DATABASES").collect():
        if name != "default":
            spark.sql(f"DROP DATABASE `{name}` CASCADE")
    for row in spark.sql("SHOW VIEWS IN default").collect():
        if not row.isTemporary:
            spark.sql(f"DROP VIEW default.`{row.viewName}`")
    for row in spark.sql("SHOW USER FUNCTIONS").collect():
        spark.sql(f"DROP FUNCTION IF EXISTS {row[0]}")
    for row in spark.sql("SHOW VIEWS IN global_temp").collect():
        spark.sql(f"DROP VIEW global_temp.`{row.viewName}`")
