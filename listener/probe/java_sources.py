"""
The probe's Java sources as the one compilation unit that Janino compiles.

Janino's `SimpleCompiler` takes one text, in which classes may use each other. So the sources beside this module are
joined: the package and the imports of all of them first, then their classes.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable

_PACKAGE = re.compile(r"^package [\w.]+;\n", re.MULTILINE)
_IMPORT = re.compile(r"^import [\w.]+;\n", re.MULTILINE)


def sources() -> dict[str, str]:
    """Return the text of each source by the name of its file, in the order of the names."""
    folder = importlib.resources.files("openlineage_pyspark.listener.probe")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".java")), key=lambda file: file.name)
    return {file.name: file.read_text("utf-8") for file in files}


def compilation_unit() -> str:
    """Return all sources as one."""
    return joined(sources().values())


def joined(texts: Iterable[str]) -> str:
    """
    Return sources of one package as one source.

    Args:
        texts: each with its package on a line of its own, below that its imports, none of which is of a whole package.

    Raises:
        ValueError: two sources mean different classes by one name, or they are of several packages or of none.
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
