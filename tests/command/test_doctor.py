"""`doctor`, on machines made of files, on the one that the tests run on, and on a real receiver."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
from openlineage_pyspark.command import surroundings
from openlineage_pyspark.command.diagnosis import NOTE, OK, PROBLEM, WARNING
from openlineage_pyspark.command.spark_conf import properties
from openlineage_pyspark.command.spark_place import SparkPlace, find_spark
from openlineage_pyspark.transport import Event
from openlineage_pyspark.transport.spool import Spool

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
CANARY = "hunter2butlonger"


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Leave out what the machine has configured; a job would start in the folder that is given."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def doctor(run):
    """Give what runs the command: exit code, what was found by subject, the keys, and all of the output."""

    def call(*conf):
        code, shown, errors = run("doctor", *(part for pair in conf for part in ("-c", pair)))
        found, keys, _ = shown.split("\n\n")
        rows = {}
        for line in found.splitlines()[1:]:
            level, subject, text, *_ = [*re.split(r"  +", line.strip(), maxsplit=2), "", ""]
            if level in (OK, NOTE, WARNING, PROBLEM):
                rows.setdefault(subject, []).append((level, text))
        set_keys = [re.split(r"  +", line.strip()) for line in keys.splitlines()[2:]]
        return code, rows, set_keys, shown + errors

    return call


FILE = ("spark.openlineage.transport.type=file", "spark.openlineage.transport.location=lineage.ndjson")


def test_a_job_that_will_have_lineage_is_found_to_be_well(doctor, machine):
    code, found, keys, shown = doctor(*FILE)

    assert code == 0
    assert {level for rows in found.values() for level, _ in rows} == {OK, NOTE}
    assert found["Python"] == [(OK, f"{'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}")]
    version = metadata.version("openlineage-pyspark")
    assert found["package"][0][1].startswith(f"openlineage-pyspark {version} with openlineage-python 1.")
    assert found["Spark"][0][1].startswith(f"{metadata.version('pyspark')}, ")
    assert found["configuration"] == [(OK, "lineage is asked for, by transport file")]
    assert found["receiver"] == [(OK, f"file {machine}/lineage.ndjson can be written")]
    assert found["spool"] == [(NOTE, "off, as this transport needs none")]
    assert keys == [
        ["spark.openlineage.transport.location", "<not shown>", "--conf"],
        ["spark.openlineage.transport.type", "file", "--conf"],
    ]
    assert shown.endswith("\n\nno problems\n")


def test_without_a_transport_there_is_no_lineage_and_the_remedy_is_said(doctor):
    code, found, keys, shown = doctor()

    assert code == 1
    assert found["configuration"] == [(PROBLEM, "no transport is set, so that there is no lineage")]
    assert "-> Set spark.openlineage.transport.type in spark-defaults.conf, openlineage.yml or by --conf" in shown
    assert keys == [["none"]] or keys == []
    assert shown.endswith("\n\n1 problem\n")


def test_each_key_is_told_with_its_source_and_the_strongest_one_holds(doctor, machine, monkeypatch):
    conf = machine / "conf"
    conf.mkdir()
    defaults = conf / "spark-defaults.conf"
    defaults.write_text("# mine\nspark.master local[2]\nspark.openlineage.namespace  from_defaults\n"
                        "spark.openlineage.appName=weaker\n")  # fmt: skip
    yml = machine / "openlineage.yml"
    yml.write_text("transport: {type: file, location: x.ndjson}\nreads: {enabled: true}\nnamespace: weakest\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    monkeypatch.setenv("OPENLINEAGE__FLUSH__TIMEOUT_IN_MILLIS", "500")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.openlineage.appName=submitted pyspark-shell")

    code, _, keys, _ = doctor("spark.openlineage.strict=true")

    assert code == 0
    assert keys == [
        ["spark.openlineage.appName", "submitted", "PYSPARK_SUBMIT_ARGS"],
        ["spark.openlineage.flush.timeoutInMillis", "500", "OPENLINEAGE__FLUSH__TIMEOUT_IN_MILLIS"],
        ["spark.openlineage.namespace", "from_defaults", str(defaults)],
        ["spark.openlineage.reads.enabled", "True", str(yml)],
        ["spark.openlineage.strict", "true", "--conf"],
        ["spark.openlineage.transport.location", "<not shown>", str(yml)],
        ["spark.openlineage.transport.type", "file", str(yml)],
    ]


def test_no_secret_is_shown_wherever_it_stands(doctor, machine, monkeypatch, receiver):
    """Not even where it is in a place in which it has no business."""
    (machine / "openlineage.yml").write_text(
        f"transport: {{headers: {{X-Key: {CANARY}1}}, urlParams: {{token: {CANARY}2}}}}\n"
        f"job: {{documentation: {CANARY}3}}\n"
    )
    monkeypatch.setenv("OPENLINEAGE_API_KEY", f"{CANARY}4")
    receiver.status, receiver.text = 403, f"{CANARY}5 is refused"

    code, _, keys, shown = doctor(
        "spark.openlineage.transport.type=http",
        f"spark.openlineage.transport.url={receiver.url}",
        "spark.openlineage.transport.auth.type=api_key",
        f"spark.openlineage.transport.auth.apiKey={CANARY}5",
        f"spark.openlineage.flush.timeoutInMillis={CANARY}6",
        f"spark.openlineage.disabled={CANARY}7",
        f"spark.openlineage.nonsense={CANARY}8",
        f"spark.hadoop.fs.s3a.secret.key={CANARY}9",
    )

    assert code == 1
    assert CANARY not in shown
    assert ["spark.openlineage.nonsense", "<unknown key>", "--conf"] in keys
    assert ["spark.openlineage.disabled", "<not usable>", "--conf"] in keys
    assert ["spark.openlineage.transport.auth.type", "api_key", "--conf"] in keys


def test_a_wrong_argument_is_not_repeated(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("doctor", "--conf", CANARY)

    errors = capsys.readouterr().err
    assert errors.endswith("argument --conf/-c: must be KEY=VALUE, with a key that begins with spark.\n")
    assert CANARY not in errors


def test_a_misspelt_key_and_a_misspelt_option_are_told_the_nearest(doctor):
    code, found, _, _ = doctor(*FILE, "spark.openlineage.namespce=x", "spark.openlineage.transport.rotate.maxByte=1")

    assert code == 0
    assert (
        WARNING,
        "spark.openlineage.namespce is unknown and has no effect; did you mean spark.openlineage.namespace?",
    ) in found["configuration"]
    assert found["transport"] == [
        (
            WARNING,
            (
                "spark.openlineage.transport.rotate.maxByte is unknown to the file transport and has no effect; "
                "did you mean spark.openlineage.transport.rotate.maxBytes?"
            ),
        )
    ]


def test_lineage_that_is_switched_off_is_a_problem_with_its_source(doctor, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")

    code, found, _, _ = doctor(*FILE)

    assert code == 1
    assert found["configuration"] == [(PROBLEM, "lineage is switched off (OPENLINEAGE_DISABLED)")]


def test_a_job_that_has_the_java_listener_is_left_to_it(doctor):
    code, found, _, shown = doctor(
        *FILE,
        f"spark.extraListeners=a.B,{LISTENER}",
        "spark.jars.packages=io.openlineage:openlineage-spark_2.13:1.40.0",
    )

    assert code == 1
    assert found["Java listener"] == [
        (PROBLEM, "spark.extraListeners names it (--conf), and the job is left to it"),
        (NOTE, "spark.jars.packages brings its jar (--conf), which is not needed"),
    ]
    assert f"-> Take {LISTENER} out of spark.extraListeners." in shown


def over_http(receiver, *more):
    return ("spark.openlineage.transport.type=http", f"spark.openlineage.transport.url={receiver.url}", *more)


KEY = ("spark.openlineage.transport.auth.type=api_key", f"spark.openlineage.transport.auth.apiKey={CANARY}")


@pytest.mark.parametrize("status", [200, 400, 405])
def test_a_receiver_that_answers_is_asked_once_with_the_login_and_gets_no_event(doctor, receiver, status):
    receiver.status = status

    code, found, _, _ = doctor(*over_http(receiver, *KEY))

    assert code == 0
    asked = f"GET {receiver.url}/api/v1/lineage was answered with {status}"
    assert found["receiver"] == [(OK, f"{asked}, so that it is there and did not refuse the login")]
    assert [(method, path, headers["Authorization"], body) for method, path, headers, body in receiver.received] == [
        ("GET", "/api/v1/lineage", f"Bearer {CANARY}", b"")
    ]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "See transport.auth.type and the key or secret that goes with it."),
        (403, "See transport.auth.type and the key or secret that goes with it."),
        (503, "See the receiver's own log. With a spool, events wait until it takes them."),
    ],
)
def test_a_receiver_that_refuses_is_a_problem(doctor, receiver, status, remedy):
    receiver.status, receiver.text = status, f"go away, {CANARY}"

    code, found, _, shown = doctor(*over_http(receiver, *KEY))

    assert code == 1
    assert found["receiver"] == [(PROBLEM, f"{receiver.url}/api/v1/lineage answered {status}: go away, ***")]
    assert f"-> {remedy}" in shown


def test_an_address_that_is_not_there_is_doubted(doctor, receiver):
    """It may be that the receiver knows no GET; that its path is wrong is more likely."""
    receiver.status = 404

    code, found, _, _ = doctor(*over_http(receiver, "spark.openlineage.transport.endpoint=api/v2/lineag"))

    assert code == 0
    asked = f"GET {receiver.url}/api/v2/lineag was answered with 404"
    assert found["receiver"] == [(WARNING, f"{asked}: there may be no receiver at this address")]


def test_nobody_at_the_address_is_a_problem(doctor, nobody):
    code, found, _, shown = doctor("spark.openlineage.transport.type=http", f"spark.openlineage.transport.url={nobody}")

    assert code == 1
    assert found["receiver"] == [(PROBLEM, f"{nobody}/api/v1/lineage can't be reached (Connection refused)")]
    assert "-> See transport.url, the network and whether the receiver runs." in shown


def test_each_part_of_a_composite_transport_is_asked(doctor, receiver):
    transports = "spark.openlineage.transport.transports"
    code, found, _, _ = doctor(
        "spark.openlineage.transport.type=composite",
        f"{transports}.a.type=http", f"{transports}.a.url={receiver.url}",
        f"{transports}.b.type=file", f"{transports}.b.location=x.ndjson",
        f"{transports}.c.type=console",
    )  # fmt: skip

    assert code == 0
    assert [(level, text.split(" ", 1)[0]) for level, text in found["receiver"]] == [
        (OK, "GET"),
        (OK, "file"),
        (NOTE, "ConsoleTransport:"),
    ]


def test_an_unusable_option_is_a_problem_with_what_to_do(doctor, machine):
    folder = machine / "folder"
    folder.mkdir()

    code, found, _, _ = doctor(
        "spark.openlineage.transport.type=file", f"spark.openlineage.transport.location={folder}"
    )

    assert code == 1
    assert found["transport"] == [
        (
            PROBLEM,
            (
                f"spark.openlineage.transport.location is '{folder}', which can't be written (Is a directory). "
                "Name a file that this user may write."
            ),
        )
    ]
    assert "receiver" not in found


def test_a_location_that_only_the_driver_can_reach_is_not_called_wrong(doctor):
    code, found, _, _ = doctor(
        "spark.openlineage.transport.type=file", "spark.openlineage.transport.location=s3a://bucket/lineage"
    )

    assert code == 0
    assert found["receiver"] == [
        (NOTE, "a location that begins with s3a: is reached by the driver's own Hadoop client, and not from here")
    ]


def spool_with(root, destination, *, dead=False):
    spool = Spool.create(root, destination)
    number = spool.append(Event("a", "START", b"{}"))
    if dead:
        spool.bury(number, "refused", "")
    spool.close()


def test_what_lies_in_the_spool_is_told_with_what_to_do(doctor, receiver, tmp_path):
    root = tmp_path / "spool"
    here = f"{receiver.url}/api/v1/lineage"
    conf = over_http(receiver, f"spark.openlineage.spool.path={root}")

    assert doctor(*conf)[1]["spool"] == [(OK, f"{root}: nothing waits")]
    assert not root.exists()
    spool_with(root, here)
    spool_with(root, "http://elsewhere/api/v1/lineage")
    code, found, _, shown = doctor(*conf)
    assert (code, found["spool"]) == (
        0,
        [
            (WARNING, f"{root}: 1 events wait that earlier applications left"),
            (WARNING, f"{root}: 1 events wait for other receivers than this one"),
        ],
    )
    assert "-> The next application ships them, or do so now: openlineage-pyspark replay" in shown
    spool_with(root, here, dead=True)
    code, found, _, _ = doctor(*conf)
    assert code == 1
    assert found["spool"][-1] == (PROBLEM, f"{root}: 1 events were refused for good")
    assert receiver.events == []


def test_a_spool_that_is_switched_off_or_can_not_be_written_is_told(doctor, receiver, machine):
    code, found, _, _ = doctor(*over_http(receiver, "spark.openlineage.spool.path=none"))
    assert code == 0
    assert found["spool"][0][0] == WARNING

    (machine / "file").write_text("")
    code, found, _, _ = doctor(*over_http(receiver, f"spark.openlineage.spool.path={machine}/file/spool"))
    assert code == 1
    assert found["spool"] == [(PROBLEM, f"{machine}/file/spool can't be written: events are held in memory alone")]


def spark_of(folder, *jars, package="4.1.0"):
    """Make a folder that looks like a Spark of some jars."""
    (folder / "jars").mkdir(parents=True)
    for jar in jars:
        (folder / "jars" / jar).write_bytes(b"")
    return SparkPlace(folder, package, folder)


def levels(found):
    return [(each.subject, each.level) for each in found]


def test_spark_is_known_by_its_jars(tmp_path):
    good = spark_of(tmp_path / "good", "spark-core_2.13-4.1.0.jar", "janino-3.1.9.jar")
    assert levels(surroundings.look_at_spark(good, {}, {})) == [("PySpark", OK), ("Spark", OK)]

    old = spark_of(tmp_path / "old", "spark-core_2.12-3.3.1.jar", "janino-3.0.16.jar", package="3.5.9")
    assert levels(surroundings.look_at_spark(old, {}, {})) == [
        ("PySpark", OK), ("Spark", PROBLEM), ("versions", WARNING),
    ]  # fmt: skip
    new = spark_of(tmp_path / "new", "spark-core_2.13-5.0.0.jar", package="5.0.0.dev1")
    assert levels(surroundings.look_at_spark(new, {}, {})) == [
        ("PySpark", OK), ("Spark", WARNING), ("Janino", PROBLEM),
    ]  # fmt: skip
    both = spark_of(
        tmp_path / "both", "spark-core_2.13-4.1.0.jar", "janino-3.1.9.jar", "openlineage-spark_2.13-1.40.0.jar"
    )
    assert levels(surroundings.look_at_spark(both, {}, {}))[-1] == ("Java listener", NOTE)


def test_a_python_without_spark_and_a_client_of_spark_connect_are_problems(tmp_path):
    assert levels(surroundings.look_at_spark(SparkPlace(None, None, None), {}, {})) == [("PySpark", PROBLEM)]
    client = SparkPlace(tmp_path, "4.1.0", tmp_path)
    assert levels(surroundings.look_at_spark(client, {}, {})) == [("PySpark", OK), ("Spark", PROBLEM)]
    assert levels(surroundings.look_at_spark(client, {}, {"SPARK_REMOTE": "sc://x"})) == [
        ("PySpark", OK), ("Spark Connect", PROBLEM),
    ]  # fmt: skip


def test_the_spark_that_pyspark_would_start_is_found(tmp_path):
    own = find_spark({})
    assert own.home == own.package
    assert own.package_version == own.version == metadata.version("pyspark")
    assert own.jar_version("janino")
    assert find_spark({"SPARK_HOME": str(tmp_path)}).home == tmp_path


def java_of(folder, version):
    """Make a Java that tells its version and can do nothing else."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    ("spark", "java", "level"),
    [
        ("3.5.9", "1.8.0_402", OK),
        ("3.5.9", "17.0.15", OK),
        ("3.5.9", "24", PROBLEM),
        ("4.0.5", "11.0.2", PROBLEM),
        ("4.0.5", "24.0.1", PROBLEM),
        ("4.3.0", "17", OK),
        ("4.3.0", "25.0.1", OK),
        ("4.3.0", "unheard of", PROBLEM),
    ],
)
def test_java_is_judged_by_what_the_spark_runs_on(tmp_path, spark, java, level):
    place = spark_of(tmp_path / "spark", f"spark-core_2.13-{spark}.jar")

    found = surroundings.look_at_java(place, java_of(tmp_path / "java", java))

    assert found.level == level
    assert found.found.startswith(f"{java}, {tmp_path}/java/bin/java by JAVA_HOME")
    assert bool(found.remedy) == (level == PROBLEM)


def test_a_java_that_is_not_there_or_does_not_run_is_a_problem(tmp_path):
    place = spark_of(tmp_path / "spark", "spark-core_2.13-4.0.0.jar")
    remedy = "Install Java 17 or newer, up to 23, or set JAVA_HOME to it."

    nowhere = surroundings.look_at_java(place, {"PATH": str(tmp_path)})
    assert (nowhere.level, nowhere.found) == (PROBLEM, "JAVA_HOME is not set, and there is no java on the PATH")
    assert nowhere.remedy == remedy
    wrong = surroundings.look_at_java(place, {"JAVA_HOME": str(tmp_path)})
    assert wrong.level == PROBLEM
    assert wrong.found == f"{tmp_path}/bin/java by JAVA_HOME can't be run (No such file or directory)"


def test_a_driver_of_another_python_is_named_and_one_of_the_same_environment_is_not():
    spark = SparkPlace(None, None, None)
    other = [*surroundings.look_at_python(spark, {}, {"PYSPARK_DRIVER_PYTHON": "/bin/sh"})]
    assert levels(other) == [("Python", OK), ("driver's Python", WARNING)]
    assert other[1].remedy.endswith("/bin/sh -m openlineage_pyspark doctor")

    beside = str(Path(sys.executable).with_name("openlineage-pyspark"))
    for environ in ({"PYSPARK_PYTHON": sys.executable}, {"PYSPARK_DRIVER_PYTHON": beside}):
        assert levels(surroundings.look_at_python(spark, {}, environ)) == [("Python", OK)]
    conf = {"spark.pyspark.driver.python": sys.executable}
    assert levels(surroundings.look_at_python(spark, conf, {"PYSPARK_PYTHON": "/bin/sh"})) == [("Python", OK)]


WITHOUT_HOOK = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__module__", "") != "site"]
from openlineage_pyspark.command.main import main
sys.exit(main(["doctor", "-c", "spark.openlineage.transport.type=console", *sys.argv[1:]]))
"""


def test_a_hook_that_does_not_act_is_a_problem_and_a_launcher_is_none(process):
    """As in an editable install, or where .pth files are not read."""
    code, shown, _ = process(sys.executable, "-c", WITHOUT_HOOK)
    assert code == 1
    assert re.search("problem +hook +not active, so that configuration alone does nothing", shown)

    launcher = "spark.pyspark.driver.python=/opt/bin/openlineage-pyspark-python"
    code, shown, _ = process(sys.executable, "-c", WITHOUT_HOOK, "-c", launcher)
    assert code == 0
    assert re.search("ok +hook +brought by the launcher, which spark.pyspark.driver.python names", shown)


def test_the_module_is_the_command(machine, process):
    """For the interpreter that one means, whatever is on the PATH."""
    (machine / "openlineage.yml").write_text("transport: {type: console}\n")

    code, shown, errors = process(sys.executable, "-m", "openlineage_pyspark", "doctor")

    assert (code, errors) == (0, "")
    assert shown.endswith("\n\nno problems\n")
    version = f"openlineage-pyspark {metadata.version('openlineage-pyspark')}\n"
    assert process(sys.executable, "-m", "openlineage_pyspark", "--version") == (0, version, "")


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("a b", ("a", "b")),
        ("a=b", ("a", "b")),
        ("  a : b = c", ("a", "b = c")),
        ("a\t\tb c", ("a", "b c")),
        ("a", ("a", "")),
        ("a\\=b=c", ("a=b", "c")),
        ("a=\\u00e4\\tb", ("a", "ä\tb")),
        ("a=b,\\\n   c", ("a", "b,c")),
        ("a=b\\\\", ("a", "b\\")),
    ],
)
def test_a_properties_file_is_read_as_java_does(text, pair):
    assert [*properties(f"# no\n! neither\n\n{text}\r\n")] == [pair]


def test_a_properties_file_that_is_not_there_is_told(run, tmp_path):
    code, shown, _ = run("doctor", "--properties-file", str(tmp_path / "absent"), "-c", FILE[0], "-c", FILE[1])

    assert code == 0
    assert f"warning  Spark's defaults  {tmp_path}/absent is not there" in shown
