"""The user's own facets: providers are found by entry point, called once per event, and their facets checked."""

from __future__ import annotations

from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, JobFacet, OutputDatasetFacet, RunFacet
from openlineage_pyspark.facets.events.encode import serialise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.run import RedactedState, RunState

FACETS_GROUP = "openlineage_pyspark.facets"
"""The entry point group in which a distribution names its facet providers."""


@attrs.frozen
class CustomFacets:
    """
    The facets that a provider adds to one event, read-only; they replace facets of the same name.

    Args:
        run: facets of the run, by name.
        job: facets of the job, by name.
        inputs: facets of inputs, by dataset and name; an InputDatasetFacet goes to `inputFacets`.
        outputs: facets of outputs, by dataset and name; an OutputDatasetFacet goes to `outputFacets`.
    """

    run: Mapping[str, RunFacet] = attrs.Factory(dict)
    job: Mapping[str, JobFacet] = attrs.Factory(dict)
    inputs: Mapping[Identifier, Mapping[str, DatasetFacet | InputDatasetFacet]] = attrs.Factory(dict)
    outputs: Mapping[Identifier, Mapping[str, DatasetFacet | OutputDatasetFacet]] = attrs.Factory(dict)

    def __attrs_post_init__(self) -> None:
        # Not by converters: those hide the fields' types from type checkers.
        for name in ("run", "job"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for name in ("inputs", "outputs"):
            each = {dataset: MappingProxyType(dict(facets)) for dataset, facets in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(each))


class FacetProvider(Protocol):
    """The type of the function that an entry point of the group `openlineage_pyspark.facets` must name."""

    def __call__(self, state: RunState) -> CustomFacets:
        """
        Return the facets to add to one event.

        Args:
            state: the state of the run when the event is made, with secrets removed.
        """


@attrs.frozen
class Provider:
    """
    A provider that is not loaded yet.

    Args:
        name: the name of its entry point.
        load: returns the provider; it runs the user's code, so it is called on first use only.
    """

    name: str
    load: Callable[[], FacetProvider]


@attrs.frozen
class Contribution:
    """
    The result of calling one provider for one event.

    Args:
        provider: the name of the provider.
        facets: the facets that it added.
        failure: why it added nothing; None if it returned.
    """

    provider: str
    facets: CustomFacets = attrs.field(factory=CustomFacets)
    failure: str | None = None


def providers() -> tuple[Provider, ...]:
    """Return all installed providers, sorted by name."""
    found = sorted(metadata.entry_points(group=FACETS_GROUP), key=lambda entry: entry.name)
    return tuple(Provider(name=entry.name, load=entry.load) for entry in found)


def contribute(provider: Provider, state: RedactedState) -> Contribution:
    """
    Call one provider for one event, and check its facets.

    This runs the user's code and raises whatever it raises. The caller guards the call and continues with `failed`, so
    that a fault costs only this provider's facets.

    Raises:
        TypeError: the result is not a CustomFacets, a facet has the wrong class for its place, or a value has no JSON
            form.
        ValueError: a number is NaN, or a dataset is not an input or output of the run.
    """
    facets = provider.load()(state)
    if not isinstance(facets, CustomFacets):
        raise TypeError(f"it returned a {type(facets).__qualname__}: return a CustomFacets")
    for place, name, facet, allowed in _placed(facets):
        if not isinstance(facet, allowed):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise TypeError(f"its {place} facet {name!r} is a {type(facet).__qualname__}: make it a {names}")
        serialise({name: facet})
    inputs = {read.dataset.identifier for read in state.inputs}
    outputs = {written.dataset.identifier for written in state.outputs}
    absent = [("input", each) for each in set(facets.inputs) - inputs]
    absent += [("output", each) for each in set(facets.outputs) - outputs]
    if absent:
        side, missing = min(absent)
        raise ValueError(
            f"it has {side} facets for {missing.namespace} {missing.name}, which is not an {side} of the run"
        )
    return Contribution(provider=provider.name, facets=facets)


def failed(provider: Provider, error: str) -> Contribution:
    """
    Return the contribution of a provider that raised.

    Args:
        provider: the provider.
        error: the class of the exception. Its message may hold anything, and is in the log only.
    """
    return Contribution(provider=provider.name, failure=f"{error}, see the log")


def _placed(facets: CustomFacets) -> Iterator[tuple[str, str, object, tuple[type, ...]]]:
    """Yield the place of each facet, its name, the facet, and the classes that are allowed there."""
    places: list[tuple[str, Mapping[str, object], tuple[type, ...]]] = [
        ("run", facets.run, (RunFacet,)),
        ("job", facets.job, (JobFacet,)),
        *(("input", of_input, (DatasetFacet, InputDatasetFacet)) for of_input in facets.inputs.values()),
        *(("output", of_output, (DatasetFacet, OutputDatasetFacet)) for of_output in facets.outputs.values()),
    ]
    for place, by_name, allowed in places:
        for name, facet in by_name.items():
            yield place, name, facet, allowed
