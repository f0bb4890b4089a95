"""The attributes that lead a script into the JVM: it gets stand-ins, whose calls are reported unless harmless."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.listed_files import JavaFiles, JavaPath
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

# These only log, or set how files are read and written: they change no lineage.
_HARMLESS = (
    "_jvm.org.apache.log4j.", "_jvm.org.apache.logging.log4j.", "_jvm.org.slf4j.", "_jvm.java.lang.System.gc",
    "_jvm.org.apache.hadoop.conf.", "_jvm.java.net.URI",
    "_jsc.hadoopConfiguration().set", "_jsc.hadoopConfiguration().unset", "_jsc.setLogLevel", "_jsc.sc().setLogLevel",
)  # fmt: skip
_PATH = "org.apache.hadoop.fs.Path"
_FILES_OF_HADOOP = "org.apache.hadoop.fs.FileSystem"
_FILES = (_PATH, *(f"{_FILES_OF_HADOOP}.{each}" for each in ("get", "getLocal", "newInstance")))
_SESSION = "_jsparkSession"
_FIRST_CALLS = ("_jsc.hadoopConfiguration", "_jsc.sc")


class JavaStandIn(StandIn):
    """
    A stand-in for an object of the JVM: a call is reported, unless it only logs or sets how files are read.

    Args:
        name: the expression that leads to it, such as `_jvm.org.example.Utils`.
        recorder: records calls.
    """

    def __init__(self, name: str, recorder: Stage) -> None:
        super().__init__(name)
        self.__dict__["_recorder"] = recorder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return JavaStandIn(f"{self._name}.{name}", self.__dict__["_recorder"])

    def __call__(self, *given: Any, **__: Any) -> Any:
        """Return a stand-in for the result; of Hadoop's files, one that knows which exist."""
        name = self.__dict__["_name"]
        if name.endswith(_FILES):
            files = JavaFiles(self.__dict__["_recorder"], JavaStandIn(_FILES_OF_HADOOP, self.__dict__["_recorder"]))
            return JavaPath(files, *given) if name.endswith(_PATH) else files
        if name in _FIRST_CALLS or name.startswith(_HARMLESS):
            return JavaStandIn(f"{name}()", self.__dict__["_recorder"])
        message = f"{name}() runs in the JVM, which a dry run does not use: what it does and returns is unknown"
        self.__dict__["_recorder"].problem("STAND_IN", message)
        return StandIn(f"{name}()")


class DoorToJava:
    """
    An attribute that leads into the JVM: PySpark gets its real value, and the script a stand-in.

    Args:
        name: its name.
        shared: the real value.
        stage: records each use by the script.
    """

    def __init__(self, name: str, shared: Any, stage: Stage) -> None:
        self._name = name
        self._shared = shared
        self._stage = stage

    def __get__(self, owner: Any, _: type) -> Any:
        if self._stage.is_users(sys._getframe(1).f_code.co_filename):
            is_session = self._name == _SESSION and owner is not None
            return JavaSession(self._name, owner, self._stage) if is_session else JavaStandIn(self._name, self._stage)
        return self._shared if owner is None else vars(owner).get(self._name, self._shared)

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self._name] = value


class DoorOfFrame:
    """
    The attribute with a DataFrame's object in the JVM: a script may call it, but its session is that of the script.

    Args:
        stage: records calls of the session.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __get__(self, owner: Any, _: type) -> Any:
        found = None if owner is None else vars(owner).get("_jdf")
        is_users = self._stage.is_users(sys._getframe(1).f_code.co_filename)
        return JavaFrame(found, owner.sparkSession, self._stage) if is_users and owner is not None else found

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)["_jdf"] = value


class JavaFrame:
    """
    A DataFrame's object in the JVM, for a script.

    Args:
        java: the object; None for a DataFrame without known columns.
        session: the session in Python.
        stage: records calls of the session.
    """

    def __init__(self, java: Any, session: Any, stage: Stage) -> None:
        self._java = java
        self._session = session
        self._stage = stage

    def sparkSession(self) -> JavaSession:  # noqa: N802 (Spark's name)
        """Return a session whose statements are those of the script."""
        return JavaSession("sparkSession()", self._session, self._stage)

    def __getattr__(self, name: str) -> Any:
        return StandIn(f"_jdf.{name}") if self._java is None else getattr(self._java, name)


class JavaSession(JavaStandIn):
    """
    A session's object in the JVM, for a script: its statements and its catalog are those of the script's own session.

    Args:
        name: the expression that leads to it.
        session: the session in Python.
        stage: records other calls.
    """

    def __init__(self, name: str, session: Any, stage: Stage) -> None:
        super().__init__(name, stage)
        self.__dict__["_session"] = session

    def sql(self, text: str, *_: Any) -> JavaFrame:
        """Do what the script's own session does with a statement."""
        session, stage = self.__dict__["_session"], self.__dict__["_recorder"]
        return JavaFrame(vars(session.sql(text)).get("_jdf"), session, stage)

    def catalog(self) -> JavaCatalog:
        """Return a catalog that knows what that of the script's own session knows."""
        return JavaCatalog(f"{self._name}.catalog()", self.__dict__["_session"].catalog, self.__dict__["_recorder"])


class JavaCatalog(JavaStandIn):
    """
    A catalog's object in the JVM, for a script: it answers what exists.

    Args:
        name: the expression that leads to it.
        catalog: the catalog in Python.
        stage: records other calls.
    """

    def __init__(self, name: str, catalog: Any, stage: Stage) -> None:
        super().__init__(name, stage)
        self.__dict__["_catalog"] = catalog

    def tableExists(self, *names: str) -> bool:  # noqa: N802 (Spark's name)
        """Return whether a table exists; in the JVM, the database is the first of two names."""
        return bool(self.__dict__["_catalog"].tableExists(".".join(names)))

    def databaseExists(self, name: str) -> bool:  # noqa: N802 (as above)
        """Return whether a database exists."""
        return bool(self.__dict__["_catalog"].databaseExists(name))
