"""Facets of the user's own: found by entry point, asked once per event, checked before they are used."""

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
    from openlineage_pyspark.facets.model.run import RedactedState, RunState

GROUP = "openlineage_pyspark.facets"
"""The entry point group in which a distribution names its facet providers."""


@attrs.frozen
class CustomFacets:
    """What a provider adds to one event; a facet of a name that stands already takes its place.

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
    """What an entry point of the group `openlineage_pyspark.facets` must name."""

    def __call__(self, state: RunState) -> CustomFacets:
        """Give the facets to add to one event.

        Args:
            state: of the run, all that is known when the event is made.
        """


@attrs.frozen
class Provider:
    """A provider by name, not yet loaded.

    Args:
        name: of its entry point.
        load: gives the provider; loading runs the user's code, so it waits for the first use.
    """

    name: str
    load: Callable[[], FacetProvider]


@attrs.frozen
class Contribution:
    """What came of asking one provider about one event.

    Args:
        provider: its name.
        facets: what it added.
        failure: why it added nothing; None where it answered.
    """

    provider: str
    facets: CustomFacets = attrs.field(factory=CustomFacets)
    failure: str | None = None


def providers() -> tuple[Provider, ...]:
    """Give all providers that are installed, in the order of their names."""
    found = sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(Provider(name=entry.name, load=entry.load) for entry in found)


def contribute(provider: Provider, state: RedactedState) -> Contribution:
    """Ask one provider about one event.

    This runs code that isn't ours, and raises whatever that raises: the caller guards it and goes on with
    `failed`, so that one provider's fault costs its own facets alone.

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
        raise TypeError(f"it gave a {type(facets).__qualname__}: give a {__name__}.CustomFacets")
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
    """Give the contribution of a provider that could not be asked.

    Args:
        provider: which raised.
        error: the class of what it raised. The message, in which anything may stand, is in the log.
    """
    return Contribution(provider=provider.name, failure=f"{error}, see the log")


def _placed(facets: CustomFacets) -> Iterator[tuple[str, str, object, tuple[type, ...]]]:
    """Give each facet with its place, its name and the classes that may stand there."""
    places: list[tuple[str, Mapping[str, object], tuple[type, ...]]] = [
        ("run", facets.run, (RunFacet,)),
        ("job", facets.job, (JobFacet,)),
        *(("input", of_input, (DatasetFacet, InputDatasetFacet)) for of_input in facets.inputs.values()),
        *(("output", of_output, (DatasetFacet, OutputDatasetFacet)) for of_output in facets.outputs.values()),
    ]
    for place, by_name, allowed in places:
        for name, facet in by_name.items():
            yield place, name, facet, allowed
