"""A made-up lineage of thousands of tables."""

from __future__ import annotations

import random
from collections.abc import Callable

from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, JobNode, RunNode

from support.lineage_paths import path

_COLUMNS = 10
_SOURCES = 3


def in_forty_schemas(number: int) -> str:
    """Return the name of a table in one of forty schemas."""
    return f"db{number % 40}.table_{number}"


def large_graph(tables: int, seed: int = 1, name: Callable[[int], str] = in_forty_schemas) -> Graph:
    """Return a graph of tables of ten columns each, every one made from three earlier ones by a job of its own."""
    chance = random.Random(seed)  # noqa: S311 (a choice that is made again in each run)
    names = [(name(number).replace(".", "/"), name(number)) for number in range(tables)]
    datasets = [DatasetNode("lake", name, label) for name, label in names]
    columns = {
        each.id: [ColumnNode(each.id, f"column_{place}", "bigint") for place in range(_COLUMNS)] for each in datasets
    }
    jobs, runs, edges = [], [], []
    for number, target in enumerate(datasets[20:], 20):
        job = JobNode("bench", f"make.table_{number}")
        jobs.append(job)
        runs.append(RunNode(f"run-{number}", job.id, "COMPLETE", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"))
        sources = chance.sample(datasets[max(0, number - 200) : number], _SOURCES)
        edges.append(Edge(job.id, target.id, job=job.id))
        edges += [Edge(source.id, job.id, job=job.id) for source in sources]
        for column in columns[target.id]:
            source = chance.choice(columns[chance.choice(sources).id])
            kind = chance.choice(("IDENTITY", "TRANSFORMATION", "AGGREGATION"))
            text = f"expression of {source.name} in the statement of job {number}"
            edges.append(Edge(source.id, column.id, (path(kind, text),), job.id))
        key = chance.choice(columns[sources[0].id])
        edges.append(Edge(key.id, target.id, (path("JOIN"),), job.id))
    every = [column for found in columns.values() for column in found]
    return Graph((*datasets, *every, *jobs, *runs), tuple(edges))
