"""The run that has ended last, as its user sees it."""

from __future__ import annotations

import re

import attrs
from openlineage_pyspark.facets.model.run import RunInput, RunState
from openlineage_pyspark.workbench.finished_run import finished_run
from openlineage_pyspark.workbench.model.graph import Edge, JobNode, RunNode

NAME = "nightly.insert_into_hadoop_fs_relation_command.data_totals"
TITLE = f"{NAME} failed at 2026-01-02T03:04:07.678000Z: no space left"


def flows(edges: tuple[Edge, ...]) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in edges if edge.is_flow]


def test_it_says_how_it_ended_and_what_it_read_and_wrote(full_run: tuple[RunState, RunState]) -> None:
    run = finished_run(full_run[1])

    assert attrs.asdict(run, filter=lambda field, _: field.name != "lineage") == {
        "job": NAME,
        "job_namespace": "shop",
        "run_id": "0190a000-0000-7000-8000-000000000002",
        "state": "FAIL",
        "ended": full_run[1].event_time,
        "error": "no space left",
    }
    assert str(run).splitlines()[:4] == [
        TITLE,
        "paths are relative to file:/data",
        "totals",
        "  column       from                            how",
    ]
    assert repr(run) == str(run)


def test_its_graph_has_its_job_between_what_it_read_and_what_it_wrote(full_run: tuple[RunState, RunState]) -> None:
    graph = finished_run(full_run[1]).graph()
    job = f"job|shop|{NAME}"

    assert flows(graph.edges) == [
        ("dataset|s3://shop|warehouse/orders", job),
        ("dataset|file|/data/rates", job),
        (job, "dataset|file|/data/totals"),
    ]
    assert {edge.job for edge in graph.edges} == {job}
    (run,) = [node for node in graph.nodes if isinstance(node, RunNode)]
    assert (run.job, run.state, run.error) == (job, "FAIL", "no space left")
    assert [node.name for node in graph.nodes if isinstance(node, JobNode)] == [NAME]
    assert {each.node for each in graph.diagnostics} == {job}


def test_a_table_that_a_run_reads_and_writes_stands_on_both_sides(full_run: tuple[RunState, RunState]) -> None:
    start = full_run[0]
    both = attrs.evolve(start, inputs=(RunInput(start.outputs[0].dataset),), event_type="COMPLETE")
    edges = flows(finished_run(both).graph().edges)

    assert [edge for edge in edges if any("totals" in end and "dataset" in end for end in edge)] == [
        ("dataset|file|/data/totals", f"job|shop|{NAME}"),
        (f"job|shop|{NAME}", "dataset|file|/data/totals"),
    ]


def test_a_notebook_shows_how_it_ended_above_the_graph(full_run: tuple[RunState, RunState]) -> None:
    shown = finished_run(full_run[1])._repr_html_()

    assert shown.startswith(f"<div><p>{TITLE}</p>")
    assert re.findall(r'aria-label="(Job [^"]*)"', shown) == [f"Job {NAME}, its last run: failed, 1 not understood"]
    assert "<p>not understood: MyOperator: all inputs are taken to reach all outputs</p>" in shown
