"""Serialised events hold what openlineage-python's Serde would write, and nothing that breaks a receiver."""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.serde import Serde
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions


@attrs.define
class Holder:
    value: object
    absent: object = None


@attrs.define
class Empty:
    pass


def test_an_event_has_the_content_that_openlineage_pythons_serde_writes(full_run):
    for state in full_run:
        event = build_event(state, EventOptions())
        assert json.loads(serialise(event)) == Serde.to_dict(event)


def test_json_is_compact_in_utf_8_and_keeps_the_order_of_the_fields():
    assert serialise(Holder({"b": "ß", "a": [1, 2]})) == '{"value":{"b":"ß","a":[1,2]}}'.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc), '"2026-01-02T00:00:00+00:00"'),
        (dt.date(2026, 1, 2), '"2026-01-02"'),
        (uuid.UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (Empty(), "{}"),
        (Holder(None), "{}"),
        (0, "0"),
        ("", '""'),
    ],
)
def test_each_kind_of_value_has_its_form(value, text):
    assert serialise({"of": value}).decode() == f'{{"of":{text}}}'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\0b", "a\ufffdb"),
        ("\0\0", "\ufffd\ufffd"),
        ("\\\0", "\\\ufffd"),
        ("\\u0000", "\\u0000"),
        ("\\\\u0000\0", "\\\\u0000\ufffd"),
        ("x\ud800y", "x\ufffdy"),
        ("\udfff\0", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_a_nul_and_a_lone_surrogate_become_the_replacement_character(text, written):
    """The six characters backslash u 0 0 0 0 are text like any other and stay."""
    assert json.loads(serialise({text: [text]})) == {written: [written]}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_every_other_text_comes_back_as_it_was(text):
    assert json.loads(serialise(Holder({text: text}))) == {"value": {text: text}}


@given(st.text(alphabet=st.one_of(st.characters(categories=["Cs"]), st.sampled_from("\0\\u0a"))))
def test_no_text_leaves_a_nul_or_a_surrogate_behind(text):
    written = json.loads(serialise([text]))[0]
    assert "\0" not in written
    assert written.encode().decode() == written


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_refused(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        serialise(Holder(number))


def test_a_value_without_a_json_form_is_refused_by_the_name_of_its_class():
    with pytest.raises(TypeError, match=r"a facet holds a builtins\.set, which has no JSON form: use str"):
        serialise(Holder({1}))


def test_a_value_that_holds_itself_is_refused():
    holder = Holder(None)
    holder.value = holder
    with pytest.raises(RecursionError):
        serialise(holder)
