"""The tables that a sequence of statements leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.predict.acts import FRAME, SETTINGS
from openlineage_pyspark.workbench.rebuild.places import (
    TableDefinition,
    is_pattern,
    key_of_name,
    may_be_one,
    name_words,
)
from openlineage_pyspark.workbench.rebuild.planned import PlannedWrites
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError
from openlineage_pyspark.workbench.rebuild.states import EMPTY, TableStates, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.statements import FileStep
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms

# Statements that only manage or inspect: no later statement depends on them.
_HARMLESS = ("Analyze", "Cache", "Comment", "Describe", "Explain", "List", "Refresh", "Show", "Uncache", "Use",
             "SetCatalog", "SetNamespace", "CreateNamespace", "SetCatalogAndNamespace", "Noop")  # fmt: skip
_DROPS = frozenset({"DropTable", "DropView", "DropTempViewCommand"})
_CREATES = frozenset({"CreateTable", "ReplaceTable"})
_ALTERS = ("Alter", "Add", "Drop", "Rename", "Replace", "Set", "Unset")
_RENAME = "RenameTable"
_DATABASES = frozenset({"CreateNamespace", "SetNamespaceLocation"})


@attrs.frozen
class Final:
    """
    The result of a sequence of statements.

    Args:
        tables: the key of a table -> the table at the end.
        dropped: the tables that were dropped.
        unread: the indices of the steps that are compared by their text -> the reason.
    """

    tables: Mapping[str, Version]
    dropped: frozenset[str]
    unread: Mapping[int, str]


class Replay:
    """
    Follows statements, and keeps the state of each table after each statement.

    Args:
        terms: all terms, of both sides.
        made_by: what acts of scripts have made, of both sides.
    """

    def __init__(self, terms: Terms, made_by: dict[int, Version] | None) -> None:
        self._terms = terms
        self._made_by = {} if made_by is None else made_by
        self._states = TableStates(terms)
        self._planned = PlannedWrites(terms, self._states)
        self._unread: dict[int, str] = {}

    def follow(self, steps: Iterable[FileStep]) -> Final:
        """
        Follow statements.

        Args:
            steps: the statements, in the order in which they run.
        """
        for at, step in enumerate(steps):
            self._states.begin(at)
            if step.kind in _DATABASES:
                self._states.note_database(step.words)
            if step.is_random:
                self._states.random = self._terms.of("random", self._states.random, step.key)
            is_created = step.kind.startswith(("Create", "Replace")) and not step.kind.startswith("CreateVariable")
            if step.is_declaration and is_created:
                # It only declares what exists: the columns of a table, and the query of a view or a function, are in
                # the plans of the statements that read it. The value of a variable is not.
                self._states.declared = self._terms.of("declared", self._states.declared, step.key)
                for key in map(key_of_name, step.targets):
                    self._states.definitions[key] = _definition(step)
                continue
            self._states.of_script.begin(step)
            self._take(step)
            self._states.of_script.end(step)
        return Final(self._states.all_at_end(), frozenset(self._states.dropped), dict(self._unread))

    def _take(self, step: FileStep) -> None:
        if step.kind == FRAME and step.code and step.shape:
            self._compared(step, self._planned.of_frame)
        elif step.kind == FRAME:
            self._by_text(step, "its plan does not show how its rows are written")
        elif step.kind == _RENAME:
            # Its plan represents a copy of the table.
            self._without_plan(step)
        elif step.shape and step.is_known and not step.has_more_than_its_plan:
            self._compared(step, self._planned.of_statement)
        elif step.kind == "script" or not step.is_known or step.has_more_than_its_plan or step.shape:
            self._by_text(step, _why_by_text(step))
        else:
            self._without_plan(step)

    def _compared(self, step: FileStep, of_plan: Callable[[FileStep], None]) -> None:
        """Follow a statement by its plan, or by its text if a part of the plan can't be compared."""
        keys = [key_of_name(each) for each in step.targets] if step.script else []
        done = self._done(step) if len(keys) == 1 else None
        try:
            of_plan(step)
            if done is not None:
                self._as_in_other_state(keys[0], done)
        except IncomparableError as problem:
            self._by_text(step, str(problem))
        except RecursionError:
            self._by_text(step, "its plan is too deep")
        except (LookupError, TypeError, ValueError):
            # Another version of Spark may give an operator different arguments.
            self._by_text(step, "its plan has an unknown form")

    def _as_in_other_state(self, key: str, done: Term) -> None:
        """
        Keep what an act has made in the other state, if all of its script's code and all that it reads are the same.

        Two runs of the same code may have different plans: a literal is the time of the run, or a set has no order.
        """
        made = self._states.now(key)
        if made is None:
            return
        same = self._made_by.setdefault(done.number, made)
        self._states.note_place(key, same.whole)
        self._states.keep(key, attrs.evolve(same, steps=made.steps, reads=made.reads))

    def _change_others(self, step: FileStep, done: Term) -> None:
        """Follow a statement of which no target is known."""
        if step.may_change_any and step.names_its_table:
            self._states.change_named(frozenset(name_words(step.text)), done)
        elif step.may_change_any:
            self._states.change_any(done)

    # Statements without a plan.

    def _without_plan(self, step: FileStep) -> None:
        keys = [key_of_name(each) for each in step.targets]
        if (step.kind.startswith(_HARMLESS) and not step.kind.startswith("CreateNamespaceAs")) or step.is_inert:
            return
        if step.kind in _DROPS and keys:
            for key in keys:
                self._states.drop(key)
        elif step.kind in _CREATES and keys:
            for key in keys:
                self._created(step, key)
        elif step.kind == "TruncateTable" and keys:
            for key in keys:
                self._emptied(key)
        elif keys and (step.kind.startswith(_ALTERS) or not step.kind.startswith(SETTINGS)):
            self._altered(step, keys)
        else:
            self._of_no_table(step)

    def _of_no_table(self, step: FileStep) -> None:
        """Follow a statement that names no table: it changes the session, or may change any table."""
        is_setting = step.kind.startswith(SETTINGS)
        if is_setting and "SELECT" not in step.key.split():
            self._states.settings = self._terms.of("then", self._states.settings, step.key, step.spelling)
            return
        self._states.settings = self._terms.of(
            "then", self._states.settings, step.key, step.spelling, self._states.everything()
        )
        if not is_setting:
            self._change_others(step, self._states.settings)

    def _created(self, step: FileStep, key: str) -> None:
        known = self._states.now(key)
        definition = self._terms.of("definition", step.key)
        is_kept = " IF NOT EXISTS " in f" {step.key} "
        if is_kept and known is not None and known.kind == "table":
            if known.definition is not definition:
                self._states.replace_unknown(key, self._terms.of("created again", step.key, known.whole))
            return
        # A table that may exist keeps its rows, and a table with a location may have any rows.
        self._states.definitions[key] = _definition(step)
        is_there = (is_kept and key not in self._states.dropped) or self._states.definitions[key].may_decide_rows
        rows = self._states.source(key) if is_there else self._terms.of(EMPTY)
        self._states.dropped.discard(key)
        whole = self._states.whole_of(key, rows, {}, definition)
        self._states.keep(key, Version(rows, {}, definition, whole, steps=(self._states.at,)))

    def _emptied(self, key: str) -> None:
        known = self._states.now(key)
        definition = self._states.definition_of(key)
        columns = {} if known is None else {
            name: (self._terms.of(EMPTY), type_) for name, (_, type_) in known.columns.items()
        }  # fmt: skip
        self._states.put(key, self._terms.of(EMPTY), columns, definition, known)

    def _altered(self, step: FileStep, keys: Sequence[str]) -> None:
        version = self._states.now(keys[0])
        if step.kind == _RENAME and len(keys) == 2 and version is not None:
            self._states.rename(keys[0], keys[1], version)
            return
        for key in keys if "LOCATION" in step.words else ():
            # Its rows, or those of a partition, may be anywhere from now on.
            known = self._states.definitions.get(key)
            self._states.definitions[key] = TableDefinition((*(() if known is None else known.words), "PATH"))
        done = self._terms.of("altered", step.key, self._states.settings, *map(self._states.whole, keys))
        for key in keys:
            self._states.replace_unknown(key, done)

    # Statements that are compared by their text.

    def _by_text(self, step: FileStep, why: str) -> None:
        """Follow a statement that has the same result if its text and everything that it may read are the same."""
        self._unread[self._states.at] = why
        done = self._done(step)
        for key in map(key_of_name, step.targets):
            self._states.replace_unknown(key, self._terms.of("done", done, self._states.whole(key)))
            for other, version in self._states.all_now() if is_pattern(key) else ():
                if other != key and version.kind == "table" and may_be_one(key, other):
                    self._states.keep(other, self._states.changed(version, done, self._states.at))
        if step.words_of_names is not None:
            self._unread[self._states.at] = "what a script may write is not fully known"
            self._states.change_named(step.words_of_names, done)
        self._states.columns_written |= {key_of_name(each.name): each.columns for each in step.writes if each.columns}
        if not step.targets and step.kind != "script":
            # What a query returns goes nowhere, but a function in it may change the session.
            is_query = step.may_read is not None and step.is_query
            self._states.settings = self._terms.of("then", self._states.settings, step.key if is_query else done)
            self._change_others(step, done)

    def _done(self, step: FileStep) -> Term:
        """Return the term of a statement by its text, and by everything that it may read."""
        if step.reads is None and step.may_read is not None:
            given = self._states.named(step.may_read)
        elif step.reads is None:
            given = self._states.everything()
        else:
            keys = [key_of_name(each) for each in step.reads]
            self._states.leaves.update(dict.fromkeys(keys))
            read = [self._terms.of("read", key, self._states.whole(key)) for key in sorted(keys)]
            given = self._terms.of("read", *read, self._states.schemas())
        code = (step.kind, step.key, step.spelling, step.behind, step.within, step.settings)
        return self._terms.of(
            "done", *code, given, self._states.settings, self._states.random, *self._states.of_script.every()
        )


def _definition(step: FileStep) -> TableDefinition:
    """Return what a statement defines, by its words and by the settings that decide a part of it."""
    return TableDefinition((*step.words, *filter(None, [step.settings])))


def _why_by_text(step: FileStep) -> str:
    """Return why a statement is compared by its text."""
    if step.kind == "script":
        return "a script is compared by its code and everything that it reads"
    if step.has_more_than_its_plan:
        return "its plan does not show which version of a table it reads, or which rows of each key it keeps"
    return "Spark can't analyze it, or something else decides whether it runs"
