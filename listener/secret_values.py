"""
What is known to be secret from the application's own configuration, so that it can be taken out of any text.

A second line behind the allow-lists: a driver's exception may repeat a password that was given to it by configuration.
A value counts as secret by the name that it was given under, or as the password in a URL. Those that are too short, or
plain words of a configuration, would tear texts to shreds and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from openlineage_pyspark.facets.phrases import secrets_in
from openlineage_pyspark.facets.secret_names import is_secret

_SHORTEST = 6
_MOST = 500
_PLAIN = re.compile(r"(?i)\d{1,7}|true|false|default|disabled|enabled|required|optional|(?:[a-z_]\w*\.){2,}[\w$]+")
# Named like a password, they are the working directory.
_PLACES = ("PWD", "OLDPWD")
# Below these, names are free and say nothing.
_FREE = ("headers", "custom_headers", "urlParams")


def secret_values(
    conf: Mapping[str, str], environ: Mapping[str, str], arguments: Sequence[str], transport: Mapping[str, Any]
) -> tuple[str, ...]:
    """
    The values that are secret, the longest first, each also in the form that it has in a URL.

    Args:
        conf: the Spark configuration.
        environ: the environment.
        arguments: of the command line.
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
    """The single values of nested options with their names; where names are free, each is as good as secret."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name}{key}.", free=free or key in _FREE)
        elif isinstance(value, str):
            yield ("secret" if free else f"{name}{key}"), value
