"""The option `--unfold` of the commands that draw lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.page.unfolding import UNFOLDED_FORMATS, why_not_unfolded

if TYPE_CHECKING:
    import argparse

_HELP = f"show CTEs, views and subqueries, as far as they are known: with --format {', '.join(UNFOLDED_FORMATS)}"


def add_unfold(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows CTEs, views and subqueries."""
    parser.add_argument("--unfold", action="store_true", help=_HELP)


def unfold_refusal(options: argparse.Namespace) -> str:
    """Return why the option that shows CTEs, views and subqueries has no effect; empty if it has one or is absent."""
    reason = why_not_unfolded(options.format) if options.unfold else ""
    return f"--unfold {reason}" if reason else ""
