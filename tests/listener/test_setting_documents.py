"""The samples of the configuration work, and what the keys declare is complete."""

import re
from pathlib import Path

import pytest
from openlineage_pyspark.listener.settings.catalog import FACETS, FACETS_NOT_YET, KEYS, find_key
from openlineage_pyspark.listener.settings.keys import DONE, KNOWN, WORKING, as_text
from openlineage_pyspark.listener.settings.settings import load
from openlineage_pyspark.listener.settings.transport_keys import OPTIONS
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.file.transport import FileTransport
from openlineage_pyspark.transport.http.transport import HttpTransport
from openlineage_pyspark.transport.kafka import KafkaTransport
from openlineage_pyspark.transport.openlineage.adapter import DatadogTransport, DataZoneTransport, GcpLineageTransport

CONF = Path(__file__).parents[2] / "conf"
SPARK = (CONF / "spark-defaults.conf").read_text("utf-8")
YAML = (CONF / "openlineage.yml").read_text("utf-8")


def properties(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(re.split(r"\s+", line, maxsplit=1) for line in lines)


def test_the_spark_sample_has_three_active_lines_that_write_a_file():
    active = properties(SPARK)
    assert active == {
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": "lineage.ndjson",
        "spark.openlineage.namespace": "my_team",
    }


def test_the_yaml_sample_says_the_same_as_the_spark_sample(tmp_path: Path):
    path = tmp_path / "openlineage.yml"
    path.write_text(YAML)
    settings = load({}, {}, [path])
    assert settings.warnings == ()
    assert settings.transport == {"type": "file", "location": "lineage.ndjson"}
    assert settings.namespace == "my_team"


def test_every_commented_line_of_the_samples_works_when_its_mark_is_taken_away(tmp_path: Path):
    in_conf = load(properties(uncommented(SPARK)), {}, ())
    path = tmp_path / "openlineage.yml"
    path.write_text(uncommented(YAML))
    in_yaml = load({}, {}, [path])
    assert (in_conf.warnings, in_yaml.warnings) == ((), ())
    names = [name for name, _ in in_conf.sources]
    assert names == [name for name, _ in in_yaml.sources]
    assert {find_key(name) for name in names} >= set(WORKING)
    assert in_conf.parent == in_yaml.parent is not None


def uncommented(text: str) -> str:
    """Take away one mark from each commented line, which leaves sentences commented in YAML."""
    lines = text.splitlines()
    head, body = lines[:2], lines[2:]
    bare = [re.sub(r"^( *)# (?=# | *[\w.-]+:( |$)|spark\.)", r"\1", line) for line in body]
    return "\n".join([*head, *bare])


@pytest.mark.parametrize(
    "transport",
    [
        CompositeTransport, DatadogTransport, DataZoneTransport, FileTransport, GcpLineageTransport, HttpTransport,
        KafkaTransport,
    ],
)  # fmt: skip
def test_the_options_that_a_transport_declares_are_the_declared_ones(transport: type[Transport]):
    status = {
        re.sub("<.*>", "*", name).removeprefix("transport."): key.status
        for key in OPTIONS
        for name in (key.name, *key.also)
    }
    assert {name: status.get(name) for name in transport.OPTIONS} == dict.fromkeys(transport.OPTIONS, DONE)
    known = transport.OPTIONS_NOT_YET
    assert {name: status.get(name) for name in known} == dict.fromkeys(known, KNOWN)


def test_no_name_is_declared_twice():
    names = [name for key in KEYS for name in (key.name, *key.also)]
    assert len(names) == len(set(names))
    assert not set(FACETS) & set(FACETS_NOT_YET)


@pytest.mark.parametrize("key", WORKING, ids=lambda key: key.name)
def test_every_working_key_has_a_sentence_a_default_of_its_kind_and_something_to_show(key):
    assert re.fullmatch(r"[A-Z][^\n]*\.", key.description)
    assert key.default in (None, ()) or key.kind.convert(key.default) == key.default
    assert key.example or as_text(key.default)
    assert bool(key.example_name) == ("<" in key.name)
