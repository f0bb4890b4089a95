"""What has no effect is said, by name and with a way out, and never with a value that may be secret."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.facets.events.options import Tag
from openlineage_pyspark.listener.settings.catalog import every_key
from openlineage_pyspark.listener.settings.settings import Settings, load
from openlineage_pyspark.listener.settings.sources import parse_yaml, read_sources

CANARY = "hunter2-canary"


def from_conf(**keys: str) -> Settings:
    return load({f"spark.openlineage.{key}": value for key, value in keys.items()}, {}, ())


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("namespce", "namespace"),
        ("columnlineage.schemasizelimit", "columnLineage.schemaSizeLimit"),
        ("columnLineage.schemaSizeLimits", "columnLineage.schemaSizeLimit"),
        ("parentRunID", "parentRunId"),
        ("job.owner.team", "job.owners.<type>"),
        ("transport", "transport.type"),
        ("reads", "reads.enabled"),
    ],
)
def test_an_unknown_key_warns_with_the_nearest_known_one(name: str, meant: str):
    (warning,) = from_conf(**{name: CANARY}).warnings
    hint = f"did you mean spark.openlineage.{meant}?"
    assert warning == f"spark.openlineage.{name} is unknown and has no effect; {hint}"


def test_an_unknown_key_that_is_like_no_other_warns_without_a_guess():
    assert from_conf(xyzzy="1").warnings == ("spark.openlineage.xyzzy is unknown and has no effect",)


def test_the_nearest_key_is_written_as_in_the_place_of_the_unknown_one(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    path.write_text("plan: {maxNode: 5}")
    unknown = "is unknown and has no effect; did you mean"
    assert load({}, {"OPENLINEAGE__PLAN__MAX_NODE": "5"}, [path]).warnings == (
        f"OPENLINEAGE__PLAN__MAX_NODE {unknown} OPENLINEAGE__PLAN__MAX_NODES?",
        f"plan.maxNode in {path} {unknown} plan.maxNodes?",
    )


@pytest.mark.parametrize(
    "name",
    [
        "dataset.extraTrimmers",
        "circuitBreaker.type",
        "circuitBreaker.memoryThreshold",
        "metrics.type",
        "debug.smart",
        "vendors.iceberg.metricsReporterDisabled",
        "timeout.buildDatasetsTimePercentage",
        "facets.disabled",
    ],
)
def test_a_key_that_has_an_effect_elsewhere_alone_warns_by_name(name: str):
    instead = {
        "dataset.extraTrimmers": "; use spark.openlineage.dataset.removePath.pattern",
        "facets.disabled": "; use spark.openlineage.facets.<name>.disabled",
    }.get(name, "")
    expected = f"spark.openlineage.{name} is a key of another OpenLineage integration and has no effect here{instead}"
    assert from_conf(**{name: "1"}).warnings == (expected,)


def test_transport_options_are_left_to_the_transport():
    settings = from_conf(**{"transport.type": "http", "transport.retry.total": "5", "transport.nonsense": "1"})
    assert settings.warnings == ()
    assert settings.transport == {"type": "http", "retry": {"total": "5"}, "nonsense": "1"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [("transport.typ", "transport.type"), ("transport.tpye", "transport.type"), ("transport.ulr", "transport.url")],
)
def test_a_misspelt_transport_option_warns_where_no_transport_would_check_it(name: str, meant: str):
    settings = from_conf(**{name: "file", "transport.location": "x"})
    hint = f"did you mean spark.openlineage.{meant}?"
    assert settings.warnings == (f"spark.openlineage.{name} is unknown and has no effect; {hint}",)


def test_a_transport_option_with_options_below_it_warns():
    settings = from_conf(**{"transport.type": "http", "transport.auth": CANARY, "transport.auth.type": "api_key"})
    assert settings.transport == {"type": "http", "auth": {"type": "api_key"}}
    assert settings.warnings == ("spark.openlineage.transport.auth has no effect: there are keys below it",)


WHOLE = "it must be a whole number from {} to 2147483647; the default, {}, is used"
SIZE = "it must be a number of bytes from 1 to 2147483647, such as 1048576, 512k or 32m"
PATTERN = "a regular expression with a group `(?<remove>...)`"
TRIMMERS = "a list of DateTrimmer, KeyValueTrimmer, MultiDirDateTrimmer, YearMonthTrimmer"
WRONG = [
    ("disabled", "ja", "text that is not shown; it must be true or false; the default, false, is used"),
    ("disabled", "yes", "yes; it must be true or false; the default, false, is used"),
    ("plan.maxNodes", "many", f"text that is not shown; {WHOLE.format(1, 100000)}"),
    ("plan.maxNodes", "0", f"0; {WHOLE.format(1, 100000)}"),
    ("plan.maxNodes", "9" * 5000, f"a long number; {WHOLE.format(1, 100000)}"),
    ("flush.timeoutInMillis", "-1", f"-1; {WHOLE.format(0, 10000)}"),
    ("plan.maxBytes", "4g", f"4g; {SIZE}; the default, 33554432, is used"),
    ("applicationRunId", "run-1", "text that is not shown; it must be a UUID; it has no effect"),
    ("dataset.removePath.pattern", "/[0-9]+", f"text that is not shown; it must be {PATTERN}; it has no effect"),
    ("dataset.removePath.pattern", "(?<remove>", f"text that is not shown; it must be {PATTERN}; it has no effect"),
    ("dataset.disabledTrimmers", "DateTrimer", f"text that is not shown; it must be {TRIMMERS}; it has no effect"),
]


@pytest.mark.parametrize(("name", "value", "warning"), WRONG)
def test_a_value_of_the_wrong_kind_warns_and_the_default_holds(name: str, value: str, warning: str):
    settings = from_conf(**{name: value})
    assert settings.warnings == (f"spark.openlineage.{name} is {warning}",)
    assert attributes(settings) == attributes(load({}, {}, ()))


def attributes(settings: Settings) -> tuple[object, ...]:
    return (
        settings.disabled,
        settings.plan_max_nodes,
        settings.plan_max_bytes,
        settings.flush_timeout,
        settings.application_run_id,
        settings.trimming,
    )


def test_values_that_yaml_makes_something_else_of_warn_by_their_kind(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    lines = ["namespace: yes", "appName: 2024-01-01", "job: {documentation: [a]}", "reads: {enabled: {x: 1}}"]
    path.write_text("\n".join(lines))
    settings = load({}, {}, [path])
    assert (settings.namespace, settings.app_name, settings.job_documentation) == ("default", None, None)
    assert settings.warnings == (
        f"reads.enabled.x in {path} is unknown and has no effect; did you mean reads.enabled?",
        f"namespace in {path} is true; it must be text; the default, default, is used",
        f"appName in {path} is a date; it must be text; it has no effect",
        f"job.documentation in {path} is a list; it must be text; it has no effect",
    )


def test_tags_follow_the_java_client():
    settings = from_conf(**{"job.tags": r"key:value;label; a:b:OTHER ;colon\:key:semi\;colon;end:"})
    assert settings.warnings == ()
    assert settings.job_tags == (
        Tag("key", "value", "CONFIG"),
        Tag("label", "true", "CONFIG"),
        Tag("a", "b", "OTHER"),
        Tag("colon:key", "semi;colon", "CONFIG"),
        Tag("end", "true", "CONFIG"),
    )


def test_tags_of_all_places_are_merged_by_key():
    environ = {"OPENLINEAGE__RUN__TAGS": "a:1;b:1"}
    settings = load({"spark.openlineage.run.tags": "b:2;c:2"}, environ, ())
    assert [(tag.key, tag.value) for tag in settings.run_tags] == [("a", "1"), ("b", "2"), ("c", "2")]


def test_a_malformed_tag_is_left_out_or_cut_with_a_warning_and_the_others_hold():
    settings = from_conf(**{"run.tags": ":x;ok;url:https://host:80"})
    assert settings.run_tags == (Tag("ok", "true", "CONFIG"), Tag("url", "https", "//host"))
    problem = "is not written as key, key:value or key:value:source, and"
    assert settings.warnings == (
        f"spark.openlineage.run.tags: tag 1 {problem} is left out",
        f"spark.openlineage.run.tags: tag 3 {problem} is cut after its third part",
    )


def test_a_misspelt_facet_warns_and_a_facet_of_a_plug_in_does_not():
    names = ("colunmLineage", "my_facet", "debug")
    settings = from_conf(**{f"facets.{name}.disabled": "true" for name in names})
    assert settings.disabled_facets == set(names)
    hint = "names no facet that is known; did you mean columnLineage?"
    assert settings.warnings == (f"spark.openlineage.facets.colunmLineage.disabled {hint}",)


def test_asking_for_a_facet_that_is_not_supported_warns():
    settings = from_conf(**{"facets.spark.logicalPlan.disabled": "false"})
    problem = "asks for the facet spark.logicalPlan, which is not supported yet"
    assert settings.warnings == (f"spark.openlineage.facets.spark.logicalPlan.disabled {problem}",)


BROKEN_YAML = [
    ("transport: {type: file\nnamespace: b", "is not valid YAML at line 2, column 10"),
    (f"transport:\n  auth: {{apiKey: *{CANARY}}}", "is not valid YAML at line 2, column 18"),
    (f"transport:\n  auth: {{apiKey: !{CANARY} x}}", "is not valid YAML at line 2, column 18"),
    ("appName: !!timestamp x", "is not valid YAML"),
    ("appName: !!bool maybe", "is not valid YAML"),
    ("appName: !!int ''", "is not valid YAML"),
    ("appName: !!float x", "is not valid YAML"),
    ("appName: 2024-13-45", "is not valid YAML"),
    ("a: &a {b: *a}", "is not valid YAML"),
    ("[" * 600, "is not valid YAML"),
    ("\x00", "is not valid YAML"),
    (f"- {CANARY}", "holds no keys"),
    (CANARY, "holds no keys"),
]


@pytest.mark.parametrize(("text", "problem"), BROKEN_YAML, ids=[problem for _, problem in BROKEN_YAML])
def test_a_broken_yaml_file_warns_without_quoting_it(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "openlineage.yml"
    path.write_text(text)
    assert load({}, {}, [path]).warnings == (f"{path} {problem}, and is ignored",)


def test_a_yaml_file_that_is_not_utf_8_warns(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    path.write_bytes(b"namespace: \xff")
    assert load({}, {}, [path]).warnings == (f"{path} can't be read (it is not UTF-8), and is ignored",)


def test_an_empty_yaml_file_and_empty_values_are_nothing(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    path.write_text("# nothing\n")
    environ = {"OPENLINEAGE__APP_NAME": "", "OPENLINEAGE_URL": ""}
    assert load({"spark.openlineage.namespace": " "}, environ, [path]) == load({}, {}, ())


def test_broken_json_in_the_environment_warns_and_is_taken_as_text():
    settings = load({}, {"OPENLINEAGE__JOB__DOCUMENTATION": "{not json"}, ())
    assert settings.job_documentation == "{not json"
    assert settings.warnings == (
        "OPENLINEAGE__JOB__DOCUMENTATION begins like JSON but is not JSON, and is read as text",
    )


@pytest.mark.parametrize(
    "name",
    [
        "transport.auth.apiKey",
        "transport.auth.token",
        "transport.auth.clientSecret",
        "transport.sslContext.keyPassword",
        "transport.headers.Authorization",
        "transport.url",
        "tranport.auth.apiKey",
        "apiKey",
        "password",
        "secret",
        "token",
        "disabled",
        "plan.maxNodes",
        "plan.maxBytes",
        "applicationRunId",
        "parentRunId",
        "context",
        "facets.sql.disabled",
        "maskLiterals",
        "spool.maxBytes",
        "strict",
        "classCache.enabled",
    ],
)
def test_no_value_is_shown_in_a_warning_in_the_log_or_in_the_text_of_the_settings(
    name: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
):
    path = tmp_path / "openlineage.yml"
    path.write_text(f"{name}: {CANARY}")
    variable = "OPENLINEAGE__" + name.replace(".", "__")
    with caplog.at_level(logging.DEBUG):
        for settings in (from_conf(**{name: CANARY}), load({}, {variable: CANARY}, []), load({}, {}, [path])):
            assert settings.warnings or settings.transport
            assert CANARY not in repr(settings)
            assert CANARY not in "".join(settings.warnings)
    assert CANARY not in caplog.text
    assert CANARY not in repr(read_sources({f"spark.openlineage.{name}": CANARY}, {variable: CANARY}, [path]))


NAMES = st.sampled_from([key.name for key in every_key()]) | st.text()
VALUES = st.text() | st.sampled_from(["{", "[", "[]", "[;]", "{}", ";", ":", "1e9", "NaN", "-", "1" * 5000])


@given(
    st.dictionaries(NAMES.map("spark.openlineage.{}".format) | st.text(), VALUES),
    st.dictionaries(NAMES.map(lambda name: "OPENLINEAGE__" + name.replace(".", "__")), VALUES),
)
def test_no_name_and_no_value_raises(conf: dict[str, str], environ: dict[str, str]):
    assert isinstance(load(conf, environ, ()), Settings)


@given(st.text() | st.text(alphabet="{}[]&*!|>'\":-, \na1"))
def test_no_text_raises_as_yaml(text: str):
    content, problem = parse_yaml(text)
    assert problem is None or content == ()
