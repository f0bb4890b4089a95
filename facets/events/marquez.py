"""Namespaces, column names and URIs in the form that Marquez and other receivers accept."""

from __future__ import annotations

import functools
import hashlib
import re
import urllib.parse

from openlineage_pyspark.facets.urls import LOGIN_OF_URL

_REFUSED = re.compile(r"[^a-zA-Z:;=/0-9_\-.@+]")
_LONGEST = 1024
_LONGEST_COLUMN = 255
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://([^/@]*@)?[^/@:]*(:[0-9]*)?(/.*)?")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!//).+")
_LINE = re.compile(r"#L[0-9]{1,9}\Z")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@functools.lru_cache(maxsize=4096)
def accepted_namespace(namespace: str) -> str:
    r"""
    Return a namespace that Marquez accepts.

    It accepts `[a-zA-Z:;=/0-9_\-.@+]{1,1024}` (NamespaceName); any other character becomes `_`. A login in it is
    removed. Every namespace of an event goes through here, so that column lineage, symlinks and datasets refer to the
    same nodes.

    Args:
        namespace: of a job or dataset; an empty one becomes `default`.
    """
    return _REFUSED.sub("_", LOGIN_OF_URL.sub("//", namespace))[:_LONGEST] or "default"


def accepted_job_namespace(namespace: str) -> str:
    """
    Return a job's namespace as Marquez stores it: there, unlike in a dataset's, `;` and `=` become `_` too.

    Marquez compares the namespace in `parent` with the stored one; if they differ, it creates a second parent run.

    Args:
        namespace: of a job; an empty one becomes `default`.
    """
    return accepted_namespace(namespace).replace(";", "_").replace("=", "_")


def accepted_column(name: str) -> str:
    """
    Return a column's name within the 255 characters that Marquez stores (`dataset_fields.name`).

    A longer name, such as that of an expression without an alias, is cut and ends in a hash of the whole. Every column
    of an event goes through here, so that schemas and column lineage refer to the same nodes.

    Args:
        name: the name of a column, or a dotted path below it.
    """
    if len(name) <= _LONGEST_COLUMN:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name[: _LONGEST_COLUMN - 7]}_{digest}"


def data_source_uri(namespace: str) -> str:
    """
    Return a valid URI for the data source of a namespace (DatasourceDatasetFacet.uri).

    Args:
        namespace: as `accepted_namespace` returns it.

    Returns:
        The namespace if it is a URI; a namespace that is only a scheme as its root (`file` gives `file:///`); any
        other below `urn:openlineage:`.
    """
    if _AUTHORITY.fullmatch(namespace) or _PATH.fullmatch(namespace):
        return namespace
    if _SCHEME.fullmatch(namespace):
        return f"{namespace}:///"
    return f"urn:openlineage:{namespace}"


def location_uri(location: str) -> str:
    """
    Return a valid URI for the location of a script (SourceCodeLocationJobFacet.url).

    Args:
        location: a URI, whose illegal characters are percent-encoded; or a path, which becomes a `file:` URI; perhaps
            with a line at its end (`#L12`).
    """
    line = _LINE.search(location)
    if line is not None:
        return f"{location_uri(location[: line.start()])}{line[0]}"
    quoted = urllib.parse.quote(location, safe="/:?=&;@+,!$()*~%", errors="replace")
    uri = _BARE_PERCENT.sub("%25", quoted)
    if _AUTHORITY.fullmatch(uri) or _PATH.fullmatch(uri):
        return uri
    path = urllib.parse.quote(location, errors="replace")
    return f"file://{path}" if location.startswith("/") else f"file:{path}"
