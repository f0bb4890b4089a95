"""When to try again: how long one event waits, and when to leave a receiver alone."""

from __future__ import annotations

import random

import attrs


@attrs.frozen
class RetryPolicy:
    """How an event is tried again, and when a receiver counts as away.

    Args:
        first_seconds: the longest wait after the first attempt in vain; it doubles with each further one.
        longest_seconds: the bound on that wait: the receiver is there, since it takes other events.
        longest_pause_seconds: the bound on the pause of a receiver that is away.
        longest_asked_seconds: the bound on what the receiver may ask for (`Retry-After`).
        attempts: after so many in vain, while other events went through, an event is given up.
        unanswered: attempts without any answer, one after the other, after which the receiver is away.
        refused: attempts with an answer that asks for another attempt, one after the other, after which it is away.
    """

    first_seconds: float = 0.5
    longest_seconds: float = 5.0
    longest_pause_seconds: float = 60.0
    longest_asked_seconds: float = 300.0
    attempts: int = 30
    unanswered: int = 4
    refused: int = 8

    def delay(self, attempts: int, asked: float | None) -> float:
        """Give the seconds until an event's next attempt: drawn evenly from nothing to the bound (full jitter).

        Args:
            attempts: how many were in vain, one at least.
            asked: seconds that the receiver asked for; the wait is not shorter, up to the bound.
        """
        return self._drawn(attempts, self.longest_seconds, asked)

    def pause(self, attempts: int, asked: float | None) -> float:
        """Give the seconds for which a receiver that is away is left alone, drawn alike.

        Args:
            attempts: how many it got since it was away, one at least.
            asked: as for `delay`.
        """
        return self._drawn(attempts + 1, self.longest_pause_seconds, asked)

    def _drawn(self, attempts: int, longest: float, asked: float | None) -> float:
        bound = min(longest, self.first_seconds * 2.0 ** min(attempts - 1, 30))
        drawn = random.uniform(0.0, bound)  # noqa: S311 - spreads load, and hides nothing
        return max(drawn, min(asked or 0.0, self.longest_asked_seconds))


class Breaker:
    """Leaves a receiver alone that does not answer, but for one attempt now and then.

    Not for several threads: its owner locks. Times are of a monotonic clock, in seconds.

    Args:
        policy: how soon, and for how long.
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
        """Whether the receiver counts as away."""
        return self._until is not None

    @property
    def was_asked_for(self) -> bool:
        """Whether it is the receiver itself that asked to be left alone."""
        return self.is_open and self._asked

    def pause(self, now: float) -> float | None:
        """Give the seconds until an attempt may be made, None while the one attempt is under way."""
        if self._until is None:
            return 0.0
        return None if self._probing else max(0.0, self._until - now)

    def began(self) -> None:
        """Note that an attempt is made."""
        self._probing = self.is_open

    def hurry(self, now: float) -> None:
        """Allow the next attempt at once, unless the receiver asked to be left alone."""
        if self._until is not None and not self._asked:
            self._until = min(self._until, now)

    def stopped(self) -> None:
        """Note that an attempt was not made after all, or has no outcome."""
        self._probing = False

    def succeeded(self) -> bool:
        """Note an answer that is final; tell whether the receiver was away until now."""
        was_open = self.is_open
        self._failures, self._openings, self._until, self._probing, self._asked = 0.0, 0, None, False, False
        return was_open

    def failed(self, now: float, *, answered: bool, asked: float | None) -> None:
        """Note an attempt in vain.

        Args:
            now: the time.
            answered: whether there was an answer.
            asked: seconds that the receiver asked to be left alone.
        """
        probed, self._probing = self._probing, False
        if self.is_open and not probed and not asked:
            # Begun before it counted as away: nothing new is learned from it.
            return
        self._failures += 1.0 / (self._policy.refused if answered else self._policy.unanswered)
        # Thirds and the like don't add up to one exactly.
        if asked or self.is_open or self._failures > 0.999:
            self._openings += 1
            self._until = now + self._policy.pause(self._openings, asked)
            self._asked = bool(asked)
