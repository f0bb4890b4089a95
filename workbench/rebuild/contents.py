"""What the tables of a script have had while its acts ran: a DataFrame has the rows of some time of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.rebuild.places import key_of_name, may_share, shared_path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.rebuild.statements import FileStep
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms


class ScriptContents:
    """
    The contents that the targets of a script have had so far, beginning with what was there before.

    Args:
        terms: all terms.
        content: returns the term of a whole table as it is now, by its key.
    """

    def __init__(self, terms: Terms, content: Callable[[str], Term]) -> None:
        self._terms = terms
        self._content = content
        self._script = ""
        self._had: dict[str, list[Term]] = {}
        # What the script has written after it had read it, and the code of the current act.
        self._stale: set[str] = set()
        self._code = ""
        self.settings = ""
        """What the session has set at the current act, as `FileStep` has it; empty outside of scripts."""

    def begin(self, step: FileStep) -> None:
        """Note what the targets of a step have before it; another script begins with nothing."""
        if step.script != self._script:
            self._script, self._had, self._stale = step.script, {}, set()
        self.settings, self._code = step.settings, step.behind
        for key in map(key_of_name, step.targets) if step.script else ():
            self._had.setdefault(key, [self._content(key)])

    def end(self, step: FileStep) -> None:
        """Note what the targets of a step have after it."""
        written = [key_of_name(each) for each in step.targets]
        self._stale |= {key for key in map(key_of_name, step.held) if any(_may_be_same(key, each) for each in written)}
        for key in map(key_of_name, step.targets) if step.script else ():
            self._had[key].append(self._content(key))

    def earlier(self, key: str) -> list[Term]:
        """
        Return what a table had before the script wrote it, or before it wrote it last.

        A DataFrame that the script has read earlier gets its rows when they are needed, or it has kept them.
        """
        path = shared_path_of(key)
        near = [
            each
            for other, every in sorted(self._had.items())
            if other != key and path and may_share(path, shared_path_of(other))
            for each in every
        ]
        return [*self._had.get(key, [])[:-1], *near]

    def of_any_time(self, key: str) -> list[Term]:
        """Return what else decides about the rows of a DataFrame of a table, beside what the table has now."""
        # The rows may be those of the time at which it was made, or later ones: its plan does not show this.
        is_stale = any(_may_be_same(key, each) for each in self._stale)
        return [*self.earlier(key), *([self._terms.of("code", self._code)] if is_stale else [])]

    def every(self) -> list[Term]:
        """Return the terms of all contents of all targets."""
        return [self._terms.of("had", key, *had) for key, had in sorted(self._had.items())]


def _may_be_same(key: str, other: str) -> bool:
    """Return whether two keys may mean the same place."""
    path = shared_path_of(key)
    return key == other or bool(path and may_share(path, shared_path_of(other)))
