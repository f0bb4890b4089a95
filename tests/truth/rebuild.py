"""
Prove rebuild plans by execution: random pipelines of SQL, and random changes of them.

    ./run truth rebuild --changes 2000 --seed 1
    ./run truth rebuild --changes 200 --seed 1 --scripts
    ./run truth rebuild --changes 200 --seed 1 --texts

Each pipeline is executed on small tables. After a change, what lies downstream of it is executed again: a table that
the plan wants to be made has its rows in another order then, as in any run, and one that it keeps stays as it was. What
is kept must have the very rows that its statements give now, and so must each column that the plan keeps of a table
whose rows stay. No expectation is written by hand. With several samples of rows, a table that no proof could spare is
told from one that was made again in vain: some sample shows that its rows are others. With `--scripts`, each pipeline
is a PySpark script or a notebook, and the plan comes from its dry runs. With `--texts`, the plan knows only the texts
of half of the statements, as if Spark could not analyze them.
The exit code is 1 if a table was skipped that is different. A finding names its seed and its change.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import random
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import attrs
from openlineage_pyspark.command.change import file_steps
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.dryrun import files
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.predict.scripts import (
    Script,
    StatementAnswer,
    guarded_analysis,
    lineage_of_answers,
)
from openlineage_pyspark.workbench.predict.session import Analyzed, ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable, DeclaredTables
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from openlineage_pyspark.workbench.rebuild.plan import rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import steps_of_answers
from pyspark.errors import PySparkException
from support import class_archive

from truth.as_script import FORMS
from truth.layers import SOURCES, TYPES, Changer, Maker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.workbench.rebuild.plan import TablePlan
    from openlineage_pyspark.workbench.rebuild.statements import FileStep

    from truth.layers import Pipeline, Statement

_HIDDEN = Refusal("HIDDEN", "its plan is hidden")
_ROWS = 40
_MOST_ROWS = 5000
_BETWEEN_ROWS, _BETWEEN_VALUES = "], [", ","
_CHANGES_OF_ONE = 25
_CONF = {"spark.sql.shuffle.partitions": "1", **class_archive.INTERPRETED}
_SETTINGS = {"spark.sql.ansi.enabled": "false"}
_VIEWS = ("view", "temporary")


@attrs.frozen(eq=False)
class Content:
    """The rows of a table: in the JVM, as texts, and its columns."""

    rows: Any
    schema: Any
    texts: tuple[str, ...]
    names: tuple[str, ...]
    failed: str = ""

    @property
    def parts(self) -> tuple[object, ...]:
        """Return what two tables have in common that are the same."""
        return self.texts, self.names, self.failed

    def of(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return some columns of the rows, sorted."""
        places = [self.names.index(name) for name in names]
        rows = (text.split(_BETWEEN_VALUES) for text in self.texts)
        return sorted(tuple(row[place] for place in places) for row in rows)


class World:
    """Executes pipelines."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._jvm = spark._jvm
        self._scala = spark._jsparkSession
        self._current: dict[str, Content] = {}

    def sources(self, rng: random.Random) -> dict[str, Content]:
        """Return random rows of the sources: few values, so that rows meet, and some nulls."""
        found = {}
        for table, columns in SOURCES.items():
            rows = [self._row(rng, columns, at) for at in range(_ROWS)]
            names = ", ".join(name for name, _ in columns)
            casts = ", ".join(f"CAST({name} AS {TYPES[type_]}) AS {name}" for name, type_ in columns)
            found[table] = self.run(f"SELECT {casts} FROM VALUES {', '.join(rows)} AS rows({names})")
        return found

    @staticmethod
    def _row(rng: random.Random, columns: Sequence[tuple[str, str]], at: int) -> str:
        def value(name: str, type_: str) -> str:
            if name == "id":
                return str(at % (_ROWS - 2))
            if rng.random() < 0.1:
                return "NULL"
            if type_ == "int":
                return str(rng.randint(0, 9))
            if type_ == "dec":
                return f"{rng.randint(0, 99)}.{rng.randint(0, 99):02}"
            if type_ == "dbl":
                return f"{rng.choice((0.1, 0.2, 0.3, 1e10, 7.7)) * rng.randint(1, 9)!r}D"
            return f"'{rng.choice(('fr', 'de', 'open', 'done', 'ann', 'bob', 'xx'))}'"

        return f"({', '.join(value(*each) for each in columns)})"

    def run(self, query: str) -> Content:
        """Return the rows of a query; of one that fails, why."""
        try:
            frame = self._spark.sql(query)._jdf
            rows = frame.limit(_MOST_ROWS + 1).collectAsList()
            if rows.size() > _MOST_ROWS:
                # Joins of rows that are equal make very many of them.
                return Content(None, None, (), (), "too many rows")
            # In one call; no text that a pipeline makes has a comma or a bracket.
            texts = str(rows.toString())[2:-2].split(_BETWEEN_ROWS) if rows.size() else []
            return Content(rows, frame.schema(), tuple(sorted(texts)), tuple(str(each) for each in frame.columns()))
        except PySparkException as problem:
            return Content(None, None, (), (), str(problem).splitlines()[0][:120] or "failed")

    def know(self, table: str, content: Content, rng: random.Random | None = None) -> None:
        """Make rows a table that queries find; in another order, if that is wanted."""
        if content.failed:
            self._spark.sql(f"DROP VIEW IF EXISTS {table}")
            self._current.pop(table, None)
            return
        if rng is None and self._current.get(table) is content:
            return
        self._current.pop(table, None)
        if rng is None:
            self._current[table] = content
        rows = content.rows
        if rng is not None:
            rows = self._jvm.java.util.ArrayList(rows)
            self._jvm.java.util.Collections.shuffle(rows, self._jvm.java.util.Random(rng.randint(0, 1 << 30)))
        self._scala.createDataFrame(rows, content.schema).createOrReplaceTempView(table)

    def view(self, statement: Statement) -> str:
        """Make a view, and return why it fails."""
        try:
            self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {statement.table} AS {statement.executed()}")
        except PySparkException as problem:
            self._spark.sql(f"DROP VIEW IF EXISTS {statement.table}")
            return str(problem).splitlines()[0][:120] or "failed"
        return ""


class Judge:
    """Has the plans of changes, and compares them with what the pipelines give."""

    def __init__(self, spark: Any, *, texts: bool = False) -> None:
        self._texts = texts
        self.world = World(spark.newSession())
        for key, value in _CONF.items():
            self.world._spark.conf.set(key, value)
        self._spark = spark
        ddl = "; ".join(
            f"CREATE TABLE {table} ({', '.join(f'{n} {TYPES[t]}' for n, t in columns)}) USING parquet"
            for table, columns in SOURCES.items()
        )
        self._ddl = Script("ddl.sql", ddl, is_ddl=True)
        self._answers: dict[tuple[object, ...], list[StatementAnswer]] = {}
        self._known: dict[str, tuple[object, ...]] = {}
        self.begin(0)

    def begin(self, number: int) -> None:  # noqa: ARG002 (those that write scripts use it)
        """
        Begin with another pipeline.

        Args:
            number: its number.
        """
        self._session = ScriptSession(self._spark.newSession(), DeclaredTables(), shapes=True)
        self._answers = {}
        self._known = {}
        self._of_ddl = self._analyzed(self._ddl)

    def steps(self, pipeline: Pipeline) -> tuple[FileStep, ...]:
        """Return the statements of a pipeline, as the command has them."""
        keys = self._keys(pipeline)
        made_by = {pipeline[at].table: at for at in reversed(range(len(pipeline)))}
        answers = list(self._of_ddl)
        for at in range(len(pipeline)):
            if keys[at] not in self._answers:
                self._ensure(at, pipeline, keys, made_by)
                self._follow(at, pipeline, keys)
            answers += self._answers[keys[at]]
        answers = [
            StatementAnswer(attrs.evolve(each.statement, line=line), self._told(each), each.is_ddl)
            for line, each in enumerate(answers)
        ]
        refused = [each for each in answers if each.analyzed.refusal is not None]
        return steps_of_answers(answers, lineage_of_answers(refused, ()), ())

    def _told(self, answer: StatementAnswer) -> Analyzed:
        """Return what the plan knows of a statement."""
        is_text = self._texts and not answer.is_ddl and zlib.crc32(answer.statement.text.encode()) % 2
        return attrs.evolve(answer.analyzed, shape="", refusal=_HIDDEN) if is_text else answer.analyzed

    def _analyzed(self, script: Script) -> list[StatementAnswer]:
        return [
            StatementAnswer(each, guarded_analysis(self._session, each), script.is_ddl)
            for each in statements_of(script.text, script.name)
        ]

    def _keys(self, pipeline: Pipeline) -> list[tuple[object, ...]]:
        """Return for each statement what its analysis depends on: its text, and what makes the tables that it names."""
        keys: list[tuple[object, ...]] = []
        of_table: dict[str, tuple[object, ...]] = {}
        for each in pipeline:
            named = sorted(each.reads - SOURCES.keys())
            keys.append((tuple(each.statements()), tuple(hash(of_table.get(table)) for table in named)))
            of_table.setdefault(each.table, keys[-1])
        return keys

    def _ensure(self, at: int, pipeline: Pipeline, keys: list[tuple[object, ...]], made_by: dict[str, int]) -> None:
        """Have the session know the tables that a statement names as this pipeline makes them."""
        for table in pipeline[at].reads - SOURCES.keys():
            maker = made_by[table]
            if maker < at:
                self._ensure(maker, pipeline, keys, made_by)
                if self._known.get(table) != keys[maker]:
                    self._follow(maker, pipeline, keys)

    def _follow(self, at: int, pipeline: Pipeline, keys: list[tuple[object, ...]]) -> None:
        script = Script("pipeline.sql", ";\n".join(pipeline[at].statements()))
        self._answers[keys[at]] = self._analyzed(script)
        if not pipeline[at].changes:
            self._known[pipeline[at].table] = keys[at]

    def execute(self, pipeline: Pipeline, sources: dict[str, Content]) -> list[Content]:
        """Execute a pipeline, and return what each table has after each statement."""
        for table, content in sources.items():
            self.world.know(table, content)
        found = []
        for each in pipeline:
            if each.kind in _VIEWS:
                failed = self.world.view(each)
                found.append(Content(None, None, (), (), failed))
            else:
                content = self.world.run(each.executed())
                self.world.know(each.table, content)
                found.append(content)
        return found

    def judged(
        self,
        old: Pipeline,
        contents: list[Content],
        new: Pipeline,
        plans: dict[str, TablePlan],
        rng: random.Random,
        different: set[str],
    ) -> Iterator[str]:
        """Yield which tables the plan keeps though they are different, and add all that are to a set."""
        before = {each.table: content for each, content in zip(old, contents, strict=True)}
        last = {each.table: at for at, each in enumerate(new)}
        same, gone = _matched(old, new)
        touched: set[str] = set()
        views: dict[str, frozenset[str]] = {}
        for at, each in enumerate(new):
            touched |= gone.get(at, set())
            plan = plans.get(each.table)
            is_kept = plan is not None and plan.action == "keep"
            named = each.reads | ({each.table} if each.changes else set())
            # A view is computed when it is read: what it reads may be touched after its definition.
            named = named.union(*(views.get(name, ()) for name in named))
            if each.kind in _VIEWS:
                views[each.table] = named
            if at in same and touched.isdisjoint(named):
                # Nothing of the change leads to it so far: no step of the plan does it in another way.
                touched.discard(each.table)
                if each.kind in _VIEWS:
                    continue
                self.world.know(each.table, contents[same[at]])
                # What changes the table after it may be gone.
                if at != last[each.table] or (is_kept and not any(each.table in tables for tables in gone.values())):
                    continue
            touched.add(each.table)
            if each.kind in _VIEWS:
                self.world.view(each)
                continue
            content = self._content(each, contents[same[at]] if is_kept and at in same else None)
            if at == last[each.table]:
                earlier = before.get(each.table)
                yield from self._wrong(each.table, plan, earlier, content)
                if earlier is None or earlier.parts != content.parts:
                    different.add(each.table)
                if is_kept and earlier is not None:
                    content = earlier
            self.world.know(each.table, content, None if is_kept else rng)

    def _content(self, statement: Statement, kept: Content | None) -> Content:
        """Return what a table has after a statement; one that stays had its rows in the order that they had then."""
        found = self.world.run(statement.executed())
        return kept if kept is not None and found.parts == kept.parts else found

    def restore(self, pipeline: Pipeline, contents: list[Content], sources: dict[str, Content]) -> None:
        """Have all tables and views as a pipeline has made them: a view keeps the types that it has been made with."""
        for table, content in sources.items():
            self.world.know(table, content)
        for each, content in zip(pipeline, contents, strict=True):
            if each.kind in _VIEWS:
                self.world.view(each)
            else:
                self.world.know(each.table, content)

    @staticmethod
    def _wrong(table: str, plan: TablePlan | None, old: Content | None, new: Content) -> Iterator[str]:
        if plan is None:
            yield f"{table} is not in the plan"
        elif plan.action == "keep" and old is None:
            yield f"{table} is kept, and was not there"
        elif plan.action == "keep" and old is not None and old.parts != new.parts:
            yield f"{table} is kept, and is different: {_difference(old, new)}"
        elif (
            plan.action in ("columns", "make", "define")
            and not plan.rows
            and old is not None
            and not (old.failed or new.failed)
        ):
            same = [n for n in new.names if n.lower() not in plan.columns and n in old.names]
            if same and old.of(same) != new.of(same):
                yield f"{table}: the columns {', '.join(same)} are said to stay, and are different"


class ScriptJudge(Judge):
    """Has the plans of changed scripts."""

    def __init__(self, spark: Any, runner: ScriptRunner) -> None:
        super().__init__(spark)
        files.ScriptRunner = lambda *_: contextlib.nullcontext(runner)  # type: ignore[misc,assignment]
        self._declared = [
            DeclaredTable(("spark_catalog", "default", table), tuple((name, TYPES[type_]) for name, type_ in columns))
            for table, columns in SOURCES.items()
        ]
        self.whole = 0

    def begin(self, number: int) -> None:
        """
        Keep nothing of another pipeline: each script is run as it is.

        Args:
            number: the number of the pipeline, which decides about its form.
        """
        self._name, self._text_of = FORMS[number % len(FORMS)]

    def steps(self, pipeline: Pipeline) -> tuple[FileStep, ...]:
        """Return what a script with the statements of a pipeline does, as the command has it."""
        script = Script(self._name, self._text_of(pipeline))
        Path(script.name).write_text(script.text, "utf-8")
        settings = files.ScriptSettings(conf=_SETTINGS, shapes=True)
        found = files.lineage_of_files([script], KnownColumns(list(self._declared)), settings, lambda *_: ())
        options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)
        steps = file_steps([script], (), found, options, None)
        self.whole += any(each.kind == "script" for each in steps)
        return steps


def _matched(old: Pipeline, new: Pipeline) -> tuple[dict[int, int], dict[int, set[str]]]:
    """Return the places of the statements that stay, after and before; and the tables of those gone, by their place."""
    same: dict[int, int] = {}
    gone: dict[int, set[str]] = {}
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            same.update(zip(range(j1, j2), range(i1, i2), strict=True))
        elif i2 > i1:
            gone.setdefault(j1, set()).update(each.table for each in old[i1:i2])
    return same, gone


def _reached(old: Pipeline, new: Pipeline) -> tuple[set[str], set[str]]:
    """Return the tables whose statements are written differently, and those below them: by tables, not by columns."""
    same, gone = _matched(old, new)
    itself = {each.table for at, each in enumerate(new) if at not in same}
    itself |= {table for tables in gone.values() for table in tables}
    reached = set(itself)
    for each in new:
        if not reached.isdisjoint(each.reads):
            reached.add(each.table)
    tables = {each.table for each in new if each.kind not in _VIEWS}
    return itself & tables, (reached - itself) & tables


def _difference(old: Content, new: Content) -> str:
    gone, come = Counter(old.texts) - Counter(new.texts), Counter(new.texts) - Counter(old.texts)
    return f"- {list(gone)[:2]} + {list(come)[:2]} {old.failed} {new.failed}"


@attrs.define
class Score:
    """What came of all changes."""

    changes: int = 0
    itself: int = 0
    made: int = 0
    whole: int = 0
    kept: int = 0
    different: int = 0
    wrong: int = 0
    refused: int = 0
    executed: int = 0
    empty: int = 0
    kinds: Counter[str] = attrs.field(factory=Counter)
    in_vain: Counter[str] = attrs.field(factory=Counter)

    def __str__(self) -> str:
        """Return it in lines."""
        downstream = self.made + self.kept
        made, whole, different = (100 * each / max(1, downstream) for each in (self.made, self.whole, self.different))
        return (
            f"{self.changes:,} changes of {self.itself:,} tables, {downstream:,} tables downstream of them: "
            f"{self.made:,} to make or update ({made:.0f} %), {self.whole:,} of them as a whole ({whole:.0f} %), "
            f"{self.different:,} of them different ({different:.0f} %), "
            f"{self.kept:,} kept, {self.wrong:,} wrong skips, {self.refused:,} statements that fail, "
            f"{self.empty:,} of {self.executed:,} tables without rows"
        )


def run(options: argparse.Namespace) -> int:
    """Try changes, and return how many wrong skips there were."""
    score = Score()
    began = time.monotonic()
    with throw_away_session(_SETTINGS) as spark, contextlib.ExitStack() as ending:
        judge = Judge(spark, texts=options.texts)
        if options.scripts:
            os.chdir(ending.enter_context(tempfile.TemporaryDirectory()))
            judge = ScriptJudge(spark, ending.enter_context(ScriptRunner(_SETTINGS)))
        number = options.first
        while score.changes < options.changes and time.monotonic() - began < options.seconds:
            _pipeline(judge, number, score, options, began + options.seconds)
            number += 1
            if options.only is not None:
                break
            print(f"{time.monotonic() - began:6.0f} s, seed {options.seed}, pipeline {number}: {score}", flush=True)
    print("changes:", dict(score.kinds))
    print("made again in vain:", dict(score.in_vain))
    if isinstance(judge, ScriptJudge):
        print(f"{judge.whole:,} scripts were compared as a whole")
    print(score)
    return score.wrong


def _pipeline(judge: Judge, number: int, score: Score, options: argparse.Namespace, until: float) -> None:
    rng = random.Random(f"{options.seed}-{number}")  # noqa: S311 (it must be the same each time)
    pipeline = Maker(rng).pipeline()
    sources = [judge.world.sources(rng)]
    for sample in range(1, options.samples):
        own = random.Random(f"{options.seed}-{number}-sample-{sample}")  # noqa: S311
        sources.append(judge.world.sources(own))
    judge.begin(number)
    steps = judge.steps(pipeline)
    contents = [judge.execute(pipeline, each) for each in sources]
    for at in range(_CHANGES_OF_ONE):
        what, changed = Changer(rng, pipeline).change()
        own = random.Random(f"{options.seed}-{number}-{at}")  # noqa: S311
        if options.only is not None and at != options.only:
            continue
        if time.monotonic() > until or score.changes >= options.changes:
            break
        plan = rebuild_plan(steps, judge.steps(changed))
        plans = {each.table.removeprefix("default."): each for each in plan.tables}
        score.changes += 1
        score.kinds[what] += 1
        itself, below = _reached(pipeline, changed)
        different: set[str] = set()
        wrong: set[str] = set()
        made = {each for each in below if each not in plans or plans[each].action != "keep"}
        for rows, found in zip(sources, contents, strict=True):
            judge.restore(pipeline, found, rows)
            wrong.update(judge.judged(pipeline, found, changed, plans, own, different))
        for each in sorted(wrong):
            print(f"WRONG: --seed {options.seed} --first {number} --only {at}: {what}: {each}", flush=True)
        score.itself += len(itself)
        score.made += len(made)
        # Of the others only some columns, or what the catalog says of them, are different: no row has to be made again.
        score.whole += sum(each not in plans or plans[each].action not in ("columns", "define") for each in made)
        score.kept += len(below - made)
        score.different += len(made & different)
        score.wrong += len(wrong)
        score.in_vain[what] += len(made - different)
        for each in sorted(made - different if options.vain else ()):
            reason = plans[each].reason if each in plans else "not in the plan"
            print(f"in vain: --seed {options.seed} --first {number} --only {at}: {what}: {each}: {reason}", flush=True)
        if options.only is not None:
            _show(pipeline, changed, plan.tables)
    score.refused += sum(bool(each.failed) for each in contents[0])
    tables = [each for each, made in zip(contents[0], pipeline, strict=True) if made.kind not in _VIEWS]
    score.executed += len(tables)
    score.empty += sum(not each.texts and not each.failed for each in tables)


def _show(pipeline: Pipeline, changed: Pipeline, plans: Sequence[TablePlan]) -> None:
    old = [text for each in pipeline for text in each.statements()]
    new = [text for each in changed for text in each.statements()]
    for text in old:
        print("  " if text in new else "- ", text)
    for text in new:
        if text not in old:
            print("+ ", text)
    for each in plans:
        print(f"{each.action:8}{each.table} rows={each.rows} {each.columns}: {each.reason}")


def main() -> int:
    """Try what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first pipeline")
    parser.add_argument("--only", type=int, help="the only change of it that is tried, and shown")
    parser.add_argument("--samples", type=int, default=1, help="how many random rows of the sources are tried")
    parser.add_argument("--scripts", action="store_true", help="write each pipeline as a PySpark script or a notebook")
    parser.add_argument("--texts", action="store_true", help="hide the plans of half of the statements")
    parser.add_argument("--vain", action="store_true", help="show each table that was made again in vain")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many")
    return int(run(parser.parse_args()) > 0)


if __name__ == "__main__":
    sys.exit(main())
