"""The lineage of SQL files and PySpark scripts together, in the order in which they run."""

from __future__ import annotations

import contextlib
import os
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.workbench.dryrun.branches import lineage_of_branches, records_past_failures
from openlineage_pyspark.workbench.dryrun.lineage import columns_of_script, lineage_of_script, tables_of_script
from openlineage_pyspark.workbench.dryrun.run import ScriptRecords, ScriptRunner
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.dryrun.script.kinds import is_run
from openlineage_pyspark.workbench.dryrun.script.notebooks import script_of_notebook, script_of_source
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.predict.project.revisions import archive_at, path_at
from openlineage_pyspark.workbench.predict.scripts import Script, StatementLineage
from openlineage_pyspark.workbench.predict.sql.jupyter import JUPYTER_ENDING
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

    OfSql = Callable[[Sequence[Script], Sequence[DeclaredTable]], tuple[StatementLineage, ...]]
    """Returns the lineage of SQL files, given some known tables."""


@attrs.frozen
class ScriptSettings:
    """
    How scripts are run.

    Args:
        arguments: the arguments that follow the script's name in `sys.argv`.
        python_path: where scripts find modules, besides their own folders, in the working tree.
        variables: the environment variables that scripts see.
        allowed: the modules that are not replaced by stand-ins.
        seconds: how long each script may run, in seconds.
        conf: properties of Spark.
        parameters: the values of the parameters of notebooks and jobs.
        branches: whether scripts run again for the other outcomes of decisions on data.
        classes: the folder with the archives of the classes that JVMs load; None to use none.
        shapes: whether the shapes of plans are requested, for a comparison.
    """

    arguments: tuple[str, ...] = ()
    python_path: tuple[Path, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict)
    allowed: tuple[str, ...] = ()
    seconds: int = 120
    conf: Mapping[str, str] = attrs.field(factory=dict)
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    branches: bool = False
    classes: Path | None = None
    shapes: bool = False


def lineage_of_files(
    scripts: Sequence[Script],
    known: KnownColumns,
    settings: ScriptSettings,
    of_sql: OfSql,
    *,
    folder: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[StatementLineage, ...]:
    """
    Return the lineage of SQL files and scripts.

    Args:
        scripts: the files in the order in which they run.
        known: the known columns of tables and places.
        settings: how scripts are run.
        of_sql: returns the lineage of SQL files.
        folder: the folder with the files of another revision; by default they are at their own paths.
        progress: is called before a script runs, with the number of those that have run and the total.

    Raises:
        LineageError: Spark does not start.
        TextError: a notebook is not a Python notebook.
    """
    tables, places = list(known.tables), dict(known.places)
    before: list[Script] = []
    lineages: dict[int, tuple[StatementLineage, ...]] = {}
    run = {at for at, each in enumerate(scripts) if is_run(each)}
    with ScriptRunner(settings.conf, settings.classes) as runner:
        for at, script in enumerate(scripts):
            if at not in run:
                before.append(script)
                continue
            progress(len(lineages), len(run))
            ddl = tuple((each.name, each.text, each.head) for each in before)
            request = _request(script, ddl, KnownColumns(tables, places), settings, folder)
            lines = records_past_failures(runner, request)
            others: ScriptRecords = ()
            if settings.branches:
                lineages[at], others = lineage_of_branches(runner, request, lines, tables)
            else:
                lineages[at] = lineage_of_script(lines, tables)
            tables += tables_of_script((*others, *lines))
            places.update(columns_of_script((*others, *lines)))
    files = {each.name for each in before}
    of_files = of_sql(before, tables) if before else ()
    in_order: list[StatementLineage] = []
    for at, script in enumerate(scripts):
        if at in lineages:
            in_order += (attrs.evolve(each, script=script.name) for each in lineages[at])
        elif script.name in files:
            files.discard(script.name)
            in_order += [each for each in of_files if each.statement.file == script.name]
    return tuple(in_order)


def _request(
    script: Script,
    ddl: tuple[tuple[str, str, str], ...],
    known: KnownColumns,
    settings: ScriptSettings,
    folder: Path | None,
) -> ScriptRequest:
    path = Path(script.name).resolve()
    here = Path.cwd()
    source, cells = script.text, tuple[int, ...]()
    if path.suffix.lower() == JUPYTER_ENDING:
        found = script_of_notebook(script.text)
        if found is None:
            raise TextError(f"{script.name} is not a Python notebook", path=script.name)
        source, cells = found
    elif is_notebook(source):
        source = script_of_source(source, path.suffix.lower())
    within = folder / os.path.relpath(path, here) if folder is not None else path
    return ScriptRequest(
        script.name,
        str(within),
        source,
        settings.arguments,
        str(here),
        "",
        str(folder or here),
        ddl,
        tuple(known.tables),
        known.places,
        settings.conf,
        settings.variables,
        # A module is found in its folder.
        tuple(str(path_at(each.parent if each.suffix == ".py" else each, folder)) for each in settings.python_path),
        settings.allowed,
        settings.seconds,
        cells=cells,
        is_notebook=path.suffix.lower() == JUPYTER_ENDING or is_notebook(script.text),
        parameters=settings.parameters,
        shapes=settings.shapes,
        model=script.model,
    )


@contextlib.contextmanager
def files_at(revision: str) -> Iterator[Path]:
    """
    Yield a folder with all files of a revision that are below the current folder, for scripts to import and read.

    Args:
        revision: the revision, in any form that git accepts.

    Raises:
        TextError: git can't supply the files.
    """
    with tempfile.TemporaryDirectory(prefix="openlineage-pyspark-base-") as folder:
        with tarfile.open(fileobj=BytesIO(archive_at(revision))) as archive:
            _extract(archive, folder)
        yield Path(folder)


def _extract(archive: tarfile.TarFile, folder: str) -> None:
    """Extract only the plain files of an archive, because links may lead anywhere."""
    for member in archive:
        target = Path(folder, member.name)
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
        elif member.isfile() and (content := archive.extractfile(member)) is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
