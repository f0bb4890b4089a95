"""
Replace what pandas and Arrow do with files.

For the readers of pandas, a file that is not here is a stand-in. The writers of Arrow open files by themselves, which
nothing in Python sees, so they only say what they would write.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.effects import without_moment
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

PANDAS = "pandas"
"""The module that `install_local_frames` patches, after its import."""
ARROW_WRITERS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "pyarrow": {
        "OSFile": (0, "path"),
        "create_memory_map": (0, "path"),
        "memory_map": (0, "path"),
        "output_stream": (0, "source"),
        "RecordBatchFileWriter": (0, "sink"),
        "RecordBatchStreamWriter": (0, "sink"),
    },
    "pyarrow.csv": {"write_csv": (1, "output_file"), "CSVWriter": (0, "sink")},
    "pyarrow.dataset": {"write_dataset": (1, "base_dir")},
    "pyarrow.feather": {"write_feather": (1, "dest")},
    "pyarrow.ipc": {
        "new_file": (0, "sink"),
        "new_stream": (0, "sink"),
        "RecordBatchFileWriter": (0, "sink"),
        "RecordBatchStreamWriter": (0, "sink"),
    },
    "pyarrow.orc": {"write_table": (1, "where"), "ORCWriter": (0, "where")},
    "pyarrow.parquet": {
        "write_table": (1, "where"),
        "write_to_dataset": (1, "root_path"),
        "write_metadata": (1, "where"),
        "ParquetWriter": (0, "where"),
    },
}
"""The modules that `install_arrow_writers` patches -> what writes in them -> the place and the name of its target."""
_WITH_MODE = frozenset({"OSFile", "memory_map"})


def install_local_frames(stage: Stage) -> None:
    """
    Make the readers of pandas return stand-ins for what is not on this machine.

    Args:
        stage: records each such file.
    """
    pandas = sys.modules[PANDAS]
    # What is written goes nowhere, so its folder need not be here.
    sys.modules["pandas.io.common"].check_parent_directory = lambda _path: None  # type: ignore[attr-defined]
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


def install_arrow_writers(module: str, stage: Stage) -> None:
    """
    Make what writes files in a module of Arrow only say so.

    Args:
        module: the name of the module.
        stage: records each such file.
    """
    loaded = sys.modules[module]
    for name, target in ARROW_WRITERS[module].items():
        if hasattr(loaded, name):
            setattr(loaded, name, _writer(f"{module}.{name}", getattr(loaded, name), target, stage))


def _writer(name: str, write: Callable[..., Any], target: tuple[int, str], stage: Stage) -> Callable[..., Any]:
    at, keyword = target
    inside = os.path.realpath(stage.request.scratch) + os.sep

    def writing(*given: Any, **named: Any) -> Any:
        path = given[at] if at < len(given) else named.get(keyword)
        name_of_file = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        mode = named.get("mode", given[1] if len(given) > 1 else "r") if name.rpartition(".")[2] in _WITH_MODE else "w"
        # An open file is one of Python's, or of this function; and pandas opens files before it gives their names.
        if not name_of_file or mode in ("r", "rb") or os.path.realpath(name_of_file).startswith(inside):
            return write(*given, **named)
        shown = without_moment(name_of_file)
        stage.problem("NOT_DONE", f"{name}({shown!r}) writes a file, which a dry run does not do")
        return StandIn(f"{name}()")

    return writing
