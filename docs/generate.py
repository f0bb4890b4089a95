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

from openlineage_pyspark.facets.commands import registry
from openlineage_pyspark.facets.trace import expressions, operators
from openlineage_pyspark.listener.settings.catalog import NOT_YET
from openlineage_pyspark.listener.settings.keys import DONE, NAMESPACE, PYTHON, WORKING, Key, as_text
from openlineage_pyspark.listener.settings.sources import PREFIX
from openlineage_pyspark.listener.settings.transport_keys import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

COMMAND = "python docs/generate.py --write"
"""The command that writes the documents anew, in the root of the repository."""

_REFERENCE = "docs/operators.md"
_SUPPORTED = """\
# Operators, commands and expressions

<!-- Made by `{command}`. -->

A plan is a tree of operators, which hold expressions, often below a command that writes. This page lists all that are
supported. [lineage.md](lineage.md) says which edges they give.
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

An expression without a rule here transforms all that it reads. So do Python, pandas and Arrow functions.
"""

_ACTIVE = {"transport.type": "file", "transport.location": "lineage.ndjson", NAMESPACE.name: "my_team"}
_MADE = f"Made by `{COMMAND}`."
_INTRODUCTION = """\
# Configuration

<!-- {made} -->

A key has the same name and meaning as in the OpenLineage integration for Spark in Java (openlineage-spark), if it
exists there. The last column says which project a key comes from: openlineage-spark, openlineage-python, or this one
(openlineage-pyspark). An unknown key, or one that is not supported yet, has no effect and costs one warning. So does a
value that can't be used; the default holds then.

A key can be set in three places. The first place that sets it wins:

1. Spark configuration: `--conf spark.openlineage.namespace=my_team`, or the same in `spark-defaults.conf`
   ([sample](../conf/spark-defaults.conf)).
2. YAML: `namespace: my_team`, with a level for each dot ([sample](../conf/openlineage.yml)). The file is the
   first that can be read of `$OPENLINEAGE_CONFIG`, `./openlineage.yml` and `~/.openlineage/openlineage.yml`.
   Its layout is the same as in openlineage-python.
3. Environment: `OPENLINEAGE__NAMESPACE=my_team`, with two underscores for each dot, in any case, and with or
   without underscores between words (`OPENLINEAGE__COLUMN_LINEAGE__SCHEMA_SIZE_LIMIT`). A value may be a JSON
   object that holds the keys below it. `OPENLINEAGE_URL`, `OPENLINEAGE_API_KEY`, `OPENLINEAGE_ENDPOINT`,
   `OPENLINEAGE_NAMESPACE` and `OPENLINEAGE_DISABLED` are read too.

If two places name different values of `transport.type`, the transport options in the weaker place are ignored.

A list is written `[a;b]` or `a,b`. In a tag, `\\:` and `\\;` stand for the characters themselves.
"""


def documents() -> dict[str, str]:
    """Return the text of each document, by its path in the repository."""
    return {
        _REFERENCE: _reference(),
        "conf/spark-defaults.conf": _spark_defaults(),
        "conf/openlineage.yml": _yaml(),
        "docs/configuration.md": _configuration(),
    }


def operator_table() -> str:
    """Return the table of what each logical operator means."""
    return _table(("Operator", "Spark's classes"), _by_rule(operators.RULES))


def command_table() -> str:
    """Return the table of what each command writes."""
    return _table(("Command", "Spark's classes"), _by_rule(registry.WRITES))


def sentence(rule: Callable[..., Any]) -> str:
    """
    What a rule says of itself: its docstring.

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
            _code(sorted(expressions.UNCHANGED)) + ", and casts to the type that the argument has.",
            "\n## Masking\n",
            "The argument can't be read back from the value, and the edge has `masking: true`:",
            _code(sorted(expressions.MASKING)) + ".",
            "\n## Window functions that read only the columns of the order\n",
            _code(sorted(expressions.RANKING)) + ".",
            "\n## Commands that write no dataset\n",
            "They make no event:",
            _code(sorted(registry.QUIET)) + ".",
            "",
        ]
    )


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _sampled() -> list[tuple[str, Key[Any], str]]:
    """Return name, key and value of each line of a sample, the active ones first."""
    # Of two spellings of one option, the Java client's.
    options = [key for key in OPTIONS if key.status == DONE and key.source != PYTHON]
    lines: list[tuple[str, Key[Any], str]] = []
    for key in (*options, *WORKING):
        value = _ACTIVE.get(key.name) or key.example or as_text(key.default)
        lines.append((_example_name(key), key, value))
    return sorted(lines, key=lambda line: line[0] not in _ACTIVE)


def _example_name(key: Key[Any]) -> str:
    before, _, rest = key.name.partition("<")
    return before + key.example_name + rest.partition(">")[2]


def _spark_defaults() -> str:
    width = max(len(PREFIX + name) for name, _, _ in _sampled())
    lines = [f"# {_MADE}", "# Copy what you need to $SPARK_HOME/conf/spark-defaults.conf."]
    for name, key, value in _sampled():
        mark = "" if name in _ACTIVE else "# "
        lines += ["", f"# {key.description}", f"{mark}{PREFIX + name:{width}}  {value}"]
    return "\n".join(lines) + "\n"


def _yaml() -> str:
    lines = [f"# {_MADE}", "# Copy it to ./openlineage.yml or ~/.openlineage/openlineage.yml."]
    groups: dict[str, list[tuple[str, Key[Any], str]]] = {}
    for name, key, value in _sampled():
        groups.setdefault(name.partition(".")[0], []).append((name, key, value))
    for group in groups.values():
        lines += ["", *_yaml_group(group)]
    return "\n".join(lines) + "\n"


def _yaml_group(group: list[tuple[str, Key[Any], str]]) -> list[str]:
    lines: list[str] = []
    opened: list[str] = []
    active = any(name in _ACTIVE for name, _, _ in group)
    for name, key, value in group:
        *above, last = name.split(".")
        for depth, part in enumerate(above):
            if opened[: depth + 1] != above[: depth + 1]:
                lines.append(_yaml_line(depth, f"{part}:", active=active and depth == 0, outer=active))
                opened = above[: depth + 1]
        texts = (f"# {key.description}", f"{last}: {_quoted(value)}")
        lines += [_yaml_line(len(above), text, active=name in _ACTIVE, outer=active) for text in texts]
    return lines


def _yaml_line(depth: int, text: str, *, active: bool, outer: bool) -> str:
    """Indent a line; one that is not active stands behind a `# ` at the level of its group."""
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
            "An option belongs to the transport that its meaning begins with.\n",
            _key_table((key for key in OPTIONS if key.status == DONE), default=True),
            "\n## Known, without effect yet\n",
            _key_table([*(key for key in OPTIONS if key.status != DONE), *NOT_YET]),
            "",
        ]
    )


def _key_table(keys: Iterable[Key[Any]], *, value: bool = False, default: bool = False) -> str:
    head = ["Key", *(["Value"] if value else []), *(["Default"] if default else []), "Meaning", "Of"]
    rows = []
    for key in keys:
        shown = as_text(key.default)
        cells = {
            "Key": " or ".join(f"`{PREFIX}{name}`" for name in (key.name, *key.also)),
            "Value": key.kind.name,
            "Default": f"`{shown}`" if shown else "",
            "Meaning": key.description,
            "Of": key.source,
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
    stale = {path: text for path, text in documents().items() if not _holds(options.root / path, text)}
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
