"""
Call a transport, which may be foreign code: any exception becomes a value. Decide when to repeat the call.

`RetryPolicy` determines the delays of an event, `Breaker` is the circuit breaker of a receiver.
"""

from __future__ import annotations

import random
import traceback
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable


@attrs.frozen
class RetryPolicy:
    """
    How attempts are repeated, and when a receiver counts as unavailable.

    Args:
        first_seconds: the limit on the delay after the first failed attempt; it doubles with each further one.
        longest_seconds: the limit on the delay of one event; it may be short, because the receiver takes other events.
        longest_pause_seconds: the limit on the pause of a receiver that is unavailable.
        longest_asked_seconds: the limit on the delay that the receiver may ask for (`Retry-After`).
        attempts: after this many failed attempts, while other events got through, an event is given up.
        unanswered: after this many failed attempts in a row without an answer, the receiver is unavailable.
        refused: after this many failed attempts in a row with an answer that asks for a retry, the receiver is
            unavailable.
        lasting: after this many failed attempts in a row whose cause lasts until it is repaired, the receiver counts as
            unavailable too.
    """

    first_seconds: float = 0.5
    longest_seconds: float = 5.0
    longest_pause_seconds: float = 60.0
    longest_asked_seconds: float = 300.0
    attempts: int = 30
    unanswered: int = 4
    refused: int = 8
    lasting: int = 2

    def delay(self, attempts: int, asked: float | None) -> float:
        """
        Return the seconds until an event's next attempt, drawn uniformly between 0 and the limit (full jitter).

        Args:
            attempts: how many attempts have failed, at least 1.
            asked: the seconds that the receiver asked for, a lower bound up to `longest_asked_seconds`; None if it
                did not ask.
        """
        return self._drawn(attempts, self.longest_seconds, asked)

    def pause(self, attempts: int, asked: float | None) -> float:
        """
        Return the seconds until the next probe of a receiver that is unavailable, drawn in the same way.

        Args:
            attempts: how many probes have failed since it became unavailable, at least 1.
            asked: as for `delay`.
        """
        return self._drawn(attempts + 1, self.longest_pause_seconds, asked)

    def _drawn(self, attempts: int, longest: float, asked: float | None) -> float:
        bound = min(longest, self.first_seconds * 2.0 ** min(attempts - 1, 30))
        drawn = random.uniform(0.0, bound)  # noqa: S311 - spreads load, and hides nothing
        return max(drawn, min(asked or 0.0, self.longest_asked_seconds))


class Breaker:
    """
    Circuit breaker: opens after repeated failures, and then lets one probe through per pause.

    Not thread-safe: its owner locks. All times are of a monotonic clock, in seconds.

    Args:
        policy: when it opens, and for how long.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures = 0.0
        self._openings = 0
        self._until: float | None = None
        self._probing = False
        self._asked = False

    @property
    def is_open(self) -> bool:
        """Return whether the receiver counts as unavailable."""
        return self._until is not None

    @property
    def was_asked_for(self) -> bool:
        """Return whether the breaker is open because the receiver asked for a pause."""
        return self.is_open and self._asked

    def pause(self, now: float) -> float | None:
        """Return the seconds until an attempt may be made; None while a probe is under way."""
        if self._until is None:
            return 0.0
        return None if self._probing else max(0.0, self._until - now)

    def began(self) -> None:
        """Note that an attempt begins."""
        self._probing = self.is_open

    def hurry(self, now: float) -> None:
        """Allow the next attempt at once, unless the receiver asked for the pause."""
        if self._until is not None and not self._asked:
            self._until = min(self._until, now)

    def stopped(self) -> None:
        """Note that an attempt was not made after all, or has no outcome."""
        self._probing = False

    def succeeded(self) -> bool:
        """Note a final answer; return whether the receiver was unavailable until now."""
        was_open = self.is_open
        self._failures, self._openings, self._until, self._probing, self._asked = 0.0, 0, None, False, False
        return was_open

    def failed(self, now: float, *, answered: bool, asked: float | None, lasting: bool = False) -> None:
        """
        Note a failed attempt.

        Args:
            now: the current time.
            answered: whether there was an answer.
            asked: the seconds that the receiver asked for; None if it did not ask.
            lasting: whether the cause stays until somebody repairs it.
        """
        probed, self._probing = self._probing, False
        if self.is_open and not probed and not asked:
            # The attempt began before the receiver counted as unavailable, so its failure shows nothing new.
            return
        least = self._policy.refused if answered else self._policy.unanswered
        self._failures += 1.0 / (self._policy.lasting if lasting else least)
        # Floating-point fractions need not add up to exactly 1.
        if asked or self.is_open or self._failures > 0.999:
            self._openings += 1
            self._until = now + self._policy.pause(self._openings, asked)
            self._asked = bool(asked)


class ForeignError(TransportError):
    """
    A transport raised an exception other than TransportError.

    It is retryable: the receiver has not judged the event, and most client libraries have their own exceptions for a
    server that is unavailable.

    Args:
        place: the type of the exception and where it was raised; its text is not shown, as it may contain a key.
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
        judged: returns the TransportError for any other exception.
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
