"""
Compare what the texts of statements tell with what Spark tells of the same statements.

    ./run truth text_pairs --statements 2000 --seed 1
    ./run truth text_pairs --files ddl queries

Spark analyzes each statement with all tables declared. Then the same statements are read as if Spark had refused them,
with no table known, with some, and with all. The statements are random ones, or those of files, which declare their
tables. An edge that the text has and Spark does not is wrong, and so is a column that the text tells without one of the
sources that Spark has for it. The exit code is 1 if something was found; what the text leaves out, and says so, is
counted alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import attrs
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.project.revisions import scripts_now
from openlineage_pyspark.workbench.predict.scripts import Given, StatementAnswer, analyzed, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed, ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement, statements_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.sql_queries import TABLES, Queries, ddl
from support.text_pairs import faults, told_share

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from openlineage_pyspark.listener.analyze import EncodedQuery

_AT_ONCE = 10


class Comparison:
    """
    Collects what is wrong.

    Args:
        most: so many findings are printed.
    """

    def __init__(self, most: int) -> None:
        self.statements = 0
        self.found = 0
        self.shares: Counter[str] = Counter()
        self._most = most

    def take(self, batch: Sequence[StatementAnswer], tables: Mapping[str, EncodedQuery], sides: Sequence[str]) -> None:
        """Compare statements, which may tell of each other what columns their tables have."""
        self.statements += len(batch)
        expected = lineage_of_answers(batch, ())
        texts = lineage_of_answers([_refused(each, tables) for each in batch], ())
        told = {each.statement: each.lineage for each in texts}
        for each in expected:
            found = told.get(each.statement)
            if each.lineage is None:
                continue
            self.shares["statements of which nothing is told"] += found is None
            if found is None:
                continue
            self.shares.update(told_share(found, each.lineage))
            wrong = faults(found, each.lineage)
            self.found += bool(wrong)
            if wrong and self.found <= self._most:
                print(f"known: {', '.join(sides) or 'nothing'}\n{each.statement.text}", flush=True)
                print("".join(f"    {line}\n" for line in wrong), flush=True)

    def tell(self) -> int:
        """Print what was found, and return the exit code."""
        print(f"{self.statements:,} statements: {self.found} findings")
        for name, count in sorted(self.shares.items()):
            print(f"  {name}: {count:,}")
        return int(bool(self.found))


def _refused(answer: StatementAnswer, tables: Mapping[str, EncodedQuery]) -> StatementAnswer:
    """Return an answer as if Spark had refused the statement, and knew some of its tables alone."""
    told = Analyzed(answer.analyzed.kind, refusal=Refusal("REFUSED", "refused"), tables=tables)
    return attrs.evolve(answer, analyzed=told)


def of_random_statements(comparison: Comparison, count: int, seed: int, end: float) -> None:
    """Compare random statements."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    with throw_away_session({}) as spark:
        session = ScriptSession(spark, DeclaredTables())
        for each in statements_of(ddl(), "ddl.sql"):
            session.analyze(each.text)
        tables = {name: table.query for name in TABLES if (table := session.table(name)) is not None}
        while comparison.statements < 3 * count and time.monotonic() < end:
            batch = _batch(session, chance)
            some = [name for name in TABLES if chance.random() < 0.5]
            for known in ([], some, list(TABLES)):
                comparison.take(batch, {name: tables[name] for name in known}, known)


def _batch(session: ScriptSession, chance: random.Random) -> list[StatementAnswer]:
    """Return some random statements that Spark can analyze, with its answers."""
    batch: list[StatementAnswer] = []
    while len(batch) < _AT_ONCE:
        statement = ScriptStatement(Queries(chance).statement(), "f.sql", len(batch) + 1, 1)
        told = analyzed(session, statement)
        session.forget(session.whole(("made",)))
        if told.query is not None:
            batch.append(StatementAnswer(statement, told))
    return batch


def of_files(comparison: Comparison, paths: Collection[Path]) -> None:
    """Compare the statements of files that Spark can analyze."""
    answers = answers_of(scripts_now(list(paths)), Given())
    comparison.take([each for each in answers if each.analyzed.query is not None], {}, [])


def main() -> int:
    """Compare as many statements as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=500, help="so many random statements")
    parser.add_argument("--files", nargs="+", type=Path, default=[], help="the statements of these instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600, help="so long at most")
    parser.add_argument("--findings", type=int, default=20, help="print so many at most")
    options = parser.parse_args()
    comparison = Comparison(options.findings)
    if options.files:
        of_files(comparison, options.files)
    else:
        end = time.monotonic() + 60 * options.minutes
        of_random_statements(comparison, options.statements, options.seed, end)
    return comparison.tell()


if __name__ == "__main__":
    sys.exit(main())
