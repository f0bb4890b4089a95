"""
The columns of tables and of other places in a JSON file: names with their columns in DDL.

    {"shop.orders": "id INT, day DATE PARTITIONED BY (day)", "s3a://lake/raw/events/": "user STRING, at TIMESTAMP"}
"""

from __future__ import annotations

import json
import os
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TextError
from openlineage_pyspark.facets.datasets.naming import is_absolute, location
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.workbench.dryrun.script.partitions import with_partitions_last
from openlineage_pyspark.workbench.dryrun.script.places import key_of_dataset
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, in_backticks
from openlineage_pyspark.workbench.predict.tables.spark_types import is_spark_type, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from openlineage_pyspark.workbench.dryrun.script.request import Columns

_OPENING, _CLOSING = "(<[", ")>]"
_PARTITIONED = "PARTITIONED"
_AFTER_TYPE = frozenset({"COMMENT", "NOT", "DEFAULT", "GENERATED", _PARTITIONED})


@attrs.define
class KnownColumns:
    """
    The known columns of tables and of other places.

    Args:
        tables: the tables.
        places: the columns of datasets that are not tables, by `key_of_dataset`.
    """

    tables: list[DeclaredTable] = attrs.field(factory=list)
    places: dict[str, Columns] = attrs.field(factory=dict)
    _names: dict[str, Columns] = attrs.field(factory=dict, init=False)

    def read(self, file: Path, folder: str) -> None:
        """
        Add the columns in a JSON file.

        Args:
            file: the file.
            folder: the folder to which its paths are relative.

        Raises:
            TextError: it can't be read, or does not have this form.
        """
        try:
            document = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_without_repetition)
        except (OSError, RecursionError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else problem
            raise TextError(f"{file} can't be read: {reason}", path=str(file)) from problem
        if not isinstance(document, dict):
            raise TextError(
                f'{file} must be a JSON object of names and columns, as in {{"orders": "id INT"}}', path=str(file)
            )
        for name, ddl in document.items():
            columns = columns_of_ddl(ddl) if isinstance(ddl, str) else ()
            if not columns:
                raise TextError(
                    f'{file}: {name} has no valid columns: write them as in "id INT, amount DOUBLE"', path=str(file)
                )
            for column, type_ in columns:
                if not is_spark_type(type_):
                    meant = spark_type(type_)
                    advice = f"write {meant}" if meant else "write it as Spark's SQL does, such as ARRAY<DECIMAL(10,2)>"
                    raise TextError(
                        f"{file}: Spark does not know the type {type_} of {name}.{column}: {advice}", path=str(file)
                    )
            partitions = partitions_of_ddl(ddl)
            if not {each.lower() for each in partitions} <= {each.lower() for each, _ in columns}:
                raise TextError(
                    f"{file}: the partitions of {name} are none of its columns: write them as in "
                    '"id INT, day DATE PARTITIONED BY (day)"',
                    path=str(file),
                )
            self._add(name, with_partitions_last(columns, partitions), partitions, folder)

    def _add(self, name: str, columns: Columns, partitions: tuple[str, ...], folder: str) -> None:
        """Add columns under everything that a name may mean: a table, a path, a topic, or a name in a store."""
        self._names[name] = columns
        path = name if is_absolute(name) else os.path.join(folder, name)  # noqa: PTH118 (texts)
        self.places[key_of_dataset(location(path))] = columns
        self.places[name.rstrip("/")] = columns
        parts = dotted(name)
        if "/" not in name and parts:
            self.tables.append(DeclaredTable(parts, columns, partitions))

    def to_text(self) -> str:
        """Return the content of a JSON file with all known columns, sorted by name."""
        found = {}
        for name, columns in self._names.items():
            # A path on this machine is already absolute.
            found[name.removeprefix("file") if name.startswith("file/") else name] = _ddl(columns)
        for table in self.tables:
            parts = table.parts[1:] if table.parts[0] == SPARK_CATALOG else table.parts
            found[".".join(each if each.isidentifier() else in_backticks(each) for each in parts)] = _partitioned(table)
        return f"{json.dumps(dict(sorted(found.items())), indent=2, ensure_ascii=False)}\n"

    def add_datasets(self, datasets: Iterable[tuple[str, str, Columns]]) -> None:
        """Add the columns in a store, from namespaces and names of datasets with their columns."""
        for namespace, name, columns in datasets:
            key = key_of_dataset(Identifier(namespace, name))
            self.places[key] = self._names[key] = columns


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """
    Return a JSON object.

    Raises:
        ValueError: a name is in it twice, so that one of its values would be lost.
    """
    name, count = max(Counter(name for name, _ in pairs).items(), key=itemgetter(1), default=("", 0))
    if count > 1:
        raise ValueError(f"{name} is in it {count} times")
    return dict(pairs)


def _partitioned(table: DeclaredTable) -> str:
    """Return the columns of a table in DDL, with its partitions."""
    if not table.partitions:
        return table.ddl
    return f"{table.ddl} {_PARTITIONED} BY ({', '.join(map(in_backticks, table.partitions))})"


def _ddl(columns: Columns) -> str:
    return ", ".join(f"{in_backticks(name)} {type_}" for name, type_ in columns)


def columns_of_ddl(ddl: str) -> Columns:
    """Return the columns that DDL lists, each with its type; none if it is not a list of columns."""
    found = tuple(_column(part) for part in _parts(ddl))
    return found if all(name and type_ for name, type_ in found) else ()


def partitions_of_ddl(ddl: str) -> tuple[str, ...]:
    """Return the columns that DDL names behind `PARTITIONED BY`; none if it names none."""
    every = list(_parts(ddl))
    given = [each for each in every[-1] if each[0] is not TokenKind.SPACE] if every else []
    words = [text.upper() for _, text in given]
    if _PARTITIONED not in words:
        return ()
    behind = given[words.index(_PARTITIONED) + 1 :]
    return tuple(_name_of(*each) for each in behind[1:] if each[1] not in ("(", ")", ","))


def _parts(ddl: str) -> Iterator[list[tuple[TokenKind, str]]]:
    """Yield the tokens of each column."""
    part: list[tuple[TokenKind, str]] = []
    depth = 0
    for token in tokens(ddl):
        if token.kind is TokenKind.COMMENT:
            continue
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append((token.kind, token.text))
    if any(kind is not TokenKind.SPACE for kind, _ in part):
        yield part


def _column(part: list[tuple[TokenKind, str]]) -> tuple[str, str]:
    """Return the name and the type of a column from its tokens."""
    given = [each for each in part if each[0] is not TokenKind.SPACE]
    if not given:
        return "", ""
    kind, text = given[0]
    name = _name_of(kind, text)
    words: list[str] = []
    depth = 0
    for _, word in given[1:]:
        if depth == 0 and word.upper() in _AFTER_TYPE:
            break
        depth += (word in _OPENING) - (word in _CLOSING)
        words.append(word)
    type_ = " ".join(words[1:] if words[:1] == [":"] else words)
    return name, type_


def _name_of(kind: TokenKind, text: str) -> str:
    return text[1:-1].replace("``", "`") if kind is TokenKind.NAME else text
