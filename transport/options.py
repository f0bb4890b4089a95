"""Reading a transport's options: nested, as text or typed, each problem told with its full key."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import KEY_PREFIX, TransportConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.transport.base import Transport

_log = logging.getLogger(__name__)


class InnerOptions(dict[str, object]):
    """The options of a transport within another one, which know where they stand.

    Args:
        options: the nested options.
        prefix: what the names of the options begin with in the configuration, without the last dot.
    """

    def __init__(self, options: Mapping[str, object], prefix: str) -> None:
        super().__init__(options)
        self.prefix = prefix


def prefix_of(options: Mapping[str, object]) -> str:
    """Return what the names of these options begin with in the configuration, without the last dot."""
    return options.prefix if isinstance(options, InnerOptions) else KEY_PREFIX


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
    if isinstance(value, bool):
        # As YAML's true and false would stand in a properties file.
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise TransportConfigError(name, "must hold one text", f"Write {KEY_PREFIX}.{name}=<text>.")
    return str(value).strip()


def flag_option(options: Mapping[str, object], *names: str) -> bool | None:
    """Read an option that is true or false, None where it is not set.

    Args:
        options: the nested options.
        names: the spellings of this one option, nested with dots.

    Raises:
        TransportConfigError: two spellings are set, or the value is neither.
    """
    name, _ = _first(options, names)
    word = (text_option(options, name) or "").lower()
    if not word:
        return None
    if word not in {"true", "1", "false", "0"}:
        raise TransportConfigError(name, "is neither true nor false", "Set it to true or false.")
    return word in {"true", "1"}


def number_option(options: Mapping[str, object], *names: str, unit: str, zero_allowed: bool = False) -> float | None:
    """Read an option as a number above zero, None where it is not set.

    Args:
        options: the nested options.
        names: the spellings of this one option, nested with dots.
        unit: what the number counts, for the message.
        zero_allowed: whether it may be zero too.

    Raises:
        TransportConfigError: two spellings are set, it is no number, or not above zero.
    """
    name, _ = _first(options, names)
    text = text_option(options, name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 <= number < float("inf") and (number or zero_allowed)):
        least = "from zero on" if zero_allowed else "above zero"
        raise TransportConfigError(name, not_such_a_number(text), f"Set it to a number of {unit} {least}.")
    return number


def size_option(options: Mapping[str, object], name: str) -> int | None:
    """Read an option as a number of bytes above zero, None where it is not set.

    Args:
        options: the nested options.
        name: the option, nested with dots; its value may end in `k`, `m` or `g`.

    Raises:
        TransportConfigError: it is no such number.
    """
    text = text_option(options, name)
    if text is None:
        return None
    match = re.fullmatch("([0-9]+)([kmg]?)b?", text.lower())
    size = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2]] if match else 0
    if not size:
        remedy = "Set it to a number of bytes, such as 1048576, 512k or 32m."
        raise TransportConfigError(name, not_such_a_number(text), remedy)
    return size


def not_such_a_number(text: str) -> str:
    """Say what is wrong with a value that should be another number, and show it only if it is one with a short unit.

    Any other may be a secret that was written into the wrong option.

    Args:
        text: the value.
    """
    return f"is {text!r}" if re.fullmatch("-?[0-9.,]{1,12} ?[A-Za-z]{0,4}", text) else "is no such number"


def list_option(options: Mapping[str, object], *names: str) -> tuple[str, ...]:
    """Read an option that is a list of texts, empty where it is not set.

    Args:
        options: the nested options.
        names: the spellings of this one option. Its value is a list, or text such as `a,b` or `[a;b]`.

    Raises:
        TransportConfigError: two spellings are set, or an item is not a single text.
    """
    name, value = _first(options, names)
    if value is None:
        return ()
    items = (
        value if isinstance(value, list | tuple) else re.split("[;,]", (text_option(options, name) or "").strip("[]"))
    )
    if not all(isinstance(item, str | int | float) for item in items):
        raise TransportConfigError(name, "must hold a list of texts", f"Write {KEY_PREFIX}.{name}=<text>,<text>.")
    return tuple(text for item in items if (text := str(item).strip()))


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


def required_option(options: Mapping[str, object], *names: str, remedy: str) -> str:
    """Read an option as text that must be there.

    Args:
        options: the nested options.
        names: the spellings of this one option, nested with dots.
        remedy: what to do where it is not set, as a sentence.

    Raises:
        TransportConfigError: it is not set, two spellings are, or the value is not a single one.
    """
    text = text_option(options, *names)
    if not text:
        raise TransportConfigError(names[0], "is not set", remedy)
    return text


def warn_of_unused(options: Mapping[str, object], transport: type[Transport], name: str) -> None:
    """Warn of each option that the transport does not read, with the nearest one that it does.

    Args:
        options: the nested options; `type` is the registry's own.
        transport: the class, with its declared names.
        name: the transport's name, for the message.
    """
    prefix = prefix_of(options)
    for option in _dotted(options):
        if option == "type" or _declared(option, transport.OPTIONS):
            continue
        if _declared(option, transport.OPTIONS_NOT_YET):
            _log.warning("%s.%s is not supported yet by the %s transport and has no effect", prefix, option, name)
            continue
        near = nearest(option, transport.OPTIONS)
        hint = f"; did you mean {prefix}.{near}?" if near else ""
        _log.warning("%s.%s is unknown to the %s transport and has no effect%s", prefix, option, name, hint)


def not_such_a_word(text: str, known: Iterable[str]) -> tuple[str, str]:
    """Say what is wrong with a value that is not among the known ones, and show it only if it is like one of them.

    Any other may be a secret that was written into the wrong option.

    Args:
        text: the value.
        known: what is allowed.

    Returns:
        What is wrong, as a clause, and a question with a space behind it, empty where none is like it.
    """
    near = nearest(text, known)
    return (f"is {text!r}, unknown", f"Did you mean {near!r}? ") if near else ("is unknown", "")


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
    return option in names or any(name.endswith("*") and option.startswith(name[:-1]) for name in names)
