"""
Change single lines of the installed package, and tell which changes the tests notice.

    python benchmarks/mutants.py --count 60 --seed 1 -- tests -m "not spark and not slow" -n 2

The changes are spread over the modules by a seed: a comparison is turned round, a `not` is taken away or put before a
condition, `and` becomes `or`, a truth value the other one, a number one more. What follows `--` goes to pytest, which
runs for each change and stops at the first failure. With `--contexts FILE`, a file of coverage.py that knows which test
ran which line (`--cov-context=test`), the tests that ran the line are asked first.
`--only` asks for changes by their numbers, to try other tests on what others did not notice.

The package is changed where it is installed, and put back; run it in an environment of its own.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import attrs

COMPARISONS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
PATIENCE_SECONDS = 1800
NOT_COLLECTED = "pytest ended with 4"
"""A named test could not be collected: that says nothing about the change, unless all tests fail so."""
LARGEST_QUESTION = 400
"""So many tests are asked by name at most; more are asked file by file."""


@attrs.frozen
class Change:
    """
    One changed place.

    Args:
        module: the file, below the package.
        line: where it stands, from 1.
        begin: offset of the replaced text in the file, in characters.
        end: offset of what follows it.
        text: what stands there instead.
    """

    module: str
    line: int
    begin: int
    end: int
    text: str


def package() -> Path:
    """Return the folder of the installed package; the tree itself is never changed."""
    found = importlib.util.find_spec("openlineage_pyspark")
    if found is None or found.origin is None or "site-packages" not in found.origin:
        raise SystemExit("mutants: the package is not installed in this environment: install the wheel")
    return Path(found.origin).parent


def replaced(node: ast.AST) -> tuple[ast.expr, str] | None:
    """Return what of a node is changed, and into which text; None where nothing is."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return node, f"({left} {COMPARISONS[type(node.ops[0])]} {right})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node, f"({ast.unparse(node.operand)})"
    if isinstance(node, ast.BoolOp):
        other = " or " if isinstance(node.op, ast.And) else " and "
        return node, f"({other.join(f'({ast.unparse(value)})' for value in node.values)})"
    if isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(node.test, ast.Name | ast.Attribute):
        return node.test, f"(not {ast.unparse(node.test)})"
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node, str(not node.value if isinstance(node.value, bool) else node.value + 1)
    return None


def changes_of(text: str, module: str) -> list[Change]:
    """Return all changes that can be made in a module."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = []
    for place, new in filter(None, map(replaced, ast.walk(ast.parse(text)))):
        begin = at(place.lineno, place.col_offset)
        end = at(place.end_lineno or place.lineno, place.end_col_offset or place.col_offset)
        if text[begin:end] != "TYPE_CHECKING":
            found.append(Change(module, place.lineno, begin, end, new))
    return found


def chosen(folder: Path, count: int, seed: int) -> list[Change]:
    """Return changes, each in another module; large modules are chosen more often."""
    chance = random.Random(seed)  # noqa: S311 (a choice of tests)
    modules = {
        path: found
        for path in sorted(folder.rglob("*.py"))
        if (found := changes_of(path.read_text("utf-8"), str(path.relative_to(folder))))
    }
    order = sorted(modules, key=lambda path: -(chance.random() ** (1 / len(modules[path]))))
    return [chance.choice(modules[path]) for path in order[:count]]


def tests_of(contexts: Path, change: Change) -> list[str]:
    """Return the tests that ran the line of a change, as coverage.py's file knows them; those of few lines first."""
    with sqlite3.connect(f"{contexts.resolve().as_uri()}?mode=ro", uri=True) as known:
        rows = known.execute(
            "SELECT context.context, arc.fromno, arc.tono FROM arc JOIN file ON file.id = arc.file_id "
            "JOIN context ON context.id = arc.context_id WHERE file.path LIKE ? AND ? IN (arc.fromno, arc.tono)",
            (f"%/openlineage_pyspark/{change.module}", change.line),
        ).fetchall()
    return sorted({name.partition("|")[0] for name, _, _ in rows} - {""})


def noticed(arguments: list[str]) -> str:
    """Run pytest until the first failure, and return what failed; nothing where all passed."""
    # The package may not work at all, so its bytecode must not be kept either.
    command = [sys.executable, "-IBm", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return "it did not end"
    if done.returncode in (0, 5):
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else f"pytest ended with {done.returncode}"


def put(path: Path, text: str) -> None:
    """Write a file of the installed package anew: an installer may have linked it to the one in its cache."""
    path.unlink()
    path.write_text(text, "utf-8")


def tried(folder: Path, change: Change, arguments: list[str], contexts: Path | None) -> str:
    """Make a change, ask the tests, and put the text back."""
    path = folder / change.module
    text = path.read_text("utf-8")
    changed = text[: change.begin] + change.text + text[change.end :]
    ast.parse(changed)
    first = tests_of(contexts, change) if contexts is not None else []
    try:
        put(path, changed)
        for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            cached.unlink()
        if len(first) > LARGEST_QUESTION:
            first = sorted({name.partition("::")[0] for name in first})
        by = noticed(first) if first else ""
        return by if by and by != NOT_COLLECTED else noticed(arguments)
    finally:
        put(path, text)


def main() -> None:
    """Make the changes one after the other, and print each with what noticed it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    parser.add_argument("--only", type=lambda text: {int(n) for n in text.split(",")}, help="their numbers, as 3,17")
    parser.add_argument("--contexts", type=Path, help="the file of coverage.py")
    parser.add_argument("--output", type=Path, help="a file for the findings, as JSON")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest")
    asked = parser.parse_args()
    folder = package()
    findings = []
    for number, change in enumerate(chosen(folder, asked.count, asked.seed)):
        if asked.only is not None and number not in asked.only:
            continue
        begin = time.monotonic()
        by = tried(folder, change, asked.pytest, asked.contexts)
        old = (folder / change.module).read_text("utf-8")[change.begin : change.end]
        print(f"{number:3} {change.module}:{change.line} {old!r} -> {change.text!r}")
        print(f"    {by or 'NOT NOTICED'} ({time.monotonic() - begin:.0f} s)", flush=True)
        findings.append({"number": number, "place": f"{change.module}:{change.line}", "noticed": by})
    missed = [each["number"] for each in findings if not each["noticed"]]
    print(f"{len(findings) - len(missed)} of {len(findings)} noticed; not: {','.join(map(str, missed))}")
    if asked.output:
        asked.output.write_text(json.dumps(findings, indent=1), "utf-8")


if __name__ == "__main__":
    main()
