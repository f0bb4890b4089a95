"""Reading a transport's options: nested, as text or typed, each problem told with its full key."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import KEY_PREFIX, TransportConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.transport.base import Transport

_log = logging.getLogger(__name__)


def text_option(options: Mapping[str, object], *names: str) -> str | None:
    """Read an option as text without surrounding blanks, None where it is not set.

    Args:
        options: the nested options.
        names: the spellings of this one option, nested with dots.

    Raises:
        TransportConfigError: two spellings are set, or the value is not a single one.
    """
    name, value = _first(options, names)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TransportConfigError(name, "must hold one text", f"Write {KEY_PREFIX}.{name}=<text>.")
    return str(value).strip()


def number_option(options: Mapping[str, object], name: str, *, unit: str) -> float | None:
    """Read an option as a number above zero, None where it is not set.

    Args:
        options: the nested options.
        name: the option, nested with dots.
        unit: what the number counts, for the message.

    Raises:
        TransportConfigError: it is no number, or not above zero.
    """
    text = text_option(options, name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise TransportConfigError(name, f"is {text!r}", f"Set it to a number of {unit} above zero.")
    return number


def map_option(options: Mapping[str, object], *names: str) -> dict[str, str]:
    """Read an option that is a map of free names to text, empty where it is not set.

    Args:
        options: the nested options.
        names: the spellings of this one option. A name with dots inside the map is put together again.

    Raises:
        TransportConfigError: two spellings are set, it is no map, or a value in it is not a single one.
    """
    name, value = _first(options, names)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TransportConfigError(name, "must hold names with values", f"Write {KEY_PREFIX}.{name}.<name>=<value>.")
    return {key: text_option(options, f"{name}.{key}") or "" for key in _dotted(value)}


def warn_of_unused(options: Mapping[str, object], transport: type[Transport], name: str) -> None:
    """Warn of each option that the transport does not read, with the nearest one that it does.

    Args:
        options: the nested options; `type` is the registry's own.
        transport: the class, with its declared names.
        name: the transport's name, for the message.
    """
    for option in _dotted(options):
        if option == "type" or _declared(option, transport.OPTIONS):
            continue
        if _declared(option, transport.OPTIONS_NOT_YET):
            _log.warning("%s.%s is not supported yet by the %s transport and has no effect", KEY_PREFIX, option, name)
            continue
        near = nearest(option, transport.OPTIONS)
        hint = f"; did you mean {KEY_PREFIX}.{near}?" if near else ""
        _log.warning("%s.%s is unknown to the %s transport and has no effect%s", KEY_PREFIX, option, name, hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like the given one, or None where none is close."""
    by_lower = {candidate.lower(): candidate for candidate in sorted(known)}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def _first(options: Mapping[str, object], names: tuple[str, ...]) -> tuple[str, object]:
    found = [(name, value) for name in names if (value := _at(options, name)) is not None]
    if len(found) > 1:
        other = f"{KEY_PREFIX}.{found[1][0]}"
        raise TransportConfigError(found[0][0], f"and {other} say the same thing", "Keep one of them.")
    return found[0] if found else (names[0], None)


def _at(options: Mapping[str, object], name: str) -> object:
    if name in options:
        return options[name]
    outer, dot, inner = name.partition(".")
    below = options.get(outer) if dot else None
    if below is None:
        return None
    if not isinstance(below, Mapping):
        raise TransportConfigError(outer, "must hold options of its own", f"Write {KEY_PREFIX}.{name}=<value>.")
    return _at(below, inner)


def _dotted(options: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _declared(option: str, names: frozenset[str]) -> bool:
    return option in names or any(name.endswith(".*") and option.startswith(name[:-1]) for name in names)
