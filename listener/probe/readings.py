"""
The table of what the probe reads besides the tree itself.

Some values are not tree nodes: a file relation, a catalog's table, options. The probe reads them while it walks the
tree, by the getters that are registered for their class, superclasses or interfaces. Each is registered next to the
rule that uses it: in the files of sources, of commands and of expressions. A chain is method names joined by dots;
`[key]` looks up a key in a map, ignoring case; a whole map never leaves the JVM, because its other values may be
secret.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from openlineage_pyspark.facets.commands.registry import WRITES
from openlineage_pyspark.facets.datasets import plugins
from openlineage_pyspark.facets.datasets.built_in import SOURCES
from openlineage_pyspark.facets.datasets.placed import WHERE
from openlineage_pyspark.facets.model.session import ALWAYS, SETTINGS
from openlineage_pyspark.facets.trace import expressions, operators
from openlineage_pyspark.listener.guard import CaughtException, Guard

_RUN = "Spark runs it while analyzing the statement"
REFUSED = {
    "Call": f"a CALL: {_RUN}",
    "UnresolvedExecuteImmediate": f"EXECUTE IMMEDIATE: {_RUN}",
    "CompoundBody": f"a script: {_RUN}",
    "ExplainCommand": "EXPLAIN: pass the statement without it",
}
"""Simple class name of a parsed statement that is not analyzed -> what it is, and why or what to do, for messages."""


def readings() -> dict[str, dict[str, str]]:
    """
    Return the probe's readings: class -> reading -> chain of getters.

    If two chains have the same name, the one that was registered first is used: a plug-in can't change a built-in rule.
    """
    found: dict[str, dict[str, str]] = {}
    for registry in (SOURCES.readings, WRITES.readings, expressions.READINGS):
        for class_name, chains in registry.items():
            for name, chain in chains.items():
                found.setdefault(class_name, {}).setdefault(name, chain)
    return found


def unread() -> Iterator[tuple[str, str]]:
    """Yield the simple class name and the argument name of each argument that is never read, such as rows."""
    for names in (SOURCES.unread, expressions.UNREAD, operators.UNREAD):
        for class_name, arguments in names.items():
            yield from ((class_name, argument) for argument in arguments)


def table(options: Iterable[str] = ()) -> str:
    """
    Return the table as the probe expects it: one entry per line, its parts separated by tabs.

    Args:
        options: names of options that the probe may read besides those that state where a source is.
    """
    load_plugins()
    lines = [
        f"describe\t{class_name}\t{name}\t{chain}"
        for class_name, chains in readings().items()
        for name, chain in chains.items()
    ]
    lines += [f"skip\t{class_name}\t{argument}" for class_name, argument in unread()]
    lines += [f"transparent\t{class_name}" for class_name in sorted(operators.SAME_OUTPUT)]
    lines += [f"refuse\t{class_name}" for class_name in REFUSED]
    lines += [f"setting\t{key}\t{'always' if key in ALWAYS else 'changed'}" for key in SETTINGS]
    lines += [f"where\t{option}" for option in sorted(WHERE.union(options))]
    return "\n".join(lines)


@functools.cache
def load_plugins() -> None:
    """Load the sources of other distributions, once per process; one that fails to load is skipped with a warning."""
    guard = Guard()
    for plugin in plugins.installed():
        loaded = guard.attempt(f"loading the sources of {plugin.name!r}", plugin.load)
        if isinstance(loaded, CaughtException):
            plugins.BROKEN[plugin.name] = loaded.name
