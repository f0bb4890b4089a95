"""
The option `--store` of the commands that query a store, and their errors.

The modules of stores are imported only by the functions that need one: `lineage` of files needs none.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.conf_option import add_conf
from openlineage_pyspark.command.screen import complain, printable
from openlineage_pyspark.errors import AmbiguousNameError, NameNotFoundError, StoreError

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store_api import Store
    from pyspark.sql import SparkSession

VARIABLE = "OPENLINEAGE_PYSPARK_STORE"
"""The environment variable that replaces `--store`."""

STORE = "the store: its file, or its CATALOG.SCHEMA in Spark"
"""What `--store` names."""

WRONG = 2
"""The exit code of a command that can't be carried out."""


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the options for the store: its file, or its schema in a catalog of Spark's."""
    usual = os.environ.get(VARIABLE)
    parser.add_argument("--store", metavar="STORE", default=usual, help=f"{STORE}; by default ${VARIABLE}")
    add_spark(parser)


def add_spark(parser: argparse.ArgumentParser) -> None:
    """Add the options for a store in Spark's tables."""
    parser.add_argument("--spark", action="store_true", help="the store is in Spark's tables, not in a file")
    add_conf(parser)
    parser.add_argument("--packages", default="", metavar="PACKAGES", help="Maven packages, as spark-submit takes them")


def asking(
    answer: Callable[[Store, argparse.Namespace], int],
    reads_rows: Callable[[argparse.Namespace], bool] = lambda _: False,
) -> Callable[[argparse.Namespace], int]:
    """
    Make a command from a function that queries a store.

    Args:
        answer: prints the answer, and returns the exit code.
        reads_rows: returns whether it needs a Spark session for the rows of tables, even if the store is a file.

    Returns:
        The command: it opens the store that the options name. If a question can't be answered, it prints the reason
        and exits with 2.
    """

    @wraps(answer)
    def run(options: argparse.Namespace) -> int:
        from openlineage_pyspark.workbench.store.spark.session import configured

        try:
            with configured(_conf_of(options)), opened(options, reads_rows=reads_rows(options)) as store:
                return answer(store, options)
        except AmbiguousNameError as problem:
            # The candidates are below, each on a line.
            first, *candidates = str(problem).split("\n")
            complain(first)
            sys.stderr.writelines(f"{printable(line)}\n" for line in candidates)
        except NameNotFoundError as problem:
            complain(str(problem))
            if problem.listing:
                complain(f"`openlineage-pyspark {problem.listing}` lists what the store {options.store} holds")
        except StoreError as problem:
            complain(str(problem))
        return WRONG

    return run


def whole_number(least: int) -> Callable[[str], int]:
    """Return a parser for an option whose value is a whole number of at least a minimum."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def opened(options: argparse.Namespace, *, reads_rows: bool = False) -> Store:
    """
    Open the store that the options name, to be read.

    Args:
        options: those of `add_store`.
        reads_rows: whether a store in a file may need the Spark session that the options describe, too.

    Raises:
        StoreError: they name none, or it can't be read.
    """
    from openlineage_pyspark.workbench.store_api import Store

    path = path_of(options)
    if is_in_spark(options):
        return Store.open_spark(session_for(path, options), path)
    if not reads_rows:
        refuse_spark_options(options, path)
    return Store.open(path)


def path_of(options: argparse.Namespace) -> str:
    """
    Return the store that the options name: its file, or its CATALOG.SCHEMA in Spark.

    Raises:
        StoreError: neither the option nor the variable names one.
    """
    if not options.store:
        raise StoreError(f"name the store: --store PATH, or the environment variable {VARIABLE}")
    return str(options.store)


def refuse_spark_options(options: argparse.Namespace, path: str) -> None:
    """
    Refuse Spark's options for a store that is a file.

    Args:
        options: those of `add_spark`.
        path: the store.

    Raises:
        StoreError: one of them is given.
    """
    given = [name for name, value in (("--conf", options.conf), ("--packages", options.packages)) if value]
    if given:
        raise StoreError(f"{' and '.join(given)} can't be used: {path} is a file, which needs no Spark")


def schema_of(options: argparse.Namespace, what: str) -> str:
    """
    Return the store's schema, for an operation that only works on a store in Spark's tables.

    Args:
        options: those of `add_spark`, and `store`.
        what: the operation's name.

    Raises:
        StoreError: the options name no store, or one that is a file.
    """
    from openlineage_pyspark.workbench.store.spark.tables import is_schema_name

    name = path_of(options)
    if Path(name).exists() or not (options.spark or is_schema_name(name)):
        raise StoreError(f"`{what}` only works on a store in Spark's tables, not on a file such as {name}")
    return name


def refuse_stores(paths: Iterable[Path]) -> None:
    """
    Refuse a store that is named instead of event files.

    Raises:
        StoreError: one of the paths is a store.
    """
    from openlineage_pyspark.workbench.events.files import database_in

    for path in paths:
        if database := database_in(path):
            raise StoreError(f"{path} is {database}, not an event file: name event files, folders of them, or a spool")


def refuse_spark_stores(paths: Iterable[Path]) -> None:
    """
    Refuse stores in Spark's tables, for a command that only reads files.

    Raises:
        StoreError: one of the paths is not an existing file, and can only be the name of a schema.
    """
    from openlineage_pyspark.workbench.store.spark.tables import is_schema_name

    for path in paths:
        if is_schema_name(str(path)):
            raise StoreError(
                f"{path} is not an existing file, and a store in Spark's tables can't be used here: name a store's "
                "file, or event files"
            )


def file_reason_of(problem: Exception) -> str:
    """Return why files can't be read, as a sentence: the text of an operating system's error begins with a number."""
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename} can't be read: {problem.strerror}"
    return str(problem)


def write_file(path: Path, text: str) -> None:
    """
    Write a text to a file.

    Raises:
        StoreError: it can't be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StoreError(f"{path} can't be written: {problem.strerror or problem}") from None


def is_in_spark(options: argparse.Namespace) -> bool:
    """Return whether the options name a store in Spark's tables."""
    from openlineage_pyspark.workbench.store.spark.tables import is_schema_name

    return bool(options.spark or (options.store and is_schema_name(options.store)))


def session_for(name: str, options: argparse.Namespace) -> SparkSession:
    """
    Return the Spark session for the store of a schema.

    Args:
        name: the schema.
        options: those of `add_spark`.

    Raises:
        StoreError: PySpark is not installed, or no session can be started.
    """
    from openlineage_pyspark.workbench.store.spark.session import active_or_new_session
    from openlineage_pyspark.workbench.store.spark.tables import is_in_session_catalog

    return active_or_new_session(_conf_of(options), is_session_catalog=is_in_session_catalog(name))


def _conf_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the Spark properties of the options of `add_spark`."""
    conf = dict(options.conf)
    if options.packages:
        conf["spark.jars.packages"] = options.packages
    return conf


def pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    """
    Return texts such as KEY=VALUE as a mapping.

    Args:
        texts: the values of an option.
        option: its name, for the message.
        example: a valid value of it, for the message.

    Raises:
        StoreError: one has no `=`.
    """
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            # The text itself is not shown, because it may contain a secret.
            raise StoreError(f"{option} must have a value, as in {option} {example}")
        found[key.strip()] = value
    return found
