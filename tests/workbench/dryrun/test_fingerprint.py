"""What tells two Python functions of a plan apart: all that decides what they return, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import types
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.dryrun.script.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BASE = """
import math
import re
LIMITS = [(0, "early"), (15, "late")]
UNITS = {"a", "b", "c"}
FORM = re.compile("a+")

def helper(x):
    return x + 1

class Rule:
    low = 3
    def __init__(self, high):
        self.high = high
    def holds(self, x):
        return self.low < x < self.high

RULE = Rule(9)

def made(factor):
    def inner(x, y=1):
        return x * factor
    return inner

def f(x):
    for limit, band in LIMITS:
        if x <= limit and x in UNITS:
            return band
    return math.sqrt(helper(x)) if RULE.holds(x) and FORM.match(str(x)) else "none"

g = made(2)
"""


def is_users(file: str) -> bool:
    return file.endswith("job.py")


def run(text: str) -> dict[str, Any]:
    module = types.ModuleType("__main__")
    exec(compile(text, "/x/job.py", "exec"), vars(module))  # noqa: S102 (the code of this test)
    return vars(module)


def of(text: str, name: str = "f") -> str:
    return fingerprint((run(text)[name], None), is_users)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\nimport math", "\n\n# A comment.\n\nimport math"),
        ("return band", "return  ( band )"),
        ("LIMITS = [", "OTHER = 5\nLIMITS = ["),
        ("g = made(2)", "g = made(3)"),
    ],
)
def test_layout_comments_and_other_code_do_not_count(old: str, new: str) -> None:
    assert of(BASE) != ""
    assert of(BASE.replace(old, new)) == of(BASE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x <= limit", "x < limit"),
        ('(15, "late")', '(16, "late")'),
        ('"c"}', '"d"}'),
        ("x + 1", "x + 2"),
        ("low = 3", "low = 4"),
        ("Rule(9)", "Rule(8)"),
        ("self.low < x", "self.low <= x"),
        ("math.sqrt", "math.floor"),
        ('"a+"', '"a*"'),
        ("import math", "import cmath as math"),
    ],
)
def test_its_code_and_all_that_it_refers_to_count(old: str, new: str) -> None:
    changed = of(BASE.replace(old, new))

    assert changed not in ("", of(BASE))


@pytest.mark.parametrize(("old", "new"), [("made(2)", "made(3)"), ("y=1", "y=2"), ("x * factor", "factor * x")])
def test_what_a_closure_has_and_its_defaults_count(old: str, new: str) -> None:
    assert of(BASE.replace(old, new), "g") not in ("", of(BASE, "g"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return getattr(x, 'a' + 'b')",
        "def f(x):\n    import job_helpers\n    return job_helpers.f(x)",
        "import threading\nLOCK = threading.Lock()\ndef f(x):\n    return LOCK",
        "def f(x):\n    return globals()[x]",
        "def f(x):\n    return open('names.csv').read()",
        "import pathlib\ndef f(x):\n    return pathlib.Path('names.csv').read_text()",
        "import linecache\ndef f(x):\n    return linecache.getline('names.csv', x)",
        "import configparser\ndef f(x):\n    return configparser.ConfigParser().read('names.ini')",
        "import xml.etree.ElementTree as tree\ndef f(x):\n    return tree.parse('names.xml')",
        pytest.param(
            "import pandas\ndef f(x):\n    return pandas.read_fwf('names.txt')",
            marks=pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed"),
        ),
        "import os\ndef f(x):\n    return os.path.exists('names.txt')",
        "def f(x: 2):\n    return f.__annotations__['x']",
        "class Names(dict):\n    pass\nNAMES = Names(a=1)\ndef f(x):\n    return NAMES[x]",
        "class Low(int):\n    def of(self, x):\n        return x + 1\nLOW = Low(3)\ndef f(x):\n    return LOW.of(x)",
        (
            "import datetime\nclass Zone(datetime.tzinfo):\n    pass\n"
            "AT = datetime.datetime(2026, 1, 1, tzinfo=Zone())\ndef f(x):\n    return AT"
        ),
    ],
)
def test_a_function_with_an_unknown_part_has_none(text: str) -> None:
    assert of(text) == ""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("NAMES = {1: 'a'}\nf = NAMES.get", "'a'", "'b'"),
        ("NAMES = {1: 'a'}\nname_of = NAMES.get\ndef f(x):\n    return name_of(x)", "'a'", "'b'"),
        ("class Low(int):\n    pass\nLOW = 3\ndef f(x):\n    return LOW", "LOW = 3", "LOW = Low(3)"),
        ("class Kind(type):\n    def low(cls): return 1\nclass Rule(metaclass=Kind): pass\ndef f(x): return Rule.low()",
         "return 1", "return 2"),
        ("def f(x):\n    y = a(x)\n    try: z = b(x)\n    except E: z = c(x)\n    return y, z",
         "    y = a(x)\n    try: z = b(x)", "    try: y = a(x); z = b(x)"),
    ],
)  # fmt: skip
def test_what_an_object_is_and_holds_counts(text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    assert of(text.replace(old, new)) != of(text)


def test_a_function_that_stands_for_another_one_has_none() -> None:
    assert fingerprint(fingerprint, is_users) == ""


def test_a_module_of_the_user_counts_as_far_as_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_module(text: str) -> str:
        module = types.ModuleType("rules")
        module.__file__ = "/x/rules_job.py"
        exec(compile(text, module.__file__, "exec"), vars(module))  # noqa: S102 (as above)
        monkeypatch.setitem(sys.modules, "rules", module)
        return of("import rules\ndef f(x):\n    return rules.low(x) + rules.STEP")

    base = with_module("STEP = 1\nOTHER = 1\ndef low(x):\n    return x")
    assert with_module("STEP = 1\nOTHER = 2\ndef low(x):\n    return x") == base
    assert with_module("STEP = 2\nOTHER = 1\ndef low(x):\n    return x") not in ("", base)
    assert with_module("STEP = 1\nOTHER = 1\ndef low(x):\n    return -x") not in ("", base)


def test_what_a_script_assigns_to_a_name_of_a_module_does_not_reach_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def with_module(name: str, text: str) -> str:
        file = tmp_path / f"{name}_job.py"
        file.write_text(text, "utf-8")
        module = types.ModuleType("rules")
        module.__file__ = str(file)
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 (as above)
        monkeypatch.setitem(sys.modules, "rules", module)
        return of("import rules\nrules.STEP = 5\nf = rules.low") + of("import rules\ndef f(x): return rules.STEP + x")

    text = "BASE = 1\nSTEP = BASE + 1\nOTHER = 1\ndef low(x):\n    return x + STEP"
    base = with_module("a", text)
    assert with_module("b", text.replace("OTHER = 1", "OTHER = 2")) == base
    for name, changed in (("c", text.replace("BASE = 1", "BASE = 2")), ("d", text.replace("BASE + 1", "BASE + 2"))):
        found = with_module(name, changed)
        assert (found[:64] == base[:64], found[64:] == base[64:], len(found)) == (False, False, 128)


def test_it_is_the_same_in_another_process() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); from test_fingerprint import *; print(of(BASE))"
    folder = __file__.rpartition("/")[0]
    found = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": n},
        ).stdout
        for n in ("1", "2", "3")
    }

    assert found == {f"{of(BASE)}\n"}


def test_a_function_that_calls_itself_or_holds_itself_ends() -> None:
    cycle: Callable[[str], str] = of
    assert cycle("def f(x):\n    return f(x - 1) if x else H[0]\nH = []\nH.append(f)") != ""


RUN = """
import sys
from openlineage_pyspark.workbench.dryrun.script.fingerprint import fingerprint
folder = sys.argv[1]
sys.path.insert(0, folder)
names = vars(sys.modules["__main__"])
exec(compile(open(f"{folder}/job.py").read(), f"{folder}/job.py", "exec"), names)
print(fingerprint(names["f"], lambda file: file.startswith(folder)))
"""


def of_files(folder: Path, texts: dict[str, str]) -> str:
    """Return the fingerprint of `f` of a script, in a process of its own."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    command = [sys.executable, "-B", "-c", RUN, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"job.py": "def f(x): return x * f.rate\nf.rate = 2"}, id="attribute of a function"),
        pytest.param(
            {"job.py": "class A:\n    def f(self, x): return x * A.f.rate\nA.f.rate = 2\nf = A().f"},
            id="attribute of a method",
        ),
        pytest.param(
            {"job.py": "import lib.rates\ndef f(x): return x * lib.rates.RATE", "lib/rates.py": "RATE = 2"},
            id="module in a folder without a file of its own",
        ),
        pytest.param(
            {"job.py": "import m\ndef f(x): return m.RATE", "m.py": "def __getattr__(name): return 2"},
            id="attribute that a module computes",
        ),
        pytest.param(
            {
                "job.py": "import m\nm.S.RATE = 9\nfrom m import f",
                "m.py": "class S:\n    RATE = 2\ndef f(x): return S.RATE",
            },
            id="class that only the driver changes",
        ),
        pytest.param(
            {
                "job.py": "import m\nm.g = abs\nfrom m import f",
                "m.py": "def g(x): return 2\ndef f(x): return g(x)",
            },
            id="function that only the driver replaces",
        ),
        pytest.param(
            {
                "job.py": "import m\nm.g = abs\nfrom m import f",
                "m.py": "def g(x):\n    from n import R\n    return R\ndef f(x): return g(x)",
                "n.py": "R = 2",
            },
            id="module that only a worker imports",
        ),
        pytest.param(
            {"job.py": "import m\nm.T['a'] = 9\nfrom m import f", "m.py": "T = {}\nT.update(a=2)\ndef f(x): return T"},
            id="dictionary that only the driver changes",
        ),
        pytest.param(
            {
                "job.py": "import p.m\np.m.R = 9\nfrom p.m import f",
                "p/__init__.py": "",
                "p/m.py": "from .n import *\ndef f(x): return R",
                "p/n.py": "R = 2",
            },
            id="constant of a further module that only the driver changes",
        ),
        pytest.param(
            {
                "job.py": "import m\nm.R = 9\nfrom m import f",
                "m.py": "import n\nR = n.R\ndef f(x): return R",
                "n.py": "R = 2",
            },
            id="constant of a module that the module imports",
        ),
    ],
)
def test_what_a_worker_sees_counts(tmp_path: Path, texts: dict[str, str]) -> None:
    before = of_files(tmp_path, texts)
    changed = {name: text.replace("2", "3") for name, text in texts.items()}
    assert texts != changed
    assert "" != before != of_files(tmp_path, changed)
    assert of_files(tmp_path, {name: f"# A comment.\n\n{text}" for name, text in texts.items()}) == before


@pytest.mark.slow
def test_a_definition_of_a_module_that_a_function_does_not_name_does_not_count(tmp_path: Path) -> None:
    texts = {"job.py": "from m import f", "m.py": "def f(x): return g(x)\ndef g(x): return 1\ndef h(x): return x"}
    before = of_files(tmp_path, texts)
    assert of_files(tmp_path, {**texts, "m.py": texts["m.py"].replace("return x", "return x + 1")}) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"job.py": "def f(x):\n    import calendar", "calendar.py": ""}, id="named as one of Python's"),
        pytest.param({"job.py": "from p.m import f", "p/m.py": "def f(x):\n    from .types import T"}, id="relative"),
        pytest.param({"job.py": "def f(x): return f.__globals__['R']"}, id="globals of a function"),
        pytest.param({"job.py": "import sys\ndef f(x): return sys.modules['m'].R"}, id="modules of Python"),
    ],
)
def test_code_that_reaches_what_its_names_do_not_show_has_none(tmp_path: Path, texts: dict[str, str]) -> None:
    assert of_files(tmp_path, texts) == ""
