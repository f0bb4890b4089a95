"""
`lineage`: shows the lineage of SQL files and of scripts before they run, and what changed since a git revision.

The modules of stores, scripts, pictures and comparisons are imported only where they are needed: with a cache, most
calls read answers that are there, and would spend most of their time on imports.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.command.conf_option import add_conf
from openlineage_pyspark.command.consent import add_yes, may_overwrite
from openlineage_pyspark.command.file_state import FileState
from openlineage_pyspark.command.screen import Screen, complain, printable
from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.command.store_option import (
    file_reason_of,
    pairs,
    refuse_spark_stores,
    whole_number,
    write_file,
)
from openlineage_pyspark.command.unfold_option import add_unfold, unfold_refusal
from openlineage_pyspark.errors import LineageError, StoreError, TextError
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.dryrun.script.kinds import is_run, with_unreadable_notebooks
from openlineage_pyspark.workbench.model.graph import JobNode, node_id
from openlineage_pyspark.workbench.model.joined import StatementGraph, join_statements
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.caching.readings import kept_readings
from openlineage_pyspark.workbench.predict.outcome import GATES, fails, summary_of
from openlineage_pyspark.workbench.predict.project.dataform import DATAFORM_CODE, scripts_of_dataform
from openlineage_pyspark.workbench.predict.project.dbt import read_project, scripts_of_models
from openlineage_pyspark.workbench.predict.project.exposures import lineage_of_exposures
from openlineage_pyspark.workbench.predict.project.raw_models import scripts_of_raw_models
from openlineage_pyspark.workbench.predict.project.revisions import is_changed_since, scripts_at, scripts_now
from openlineage_pyspark.workbench.predict.project.sqlmesh import SQLMESH_CODE, scripts_of_sqlmesh
from openlineage_pyspark.workbench.predict.project_code import PROJECT_FILES, changed_code
from openlineage_pyspark.workbench.predict.scripts import Given, lineage_of_answers, problems_of_files, session_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from openlineage_pyspark.workbench.predict.tables.knowledge import TEXT_TYPE
from openlineage_pyspark.workbench.predict.tables.spark_types import spark_type
from openlineage_pyspark.workbench.questions.table_schemas import (
    Uncertainty,
    current_columns,
    dataset_columns,
    names_in_texts,
    names_of_several,
    table_schemas,
    uncertain_names,
)
from openlineage_pyspark.workbench.rebuild.findings import CHANGE_GATES
from openlineage_pyspark.workbench.report import QUERY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.predict.project.dbt import Exposure, Project
    from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer, StatementLineage

_DESCRIPTION = """\
Shows the lineage of each statement in SQL files, and of each write in PySpark scripts, without using any data. SQL is
not executed: Spark analyzes it in a local session without rows, metastore or network. A script (FILE.py) is executed,
but everything it reads is empty and everything it writes is discarded. Tables are known from --ddl, --catalog and
--schemas, and from earlier statements. --diff shows what changed since a git revision, and what is downstream of the
changes. Arguments after -- are passed to the scripts."""
_ENDS = """\
exit codes: 0 success; 1 a reason of --fail-on applies; 2 invalid command line, or nothing to read; with --diff also 3:
a change affects something downstream."""
_FILES = """files in the order in which they run, and folders, whose .sql, .hql, .ddl and .sqlx files, notebooks and
PySpark scripts are read, except hidden ones and those that git ignores"""
_MANIFEST = """dbt's manifest: the files of target/compiled are models, with the table names that it gives them. The
columns of sources and seeds come from the catalog.json beside it"""
_FUNCTIONS = "declare a function of yours, such as one in Python; edges through it are opaque; repeatable, or NAME,NAME"
_DIALECT = """sqlglot's name of the SQL dialect, such as snowflake, for statements that Spark can't analyze; by default
the first dialect that can parse them"""
_GLOB = "in folders, read the files that match this pattern instead, such as '*.q' or 'models/*.sql'; repeatable"
_SCHEMAS = 'a JSON file with the columns of tables and paths, as in {"s3a://lake/orders": "id INT"}; repeatable'
_WRITE_SCHEMAS = "write a file for --schemas with all columns that --catalog and --schemas know"
_PY_FILES = "a folder, a zip or a module that scripts import; repeatable"
_ALLOW = "load this module itself, not a stand-in, although it may contact other systems, as requests does; repeatable"
_ENV = "set an environment variable for scripts; NAME without a value passes on that of this process; repeatable"
_PARAM = "the value of a notebook's or job's parameter, as its widgets return it; repeatable"
_BRANCHES = "also run scripts with the other outcome of each decision on data, such as `if df.count() > 0`"
_TIMEOUT = "the longest time that a script may run; default: 120"
_DDL = "an SQL file or a folder of them that declares tables; repeatable"
_CATALOG = """a store's file, event files or a folder of them: tables have the columns that their last run reported;
repeatable for event files"""
_STORE = "with --diff: the store's file, or event files, to search for what is downstream; default: that of --catalog"
_CACHE = """cache Spark's results in this folder, so that only statements that a change affects are analyzed again; and
the classes of Spark, so that it starts faster"""
_PLAN = "with --diff: also show which tables must be rebuilt, and which are proven unchanged"
_CHECK = "with --diff: never exit with 3; only --fail-on decides about the exit code"
_FAIL_ON = f"""the reasons for exit code 1, separated by commas; default: short, a statement whose lineage is not exact.
Others: {", ".join(GATES[1:])}; with --diff also: {", ".join(CHANGE_GATES)}"""
# From how many statements on progress is reported, and at which interval.
_MANY, _MANY_SCRIPTS, _SECONDS = 200, 10, 5.0
_WRONG, _PROBLEM, _DOWNSTREAM = 2, 1, 3
_QUERY = Identifier("", QUERY)
_COMMENT = "comment"
_MOST_NAMES = 3
_UNCERTAIN = {
    Uncertainty.GONE: "tables in --catalog were dropped or renamed: {}; each is taken to be as it was before",
    Uncertainty.FAILED: "only runs that failed have written {}, according to --catalog: each is taken to be as these "
    "would have made it",
    Uncertainty.PARTLY_READ: "according to --catalog, later runs have read fewer columns of {} than the last one "
    "wrote: each is taken to have all of these",
    Uncertainty.PARTLY_APPENDED: "according to --catalog, the last run appended rows without some columns of {}: each "
    "is taken to have only the columns of that run",
}
_PICTURES = ("mermaid", "dot", "html", "svg")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("lineage", description=_DESCRIPTION, epilog=_ENDS)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help=_FILES)
    parser.add_argument("--ddl", action="append", default=[], type=Path, metavar="DDL.sql", help=_DDL)
    parser.add_argument("--catalog", action="append", default=[], type=Path, metavar="STORE|EVENTS", help=_CATALOG)
    parser.add_argument("--schemas", action="append", default=[], type=Path, metavar="FILE.json", help=_SCHEMAS)
    parser.add_argument("--write-schemas", type=Path, metavar="FILE.json", help=_WRITE_SCHEMAS)
    parser.add_argument("--py-files", action="append", default=[], type=Path, metavar="PATH", help=_PY_FILES)
    parser.add_argument("--allow", action="append", default=[], metavar="MODULE", help=_ALLOW)
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]", help=_ENV)
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help=_PARAM)
    parser.add_argument("--branches", action="store_true", help=_BRANCHES)
    parser.add_argument("--timeout", type=whole_number(1), default=120, metavar="SECONDS", help=_TIMEOUT)
    parser.add_argument("--diff", metavar="BASE", help="show what changed since a git revision, such as origin/main")
    parser.add_argument("--plan", action="store_true", help=_PLAN)
    parser.add_argument("--store", metavar="STORE", help=_STORE)
    parser.add_argument("--cache", type=Path, metavar="DIR", help=_CACHE)
    parser.add_argument("--manifest", type=Path, metavar="manifest.json", help=_MANIFEST)
    parser.add_argument("--functions", action="append", default=[], metavar="NAME", help=_FUNCTIONS)
    parser.add_argument("--dialect", default="", metavar="NAME", help=_DIALECT)
    parser.add_argument("--glob", action="append", default=[], metavar="PATTERN", help=_GLOB)
    parser.add_argument("--fail-on", action="append", metavar="WHAT", help=_FAIL_ON)
    parser.add_argument("--check", action="store_true", help=_CHECK)
    parser.add_argument("--format", choices=(*WRITERS, *_PICTURES, _COMMENT), default="text", help="default: text")
    add_unfold(parser)
    add_yes(parser)
    add_conf(parser, variables=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Show the lineage of files, or what changed in it.

    Args:
        options: those of the command line.

    Returns:
        The exit code: 1 if a reason of `--fail-on` applies, or if the user keeps an existing file; 2 if there is
        nothing to read, or a file can't be written; 3 if a change affects something downstream.
    """
    refusal = _refusal(options)
    if refusal:
        complain(refusal)
        return _WRONG
    try:
        # They are wrong whether or not a script uses them.
        pairs(options.param, "--param", "day=2026-01-01")
        stores = [*options.catalog, *([Path(options.store)] if options.store is not None else [])]
        if stores:
            refuse_spark_stores(stores)
        project = None if options.manifest is None else read_project(options.manifest)
        files = with_unreadable_notebooks(scripts_now(options.files, globs=options.glob))
        known = _known(options, [each.text for each in files])
        if options.write_schemas is not None:
            schemas = known.to_text()
            if not may_overwrite(options.write_schemas, schemas, (), options):
                return _PROBLEM
            write_file(options.write_schemas, schemas)
            if not options.files:
                return 0
        known.tables += () if project is None else _sources_of(project)
        now = [*scripts_now(options.ddl, is_ddl=True), *files]
        base = None if options.diff is None else _base(options)
        unreadable = _unreadable(now, base or (), options)
        now = _readable(now, unreadable, project, options)
        base = base and _readable(base, unreadable, project and _project_at(project, options), options, options.diff)
        exposures = () if project is None else project.exposures
        with _answers_kept(options):
            state = _with_exposures(_state(now, known, options), exposures)
            state = attrs.evolve(state, found=(*problems_of_files(unreadable), *state.found))
            if base is not None:
                is_same = base == now and (not _has_scripts(now) or not is_changed_since(options.diff))
                before = state if is_same else _with_exposures(_state_at(base, known, options), exposures)
                _warn_of_code(base, now)
                return _diff(state, before, options)
    except (LineageError, StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return _WRONG
    found = tuple(each for each in state.found if each.has_result)
    if options.format in _PICTURES:
        sys.stdout.write(_drawn(found, options.format, unfold=options.unfold))
    else:
        sys.stdout.write(WRITERS[options.format](found))
        if not found and options.format == "text":
            complain(f"no statement in {', '.join(map(str, options.files))} reads or writes a table")
    return _report(found, _gates(options))


@contextmanager
def _answers_kept(options: argparse.Namespace) -> Iterator[None]:
    """Cache Spark's results while two states are compared, so that it analyzes only the differences."""
    # It takes some seconds to write an archive of classes, so a call that may be the only one writes none.
    options.classes = options.cache if options.cache is not None and options.cache.is_dir() else None
    if options.cache is not None:
        _make_folder(options.cache)
    if options.diff is None or options.cache is not None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="openlineage-pyspark-kept-") as folder:
        options.cache = Path(folder)
        yield
        options.cache = None


def _make_folder(cache: Path) -> None:
    """
    Make the folder of the cache, unless it exists.

    Raises:
        StoreError: it can't be made.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = "it is not a folder" if isinstance(problem, FileExistsError) else problem.strerror
        raise StoreError(f"{cache} can't be used as a cache: {reason}") from None


def _has_scripts(scripts: Iterable[Script]) -> bool:
    return any(map(is_run, scripts))


def _with_exposures(state: FileState, exposures: Sequence[Exposure]) -> FileState:
    """Return the state of files, together with the reads of dbt's exposures."""
    return attrs.evolve(state, found=(*state.found, *lineage_of_exposures(exposures, state.found)))


def _gates(options: argparse.Namespace) -> frozenset[str]:
    """Return the conditions for a failing exit code."""
    return frozenset(each.strip() for names in options.fail_on or ["short"] for each in names.split(","))


def _state(
    scripts: Sequence[Script], known: KnownColumns, options: argparse.Namespace, folder: Path | None = None
) -> FileState:
    """Return the state of files; `folder` holds them as they were in a revision, if it is given."""
    answers: list[StatementAnswer] = []

    def of_sql(files: Sequence[Script], tables: Sequence[DeclaredTable]) -> tuple[StatementLineage, ...]:
        answers.extend(_answers(files, tables, options))
        with kept_readings(options.cache, partial(_cache_no_more, options)) as read:
            return lineage_of_answers(answers, tables, options.dialect, read)

    if not _has_scripts(scripts):
        found = of_sql(scripts, known.tables)
    else:
        from openlineage_pyspark.workbench.dryrun.files import ScriptSettings, lineage_of_files

        settings = ScriptSettings(
            tuple(options.passed_on),
            tuple(options.py_files),
            _variables(options.env),
            tuple(options.allow),
            options.timeout,
            dict(options.conf),
            pairs(options.param, "--param", "day=2026-01-01"),
            options.branches,
            options.classes,
            options.plan,
        )
        progress = _Progress(_MANY_SCRIPTS, "scripts have run")
        found = lineage_of_files(scripts, known, settings, of_sql, folder=folder, progress=progress)
    if not options.plan:
        return FileState(found)
    from openlineage_pyspark.command.change import file_steps

    return FileState(found, file_steps(scripts, answers, found, options, folder))


def _state_at(scripts: Sequence[Script], known: KnownColumns, options: argparse.Namespace) -> FileState:
    """Return the state of files in the revision to compare with."""
    if not _has_scripts(scripts):
        return _state(scripts, known, options)
    from openlineage_pyspark.workbench.dryrun.files import files_at

    with files_at(options.diff) as folder:
        return _state(scripts, known, options, folder)


def _variables(given: Iterable[str]) -> dict[str, str]:
    """Return environment variables: those with a given value, and those of this process that are only named."""
    parts = [each.partition("=") for each in given]
    return {name: value if is_set else os.environ.get(name, "") for name, is_set, value in parts}


def _refusal(options: argparse.Namespace) -> str:
    """Return why the options can't be combined; empty if they can."""
    if not options.files and options.write_schemas is None:
        return "name an SQL file, a script, or a folder of them"
    if options.store is not None and options.diff is None:
        return "--store needs --diff: it is searched for everything downstream of a change"
    unknown = sorted(_gates(options).difference(GATES, CHANGE_GATES))
    if unknown:
        return f"--fail-on {unknown[0]}: choose from {', '.join((*GATES, *CHANGE_GATES))}"
    of_change = sorted(_gates(options).intersection(CHANGE_GATES))
    if of_change and options.diff is None:
        return f"--fail-on {of_change[0]} needs --diff: it is about a change"
    if options.format == _COMMENT and options.diff is None:
        return "--format comment needs --diff: it is the comment of a pull request"
    if options.plan and options.diff is None:
        return "--plan needs --diff: it shows what a change affects"
    if options.check and options.diff is None:
        return "--check needs --diff: it concerns what is downstream of a change"
    if "rebuild" in of_change and not options.plan:
        return "--fail-on rebuild needs --plan: it is about the tables that must be rebuilt"
    if options.unfold and options.diff is not None:
        return "--unfold shows CTEs, views and subqueries of one state, and --diff compares two"
    return unfold_refusal(options)


def _unreadable(now: Sequence[Script], base: Iterable[Script], options: argparse.Namespace) -> list[Script]:
    """
    Return the current scripts that can't be read; warn about those that only the revision does not have.

    Raises:
        TextError: one can't be read, and a plan is requested, which would be a guess.
    """
    found = [each for each in now if each.unreadable]
    if found and options.plan:
        raise TextError(f"{found[0].name} {found[0].unreadable}", path=found[0].name)
    readable = {each.name for each in now if not each.unreadable}
    for each in base:
        if each.unreadable and each.name in readable:
            complain(f"{each.name} {each.unreadable}: everything in it counts as new")
    return found


def _readable(
    scripts: Sequence[Script],
    unreadable: Iterable[Script],
    project: Project | None,
    options: argparse.Namespace,
    revision: str | None = None,
) -> list[Script]:
    """
    Return the scripts, of which those of dbt's models create their tables, except unreadable ones.

    Args:
        scripts: the scripts.
        unreadable: the current scripts that can't be read: they are left out of a revision too, because what is unknown
            is no difference.
        project: dbt's project; None if there is none.
        options: those of the command line.
        revision: the revision of the scripts; None for the working tree.
    """

    def files_of(globs: Sequence[str]) -> Callable[[Path], list[Script]] | None:
        if options.diff is None:
            return None
        return lambda folder: (
            scripts_now([folder], globs=globs) if revision is None else scripts_at(revision, [folder], globs=globs)
        )

    names = {each.name for each in unreadable}
    found = [each for each in scripts if not each.unreadable and each.name not in names]
    if project is not None:
        return scripts_of_models(found, project, is_compared=options.diff is not None)
    found = scripts_of_sqlmesh(scripts_of_dataform(found, files_of(DATAFORM_CODE)), files_of(SQLMESH_CODE))
    return scripts_of_raw_models(found, files_of(PROJECT_FILES))


def _warn_of_code(base: Iterable[Script], now: Iterable[Script]) -> None:
    """Say which files of dbt have changed that decide about models, since no model shows what they change."""
    for name in changed_code(*([each.project for each in state if each.project] for state in (base, now))):
        complain(f"{name} has changed: what it changes in models of dbt is seen only in compiled models")


def _base(options: argparse.Namespace) -> list[Script]:
    """Return the files as they were in the revision to compare with."""
    files = with_unreadable_notebooks(scripts_at(options.diff, options.files, globs=options.glob))
    return [*scripts_at(options.diff, options.ddl, is_ddl=True), *files]


def _project_at(now: Project, options: argparse.Namespace) -> Project:
    """Return the project of dbt as it was in the revision to compare with; if that has no manifest, as it is now."""
    (manifest,) = scripts_at(options.diff, [options.manifest], globs=["*"]) or (None,)
    return now if manifest is None or manifest.unreadable else read_project(options.manifest, manifest.text)


def _diff(after: FileState, before: FileState, options: argparse.Namespace) -> int:
    """Show what changed since a git revision."""
    from openlineage_pyspark.command.change import (
        annotations_of_change,
        change_of,
        comment_of_change,
        json_of_change,
        markdown_of_change,
        sarif_of_change,
        text_of_change,
        unshown_changes,
    )

    change = change_of(before, after, options)
    for place in unshown_changes(before.found, after.found):
        complain(f"{place}: its text has changed, but not the columns and edges that can be read from it")
    if options.format == "json":
        Screen().json(json_of_change(change, after, options))
    elif options.format in _PICTURES:
        sys.stdout.write(_drawn_diff(before.found, after.found, options.format))
    elif options.format == "markdown":
        sys.stdout.write(markdown_of_change(change, after))
    elif options.format == _COMMENT:
        sys.stdout.write(comment_of_change(change, after, lambda: _drawn_diff(before.found, after.found, "mermaid")))
    elif options.format == "sarif":
        sys.stdout.write(sarif_of_change(change, after))
    elif options.format == "github":
        sys.stdout.write(annotations_of_change(change))
        sys.stdout.write(WRITERS["github"](after.found))
    else:
        sys.stdout.write(text_of_change(change))
    gates = _gates(options)
    is_stopped = any(each.finding in gates for each in change.findings)
    for each in change.findings:
        if each.finding in gates:
            sys.stderr.write(f"{printable(str(each))}\n")
    outcome = _report(after.found, gates)
    return _PROBLEM if is_stopped else outcome or (_DOWNSTREAM if change.diff.downstream and not options.check else 0)


def _report(found: Iterable[StatementLineage], gates: Collection[str]) -> int:
    """Print the problems of statements to standard error, each once, and return the exit code."""
    for cause in summary_of(found).causes:
        sys.stderr.write(f"{printable(str(cause))}\n")
    return _PROBLEM if any(fails(each, gates) for each in found) else 0


def _answers(
    scripts: Sequence[Script], tables: Sequence[DeclaredTable], options: argparse.Namespace
) -> tuple[StatementAnswer, ...]:
    """Return Spark's results for scripts, from the cache if they are in it."""
    functions = tuple(name.strip() for names in options.functions for name in names.split(","))
    given = Given(tuple(tables), functions, dict(options.conf), options.dialect, options.plan)
    progress = _Progress(_MANY, "statements are analyzed")
    session, unkept = partial(session_of, classes=options.classes), partial(_cache_no_more, options)
    return answers_of(scripts, given, progress, options.cache, session, unkept)


def _cache_no_more(options: argparse.Namespace, problem: OSError) -> None:
    """Say why nothing more is cached: the disk may be full, and the answer is not lost."""
    complain(f"{file_reason_of(problem)}; what this run finds is not cached")
    options.cache = None


class _Progress:
    """
    Reports the progress of a long task on standard error, every few seconds.

    Args:
        many: the least number of steps of which the progress is reported.
        done: what is done with each.
    """

    def __init__(self, many: int, done: str) -> None:
        self._many = many
        self._done = done
        self._last = time.monotonic()

    def __call__(self, done: int, whole: int) -> None:
        """Report how many steps are done, if there are many and the last report was some seconds ago."""
        now = time.monotonic()
        if whole >= self._many and now - self._last > _SECONDS:
            self._last = now
            complain(f"{done:,} of {whole:,} {self._done}")


def _known(options: argparse.Namespace, texts: Sequence[str]) -> KnownColumns:
    """
    Return the columns of tables and other places, from schema files and from a store or event files.

    Args:
        options: those of the command line.
        texts: those of the files whose tables matter; if there are none, all tables do.
    """
    found = KnownColumns()
    if options.catalog:
        from openlineage_pyspark.command.view import opened_from

        problems: list[str] = []
        foreign: dict[str, str] = {}
        with opened_from(options.catalog, problems) as store:
            current = current_columns(store.tables)
            schemas = table_schemas(store.tables, current)
            found.tables += [
                DeclaredTable(
                    each.parts,
                    _of_spark_types(".".join(each.parts), each.columns, foreign),
                    identifier=Identifier(each.namespace, each.name),
                )
                for each in schemas
                if each.parts
            ]
            found.add_datasets(
                (namespace, name, _of_spark_types(name, columns, foreign))
                for namespace, name, columns in dataset_columns(store.tables, current)
            )
        _warn_of_types(foreign)
        for problem in problems:
            complain(problem)
        _warn_of_names(
            names_in_texts(names_of_several(schemas), texts),
            "several tables in --catalog have the name {}, and different columns: each name means the table that a run "
            "reported last",
        )
        for why, message in _UNCERTAIN.items():
            _warn_of_names(names_in_texts(uncertain_names(schemas, why), texts), message)
    for file in options.schemas:
        found.read(file, str(Path.cwd()))
    return found


def _warn_of_names(names: Sequence[str], message: str) -> None:
    """Print a message about some names, of which only the first are shown; nothing if there are none."""
    if names:
        more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
        complain(message.format(f"{', '.join(names[:_MOST_NAMES])}{more}"))


def _sources_of(project: Project) -> list[DeclaredTable]:
    """Return the sources and seeds of a dbt project."""
    foreign: dict[str, str] = {}
    found = [
        attrs.evolve(each, columns=_of_spark_types(".".join(each.parts), each.columns, foreign))
        for each in project.tables
    ]
    _warn_of_types(foreign)
    return found


def _of_spark_types(
    name: str, columns: Iterable[tuple[str, str]], foreign: dict[str, str]
) -> tuple[tuple[str, str], ...]:
    """
    Return columns with types that Spark knows.

    Args:
        name: the name of their dataset.
        columns: each name with its type, perhaps one of another engine.
        foreign: collects the types that have no name in Spark, each with its first column.
    """
    found = []
    for column, type_ in columns:
        known = spark_type(type_)
        if not known:
            foreign.setdefault(type_, f"{name}.{column}")
        found.append((column, known or TEXT_TYPE))
    return tuple(found)


def _warn_of_types(foreign: Mapping[str, str]) -> None:
    """Warn about types that have no name in Spark."""
    if foreign:
        type_, column = next(iter(foreign.items()))
        more = f", nor {len(foreign) - 1:,} more" if len(foreign) > 1 else ""
        complain(f"Spark does not know the type {type_:.80} of {column}{more}: counted as {TEXT_TYPE}")


def _graph(found: Sequence[StatementLineage], *, by_file: bool = False) -> Graph:
    """
    Return the graph of statements.

    Args:
        found: the statements.
        by_file: whether each file is one job, which stays the same when its lines move, and not each statement.
    """
    statements = []
    places = Counter((each.statement.file, each.statement.line) for each in found if each.lineage is not None)
    for each in found:
        if each.lineage is not None:
            at = each.statement
            # Several statements may begin on one line.
            place = f"{at.file}:{at.line}{f':{at.column}' if places[at.file, at.line] > 1 else ''}"
            job = JobNode("", at.file) if by_file else JobNode("", place, kind="SQL", sql=at.text)
            outputs = (dataset.identifier if dataset is not None else _QUERY for dataset, _ in each.lineage.outputs)
            reads, writes = map(_ids, ((dataset.identifier for dataset in each.lineage.inputs), outputs))
            statements.append(StatementGraph(job, each.lineage.graph(), reads, writes))
    return join_statements(statements)


def _ids(datasets: Iterable[Identifier]) -> tuple[str, ...]:
    """Return the ids that some datasets have in a graph."""
    return tuple(node_id("dataset", each.namespace, each.name) for each in datasets)


def _drawn(found: Sequence[StatementLineage], format_: str, *, unfold: bool = False) -> str:
    from openlineage_pyspark.workbench.page.formats import text_of_graph

    return text_of_graph(_graph(found), format_, unfold=unfold)


def _drawn_diff(earlier: Sequence[StatementLineage], found: Sequence[StatementLineage], format_: str) -> str:
    from openlineage_pyspark.workbench.page.formats import text_of_comparison

    before, after = _graph(earlier, by_file=True), _graph(found, by_file=True)
    return text_of_comparison(before, after, format_)
