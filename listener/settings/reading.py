"""From what the sources gave to typed values: the strongest wins, and what is wrong becomes a warning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from openlineage_pyspark.facets.model.run import RunReference
from openlineage_pyspark.listener.settings import keys
from openlineage_pyspark.listener.settings.catalog import (
    FACETS_NOT_YET,
    find_key,
    nearest_facet,
    nearest_key,
)
from openlineage_pyspark.listener.settings.kinds import Tag, parse_tag
from openlineage_pyspark.listener.settings.transport_keys import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.listener.settings.keys import Key
    from openlineage_pyspark.listener.settings.sources import Given, Layer

T = TypeVar("T")

# Below these, names are the user's own and may hold dots.
_FREE_NAMES = frozenset({"config", "custom_headers", "headers", "properties", "transformerProperties", "urlParams"})


class Reading:
    """The layers on their way to settings.

    Args:
        layers: what each source gave, the weakest first.

    Attributes:
        given: by dotted name, what each layer gave, the weakest first.
        warnings: what came up so far, as sentences without their full stop; the same one may come twice.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self.warnings = [problem for layer in layers for problem in layer.problems]
        self.given: dict[str, list[Given]] = {}
        for given in _of_one_transport(layers):
            self.given.setdefault(given.name, []).append(given)

    def warn_of_names(self) -> None:
        """Warn of each name that is no key, and of each key that has no effect yet."""
        for layer in self._layers:
            for given in layer.given:
                key = find_key(given.name)
                if given.name.startswith(TRANSPORT):
                    continue
                if key is None:
                    near = nearest_key(given.name)
                    hint = f"; did you mean {layer.suggestion(near)}?" if near else ""
                    self.warnings.append(f"{given.label} is unknown and has no effect{hint}")
                elif key.status == keys.KNOWN:
                    self.warnings.append(f"{given.label} is not supported yet and has no effect")

    def value(self, key: Key[T]) -> T:
        """Return the value of a key, its default where none was given or what was given can't be used."""
        given = self.given.get(key.name)
        return self._converted(key, given[-1]) if given else key.default

    def named(self, key: Key[T]) -> Iterator[tuple[str, T]]:
        """Yield each name that stands in the brackets of a key, and its value."""
        for name, given in self.given.items():
            if free := key.matched(name):
                yield free, self._converted(key, given[-1])

    def transport(self) -> Mapping[str, Any]:
        """Return the transport options, nested."""
        options: dict[str, Any] = {}
        paths = {name: _path(name) for name in self.given if name.startswith(TRANSPORT)}
        for name, path in paths.items():
            given = self.given[name][-1]
            if any(other[: len(path)] == path for other in paths.values() if len(other) > len(path)):
                self.warnings.append(f"{given.label} has no effect: there are keys below it")
                continue
            group = options
            for part in path[:-1]:
                group = group.setdefault(part, {})
            group[path[-1]] = given.value
        return options

    def parents(self) -> tuple[RunReference | None, RunReference | None]:
        """Return the run that started the application and the one at the top, which may be the same."""
        context = self.value(keys.PARENT_CONTEXT)
        if context:
            if context.has_facets:
                label = self.given[keys.PARENT_CONTEXT.name][-1].label
                self.warnings.append(f"{label} holds facets, which are not passed on yet")
            return context.parent, context.root or context.parent
        parent = self._run(keys.PARENT_RUN_ID, keys.PARENT_JOB_NAMESPACE, keys.PARENT_JOB_NAME)
        root = self._run(keys.ROOT_PARENT_RUN_ID, keys.ROOT_PARENT_JOB_NAMESPACE, keys.ROOT_PARENT_JOB_NAME)
        return parent, root or parent

    def disabled_facets(self) -> frozenset[str]:
        """Return the facets that are switched off."""
        disabled = set()
        for name, off in self.named(keys.FACET_DISABLED):
            label = self.given[keys.FACET_DISABLED.name.replace("<name>", name)][-1].label
            if off:
                disabled.add(name)
            elif name in FACETS_NOT_YET:
                self.warnings.append(f"{label} asks for the facet {name}, which is not supported yet")
            # Only of a facet that is almost one of ours: a plug-in may bring any other.
            if near := nearest_facet(name):
                self.warnings.append(f"{label} names no facet that is known; did you mean {near}?")
        return frozenset(disabled)

    def tags(self, listed: Key[tuple[str, ...]], single: Key[str | None]) -> tuple[Tag, ...]:
        """Return the tags of one kind, those of `listed` before those of `single` with the same key."""
        tags = {name: Tag(name, value, "USER") for name, value in self.named(single) if value}
        # Of all layers and not of the strongest alone: the Java integration merges tags by their key.
        for given in self.given.get(listed.name, ()):
            texts: tuple[str, ...] = self._converted(listed, given)
            for position, text in enumerate(texts, start=1):
                tag, whole = parse_tag(text)
                if tag:
                    tags[tag.key] = tag
                if not whole:
                    what = "is cut after its third part" if tag else "is left out"
                    problem = f"tag {position} is not written as key, key:value or key:value:source"
                    self.warnings.append(f"{given.label}: {problem}, and {what}")
        return tuple(tags.values())

    def _converted(self, key: Key[T], given: Given) -> T:
        try:
            return key.kind.convert(given.value)
        except (ValueError, TypeError):
            default = keys.as_text(key.default)
            instead = f"the default, {default}, is used" if default else "it has no effect"
            problem = f"holds {_kind_of(given.value)}, but {key.kind.name} is expected"
            self.warnings.append(f"{given.label} {problem}; {instead}")
            return key.default

    def _run(self, *parts: Key[str | None]) -> RunReference | None:
        run_id, namespace, name = (self.value(part) for part in parts)
        if run_id and namespace and name:
            return RunReference(run_id, namespace, name)
        given = [self.given[part.name][-1].label for part in parts if part.name in self.given]
        if given:
            needed = ", ".join(part.name for part in parts)
            self.warnings.append(f"{', '.join(given)}: no effect, because {needed} are needed together")
        return None


def _of_one_transport(layers: Sequence[Layer]) -> Iterator[Given]:
    """Leave out the options of another transport than the one that the strongest layer names."""
    every = [given for layer in layers for given in layer.given]
    chosen = next((_text(given) for given in reversed(every) if given.name == f"{TRANSPORT}type"), None)
    for layer in layers:
        fits = layer.transport_type in {None, chosen}
        yield from (given for given in layer.given if fits or not given.name.startswith(TRANSPORT))


def _text(given: Given) -> str:
    return str(given.value).strip()


def _path(name: str) -> tuple[str, ...]:
    parts = name.removeprefix(TRANSPORT).split(".")
    free = next((index + 1 for index, part in enumerate(parts) if part in _FREE_NAMES), len(parts))
    return (*parts[:free], *([".".join(parts[free:])] if parts[free:] else []))


def _kind_of(value: object) -> str:
    """Say what a value is without showing it, for it may be a secret."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a number" if re.fullmatch("-?[0-9.]+", value.strip()) else "text"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a group of keys"
    return f"a {type(value).__name__}"
