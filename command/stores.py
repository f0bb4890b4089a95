"""What the commands that ask a store have in common: the option `--store`, and how a wrong question ends."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import wraps

from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.store.answers import Store
from openlineage_pyspark.store.errors import StoreError

VARIABLE = "OPENLINEAGE_PYSPARK_STORE"
"""The environment variable that stands in for `--store`."""

_WRONG = 2


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option for the store's file."""
    parser.add_argument(
        "--store", metavar="PATH", default=os.environ.get(VARIABLE), help=f"the store's file; by default ${VARIABLE}"
    )


def asking(answer: Callable[[Store, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """
    Make a command of a function that asks a store.

    Args:
        answer: prints the answer, and returns the exit code.

    Returns:
        The command: it opens the store that the options name. If a question can't be answered, it says why and ends
        with 2.
    """

    @wraps(answer)
    def run(options: argparse.Namespace) -> int:
        try:
            with Store.open(path_of(options)) as store:
                return answer(store, options)
        except StoreError as problem:
            complain(str(problem))
            return _WRONG

    return run


def path_of(options: argparse.Namespace) -> str:
    """
    Return the store's file.

    Raises:
        StoreError: neither the option nor the variable names one.
    """
    if not options.store:
        raise StoreError(f"name the store: --store PATH, or the environment variable {VARIABLE}")
    return str(options.store)
