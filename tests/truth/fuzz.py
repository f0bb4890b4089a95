"""
Run every command on mutated events, stores and arguments, and print what no command may do.

    ./run truth fuzz --events 100000 --seed 1

The exit code is 1 if something was found. A finding names its round, whose files are kept in the folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.fuzzing import Finding, Fuzzer


def main() -> int:
    """Run rounds until there were as many mutated events as were asked for, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1000, help="so many mutated events")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first round")
    parser.add_argument("--rounds", type=int, default=1_000_000_000, help="so many rounds at most")
    parser.add_argument("--minutes", type=float, default=600, help="so long at most")
    parser.add_argument("--folder", type=Path, default=None, help="where files are made; default: a new one")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fuzz-"))
    # The commands write state below the home, and ask the environment for a store.
    os.environ["HOME"] = str(folder / "home")
    os.environ.pop("OPENLINEAGE_PYSPARK_STORE", None)
    fuzzer = Fuzzer(folder / "work", options.seed)
    end = time.monotonic() + options.minutes * 60
    number = options.first
    while fuzzer.events < options.events and number < options.first + options.rounds and time.monotonic() < end:
        fuzzer.run(1, first=number)
        number += 1
    print(
        f"{number - options.first:,} rounds, {fuzzer.events:,} mutated events, {fuzzer.stores:,} mutated stores, "
        f"{fuzzer.calls:,} commands: {len(fuzzer.findings)} findings, in {folder}"
    )
    for cause, count in Counter(_cause(each) for each in fuzzer.findings).most_common():
        first = next(each for each in fuzzer.findings if _cause(each) == cause)
        print(f"\n{count} x {cause}\n  round {first.place}: {' '.join(map(repr, first.command))}\n{first.what[-3000:]}")
    return int(bool(fuzzer.findings))


def _cause(found: Finding) -> str:
    lines = [line for line in found.what.splitlines() if line.strip().startswith("File ")]
    last = found.what.strip().splitlines()[-1][:150]
    return f"{lines[-1].strip()} {last.split(':')[0]}" if lines else last


if __name__ == "__main__":
    sys.exit(main())
