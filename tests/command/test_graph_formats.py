"""The commands that give lineage as a graph, as people type them."""

from __future__ import annotations

import json

import jsonschema
import pytest
from openlineage_pyspark.workbench.answer import schema
from support.lineage_events import text_of_events
from support.shop import later, shop

pytestmark = pytest.mark.slow

BEGINS = {
    "json": '{"version"',
    "mermaid": "flowchart LR\n",
    "dot": "digraph lineage {\n",
    "html": "<!doctype",
    "svg": "<svg",
}


INCOMPLETE = "openlineage-pyspark: the answer may be incomplete: MapInPandas: no rule for this operator\n"


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text(text_of_events(shop()))
    return str(path)


@pytest.fixture
def store(tmp_path, run):
    path = tmp_path / "both.ndjson"
    path.write_text(text_of_events([*shop(), *later()]))
    stored = str(tmp_path / "lineage.db")
    assert run("ingest", str(path), "--store", stored)[0] == 0
    return stored


@pytest.mark.parametrize("format_", BEGINS)
def test_each_command_prints_the_graph_in_each_format(events, store, run, format_):
    for command in (
        ("view", events, "-o", "-"),
        ("show", events),
        ("show", events, "--dataset", "daily", "--column", "total"),
        ("upstream", "daily.total", "--store", store),
        ("downstream", "clean", "--store", store),
        ("between", "clean", "guessed", "--store", store),
    ):
        code, shown, errors = run(*command, "--format", format_)
        is_incomplete = command[0] in ("downstream", "between")
        assert (code, errors) == (0, INCOMPLETE if is_incomplete and format_ != "json" else "")
        if format_ != "json":
            assert shown.startswith(BEGINS[format_]), command
            continue
        jsonschema.validate(json.loads(shown), schema(), cls=jsonschema.Draft202012Validator)


def test_a_question_that_a_graph_can_not_answer_is_refused_with_what_to_ask(events, run):
    around = "--format mermaid prints the lineage around one"
    answers = {
        ("--column", "total"): (
            2,
            f"{around} column of one output: name its dataset too, as in --dataset orders --column total",
        ),
        ("--dataset", "d*"): (2, f"{around} output: give its whole name, without *"),
        ("--dataset", "nothing"): (
            2,
            f"nothing is called 'nothing'; `show {events}` lists the outputs and their columns",
        ),
        ("--dataset", "daily", "--column", "none"): (2, f"; `show {events}` lists the outputs and their columns"),
    }
    for arguments, (code, said) in answers.items():
        found = run("show", events, *arguments, "--format", "mermaid")
        assert (found[0], found[1]) == (code, "")
        assert said in found[2]


def test_a_command_line_on_which_unfold_has_no_effect_is_refused(events, run):
    words = "--unfold shows CTEs, views and subqueries"
    formats = f"{words} in mermaid, dot, svg, html;"
    for arguments, why in (
        (("lineage", "a.sql"), f"{formats} text has no place for them"),
        (("lineage", "a.sql", "--format", "json"), f"{formats} json always has them"),
        (("lineage", "a.sql", "--format", "svg", "--diff", "HEAD"), f"{words} of one state, and --diff compares two"),
        (("show", events), f"{formats} text has no place for them"),
        (("view", events, "--format", "json"), f"{formats} json always has them"),
    ):
        code, shown, said = run(*arguments, "--unfold")
        assert (code, shown) == (2, "")
        assert why in said


@pytest.mark.parametrize("format_", ["mermaid", "dot", "svg"])
def test_events_without_ctes_look_the_same_unfolded(events, run, format_):
    for command in (("view", events, "-o", "-"), ("show", events)):
        found = run(*command, "--format", format_)
        assert found == run(*command, "--format", format_, "--unfold")


def test_the_json_of_an_answer_is_the_graph_of_what_it_names(store, run):
    document = json.loads(run("upstream", "guessed.score", "--store", store, "--format", "json")[1])

    assert (document["question"], document["arguments"]) == ("upstream", {"ref": "guessed.score"})
    assert document["result"]["start"] == ["column|lake|guessed|score"]
    edges = [
        (edge["source"], edge["target"], edge["paths"][0]["subtype"], edge["certainty"])
        for edge in document["result"]["edges"]
    ]
    assert edges == [
        ("column|lake|daily|total", "column|lake|guessed|score", "TRANSFORMATION", "guessed"),
        ("column|lake|clean|amount", "column|lake|daily|total", "AGGREGATION", "exact"),
        ("column|file|/lake/orders|amount", "column|lake|clean|amount", "IDENTITY", "exact"),
    ]
    assert document["complete"] is False
    assert [each["operator"] for each in document["diagnostics"]] == ["MapInPandas"]
    assert {node["name"] for node in document["result"]["nodes"] if node["type"] == "job"} == {
        *("shop.clean", "shop.daily", "shop.guess"),
    }


@pytest.mark.parametrize(
    ("format_", "doubt"),
    [
        ("text", "TRANSFORMATION of total  (guessed)  [guess]"),
        ("table", "TRANSFORMATION, guessed  TRANSFORMATION of total"),
        ("csv", "TRANSFORMATION of total,shop.guess,r3,guessed\n"),
        ("mermaid", '-.->|"TRANSFORMATION (guessed) TRANSFORMATION of total"|'),
        ("dot", '[label="TRANSFORMATION (guessed) TRANSFORMATION of total", style=dashed]'),
        ("svg", "a part of its plan was not understood."),
        ("html", '"certainty":"guessed","expression":"TRANSFORMATION of total"'),
    ],
)
def test_each_format_of_an_answer_says_that_an_edge_is_uncertain(store, run, format_, doubt):
    between = ("between", "clean.amount", "guessed.score")
    for question in (("upstream", "guessed.score"), ("downstream", "daily.total"), between):
        assert doubt in run(*question, "--store", store, "--format", format_)[1], question


def test_the_edges_of_an_answer_of_tables_name_their_jobs(store, run):
    document = json.loads(run("downstream", "daily", "--depth", "1", "--store", store, "--format", "json")[1])

    assert {(edge["source"], edge["job"]) for edge in document["result"]["edges"]} == {
        ("dataset|lake|daily", f"job|jobs|shop.{name}") for name in ("guess", "late", "new", "report")
    }
    assert [edge for edge in document["result"]["edges"] if "paths" in edge] == []


@pytest.mark.parametrize("by", ["snapshot", "job"])
def test_the_json_of_versions_and_of_jobs_is_of_the_same_schema(store, run, by):
    document = json.loads(run("upstream", "daily", "--by", by, "--store", store, "--format", "json")[1])

    jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)
    assert (document["question"], document["arguments"], document["complete"]) == (
        *("upstream", {"ref": "daily", "by": by}, True),
    )
    assert document["result"].keys() == {"type", "start", "depths", "nodes", "edges"}


def test_what_changed_is_drawn(tmp_path, events, run):
    after = tmp_path / "after.ndjson"
    after.write_text(text_of_events([*shop(), *later()]))
    code, shown, _ = run("diff", events, str(after), "--format", "mermaid")

    assert code == 1
    labels = sorted(line.split("|")[1] for line in shown.splitlines() if "|" in line)
    assert labels == [
        *['"+ IDENTITY"'] * 2,
        '"- GROUP_BY GROUP_BY of day"',
        *['"- IDENTITY"'] * 2,
        '"~ AGGREGATION sum(net)"',
    ]
    assert run("diff", events, str(after), "--format", "html")[1].count(' id="before">{"schema":"3-0-0"') == 1
    assert run("diff", events, str(after), "--format", "dot")[1].count(" -> ") == shown.count(">|")
    drawn = run("diff", events, str(after), "--format", "svg")[1]
    assert [f">{change}</text>" in drawn for change in ("added", "removed", "changed")] == [True] * 3


def test_what_can_not_be_drawn_is_said(events, store, run):
    assert run("diff", "run:r1", "run:r2", "--store", store, "--format", "dot") == (
        *(2, ""),
        "openlineage-pyspark: this answer can't be written as dot, only as text, markdown, json\n",
    )
    assert run("show", events, "--format", "dot", "--column", "total")[0] == 2
    assert run("show", events, "--format", "dot", "--dataset", "nowhere")[0] == 2
    assert run("view", events, "--format", "dot", "--compare", "2d")[0] == 2
