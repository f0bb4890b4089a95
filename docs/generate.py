"""
The documents that are made from the code: what is supported, as tables; all keys, as a table and two samples to copy.

Run it with the interpreter of an environment that has the package, in the root of the repository.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.model.plan import simple_name
from openlineage_pyspark.facets.trace import expressions, operators
from openlineage_pyspark.listener.settings.catalog import WITHOUT_EFFECT, option_key
from openlineage_pyspark.listener.settings.given import PREFIX
from openlineage_pyspark.listener.settings.keys import WORKING
from openlineage_pyspark.transport import options
from openlineage_pyspark.transport.options import PYTHON, TYPE
from openlineage_pyspark.transport.registry import built_in_transports
from openlineage_pyspark.workbench.store.tables.schema import OF_VERSIONS, TABLES
from openlineage_pyspark.workbench.store.tables.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.facets.class_rules import ClassRules
    from openlineage_pyspark.listener.settings.reading import Key
    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.workbench.store.tables.schema import StoredTable

COMMAND = "python docs/generate.py --write"
"""The command that rewrites the documents, in the root of the repository."""

_REFERENCE = "docs/operators.md"
_TRANSPORTS = "docs/transports.md"
_STORE = "docs/store-tables.md"
_BEGIN = "<!-- Made by `{command}`: {name}. -->"
_END = "<!-- End of what is made: {name}. -->"
_SUPPORTED = """\
# Operators, commands and expressions

<!-- Made by `{command}`. -->

Which parts of a query does the listener understand? A plan is a tree of operators with expressions, often below a
command that writes. This page lists all that are
supported. [lineage.md](lineage.md) describes their edges.
"""
_OPERATORS = """
## Operators

An operator without a rule is a gap: every input column counts as a source of every output column, and the run's
`extractionError` facet names the operator.
"""
_COMMANDS = """
## Commands

A command that is neither here nor among those that [write no dataset](#commands-that-write-no-dataset) makes a run that
names it in `extractionError`. `collect`, `show`, `toPandas` and sinks that keep nothing (`noop`, console, memory) make
no run, unless `spark.openlineage.reads.enabled` is true.
"""
_EXPRESSIONS = """
## Expressions

An expression without a rule transforms everything that it reads. So do Python, pandas and Arrow functions.
"""

_ELSEWHERE = """
## Keys without effect here

These keys of the Java integration and of openlineage-python have no effect here. The log and `doctor` report each one
that is set, and what to use instead:
"""
_ACTIVE = {"transport.type": "file", "transport.location": "lineage.ndjson", "namespace": "my_team"}
_MADE = f"Made by `{COMMAND}`."
_INTRODUCTION = """\
# Configuration

<!-- {made} -->

Which keys are there, and where can I set them? Keys that OpenLineage's Java integration for Spark (openlineage-spark)
also has mean the same here. The last column names the project that a key comes from; openlineage-pyspark is this one.
Unknown and unsupported keys are ignored, with a warning that names the closest known key. An invalid value is replaced
by the default, also with a warning.

A key can be set in three places. The first place that sets it wins:

1. Spark configuration: `--conf spark.openlineage.namespace=my_team`, or the same in `spark-defaults.conf`
   ([sample](../conf/spark-defaults.conf)).
2. YAML: `namespace: my_team`, with a level for each dot ([sample](../conf/openlineage.yml)). The file is the
   first that can be read of `$OPENLINEAGE_CONFIG`, `./openlineage.yml` and `~/.openlineage/openlineage.yml`.
   Because nobody names the last two explicitly, each is ignored, with a warning that gives the reason, if it belongs to
   a user other than this one and root, if others can write to it or its folder, or if others can replace a folder or
   link on its path ([safety.md](safety.md#files-of-other-users)). At INFO, the log lists the places that the
   configuration comes from. The layout is the same as in openlineage-python.
3. Environment: `OPENLINEAGE__NAMESPACE=my_team`, with two underscores for each dot, in any case, and with or
   without underscores between words (`OPENLINEAGE__COLUMN_LINEAGE__SCHEMA_SIZE_LIMIT`). A value may be a JSON
   object that holds the keys below it. `OPENLINEAGE_URL`, `OPENLINEAGE_API_KEY`, `OPENLINEAGE_ENDPOINT`,
   `OPENLINEAGE_NAMESPACE` and `OPENLINEAGE_DISABLED` are read too.

If a place sets another `transport.type` than a later place, the transport options of the later place are ignored.

A list is written `[a;b]` or `a,b`. In a tag, write `\\:` and `\\;` for a colon and a semicolon.
"""


def documents(root: Path) -> dict[str, str]:
    """
    Return the text of each document, by its path in the repository.

    Args:
        root: of the repository; of the pages on transports and on the store only the tables are made.
    """
    return {
        _REFERENCE: _reference(),
        _TRANSPORTS: _with_tables(root, _TRANSPORTS, {"transports": transport_table()}),
        _STORE: _with_tables(
            root,
            _STORE,
            {"tables": store_tables(TABLES), "versions": store_tables(OF_VERSIONS), "views": store_views()},
        ),
        "conf/spark-defaults.conf": _spark_defaults(),
        "conf/openlineage.yml": _yaml(),
        "docs/configuration.md": _configuration(),
    }


def by_simple_name(rules: ClassRules[Any]) -> dict[str, Any]:
    """Return rules by the names of their classes without the packages."""
    return {simple_name(name): rule for name, rule in rules.items()}


def operator_table() -> str:
    """Return the table of what each logical operator means."""
    return _table(("Operator", "Spark's classes"), _by_rule(by_simple_name(operators.RULES)))


def command_table() -> str:
    """Return the table of what each command writes."""
    modules = [module.__name__ for module in registry.BUILT_IN]
    rules = sorted(by_simple_name(registry.WRITES).items(), key=lambda item: modules.index(item[1].__module__))
    return _table(("Command", "Spark's classes"), _by_rule(dict(rules)))


def transport_table() -> str:
    """Where each transport sends events, and its options, for the page on transports."""
    head = ("`transport.type`", "Sends events to", "Options below `transport`")
    return _table(head, [(_code(names), _summary(transport), _groups(transport)) for names, transport in _transports()])


def store_tables(tables: Iterable[StoredTable]) -> str:
    """Return tables of the store with their columns, for the page on the store."""
    parts = []
    for table in tables:
        rows = [(f"`{column.name}`", column.type.value[0], column.meaning) for column in table.columns]
        key = _code(table.key)
        parts.append(f"### {table.name}\n\n{table.meaning} Key: {key}.\n\n{_table(('Column', 'Type', ''), rows)}")
    return "\n\n".join(parts)


def store_views() -> str:
    """Return the views of the store with their columns, for the page on the store."""
    parts = []
    for view in VIEWS:
        rows = [(f"`{name}`", meaning) for name, meaning in view.columns]
        parts.append(f"### {view.name}\n\n{view.meaning}\n\n{_table(('Column', ''), rows)}")
    return "\n\n".join(parts)


def _transports() -> list[tuple[list[str], type[Transport]]]:
    """Return the transports of the package, each with all of its names."""
    names: dict[type[Transport], list[str]] = {}
    for name, transport in built_in_transports().items():
        names.setdefault(transport, []).append(name)
    return [(names, transport) for transport, names in names.items()]


def _summary(transport: type[Transport]) -> str:
    text = (inspect.getdoc(transport) or "").partition("\n\n")[0].removesuffix(".")
    return " ".join(text.split())


def _groups(transport: type[Transport]) -> str:
    """Return the options of a transport that work, those with a level below as one."""
    names = [option.name for option in transport.OPTIONS]
    groups = dict.fromkeys(f"{first}.*" if below else first for first, _, below in (n.partition(".") for n in names))
    return _code(groups)


def sentence(rule: Callable[..., Any]) -> str:
    """
    Return what a rule says of itself: its docstring.

    Raises:
        ValueError: it is not one sentence.
    """
    text = " ".join((inspect.getdoc(rule) or "").split())
    if not text.endswith(".") or ". " in text:
        raise ValueError(f"the docstring of the rule {rule.__module__}.{rule.__qualname__} is not one sentence")
    return text


def _by_rule(rules: Mapping[str, Callable[..., Any]]) -> list[tuple[str, str]]:
    classes: dict[str, list[str]] = {}
    for name, rule in rules.items():
        classes.setdefault(sentence(rule), []).append(name)
    return [(text, _code(names)) for text, names in classes.items()]


def _reference() -> str:
    return "\n".join(
        [
            _SUPPORTED.format(command=COMMAND),
            _OPERATORS.lstrip(),
            operator_table(),
            _COMMANDS,
            command_table(),
            _EXPRESSIONS,
            _table(("Expression", "Spark's classes"), _by_rule(expressions.RULES)),
            "\n## Expressions that pass on their argument's value\n",
            _code(sorted(expressions.UNCHANGED)) + ", and casts to the argument's own type.",
            "\n## Masking\n",
            "The argument can't be recovered from the value, and the edge has `masking: true`:",
            _code(sorted(expressions.MASKING)) + ".",
            "\n## Window functions that only read the columns of the order\n",
            _code(sorted(expressions.RANKING)) + ".",
            "\n## Commands that write no dataset\n",
            "These commands make no event:",
            _code(sorted(by_simple_name(registry.QUIET))) + ".",
            "",
        ]
    )


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _with_tables(root: Path, page: str, tables: Mapping[str, str]) -> str:
    text = (root / page).read_text("utf-8")
    for name, table in tables.items():
        text = _between(text, page, name, table)
    return text


def _between(text: str, page: str, name: str, made: str) -> str:
    begin, end = _BEGIN.format(command=COMMAND, name=name), _END.format(name=name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no place for the {name}: the lines\n{begin}\n{end}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


@attrs.frozen
class _Line:
    """One line of a sample: a key with a value, below a comment."""

    name: str
    value: str
    comment: str

    @property
    def active(self) -> bool:
        return self.name in _ACTIVE


def _sampled() -> list[_Line]:
    """Return the lines of a sample, the active ones first."""
    described: dict[str, tuple[Key[Any], str]] = {TYPE.name: (option_key(TYPE), TYPE.text)}
    for names, transport in _transports():
        for option in transport.OPTIONS:
            # Of what both clients have, under two names or in two transports, the first.
            if option.source != PYTHON:
                described.setdefault(option.name, (option_key(option), f"{_code(names)}: {option.text}"))
    keys = [*described.values(), *((key, key.text) for key in WORKING)]
    made = [
        _Line(_example_name(key), _ACTIVE.get(key.name) or key.example or key.default_text, text) for key, text in keys
    ]
    return sorted(made, key=lambda line: not line.active)


def _example_name(key: Key[Any]) -> str:
    before, _, rest = key.name.partition("<")
    return before + key.example_name + rest.partition(">")[2]


def _spark_defaults() -> str:
    width = max(len(PREFIX + line.name) for line in _sampled())
    lines = [f"# {_MADE}", "# Copy what you need to $SPARK_HOME/conf/spark-defaults.conf."]
    for line in _sampled():
        mark = "" if line.active else "# "
        lines += ["", f"# {line.comment}", f"{mark}{PREFIX + line.name:{width}}  {line.value}"]
    return "\n".join(lines) + "\n"


def _yaml() -> str:
    lines = [f"# {_MADE}", "# Copy it to ./openlineage.yml or ~/.openlineage/openlineage.yml."]
    groups: dict[str, list[_Line]] = {}
    for line in _sampled():
        groups.setdefault(line.name.partition(".")[0], []).append(line)
    for group in groups.values():
        lines += ["", *_yaml_group(group)]
    return "\n".join(lines) + "\n"


def _yaml_group(group: list[_Line]) -> list[str]:
    lines: list[str] = []
    opened: list[str] = []
    active = any(line.active for line in group)
    for line in group:
        *above, last = line.name.split(".")
        for depth, part in enumerate(above):
            if opened[: depth + 1] != above[: depth + 1]:
                lines.append(_yaml_line(depth, f"{part}:", active=active and depth == 0, outer=active))
                opened = above[: depth + 1]
        texts = (f"# {line.comment}", f"{last}: {_quoted(line.value)}")
        lines += [_yaml_line(len(above), text, active=line.active, outer=active) for text in texts]
    return lines


def _yaml_line(depth: int, text: str, *, active: bool, outer: bool) -> str:
    """Indent a line; one that is not active follows a `# ` at the level of its group."""
    if active:
        return "  " * depth + text
    level = min(depth, int(outer))
    return "  " * level + "# " + "  " * (depth - level) + text


def _quoted(value: str) -> str:
    plain = value.replace("_", "").replace(".", "").replace("/", "").isalnum()
    return value if plain else "'" + value.replace("'", "''") + "'"


def _configuration() -> str:
    return "\n".join(
        [
            _INTRODUCTION.format(made=_MADE),
            "## Keys\n",
            _key_table(WORKING, value=True, default=True),
            "\n## Transports\n",
            _key_table([option_key(TYPE)], default=True),
            *(text for names, transport in _transports() for text in _transport_section(names, transport)),
            _ELSEWHERE,
            _code([*(f"transport.{name}" for name in options.WITHOUT_EFFECT), *WITHOUT_EFFECT]) + ".",
            "",
        ]
    )


def _transport_section(names: Sequence[str], transport: type[Transport]) -> list[str]:
    keys = [option_key(option) for option in transport.OPTIONS]
    return [f"\n### {_code(names)}\n", f"{_summary(transport)}.\n", _key_table(keys, default=True)] if keys else []


def _key_table(keys: Iterable[Key[Any]], *, value: bool = False, default: bool = False) -> str:
    head = ["Key", *(["Value"] if value else []), *(["Default"] if default else []), "Meaning", "From"]
    rows = []
    for key in keys:
        shown = key.default_text
        cells = {
            "Key": " or ".join(f"`{PREFIX}{name}`" for name in (key.name, *key.also)),
            "Value": key.kind.name,
            "Default": f"`{shown}`" if shown else "",
            "Meaning": key.text,
            "From": key.source,
        }
        rows.append([cells[column] for column in head])
    return _table(head, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Write the documents, or tell which are not up to date.

    Args:
        arguments: of the command line, without its name.

    Returns:
        The exit code: 1 where a document is not up to date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them, instead of only comparing")
    where = "root of the repository (default: here)"
    parser.add_argument("root", nargs="?", type=Path, default=Path(), help=where)
    options = parser.parse_args(arguments)
    if not (options.root / "pyproject.toml").is_file():
        parser.error(f"{options.root.absolute()} is not the root of the repository")
    stale = {path: text for path, text in documents(options.root).items() if not _holds(options.root / path, text)}
    for path, text in stale.items():
        if options.write:
            (options.root / path).write_text(text, "utf-8")
        outcome = "written" if options.write else f"is not up to date; run {COMMAND}"
        sys.stdout.write(f"{path} {outcome}\n")
    return int(bool(stale) and not options.write)


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
