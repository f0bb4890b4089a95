"""Find the secrets in the configuration, and keep them out of this package's log; give its lines one prefix."""

from __future__ import annotations

import functools
import json
import logging
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

from openlineage_pyspark import transport
from openlineage_pyspark.facets.redaction.names import is_secret
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.facets.redaction.text import secrets_in
from openlineage_pyspark.listener.guard import LOG

PREFIX_OF_LOG = "openlineage: "
"""The beginning of every log line of this package."""

_SHORTEST = 3
_MOST = 2000
# Values that are not secret, whatever their names are.
_WORDS = frozenset("true false yes no on off none null".split())
_PLACEHOLDER = re.compile(r"\?|\*{3}|\$\{[\w.:\-]{1,200}\}")
# Their names look like secrets, but they hold the working directory and the kind of desktop.
_NO_SECRETS = ("PWD", "OLDPWD", "DESKTOP_SESSION", "GDMSESSION", "XDG_SESSION_ID")
_PASSWORD = re.compile(r"(?i)pass|pw|psw|phrase|(?:^|[._\-])pin$")
# Below these options users choose the names, so a name does not show whether its value is secret.
_FREE = ("headers", "custom_headers", "urlParams")


def secret_values(
    conf: Mapping[str, str], environ: Mapping[str, str], arguments: Sequence[str], transport: Mapping[str, Any]
) -> tuple[str, ...]:
    """
    Return the secret values, longest first, each also as URLs, JSON, Python and XML would write it.

    If there are more than 2,000 forms, the values themselves take precedence over their other forms, passwords over
    other secrets, and those whose names show that they are secret over those found inside other values.

    Args:
        conf: the Spark configuration.
        environ: the environment; bytes that are not UTF-8 are surrogates, as in `os.environ`.
        arguments: the arguments of the command line.
        transport: the options of the transport, nested.
    """
    ranks: dict[str, int] = {}

    def found(value: str, rank: int) -> None:
        value = value.strip()
        if len(value) >= _SHORTEST and value.lower() not in _WORDS and _PLACEHOLDER.fullmatch(value) is None:
            ranks[value] = min(rank, ranks.get(value, rank))

    for name, value in (*conf.items(), *environ.items(), *_leaves(transport)):
        if is_secret(name) and name not in _NO_SECRETS:
            found(value, 0 if _PASSWORD.search(name) is not None else 1)
        for inner in secrets_in(value):
            found(inner, 2)
    for inner in secrets_in(" ".join(arguments)):
        found(inner, 2)
    values = sorted(ranks, key=lambda value: (ranks[value], value))
    forms = dict.fromkeys((*values, *(form for value in values for form in _written(value))))
    if len(forms) > _MOST:
        _report_bound(len(values))
    return longest_first(list(forms)[:_MOST])


@functools.cache
def _report_bound(count: int) -> None:
    LOG.warning(
        "openlineage: the configuration has %d secrets, too many to look for everywhere: only the first %d forms of "
        "them are hidden wherever they occur",
        count,
        _MOST,
    )


def longest_first(values: Iterable[str]) -> tuple[str, ...]:
    """Return values in the order in which they must be replaced: a value before its parts."""
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _written(value: str) -> Iterator[str]:
    """Yield a value as URLs, JSON, Python and XML write it; bytes that are not UTF-8 also as the JVM shows them."""
    data = value.encode("utf-8", "surrogatepass" if _HALF.search(value) is not None else "surrogateescape")
    yield quote(data, safe="")
    yield quote_plus(data)
    shown = data.decode("utf-8", "replace")
    if len(shown.replace("\N{REPLACEMENT CHARACTER}", "")) >= _SHORTEST:
        yield shown
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield repr(data)[2:-1]
    yield escape(value)


# Surrogates that represent no byte; YAML and JSON can contain them.
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def _leaves(options: Mapping[str, Any], name: str = "", *, free: bool = False) -> Iterable[tuple[str, str]]:
    """Yield each value of nested options with its name, or with `secret` where users choose the names."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name}{key}.", free=free or key in _FREE)
        elif isinstance(value, str):
            yield ("secret" if free else f"{name}{key}"), value


class _Redacting(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._redaction = Redaction()

    def hide(self, known: Iterable[str]) -> None:
        # One process may run several applications in a row, and an earlier one may still be logging.
        every = {*self._redaction.known, *known}
        self._redaction = Redaction(known=longest_first(every))

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = self._redaction.text(text)
        # The messages of `transport` have no prefix; the listener's have it, because some come before this filter.
        if not shown.startswith(PREFIX_OF_LOG):
            shown = f"{PREFIX_OF_LOG}{shown}"
        if shown != text:
            record.msg, record.args = shown, None
        return True


_REDACTING = _Redacting()


def hide_in_logs(known: Iterable[str]) -> None:
    """
    Replace credentials by `***` in everything that this package logs from now on, and begin each line with the prefix.

    Args:
        known: values that are secret wherever they occur, in addition to those that are recognized as secret in a text.
    """
    _REDACTING.hide(known)
    # A filter on a logger does not apply to its child loggers.
    names = (module.name for module in pkgutil.walk_packages(transport.__path__, f"{transport.__name__}."))
    for logger in (LOG, *map(logging.getLogger, names)):
        logger.addFilter(_REDACTING)
