"""
DataFrames of which the columns are not known, because nobody has given the schema of what they read.

They take every method of a DataFrame, and what is made of them is not known either: what is left is which datasets
they read. So a script goes on, and its other statements have their whole lineage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_UNKNOWN = "_openlineage_unknown"
_ITSELF = frozenset({"cache", "persist", "unpersist", "checkpoint", "localCheckpoint"})
_GROUPING = ("groupBy", "groupby", "rollup", "cube", "groupingSets")
_OF_GROUPS = ("agg", "avg", "count", "max", "mean", "min", "sum", "apply", "applyInPandas", "applyInArrow",
              "applyInPandasWithState", "transformWithState", "transformWithStateInPandas")  # fmt: skip


@attrs.frozen
class Unknown:
    """
    What is known of a DataFrame without columns.

    Args:
        plans: encoded plans of known DataFrames that it was made of.
        places: the places that it reads, as `DataPlace.to_text` has them.
        tables: the names of the tables that it reads.
    """

    plans: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @staticmethod
    def of(frame: Any) -> Unknown | None:
        """Return what is known of such a DataFrame; None for any other value."""
        found = vars(frame).get(_UNKNOWN) if hasattr(frame, "__dict__") else None
        return found if isinstance(found, Unknown) else None

    def joined(self, other: Unknown) -> Unknown:
        """Return what is known of something that was made of both."""

        def both(mine: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys((*mine, *others)))

        return Unknown(both(self.plans, other.plans), both(self.places, other.places), both(self.tables, other.tables))


class UnknownRow:
    """A row of columns that are not known: each has a value that says so."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{{{name}}}"

    def __getitem__(self, name: object) -> str:
        return f"{{{name}}}"

    def __iter__(self) -> Iterator[str]:
        yield "{value}"

    def asDict(self, *_: object) -> dict[str, str]:  # noqa: N802 (Spark's name)
        """Return no columns."""
        return {}


def class_of_unknown(
    frame_class: type,
    special: dict[str, Callable[..., Any]],
    column: Callable[[str], Any],
    plan_of: Callable[[Any], str],
) -> Callable[[Any, Unknown], Any]:
    """
    Return what makes such DataFrames.

    Args:
        frame_class: PySpark's class of DataFrames.
        special: the methods that do something, by their names.
        column: makes a column of a name.
        plan_of: gives the encoded plan of a known DataFrame.
    """

    def taken(frame: Any, arguments: Iterable[Any]) -> Any:
        known = Unknown.of(frame) or Unknown()
        for each in arguments:
            other = Unknown.of(each)
            if other is not None:
                known = known.joined(other)
            elif isinstance(each, frame_class):
                known = known.joined(Unknown((plan_of(each),)))
        return made(vars(frame)["_session"], known)

    def absorbing(name: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            return self if name in _ITSELF else taken(self, (*arguments, *named.values()))

        return method

    def grouped(frame: Any, *arguments: Any, **_: Any) -> Any:
        # A group may be cogrouped with another one, of other datasets.
        whole = taken(frame, arguments)
        found = groups_class()
        vars(found).update(vars(whole))
        return found

    members: dict[str, Any] = {
        name: absorbing(name) for name in dir(frame_class) if not name.startswith("_") and name not in special
    }
    members.update(special)
    members.update(dict.fromkeys(_GROUPING, grouped))
    members["__getitem__"] = lambda _, name: column(name if isinstance(name, str) else "*")
    members["__getattr__"] = lambda _, name: _column_or_none(name, column)
    members["__init__"] = lambda *_: None
    members["__repr__"] = lambda _: "DataFrame[?]"
    unknown_class = type("UnknownFrame", (frame_class,), members)
    of_groups = {name: absorbing(name) for name in _OF_GROUPS}
    groups_class: Any = type("UnknownGroups", (), {**of_groups, "pivot": grouped, "cogroup": grouped})

    def made(session: Any, known: Unknown) -> Any:
        frame = unknown_class()
        vars(frame).update({_UNKNOWN: known, "_session": session})
        return frame

    return made


def _column_or_none(name: str, column: Callable[[str], Any]) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return column(name)
