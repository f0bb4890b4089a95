"""Turn the values from the sources into typed ones: the strongest source wins, and errors become warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from openlineage_pyspark.listener.settings.kinds import ValueKind
from openlineage_pyspark.transport.options import JAVA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.listener.settings.given import GivenValue, Layer

T = TypeVar("T")

TRANSPORT = "transport."
"""The prefix of transport options, which the transports themselves read and check."""

_READER = "reader"

# A short number, perhaps with a unit; or a word that switches something on or off.
_HARMLESS_VALUE = re.compile(
    r"-?[0-9]{1,12}(?:\.[0-9]{1,6})? ?[a-z]{0,3}|true|false|yes|no|on|off|none|null|enabled|disabled"
)

FREE_NAMES = frozenset({"config", "custom_headers", "headers", "properties", "transformerProperties", "urlParams"})
"""
The transport options below which users choose the names, which may contain dots.

They are listed here, not collected from the transports' declarations, so that a driver need not import all transports.
"""


@attrs.frozen
class Key(Generic[T]):
    """
    One configuration key.

    Args:
        name: its name without prefix; a part in angle brackets is any name.
        kind: the kind of its values.
        text: one sentence of documentation for users.
        default: the value if the key is not set, or its value can't be used.
        example: a value to show in samples if there is no default.
        example_name: a name to show in samples for the part in angle brackets.
        also: other accepted spellings.
        source: the project that name and meaning come from: JAVA, PYTHON or OURS.
    """

    name: str
    kind: ValueKind[T]
    text: str = attrs.field(kw_only=True)
    default: T = attrs.field(kw_only=True)
    example: str = attrs.field(kw_only=True, default="")
    example_name: str = attrs.field(kw_only=True, default="")
    also: tuple[str, ...] = attrs.field(kw_only=True, default=())
    source: str = attrs.field(kw_only=True, default=JAVA)

    @property
    def default_text(self) -> str:
        """The default as it is written in a properties file; empty if there is none."""
        return "" if self.default is None else self.kind.written(self.default)

    def matched(self, name: str) -> str | None:
        """Return the part of a name at the angle brackets, empty if there is none; None if it is another key."""
        return next((free for known in (self.name, *self.also) if (free := _free_part(known, name)) is not None), None)


@attrs.frozen
class FieldReader(Generic[T]):
    """
    How one field of the settings is read.

    Args:
        keys: the keys that the field declares.
        read: computes the field's value from the reading and these keys.
    """

    keys: tuple[Key[Any], ...]
    read: Callable[..., T]


def key(
    name: str,
    kind: ValueKind[T],
    *,
    text: str,
    default: T,
    example: str = "",
    source: str = JAVA,
) -> T:
    """Declare a field of the settings that holds the value of one key; see `Key` for the arguments."""
    declared = Key(name, kind, text=text, default=default, example=example, source=source)
    reader: FieldReader[T] = FieldReader((declared,), LayerReading.value)
    return _field(reader, default)


def derived(*keys: Key[Any], by: Callable[..., T], default: T) -> T:
    """
    Declare a field of the settings that is computed from several keys, or from all keys that match a pattern.

    Args:
        keys: the keys.
        by: computes the value from the `LayerReading` and the keys.
        default: the value if none of them is set.
    """
    return _field(FieldReader(keys, by), default)


def readers(settings: type[Any]) -> dict[str, FieldReader[Any]]:
    """Return the reader of each field that `key` or `derived` declares, by the field's name."""
    fields = attrs.fields(settings)
    return {field.name: field.metadata[_READER] for field in fields if _READER in field.metadata}


def _field(reader: FieldReader[T], default: T) -> T:
    return attrs.field(default=default, metadata={_READER: reader})


class LayerReading:
    """
    Reads settings from the layers of the configuration.

    Args:
        layers: what each source gave, weakest first.

    Attributes:
        given: what each layer gave, weakest first, by dotted name.
        warnings: the warnings so far, as sentences without a full stop; there may be duplicates.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.warnings = [problem for layer in layers for problem in layer.problems]
        self.given: dict[str, list[GivenValue]] = {}
        for given in _of_one_transport(layers):
            self.given.setdefault(given.name, []).append(given)

    def value(self, key: Key[T]) -> T:
        """Return the value of a key; its default if no value was given or the value can't be used."""
        given = self.given.get(key.name)
        return self.converted(key, given[-1]) if given else key.default

    def named(self, key: Key[T]) -> Iterator[tuple[str, T, GivenValue]]:
        """Yield each name that is given for the bracketed part of a key, its value, and the entry itself."""
        for name, given in self.given.items():
            if free := key.matched(name):
                yield free, self.converted(key, given[-1]), given[-1]

    def converted(self, key: Key[T], given: GivenValue) -> T:
        """Return the given value of the key; if it can't be used, add a warning and return the default."""
        try:
            return key.kind.convert(given.value)
        except (ValueError, TypeError):
            instead = f"the default, {key.default_text}, is used" if key.default_text else "it has no effect"
            self.warnings.append(f"{given.label} {_is_or_is_not(given.value)}{key.kind.name}; {instead}")
            return key.default

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


def _free_part(known: str, name: str) -> str | None:
    if name == known:
        return ""
    before, bracket, rest = known.partition("<")
    after = rest.partition(">")[2]
    found = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", name) if bracket else None
    return found[1] if found else None


def _of_one_transport(layers: Sequence[Layer]) -> Iterator[GivenValue]:
    """Yield the entries, except options meant for a transport other than the one that the strongest layer names."""
    every = [given for layer in layers for given in layer.given]
    chosen = next((_text(given) for given in reversed(every) if given.name == f"{TRANSPORT}type"), None)
    for layer in layers:
        fits = layer.transport_type in {None, chosen}
        yield from (given for given in layer.given if fits or not given.name.startswith(TRANSPORT))


def _text(given: GivenValue) -> str:
    return str(given.value).strip()


def _path(name: str) -> tuple[str, ...]:
    parts = name.removeprefix(TRANSPORT).split(".")
    free = next((index + 1 for index, part in enumerate(parts) if part in FREE_NAMES), len(parts))
    return (*parts[:free], *([".".join(parts[free:])] if parts[free:] else []))


def _is_or_is_not(value: object) -> str:
    """Return the beginning of the sentence about a wrong value; it shows the value only if that can't be a secret."""
    text = str(value).strip().lower()
    if isinstance(value, str | int | float) and _HARMLESS_VALUE.fullmatch(text):
        return f"is {text}; it must be "
    return f"is {_kind_of(value)}; it must be "


def _kind_of(value: object) -> str:
    """Describe the type of a value without showing it, because it may be a secret."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a long number" if re.fullmatch("-?[0-9.]+", value.strip()) else "text that is not shown"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "a group of keys"
    return f"a {type(value).__name__}"
