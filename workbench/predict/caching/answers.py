"""
Get Spark's results for the statements of scripts: those of earlier runs from a cache, and the rest from Spark.

A statement with a cached answer is not analyzed. Its changes are repeated if a later statement that is analyzed can see
them: tables are cached with the answer; a change that only Spark holds, such as a view, is made by analyzing the
statement again.

Spark takes seconds to start, in another process. So if a file has a statement that no earlier run has seen, Spark
starts at once, while a thread reads the statements and the cached answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.predict.caching.cache import KeptAnswer, KeptAnswers, base_of
from openlineage_pyspark.workbench.predict.caching.dependencies import Dependence, Dependencies, text_digest
from openlineage_pyspark.workbench.predict.scripts import (
    AnalysisOptions,
    Given,
    Script,
    StatementAnswer,
    guard_of_statements,
    guarded_analysis,
    lineage_with_computed,
    session_of,
    statements_in,
)
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.tables.knowledge import UNKNOWN_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from openlineage_pyspark.listener.probe.client import Refusal
    from openlineage_pyspark.workbench.predict.session import ScriptSession
    from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement

    _Progress = Callable[[int, int], None]
    _Sessions = Callable[[Given], AbstractContextManager[ScriptSession]]

_MARKED = re.compile("\x02[0-9a-f]+\x03")
_SKIP, _RESTORE, _REPEAT, _ANALYZE = range(4)
_NOT_NEEDED = Analyzed("")


def answers_of(
    scripts: Sequence[Script],
    given: Given,
    progress: _Progress = lambda _done, _all: None,
    folder: Path | None = None,
    session: _Sessions = session_of,
    unkept: Callable[[OSError], None] | None = None,
) -> tuple[StatementAnswer, ...]:
    """
    Return Spark's results for the statements of scripts.

    Args:
        scripts: the scripts in the order in which they run.
        given: the knowledge before the first statement.
        progress: is called before Spark analyzes a statement, with the number analyzed so far and the total.
        folder: the folder of the cache; None to cache nothing.
        session: returns a session with the given knowledge.
        unkept: is called with the error if the answers can't be cached; None to raise it.

    Raises:
        LineageError: Spark does not start.
        OSError: the folder, or a temporary one, can't be written.
    """
    with _OneSession(given, session) as sessions:
        parameters = _Parameters(given, progress, sessions)
        if folder is None:
            with ThreadPoolExecutor(1) as thread:
                reading = thread.submit(_read, scripts, given)
                if any(statements_in([each], given.dialect) for each in scripts):
                    sessions.start()
                read = reading.result()
            found = _Asking(read.statements, read.dependences, parameters).answers({})
            kept, places = found.kept, _places(read.statements, found.dependences)
        else:
            with KeptAnswers(folder, unkept) as store, ThreadPoolExecutor(1) as thread:
                digests = _Digests(given)
                is_new = digests.has_new(scripts, store)
                reading = thread.submit(_read, scripts, given, store)
                if is_new:
                    sessions.start()
                read = reading.result()
                kept, places = _answered(read, parameters, store)
                store.see(digests.of_all(scripts, read.statements))
    return tuple(
        StatementAnswer(statement, _with_places(each.analyzed, places), is_ddl, each.lineage, each.document)
        for (statement, is_ddl), each in zip(read.of_ddl, kept, strict=True)
    )


def prepare(session: ScriptSession, scripts: Sequence[Script], given: Given, folder: Path) -> bool:
    """
    Bring a session to its state after the statements of scripts, whose lineage is not needed.

    The folder keeps the changes of each statement. So a later session analyzes only statements that see something else
    than before, and those with a change that only Spark holds.

    Args:
        session: a session that nothing has changed.
        scripts: the scripts in the order in which they run.
        given: the knowledge of the session before the first statement.
        folder: the folder that keeps the changes.

    Returns:
        Whether the session is in this state. If it is not, because a statement has seen more than its text shows,
        prepare a new session: the folder now says which one.

    Raises:
        OSError: the folder can't be written.
    """
    with KeptAnswers(folder) as store:
        read = _read(scripts, given, store)
        with _OneSession(given, lambda _: nullcontext(session)) as sessions:
            parameters = _Parameters(given, lambda _done, _all: None, sessions)
            found = _Asking(read.statements, read.dependences, parameters).changes(read.known)
        # The keys of what is kept already depend on those that were known before.
        opaque, dependences = found.opaque - store.opaque(), read.dependences
        if opaque:
            store.add_opaque(opaque)
            if read.known:
                return False
            dependences = _dependences(read.statements, given, store.opaque())
        kept = {each.key: answer for each, answer in zip(dependences, found.kept, strict=True)}
        store.keep({key: attrs.evolve(each, analyzed=_NOT_NEEDED) for key, each in kept.items()}, read.known)
        session.name_places(_places(read.statements, read.dependences))
    return True


class _OneSession:
    """
    The session that analyzes statements; it starts when it is needed, or earlier. Use it in a `with` statement.

    Args:
        given: the knowledge before the first statement.
        session: returns a session with it.
    """

    def __init__(self, given: Given, session: _Sessions) -> None:
        self._given = given
        self._session = session
        self._stack = ExitStack()
        self._fresh: ScriptSession | None = None

    def __enter__(self) -> _OneSession:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the session, if one runs."""
        self._stack.close()

    def start(self) -> None:
        """
        Start a session that nothing has changed; end the one that runs.

        Raises:
            LineageError: Spark does not start.
            OSError: the class archives can't be read, or no temporary folder can be written.
        """
        self._stack.close()
        self._fresh = self._stack.enter_context(self._session(self._given))

    def take(self) -> ScriptSession:
        """Return a session that nothing has changed."""
        if self._fresh is None:
            self.start()
        taken, self._fresh = self._fresh, None
        if taken is None:
            raise AssertionError("start() has set it")
        return taken

    def end(self) -> None:
        """End the session, if one runs."""
        self._stack.close()


@attrs.frozen
class _Parameters:
    """The parameters of an analysis: the given knowledge, the progress to report to, and the source of sessions."""

    given: Given
    progress: _Progress
    sessions: _OneSession


@attrs.frozen
class _Read:
    """
    The facts about scripts that need no Spark.

    Args:
        of_ddl: the statements, each with whether it is in a file that only declares tables.
        dependences: the dependences of the statements.
        known: the cached answers, by their keys.
    """

    of_ddl: Sequence[tuple[ScriptStatement, bool]]
    dependences: Sequence[Dependence]
    known: Mapping[str, KeptAnswer]

    @property
    def statements(self) -> list[ScriptStatement]:
        """The statements."""
        return [statement for statement, _ in self.of_ddl]


def _read(scripts: Sequence[Script], given: Given, store: KeptAnswers | None = None) -> _Read:
    """Return the facts about scripts that need no Spark."""
    of_ddl = statements_in(scripts, given.dialect)
    dependences = _dependences([each for each, _ in of_ddl], given, () if store is None else store.opaque())
    known = {} if store is None else store.read({each.key for each in dependences})
    return _Read(of_ddl, dependences, known)


class _Digests:
    """
    Recognizes new statements by their texts alone, before it is known on what their answers depend.

    Args:
        given: the knowledge before the first statement.
    """

    def __init__(self, given: Given) -> None:
        self._base = base_of(given)
        self._dialect = given.dialect

    def has_new(self, scripts: Sequence[Script], store: KeptAnswers) -> bool:
        """Return whether the scripts have a statement whose text no earlier run has seen: it has no cached answer."""
        files = {self._of(each.head + "\0" + each.text): each for each in scripts}
        changed = [files[each] for each in store.unseen(files)]
        return bool(store.unseen({self._of(each.text) for each, _ in statements_in(changed, self._dialect)}))

    def of_all(self, scripts: Sequence[Script], statements: Iterable[ScriptStatement]) -> set[str]:
        """Return the digests of scripts and of their statements."""
        files = {self._of(each.head + "\0" + each.text) for each in scripts}
        return files | {self._of(each.text) for each in statements}

    def _of(self, text: str) -> str:
        return hashlib.sha256(f"{self._base}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _answered(read: _Read, parameters: _Parameters, store: KeptAnswers) -> tuple[Sequence[KeptAnswer], dict[str, str]]:
    """Return the answers to statements in their cached form, and the meanings of the marks in them."""
    statements, dependences, known = read.statements, read.dependences, read.known
    found = _Asking(statements, dependences, parameters).answers(known)
    if found.opaque and known:
        # The cached answers may have been found under incomplete keys.
        found = _Asking(statements, dependences, parameters).answers({})
    parameters.sessions.end()
    kept = found.kept
    if found.opaque:
        store.add_opaque(found.opaque)
        dependences = _dependences(statements, parameters.given, store.opaque())
        marks = {_mark(old.key): _mark(new.key) for old, new in zip(found.dependences, dependences, strict=True)}
        kept = [attrs.evolve(each, analyzed=_with_places(each.analyzed, marks)) for each in kept]
    kept = _with_lineages(kept, DeclaredTables(parameters.given.tables))
    store.keep({each.key: answer for each, answer in zip(dependences, kept, strict=True)}, known)
    return kept, _places(statements, dependences)


def _with_lineages(kept: Iterable[KeptAnswer], known: DeclaredTables) -> list[KeptAnswer]:
    """Return answers with the lineage of each plan and its JSON, so that both can be cached."""
    guard = guard_of_statements()
    found = []
    with without_cycle_collection():
        for each in kept:
            query = each.analyzed.query
            if each.lineage is None and query is not None:
                # A fault of this program will be reported with the statement.
                computed = each.analyzed.computed
                made = guard.run("the lineage of a statement", lineage_with_computed, query, known, computed)
                shown = None if made is None else guard.run("the lineage of a statement", made.to_dict)
                document = "" if shown is None else json.dumps(shown)
                found.append(attrs.evolve(each, lineage=made, document=document))
            else:
                found.append(each)
    return found


def _dependences(
    statements: Iterable[ScriptStatement], given: Given, opaque: Collection[str] = ()
) -> tuple[Dependence, ...]:
    found = Dependencies(base_of(given), given.tables, given.functions, given.conf, opaque)
    return tuple(map(found.take, statements))


@attrs.frozen
class _Found:
    """
    The answers to statements.

    Args:
        dependences: the dependences of the statements.
        kept: the answers.
        opaque: the digests of statements that have seen or changed more than their text shows.
    """

    dependences: Sequence[Dependence]
    kept: Sequence[KeptAnswer]
    opaque: frozenset[str]


class _Asking:
    """Finds the answers to statements: Spark analyzes those without a cached answer."""

    def __init__(
        self,
        statements: Sequence[ScriptStatement],
        dependences: Sequence[Dependence],
        parameters: _Parameters,
    ) -> None:
        self._statements = statements
        self._dependences = dependences
        self._given = parameters.given
        self._progress = parameters.progress
        self._sessions = parameters.sessions
        self._opaque: set[str] = set()

    def answers(self, known: Mapping[str, KeptAnswer]) -> _Found:
        """Return the answers; `known` has the cached ones, by the keys of their statements."""
        kept: list[KeptAnswer]
        if all(each.key in known for each in self._dependences):
            kept = [known[each.key] for each in self._dependences]
        else:
            tasks = _tasks(self._dependences, known)
            kept = list(self._answers(self._sessions.take(), known, tasks))
        return _Found(self._dependences, kept, frozenset(self._opaque))

    def changes(self, known: Mapping[str, KeptAnswer]) -> _Found:
        """Bring a new session to its state after all statements; return the answers, of which only changes count."""
        tasks = _tasks(self._dependences, known, is_followed=True)
        kept = list(self._answers(self._sessions.take(), known, tasks))
        return _Found(self._dependences, kept, frozenset(self._opaque))

    def _answers(
        self, session: ScriptSession, known: Mapping[str, KeptAnswer], tasks: Sequence[int]
    ) -> Iterator[KeptAnswer]:
        whole, done = sum(task >= _REPEAT for task in tasks), 0
        # The answers to INSERTs of literals: files that fill tables have thousands, which differ in their values.
        alike: dict[str, KeptAnswer] = {}
        for statement, dependence, task in zip(self._statements, self._dependences, tasks, strict=True):
            answer = known.get(dependence.key)
            if task == _RESTORE and answer is not None:
                session.restore(answer.effects)
            elif task >= _REPEAT:
                self._progress(done, whole)
                done += 1
                asked = alike.get(dependence.like) or self._asked(session, statement, dependence)
                if self._is_for_all_values(dependence, asked):
                    alike[dependence.like] = asked
                answer = answer or asked
            if answer is not None:
                yield answer

    def _is_for_all_values(self, dependence: Dependence, answer: KeptAnswer) -> bool:
        """Return whether an answer is that of all statements that differ only in the values of literals."""
        found = answer.analyzed
        # The table is named before the values, so it has the same place in all of them.
        is_of_table = found.refusal is None or found.refusal.code == UNKNOWN_TABLE
        # A comparison needs the shape of each plan, which contains the values.
        is_own = bool(self._given.shapes or answer.effects or found.text or found.missed is not None)
        return bool(dependence.like) and is_of_table and not is_own

    def _asked(self, session: ScriptSession, statement: ScriptStatement, dependence: Dependence) -> KeptAnswer:
        options = AnalysisOptions(self._given.dialect, _mark(dependence.key), dependence.reads)
        found = guarded_analysis(session, statement, options)
        effects = session.effects()
        if not dependence.is_covered(session.read, effects, is_refused=found.refusal is not None):
            self._opaque.add(text_digest(statement))
        return KeptAnswer(found, effects)


def _tasks(
    dependences: Sequence[Dependence], known: Mapping[str, KeptAnswer], *, is_followed: bool = False
) -> list[int]:
    """
    Return how to treat each statement, so that analyzed ones see the changes of all earlier ones.

    Args:
        dependences: the dependences of the statements.
        known: the cached answers, by the keys of their statements.
        is_followed: whether something that may see every name follows the last statement.
    """
    tasks = []
    needed: set[str] | None = None if is_followed else set()
    is_asked = is_followed
    for each in reversed(dependences):
        answer = known.get(each.key)
        task = _ANALYZE if answer is None else _task(answer, needed, is_asked=is_asked)
        tasks.append(task)
        is_asked = is_asked or task == _ANALYZE
        if task >= _REPEAT and needed is not None:
            needed = None if each.reads is None else needed | each.reads
    return tasks[::-1]


def _task(answer: KeptAnswer, needed: Collection[str] | None, *, is_asked: bool) -> int:
    """
    Return how to treat a statement with a cached answer.

    Args:
        answer: the cached answer.
        needed: the names that later statements see; None for all.
        is_asked: whether Spark analyzes a later statement.
    """
    # Every statement sees these.
    global_kinds = {"setting", "catalog"}
    is_seen = is_asked and any(
        each.kind in global_kinds or needed is None or each.name in needed for each in answer.effects
    )
    if not is_seen:
        return _SKIP
    return _REPEAT if any(each.is_in_spark for each in answer.effects) else _RESTORE


def _mark(key: str) -> str:
    """Return the mark of the statement with a key. It replaces the statement's place, which may differ in each run."""
    return f"\x02{key}\x03"


def _places(statements: Iterable[ScriptStatement], dependences: Iterable[Dependence]) -> dict[str, str]:
    """Return the places of statements, by their marks."""
    return {
        _mark(each.key): f"{statement.file}:{statement.line}"
        for statement, each in zip(statements, dependences, strict=True)
    }


def _with_places(analyzed: Analyzed, places: Mapping[str, str]) -> Analyzed:
    """Return Spark's result with places instead of marks."""
    messages = "".join(each.message for each in (analyzed.refusal, analyzed.missed) if each is not None)
    if not analyzed.from_text and "\x02" not in messages:
        return analyzed
    from_text = {parts: _unmarked(place, places) for parts, place in analyzed.from_text.items()}
    refusal, missed = (_with_place(each, places) for each in (analyzed.refusal, analyzed.missed))
    return attrs.evolve(analyzed, from_text=from_text, refusal=refusal, missed=missed)


def _with_place(refusal: Refusal | None, places: Mapping[str, str]) -> Refusal | None:
    return None if refusal is None else attrs.evolve(refusal, message=_unmarked(refusal.message, places))


def _unmarked(text: str, places: Mapping[str, str]) -> str:
    return _MARKED.sub(lambda found: places.get(found[0], found[0]), text)
