"""The changes that a statement makes for later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, Parts


@attrs.frozen
class Consequence:
    """
    A change that a statement makes for later ones.

    Args:
        kind: `table` if a table is declared, `forgotten` if one is removed, `unsure` if the types of one are uncertain,
            `catalog` if a name is treated as that of a catalog; `object` if a view, a function or a variable is created
            or dropped, and `setting` if a setting of the session is changed: only Spark holds these two.
        name: the last part of the changed name, in lower case.
        parts: the full name of a table; the name of a catalog as it is written.
        table: the declared table.
        from_text: as for `Knowledge.declare`.
    """

    kind: str
    name: str
    parts: Parts = ()
    table: DeclaredTable | None = None
    from_text: str = ""

    @property
    def is_in_spark(self) -> bool:
        """Return whether only the statement itself can repeat the change."""
        return self.kind in ("object", "setting")


class Consequences:
    """Collects the changes of statements."""

    def __init__(self) -> None:
        self._found: list[Consequence] = []

    def add(self, kind: str, name: str = "", parts: Parts = ()) -> None:
        """Add a change; the arguments are the same as for a consequence."""
        self._found.append(Consequence(kind, name.lower(), parts))

    def add_table(self, table: DeclaredTable, from_text: str) -> None:
        """Add the declaration of a table."""
        self._found.append(Consequence("table", table.key[-1], table.parts, table, from_text))

    def take(self) -> tuple[Consequence, ...]:
        """Return the changes since the last call."""
        found, self._found = tuple(self._found), []
        return found
