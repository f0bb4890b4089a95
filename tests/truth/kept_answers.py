"""
Edit random files of SQL at random, and compare the answers that are kept in part with those that Spark gives anew.

    ./run truth kept_answers --edits 500 --seed 1

The two must be the same, byte by byte, after each edit. The exit code is 1 if they are not.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.workbench.predict.caching.answers import answers_of
from openlineage_pyspark.workbench.predict.caching.readings import kept_readings
from openlineage_pyspark.workbench.predict.scripts import Given, Script, lineage_of_answers
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.kept_answers import sessions_of
from support.sql_edits import edit, folder, text_of


class Told:
    """Counts about how many statements Spark is asked."""

    asked = 0

    def take(self, _done: int, whole: int) -> None:
        """Take what is told before each statement."""
        self.asked = whole


def main() -> int:
    """Edit as often as was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=100, help="so many edits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600, help="so long at most")
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311 (no secret)
    end, edits, found, asked, whole = time.monotonic() + 60 * options.minutes, 0, 0, 0, 0
    with throw_away_session({}) as spark:
        sessions = sessions_of(spark)
        while edits < options.edits and time.monotonic() < end:
            files = folder(chance)
            with tempfile.TemporaryDirectory() as kept:
                for _ in range(20):
                    scripts = [Script(name, text_of(each, chance)) for name, each in sorted(files.items())]
                    told = Told()
                    reused = answers_of(scripts, Given(), told.take, Path(kept), sessions)
                    anew = answers_of(scripts, Given(), session=sessions)
                    edits, asked, whole = edits + 1, asked + told.asked, whole + len(anew)
                    theirs = WRITERS["json"](lineage_of_answers(anew, ()))
                    with kept_readings(Path(kept)) as read:
                        ours = WRITERS["json"](lineage_of_answers(reused, (), read=read))
                    if ours != theirs:
                        found += 1
                        lines = zip(ours.split("\n"), theirs.split("\n"), strict=False)
                        first = next(pair for pair in lines if pair[0] != pair[1])
                        print(f"edit {edits}: {first[0]}\n  instead of {first[1]}\n  in {scripts}", flush=True)
                        break
                    for _ in range(chance.choice((0, 1, 1, 2, 3))):
                        edit(files, chance)
    print(f"{edits:,} edits: {found} findings; Spark was asked about {asked:,} of {whole:,} statements")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
