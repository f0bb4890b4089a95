"""Where tables and files are: two names may mean one place, or a part of it."""

from __future__ import annotations

import re

import attrs

_BEFORE = re.compile(r"^[^/]*/+")
# What a definition states of rows beside the columns: where they are, or how a value is made that no statement gives.
_SPEAKING = frozenset(
    """LOCATION OPTIONS EXTERNAL TBLPROPERTIES PATH LIKE CLONE GENERATED IDENTITY DEFAULT CHECK CONSTRAINT CHAR VARCHAR
    CHARACTER MASK""".split()
)
_FOREIGN = frozenset({"OPTIONS", "PATH", "TBLPROPERTIES"})


@attrs.frozen
class Definition:
    """
    What a statement that creates or declares a table contains beside the names and types of its columns.

    Args:
        words: the words of the statement.
    """

    words: tuple[str, ...]

    @property
    def speaks(self) -> bool:
        """Return whether it may decide what the rows are."""
        return not _SPEAKING.isdisjoint(self.words)

    @property
    def location(self) -> str:
        """Return the path of its rows; empty if it names none."""
        at = self.words.index("LOCATION") + 1 if "LOCATION" in self.words else len(self.words)
        return shared_path_of(self.words[at].strip("'\"")) if at < len(self.words) else ""

    @property
    def is_foreign(self) -> bool:
        """Return whether its rows may be anywhere."""
        return not _FOREIGN.isdisjoint(self.words)


def shared_path_of(name: str) -> str:
    """
    Return the path in the name of a dataset, without the file system; empty if the name is no path.

    Args:
        name: a URI, a path, or a format with a path.
    """
    return _BEFORE.sub("", name.replace("`", "")).rstrip("/").lower() if "/" in name else ""


def may_share(one: str, other: str) -> bool:
    """
    Return whether two paths may be one place, or one a part of the other.

    Args:
        one: the one.
        other: the other.
    """
    first, second = sorted((f"/{one}/", f"/{other}/"), key=len)
    return first in second or second.startswith(first)
