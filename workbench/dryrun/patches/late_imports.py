"""Patches of modules that most scripts do not import: they are applied after the first import."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def when_imported(name: str, patch: Callable[[], None]) -> None:
    """Call a function as soon as a module is imported, or now if it already is."""
    if name in sys.modules:
        patch()
    else:
        sys.meta_path.insert(0, _AfterImport(name, patch))


class _AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module once, and calls a function when it is loaded."""

    def __init__(self, name: str, patch: Callable[[], None]) -> None:
        self._name = name
        self._patch = patch
        self._real: Any = None

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        """Return the spec that loads the module."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None:
            self._real, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> Any:
        """Return the module that its own loader creates."""
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, then call the function."""
        self._real.exec_module(module)
        self._patch()
