"""Which dataset the paths of files, directories and streams belong to. Nothing is listed: the paths' words tell."""

from __future__ import annotations

import re

from openlineage_pyspark.facets import naming

_WILD = re.compile(r"[*?{\[]")


def roots(paths: list[str], given: str | None) -> list[str]:
    """
    The datasets' paths of a read.

    Args:
        paths: that are read, wildcards resolved.
        given: the one path that the user wrote, where it was one.

    Returns:
        of several files of a directory the directory; a single file, and what may be a directory, as it is.
    """
    if len(paths) < 2:
        return paths
    # Spark names its files part-*; another name with a dot is one of many where a wildcard stood for names.
    wild = given is not None and _WILD.search(_name(given)) is not None
    return [
        naming.parent(path) if _name(path).startswith("part-") or (wild and "." in _name(path)) else path
        for path in paths
    ]


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def before_glob(path: str) -> str:
    """Of a path with wildcards the directory that all it stands for lies in."""
    wild = _WILD.search(path)
    return path if wild is None else path[: wild.start()].rpartition("/")[0]


def is_absolute(path: str) -> bool:
    """Whether a text can be nothing but a path: it begins at a root, or has a file system's scheme."""
    return re.match(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/", path) is not None


def stream_path(text: str | None) -> str | None:
    """
    The path of a file source or sink of a stream.

    Args:
        text: what it says of itself, the one place where it shows the path.
    """
    found = re.fullmatch(r"File(?:Stream)?(?:Source|Sink)\[(.*)\]", text or "", re.DOTALL)
    return found.group(1) if found else None
