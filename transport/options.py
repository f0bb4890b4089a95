"""
The options of transports: how they are declared, and how their values are read.

A transport declares each option once, as an `Option`. The declaration gives the reader, the default, the warning about
a misspelled name, the reference in docs/configuration.md and the samples in conf/.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport import values
from openlineage_pyspark.transport.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")

_log = logging.getLogger(__name__)

# Each represents a byte that is not UTF-8 in an argument or an environment variable.
_SURROGATE = re.compile("[\ud800-\udfff]")

KEY_PREFIX = TransportConfigError.PREFIX
"""The prefix of all transport options in the configuration, without the last dot."""

JAVA = "openlineage-spark"
PYTHON = "openlineage-python"
OURS = "openlineage-pyspark"


class InnerOptions(dict[str, object]):
    """
    The options of a transport inside another one, with their prefix in the configuration.

    Args:
        options: the nested options.
        prefix: the prefix of these options in the configuration, without the last dot.
    """

    def __init__(self, options: Mapping[str, object], prefix: str) -> None:
        super().__init__(options)
        self.prefix = prefix


def prefix_of(options: Mapping[str, object]) -> str:
    """Return the prefix of these options in the configuration, without the last dot."""
    return options.prefix if isinstance(options, InnerOptions) else KEY_PREFIX


@attrs.frozen
class Option(Generic[T]):
    """
    One option of a transport.

    Args:
        name: its name below `spark.openlineage.transport`, nested with dots; `headers.<name>` is a map with free names.
        kind: how its value is read: `text`, `flag`, `size`, `texts`, `text_map`, or what `number` returns.
        text: one sentence for users.
        default: the value if it is not set. None, an empty text or an empty list if there is no default.
        example: a value to show in samples if there is no default.
        example_name: a name to show instead of the part in angle brackets.
        also: other spellings of the same option.
        source: the project from which name and meaning come: JAVA, PYTHON or OURS.
    """

    name: str
    kind: Callable[[Mapping[str, object], str], T | None] = attrs.field(repr=False)
    text: str = attrs.field(kw_only=True)
    default: T = attrs.field(kw_only=True)
    example: str = attrs.field(kw_only=True, default="")
    example_name: str = attrs.field(kw_only=True, default="")
    also: tuple[str, ...] = attrs.field(kw_only=True, default=())
    source: str = attrs.field(kw_only=True, default=JAVA)

    @property
    def spellings(self) -> tuple[str, ...]:
        """All names of the option, the preferred one first."""
        return (self.name, *self.also)

    def covers(self, name: str) -> bool:
        """Return whether a dotted name is this option, or an entry of its map."""
        return any(name == known or ("<" in known and name.startswith(_stem(known))) for known in self.spellings)

    def given(self, options: Mapping[str, object]) -> T | None:
        """
        Return the value that is set; None if there is none.

        Args:
            options: the options that are given.

        Raises:
            TransportConfigError: two spellings are set, or the value is not of its kind.
        """
        name, value = _first(options, [_stem(known).removesuffix(".") for known in self.spellings])
        return None if value is None else self.kind(options, name)

    def read(self, options: Mapping[str, object]) -> T:
        """
        Return the value that is set, else the default.

        Args:
            options: the options that are given.

        Raises:
            TransportConfigError: two spellings are set, or the value is not of its kind.
        """
        value = self.given(options)
        return self.default if value is None else value

    def required(self, options: Mapping[str, object], remedy: str) -> T:
        """
        Return the value that is set.

        Args:
            options: the nested options.
            remedy: what to do if it is not set, as a sentence.

        Raises:
            TransportConfigError: it is not set, two spellings are set, or the value is not of its kind.
        """
        value = self.given(options)
        if not value:
            raise TransportConfigError(self.name, "is not set", remedy)
        return value


def text(options: Mapping[str, object], name: str) -> str | None:
    """Read one text, without surrounding blanks."""
    value = _at(options, name)
    if value is None:
        return None
    if isinstance(value, bool):
        # The same text as in a properties file.
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise TransportConfigError(name, "must be one text", f"Write {KEY_PREFIX}.{name}=<text>.")
    return _usable(name, str(value)).strip()


def path(options: Mapping[str, object], name: str) -> str | None:
    """Read the name of a file, which need not be valid Unicode; otherwise like `text`."""
    value = _at(options, name)
    if isinstance(value, str) and _SURROGATE.search(value) and "\0" not in value:
        return value.strip()
    return text(options, name)


def _usable(name: str, value: str) -> str:
    """Return a value if every system call and protocol can take it."""
    kind = "a NUL character" if "\0" in value else "bytes that are not UTF-8" if _SURROGATE.search(value) else ""
    if kind:
        # The value is not shown: it may be a password.
        remedy = "Write it again: it was damaged in transit, or read from a file in another encoding."
        raise TransportConfigError(name, f"holds {kind}", remedy)
    return value


def flag(options: Mapping[str, object], name: str) -> bool | None:
    """Read true or false."""
    word = text(options, name)
    try:
        return values.boolean(word) if word else None
    except ValueError:
        raise TransportConfigError(name, "is neither true nor false", "Set it to true or false.") from None


def number(unit: str, *, zero_allowed: bool = False) -> Callable[[Mapping[str, object], str], float | None]:
    """
    Return a reader of positive numbers.

    Args:
        unit: the unit of the number, for the error message.
        zero_allowed: whether zero is allowed too.
    """
    least = "of at least 0" if zero_allowed else "above zero"

    def read(options: Mapping[str, object], name: str) -> float | None:
        word = text(options, name)
        if word is None:
            return None
        try:
            found = float(word)
        except ValueError:
            found = -1.0
        if not (0 <= found < float("inf") and (found or zero_allowed)):
            raise TransportConfigError(name, not_such_a_number(word), f"Set it to a number of {unit} {least}.")
        return found

    return read


def size(options: Mapping[str, object], name: str) -> int | None:
    """Read a positive number of bytes, which may end in `k`, `m` or `g`."""
    word = text(options, name)
    if word is None:
        return None
    try:
        found = values.byte_count(word)
    except ValueError:
        found = 0
    if not found:
        remedy = "Set it to a number of bytes, such as 1048576, 512k or 32m."
        raise TransportConfigError(name, not_such_a_number(word), remedy)
    return found


def texts(options: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Read several texts: from a list, or from a text such as `a,b` or `[a;b]`."""
    value = _at(options, name)
    given = value if isinstance(value, list | tuple) else values.items(text(options, name) or "")
    if not all(isinstance(item, str | int | float) for item in given):
        raise TransportConfigError(name, "must be a list of texts", f"Write {KEY_PREFIX}.{name}=<text>,<text>.")
    return tuple(item for each in given if (item := _usable(name, str(each)).strip()))


def text_map(options: Mapping[str, object], name: str) -> dict[str, str]:
    """Read a map from any names to texts; a name may contain dots."""
    value = _at(options, name)
    if not isinstance(value, Mapping):
        raise TransportConfigError(name, "must map names to values", f"Write {KEY_PREFIX}.{name}.<name>=<value>.")
    # A name with such characters is not shown either.
    names = [key for key in _dotted(value) if _usable(name, key)]
    return {key: text(options, f"{name}.{key}") or "" for key in names}


WITHOUT_EFFECT = (
    "async_transport_rules.<option>",
    "debug_mode",
    "filesystem",
    "fs_kwargs.<option>",
    "max_concurrent_requests",
    "max_queue_size",
    "storage_options.<option>",
)
"""The options of openlineage-python that have no effect here, unless a transport declares one."""

TYPE = Option(
    "type",
    text,
    text="Where events go: the name of a transport, or the path of a transport class for openlineage-python.",
    default="",
    example="file",
)
"""The option that chooses the transport."""


def warn_of_unused(options: Mapping[str, object], declared: Sequence[Option[Any]], name: str) -> None:
    """
    Log a warning for each option that the transport does not read, with the most similar one that it does read.

    Args:
        options: the nested options.
        declared: the transport's options; `type` belongs to every transport.
        name: the transport's name, for the message.
    """
    prefix = prefix_of(options)
    known = [spelling for option in declared for spelling in option.spellings]
    for given in _dotted(options):
        if any(option.covers(given) for option in (TYPE, *declared)):
            continue
        if is_without_effect(given, WITHOUT_EFFECT):
            _log.warning("%s.%s is an option of openlineage-python and has no effect here", prefix, given)
            continue
        near = nearest(given, known) or _begun_with(given, known)
        hint = f"; did you mean {prefix}.{near}?" if near else ""
        _log.warning("%s.%s is unknown to the %s transport and has no effect%s", prefix, given, name, hint)


def is_without_effect(name: str, known: Iterable[str]) -> bool:
    """
    Return whether a dotted name is among known ones that have no effect here.

    Args:
        name: the name.
        known: names; `fs_kwargs.<option>` means all names that begin with `fs_kwargs.`.
    """
    return any(name == each or ("<" in each and name.startswith(_stem(each))) for each in known)


def _begun_with(given: str, known: Iterable[str]) -> str | None:
    """Return the one known name that is longer than a given one; None if there are several, or it is very short."""
    longer = [name for name in known if name.lower().startswith(given.lower())]
    return longer[0] if len(longer) == 1 and len(given) > 2 else None


def not_such_a_number(word: str) -> str:
    """
    Return what is wrong with a value that should be another number.

    The value is shown only if it is a number with a short unit; anything else may be a secret that was written into the
    wrong option.

    Args:
        word: the value.
    """
    return f"is {word!r}" if re.fullmatch("-?[0-9.,]{1,12} ?[A-Za-z]{0,4}", word) else "is not a valid number"


def not_such_a_word(word: str, known: Iterable[str]) -> tuple[str, str]:
    """
    Return what is wrong with a value that is not among the known ones.

    The value is shown only if it is similar to one of them; anything else may be a secret that was written into the
    wrong option.

    Args:
        word: the value.
        known: the allowed values.

    Returns:
        What is wrong, as a clause; and a suggestion that ends in a blank, empty if no known word is similar.
    """
    near = nearest(word, known)
    return (f"is {word!r}, unknown", f"Did you mean {near!r}? ") if near else ("is unknown", "")


def _stem(name: str) -> str:
    return name.partition("<")[0]


def _first(options: Mapping[str, object], names: Sequence[str]) -> tuple[str, object]:
    found = [(name, value) for name in names if (value := _at(options, name)) is not None]
    if len(found) > 1:
        other = f"{KEY_PREFIX}.{found[1][0]}"
        raise TransportConfigError(found[0][0], f"and {other} set the same option", "Keep one of them.")
    return found[0] if found else (names[0], None)


def _at(options: Mapping[str, object], name: str) -> object:
    if name in options:
        return options[name]
    outer, dot, inner = name.partition(".")
    below = options.get(outer) if dot else None
    if below is None:
        return None
    if not isinstance(below, Mapping):
        raise TransportConfigError(outer, "must contain options", f"Write {KEY_PREFIX}.{name}=<value>.")
    return _at(below, inner)


def _dotted(options: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
