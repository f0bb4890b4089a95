"""`validate`: event files against the rules of order and completeness, and against the specification."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.event_file import EventFileError, read_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from openlineage_pyspark.command.check import Check
    from openlineage_pyspark.command.rules import Finding
    from openlineage_pyspark.command.schemas import Schemas
    from openlineage_pyspark.command.screen import Screen

_DESCRIPTION = """\
Checks events, each run whole and in the order of its sending: a run begins with its only START, has one terminal event
and nothing after it; its parent has started before it; each source of the column lineage is an input that has the
field; transformations are those of the specification; nothing looks like a credential; and every event has the
specification's shape. One line a finding: file and line, rule, what is wrong, run. Exit code 1 where there is one."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("validate", help="event files against the rules", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="one event a line, also gzipped; - is standard input")
    parser.add_argument(
        "--spec",
        type=Path,
        metavar="DIR",
        help="the folder `spec` of the OpenLineage repository, for its JSON Schemas; needs jsonschema. "
        "Without it the shape is checked by the classes of openlineage-python",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate some files.

    Args:
        options: `files` and `spec`.

    Returns:
        The exit code: 1 where there is a finding or no event, 2 where the schemas can't be used.
    """
    from openlineage_pyspark.command.check import Check, SchemaError
    from openlineage_pyspark.command.screen import Screen, complain

    try:
        schemas = _schemas(options.spec)
        check = Check(schemas)
        for line in read_lines(options.files):
            check.add(line)
    except SchemaError as problem:
        complain(str(problem))
        return 2
    except EventFileError as problem:
        complain(str(problem))
        return 1
    findings = check.findings()
    _print(Screen(), check, findings, schemas)
    return int(bool(findings) or not check.events)


def _schemas(folder: Path | None) -> Schemas | None:
    from openlineage_pyspark.command.check import SchemaError

    if folder is None:
        return None
    try:
        from openlineage_pyspark.command.schemas import Schemas
    except ImportError as problem:
        raise SchemaError(
            f"--spec needs {problem.name}, which is not installed: pip install 'openlineage-pyspark[validate]'"
        ) from problem
    return Schemas(folder)


def _print(screen: Screen, check: Check, findings: Sequence[Finding], schemas: Schemas | None) -> None:
    for finding in findings:
        of_run = f" [{finding.job}, run {finding.run_id}]" if finding.run_id else ""
        screen.line(f"{finding.place}: {finding.rule}: {finding.problem}{of_run}")
    count = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}" if findings else "no findings"
    screen.heading(f"{count} in {check.events} events of {check.runs} runs")
    if schemas is None:
        version = metadata.version("openlineage-python")
        how = f"the classes of openlineage-python {version}: what must be there, kinds of values, run ids and times"
        screen.line(f"  specification: checked by {how}; its JSON Schemas say more (--spec)")
    else:
        screen.line(f"  specification: checked by {schemas.count} JSON Schemas of {schemas.folder}")
        if schemas.unchecked_formats:
            screen.line(f"  not checked: {', '.join(schemas.unchecked_formats)}; pip install 'jsonschema[format]'")
    screen.line("  order, completeness, names, column lineage, transformations: checked")
    screen.line("  credentials: checked by what they look like; a password that is a plain word can't be seen")
    if check.misshapen:
        screen.line(f"  not checked: names and lineage of {check.misshapen} events that break the specification")
    if check.without_run:
        screen.line(f"  not checked: {check.without_run} events of a job or a dataset alone")
    custom = +check.custom
    if custom:
        names = ", ".join(f"{name} ({count})" for name, count in sorted(custom.items()))
        screen.line(f"  checked as any facet is, since the specification has none of these: {names}")
