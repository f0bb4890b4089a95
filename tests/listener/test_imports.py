"""What the listener imports: at once, on one thread, and so that no thread of the user's gets an error by it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support.sources import nodes_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ROOMS = ("listener", "facets", "transport")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "launch" not in path.parts)
OF_THE_JOB = {"py4j", "pyspark"}
FOREIGN = ("openlineage.", "requests", "urllib3")
ONE_THREAD_ALONE = {
    # The thread that prepares the listener, before there is another one of ours.
    *("confluent_kafka", "cryptography", "grp", "pwd", "openlineage_pyspark.transport.http"),
    *("openlineage_pyspark.listener.probe.hadoop_files", "openlineage_pyspark.transport.file.filesystem"),
    # The listener's, for a text in the SQL of another database; `import sqlglot` comes first.
    *("sqlglot", "openlineage_pyspark.facets.sql_parser", "openlineage_pyspark.facets.foreign_sql.reader"),
    "openlineage_pyspark.facets.foreign_sql.effort",
}

CIRCLES = """
import importlib, os, sys
import attrs, yaml

class Watch:
    "Tells of a module that is looked for while its import has begun already: a module of a package began it."
    @staticmethod
    def find_spec(name, path=None, target=None):
        frame, under_way = sys._getframe(1), []
        while frame is not None:
            if frame.f_code.co_name == "_find_and_load":
                under_way.append(frame.f_locals["name"])
            frame = frame.f_back
        # The modules between ours and this one; the circles of other people's own imports are not ours.
        begun = next((each for each in reversed(under_way) if not each.startswith("openlineage_pyspark")), "")
        if under_way.count(name) > 1 and f"{begun}.".startswith(f"{name}."):
            print(asked, "begins with", begun, flush=True)

sys.meta_path.insert(0, Watch)
for asked in sys.argv[1:]:
    if not os.fork():
        exec(asked)
        os._exit(0)
    assert os.wait()[1] == 0, asked
"""


def dotted(path: Path) -> str:
    """Return the full name of a module."""
    return ".".join(("openlineage_pyspark", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def named_by(node: ast.AST) -> set[str]:
    """Return the modules that an import names; none for any other statement."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or ""} if isinstance(node, ast.ImportFrom) else set()


def ran(code: str, *words: str) -> str:
    """Return what a program writes that ends well and says nothing else."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_no_package_of_ours_imports_its_own_modules() -> None:
    """It would be a circle for two threads, of which one imports the package and the other one a module of it."""
    circles = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        if path.name == "__init__.py"
        # Neither what is for types alone nor what a function does.
        for node in ast.parse(path.read_text("utf-8")).body
        for name in named_by(node)
        if name.startswith(f"{dotted(path)}.")
    ]

    assert circles == []


@pytest.mark.long
@pytest.mark.slow
def test_a_foreign_package_is_imported_before_its_modules() -> None:
    asking = [
        f"import {dotted(path)}"
        for path in MODULES
        # Those are imported by `import_all`, or on the user's thread.
        if path.parent != ROOT / "facets" / "events"
        and any(name.startswith(FOREIGN) for node in nodes_of(path) for name in named_by(node))
    ]
    all_of_them = "from openlineage_pyspark.listener.start.imports import import_all; import_all()"

    assert ran(CIRCLES, all_of_them, *asking) == ""
    # What it is about.
    assert ran(CIRCLES, "import openlineage.client.event_v2").splitlines()[0] == (
        "import openlineage.client.event_v2 begins with openlineage.client.event_v2"
    )


def test_all_that_the_listeners_threads_import_later_is_there() -> None:
    loaded = ran(
        "from openlineage_pyspark.listener.start import imports, register; imports.import_all()\n"
        "import sys; print(*sys.modules)"
    ).split()

    later = {
        f"{name} in {path.relative_to(ROOT)}"
        for path in MODULES
        if dotted(path) in loaded
        for function in nodes_of(path)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        for name in named_by(node)
        if name not in loaded and name.split(".")[0] not in OF_THE_JOB
    }
    assert {each for each in later if not each.startswith(tuple(ONE_THREAD_ALONE))} == set()


RACE = """
import importlib, os, random, sys, threading, time
from openlineage_pyspark.listener.start.imports import import_all
import attrs, yaml

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("openlineage"):
            time.sleep(random.random() / 500)

def call(function, *words):
    try:
        function(*words)
    except BaseException as problem:
        print(words, type(problem).__name__, problem, flush=True)

def race(seed):
    random.seed(seed)
    threads = [threading.Thread(target=call, args=(import_all,)) for _ in range(2)]
    threads += [threading.Thread(target=call, args=(importlib.import_module, name)) for name in sys.argv[1:]]
    random.shuffle(threads)
    for thread in threads:
        thread.start()
        time.sleep(random.choice((0, 0, 0.001, 0.05)))
    for thread in threads:
        thread.join()
    for name in list(sys.modules):
        package, _, own = name.rpartition(".")
        if package.startswith("openlineage.client") and own not in vars(sys.modules[package]):
            print(name, "is no attribute of its package", flush=True)

sys.setswitchinterval(1e-5)
sys.meta_path.insert(0, Slow)
for seed in range(3):
    if not os.fork():
        race(seed)
        os._exit(0)
    assert os.wait()[1] == 0
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ["openlineage.client.run", "openlineage_pyspark.transport.base"])
def test_threads_that_import_the_same_at_once_get_no_error(name: str) -> None:
    """Two of the listener's, and one of the user's."""
    assert ran(RACE, name) == ""


# The user's thread has begun with `openlineage.client.run` when ours, which has the package's lock, comes to it.
OTHER_WAY_ROUND = """
import sys, threading, time
from importlib.machinery import PathFinder
from openlineage_pyspark.listener.start.imports import import_all

def under_way(thread):
    frame = sys._current_frames().get(thread.ident)
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load":
            yield frame.f_locals["name"]
        frame = frame.f_back

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "openlineage.client":
            spec = PathFinder.find_spec(name, path)
            spec.loader.create_module = created
            return spec

def created(spec):
    print("made", flush=True)
    if not users.ident:
        users.start()
        while list(under_way(users)) != ["openlineage.client", "openlineage.client.run"]:
            time.sleep(0.01)
        # Until it waits for the lock.
        time.sleep(0.1)

def user():
    import openlineage.client.run
    print(openlineage.client.run.RunEvent.__name__)

users = threading.Thread(target=user)
sys.meta_path.insert(0, Finder)
import_all()
users.join()
import openlineage.client.constants
print(openlineage.client.constants.DEFAULT_TIMEOUT_MS, "openlineage_pyspark.listener.worker" in sys.modules)
"""


@pytest.mark.every_python
def test_an_import_of_the_users_the_other_way_round_succeeds_and_ours_is_done_again() -> None:
    assert ran(OTHER_WAY_ROUND) == "made\nmade\nRunEvent\n5000 True\n"
