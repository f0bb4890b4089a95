"""The exception of the lineage of files."""

from __future__ import annotations


class FilesError(Exception):
    """The lineage of files can't be told: no Spark, a file that can't be read, or a revision that git does not know."""
