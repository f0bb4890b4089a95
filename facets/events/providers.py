"""Facets of other distributions: found by entry point, asked for once an event, checked before they are used."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
)
from openlineage_pyspark.facets.events.encode import serialise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.run import RunState

GROUP = "openlineage_pyspark.facets"
"""The entry point group in which a distribution names its facet providers."""


@attrs.frozen
class CustomFacets:
    """What a provider adds to one event; a facet of a name that the event has already takes its place.

    Args:
        run: facets of the run, by name.
        job: facets of the job, by name.
        inputs: facets of inputs, by dataset and name; an InputDatasetFacet goes to `inputFacets`.
        outputs: facets of outputs, by dataset and name; an OutputDatasetFacet goes to `outputFacets`.
    """

    run: Mapping[str, RunFacet] = attrs.field(factory=dict)
    job: Mapping[str, JobFacet] = attrs.field(factory=dict)
    inputs: Mapping[Identifier, Mapping[str, DatasetFacet | InputDatasetFacet]] = attrs.field(factory=dict)
    outputs: Mapping[Identifier, Mapping[str, DatasetFacet | OutputDatasetFacet]] = attrs.field(factory=dict)


class FacetProvider(Protocol):
    """What an entry point of the group `openlineage_pyspark.facets` names: a function of a run's state."""

    def __call__(self, state: RunState) -> CustomFacets:
        """Return the facets to add to one event.

        Args:
            state: everything known about the run when the event is made, with secrets removed.
        """


@attrs.frozen
class Provider:
    """A provider by name, not yet loaded.

    Args:
        name: of its entry point.
        load: imports and returns the provider; this runs code of others, so it waits for the first event.
    """

    name: str
    load: Callable[[], FacetProvider]


@attrs.frozen
class Contribution:
    """The answer of one provider about one event.

    Args:
        provider: its name.
        facets: what it added.
        failure: why it added nothing; None where it answered.
    """

    provider: str
    facets: CustomFacets = attrs.field(factory=CustomFacets)
    failure: str | None = None


def providers() -> tuple[Provider, ...]:
    """Return all providers that are installed, in the order of their names."""
    found = sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(Provider(name=entry.name, load=entry.load) for entry in found)


def contribute(provider: Provider, state: RunState) -> Contribution:
    """Ask one provider about one event.

    This runs code of others and raises whatever that raises. The caller catches it and goes on with `failed`, so that
    a provider's fault costs its own facets alone.

    Args:
        provider: to ask.
        state: of the run.

    Raises:
        TypeError: for an answer that is no CustomFacets, a facet of the wrong class for its place, or a value
            without a JSON form.
        ValueError: for NaN, or for a dataset that the run does not have.
    """
    facets = provider.load()(state)
    if not isinstance(facets, CustomFacets):
        raise TypeError(f"it gave a {type(facets).__qualname__}: return a CustomFacets")
    for place, name, facet, allowed in _placed(facets):
        if not isinstance(facet, allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise TypeError(f"its {place} facet {name!r} is a {type(facet).__qualname__}: make it a {names}")
        serialise({name: facet})
    absent = [*(set(facets.inputs) - {read.dataset.identifier for read in state.inputs})]
    absent += set(facets.outputs) - {written.dataset.identifier for written in state.outputs}
    if absent:
        raise ValueError(f"it has facets for {min(absent)}, which the run does not have in that place")
    return Contribution(provider=provider.name, facets=facets)


def failed(provider: Provider, error: str) -> Contribution:
    """Return the contribution of a provider that failed.

    Args:
        provider: which raised.
        error: the class of what it raised. Its message may hold anything, and is in the log alone.
    """
    return Contribution(provider=provider.name, failure=f"{error}, see the log")


def _placed(facets: CustomFacets) -> Iterator[tuple[str, str, object, tuple[type, ...]]]:
    """Yield each facet with its place, its name and the classes that are allowed there."""
    places: list[tuple[str, Mapping[str, object], tuple[type, ...]]] = [
        ("run", facets.run, (RunFacet,)),
        ("job", facets.job, (JobFacet,)),
        *(("input", of_input, (DatasetFacet, InputDatasetFacet)) for of_input in facets.inputs.values()),
        *(("output", of_output, (DatasetFacet, OutputDatasetFacet)) for of_output in facets.outputs.values()),
    ]
    for place, by_name, allowed in places:
        for name, facet in by_name.items():
            yield place, name, facet, allowed
