"""
Compare what the texts of random statements tell with what Spark tells of the same statements.

    ./run truth text_pairs --statements 2000 --seed 1

Spark analyzes each statement with all tables declared. Then the same statements are read as if Spark had refused them,
once with no table known and once with some. An edge that the text has and Spark does not is wrong, and so is a column
that the text tells without one of the sources that Spark has for it. The exit code is 1 if something was found; what
the text leaves out, and says so, is counted alone.
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
from openlineage_pyspark.workbench.predict.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, analyzed, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed, ScriptSession, throw_away_session
from openlineage_pyspark.workbench.predict.statements import ScriptStatement, statements_of
from support.sql_queries import TABLES, Queries, ddl
from support.text_pairs import faults, told_share

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openlineage_pyspark.listener.analyze import EncodedQuery


def refused(answer: StatementAnswer, tables: Mapping[str, EncodedQuery], known: Collection[str]) -> StatementAnswer:
    """Return an answer as if Spark had refused the statement, and knew some of its tables alone."""
    shown = {name: query for name, query in tables.items() if name in known}
    told = Analyzed(answer.analyzed.kind, refusal=Refusal("REFUSED", "refused"), tables=shown)
    return attrs.evolve(answer, analyzed=told)


def main() -> int:
    """Compare as many statements as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=500, help="so many statements that Spark can analyze")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600, help="so long at most")
    parser.add_argument("--findings", type=int, default=20, help="print so many at most")
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 (no secret)
    end, found, tried, refusals = time.monotonic() + 60 * options.minutes, 0, 0, 0
    shares: Counter[str] = Counter()
    with throw_away_session({}) as spark:
        session = ScriptSession(spark, DeclaredTables())
        for each in statements_of(ddl(), "ddl.sql"):
            session.analyze(each.text)
        tables = {name: table.query for name in TABLES if (table := session.table(name)) is not None}
        while tried < options.statements and time.monotonic() < end:
            batch = []
            while len(batch) < 10:
                text = Queries(chance).statement()
                told = analyzed(session, ScriptStatement(text, "f.sql", len(batch) + 1, 1))
                for name in ("made", "one", "two"):
                    session.forget(session.whole((name,)))
                if told.query is None:
                    refusals += 1
                    shares[told.refusal.code if told.refusal is not None else "no query"] += 0
                    if options.findings > 1000:
                        print(f"{told.refusal and told.refusal.message[:100]}\n  {text}")
                    continue
                batch.append(StatementAnswer(ScriptStatement(text, "f.sql", len(batch) + 1, 1), told))
            tried += len(batch)
            some = {name for name in TABLES if chance.random() < 0.5}
            sides = {"nothing known": (), "some known": some, "all known": tuple(TABLES)}
            right = lineage_of_answers(batch, ())
            for side, known in sides.items():
                texts = lineage_of_answers([refused(each, tables, known) for each in batch], ())
                by_line = {each.statement.line: each.lineage for each in texts}
                for expected in right:
                    lineage = by_line.get(expected.statement.line)
                    if expected.lineage is None or lineage is None:
                        shares[f"{side}: nothing"] += 1
                        continue
                    shares.update({f"{side}: {name}": n for name, n in told_share(lineage, expected.lineage).items()})
                    wrong = faults(lineage, expected.lineage)
                    found += bool(wrong)
                    if wrong and found <= options.findings:
                        print(f"{side} ({', '.join(sorted(known))}): {expected.statement.text}", flush=True)
                        print("".join(f"    {each}\n" for each in wrong), flush=True)
    print(f"{tried:,} statements, of {tried + refusals:,}: {found} findings")
    for name, count in sorted(shares.items()):
        print(f"  {name}: {count:,}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
