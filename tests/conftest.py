"""What tests of every folder share: the specification as a judge, real jobs, golden files, and one full run."""

from __future__ import annotations

import datetime as dt
import gc
import importlib.util
import logging
import os
import random
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import hypothesis
import pytest
from openlineage_pyspark.command.events.lines import FileLine
from openlineage_pyspark.command.events.validate import Check
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Statistics, Symlink
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation
from openlineage_pyspark.facets.model.run import (
    Engine,
    Failure,
    Gap,
    Job,
    Parent,
    RunInput,
    RunOutput,
    RunReference,
    RunState,
)
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.workbench.events.files import EventPlace
from openlineage_pyspark.workbench.events.rules import COMPLETENESS, ORDER
from openlineage_pyspark.workbench.events.schemas import Schemas, Shape, facets_of
from openlineage_pyspark.workbench.store_api import Store
from support import class_archive, kafka
from support import process_jvm as jvms
from support.alone import Recordings
from support.lineage_events import taken
from support.maven import fetched
from support.ports import free_ports
from support.spark_jobs import quick_jvm

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

HERE = Path(__file__).parent
FETCHED = HERE.parent / ".nox" / "spec"
DEAREST = (
    # First those without a JVM: meanwhile the classes are archived with which a JVM starts faster.
    *("workbench/recovery/killed", "workbench/dryrun/guard", "lineage/recorded_plans", "workbench/store/event_texts"),
    *("workbench/store/answers", "workbench/recovery/recovery_histories", "facets/sql_tables"),
    *("workbench/store/ingest", "lineage/versions", "workbench/predict/command", "lineage/delta", "lineage/golden"),
    *("listener/live_canary", "listener/live_queries", "lineage/iceberg", "workbench/page/browser", "tpc/tpc"),
    *("documents", "lineage/stream_batches", "listener/live_sources", "listener/protocol"),
    *("workbench/dryrun/real_scripts", "listener/probe", "listener/live_endings", "listener/live_register"),
    "lineage/statement_paths",
)
"""The files of tests that take longest, as their durations say (`./run test --durations=0`)."""
SPECIFICATION = FETCHED if FETCHED.is_dir() else HERE.parents[1] / "shared" / "spec"
"""The folder `spec` of the OpenLineage repository. It is no part of this one: `./run schemas` fetches it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regold", action="store_true", help="write the golden files from what the code gives")
    parser.addoption("--marquez", action="store_true", help="run the tests on a real Marquez, and no others")
    parser.addoption("--all", action="store_true", help="run the long tests too, and all examples of Hypothesis")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files and tests in another order")


# How long an example takes depends on the machine.
hypothesis.settings.register_profile("all", deadline=None)
hypothesis.settings.register_profile("some", deadline=None, max_examples=15)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let the processes that the tests start hear Ctrl-C, which a shell has its background jobs ignore."""
    hypothesis.settings.load_profile("all" if config.getoption("--all") else "some")
    if config.getoption("--all"):
        os.environ[class_archive.GENERATE] = "1"
    # What is collected stays.
    gc.disable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(quick_jvm())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Have one process more than there are processors: many tests wait for a moment."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Leave the tests themselves, which stay to the end, out of each further garbage collection."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    transport = f"{HERE / 'transport'}{os.sep}"
    for item in items:
        if "real_spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if str(item.path).startswith(transport):
            # Threads, certificates and sockets are what a new Python changes.
            item.add_marker(pytest.mark.every_python)
    if not config.getoption("--all"):
        long: list[pytest.Item] = []
        kept: list[pytest.Item] = []
        for item in items:
            (long if item.get_closest_marker("long") else kept).append(item)
        config.hook.pytest_deselected(items=long)
        items[:] = kept
    items[:] = _in_order(items, config.getoption("--shuffle"))
    on_marquez = [item for item in items if item.get_closest_marker("marquez")]
    if config.getoption("--marquez"):
        config.hook.pytest_deselected(items=[item for item in items if item not in on_marquez])
        items[:] = on_marquez
    else:
        for item in on_marquez:
            item.add_marker(pytest.mark.skip(reason="it needs --marquez: a Marquez server is started, and PostgreSQL"))


def _in_order(items: Sequence[pytest.Item], seed: int | None) -> list[pytest.Item]:
    """
    Put the dearest files first, then the others with a Spark, or shuffle files and tests.

    At the end the workers then share what is quick, and none ends long after the others.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    if seed is None:
        ordered = sorted(files.values(), key=_begins_late)
    else:
        chance = random.Random(seed)  # noqa: S311 (an order of tests)
        ordered = list(files.values())
        chance.shuffle(ordered)
        for tests in ordered:
            chance.shuffle(tests)
    return [item for tests in ordered for item in tests]


def _begins_late(tests: Sequence[pytest.Item]) -> tuple[int, bool]:
    """Return what is larger for the tests of a file that begin later."""
    name = tests[0].path.relative_to(HERE).with_suffix("").as_posix().replace("test_", "")
    place = DEAREST.index(name) if name in DEAREST else len(DEAREST)
    return place, not any(each.get_closest_marker("spark") for each in tests)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what tests have measured. None of them asserts how long something takes."""
    reports = terminalreporter.getreports("passed")
    measured = [f"{name}: {value}" for report in reports for name, value in report.user_properties]
    if measured:
        terminalreporter.section("measured")
        for line in measured:
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _own_log_lines() -> Iterator[None]:
    """Take off the filter that a test put on the package's loggers: it stays for the rest of the process."""
    yield
    for name, logger in logging.Logger.manager.loggerDict.items():
        if name.split(".")[0] == "openlineage_pyspark" and isinstance(logger, logging.Logger):
            logger.filters.clear()


@pytest.fixture(scope="session")
def real_spark() -> None:
    """Mark as `spark` the tests that ask for it; each fixture that starts a Spark, or imports PySpark, does."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.fail("PySpark is not installed: `./run test` has it, `./run test --fast` has not")


@pytest.fixture(scope="session")
def git() -> str:
    """Give the program git, which a folder without a repository does not need."""
    found = shutil.which("git")
    if found is None:
        pytest.skip("git is not installed")
    return found


@pytest.fixture(scope="session")
def is_all(request: pytest.FixtureRequest) -> bool:
    """Give whether everything is tried, and not a share of it."""
    return bool(request.config.getoption("--all"))


@pytest.fixture(scope="session")
def alone(request: pytest.FixtureRequest, *, is_all: bool) -> Recordings:
    """Give what tells what a job gives without the listener."""
    regold = request.config.getoption("--regold")
    return Recordings(anew=regold or is_all, regold=regold)


@pytest.fixture(scope="module")
def process_jvm(real_spark: None) -> Any:
    """Give the gateway of this process's JVM, for sessions of its own; no property of an earlier one is in it."""
    return jvms.started()


@pytest.fixture(scope="module")
def packaged(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Give what fetches the jars that a format needs on the installed Spark: `spark.jars`, or a skip that says why."""
    import pyspark

    def fetch(by_spark: dict[str, tuple[str, ...]]) -> str:
        artifacts = by_spark.get(pyspark.__version__[:3])
        if artifacts is None:
            known = ", ".join(sorted({one for each in by_spark.values() for one in each}))
            pytest.skip(f"{known}: the tests know no version for Spark {pyspark.__version__}")
        return ",".join(str(fetched(artifact, tmp_path_factory.mktemp("maven"))) for artifact in artifacts)

    return fetch


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka.Broker]:
    """Give a real Kafka broker; it starts once, with the first test that asks for it."""
    pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no java command, which runs the broker")
    jars = kafka.jars(tmp_path_factory.mktemp("broker"))
    port, controller = free_ports(2)
    broker = kafka.Broker(jars, tmp_path_factory.mktemp("kafka"), port, controller)
    broker.prepare()
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def violations() -> Callable[[list[dict]], list[str]]:
    """Give the check of the command `validate`: events of whole runs in, what breaks a rule out."""
    shape = Shape()

    def broken(events: list[dict]) -> list[str]:
        check = Check(shape)
        for number, event in enumerate(events, 1):
            check.add(FileLine(EventPlace("events", number), event))
        # The command allows them; whoever expects them takes them out before.
        repeats = [f"{check.repeats} events came twice"] if check.repeats else []
        return repeats + [
            f"run {found.run_id} of {found.job}: {found.problem}"
            if found.rule in (ORDER, COMPLETENESS)
            else f"{found.job}: {found.problem}"
            for found in check.findings()
        ]

    return broken


class Specification:
    """The specification's JSON Schemas, and what facets are expected to have none."""

    WITHOUT_SCHEMA = frozenset(
        ("RunFacet", name)
        for name in (
            *("spark_properties", "spark_applicationDetails", "pyspark_event", "pyspark_metrics"),
            *("pyspark_micro_batches", "pyspark_submission", "pyspark_call_site", "pyspark_session"),
        )
    ) | {
        ("DatasetFacet", name)
        for name in ("pyspark_snapshot", "pyspark_lineage_steps", "pyspark_name", "pyspark_replaced")
    }

    def __init__(self) -> None:
        self.schemas = Schemas(SPECIFICATION)

    def violations(self, events: list[dict], custom: Collection[tuple[str, str]] = ()) -> list[str]:
        """Give what the schemas have against some events; nothing where they are right.

        Args:
            events: as parsed from JSON.
            custom: entity and name of facets that may stand there without a schema of their own.
        """
        expected = {*self.schemas.by_facet, *self.WITHOUT_SCHEMA, *custom}
        found = []
        for event in events:
            found += self.schemas.problems(event)
            for entity, name in sorted({key for _, key, _ in facets_of(event)} - expected):
                message = f"{name}: no schema for a {entity} of this name"
                found += [] if any(message in said for said in found) else [message]
        return found


@pytest.fixture(scope="session")
def specification_folder() -> Path:
    """Give the folder of the specification's JSON Schemas; skip where it is absent."""
    if not SPECIFICATION.is_dir():
        pytest.skip("OpenLineage's JSON Schemas are not here: ./run schemas fetches them")
    return SPECIFICATION


@pytest.fixture(scope="session")
def specification(specification_folder: Path) -> Specification:
    """Give the JSON Schemas; `specification.violations(events)` is empty where events are valid."""
    return Specification()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Give a check of a text against tests/golden/<name>, which `--regold` writes instead."""

    def check(name: str, text: str) -> None:
        file = HERE / "golden" / name
        if request.config.getoption("--regold"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"{file} is missing: run pytest with --regold, then read what it wrote"
        assert text == file.read_text(encoding="utf-8")

    return check


ORDERS = Dataset(
    identifier=Identifier("s3://shop", "warehouse/orders"),
    fields=(
        Field("id", "bigint", description="the order's number"),
        Field("amount", "decimal(10,2)"),
        Field(
            "buyer",
            "struct",
            fields=(
                Field("name", "string"),
                Field("phones", "array", fields=(Field("_element", "string"),)),
                Field("marks", "map", fields=(Field("key", "string"), Field("value", "int"))),
            ),
        ),
    ),
    symlinks=(Symlink("hive://metastore:9083", "shop.orders"),),
    catalog=Catalog("hive", "hive", "spark_catalog", "thrift://metastore:9083", "s3://shop/warehouse"),
    storage_layer="default",
    file_format="parquet",
    type="TABLE",
    description="one row an order",
)
RATES = Dataset(
    identifier=Identifier("file", "/data/rates"),
    fields=(Field("day", "date"), Field("rate", "double")),
)
TOTALS = Dataset(
    identifier=Identifier("file", "/data/totals"),
    fields=(Field("buyer", "string"), Field("total", "double"), Field("made_by", "string")),
    type="FILE",
)


def _edge(dataset: Dataset, field: str, *ways: Transformation) -> InputField:
    return InputField(dataset.identifier, field, ways)


TOTALS_LINEAGE = ColumnLineage(
    columns=(
        OutputColumn("buyer", (_edge(ORDERS, "buyer.name", Transformation("DIRECT", "IDENTITY")),)),
        OutputColumn(
            "total",
            (
                _edge(RATES, "rate", Transformation("DIRECT", "AGGREGATION", "sum(amount * rate)")),
                _edge(
                    ORDERS,
                    "amount",
                    Transformation("DIRECT", "AGGREGATION", "sum(amount * rate)"),
                    Transformation("INDIRECT", "CONDITIONAL", "amount > 0"),
                ),
            ),
        ),
        OutputColumn("made_by", ()),
    ),
    dataset=(
        _edge(ORDERS, "buyer.name", Transformation("INDIRECT", "GROUP_BY", "buyer.name")),
        _edge(ORDERS, "id", Transformation("INDIRECT", "FILTER", "id > 7", masking=True)),
    ),
)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Give what makes a store of events in a file."""
    stores: list[Store] = []

    def fill(*events: dict[str, Any]) -> Store:
        taken(tmp_path / "store.db", list(events))
        stores.append(Store.open(tmp_path / "store.db"))
        return stores[-1]

    yield fill
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def full_run() -> tuple[RunState, RunState]:
    """Give the START and the FAIL of one run that has something to say in every facet."""
    application = RunReference("0190a000-0000-7000-8000-000000000001", "shop", "nightly")
    start = RunState(
        event_type="START",
        event_time=dt.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=dt.timezone.utc),
        run_id="0190a000-0000-7000-8000-000000000002",
        job=Job(
            "shop",
            "nightly.insert_into_hadoop_fs_relation_command.data_totals",
            "SQL_JOB",
            sql="INSERT OVERWRITE ...",
            source_location="file:///jobs/nightly.py",
        ),
        engine=Engine(
            "4.3.0",
            application=(("master", "local[2]"), ("appName", "nightly"), ("applicationId", "local-1")),
            properties=(("spark.master", "local[2]"), ("spark.app.name", "nightly")),
        ),
        parent=Parent(application, RunReference("0190a000-0000-7000-8000-000000000000", "airflow", "dag")),
        inputs=(RunInput(ORDERS), RunInput(RATES)),
        outputs=(RunOutput(TOTALS, lifecycle="OVERWRITE", lineage=TOTALS_LINEAGE),),
        gaps=(Gap("MyOperator", "all inputs are taken to reach all outputs"),),
        session=StatementSession(
            (("spark.sql.ansi.enabled", "true"), ("spark.sql.session.timeZone", "Europe/Rome")), "", "mart"
        ),
        operators=9,
    )
    end = attrs.evolve(
        start,
        event_type="FAIL",
        event_time=start.event_time + dt.timedelta(seconds=2),
        inputs=(RunInput(ORDERS, Statistics(rows=10, bytes=2048, files=1)), RunInput(RATES, Statistics(rows=3))),
        outputs=(attrs.evolve(start.outputs[0], statistics=Statistics(rows=4, bytes=512, files=2)),),
        failure=Failure("no space left", "JAVA", "java.io.IOException: no space left"),
    )
    return start, end
