"""
Inspect an interpreter for the packages that lineage needs.

The interpreter of this command calls the functions; any other one runs this file as a program. So the file imports only
the standard library, and also works on old versions of Python.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_ACTIVATION = "openlineage_pyspark.listener.start.hook"


def places_of(package: str) -> list[Path]:
    """Return each folder (also in a zip) from which a package could be imported, the one that is used first."""
    found = []
    for entry in sys.path:
        spec = PathFinder.find_spec(package, [entry or "."])
        if spec is not None and spec.origin:
            found.append(Path(spec.origin).parent.resolve())
    return list(dict.fromkeys(found))


def hook_is_active(pyspark: Path) -> bool:
    """Return whether an import of pyspark's context module would go through the hook, without importing it."""
    for name in ("core.context", "context"):
        folder = pyspark.joinpath(*name.split(".")[:-1])
        for finder in sys.meta_path:
            spec = finder.find_spec("pyspark." + name, [str(folder)], None)
            if spec is not None:
                return getattr(getattr(spec.loader, "exec_module", None), "__module__", "") == _ACTIVATION
    return False


def inspect() -> dict[str, object]:
    """Return the set-up of this interpreter: its version, this package, PySpark, and whether the hook is active."""
    # As a driver, it would not have the working directory in its path.
    sys.path[:] = [entry for entry in sys.path if entry]
    package, pyspark = places_of("openlineage_pyspark"), places_of("pyspark")
    return {
        "python": platform.python_version(),
        "package": str(package[0]) if package else None,
        "pyspark": str(pyspark[0]) if pyspark else None,
        "hook": hook_is_active(pyspark[0]) if pyspark else None,
        "removed": sys.version_info >= (3, 12) and importlib.util.find_spec("distutils") is None,
    }


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(inspect()))
