"""The samples of the configuration work, and what the keys declare is complete."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.listener.settings.catalog import WITHOUT_EFFECT, every_key, find_key, option_key
from openlineage_pyspark.listener.settings.facet_names import FACETS, FACETS_NOT_YET
from openlineage_pyspark.listener.settings.keys import WORKING, Settings
from openlineage_pyspark.listener.settings.reading import FREE_NAMES
from openlineage_pyspark.listener.settings.settings import load
from openlineage_pyspark.listener.settings.sources import SHORT_VARIABLES
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.options import text_map
from openlineage_pyspark.transport.registry import built_in_transports, every_option

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


@pytest.mark.parametrize("transport", dict.fromkeys(built_in_transports().values()))
def test_the_options_of_a_transport_are_keys_with_a_sentence_and_spelled_once(transport: type[Transport]):
    names = [name for option in transport.OPTIONS for name in option.spellings]
    assert len(names) == len(set(names))
    for option in transport.OPTIONS:
        assert re.fullmatch(r"[A-Z`][^\n]*\.", option.text)
        assert bool(option.example_name) <= ("<" in option.name)
        for name in option.spellings:
            key = find_key(f"transport.{name.replace('<', '').replace('>', '')}")
            assert key is not None


def test_no_name_is_declared_twice():
    names = [name for key in WORKING for name in (key.name, *key.also)]
    assert len(names) == len(set(names))
    assert len({key.name for key in every_key()}) == len(every_key())
    assert not set(FACETS) & set(FACETS_NOT_YET)
    assert not set(names) & set(WITHOUT_EFFECT)


def test_what_is_to_be_used_instead_of_a_key_is_a_key():
    for name, instead in WITHOUT_EFFECT.items():
        assert find_key(name) is None
        assert not instead or find_key(instead.replace("<name>", "sql")) is not None


@pytest.mark.parametrize("key", WORKING, ids=lambda key: key.name)
def test_every_working_key_has_a_sentence_a_default_of_its_kind_and_something_to_show(key):
    assert re.fullmatch(r"[A-Z][^\n]*\.", key.text)
    assert key.default in (None, ()) or key.kind.convert(key.default_text) == key.default
    assert key.example or key.default_text
    assert bool(key.example_name) == ("<" in key.name)


def test_what_is_loaded_of_nothing_are_the_declared_defaults():
    assert load({}, {}, ()) == Settings()


def test_an_option_of_a_transport_is_a_key_with_the_transports_own_default():
    (option,) = (each for each in built_in_transports()["http"].OPTIONS if each.name == "auth.tokenRefreshBuffer")
    assert (option.default, option_key(option).default_text) == (120.0, "120")


def test_names_may_hold_dots_in_every_option_that_is_a_map():
    maps = {name.partition(".")[0] for each in every_option() if each.kind is text_map for name in each.spellings}
    assert maps == FREE_NAMES - {"transformerProperties"}


def test_the_short_environment_variables_set_keys_that_work():
    keys = {name: find_key(name) for name in SHORT_VARIABLES.values()}
    assert [name for name, key in keys.items() if key is None] == []


def test_the_options_of_a_transport_from_another_package_are_known_like_our_own(tmp_path: Path):
    (tmp_path / "mailbox_for_test.py").write_text(
        "from openlineage_pyspark.transport.memory import MemoryTransport\n"
        "from openlineage_pyspark.transport.options import Option, text\n"
        "BOX = Option('postBox', text, text='The number of the box.', default='', example='7')\n"
        "class Mailbox(MemoryTransport):\n    OPTIONS = (BOX,)\n"
    )
    metadata = tmp_path / "mailbox_for_test-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mailbox-for-test\nVersion: 1.0\n")
    entry = "[openlineage_pyspark.transports]\nmailbox = mailbox_for_test:Mailbox\n"
    (metadata / "entry_points.txt").write_text(entry)
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from openlineage_pyspark.listener.settings.catalog import find_key, nearest_key
from openlineage_pyspark.listener.settings.settings import load
print(find_key("transport.postBox").text, nearest_key("transport.postBx"))
print(load({}, {"OPENLINEAGE__TRANSPORT__POST_BOX": "7"}, ()).transport)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "The number of the box. transport.postBox\n{'postBox': '7'}\n"
