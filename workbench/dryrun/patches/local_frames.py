"""Readers of pandas: a file that is not here is a stand-in, so that a script continues without it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

PANDAS = "pandas"
"""The module that `install_local_frames` patches, after its import."""


def install_local_frames(stage: Stage) -> None:
    """
    Make the readers of pandas return stand-ins for what is not on this machine.

    Args:
        stage: records each such file.
    """
    pandas = sys.modules[PANDAS]
    for name in [each for each in vars(pandas) if each.startswith("read_")]:
        setattr(pandas, name, _reader(f"{PANDAS}.{name}", getattr(pandas, name), stage))


def _reader(name: str, read: Callable[..., Any], stage: Stage) -> Callable[..., Any]:
    def reading(*given: Any, **named: Any) -> Any:
        source = next(iter((*given, *named.values())), "")
        shown = os.fsdecode(source) if isinstance(source, str | bytes | os.PathLike) else str(source)
        if not isinstance(source, StandIn) and "://" not in shown:
            try:
                return read(*given, **named)
            except FileNotFoundError:
                pass
        message = f"{name}({shown!r}) reads what is not here: what is made of it is unknown"
        stage.problem("STAND_IN", message)
        return StandIn(f"{name}()")

    return reading
