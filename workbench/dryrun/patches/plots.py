"""Plots of pandas, whose backend, such as matplotlib, is often not installed where a script runs without its data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

PLOTS = "pandas.plotting._core"
"""The module of pandas that loads the backend."""


class NoBackend:
    """A backend that draws nothing and returns stand-ins."""

    __name__ = "no_backend"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: StandIn(f"{name}()")


def install_plots(stage: Stage) -> None:
    """
    Make plots of pandas return stand-ins, if their backend is not installed.

    Args:
        stage: records each use.
    """
    core: Any = sys.modules[PLOTS]
    find = core._get_plot_backend

    def backend(name: str | None = None) -> Any:
        try:
            return find(name)
        except ImportError:
            missing = name or "matplotlib"
            stage.problem("STAND_IN", f"the module {missing} is not installed: what it returns is unknown")
            return NoBackend()

    core._get_plot_backend = backend
