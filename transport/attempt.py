"""Calls of a transport, which may be foreign code: whatever it raises becomes a value."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable


class ForeignError(TransportError):
    """
    A transport raised an exception other than TransportError.

    It is retryable: the receiver has not judged the event, and most client libraries have their own exceptions for a
    server that is away.

    Args:
        place: the type of the exception and where it was raised; its text is not shown, as it may hold a key.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"the transport failed with {place}", retryable=True)


def undeclared(error: Exception) -> TransportError:
    """Return the failure for an exception that the transport does not declare."""
    return ForeignError(place_of(error))


def attempt(
    work: Callable[[], None], judged: Callable[[Exception], TransportError] = undeclared
) -> TransportError | None:
    """
    Call a transport, and return its failure; None if there was none.

    Args:
        work: one call of the transport.
        judged: turns an exception that is not a TransportError into one.
    """
    try:
        work()
    except TransportError as exc:
        return exc
    except Exception as exc:  # noqa: BLE001 - a transport is foreign code, and its caller must outlive it
        return judged(exc)
    return None


def place_of(error: Exception) -> str:
    """Return the type of an exception and where it was raised, without its text."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}"
