"""A Spark whose catalogs contain the declared tables: only names and schemas (`DeclaredTables.java`)."""

from __future__ import annotations

import re
import weakref
from importlib import resources
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.analyze import attempted_plan
from openlineage_pyspark.listener.probe.client import StatementRefusedError, analysis_errors, refusal_in
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, Parts, in_backticks
from openlineage_pyspark.workbench.predict.tables.parsed import written_name
from openlineage_pyspark.workbench.predict.tables.words import names_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openlineage_pyspark.workbench.predict.tables.consequence import Consequences

_JAVA = "DeclaredTables.java"
_SHAPE_JAVA = "PlanShape.java"
_SHAPE_CLASS = "openlineage.pyspark.PlanShape"
_CLASS = "openlineage.pyspark.DeclaredTables"
_JAVA_VERSION = 8
# Spark makes a regular expression from the name of a catalog, so none of these may be in it.
_OF_PATTERNS = re.compile(r"[][{}()*+?|^\\]")
_ESCAPED = re.compile(r"\\[b0]")
_CHARACTERS = {r"\b": "\\", r"\0": "\0"}


class DeclaringSpark:
    """
    A Spark to which tables, catalogs and functions are declared, and which analyzes statements on them.

    Args:
        spark: a separate session, which `throw_away_session` creates.
        consequences: collects the catalogs that are declared.
        is_first: whether no other session of the same Spark shares the tables.
    """

    def __init__(self, spark: Any, consequences: Consequences, *, is_first: bool) -> None:
        self.session = spark
        self.is_old = str(spark.version).startswith("3.")
        self._consequences = consequences
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        self.parser = spark._jsparkSession.sessionState().sqlParser()
        """Spark's parser."""
        self._java = compiled(self._gateway, _CLASS, _source(_JAVA), self.parser)
        self._shapes: Any = None
        self.use_from_this_thread()
        if is_first:
            # The class outlives the previous session of this process, such as the other side of a comparison.
            self._java.clear()
        # Each in lower case -> as it is written, because Spark distinguishes catalogs by case.
        self._catalogs = {SPARK_CATALOG: SPARK_CATALOG}
        self.put_in_front()
        self._databases = {"default"}

    def use_from_this_thread(self) -> None:
        """Make Spark find the catalogs: it loads them by their names, with the class loader of the calling thread."""
        loader = self._java.getClass().getClassLoader()
        self._jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)

    def current(self) -> tuple[str, str]:
        """Return the current catalog and the current database."""
        catalog, database = parts_in(self._java.current(self.session._jsparkSession))
        return catalog, database

    def whole(self, names: Parts) -> Parts:
        """Return a name with its catalog and its database, as Spark completes it."""
        catalog, database = self.current()
        if len(names) == 1:
            return (catalog, *names_in(database), *names)
        if len(names) == 2 and names[0].lower() not in self._catalogs:
            return (catalog, *names)
        return names

    def name_of(self, parsed: Any) -> Parts:
        """Return the full name in a parsed plan: an unresolved identifier, table or view."""
        return self.whole(written_name(parsed))

    def ensure(self, parts: Parts) -> None:
        """Create the catalog and the database of a table if they are missing: scripts seldom create them."""
        if parts[0].lower() != SPARK_CATALOG:
            self.register_catalog(parts[:1])
        else:
            self.make_database(parts[1:2])

    def register_catalog(self, catalog: Parts) -> bool:
        """Create a catalog if it is missing, and return whether it was."""
        if not catalog or not catalog[0] or catalog[0].lower() in self._catalogs:
            return False
        if _OF_PATTERNS.search(catalog[0]) is not None:
            return False
        self._catalogs[catalog[0].lower()] = catalog[0]
        self._consequences.add("catalog", catalog[0], catalog[:1])
        self.session.conf.set(f"spark.sql.catalog.{catalog[0]}", f"{_CLASS}$Named")
        return True

    def make_database(self, name: Parts) -> bool:
        """Create a database in Spark's own catalog if it is missing, and return whether it was."""
        if not name or not name[0] or name[0].lower() in self._databases:
            return False
        self._databases.add(name[0].lower())
        try:
            self.session.sql(f"CREATE DATABASE IF NOT EXISTS {SPARK_CATALOG}.{in_backticks(name[0])}")
        except analysis_errors():
            # Spark does not accept the name, such as that of a parameter; its tables are found nevertheless.
            return False
        return True

    def put_in_front(self) -> None:
        """Make Spark use the catalogs with the declared tables, whatever a script has reset."""
        for name in self._catalogs.values():
            of_catalog = "InFront" if name == SPARK_CATALOG else "Named"
            self.session.conf.set(f"spark.sql.catalog.{name}", f"{_CLASS}${of_catalog}")

    def put_table(self, parts: Parts, table: DeclaredTable, *, filled_in_part: bool = False) -> None:
        """
        Declare a table to Spark.

        Args:
            parts: its full name.
            table: the table.
            filled_in_part: whether an INSERT may leave out columns.
        """
        partitions = text_of_parts(table.partitions)
        self._java.put(parts[0], text_of_parts(parts[1:-1]), parts[-1], table.ddl, partitions, filled_in_part)

    def register_function(self, name: str, type_: str = "VOID") -> None:
        """Declare a function whose name alone is known; Spark casts its default type, VOID, to most other types."""
        function = self._java.function(name, self.parser.parseDataType(type_))
        registry = self.session._jsparkSession.sessionState().functionRegistry()
        registry.createOrReplaceTempFunction(name, function, "java_udf")

    def plan(self, text: str) -> Any:
        """Return the analyzed plan of a statement."""
        return self._accepted(attempted_plan(self.session, text, self._java.attempt))

    def parsed(self, text: str) -> Any:
        """Return the parsed plan of a statement."""
        return self._accepted(self._java.parsed(text))

    def _accepted(self, found: Any) -> Any:
        """Return the plan in an answer of the JVM; raise Spark's refusal if there is none."""
        if isinstance(found, str):
            raise StatementRefusedError(refusal_in(parts_in(found)[1:]))
        return found

    def columns(self, schema: Any) -> tuple[tuple[str, str], ...]:
        """Return the columns of a schema, each with its type."""
        parts = parts_in(self._java.columns(schema))
        return tuple(zip(parts[::2], parts[1::2], strict=True))

    def shape_of(self, plan: Any) -> str:
        """Return the shape of a plan: all parts that decide what it computes."""
        if self._shapes is None:
            self._shapes = compiled(self._gateway, _SHAPE_CLASS, _source(_SHAPE_JAVA))
        return str(self._shapes.of(plan))

    def with_values(self, plan: Any, values: Mapping[str, Any]) -> Any:
        """Return a plan in which variables are replaced by expressions: names in lower case -> expressions."""
        if not values:
            return plan
        return self._java.withValues(plan, text_of_parts(values), _objects(self._gateway, values.values()))

    def value_in(self, plan: Any) -> Any:
        """Return the expression of the only column of an analyzed query; None if it has no subquery."""
        return self._java.value(plan)

    def drop_table(self, parts: Parts) -> None:
        """Remove a table from Spark."""
        self._java.drop(parts[0], text_of_parts(parts[1:-1]), parts[-1])


_COMPILED: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def _source(name: str) -> str:
    """Return the text of a Java source beside this module."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def compiled(gateway: Any, name: str, text: str, *given: Any) -> Any:
    """
    Return a new object of a Java class, which the Janino in Spark compiles once per JVM.

    Args:
        gateway: py4j's gateway.
        name: the full name of the class, which has one constructor.
        text: its source.
        given: the arguments of the constructor.
    """
    known, jvm = _COMPILED.setdefault(gateway, {}), gateway.jvm
    if name not in known:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setSourceVersion(_JAVA_VERSION)
        compiler.setTargetVersion(_JAVA_VERSION)
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(text)
        known[name] = compiler.getClassLoader().loadClass(name)
    return known[name].getConstructors()[0].newInstance(_objects(gateway, given))


def _objects(gateway: Any, values: Collection[Any]) -> Any:
    """Return a Java array of objects."""
    found = gateway.new_array(gateway.jvm.java.lang.Object, len(values))
    for at, value in enumerate(values):
        found[at] = value
    return found


def text_of_parts(parts: Iterable[str]) -> str:
    """Return parts in one text, which `DeclaredTables.java` parts again: an array costs a message for each part."""
    return "".join(each.replace("\\", r"\b").replace("\0", r"\0") + "\0" for each in parts)


def parts_in(text: str) -> list[str]:
    """Return the parts of a text in which `DeclaredTables.java` has joined them."""
    return [_ESCAPED.sub(lambda found: _CHARACTERS[found[0]], each) for each in text.split("\0")[:-1]]
