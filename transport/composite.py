"""
Combine several transports: all of them get each event, or the first that works.

If every transport gets every event, each has its own delivery, with its own queue, spool and retries:
`independent_parts` returns the transports, and `FanOut` passes the events to their deliveries. Otherwise the outcome at
one part decides whether the next one gets the event, so one delivery sends to all, through a `CompositeTransport`.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.attempt import Breaker, RetryPolicy, attempt
from openlineage_pyspark.transport.base import Transport, sender_of
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts, ReceiverMetrics
from openlineage_pyspark.transport.log_once import LogOnce
from openlineage_pyspark.transport.options import (
    KEY_PREFIX,
    PYTHON,
    TYPE,
    InnerOptions,
    Option,
    flag,
    not_such_a_number,
    prefix_of,
    text,
)
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openlineage_pyspark.transport.delivery.worker import Delivery
    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_log = logging.getLogger(__name__)

# The limit on the remembered events, which wait for another attempt; one beyond it is sent to every part again.
_MOST_REMEMBERED = 10_000


_TRANSPORTS = Option(
    "transports.<option>",
    text,
    text="The transports, by name: `transports.<name>.type`, the options of that transport, and `priority`;"
    " in YAML they may be a list.",
    default="",
    example="http",
    example_name="marquez.type",
    also=("transports",),
)
_ON_FAILURE = Option(
    "continueOnFailure",
    flag,
    text="`false` stops at the first transport that fails.",
    default=True,
    also=("continue_on_failure",),
)
_ON_SUCCESS = Option(
    "continueOnSuccess",
    flag,
    text="`false` stops at the first transport that works; the others are its substitutes.",
    default=True,
    source=PYTHON,
    also=("continue_on_success",),
)
_THREADS = Option("withThreadPool", flag, text="Always true: transports send independently.", default=True)
_SORT = Option("sort_transports", flag, text="`false` ignores the priorities.", default=True, source=PYTHON)
_PRIORITY = Option(
    "priority",
    text,
    text="A whole number; transports with a higher one get an event first.",
    default="0",
    source=PYTHON,
)


@attrs.frozen
class CompositePart:
    """
    One of the transports of a composite transport.

    Args:
        name: its configured name, or its index in the list.
        transport: the transport.
    """

    name: str
    transport: Transport


class CompositeTransport(Transport):
    """
    Several transports: all of them, or the first that works.

    The parts get an event one after the other; an unexpected exception in one counts as a failure like any other.

    An event that has to be sent again goes only to the parts that don't have it yet. If one part has refused it for
    good and another has failed for now, the other one is tried again; in the end, the refusal is the outcome.

    Args:
        parts: the transports, in the order in which they get an event; this transport closes them.
        continue_on_failure: False stops at the first failure.
        continue_on_success: False stops at the first success, so that the other parts are only used while the first
            one is unavailable. A part that is unavailable is not tried again for a while.
    """

    OPTIONS = (_TRANSPORTS, _ON_FAILURE, _ON_SUCCESS, _SORT, _THREADS)

    def __init__(
        self, parts: Sequence[CompositePart], *, continue_on_failure: bool = True, continue_on_success: bool = True
    ) -> None:
        self.parts = tuple(parts)
        self.continue_on_failure = continue_on_failure
        self.continue_on_success = continue_on_success
        self.CONNECTIONS = min(part.transport.CONNECTIONS for part in parts)
        self.SPOOLED = any(part.transport.SPOOLED for part in parts)
        self._lock = threading.Lock()
        self._outcomes: OrderedDict[str, dict[int, TransportError | None]] = OrderedDict()
        self._breakers = [Breaker(RetryPolicy()) for _ in parts]
        self._warnings = LogOnce(_log, "this is logged once")
        self._delivered = 0
        # Per part and event that it may still hold: how many events had been delivered before that event.
        self._held: list[deque[int]] = [deque() for _ in parts]

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a composite transport from `transports`: a list, or a map, which is sorted by name.

        Transports with a higher `priority` come first. A transport with unusable options is left out with a warning.

        Raises:
            TransportConfigError: an option can't be used, or there is no transport left.
        """
        on_failure, on_success = _ON_FAILURE.read(options), _ON_SUCCESS.read(options)
        if not _THREADS.read(options):
            _log.warning("%s.withThreadPool has no effect: each transport sends on its own", prefix_of(options))
        ranked = [part for inner in _configured(options) if (part := _opened(*inner)) is not None]
        if _SORT.read(options):
            ranked.sort(key=lambda each: -each[0])
        parts = [part for _, part in ranked]
        if not parts:
            problem = "name no transport that can be used"
            raise TransportConfigError(
                "transports", problem, f"Set {KEY_PREFIX}.transports.<name>.type and its options."
            )
        return cls(parts, continue_on_failure=on_failure, continue_on_success=on_success)

    @property
    def destination(self) -> str:
        """The destinations of the parts, in alphabetical order."""
        return f"composite({', '.join(sorted(part.transport.destination for part in self.parts))})"

    @property
    def sender(self) -> str:
        """The senders of the parts, in the order of their destinations."""
        return sender_of(**{part.transport.destination: part.transport.sender for part in self.parts})

    @property
    def held(self) -> int:
        """The number of events since the oldest one that a part still holds, that one included."""
        with self._lock:
            oldest = [before[0] for number in range(len(self.parts)) if (before := self._held_by(number))]
            return self._delivered - min(oldest, default=self._delivered)

    @property
    def independent(self) -> bool:
        """Return whether each part gets each event, whatever the outcome at the other parts."""
        return self.continue_on_failure and self.continue_on_success

    def send(self, event: Event) -> None:
        """
        Send the event to the parts that don't have it yet.

        Raises:
            TransportError: not all parts have it (or none has it, if one is enough). It is retryable if one of them may
                still accept the event.
        """
        with self._lock:
            outcomes = self._outcomes.setdefault(event.id, {})
            while len(self._outcomes) > _MOST_REMEMBERED:
                self._outcomes.popitem(last=False)
        waiting: dict[int, TransportError] = {}
        for number, part in enumerate(self.parts):
            if number in outcomes:
                continue
            problem = self._handed(number, part, event)
            if problem is not None and problem.retryable:
                waiting[number] = problem
            else:
                outcomes[number] = problem
            if not (self.continue_on_failure if problem else self.continue_on_success):
                break
        refused = {number: problem for number, problem in outcomes.items() if problem is not None}
        if not self.continue_on_success and len(outcomes) > len(refused):
            # One part has it, and that is enough.
            self._report({**refused, **waiting})
            waiting, refused = {}, {}
        if waiting:
            self._report(refused)
            raise self._merged(waiting)
        with self._lock:
            self._outcomes.pop(event.id, None)
            self._delivered += not refused
        if refused:
            raise self._merged(refused)

    def close(self, timeout: float, /) -> None:
        """
        Close the parts, one after the other.

        Args:
            timeout: the limit on all of them together, in seconds.
        """
        end = time.monotonic() + timeout
        for number, part in enumerate(self.parts):
            problem = attempt(functools.partial(part.transport.close, max(0.0, end - time.monotonic())))
            if problem is not None:
                self._report({number: problem})

    def _handed(self, number: int, part: CompositePart, event: Event) -> TransportError | None:
        """Send the event to one part; if one part is enough, skip a part that was unavailable just now."""
        breaker = self._breakers[number]
        if not self.continue_on_success:
            with self._lock:
                if breaker.pause(time.monotonic()) != 0.0:
                    return TransportError("does not answer and is not tried again for a while", retryable=True)
                breaker.began()
        problem = attempt(functools.partial(part.transport.send, event))
        with self._lock:
            if problem is None:
                self._held[number].append(self._delivered)
                self._held_by(number)
            if problem is None or not problem.retryable:
                breaker.succeeded()
            else:
                answered = problem.status is not None
                asked, lasting = problem.retry_after, problem.lasting
                breaker.failed(time.monotonic(), answered=answered, asked=asked, lasting=lasting)
        return problem

    def _held_by(self, number: int) -> deque[int]:
        """Drop the entries of events that a part no longer holds, and return the rest."""
        before, held = self._held[number], self.parts[number].transport.held
        while len(before) > held:
            before.popleft()
        return before

    def _merged(self, problems: Mapping[int, TransportError]) -> TransportError:
        """Return one failure for several; either all or none of them are retryable."""
        first = next(iter(problems.values()))
        waits = [problem.retry_after for problem in problems.values() if problem.retry_after is not None]
        return TransportError(
            "; ".join(f"{self.parts[number].name}: {problem.message}" for number, problem in problems.items()),
            retryable=first.retryable,
            status=next((problem.status for problem in problems.values() if problem.status is not None), None),
            answer=next((problem.answer for problem in problems.values() if problem.answer), ""),
            retry_after=max(waits, default=None),
            lasting=all(problem.lasting for problem in problems.values()),
        )

    def _report(self, problems: Mapping[int, TransportError]) -> None:
        """Log failures that are not the outcome, once per kind."""
        for number, problem in problems.items():
            name = self.parts[number].name
            self._warnings.warn(
                f"{name}\n{problem.message}", "the part %s of the composite transport: %s", name, problem
            )


class FanOut:
    """
    Hands each event to several deliveries, each with its own queue, spool and retries.

    Args:
        deliveries: one for each receiver; it owns and closes them.
    """

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self._deliveries = tuple(deliveries)

    def start(self) -> None:
        """Start sending what earlier applications left in the spool; the first `submit` does so too."""
        for delivery in self._deliveries:
            delivery.start()

    def submit(self, event: Event) -> None:
        """Queue an event; this never waits for a receiver and never raises."""
        for delivery in self._deliveries:
            delivery.submit(event)

    def flush(self, timeout_seconds: float) -> int:
        """
        Wait until every event has an answer from every receiver; see `Delivery.flush`.

        Args:
            timeout_seconds: the limit for all deliveries together; 0 does not wait.

        Returns:
            The number of missing answers.
        """
        return self._shared(timeout_seconds, [delivery.flush for delivery in self._deliveries])

    def close(self, timeout_seconds: float) -> int:
        """
        Send what waits, and close; see `Delivery.close`.

        Args:
            timeout_seconds: the limit for all deliveries together; 0 does not wait.

        Returns:
            The number of missing answers.
        """
        return self._shared(timeout_seconds, [delivery.close for delivery in self._deliveries])

    def counts(self) -> DeliveryCounts:
        """Return the outcomes so far, counting every event once for each receiver."""
        return DeliveryCounts.total(delivery.counts() for delivery in self._deliveries)

    def metrics(self) -> tuple[ReceiverMetrics, ...]:
        """Return the outcomes of this application's own events so far, one value for each receiver."""
        return tuple(each for delivery in self._deliveries for each in delivery.metrics())

    def _shared(self, seconds: float, calls: Sequence[Callable[[float], int]]) -> int:
        """
        Make the calls one after the other, each with an equal share of the remaining time; return the sum.

        All deliveries send in the meantime, so the last call is no worse off than the first.
        """
        end = time.monotonic() + seconds
        left = 0
        for position, call in enumerate(calls):
            left += call(max(0.0, end - time.monotonic()) / (len(calls) - position))
        return left


def independent_parts(transport: Transport) -> list[Transport]:
    """
    Return the transports that each get every event, whatever the outcome at the others.

    Returns:
        The parts of a composite transport that sends to all of them, recursively; else the transport itself.
    """
    if isinstance(transport, CompositeTransport) and transport.independent:
        return [inner for part in transport.parts for inner in independent_parts(part.transport)]
    return [transport]


def _configured(options: Mapping[str, object]) -> Iterator[tuple[str, InnerOptions]]:
    given = options.get("transports")
    prefix = f"{prefix_of(options)}.transports"
    if isinstance(given, Mapping):
        # Sorted by name, as in the Java client, because Spark's configuration has no order.
        named = [(str(name), f"{prefix}.{name}", given[name]) for name in sorted(given)]
    elif isinstance(given, list | tuple):
        named = [(str(place), f"{prefix}[{place}]", inner) for place, inner in enumerate(given)]
    else:
        remedy = f"Set {KEY_PREFIX}.transports.<name>.type and the other options of each transport."
        raise TransportConfigError("transports", "are not set" if given is None else "hold no transports", remedy)
    for name, where, inner in named:
        if isinstance(inner, Mapping):
            yield str(inner.get("name") or name), InnerOptions(inner, where)
        else:
            _log.warning("%s is left out: it must hold a type and the other options of a transport", where)


def _opened(name: str, options: InnerOptions) -> tuple[int, CompositePart] | None:
    """Return one part with its priority; None if its options can't be used."""
    own = {option: value for option, value in options.items() if option not in ("name", _PRIORITY.name)}
    try:
        kind = TYPE.required(options, "Set it to the name of a transport, such as http.")
        return _priority(options), CompositePart(name, open_transport(kind, InnerOptions(own, options.prefix)))
    except TransportConfigError as exc:
        _log.warning("%s The transport is left out", str(exc).replace(f"{KEY_PREFIX}.", f"{options.prefix}."))
        return None


def _priority(options: InnerOptions) -> int:
    rank = _PRIORITY.read(options) or _PRIORITY.default
    if not re.fullmatch("-?[0-9]{1,9}", rank):
        raise TransportConfigError(_PRIORITY.name, not_such_a_number(rank), "Set it to a whole number.")
    return int(rank)
