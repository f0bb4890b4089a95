"""The cells of Jupyter notebooks, each with its language."""

from __future__ import annotations

import json
from typing import Any

JUPYTER_ENDING = ".ipynb"
"""The ending of the names of Jupyter notebooks."""
SPARK_SQL = "sparksql"
"""The language of a cell of SQL."""
_STATING = ("microsoft", "application/vnd.databricks.v1+notebook")
"""The keys below which Fabric and Synapse, and Databricks, describe a notebook."""


def cells_of_jupyter(text: str) -> list[tuple[str, dict[str, Any]]] | None:
    """
    Return the language of each cell of a notebook, in lower case, and the cell.

    Args:
        text: the JSON of the notebook.

    Returns:
        None if it is not a notebook, or one without Python and SQL.
    """
    try:
        document = json.loads(text)
        language = _language_of(document.get("metadata") or {})
        cells = [cell for cell in document["cells"] if isinstance(cell, dict)]
        languages = [_stated_language(cell.get("metadata") or {}) or language for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not any(each.startswith("py") or each == SPARK_SQL for each in [*languages, language]):
        return None
    return list(zip(languages, cells, strict=True))


def source_of_cell(cell: dict[str, Any]) -> str:
    """Return the source of a cell, which is a text, or a list of its lines."""
    source = cell.get("source")
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _language_of(metadata: dict[str, Any]) -> str:
    """Return the language of a notebook in lower case: kernels write `python`, `Python`, `pyspark` or nothing."""
    kernel, language = metadata.get("kernelspec") or {}, metadata.get("language_info") or {}
    named = kernel.get("language") or ("python" if "py" in str(kernel.get("name")) else language.get("name"))
    return _stated_language(metadata) or str(named or "python").lower()


def _stated_language(metadata: dict[str, Any]) -> str:
    """Return the language that Fabric, Synapse or Databricks states of a notebook or a cell; empty if none does."""
    stated = next((found for key in _STATING if (found := (metadata.get(key) or {}).get("language"))), "")
    return SPARK_SQL if stated == "sql" else str(stated).lower()
