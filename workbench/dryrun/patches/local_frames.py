"""
Replace what pandas and Arrow do with files.

Readers return a stand-in for a file that is not here, and so do file systems of other machines. Arrow itself opens,
writes and removes files, which nothing in Python sees, so its writers only report what they would do.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.patches.late_imports import when_imported
from openlineage_pyspark.workbench.dryrun.sandbox.effects import without_moment
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_PANDAS = "pandas"
# The modules of Arrow -> the functions that write -> the position and the name of the argument with the target.
_WRITERS: Mapping[str, Mapping[str, tuple[int, str]]] = {
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
_WITH_MODE = frozenset({"OSFile", "memory_map"})
# The modules of Arrow -> the functions that read a file.
_READERS: Mapping[str, tuple[str, ...]] = {
    "pyarrow.csv": ("open_csv", "read_csv"),
    "pyarrow.dataset": ("dataset", "parquet_dataset"),
    "pyarrow.feather": ("read_feather", "read_table"),
    "pyarrow.json": ("read_json",),
    "pyarrow.orc": ("ORCFile", "read_table"),
    "pyarrow.parquet": (
        *("ParquetDataset", "ParquetFile", "read_metadata", "read_pandas", "read_schema", "read_table"),
    ),
}
_FILES = "pyarrow.fs"
_CHANGES_OF_FILES = (
    *("copy_file", "create_dir", "delete_dir", "delete_dir_contents", "delete_file"),
    *("move", "open_append_stream", "open_output_stream"),
)
_OTHER_MACHINES = ("AzureFileSystem", "GcsFileSystem", "HadoopFileSystem", "S3FileSystem")


def install_local_frames(stage: Stage) -> None:
    """
    Replace what pandas and Arrow do with files, as soon as a script imports them.

    Args:
        stage: records each file that is not here, and each change of a file.
    """
    when_imported(_PANDAS, lambda: _patch_pandas(stage))
    for module in {**_READERS, **_WRITERS}:
        when_imported(module, functools.partial(_patch_arrow, module, stage))
    when_imported(_FILES, lambda: _patch_files(stage))


def _patch_pandas(stage: Stage) -> None:
    pandas = sys.modules[_PANDAS]
    # What is written goes nowhere, so its folder need not be here.
    sys.modules["pandas.io.common"].check_parent_directory = lambda _path: None  # type: ignore[attr-defined]
    for name in [each for each in vars(pandas) if each.startswith("read_")]:
        setattr(pandas, name, _reader(f"{_PANDAS}.{name}", getattr(pandas, name), stage))


def _patch_arrow(module: str, stage: Stage) -> None:
    loaded = sys.modules[module]
    for name in _READERS.get(module, ()):
        if hasattr(loaded, name):
            setattr(loaded, name, _reader(f"{module}.{name}", getattr(loaded, name), stage))
    for name, target in _WRITERS.get(module, {}).items():
        if hasattr(loaded, name):
            setattr(loaded, name, _writer(f"{module}.{name}", getattr(loaded, name), target, stage))


def _reader(name: str, read: Callable[..., Any], stage: Stage) -> Callable[..., Any]:
    def reading(*given: Any, **named: Any) -> Any:
        source = next(iter((*given, *named.values())), "")
        shown = os.fsdecode(source) if isinstance(source, str | bytes | os.PathLike) else str(source)
        is_elsewhere = "://" in shown or any(isinstance(each, StandIn) for each in (*given, *named.values()))
        if not stage.is_users(sys._getframe(1).f_code.co_filename):
            # A reader of pandas calls one of Arrow, and needs the error that this one raises.
            return read(*given, **named)
        if not is_elsewhere:
            with contextlib.suppress(FileNotFoundError):
                return read(*given, **named)
        message = f"{name}({shown!r}) reads what is not here: what is made from it is unknown"
        stage.problem("STAND_IN", message)
        return StandIn(f"{name}()")

    return reading


def _writer(name: str, write: Callable[..., Any], target: tuple[int, str], stage: Stage) -> Callable[..., Any]:
    at, keyword = target
    inside = os.path.realpath(stage.request.scratch) + os.sep

    def writing(*given: Any, **named: Any) -> Any:
        path = given[at] if at < len(given) else named.get(keyword)
        name_of_file = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        mode = named.get("mode", given[1] if len(given) > 1 else "r") if name.rpartition(".")[2] in _WITH_MODE else "w"
        # Python or this function has opened, and reported, a target that is an open file. pandas opens a file itself,
        # and then passes its name in the scratch folder.
        if not name_of_file or mode in ("r", "rb") or os.path.realpath(name_of_file).startswith(inside):
            return write(*given, **named)
        shown = without_moment(name_of_file)
        stage.problem("NOT_DONE", f"{name}({shown!r}) writes a file, which a dry run does not do")
        return StandIn(f"{name}()")

    return writing


def _patch_files(stage: Stage) -> None:
    """Make Arrow's file systems change nothing: that of this machine reports what it would do, others are stand-ins."""
    module: Any = sys.modules[_FILES]
    real = module.LocalFileSystem
    changes = {name: _file_change(f"LocalFileSystem.{name}", getattr(real, name), stage) for name in _CHANGES_OF_FILES}
    module.LocalFileSystem = type(real.__name__, (real,), changes)
    module.copy_files = _file_change("copy_files", module.copy_files, stage, with_owner=False)
    for name in _OTHER_MACHINES:
        setattr(module, name, _file_system(f"{_FILES}.{name}", stage))


def _file_change(name: str, real: Callable[..., Any], stage: Stage, *, with_owner: bool = True) -> Callable[..., Any]:
    """Return a function that reports what another one would change, unless it changes only the scratch folder."""
    inside = os.path.realpath(stage.request.scratch) + os.sep

    def changing(*given: Any, **named: Any) -> Any:
        values = (*given[int(with_owner) :], *named.values())
        paths = [os.fsdecode(each) for each in values if isinstance(each, str | bytes | os.PathLike)]
        if paths and all(f"{os.path.realpath(each)}{os.sep}".startswith(inside) for each in paths):
            return real(*given, **named)
        shown = without_moment(", ".join(paths))
        stage.problem("NOT_DONE", f"{_FILES}.{name}({shown[:200]}) changes files, which a dry run does not do")
        return StandIn(f"{_FILES}.{name}()")

    return changing


def _file_system(name: str, stage: Stage) -> type[StandIn]:
    """Return the class of stand-ins for a file system of another machine."""

    def begin(system: StandIn, *_: Any, **__: Any) -> None:
        StandIn.__init__(system, f"{name}()")
        stage.problem("STAND_IN", f"{name} contacts other systems: what it returns is unknown")

    return type(name.rpartition(".")[2], (StandIn,), {"__init__": begin})
