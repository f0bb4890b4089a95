"""Finding a transport by its name, and the message where there is none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.http.transport import HttpTransport
from openlineage_pyspark.transport.registry import every_option, open_transport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KNOWN = (
    "amazon_datazone_api, async_http, composite, console, datadog, file, gcplineage, http, kafka, memory, noop, store"
)


@pytest.fixture
def installed_plugin(tmp_path: Path) -> Iterator[None]:
    """Install a distribution with entry points, as pip lays it out."""
    (tmp_path / "lineage_plugin_for_test.py").write_text(
        "from openlineage_pyspark.transport.memory import MemoryTransport\n"
        "from openlineage_pyspark.transport.options import Option, text, text_map\n"
        "BOX = Option('postBox', text, text='The number of the box.', default='', example='7')\n"
        "MARKS = Option('marks.<name>', text_map, text='A mark on the box.', default={})\n"
        "class Mailbox(MemoryTransport):\n    OPTIONS = (BOX, MARKS)\n"
        "class Strings(MemoryTransport):\n    OPTIONS = frozenset({'stamp'})\n"
    )
    metadata = tmp_path / "lineage_plugin_for_test-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lineage-plugin-for-test\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[openlineage_pyspark.transports]\nmailbox = lineage_plugin_for_test:Mailbox\n"
        "gone = no_such_module_for_test:Gone\nodd = collections:OrderedDict\n"
        "strings = lineage_plugin_for_test:Strings\n"
    )
    sys.path.insert(0, str(tmp_path))
    every_option.cache_clear()
    yield
    every_option.cache_clear()
    sys.path.remove(str(tmp_path))
    sys.modules.pop("lineage_plugin_for_test", None)


def message_of(name: str) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport(name, {})
    return str(caught.value)


def test_an_unknown_name_gets_the_nearest_and_the_list() -> None:
    assert message_of("htpp") == (
        f"spark.openlineage.transport.type is 'htpp', unknown. Did you mean 'http'? Use one of: {KNOWN}."
    )


@pytest.mark.parametrize("name", ["http://u:canary@h.example.com", "sk-canary.with.dots", "canary", "canary.png/"])
def test_a_value_that_is_like_no_name_is_not_shown(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """The name may be an address or a key in the wrong option."""
    assert message_of(name) == f"spark.openlineage.transport.type is unknown. Use one of: {KNOWN}."
    assert caplog.records == []


def test_a_path_of_a_class_whose_package_is_not_there_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """A token with dots looks like one."""
    caplog.set_level("DEBUG")
    assert message_of("eyJcanary.eyJcanary.signature") == (
        "spark.openlineage.transport.type looks like the path of a class, but there is no such package."
        " Install the package, or correct the path."
    )
    assert "canary" not in caplog.text


def test_a_name_of_another_client_is_told_to_be_not_supported_yet() -> None:
    assert message_of("kinesis") == (
        "spark.openlineage.transport.type is 'kinesis', a transport of other OpenLineage clients that is not"
        f" supported yet. Use one of: {KNOWN}."
    )


def test_the_background_transport_of_the_python_client_is_the_one_for_http() -> None:
    assert type(open_transport("async_http", {"url": "http://h"})) is HttpTransport


@pytest.mark.usefixtures("installed_plugin")
def test_an_entry_point_brings_a_transport(caplog: pytest.LogCaptureFixture) -> None:
    transport = open_transport("mailbox", {"stamp": "1"})
    assert type(transport).__name__ == "Mailbox"
    assert [record.getMessage() for record in caplog.records] == [
        "spark.openlineage.transport.stamp is unknown to the mailbox transport and has no effect"
    ]


@pytest.mark.usefixtures("installed_plugin")
def test_an_entry_point_that_does_not_load_is_named_with_its_reason() -> None:
    assert message_of("gone") == (
        "spark.openlineage.transport.type is 'gone', whose class no_such_module_for_test:Gone"
        " can't be imported (No module named 'no_such_module_for_test')."
        " Install what it needs, or use another transport."
    )
    assert "collections:OrderedDict is not a subclass of" in message_of("odd")
    assert message_of("strings") == (
        "spark.openlineage.transport.type is 'strings', but OPTIONS of lineage_plugin_for_test:Strings may only hold"
        " openlineage_pyspark.transport.options.Option. Correct the package that provides it."
    )


@pytest.mark.usefixtures("installed_plugin")
def test_the_options_of_an_entry_point_are_listed_and_one_that_does_not_load_is_left_out() -> None:
    named = {option.name: option.text for option in every_option()}
    assert named["postBox"] == "The number of the box."
    assert named["marks.<name>"] == "A mark on the box."


@pytest.mark.usefixtures("installed_plugin")
def test_a_misspelled_option_of_an_entry_point_gets_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    open_transport("mailbox", {"postbx": "1"})
    (record,) = caplog.records
    assert record.getMessage() == (
        "spark.openlineage.transport.postbx is unknown to the mailbox transport and has no effect;"
        " did you mean spark.openlineage.transport.postBox?"
    )
