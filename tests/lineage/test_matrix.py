"""Each source and sink is one dataset: it is written one way, and read every other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support import kafka, s3
from support.lakes import LAKE_CONF, LAKE_JARS
from support.maven import fetched_with_all
from support.postgres import DRIVER, postgres
from support.spark_jobs import SPARK_VERSION, Jobs
from support.table_services import Service, metastore, rest_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
ROWS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "matrix.yaml").read_text("utf-8"))
PAGE = HERE.parent.parent / "docs" / "matrix.md"
LAKES = [name for name, row in ROWS.items() if row.get("needs") in ("Delta Lake", "Iceberg")]
IN_SERVICE = {"hive_thrift": metastore, "iceberg_hive": metastore, "iceberg_rest": rest_catalog}
SERVED = ("hive", "kafka", "s3", "hudi", "avro", "postgres", "sqlite", *IN_SERVICE)
SINCE_4 = ("python", "xml")
SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
HUDI = {"3.5": ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2",)}
PLAIN = [name for name in ROWS if name not in (*LAKES, *SERVED, *(SINCE_4 if SPARK_VERSION < "4" else ()))]
MISSING = """
## What is not in the table

- **`CREATE TABLE` in Iceberg's `hive` and `rest` catalogs** has the table's name in the catalog, because the service
  chooses the place ([limits.md](limits.md)). A table there can't be read by its path: only the catalog knows which file
  of its metadata is current.
- **MongoDB, Snowflake**: their connectors, without a server, on Spark 3.5 (tests/lineage/test_connectors.py).
- **BigQuery, Cassandra, Elasticsearch, ClickHouse, Redshift, Cosmos DB, Kusto** were not tried on their connectors.
  Tests without a Spark hold their names (tests/facets/test_placed.py).
- **MariaDB** and other databases: tests without a driver or a server hold the names that follow from their URLs
  (tests/facets/test_naming.py).
- **Sockets, joins of streams and state**: tests/lineage/test_streams.py.
- **Declarative pipelines** (`spark-pipelines`): tests/lineage/test_pipelines.py.
- **Instants of Hudi** are in no event, neither of writes nor of reads and time travel: only the table's files state
  what a write has made ([limits.md](limits.md)).
- **Streams that read Hudi** have its table or the folders of its files, and no columns ([limits.md](limits.md)).
- **State stores** (`statestore`) have the folder of their operator in the checkpoint: tests/lineage/test_streams.py.
- **rate, rate-micro-batch**: what they read is no dataset.
"""


class Ran:
    """The events of a run of the rows, and the folder of what they wrote."""

    def __init__(self, jobs: Jobs, kinds: list[str], conf: dict[str, str], **words: str) -> None:
        """Run the rows of some kinds; words are those in their names, and variables of the job."""
        conf = {"spark.sql.shuffle.partitions": "1", **conf}
        done = jobs.run("matrix.py", *kinds, conf=conf, environment={name.upper(): words[name] for name in words})
        assert done.code == 0, done.stdout + done.stderr[-3000:]
        self.lake, self.job = done.folder, done
        self.words = {"lake": str(self.lake), **words}
        self.done = [event for event in done.queries() if event["eventType"] == "COMPLETE"]

    def expected(self, row: str) -> tuple[str, str]:
        namespace, name = ROWS[row].get("name") or ("file", f"{{lake}}/things/{row}")
        return namespace.format(**self.words), name.format(**self.words)

    def reads(self, row: str) -> dict[str, dict[str, Any]]:
        """Give the one input of each way of reading a row, by the way."""
        found = {}
        for event in self.done:
            for output in event["outputs"]:
                kind, bar, way = output["name"].rpartition("/sinks/")[2].partition("|")
                if bar and kind == row:
                    (found[way],) = event["inputs"]
        return found

    def outputs(self, row: str) -> list[dict[str, Any]]:
        """Give the outputs that are a row's thing: all whose names end as the right one does, in any case."""

        def last(name: str) -> str:
            return re.split(r"[/.]", name)[-1].lower()

        outputs = (o for event in self.done for o in event["outputs"] if "/sinks/" not in o["name"])
        return [output for output in outputs if last(output["name"]) == last(self.expected(row)[1])]

    def writes(self, row: str) -> set[tuple[str, str]]:
        """Give the names under which a row's thing is written."""
        return set(map(named, self.outputs(row)))

    def links(self, row: str) -> tuple[tuple[str, str], ...]:
        """Give the symlinks of a row's thing in a statement that names its table."""
        return tuple((namespace.format(**self.words), name) for namespace, name in ROWS[row].get("links", ()))


def named(dataset: dict[str, Any]) -> tuple[str, str]:
    return dataset["namespace"], dataset["name"]


def linked(dataset: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(map(named, dataset["facets"].get("symlinks", {}).get("identifiers", ())))


def page() -> str:
    """Give docs/matrix.md."""
    lines = [
        "# One name for each source and sink",
        "",
        "Each row is written in one way and read in every other on a real Spark; all events have one name for it, and",
        "those of statements that name its table have that as a symlink.",
        "[tests/lineage/test_matrix.py](../tests/lineage/test_matrix.py) runs the rows and holds this page.",
        "",
        "| What | Written by | Read by | Its name | Its table | Needs |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in ROWS.items():
        place = " ".join(row["name"]) if "name" in row else f"file {{lake}}/things/{name}"
        table = ", ".join(f"`{' '.join(link)}`" for link in row.get("links", ()))
        told = (row["thing"], row.get("written", ""), ", ".join(row["ways"]), f"`{place}`", table, row.get("needs", ""))
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join([*lines, ""]) + MISSING


def test_the_page_has_the_rows(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--regold"):
        PAGE.write_text(page(), "utf-8")
    assert PAGE.read_text("utf-8") == page()


@pytest.fixture(scope="module")
def plain(real_spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(Jobs(HERE / "jobs", tmp_path_factory.mktemp), PLAIN, {})


@pytest.fixture(scope="module")
def lakes(packaged: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    catalog = {
        "spark.sql.catalog.other": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.other.type": "hadoop",
        "spark.jars": packaged(LAKE_JARS),
    }
    return Ran(Jobs(HERE / "jobs", tmp_path_factory.mktemp), LAKES, {**LAKE_CONF, **catalog})


@pytest.fixture
def served(
    request: pytest.FixtureRequest, packaged: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Ran]:
    """Give what runs a row that needs a service, or jars of its own."""
    jobs = Jobs(HERE / "jobs", tmp_path_factory.mktemp)

    def run(row: str) -> Ran:
        if row == "kafka":
            broker = request.getfixturevalue("broker")
            broker.create("things")
            jars = f"{packaged(kafka.CONNECTOR)},{broker.jars / f'kafka-clients-{kafka.VERSION}.jar'}"
            return Ran(jobs, [row], {"spark.jars": jars}, broker=broker.address)
        if row == "s3":
            server = request.getfixturevalue("s3_server")
            client = s3.CLIENT.get(SPARK_VERSION[:3])
            if client is None:
                pytest.skip(f"the tests know no client of S3 for Spark {SPARK_VERSION}")
            folder = fetched_with_all(
                f"s3a/{SPARK_VERSION[:3]}", client, tmp_path_factory.mktemp("m"), without=s3.NOT_NEEDED
            )
            return Ran(jobs, [row], {**server.conf, "spark.jars": ",".join(map(str, folder.iterdir()))})
        if row == "hudi":
            conf = {
                "spark.jars": packaged(HUDI),
                "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
                "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
                "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            }
            return Ran(jobs, [row], conf)
        if row == "postgres":
            port = request.getfixturevalue("postgres_server")
            return Ran(jobs, [row], {"spark.jars": packaged({SPARK_VERSION[:3]: (DRIVER,)})}, port=str(port))
        if row in ("avro", "sqlite"):
            scala = "2.13" if SPARK_VERSION >= "4" else "2.12"
            jar = SQLITE if row == "sqlite" else f"org.apache.spark:spark-avro_{scala}:{SPARK_VERSION}"
            return Ran(jobs, [row], {"spark.jars": packaged({SPARK_VERSION[:3]: (jar,)})})
        if row in IN_SERVICE:
            service = request.getfixturevalue("service")
            conf = conf_of(row, service, packaged)
            return Ran(jobs, [row], conf, warehouse=str(service.warehouse), port=str(service.port))
        derby = tmp_path_factory.mktemp("metastore") / "derby"
        conf = {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={derby};create=true",
        }
        return Ran(jobs, [row], conf)

    return run


@pytest.fixture
def service(row: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give the real service that keeps the tables of a row."""
    with IN_SERVICE[row](tmp_path_factory.mktemp) as running:
        yield running


def conf_of(row: str, service: Service, packaged: Callable[..., str]) -> dict[str, str]:
    """Give the properties of the catalog that a service keeps."""
    if row == "hive_thrift":
        return {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": service.thrift}
    catalog = f"spark.sql.catalog.{row}"
    return {
        "spark.jars": packaged({spark: jars[2:] for spark, jars in LAKE_JARS.items()}),
        "spark.sql.extensions": LAKE_CONF["spark.sql.extensions"].partition(",")[0],
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": row.partition("_")[2],
        f"{catalog}.uri": service.rest if row == "iceberg_rest" else service.thrift,
        f"{catalog}.warehouse": str(service.warehouse),
        # The metastore has no tables for its locks.
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    }


@pytest.fixture
def postgres_server() -> Iterator[int]:
    """Give the port of a real PostgreSQL."""
    with postgres() as port:
        yield port


@pytest.fixture
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.Server]:
    """Give a real server of S3."""
    with s3.serving(tmp_path_factory.mktemp) as server:
        yield server


def check(ran: Ran, row: str, *others: str) -> None:
    one, reads = ran.expected(row), {way: found for way, found in ran.reads(row).items() if way not in others}
    assert {way: named(dataset) for way, dataset in reads.items()} == dict.fromkeys(ROWS[row]["ways"], one)
    links, by_name = ran.links(row), ROWS[row].get("by_name", ())
    assert {way: linked(dataset) for way, dataset in reads.items()} == {
        way: links if way in by_name else () for way in reads
    }
    assert {linked(dataset) for dataset in ran.outputs(row) if named(dataset) == one} <= {links, ()}


@pytest.mark.any_spark
@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in PLAIN if row != "days_of_files"])
def test_a_thing_has_one_name_however_it_is_written_and_read(plain: Ran, row: str) -> None:
    check(plain, row, "another place")
    assert plain.writes(row) == {plain.expected(row)}


@pytest.mark.any_spark
@pytest.mark.long
def test_files_that_others_write_have_the_name_of_their_folder_whatever_day_it_is(plain: Ran) -> None:
    check(plain, "days_of_files")


@pytest.mark.any_spark
@pytest.mark.long
@pytest.mark.skipif(SPARK_VERSION < "4", reason="there are no data sources in Python before Spark 4")
def test_another_place_of_the_same_source_is_another_dataset_and_no_login_is_told(plain: Ran) -> None:
    other = plain.reads("python")["another place"]
    assert named(other) == ("datasource:PythonTable", "acme(endpoint=https://erp, table=invoices)")
    assert other["facets"]["pyspark_name"]["certainty"] == "guessed"
    assert "canary" not in (plain.job.folder / "events.ndjson").read_text("utf-8")


@pytest.mark.any_spark
@pytest.mark.long
def test_events_are_whole(plain: Ran, violations: Callable[[Any], list[str]]) -> None:
    assert violations(plain.job.events()) == []


@pytest.mark.long
@pytest.mark.parametrize("row", SERVED)
def test_a_thing_of_a_service_has_one_name_however_it_is_written_and_read(
    served: Callable[[str], Ran], row: str, violations: Callable[[Any], list[str]]
) -> None:
    ran = served(row)
    check(ran, row)
    # Iceberg's service chooses the place of a table while CREATE TABLE runs.
    created = {(row, "db.thing")} if row.startswith("iceberg") else set()
    assert ran.writes(row) == {ran.expected(row), *created}
    assert violations(ran.job.events()) == []


@pytest.mark.own_jvm
@pytest.mark.long
@pytest.mark.parametrize("row", LAKES)
def test_a_table_of_a_lake_has_one_name_however_it_is_written_and_read(lakes: Ran, row: str) -> None:
    check(lakes, row, "snapshots", "snapshots by path")
    others = {("file", f"{lakes.lake}/other_ice/db/thing")} if row == "iceberg" else set()
    assert lakes.writes(row) - others == {lakes.expected(row)}


@pytest.mark.own_jvm
@pytest.mark.long
def test_tables_of_one_name_in_two_catalogs_have_two_jobs_and_tables_about_tables_their_own_name(lakes: Ran) -> None:
    jobs: dict[str, set[str]] = {}
    for event in lakes.done:
        for output in event["outputs"]:
            jobs.setdefault(event["job"]["name"], set()).add(output["name"])
    assert {name: outputs for name, outputs in jobs.items() if len(outputs) > 1} == {}
    reads = lakes.reads("iceberg")
    about = ("file", f"{lakes.lake}/ice/db/thing#snapshots")
    assert [named(reads[way]) for way in ("snapshots", "snapshots by path")] == [about, about]
