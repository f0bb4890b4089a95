"""Dotted names in Spark SQL, of tables in catalogs and of fields in structs. A part in backquotes may be any text."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

_QUOTED = re.compile(r"[.`]")


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name, including empty ones; a part in backquotes may contain dots."""
    parts, quoted = [""], False
    for place, character in enumerate(name):
        if character == "`":
            # Within backquotes, a backquote is doubled.
            if not quoted and place and name[place - 1] == "`":
                parts[-1] += character
            quoted = not quoted
        elif character == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(parts)


def field_name(column: str, path: Sequence[str]) -> str:
    """
    Return the name of a field of a struct, such as `address.city`.

    A part that contains a dot or a backquote is in backquotes. The name of a column alone never is: it is always the
    name in the schema, whatever it contains.

    Args:
        column: the name of the column.
        path: the names of the fields, outermost first; none for the column itself.
    """
    if not path:
        return column
    return ".".join(f"`{part.replace('`', '``')}`" if _QUOTED.search(part) else part for part in (column, *path))


@functools.lru_cache(maxsize=8192)
def quoted_name(name: str) -> str:
    """Return a name as SQL writes it: in backticks if it is not a plain identifier."""
    is_plain = name.isascii() and name.replace("_", "a").isalnum() and not name.isdigit()
    return name if is_plain or not name else "`" + name.replace("`", "``") + "`"
