"""The name of a declarative pipeline, which `spark-pipelines` runs under the name of its own program."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

_PROGRAM = ("pyspark", "pipelines", "cli.py")
_SPECS = ("spark-pipeline.yml", "spark-pipeline.yaml")
_UNNAMED = frozenset({"", "pyspark-shell", "pysparkshell", "cli.py"})


def named_by_pipeline(application: str) -> str:
    """
    Return the name of the application, or of the pipeline that this process runs if the application has no name.

    Args:
        application: the name that Spark has for the application.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if application.lower() not in _UNNAMED or not isinstance(main, str) or Path(main).parts[-3:] != _PROGRAM:
        return application
    return pipeline_name(sys.argv[1:], Path.cwd()) or application


def pipeline_name(arguments: Sequence[str], folder: Path) -> str | None:
    """
    Return the name in the specification of a pipeline; None if it can't be read.

    Args:
        arguments: the arguments of the program.
        folder: where the program runs; without `--spec`, the specification is there, or in a folder around it.
    """
    given = [text.removeprefix("--spec=") for text in arguments if text.startswith("--spec=")]
    given += [text for option, text in itertools.pairwise(arguments) if option == "--spec"]
    if given:
        path: Path | None = folder / given[0]
    else:
        around = (each / name for each in (folder, *folder.parents) for name in _SPECS)
        path = next((each for each in around if each.is_file()), None)
    return None if path is None else _name_in(path)


def _name_in(path: Path) -> str | None:
    try:
        spec = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
    name = spec.get("name") if isinstance(spec, dict) else None
    return name.strip() or None if isinstance(name, str) else None
