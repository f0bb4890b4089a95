"""What a transport declares of an option, and what is read of it."""

from __future__ import annotations

from typing import Any

import pytest
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport import values
from openlineage_pyspark.transport.options import Option, flag, number, size, text, text_map, texts
from openlineage_pyspark.transport.registry import open_transport

PREFIX = "spark.openlineage.transport"
NAME = Option("box.name", text, text="A name.", default="mine", also=("box_name",))
OPEN = Option("open", flag, text="A switch.", default=True)
WAIT = Option("wait", number("seconds", zero_allowed=True), text="A number.", default=5.0)
SIZE = Option("size", size, text="A size.", default=None)
ITEMS: Option[tuple[str, ...]] = Option("items", texts, text="A list.", default=())
MARKS = Option("marks.<name>", text_map, text="A map.", default=None, also=("labels.<name>",))


def test_an_option_that_is_not_set_has_its_default_and_is_not_given() -> None:
    options = (NAME, OPEN, WAIT, SIZE, ITEMS, MARKS)
    assert [option.read({}) for option in options] == ["mine", True, 5.0, None, (), None]
    assert [option.given({}) for option in options] == [None] * 6


@pytest.mark.parametrize(
    ("option", "options", "value"),
    [
        (NAME, {"box": {"name": " a "}}, "a"),
        (NAME, {"box_name": 7}, "7"),
        (NAME, {"box": {"name": True}}, "true"),
        (OPEN, {"open": "FALSE"}, False),
        (OPEN, {"open": 1}, True),
        (OPEN, {"open": " "}, True),
        (WAIT, {"wait": "0"}, 0.0),
        (SIZE, {"size": "2k"}, 2048),
        (ITEMS, {"items": "[a; b]"}, ("a", "b")),
        (ITEMS, {"items": ["a", 2]}, ("a", "2")),
        (MARKS, {"marks": {"a.b": "1", "c": {"d": 2}}}, {"a.b": "1", "c.d": "2"}),
        (MARKS, {"labels": {"a": "1"}}, {"a": "1"}),
    ],
)
def test_a_value_is_read_by_its_kind_from_any_spelling(
    option: Option[Any], options: dict[str, Any], value: object
) -> None:
    assert option.read(options) == value


@pytest.mark.parametrize(
    ("option", "options", "problem"),
    [
        (
            NAME,
            {"box": {"name": "a"}, "box_name": "b"},
            "box.name and {}.box_name set the same option. Keep one of them.",
        ),
        (NAME, {"box": {"name": {}}}, "box.name must be one text. Write {}.box.name=<text>."),
        (NAME, {"box": "a"}, "box must contain options. Write {}.box.name=<value>."),
        (OPEN, {"open": "canary"}, "open is neither true nor false. Set it to true or false."),
        (WAIT, {"wait": "-1"}, "wait is '-1'. Set it to a number of seconds of at least 0."),
        (WAIT, {"wait": "canary"}, "wait is not a valid number. Set it to a number of seconds of at least 0."),
        (SIZE, {"size": "0"}, "size is '0'. Set it to a number of bytes, such as 1048576, 512k or 32m."),
        (ITEMS, {"items": [{}]}, "items must be a list of texts. Write {}.items=<text>,<text>."),
        (MARKS, {"marks": "a"}, "marks must map names to values. Write {}.marks.<name>=<value>."),
    ],
)
def test_a_value_that_can_not_be_used_is_named_by_its_key(
    option: Option[Any], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(TransportConfigError) as caught:
        option.read(options)
    assert str(caught.value) == f"{PREFIX}.{problem.format(PREFIX)}"


def test_an_option_that_must_be_set_says_what_to_do() -> None:
    with pytest.raises(TransportConfigError) as caught:
        NAME.required({"box": {"name": ""}}, "Set it to a name.")
    assert str(caught.value) == f"{PREFIX}.box.name is not set. Set it to a name."


def test_an_option_covers_its_spellings_and_what_stands_in_its_map() -> None:
    assert [NAME.covers(name) for name in ("box.name", "box_name", "box", "box.name.x")] == [True, True, False, False]
    assert [MARKS.covers(name) for name in ("marks.a.b", "labels.c", "marks")] == [True, True, False]


@pytest.mark.parametrize(
    ("written", "bytes_"), [("1048576", 1 << 20), ("512K", 1 << 19), ("32mb", 1 << 25), ("1g", 1 << 30)]
)
def test_a_size_is_a_number_with_or_without_unit(written: str, bytes_: int) -> None:
    assert values.byte_count(written) == bytes_


@pytest.mark.parametrize("written", ["", "k", "1.5m", "-1", "1t", "one"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        values.byte_count(written)


@pytest.mark.parametrize(
    ("written", "items"),
    [("a,b", ("a", "b")), ("[a; b]", ("a", "b")), (" a ,, ", ("a",)), ("[]", ()), ("[a", ("[a",))],
)
def test_a_list_stands_in_brackets_or_not(written: str, items: tuple[str, ...]) -> None:
    assert values.items(written) == items


def test_the_nearest_word_is_found_in_any_case_and_only_if_it_is_close() -> None:
    known = ["timeoutInMillis", "timeout", "url"]
    assert values.nearest("TIMEOUTINMILIS", known) == "timeoutInMillis"
    assert values.nearest("colour", known) is None


def test_an_abbreviated_option_gets_a_hint(tmp_path, caplog):
    open_transport("file", {"location": str(tmp_path / "events"), "loc": "x", "rot": "y", "lo": "z"})

    assert [text.partition("has no effect")[2] for text in caplog.messages] == [
        "; did you mean spark.openlineage.transport.location?",
        "",
        "",
    ]
