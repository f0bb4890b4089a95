"""The secrets in the configuration, and the filter of all log lines of this package: no secrets, and one prefix."""

from __future__ import annotations

import logging
import pkgutil
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from openlineage_pyspark import transport
from openlineage_pyspark.facets.redaction.names import is_secret
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.facets.redaction.text import secrets_in
from openlineage_pyspark.listener.guard import LOG

PREFIX_OF_LOG = "openlineage: "
"""The beginning of every log line of this package."""

_SHORTEST = 6
_MOST = 500
_PLAIN = re.compile(r"(?i)\d{1,7}|true|false|default|disabled|enabled|required|optional|(?:[a-z_]\w*\.){2,}[\w$]+")
# Their names look like passwords, but they hold the working directory.
_PLACES = ("PWD", "OLDPWD")
# Below these options users choose the names, so that a name says nothing about its value.
_FREE = ("headers", "custom_headers", "urlParams")


def secret_values(
    conf: Mapping[str, str], environ: Mapping[str, str], arguments: Sequence[str], transport: Mapping[str, Any]
) -> tuple[str, ...]:
    """
    Return the secret values, longest first, each also as it would be encoded in a URL.

    Args:
        conf: the Spark configuration.
        environ: the environment.
        arguments: the arguments of the command line.
        transport: the options of the transport, nested.
    """
    found: dict[str, None] = {}
    for name, value in (*conf.items(), *environ.items(), *_leaves(transport)):
        if is_secret(name) and name not in _PLACES:
            found[value.strip()] = None
        found.update(dict.fromkeys(secrets_in(value)))
    found.update(dict.fromkeys(secrets_in(" ".join(arguments))))
    telling = [value for value in found if len(value) >= _SHORTEST and not _PLAIN.fullmatch(value)]
    forms = {form for value in telling for form in (value, quote(value, safe=""), quote_plus(value))}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))[:_MOST]


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
        self._redaction = Redaction(known=tuple(sorted(every, key=lambda secret: (-len(secret), secret))))

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = self._redaction.text(text)
        # `transport` knows nothing of the prefix; messages from before this filter is there already have it.
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
        known: values that are secret wherever they occur, in addition to what is recognised as secret in a text.
    """
    _REDACTING.hide(known)
    # A filter on a logger does not apply to its child loggers.
    names = (module.name for module in pkgutil.walk_packages(transport.__path__, f"{transport.__name__}."))
    for logger in (LOG, *map(logging.getLogger, names)):
        logger.addFilter(_REDACTING)
