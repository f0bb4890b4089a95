"""Namespaces, column names and URIs as the receivers take them."""

from __future__ import annotations

import functools
import hashlib
import re
import urllib.parse

_LOGIN = re.compile(r"//[^/@]*:(?!\d+(?:/|$))[^@]*@")
_REFUSED = re.compile(r"[^a-zA-Z:;=/0-9_\-.@+]")
_LONGEST = 1024
_LONGEST_COLUMN = 255
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://([^/@]*@)?[^/@:]*(:[0-9]*)?(/.*)?")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!//).+")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@functools.lru_cache(maxsize=4096)
def accepted_namespace(namespace: str) -> str:
    r"""Give a namespace without the characters that break Marquez for good.

    Marquez takes `[a-zA-Z:;=/0-9_\-.@+]{1,1024}` (its NamespaceName); any other character becomes `_`.
    Every namespace of an event passes here, so that column lineage, symlinks and datasets stay one graph. A login
    that a user has written into one is cut out.

    Args:
        namespace: of a job or dataset; an empty one becomes `default`.
    """
    return _REFUSED.sub("_", _LOGIN.sub("//", namespace))[:_LONGEST] or "default"


def accepted_job_namespace(namespace: str) -> str:
    """Give a job's namespace as Marquez stores it: in it, unlike in a dataset's, `;` and `=` become `_` too.

    It compares the one in `parent` with the stored one, and makes a second run of the parent where they differ.

    Args:
        namespace: of a job; an empty one becomes `default`.
    """
    return accepted_namespace(namespace).replace(";", "_").replace("=", "_")


def accepted_column(name: str) -> str:
    """Give a column's name in the 255 characters that Marquez stores (its `dataset_fields.name`).

    A longer one, such as that of an expression without an alias, ends in a hash of the whole. Every column of an
    event passes here, so that schemas and column lineage stay one graph.

    Args:
        name: of a column, or a dotted path below it.
    """
    if len(name) <= _LONGEST_COLUMN:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name[: _LONGEST_COLUMN - 7]}_{digest}"


def data_source_uri(namespace: str) -> str:
    """Give a valid URI for the data source that a namespace stands for (DatasourceDatasetFacet.uri).

    Args:
        namespace: as `accepted_namespace` gives it. One without a colon is taken as a scheme (`file` gives
            `file:///`); one that is no URI in any way stands below `urn:openlineage:`.
    """
    if _AUTHORITY.fullmatch(namespace) or _PATH.fullmatch(namespace):
        return namespace
    if _SCHEME.fullmatch(namespace):
        return f"{namespace}:///"
    return f"urn:openlineage:{namespace}"


def location_uri(location: str) -> str:
    """Give a valid URI for a script's location (SourceCodeLocationJobFacet.url).

    Args:
        location: a URI, kept with its illegal characters quoted; or a path, which becomes a `file:` URI.
    """
    quoted = urllib.parse.quote(location, safe="/:?=&;@+,!$()*~%", errors="replace")
    uri = _BARE_PERCENT.sub("%25", quoted)
    if _AUTHORITY.fullmatch(uri) or _PATH.fullmatch(uri):
        return uri
    path = urllib.parse.quote(location, errors="replace")
    return f"file://{path}" if location.startswith("/") else f"file:{path}"
