"""
Mutate statements in files of 50, ask `lineage` about each file, and print what no file may do.

    ./run truth sql_files --statements 20000 --seed 1

Every second statement of a file is mutated. No file may end with a traceback, and each other statement must have the
answer that it has without the mutants. The exit code is 1 if something was found.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from openlineage_pyspark.workbench.predict.scripts import (
    StatementAnswer,
    StatementLineage,
    guarded_analysis,
    lineage_of_answers,
)
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.sql_mutants import DDL, file_of, mutated


def _answers(session: ScriptSession, text: str) -> list[StatementLineage]:
    statements = statements_of(text, "f.sql")
    answers = [StatementAnswer(each, guarded_analysis(session, each)) for each in statements]
    return list(lineage_of_answers(answers, ()))


def _by_text(found: list[StatementLineage]) -> dict[str, str]:
    return {each.statement.text: f"{each.lineage}\n{each.problem and each.problem.message}" for each in found}


def main() -> int:
    """Mutate as many statements as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=1000, help="so many mutated statements")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600, help="so long at most")
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 (no secret)
    end, tried, found = time.monotonic() + options.minutes * 60, 0, 0
    with throw_away_session({}) as spark:
        while tried < options.statements and time.monotonic() < end:
            # Each session forgets the tables of the one before.
            session = ScriptSession(spark.newSession(), DeclaredTables())
            for declared in statements_of(DDL, "ddl.sql"):
                guarded_analysis(session, declared)
            statements = file_of(chance)
            expected = _by_text(_answers(session, ";\n".join(statements)))
            for _ in range(10):
                text = {at: mutated(each, chance) if at % 2 else each for at, each in enumerate(statements)}
                tried += len(text) // 2
                try:
                    told = _by_text(_answers(session, ";\n".join(text.values())))
                except Exception as problem:  # noqa: BLE001 (that is what is looked for)
                    found += 1
                    traceback.print_exc()
                    print(f"{type(problem).__name__}: {problem}\n  in {text}")
                    continue
                kept = [each for at, each in text.items() if not at % 2 and each in told]
                wrong = [each for each in kept if told[each] != expected[each]]
                faults = [f"{each}\n{answer}" for each, answer in told.items() if "this program fails" in answer]
                for each in faults:
                    print(each)
                for each in wrong[:1]:
                    print(f"{each!r}:\n{told[each]}\n  instead of\n{expected[each]}\n  in {text}")
                found += len(faults) + len(wrong)
    print(f"{tried:,} mutated statements in files of 50: {found} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
