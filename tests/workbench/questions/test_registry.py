"""A question is one function: its signature is the command, the method, and what JSON says was asked."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.command.questions import add_question
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.questions import QUESTIONS, registry
from openlineage_pyspark.workbench.questions.registry import Help, answered, asks, question, question_called
from openlineage_pyspark.workbench.questions.row_text import csv_of_rows
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, taken

FOLDER = Path(__file__).parents[3] / "workbench" / "questions"
# `view` and `recover` have further options: these commands are written by hand.
BY_HAND = {"graph", "recover"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Give the file of a store with one run."""
    taken(tmp_path / "s.db", [run_event("load", "COMPLETE", 1, run="r1", outputs=(dataset("t", columns=("a",)),))])
    return str(tmp_path / "s.db")


@pytest.fixture
def own() -> Iterator[None]:
    """Forget afterwards which questions a test has registered."""
    before, listed = dict(registry._REGISTERED), dict(QUESTIONS)
    yield
    registry._REGISTERED.clear()
    registry._REGISTERED.update(before)
    QUESTIONS.clear()
    QUESTIONS.update(listed)


def test_each_question_is_a_command_and_a_method() -> None:
    asked = {name for name, value in vars(Store).items() if hasattr(value, "__signature__")}

    assert asked == {*QUESTIONS, *BY_HAND}
    for name in QUESTIONS:
        assert question_called(name).name == name


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_method_takes_what_its_command_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    method = inspect.signature(getattr(Store, name))
    with pytest.raises(SystemExit):
        main([name, "--help"])
    shown = capsys.readouterr().out

    _, *parameters = method.parameters.values()
    for parameter, argument in zip(parameters, question_called(name).arguments, strict=True):
        assert parameter.name == argument.name
        assert argument.help.text, (name, argument.name)
        assert argument.help.text in getattr(Store, name).__doc__
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            assert f"--{parameter.name.replace('_', '-')}" in shown


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_has_text_and_json_and_refuses_other_formats(name: str, store: str) -> None:
    needed = {"ref": "t", "source": "t", "target": "t", "dataset": "t", "table": "t", "query": "SELECT 1 AS one"}
    needed |= {"before": "2025-01-01", "after": "now"}
    places = [needed[each.name] for each in question_called(name).arguments if each.is_required]
    with Store.open(store) as opened:
        answer = getattr(opened, name)(*places)

    tables = () if name == "diff" else ("csv",)
    assert {"text", *tables, "markdown", "json"} <= {*answer.formats}
    document = json.loads(answer.to_text("json"))
    assert (document["question"], document["lastSeen"]) == (name, "2026-01-01T00:01:00Z")
    assert [*document["arguments"].values()] == places
    assert answer.to_text() == answer.to_text("text")
    tree = ("table",) if name in ("upstream", "downstream", "between") else ()
    formats = ", ".join(("text", *tree, *tables, "markdown"))
    with pytest.raises(ValueError, match=f"unknown format 'xml'; the formats are {formats}"):
        answer.to_text("xml")


def test_a_command_prints_what_its_method_returns(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(store) as opened:
        for format_ in ("text", "csv", "markdown", "json"):
            assert main(["history", "t", "--store", store, "--format", format_]) == 0
            assert capsys.readouterr().out == opened.history("t").to_text(format_)


def asked_of(function: Callable[..., Answer[Any]]) -> dict[str, Any]:
    arguments = _found(function).arguments
    return {each.name: (each.shape, each.choices, each.is_required, each.is_option) for each in arguments}


def _found(function: Callable[..., Answer[Any]]) -> registry.Question:
    [found] = (each for each in registry._REGISTERED.values() if each.ask is function)
    return found


@pytest.mark.usefixtures("own")
def test_a_question_of_ones_own_is_a_command_and_a_method(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    @question({"text": csv_of_rows}, name="shout", status=lambda answer: len(answer.result))
    def shout(
        tables: QueriedTables,
        word: Annotated[str, Help("what to shout", "WORD")],
        end: str = "!",
        *,
        often: Annotated[int | None, Help("so often", "N", least=2)] = None,
        loud: Annotated[bool, Help("in capitals")] = False,
        tone: Annotated[Literal["high", "low"], Help("how")] = "low",
        to_whom: Annotated[tuple[str, ...], Help("to these", "NAME")] = (),
        moods: tuple[Literal["glad", "sad"], ...] = (),
    ) -> Answer[Rows[Any]]:
        """Shout a word."""
        text = (word.upper() if loud else word) + end
        return answered(Rows("row", tuple({"text": text, "to": name} for name in to_whom or ("all",)) * (often or 1)))

    assert asked_of(shout) == {
        "word": ("text", (), True, False),
        "end": ("text", (), False, False),
        "often": ("number", (), False, True),
        "loud": ("flag", (), False, True),
        "tone": ("choice", ("high", "low"), False, True),
        "to_whom": ("texts", (), False, True),
        "moods": ("choices", ("glad", "sad"), False, True),
    }
    QUESTIONS["shout"] = ("registry", "shout a word")

    class Shouting(Store):
        louder = asks(shout)

    with Store.open(store) as opened:
        answer = Shouting(opened.tables).louder("go", loud=True, to_whom=("a", "b"))
    assert answer.arguments == {"word": "go", "loud": True, "toWhom": ["a", "b"]}
    assert answer.to_text() == "text,to\nGO!,a\nGO!,b\n"

    parsed = _parser("shout")
    words = "shout go ? --often 2 --to-whom a --moods sad --store"
    options = parsed.parse_args([*words.split(), store])
    assert options.run(options) == 2
    assert capsys.readouterr().out == "text,to\ngo?,a\ngo?,a\n"
    for wrong in (["--often", "1"], ["--tone", "flat"], ["--moods", "angry"]):
        with pytest.raises(SystemExit):
            parsed.parse_args(["shout", "go", *wrong])


def _parser(name: str) -> Any:
    import argparse

    parser = argparse.ArgumentParser()
    add_question(parser.add_subparsers(), name)
    return parser


def test_an_argument_that_reads_standard_input_takes_it_for_a_dash(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT count(*) AS jobs FROM job"))
    assert main(["sql", "-", "--store", store, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "jobs\n1\n"
