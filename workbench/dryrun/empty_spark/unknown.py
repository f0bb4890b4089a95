"""
DataFrames with unknown columns, because the schema of their source is unknown.

They accept every method of a DataFrame, and what is made from them has unknown columns too: only the datasets that they
read are known. So a script continues, and the lineage of its other statements is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks, name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_UNKNOWN = "_openlineage_unknown"
_GLOBAL = "global_temp"
_ITSELF = frozenset({"cache", "persist", "unpersist", "checkpoint", "localCheckpoint"})
_GROUPING = ("groupBy", "groupby", "rollup", "cube", "groupingSets")
_OF_GROUPS = ("agg", "avg", "count", "max", "mean", "min", "sum", "apply", "applyInPandas", "applyInArrow",
              "applyInPandasWithState", "transformWithState", "transformWithStateInPandas")  # fmt: skip


@attrs.frozen
class Unknown:
    """
    The known facts about a DataFrame without columns.

    Args:
        plans: encoded plans of known DataFrames from which it was made.
        places: the places that it reads, as `DataPlace.to_text` writes them.
        tables: the names of the tables that it reads.
    """

    plans: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @staticmethod
    def of(frame: Any) -> Unknown | None:
        """Return the known facts about such a DataFrame; None for any other value."""
        found = vars(frame).get(_UNKNOWN) if hasattr(frame, "__dict__") else None
        return found if isinstance(found, Unknown) else None

    def joined(self, other: Unknown) -> Unknown:
        """Return the known facts about a DataFrame that was made from both."""

        def both(mine: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys((*mine, *others)))

        return Unknown(both(self.plans, other.plans), both(self.places, other.places), both(self.tables, other.tables))


class UnknownNames:
    """The views and tables with unknown columns, by their names in a session."""

    def __init__(self) -> None:
        self._views: dict[str, Unknown] = {}
        self._tables: dict[tuple[str, ...], Unknown] = {}

    def put_view(self, name: str, known: Unknown) -> None:
        """Add a temporary view whose sources are known, but not its columns."""
        self._views[name.lower()] = known

    def drop_view(self, name: str) -> bool:
        """Forget such a view, and return whether there was one."""
        return self._views.pop(name.lower(), None) is not None

    def put_table(self, parts: tuple[str, ...]) -> None:
        """Add a table whose full name is known, but not its columns."""
        self._tables[name_key(parts)] = Unknown(tables=(".".join(map(in_backticks, parts)),))

    def drop_table(self, parts: tuple[str, ...]) -> None:
        """Forget such a table."""
        self._tables.pop(name_key(parts), None)

    def of(self, names: tuple[str, ...], whole: tuple[str, ...]) -> Unknown | None:
        """
        Return the known facts about a view or a table; None if it is not one of these.

        Args:
            names: its name as the script writes it.
            whole: its full name, with its catalog and its database.
        """
        return self.view(names) or self._tables.get(name_key(whole))

    def view(self, names: tuple[str, ...]) -> Unknown | None:
        """Return the known facts about a temporary view by its name as the script writes it; None if it is none."""
        is_view = len(names) == 1 or (len(names) > 1 and names[0].lower() == _GLOBAL)
        return self._views.get(names[-1].lower()) if is_view else None


class UnknownRow:
    """A row of unknown columns: each value is a text that marks it as unknown."""

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


class UnknownRows:
    """
    The RDD of a DataFrame with unknown columns: an RDD made from it reads the same datasets.

    Args:
        frame: the DataFrame.
    """

    def __init__(self, frame: Any) -> None:
        vars(self).update({_UNKNOWN: Unknown.of(frame), "_frame": frame})

    def toDF(self, *_: object, **__: object) -> Any:  # noqa: N802 (Spark's name)
        """Return the DataFrame."""
        return vars(self)["_frame"]

    def count(self) -> Any:
        """Return the assumed number of rows: only the data show it."""
        return vars(self)["_frame"].count()

    def isEmpty(self) -> Any:  # noqa: N802
        """Return whether the RDD is assumed to be empty: only the data show it."""
        return vars(self)["_frame"].isEmpty()

    def collect(self, *_: object, **__: object) -> list[Any]:
        """Return one row of stand-ins."""
        return [UnknownRow()]

    def first(self) -> Any:
        """Return a row of stand-ins."""
        return UnknownRow()

    take = top = takeOrdered = takeSample = collect  # noqa: N815

    def getNumPartitions(self) -> int:  # noqa: N802
        """Return the number of partitions that every RDD has here."""
        return 1

    def saveAsTextFile(self, path: str, *_: object) -> None:  # noqa: N802
        """Record that the RDD would be written."""
        vars(self)["_frame"].write.text(path)

    def foreach(self, *_: object) -> None:
        """Do nothing."""

    foreachPartition = foreach  # noqa: N815

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


class UnknownParts:
    """
    The result of `na` of a DataFrame with unknown columns: each method returns the DataFrame.

    Args:
        frame: the DataFrame.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self._frame


def maker_of_unknown(
    frame_class: type,
    special: dict[str, Callable[..., Any]],
    column: Callable[[str], Any],
    plan_of: Callable[[Any], str],
) -> Callable[[Any, Unknown], Any]:
    """
    Return a function that makes DataFrames with unknown columns, for a session and the known facts about them.

    Args:
        frame_class: PySpark's class of DataFrames.
        special: the methods that have an effect, by their names.
        column: makes a column from a name.
        plan_of: returns the encoded plan of a known DataFrame.
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
        # A group may be cogrouped with another group, which reads other datasets.
        whole = taken(frame, arguments)
        found = groups_class()
        vars(found).update(vars(whole))
        return found

    members: dict[str, Any] = {
        name: absorbing(name) for name in dir(frame_class) if not name.startswith("_") and name not in special
    }
    members.update(special)
    members.update(dict.fromkeys(_GROUPING, grouped))
    members.update(_parts(taken, column))
    members["__getattr__"] = lambda _, name: _column_or_none(name, column)
    members["__repr__"] = lambda _: "DataFrame[?]"
    unknown_class = type("UnknownFrame", (frame_class,), members)
    of_groups = {name: absorbing(name) for name in _OF_GROUPS}
    groups_class: Any = type("UnknownGroups", (), {**of_groups, "pivot": grouped, "cogroup": grouped})

    def made(session: Any, known: Unknown) -> Any:
        # Some versions of PySpark require an object of the JVM in `__new__`.
        frame: Any = object.__new__(unknown_class)
        vars(frame).update({_UNKNOWN: known, "_session": session})
        return frame

    return made


def _column_or_none(name: str, column: Callable[[str], Any]) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return column(name)


def _parts(taken: Callable[[Any, Iterable[Any]], Any], column: Callable[[str], Any]) -> dict[str, Callable[..., Any]]:
    """
    Return the methods of a DataFrame with unknown columns that return a column, or several parts of it.

    Args:
        taken: makes a DataFrame that reads the same.
        column: makes a column from a name.
    """

    def item(frame: Any, which: Any) -> Any:
        if isinstance(which, str | int):
            return column(which if isinstance(which, str) else "*")
        # These are several columns, or a condition on rows.
        return taken(frame, ())

    def split(frame: Any, weights: Iterable[Any], *_: Any, **__: Any) -> Any:
        return [taken(frame, ()) for _ in weights]

    return {"__getitem__": item, "randomSplit": split}
