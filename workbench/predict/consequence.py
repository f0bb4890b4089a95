"""The changes that a statement makes for later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.declared import DeclaredTable, Parts


@attrs.frozen
class Consequence:
    """
    What a statement changes for later ones.

    Args:
        kind: `table` if a table is made known, `forgotten` if one is forgotten, `unsure` if the types of one may be
            others, `catalog` if a name is taken for that of a catalog; `object` if a view, a function or a variable is
            made or dropped, and `setting` if a value of the session is set: these two are in Spark alone.
        name: the last part of the name of what is changed, in lower case.
        parts: the whole name of a table.
        table: the table that is made known.
        from_text: as for `Knowledge.declare`.
    """

    kind: str
    name: str
    parts: Parts = ()
    table: DeclaredTable | None = None
    from_text: str = ""

    @property
    def is_in_spark(self) -> bool:
        """Return whether only the statement itself can make it again."""
        return self.kind in ("object", "setting")


class Consequences:
    """Collects what statements change."""

    def __init__(self) -> None:
        self._found: list[Consequence] = []

    def add(self, kind: str, name: str = "", parts: Parts = ()) -> None:
        """Add a change; the arguments are those of a consequence."""
        self._found.append(Consequence(kind, name.lower(), parts))

    def add_table(self, table: DeclaredTable, from_text: str) -> None:
        """Add that a table is made known."""
        self._found.append(Consequence("table", table.key[-1], table.parts, table, from_text))

    def take(self) -> tuple[Consequence, ...]:
        """Return what was added since this was last asked."""
        found, self._found = tuple(self._found), []
        return found
