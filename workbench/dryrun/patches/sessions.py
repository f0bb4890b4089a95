"""The sessions and contexts of a script: each is the one that exists, and remembers the properties that it is given."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.probe.client import spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.patches.rdds import schema_of_names
from openlineage_pyspark.workbench.dryrun.patches.standins import plain_row, plain_values
from openlineage_pyspark.workbench.dryrun.patches.streams import NoQueries
from openlineage_pyspark.workbench.dryrun.patches.worlds import own_session
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.script.values import executed_text, fills_variables, texts_in, with_values
from openlineage_pyspark.workbench.predict.tables.following import is_kept_setting
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkValueError
from pyspark.rdd import RDD
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.patches.worlds import Worlds
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_NO_VALUE = object()
_WITHOUT_ROWS = "CANNOT_INFER_EMPTY_SCHEMA"
"""The condition of the error if a DataFrame without rows has no schema."""


class ScriptSessions:
    """
    Replaces how a script gets its sessions and contexts, and what these read.

    Args:
        worlds: the worlds of the sessions.
    """

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._conf = worlds.stage.settings
        given = worlds.stage.request.conf
        every = (*SparkConf().getAll(), *worlds.spark.sparkContext.getConf().getAll())
        # The properties of the dry run's own JVM: a real run has others.
        self._hosts = {(key, value) for key, value in every if given.get(key) != value}

    def install(self) -> None:
        """Replace everything, for the rest of the process."""
        self._patch_sessions()
        self._patch_contexts()

    def _patch_sessions(self) -> None:
        one, ask = self._worlds.spark, SparkSession.sql

        def get(builder: Any) -> Any:
            self._configure(dict(builder._options))
            return one

        def sql(session: Any, sqlQuery: str, args: Any = None, **named: Any) -> Any:
            text = str(sqlQuery) if isinstance(sqlQuery, StandIn) else sqlQuery
            unknown = [Unknown.of(each) for each in named.values()]
            if any(unknown):
                return self._worlds.unknown(session, next(each for each in unknown if each is not None))
            world = self._worlds.world_of(session)
            if named:
                formatter = sys.modules["pyspark.sql.session"].SQLStringFormatter(session)
                text = formatter.format(text, **named)
            if fills_variables(text):
                self._worlds.stage.hides("the variables that EXECUTE IMMEDIATE sets")
            text = executed_text(text)
            if not text:
                message = "the text that EXECUTE IMMEDIATE runs is in a variable: what it reads and writes is unknown"
                self._worlds.stage.problem("UNKNOWN_STATEMENT", message)
                return self._worlds.unknown(session, Unknown())
            text = world.statements.assumed(world.reads.whole_paths(text))
            of_data = world.statements.of_data(text)
            if of_data is not None:
                return self._worlds.unknown(session, of_data)
            if world.statements.is_query(text):
                given = {} if args is None else {"args": args}
                found = world.statements.query(text, lambda text: ask(session, text, **given))
                return found if isinstance(found, self._worlds.frame) else self._worlds.unknown(session, found)
            hidden = texts_in(args)
            return self._worlds.frame(world.statements.record(with_values(text, args), text, hidden), session)

        SparkSession.createDataFrame = self._creating(SparkSession.createDataFrame)
        builder = SparkSession.Builder
        builder.getOrCreate = builder.create = get
        builder.remote = lambda self, url: self  # noqa: ARG005 (Spark's name)
        SparkSession.sql = sql
        SparkSession.table = lambda session, tableName: self._worlds.frame_read(
            self._worlds.world_of(session).reads.load_table(tableName), session
        )
        SparkSession.stop = SparkSession.__exit__ = lambda *_: None
        SparkSession.streams = property(lambda _: NoQueries())
        SparkSession.conf = property(
            lambda session: ScriptConf(own_session(session).conf, self._conf, dict(self._hosts), self._worlds.stage)
        )

    def _creating(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def create(session: Any, data: Any, schema: Any = None, *rest: Any, **named: Any) -> Any:
            unknown = Unknown.of(data)
            if unknown is not None:
                return self._worlds.unknown(session, unknown)
            is_typed = isinstance(schema, str) or hasattr(schema, "typeName")
            if isinstance(schema, StandIn) or (isinstance(data, StandIn) and not is_typed):
                of = data if isinstance(data, StandIn) else f"the schema {schema}"
                message = f"the columns of a DataFrame of {of} are unknown without a schema: give it one"
                self._worlds.stage.problem("UNKNOWN_SCHEMA", message)
                return self._worlds.unknown(session, Unknown())
            if isinstance(data, RDD) and not is_typed:
                names = schema_of_names(schema)
                if names is None:
                    message = "the columns of a DataFrame of an RDD are unknown without a schema: give it one"
                    self._worlds.stage.problem("UNKNOWN_SCHEMA", message)
                    read = self._worlds.world_of(session).reads.plan(make(session, data, "value STRING"))
                    return self._worlds.unknown(session, Unknown((read,)))
                message = (
                    "the types of a DataFrame of an RDD are unknown without a schema: they are assumed to be strings"
                )
                self._worlds.stage.problem("STAND_IN", message)
                schema = names
            plain = list(map(plain_row, data)) if isinstance(data, (list, tuple, StandIn)) else plain_values(data)
            if len(rest) < 2:
                # Stand-ins do not have the types of the values that they replace.
                named["verifySchema"] = False
            try:
                return make(session, plain, schema, *rest, **named)
            except PySparkValueError as problem:
                if _WITHOUT_ROWS not in str(problem):
                    raise
            # The script may have made its rows from data.
            message = "the columns of a DataFrame without rows are unknown without a schema: give it one"
            self._worlds.stage.problem("UNKNOWN_SCHEMA", message)
            return self._worlds.unknown(session, Unknown())

        return create

    def _configure(self, options: dict[str, Any]) -> None:
        for key, value in options.items():
            # `SparkConf` has the properties of the dry run's own JVM.
            if (key, str(value)) not in self._hosts:
                self._worlds.spark.conf.set(key, str(value))

    def _patch_contexts(self) -> None:
        context = self._worlds.spark.sparkContext
        get_conf = SparkContext.getConf

        def init(_: Any, master: Any = None, name: Any = None, *given: Any, **named: Any) -> None:
            conf = named.get("conf", given[5] if len(given) > 5 else None)
            settings = {"spark.master": named.get("master", master), "spark.app.name": named.get("appName", name)}
            self._configure({} if conf is None else dict(conf.getAll()))
            self._configure({key: value for key, value in settings.items() if value is not None})

        def get_or_create(_: type, conf: Any = None) -> Any:
            init(context, conf=conf)
            return context

        def conf_of(owner: Any) -> Any:
            is_users = self._worlds.stage.is_users(sys._getframe(1).f_code.co_filename)
            return ContextConf(self._worlds.spark.conf, self._conf) if is_users else get_conf(owner)

        SparkContext.__new__ = lambda *_, **__: context
        SparkContext.__init__ = init
        SparkContext.getOrCreate = classmethod(get_or_create)
        SparkContext.getConf = conf_of
        SparkContext.appName = property(lambda _: self._worlds.spark.conf.get("spark.app.name"))
        SparkContext.master = property(lambda _: self._worlds.spark.conf.get("spark.master"))
        SparkContext.stop = SparkContext.__exit__ = lambda *_: None
        SparkContext.applicationId = property(lambda _: "{applicationId}")
        SparkContext.addPyFile = lambda _, path: sys.path.insert(1, str(path))


class ScriptConf:
    """
    The properties of a session, for a script.

    Args:
        conf: Spark's properties.
        given: the properties that the script has set; Spark gets those that concern its SQL.
        hosts: the properties of the dry run's own JVM, which are hidden from the script.
        stage: records properties that only the real application has.
    """

    def __init__(self, conf: Any, given: dict[str, str], hosts: Mapping[str, str], stage: Stage) -> None:
        self._conf = conf
        self._given = given
        self._hosts = hosts
        self._stage = stage

    def set(self, key: str, value: Any) -> None:
        """Set a property."""
        self._given[str(key)] = str(value)
        if str(key).startswith("spark.sql.") and not is_kept_setting(str(key)):
            # A property that is unknown here, or that a running session can't change, is only remembered.
            with contextlib.suppress(*spark_errors()):
                self._conf.set(key, value)

    def get(self, key: str, default: Any = _NO_VALUE) -> Any:
        """Return a property, or a stand-in for one that only the real application has."""
        if key in self._given:
            return self._given[key]
        if key not in self._hosts:
            with contextlib.suppress(*spark_errors()):
                return self._conf.get(key) if default is _NO_VALUE else self._conf.get(key, default)
        if default is not _NO_VALUE:
            return default
        message = f"the property {key} is not set: its value is assumed to be {{{key}}} (--conf {key}=VALUE sets it)"
        self._stage.problem("STAND_IN", message)
        return f"{{{key}}}"

    def unset(self, key: str) -> None:
        """Forget a property."""
        if self._given.pop(key, None) is None:
            # The call of the script may have set it.
            self._stage.settings[f"unset {key}"] = ""
        with contextlib.suppress(*spark_errors()):
            self._conf.unset(key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)


class ContextConf:
    """
    The properties of a context, for a script: a copy, as in a real run.

    Args:
        conf: returns the properties of the session.
        given: the properties that the script has set.
    """

    def __init__(self, conf: ScriptConf, given: Mapping[str, str]) -> None:
        self._conf = conf
        self._given = dict(given)

    def get(self, key: str, defaultValue: Any = None) -> Any:
        """Return a property."""
        if key in self._given:
            return self._given[key]
        return self._conf.get(key) if defaultValue is None else self._conf.get(key, defaultValue)

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 (likewise)
        """Return the properties that the script has set."""
        return list(self._given.items())

    def contains(self, key: str) -> bool:
        """Return whether the script has set a property."""
        return key in self._given

    def set(self, key: str, value: Any) -> Any:
        """Change the copy."""
        self._given[key] = str(value)
        return self

    def toDebugString(self) -> str:  # noqa: N802 (likewise)
        """Return the properties as text."""
        return "\n".join(f"{key}={value}" for key, value in sorted(self._given.items()))
