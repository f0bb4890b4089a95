"""
The environment of notebooks, and of Databricks' jobs: parameters, `dbutils`, and notebooks that run in others.

Fabric and Synapse call their objects `notebookutils` and `mssparkutils`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.handled import compiled_code
from openlineage_pyspark.workbench.dryrun.sandbox.listed_files import listed
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, module_of
from openlineage_pyspark.workbench.dryrun.script.notebooks import (
    INVALID_CELL,
    LEFT_OUT,
    RUN_NOTEBOOK,
    SQL_OF_CELL,
    TAKE_PARAMETERS,
    is_harmless,
    language_of_cell,
    runnable_of,
)
from openlineage_pyspark.workbench.dryrun.script.stage import shortened
from openlineage_pyspark.workbench.dryrun.script.values import passed_values, value_like
from openlineage_pyspark.workbench.predict.sql.variables import (
    UnknownVariableError,
    default_of_widget,
    substituted,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_DEFAULT_IS_SECOND = ("text", "dropdown", "combobox", "multiselect")
_ENDINGS = ("", ".py", ".ipynb", ".sql", ".scala", ".r")
_IN_FABRIC = "notebook-content.py"
_ARGUMENT = re.compile(r"""(\$\{)?\bgetArgument\(\s*["'](\w+)["']\s*\)(?(1)\})""", re.IGNORECASE)
_NO_WIDGET = re.compile(r"\s*REMOVE\s+WIDGET\s+`?(\w+)`?\s*", re.IGNORECASE)


class NotebookEnded(SystemExit):
    """Raised when a notebook ends itself."""


class Widgets:
    """
    The parameters of a notebook or a job.

    Args:
        stage: knows the given values, and records a parameter without one.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._defaults: dict[str, str] = {}
        self.passed: dict[str, str] = {}
        """What a notebook passes to one that it runs."""

    @property
    def given(self) -> dict[str, str]:
        """The values that a notebook gets from outside."""
        return {**self._stage.request.parameters, **self.passed}

    def __getattr__(self, name: str) -> Any:
        if name not in _DEFAULT_IS_SECOND:
            raise AttributeError(name)
        return self._declare

    def _declare(self, name: str, defaultValue: Any = "", *_: Any, **__: Any) -> None:
        self._defaults[str(name)] = str(defaultValue)

    def get(self, name: str) -> str:
        """Return the value of a parameter: the given one, its default, or a stand-in."""
        if name in self.given:
            return self.given[name]
        if name in self._defaults:
            return self._defaults[name]
        message = f"the parameter {name} has no value: it is assumed to be {{{name}}} (--param {name}=VALUE sets it)"
        self._stage.problem("STAND_IN", message)
        return f"{{{name}}}"

    def getArgument(self, name: str, default: Any = None) -> str:  # noqa: N802 (Databricks')
        """Return the value of a parameter, or a default."""
        known = name in self.given or name in self._defaults
        return str(default) if default is not None and not known else self.get(name)

    def getAll(self) -> dict[str, str]:  # noqa: N802 (Databricks')
        """Return all parameters."""
        return {**self._defaults, **self.given}

    def remove(self, name: str) -> None:
        """Forget a parameter."""
        self._defaults.pop(name, None)

    def removeAll(self) -> None:  # noqa: N802 (Databricks')
        """Forget all parameters."""
        self._defaults.clear()


class TaskValues:
    """
    The values that the tasks of a job pass to each other.

    Args:
        widgets: the parameters, which may include such a value.
    """

    def __init__(self, widgets: Widgets) -> None:
        self._widgets = widgets
        self._own: dict[str, Any] = {}

    def set(self, key: str, value: Any) -> None:
        """Remember a value."""
        self._own[key] = value

    def get(self, taskKey: str = "", key: str = "", default: Any = None, debugValue: Any = None) -> Any:  # noqa: ARG002
        """Return a value: the one that was set, else that of a parameter, else the script's default."""
        if key in self._own:
            return self._own[key]
        instead = default if debugValue is None else debugValue
        return self._widgets.getArgument(key, instead) if isinstance(instead, (str, type(None))) else instead


class _Context:
    """
    What a notebook of Databricks can ask about its run, such as `userName().get()`: each answer is a text.

    Args:
        name: the name of what is asked.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: _Context(name)

    def get(self, key: str = "") -> str:
        """Return a text that stands for the answer, or for that with a key."""
        return f"{{{key or self._name}}}"

    apply = get

    def getOrElse(self, *_: Any) -> str:  # noqa: N802 (Scala's name)
        """Return the same as `get`."""
        return self.get()

    def toJson(self) -> Any:  # noqa: N802 (Databricks')
        """Return a stand-in for everything."""
        return StandIn("getContext().toJson()")

    safeToJson = toJson  # noqa: N815 (Databricks')


class NotebookEnvironment:
    """
    The functions and objects that notebooks have without an import.

    Args:
        stage: the stage of the script.
        names: the namespace of the notebook, in which notebooks that it runs are executed too.
    """

    def __init__(self, stage: Stage, names: dict[str, Any]) -> None:
        self._stage = stage
        self._names = names
        self.widgets = Widgets(stage)
        self.utils = StandIn("dbutils")
        notebook, jobs, secrets = StandIn("dbutils.notebook"), StandIn("dbutils.jobs"), StandIn("dbutils.secrets")
        vars(notebook).update(exit=self._exit, run=self._not_run, entry_point=_Context())
        vars(jobs).update(taskValues=TaskValues(self.widgets))
        vars(secrets).update(get=self._secret)
        files = StandIn("dbutils.fs")
        vars(files).update(ls=lambda path, *_: listed(stage, str(path)) or StandIn("dbutils.fs.ls()"))
        vars(self.utils).update(widgets=self.widgets, notebook=notebook, jobs=jobs, secrets=secrets, fs=files)

    def _utilities(self) -> Any:
        """Return what notebooks of Fabric and Synapse have instead of `dbutils`."""
        names = ("", ".notebook", ".credentials", ".fs")
        found, notebook, credentials, files = (StandIn(f"notebookutils{each}") for each in names)
        vars(notebook).update(exit=self._exit, run=self._not_run, runMultiple=self._not_run)
        vars(credentials).update(getSecret=self._secret, getSecretWithLS=self._secret)
        vars(files).update(ls=self._listed)
        vars(found).update(notebook=notebook, credentials=credentials, fs=files, mssparkutils=found)
        return found

    def _listed(self, path: Any, *_: Any) -> Any:
        """Return the known files in a folder, with the attributes that Fabric and Synapse give them."""
        found = listed(self._stage, str(path))
        for each in found:
            vars(each).update(name=each.name.rstrip("/"), isDir=each.isDir(), isFile=each.isFile())
        return found or StandIn("notebookutils.fs.ls()")

    def install(self, spark: Any) -> None:
        """Put these objects into the modules from which a script imports them, and into the namespace of a notebook."""
        shown = dict.fromkeys(("display", "displayHTML"), lambda *_, **__: None)
        given = {"dbutils": self.utils, "spark": spark, "sc": spark.sparkContext, "sql": spark.sql, **shown}
        sys.modules["pyspark.dbutils"] = module_of("pyspark.dbutils", DBUtils=lambda *_: self.utils)
        if "databricks" not in self._stage.request.allowed:
            runtime = module_of("databricks.sdk.runtime", **given)
            sdk = module_of("databricks.sdk", runtime=runtime, WorkspaceClient=StandIn("WorkspaceClient"), __path__=[])
            whole = module_of("databricks", sdk=sdk, __path__=[])
            sys.modules.update({"databricks": whole, "databricks.sdk": sdk, "databricks.sdk.runtime": runtime})
        utilities = self._utilities()
        for name in ("notebookutils", "notebookutils.mssparkutils"):
            sys.modules[name] = module_of(name, **vars(utilities), __getattr__=utilities.__getattr__)
        # dbt submits a model to where they are defined.
        if self._stage.request.is_notebook or self._stage.request.model:
            self._names.update(given, table=spark.table)
        if self._stage.request.is_notebook:
            self._names |= {RUN_NOTEBOOK: self._run, SQL_OF_CELL: self._sql(spark), LEFT_OUT: self._left_out}
            self._names |= {INVALID_CELL: self._invalid, TAKE_PARAMETERS: self._take}
            self._names.update(notebookutils=utilities, mssparkutils=utilities, getArgument=self.widgets.getArgument)

    def _take(self) -> None:
        """Replace the values of the notebook's parameters by those that are given."""
        for name, text in self.widgets.given.items():
            if name in self._names:
                self._names[name] = value_like(text, self._names[name])

    def _invalid(self, why: str) -> None:
        self._stage.problem("SCRIPT_FAILED", f"this cell is left out, because it is not valid Python: {why}")

    def _sql(self, spark: Any) -> Any:
        def sql(text: str) -> Any:
            made, removed = default_of_widget(text), _NO_WIDGET.fullmatch(text)
            if made is not None:
                return self.widgets.text(*made)
            if removed:
                return self.widgets.remove(removed[1])
            text = _ARGUMENT.sub(lambda found: f"${{{found[2]}}}" if found[1] else f":{found[2]}", text)
            return spark.sql(self._with_parameters(text, self.widgets.getAll()))

        return sql

    def _with_parameters(self, text: str, values: Mapping[str, str]) -> str:
        """Return a statement with the values of the parameters that it names; one without a value is reported."""
        try:
            return substituted(text, values.get)
        except UnknownVariableError as problem:
            if not problem.name or problem.name in values:
                return substituted(text, values.get, keeps=True)
            assumed = {problem.name: self.widgets.get(problem.name)}
        return self._with_parameters(text, {**values, **assumed})

    def _exit(self, *_: Any) -> None:
        raise NotebookEnded(0)

    def _not_run(self, path: Any = "", *_: Any, **__: Any) -> str:
        self._stage.problem(
            "NOT_DONE", f"the script runs the notebook {path} as a separate job: add its file to the command line"
        )
        return "{dbutils.notebook.run}"

    def _secret(self, scope: Any = "", key: Any = "", *_: Any) -> str:
        self._stage.problem("STAND_IN", f"the secret {key} of {scope} is not read in a dry run: its value is unknown")
        return f"{{{key}}}"

    def _left_out(self, command: str) -> None:
        language = language_of_cell(command)
        if language:
            self._stage.problem("NOT_DONE", f"this cell is in {language}: what it reads and writes is unknown")
        elif not is_harmless(command):
            shown = shortened(command)
            self._stage.problem("NOT_DONE", f"the notebook calls {shown[:100]!r}, which a dry run does not do")

    def _run(self, given: str) -> None:
        """Run another notebook or a script in the namespace of this one."""
        name = given.strip().split(" ")[0].strip("\"'")
        folder = Path(self._stage.request.path).parent
        # In Fabric, each notebook has a folder of its own.
        among = [*(folder / f"{name}{each}" for each in _ENDINGS), folder.parent / f"{name}.Notebook" / _IN_FABRIC]
        found = next((each for each in among if each.is_file()), None)
        source = None if found is None else runnable_of(found.read_text(encoding="utf-8-sig"), found.suffix.lower())
        if found is None or source is None:
            message = f"the notebook {name} was not found: what it defines is unknown"
            self._stage.problem("STAND_IN", message)
            return
        before = self.widgets.passed
        self.widgets.passed = {**before, **passed_values(given)}
        try:
            exec(compiled_code(source, os.path.realpath(found)), self._names)  # noqa: S102 (this is what the user asks for)
        finally:
            self.widgets.passed = before
