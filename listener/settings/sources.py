"""The sources of the configuration: environment, YAML file and Spark configuration, each read as dotted names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from openlineage_pyspark.listener.settings.catalog import spelled
from openlineage_pyspark.listener.settings.given import ENVIRONMENT_PREFIX, PREFIX, SPARK_CONF, GivenValue, Layer
from openlineage_pyspark.listener.settings.keys import PARENT_CONTEXT
from openlineage_pyspark.listener.settings.ownership import why_not_own
from openlineage_pyspark.listener.settings.reading import TRANSPORT
from openlineage_pyspark.transport import values

SHORT_VARIABLES = {
    "OPENLINEAGE_DISABLED": "disabled",
    "OPENLINEAGE_NAMESPACE": "namespace",
    "OPENLINEAGE_URL": "transport.url",
    "OPENLINEAGE_ENDPOINT": "transport.endpoint",
    "OPENLINEAGE_API_KEY": "transport.auth.apiKey",
}
"""The environment variables of openlineage-python that set a single key."""


def read_sources(
    spark_conf: Mapping[str, str], environ: Mapping[str, str], search: Sequence[Path]
) -> tuple[Layer, ...]:
    """
    Read every source, weakest first.

    Args:
        spark_conf: the whole Spark configuration.
        environ: the environment.
        search: the YAML files to look for after `OPENLINEAGE_CONFIG`; the first readable one is used.
    """
    return (
        _short_variables(environ),
        _environment(environ),
        _yaml_file(environ, search),
        _spark_configuration(spark_conf),
    )


def flatten(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield the dotted name and the value of each leaf, except nulls and empty texts."""
    if isinstance(value, Mapping) and name != PARENT_CONTEXT.name:
        for key, inner in value.items():
            yield from flatten(inner, f"{name}.{key}" if name else str(key))
    elif value is not None and not (isinstance(value, str) and not value.strip()):
        yield name, value


def parse_yaml(text: str) -> tuple[tuple[tuple[str, object], ...], str | None]:
    """
    Parse a configuration file.

    Returns:
        The dotted names with their values; and the problem with the file, or None. Unlike the parser's own message,
        that text quotes nothing from the file, because it may be a secret.
    """
    # Imported here, because most applications have no such file and don't need a YAML parser.
    import yaml

    try:
        content = yaml.safe_load(text)
        if content is not None and not isinstance(content, dict):
            return (), "holds no keys"
        return tuple(flatten(content or {})), None
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return (), f"is not valid YAML{where}"
    # The parser's conversions raise these for impossible dates or files that are nested too deeply.
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return (), "is not valid YAML"


def _layer(given: Sequence[GivenValue], problems: Sequence[str] = ()) -> Layer:
    types = [str(each.value).strip() for each in given if each.name == f"{TRANSPORT}type"]
    return Layer(tuple(given), tuple(problems), types[-1] if types else None)


def _short_variables(environ: Mapping[str, str]) -> Layer:
    given = [
        GivenValue(name, environ[variable].strip(), variable, variable)
        for variable, name in SHORT_VARIABLES.items()
        if environ.get(variable, "").strip()
    ]
    implied = {
        "transport.url": ("transport.type", "http"),
        "transport.auth.apiKey": ("transport.auth.type", "api_key"),
    }
    given += [GivenValue(*implied[each.name], each.label, each.origin) for each in given if each.name in implied]
    # An API key without a URL is only useful for an HTTP transport that another source names.
    return Layer(tuple(given), transport_type="http")


def _environment(environ: Mapping[str, str]) -> Layer:
    given: list[GivenValue] = []
    problems: list[str] = []
    # In reverse, so that JSON under a shorter name wins, as in the Java and Python clients.
    for variable in sorted(environ, reverse=True):
        if not variable.upper().startswith(ENVIRONMENT_PREFIX):
            continue
        name = spelled(variable[len(ENVIRONMENT_PREFIX) :].replace("__", "."))
        text = environ[variable].strip()
        value = _unbracketed(text, name)
        if text.startswith(("{", "[")):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                if text.startswith("{"):
                    problems.append(f"{variable} begins like JSON but is not JSON, and is read as text")
        given += [GivenValue(leaf, inner, variable, variable) for leaf, inner in flatten(value, name)]
    return _layer(given, problems)


def _yaml_file(environ: Mapping[str, str], search: Sequence[Path]) -> Layer:
    named = environ.get("OPENLINEAGE_CONFIG", "").strip()
    problems: list[str] = []
    for path in [Path(named), *search] if named else search:
        is_named = bool(named) and path == Path(named)
        try:
            with path.open(encoding="utf-8") as file:
                stranger = "" if is_named else why_not_own(path, os.fstat(file.fileno()))
                text = "" if stranger else file.read()
        except (OSError, UnicodeDecodeError) as exc:
            absent = isinstance(exc, FileNotFoundError | NotADirectoryError)
            if not absent or is_named:
                why = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
                problems.append(f"{path} can't be read ({why}), and is ignored")
            continue
        if stranger:
            problems.append(f"{path} {stranger}, and is ignored; OPENLINEAGE_CONFIG={path} reads it anyway")
            continue
        content, problem = parse_yaml(text)
        if problem:
            problems.append(f"{path} {problem}, and is ignored")
        given = [GivenValue(name, value, f"{name} in {path}", str(path)) for name, value in content]
        return _layer(given, problems)
    return _layer([], problems)


def _spark_configuration(spark_conf: Mapping[str, str]) -> Layer:
    given: list[GivenValue] = []
    problems: list[str] = []
    for key, text in spark_conf.items():
        if key.startswith(PREFIX):
            name = key[len(PREFIX) :]
            leaves = flatten(_unbracketed(text, name), name)
            given += [GivenValue(leaf, value, key, SPARK_CONF) for leaf, value in leaves]
        elif meant := _almost_prefixed(key):
            problems.append(f"{key} is not read; did you mean {meant}?")
    return _layer(given, problems)


def _unbracketed(text: str, name: str) -> object:
    # Only for transport options: the kind of any other key decides whether it is a list.
    whole = text.strip()
    if not (name.startswith(TRANSPORT) and whole.startswith("[") and whole.endswith("]")):
        return text
    return list(values.items(whole, ";"))


def _almost_prefixed(key: str) -> str | None:
    first, _, rest = key.partition(".")
    second, dot, name = rest.partition(".")
    # Checking the first letter first avoids the comparison for all other Spark keys.
    if first != "spark" or not dot or second[:1].lower() != "o":
        return None
    return PREFIX + name if values.nearest(second, ["openlineage"], cutoff=0.8) else None
