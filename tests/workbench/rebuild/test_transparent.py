"""Which scripts are compared write by write: those whose plans show everything that decides what they write."""

from __future__ import annotations

import attrs
import pytest
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.rebuild.transparent import is_transparent, unseen_code, user_code

COUNTED = """
def log(message):
    print("at", message, flush=True)
def keep(message): kept.append(message)
def error(self, number): self.number = number
def check(number): assert number

def main(df):
    {statement}
    df.write.saveAsTable("t")
"""
BRANCHES = """
import sys

def mask(value):
    {body}

def publish(df):
    df.write.saveAsTable("p")

mode = sys.argv[1]
names = {{"a": 1}}
if mode == "full":
    rate = {rate}
else:
    rate = 1
{line}
"""


def code(text: str, lines: range | list[int] | None = None):
    found = user_code({"job.py": text}, {"job.py": range(1, 100) if lines is None else lines})
    assert found is not None
    return found


def noted(line: int, problem: str = "", hidden: str = "") -> StatementLineage:
    at = ScriptStatement("", "job.py", line, 1)
    said = Problem("job.py", line, 1, problem, "") if problem else None
    return StatementLineage(at, problem=said, is_of_rows=not problem and not hidden, hidden=hidden)


@pytest.mark.parametrize(
    "statement",
    [
        "print(df.count())",
        'print(f"{df.count():,} rows")',
        'log(f"{df.where(x > 1).count()} rows")',
        "logger.info('%s', df.first())",
        "df.count()",
        "n = df.count(); print(n)",
        "n = len(df.collect()); log(str(n)); print('again', n)",
    ],
)
def test_a_value_of_rows_that_is_only_printed_decides_nothing(statement: str) -> None:
    assert is_transparent(code(COUNTED.format(statement=statement)), [noted(9), noted(9, "STAND_IN")])


@pytest.mark.parametrize(
    "statement",
    [
        "n = df.count()\n    df = df.limit(n)\n    print(n)",
        "df = df.limit(df.count())",
        "keep(df.count())",
        "kept.append(df.count())",
        "print(n := df.count())",
        "print(publish(df.count()))",
        "self.error(df.count())",
        "print(df.count()); df = df.limit(df.count())",
        "print(df.count(), file=target)",
        "print(max(df.collect(), key=keep))",
        "check(df.count())",
        "n = df.count(); print(n); print(locals())",
        "self.n = df.count()",
        "n, m = df.count(), 1",
        "names[0] = df.first()",
        "return df.count()",
        "log(df.rdd.map(lambda x: x).sumOf())",
    ],
)
def test_a_value_of_rows_that_may_be_used_decides_anything(statement: str) -> None:
    assert not is_transparent(code(COUNTED.format(statement=statement)), [noted(9)])


@pytest.mark.parametrize("use", ["import counts\nlimit(counts.n)", "from counts import n as rows\nlimit(rows)"])
def test_a_value_of_rows_that_another_module_may_use_decides_anything(use: str) -> None:
    files = {"counts.py": "n = df.count()\nprint(n)", "job.py": use}
    found = [attrs.evolve(noted(1), statement=ScriptStatement("", "counts.py", 1, 1))]

    ran = {name: [1, 2] for name in files}
    used, apart = user_code(files, ran), user_code({**files, "job.py": "import counts"}, ran)

    assert used is not None
    assert apart is not None
    assert not is_transparent(used, found)
    assert is_transparent(apart, found)


@pytest.mark.parametrize("problem", ["DECISION", "PATTERN", "UNKNOWN_TABLE", "NOT_DONE", "SCRIPT_FAILED", "HANDLED"])
def test_what_a_dry_run_does_not_know_decides_anything(problem: str) -> None:
    assert not is_transparent(code("print(df.count())"), [noted(1, problem)])


def test_what_no_plan_shows_decides_anything() -> None:
    assert is_transparent(code("x = 1"), [])
    assert not is_transparent(code("x = 1"), [noted(1, hidden="the batches of a stream")])


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "from uuid import uuid4 as name",
        "if os.path.exists(path): pass",
        "exec(text)",
        "df._jdf.show()",
        "spark.sparkContext._jsc.hadoopConfiguration().set('a', 'b')",
        "spark.range(sc.defaultParallelism)",
        "from concurrent.futures import ThreadPoolExecutor",
        "import secrets as s",
    ],
)
def test_code_that_differs_in_each_run_or_leaves_the_plans_decides_anything(line: str) -> None:
    assert not is_transparent(code(line), [])


def test_a_module_that_can_not_be_read_or_is_not_at_hand_decides_anything() -> None:
    assert user_code({"job.py": "x ="}, {}) is None
    assert user_code({"job.py": "x = 1"}, {"job.py": [1], "/lib/other.py": [1]}) is None


def unseen(lines: list[int], body: str = "return value", rate: str = "2", line: str = "x = 1") -> str:
    return unseen_code(code(BRANCHES.format(body=body, rate=rate, line=line), lines))


def test_code_that_did_not_run_counts_as_written_if_it_could_touch_a_table_or_take_another_way() -> None:
    ran = [2, 4, 7, 10, 11, 12, 15, 16]
    base = unseen(ran)

    # It ran, or it is the body of a function that only workers call.
    assert unseen(ran, line="x = 2") == base
    assert unseen(ran, body="return value + 1") == base
    # The branch that was not taken, and a function that reads a table.
    assert unseen(ran, rate="3") != base
    assert unseen(ran, body="return spark.table(value)") != base
    # A choice on one line: with other arguments, another part of it counts.
    for line in ("x = 1 if mode else 2", "x = mode or 1", 'x = {"dev": 1}[mode]', "x = [n for n in y if n != mode]"):
        assert unseen(ran, line=line) != base
    assert unseen(ran, line="if mode: x = 3") != unseen(ran, line="if mode: x = 4")


def test_what_code_that_did_not_run_refers_to_counts() -> None:
    text = (
        "import sys\nRATE = 2\nOTHER = 2\ndef part(df):\n    return df.limit(RATE)\n"
        "if sys.argv[9:]:\n    OTHER, df = 4, part(df)"
    )
    ran = [1, 2, 3, 4, 6]
    base = unseen_code(code(text, ran))

    assert unseen_code(code(text.replace("OTHER = 2", "OTHER = 3"), ran)) == base
    assert unseen_code(code(text.replace("RATE = 2", "RATE = 3"), ran)) != base
    assert unseen_code(code(text.replace("df.limit", "df.tail"), ran)) != base


def test_choices_count_only_where_a_script_gets_values_from_outside() -> None:
    one, two = (unseen_code(code(f"x = {{'a': {n}}}[name]")) for n in (1, 2))
    assert one == two
