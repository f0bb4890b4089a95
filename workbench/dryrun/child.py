"""
The process of one script: it creates a session without data, patches PySpark to use the stage, and runs the script.

This process may end at any time, by itself or by a signal: each record that it has written by then is complete.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import resource
import sys
import tempfile
import threading
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.dryrun.empty_spark.session import attached_session
from openlineage_pyspark.workbench.dryrun.libraries.dbt_models import make_model
from openlineage_pyspark.workbench.dryrun.libraries.glue import install_glue
from openlineage_pyspark.workbench.dryrun.libraries.lakes import install_lakes
from openlineage_pyspark.workbench.dryrun.libraries.notebook_environment import NotebookEnvironment
from openlineage_pyspark.workbench.dryrun.libraries.pipelines import ScriptPipeline
from openlineage_pyspark.workbench.dryrun.patches.patched import Patches
from openlineage_pyspark.workbench.dryrun.patches.standins import install_random_ids
from openlineage_pyspark.workbench.dryrun.patches.worlds import own_session
from openlineage_pyspark.workbench.dryrun.sandbox.effects import Effects
from openlineage_pyspark.workbench.dryrun.sandbox.environment import FOLLOW, hide_environment, report_wrong_arguments
from openlineage_pyspark.workbench.dryrun.sandbox.guard import AuditHook, RefusedError
from openlineage_pyspark.workbench.dryrun.sandbox.handled import (
    compiled_code,
    install_handlers,
    observe_handlers,
    text_of_error,
)
from openlineage_pyspark.workbench.dryrun.sandbox.landlock import restrict_this_thread
from openlineage_pyspark.workbench.dryrun.sandbox.local_files import LocalFiles
from openlineage_pyspark.workbench.dryrun.sandbox.modules import Finder, guarded_imports
from openlineage_pyspark.workbench.dryrun.sandbox.texts import install_reading_of_texts
from openlineage_pyspark.workbench.dryrun.script.cells import cells_of, may_change
from openlineage_pyspark.workbench.dryrun.script.executed import ExecutedLines
from openlineage_pyspark.workbench.dryrun.script.kinds import SPECIFICATIONS
from openlineage_pyspark.workbench.dryrun.script.records import Spot
from openlineage_pyspark.workbench.dryrun.script.request import AGAIN, Fork, ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage, shortened
from openlineage_pyspark.workbench.predict.caching.answers import prepare
from openlineage_pyspark.workbench.predict.scripts import Given, Script
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_PIPELINE = re.compile(
    r"^\s*(?:import|from)\s+(?:dlt|pyspark\.pipelines)\b|pyspark import .*\bpipelines\b", re.MULTILINE
)
_MEGABYTE = 1024 * 1024
_SUCCESS = 0
# What libraries report when the kernel refuses a change or a connection.
_DENIED = "permission denied"


def run_script(fork: Fork, out: int) -> NoReturn:
    """
    Run the script of a request, and end this process.

    Args:
        fork: the request, and what it needs.
        out: the descriptor for the records.
    """
    request = ScriptRequest.of_text(Path(fork.request).read_text(encoding="utf-8"))
    stage = Stage(request, out)
    try:
        _run(stage, fork.port, fork.secret)
    except LineageError as problem:
        stage.problem("SCRIPT_FAILED", str(problem))
    end_process(_SUCCESS)


def end_process(status: int) -> NoReturn:
    """End the process at once, without calling the script's exit handlers or waiting for the JVM."""
    os._exit(status)


def _run(stage: Stage, port: int, secret: str) -> None:
    request = stage.request
    tempfile.tempdir = request.scratch
    spark = attached_session(port, secret, request.conf)
    tables = DeclaredTables(request.tables)
    session = ScriptSession(own_session(spark), tables, shapes=request.shapes)
    if request.ddl:
        scripts = [Script(name, text, head=head) for name, text, head in request.ddl]
        if not prepare(session, scripts, Given(request.tables, conf=request.conf), Path(request.kept)):
            end_process(AGAIN)
    session.made()
    patches = Patches(spark, tables, session, stage)
    # The probe must be compiled, and settings read, before the script is restricted.
    patches.worlds.world.reads.plan(spark.range(0))
    patches.apply()
    install_lakes(patches.worlds)
    if "awsglue" not in request.allowed:
        install_glue(stage, patches.worlds.without_columns)
    _restrict(stage, port, str(spark.sparkContext._temp_dir))
    pipeline = ScriptPipeline(patches.worlds.world, stage)
    pipeline.install()
    module = types.ModuleType("__main__")
    vars(module).update({"__file__": request.path, "__builtins__": __builtins__})
    sys.modules["__main__"] = module
    executed = ExecutedLines(stage.is_users)
    if request.shapes:
        executed.start()
    if request.path.endswith(SPECIFICATIONS):
        _perform(stage, lambda: _run_specification(stage, spark, pipeline))
    else:
        _perform(stage, lambda: _run_script(stage, spark, vars(module)))
    for flow in pipeline.flows():
        stage.hides("the flows of a pipeline")
        _perform(stage, flow)
    _wait_for_threads()
    for file, lines in executed.stop().items():
        stage.record("executed", file=stage.name_of(file), lines=lines)
    stage.record("end")


def _restrict(stage: Stage, port: int, sparks_folder: str) -> None:
    """Restrict the script to what a request allows: its arguments, variables, modules, files, memory and time."""
    request = stage.request
    sys.dont_write_bytecode = True
    sys.argv = [request.path, *request.arguments]
    # dbt submits the text of a model, which can't import the files beside it.
    beside = [] if request.model else [str(Path(request.path).parent)]
    sys.path[:] = [*beside, *request.python_path, *(each for each in sys.path if each)]
    os.chdir(request.begins)
    hide_environment(stage)
    report_wrong_arguments(stage)
    Finder(stage, request.allowed, guarded_imports(request.source)).install()
    Effects(stage, sparks_folder).install()
    LocalFiles(stage).install()
    install_handlers(stage)
    install_random_ids(stage.is_users)
    install_reading_of_texts()
    limit = _memory_in_use() + request.megabytes * _MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    threading.Thread(target=_watch, args=(stage, threading.main_thread().ident), daemon=True).start()
    AuditHook(stage, port, sparks_folder).install()
    restrict_this_thread((request.scratch, sparks_folder), port)


def _memory_in_use() -> int:
    """Return how many bytes of memory the process uses now; 0 if the system does not show it."""
    pages = (
        Path("/proc/self/statm").read_text(encoding="utf-8").split()[0] if Path("/proc/self/statm").exists() else "0"
    )
    return int(pages) * resource.getpagesize()


def _watch(stage: Stage, main_thread: int | None) -> None:
    """End the process when its time is over, and record the line that the script had reached."""
    over = threading.Event()
    over.wait(stage.request.seconds)
    frame = sys._current_frames().get(main_thread or 0)
    spot = Spot(stage.request.name, 1)
    while frame is not None:
        if stage.is_users(frame.f_code.co_filename):
            spot = stage.spot_of(frame.f_code.co_filename, frame.f_lineno)
            break
        frame = frame.f_back
    seconds = stage.request.seconds
    stage.problem("TIME_OVER", f"the script was stopped here after {seconds} seconds (--timeout)", spot)
    end_process(_SUCCESS)


def _run_script(stage: Stage, spark: Any, names: dict[str, Any]) -> None:
    """Run the script as `python script.py` does."""
    request = stage.request
    NotebookEnvironment(stage, names).install(spark)
    if _OF_PIPELINE.search(request.source):
        # In a real run, the runner of pipelines defines it.
        names.setdefault("spark", spark)
    line = 0 if request.is_notebook or "spark" in names else _first_use_of_given_session(request.source)
    if line:
        names["spark"] = spark
        message = "the script uses spark, which it does not define: it gets a session, as it does on Databricks"
        stage.problem("STAND_IN", message, stage.spot_of(request.path, line))
    if not request.is_notebook:
        exec(compiled_code(request.source, request.path), names)  # noqa: S102 (this is what the user asks for)
        if request.model:
            make_model(stage, spark, names)
        return
    tree = ast.parse(request.source, request.path)
    cells = cells_of(tree, request.source, request.cells)
    observe_handlers(tree, request.path)
    given = frozenset(names)
    for cell in cells:
        code = compile(ast.Module([*cell.statements], []), request.path, "exec", dont_inherit=True)
        problem = _perform(stage, functools.partial(exec, code, names))
        if isinstance(problem, SystemExit) or (problem is not None and not cell.is_known):
            return
        if problem is not None:
            # The cells that need what this one would define or change fail too, and the others run.
            changed = {name for name in cell.changed & names.keys() if may_change(names[name])}
            for name in (cell.defined | changed) - given:
                names.pop(name, None)
            for view in cell.views:
                spark.catalog.dropTempView(view)


def _run_specification(stage: Stage, spark: Any, pipeline: ScriptPipeline) -> None:
    """Run the files of a pipeline's specification, which define its tables and flows."""
    folder, found = Path(stage.request.path).parent, yaml.safe_load(stage.request.source)
    document = found if isinstance(found, dict) else {}
    for key, value in dict(document.get("configuration") or {}).items():
        spark.conf.set(key, value)
    for kind, name in (("CATALOG", "catalog"), ("DATABASE", "database"), ("DATABASE", "schema")):
        if document.get(name):
            spark.sql(f"SET CATALOG {document[name]}" if kind == "CATALOG" else f"USE {document[name]}")
    patterns = [str(each["glob"]["include"]) for each in document.get("libraries") or ()]
    # Before Python 3.13, two asterisks at the end only match folders.
    whole = [f"{each}/*" if each.endswith("**") else each for each in patterns]
    files = sorted({each for pattern in whole for each in folder.glob(pattern) if each.is_file()})
    if not files:
        stage.problem("NOTHING_TO_RUN", f"no file of the pipeline was found: its libraries are {', '.join(patterns)}")
    for file in files:
        text, name = file.read_text(encoding="utf-8"), os.path.relpath(file, stage.request.begins)
        if file.suffix == ".sql":
            pipeline.define_statements(text, name)
        elif file.suffix == ".py":
            exec(compiled_code(text, str(file)), {"__name__": file.stem, "__file__": str(file), "spark": spark})  # noqa: S102 (as above)


def _first_use_of_given_session(source: str) -> int:
    """Return the line on which a script first uses `spark`; 0 if it does not, or if it may define it anywhere."""
    try:
        every = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return 0
    names = [each for each in every if isinstance(each, ast.Name) and each.id == "spark"]
    defines = any(not isinstance(each.ctx, ast.Load) for each in names)
    defines = defines or any(isinstance(each, ast.arg) and each.arg == "spark" for each in every)
    imported = {each.asname or each.name for each in every if isinstance(each, ast.alias)}
    return 0 if defines or not imported.isdisjoint({"spark", "*"}) else min((each.lineno for each in names), default=0)


def _perform(stage: Stage, run: Callable[[], None]) -> BaseException | None:
    """Run a part of the script; record and return the error with which it fails or exits."""
    try:
        run()
    except BaseException as problem:  # noqa: BLE001 (whatever a script raises)
        _report(stage, problem)
        return problem
    return None


def _report(stage: Stage, problem: BaseException) -> None:
    """Record the error with which a script, or a cell of a notebook, fails or exits."""
    if isinstance(problem, SystemExit):
        if problem.code not in (None, 0):
            message = shortened(problem.code if isinstance(problem.code, str) else f"status {problem.code}")
            cause = problem.__cause__ or problem.__context__
            why = f", since it fails at {_place(stage, cause)}: {text_of_error(cause)}" if cause is not None else ""
            spot = stage.spot_of_error(problem)
            # A script that wants arguments, and gets none, explains it on an output that is not shown.
            wants_arguments = not stage.request.arguments and "sys.argv" in stage.request.source
            follow = f" ({FOLLOW})" if wants_arguments else ""
            stage.problem("SCRIPT_ENDED", f"the script exits here with {message}{why}{follow}", spot)
    elif isinstance(problem, SyntaxError):
        spot = stage.spot_of(str(problem.filename), problem.lineno or 1)
        stage.problem("SCRIPT_FAILED", f"the script is not valid Python: {problem.msg}", spot)
    # The guard has already recorded a refusal.
    elif not isinstance(problem, RefusedError):
        spot = stage.spot_of_error(problem)
        of_arguments = isinstance(problem, IndexError) and "argv" in spot.text
        message = f"{text_of_error(problem)}{f' ({FOLLOW})' if of_arguments else ''}"
        if _DENIED in message.lower():
            message += " (in a dry run, no library may write outside of the scratch folder, or connect)"
        stage.problem("SCRIPT_FAILED", f"the script fails here: {message}", spot)


def _place(stage: Stage, problem: BaseException) -> str:
    spot = stage.spot_of_error(problem)
    return f"{spot.file}:{spot.line}"


def _wait_for_threads() -> None:
    """Wait for the threads that the script has started, as Python does at its end."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
