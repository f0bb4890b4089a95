"""`doctor` on what is configured: keys on machines made of files, a real receiver, a real spool."""

from __future__ import annotations

import pytest
from openlineage_pyspark.command.doctor import delivery as doctor_delivery
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.spool.store import Spool

pytestmark = [pytest.mark.spark, pytest.mark.any_spark, pytest.mark.usefixtures("wide")]

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
CANARY = "hunter2butlonger"
FILE = ("spark.openlineage.transport.type=file", "spark.openlineage.transport.location=lineage.ndjson")


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
        ["spark.openlineage.transport.location", "x.ndjson", str(yml)],
        ["spark.openlineage.transport.type", "file", str(yml)],
    ]


def test_no_secret_is_shown_wherever_it_stands(doctor, machine, monkeypatch, receiver):
    """This holds even for a secret in an option that is not for secrets."""
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


def test_a_login_in_a_namespace_or_a_path_is_not_shown(doctor):
    _, _, keys, shown = doctor(
        f"spark.openlineage.namespace=https://alice:{CANARY}1@host/x",
        f"spark.openlineage.parentJobNamespace=airflow://{CANARY}2@host",
        f"spark.openlineage.appName=password={CANARY}3",
    )

    assert CANARY not in shown
    assert ["spark.openlineage.namespace", "https://***@host/x", "--conf"] in keys
    assert ["spark.openlineage.parentJobNamespace", "airflow://***@host", "--conf"] in keys


@pytest.mark.parametrize("name", ["type", "auth.type", "compression"])
def test_a_key_in_an_option_that_takes_a_word_is_not_shown(doctor, receiver, name):
    """A secret may be in the wrong option, which shows any other word."""
    _, found, keys, output = doctor(*over_http(receiver), f"spark.openlineage.transport.{name}={CANARY}")

    assert CANARY not in output
    assert [f"spark.openlineage.transport.{name}", "<not shown>", "--conf"] in keys
    shown = "<not shown>" if name == "type" else "http"
    assert found["configuration"] == [(OK, f"lineage is switched on, with the transport {shown}")]


def test_the_words_that_an_option_takes_are_shown(doctor, receiver):
    _, _, keys, _ = doctor(*over_http(receiver, *KEY), "spark.openlineage.transport.compression=gzip")

    assert {tuple(key) for key in keys} >= {
        ("spark.openlineage.transport.type", "http", "--conf"),
        ("spark.openlineage.transport.auth.type", "api_key", "--conf"),
        ("spark.openlineage.transport.compression", "gzip", "--conf"),
    }


def test_misspelled_words_are_shown_in_keys_and_findings_alike(doctor, receiver):
    _, found, keys, _ = doctor("spark.openlineage.transport.type=fil")
    assert ["spark.openlineage.transport.type", "fil", "--conf"] in keys
    assert found["configuration"] == [(OK, "lineage is switched on, with the transport fil")]

    _, found, keys, _ = doctor(*over_http(receiver), "spark.openlineage.transport.auth.type=apikey")
    assert ["spark.openlineage.transport.auth.type", "apikey", "--conf"] in keys
    ((level, said),) = found["transport"]
    assert (level, "transport.auth.type is 'apikey', unknown. Did you mean 'api_key'?" in said) == (PROBLEM, True)


def test_the_words_of_a_part_of_a_composite_transport_are_shown(doctor):
    part = "spark.openlineage.transport.transports.marquez"
    _, _, keys, shown = doctor(
        "spark.openlineage.transport.type=composite",
        f"{part}.type=http",
        f"{part}.url=http://localhost:1",
        f"{part}.auth.type=api_key",
        f"{part}.auth.apiKey={CANARY}",
    )

    assert CANARY not in shown
    assert [f"{part}.type", "http", "--conf"] in keys
    assert [f"{part}.auth.type", "api_key", "--conf"] in keys


def test_what_one_looks_for_is_shown_without_the_credentials_in_it(doctor, monkeypatch):
    """Addresses, paths and tags are shown. A login in any value is removed."""
    monkeypatch.setenv("MY_TOKEN", f"{CANARY}1")
    _, _, keys, shown = doctor(
        "spark.openlineage.transport.type=http",
        f"spark.openlineage.transport.url=http://bo:{CANARY}@localhost:1/x?key={CANARY}",
        "spark.openlineage.transport.endpoint=api/v2/lineage",
        f"spark.openlineage.transport.urlParams.url={CANARY}",
        "spark.openlineage.job.tags=team:sales;pii",
        f"spark.openlineage.namespace=http://bo:{CANARY}@db/shop",
        f"spark.openlineage.parentJobName=job-{CANARY}1",
    )

    assert CANARY not in shown
    assert {key.removeprefix("spark.openlineage."): value for key, value, _ in keys} == {
        "job.tags": "team:sales;pii",
        "namespace": "http://***@db/shop",
        "parentJobName": "job-***",
        "transport.endpoint": "api/v2/lineage",
        "transport.type": "http",
        "transport.url": "http://localhost:1/x",
        "transport.urlParams.url": "<not shown>",
    }


def test_a_misspelt_type_of_the_transport_is_told_the_nearest(doctor):
    code, found, _, _ = doctor("spark.openlineage.transport.typ=file", FILE[1])

    assert code == 1
    assert found["configuration"] == [
        (
            WARNING,
            (
                "spark.openlineage.transport.typ is unknown and has no effect; "
                "did you mean spark.openlineage.transport.type?"
            ),
        ),
        (PROBLEM, "no transport is set, so there is no lineage"),
    ]


@pytest.mark.parametrize("prefix", ["", "openlineage."])
def test_a_key_without_its_prefix_is_told_the_whole_one(run, capsys, prefix):
    with pytest.raises(SystemExit, match="2"):
        run("doctor", "--conf", f"{prefix}transport.url=http://bo:{CANARY}@host")

    errors = capsys.readouterr().err
    assert errors.endswith("begins with 'spark.'; did you mean spark.openlineage.transport.url?\n")
    assert CANARY not in errors


def test_a_receiver_that_hangs_is_a_problem_before_the_jobs_own_timeout(doctor, receiver, monkeypatch):
    monkeypatch.setattr(doctor_delivery, "_REACH_SECONDS", 0.2)
    receiver.gate.clear()

    code, found, _, _ = doctor(*over_http(receiver))

    receiver.gate.set()
    assert code == 1
    assert found["receiver"] == [(PROBLEM, f"{receiver.url}/api/v1/lineage did not answer within 0 s")]


def test_a_spool_that_can_not_be_made_is_a_problem(doctor, receiver, monkeypatch):
    """In a container without a home, not even the file's mode tells."""
    monkeypatch.setenv("HOME", "/proc/nohome")

    code, found, _, _ = doctor(*over_http(receiver))

    assert code == 1
    [(level, text)] = found["spool"]
    assert level == PROBLEM
    assert text.startswith("/proc/nohome/.local/state/openlineage-pyspark/spool can't be written (")


def test_a_wrong_argument_is_not_repeated(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("doctor", "--conf", CANARY)

    errors = capsys.readouterr().err
    assert errors.endswith("argument -c/--conf: must be KEY=VALUE, with a key that begins with 'spark.'\n")
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
        (PROBLEM, "spark.extraListeners names it (--conf), so this listener stays off"),
        (NOTE, "spark.jars.packages brings its jar (--conf), which is not needed"),
    ]
    assert f"-> Remove {LISTENER} from spark.extraListeners." in shown


def over_http(receiver, *more):
    return ("spark.openlineage.transport.type=http", f"spark.openlineage.transport.url={receiver.url}", *more)


KEY = ("spark.openlineage.transport.auth.type=api_key", f"spark.openlineage.transport.auth.apiKey={CANARY}")


@pytest.mark.parametrize("status", [200, 400, 405])
def test_a_receiver_that_answers_is_asked_once_with_the_login_and_gets_no_event(doctor, receiver, status):
    receiver.status = status

    code, found, _, _ = doctor(*over_http(receiver, *KEY))

    assert code == 0
    asked = f"GET {receiver.url}/api/v1/lineage was answered with {status}"
    assert found["receiver"] == [(OK, f"{asked}: it is reachable and did not refuse the login")]
    assert [(method, path, headers["Authorization"], body) for method, path, headers, body in receiver.received] == [
        ("GET", "/api/v1/lineage", f"Bearer {CANARY}", b"")
    ]


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (401, "Check transport.auth.type and the key or secret that belongs to it."),
        (403, "Check transport.auth.type and the key or secret that belongs to it."),
        (503, "Check the receiver's log. With a spool, events wait until it accepts them."),
    ],
)
def test_a_receiver_that_refuses_is_a_problem(doctor, receiver, status, remedy):
    receiver.status, receiver.text = status, f"go away, {CANARY}"

    code, found, _, shown = doctor(*over_http(receiver, *KEY))

    assert code == 1
    assert found["receiver"] == [(PROBLEM, f"{receiver.url}/api/v1/lineage answered {status}: go away, ***")]
    assert f"-> {remedy}" in shown


def test_an_address_that_is_not_there_is_doubted(doctor, receiver):
    """The receiver may have no GET, but a wrong path is more likely."""
    receiver.status = 404

    code, found, _, _ = doctor(*over_http(receiver, "spark.openlineage.transport.endpoint=api/v2/lineag"))

    assert code == 0
    asked = f"GET {receiver.url}/api/v2/lineag was answered with 404"
    assert found["receiver"] == [(WARNING, f"{asked}: there may be no receiver at this address")]


def test_nobody_at_the_address_is_a_problem(doctor, nobody):
    code, found, _, shown = doctor("spark.openlineage.transport.type=http", f"spark.openlineage.transport.url={nobody}")

    assert code == 1
    assert found["receiver"] == [(PROBLEM, f"{nobody}/api/v1/lineage can't be reached (Connection refused)")]
    assert "-> Check transport.url, the network and the receiver." in shown


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


BY_DRIVER = "can only be reached by the driver's own Hadoop client, not from here"


def test_a_location_that_only_the_driver_can_reach_is_not_called_wrong(doctor, tmp_path):
    root = tmp_path / "spool"
    spool_with(root, "file s3a://bucket/lineage")

    code, found, _, shown = doctor(
        "spark.openlineage.transport.type=file",
        "spark.openlineage.transport.location=s3a://bucket/lineage",
        f"spark.openlineage.spool.path={root}",
    )

    assert code == 0
    assert "transport" not in found
    assert found["receiver"] == [(NOTE, f"file s3a://bucket/lineage {BY_DRIVER}")]
    assert found["spool"] == [(WARNING, f"{root}: 1 event waiting for the next driver's Hadoop client")]
    assert "-> The next application sends them. To send them elsewhere: openlineage-pyspark replay --to URL" in shown


def test_a_part_that_only_the_driver_can_reach_is_no_part_that_is_left_out(doctor, receiver):
    """A job would use it, so its spool has the same destination."""
    transports = "spark.openlineage.transport.transports"

    code, found, _, _ = doctor(
        "spark.openlineage.transport.type=composite",
        f"{transports}.a.type=http", f"{transports}.a.url={receiver.url}",
        f"{transports}.b.type=file", f"{transports}.b.location=hdfs:///lineage",
    )  # fmt: skip

    assert code == 0
    assert "transport" not in found
    assert [level for level, _ in found["receiver"]] == [OK, NOTE]
    assert found["receiver"][1] == (NOTE, f"file hdfs:///lineage {BY_DRIVER}")


def spool_with(root, destination, *, dead=False):
    spool = Spool.create(root, destination)
    number = spool.append(Event("a", "START", b"{}"))
    if dead:
        spool.bury(number, "refused", "", 1000)
    spool.close()


def test_what_lies_in_the_spool_is_told_with_what_to_do(doctor, receiver, tmp_path):
    root = tmp_path / "spool"
    here = f"{receiver.url}/api/v1/lineage"
    conf = over_http(receiver, f"spark.openlineage.spool.path={root}")

    assert doctor(*conf)[1]["spool"] == [(OK, f"{root}: no events are waiting")]
    assert not root.exists()
    spool_with(root, here)
    spool_with(root, "http://elsewhere/api/v1/lineage")
    code, found, _, shown = doctor(*conf)
    assert (code, found["spool"]) == (
        0,
        [
            (WARNING, f"{root}: 1 event of earlier applications waiting"),
            (WARNING, f"{root}: 1 event waiting for other receivers"),
        ],
    )
    assert "-> The next application sends them. To send them now: openlineage-pyspark replay" in shown
    spool_with(root, here, dead=True)
    code, found, _, _ = doctor(*conf)
    assert code == 1
    assert found["spool"][-1] == (PROBLEM, f"{root}: 1 event refused for good")
    assert receiver.events == []


def test_a_spool_that_is_switched_off_or_can_not_be_written_is_told(doctor, receiver, machine):
    code, found, _, _ = doctor(*over_http(receiver, "spark.openlineage.spool.path=none"))
    assert code == 0
    assert found["spool"][0][0] == WARNING

    (machine / "file").write_text("")
    code, found, _, _ = doctor(*over_http(receiver, f"spark.openlineage.spool.path={machine}/file/spool"))
    assert code == 1
    assert found["spool"] == [
        (PROBLEM, f"{machine}/file/spool can't be written (Not a directory): events are kept in memory only")
    ]
