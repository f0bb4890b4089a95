"""What a script does to tables in its dry run, in the form in which two states of it are compared."""

from __future__ import annotations

import attrs

FRAME = "frame"
"""The kind of a write of a DataFrame."""
CODE = "code "
"""What a plan has instead of a pickled function of Python, before its fingerprint, which is empty if it is unknown."""
TEMPORARY = "temporary view "
"""The word before the name of a temporary view, which is no table."""
SETTINGS = ("Set", "Reset", "CreateVariable", "DropVariable", "CreateFunction", "CreateSQLFunction", "DropFunction",
            "CreateUserDefinedFunction")  # fmt: skip
"""The kinds of statements that change what other statements mean, except `PLACES`."""
FUNCTIONS = ("CreateFunction", "CreateSQLFunction", "CreateUserDefinedFunction")
"""Those of `SETTINGS` that define functions, whose queries are in the plans that use them."""
PLACES = ("SetCatalog", "SetNamespace", "SetTable", "SetView")
"""The kinds of statements that set the current place, or something of one table."""


@attrs.frozen
class ScriptAct:
    """
    A write of a DataFrame, or a statement that a script passes to Spark.

    Args:
        kind: the class of the statement's parsed plan; `FRAME` for a write of a DataFrame.
        text: the statement; or a hash of how the DataFrame is written, which is empty if not all of that is known.
        shape: the analyzed plan, as `PlanShape.java` writes it; empty if there is none.
        targets: the full names of the tables that it creates, drops or changes.
        within: the current catalog and database.
        settings: the settings, functions and variables of the session, as a text.
        is_whole: whether a write replaces everything in its target.
        names: the columns of the target in the order of the DataFrame; empty if they have the names of its columns.
        is_known: whether everything that it does is known.
        held: the tables and places of the DataFrames that the script has made before.
    """

    kind: str
    text: str = ""
    shape: str = ""
    targets: tuple[str, ...] = ()
    within: str = ""
    settings: str = ""
    is_whole: bool = False
    names: tuple[str, ...] = ()
    is_known: bool = True
    held: tuple[str, ...] = ()


@attrs.frozen
class ExecutedFile:
    """
    A file of the user's code that a dry run has executed.

    Args:
        file: the file; a module is named relative to the folder in which the script runs.
        lines: the lines that ran, from 1.
    """

    file: str
    lines: frozenset[int]
