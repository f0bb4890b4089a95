"""Calling a transport, which may be foreign code: whatever it raises becomes a value."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from openlineage_pyspark.transport.base import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable


class ForeignError(TransportError):
    """A transport raised what it does not declare.

    The receiver has not judged the event, so that a further attempt may go through: most clients have exceptions of
    their own for a server that is away.

    Args:
        place: the type of the exception, and where it was raised. Its text may hold a key, and is not shown.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"the transport failed with {place}", retryable=True)


def undeclared(error: Exception) -> TransportError:
    """Make the failure of an exception that nobody declared."""
    return ForeignError(place_of(error))


def attempt(
    work: Callable[[], None], judged: Callable[[Exception], TransportError] = undeclared
) -> TransportError | None:
    """Call a transport, and return what went wrong, None where nothing did.

    Args:
        work: one call of the transport.
        judged: makes the failure of an exception that is not one already.
    """
    try:
        work()
    except TransportError as exc:
        return exc
    except Exception as exc:  # noqa: BLE001 - a transport is foreign code, and whoever calls it must outlive it
        return judged(exc)
    return None


def place_of(error: Exception) -> str:
    """Return the type of an exception and where it was raised, and nothing of its text."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}"
