"""
The probe's Java sources, joined into the single compilation unit that Janino compiles.

Janino's `SimpleCompiler` takes a single text, in which classes may use each other. So the sources beside this module
are joined: first the package and the imports of all of them, then their classes.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable

_PACKAGE = re.compile(r"^package [\w.]+;\n", re.MULTILINE)
_IMPORT = re.compile(r"^import [\w.]+;\n", re.MULTILINE)


def sources() -> dict[str, str]:
    """Return the text of each source by file name, sorted by name."""
    folder = importlib.resources.files("openlineage_pyspark.listener.probe")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".java")), key=lambda file: file.name)
    return {file.name: file.read_text("utf-8") for file in files}


def compilation_unit() -> str:
    """Return all sources joined into one."""
    return joined_sources(sources().values())


def joined_sources(texts: Iterable[str]) -> str:
    """
    Return sources of one package joined into one source.

    Args:
        texts: the sources; each has its package on one line and its imports below, without wildcard imports.

    Raises:
        ValueError: two sources import different classes under one name, or there is not exactly one package.
    """
    packages: set[str] = set()
    imports: dict[str, str] = {}
    bodies = []
    for text in texts:
        packages.update(_PACKAGE.findall(text))
        for line in _IMPORT.findall(text):
            name = line.rstrip(";\n").rpartition(".")[2]
            if imports.setdefault(name, line) != line:
                raise ValueError(f"two classes are imported as {name}: {imports[name]}{line}")
        bodies.append(_IMPORT.sub("", _PACKAGE.sub("", text)))
    if len(packages) != 1:
        raise ValueError(f"the sources are of {len(packages)} packages")
    return "".join([*packages, *sorted(imports.values()), *bodies])
