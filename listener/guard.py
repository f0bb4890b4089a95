"""
Catch every exception raised by the listener's own work, so that a fault costs lineage, never the user's job.

Caught exceptions are counted, and logged once per kind. Besides this module, only the hook that starts the listener
(`listener.start`) and the call of a transport (`transport.attempt`) catch every exception.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import attrs

if TYPE_CHECKING:
    from openlineage_pyspark.facets.redaction.redact import Redaction

LOG = logging.getLogger("openlineage_pyspark")

P = ParamSpec("P")
T = TypeVar("T")


@attrs.frozen
class CaughtException:
    """
    Represents an exception that a function raised.

    Args:
        name: the name of its class. Its message is not kept, because it may contain anything, even secrets.
    """

    name: str


class Guard:
    """
    Runs functions that must not raise, and counts the exceptions that they do raise.

    Attributes:
        caught: how many exceptions were caught, by task and exception class.
        expected: exceptions that are no fault, and are neither counted nor logged.
        redaction: applied to logged text; None until the configuration is known.
    """

    def __init__(self) -> None:
        """Start with nothing caught."""
        self.caught: Counter[str] = Counter()
        self.expected: tuple[type[BaseException], ...] = ()
        self.redaction: Redaction | None = None

    def run(self, what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call a function and return its result, or None if it raised."""
        found = self.attempt(what, function, *args, **kwargs)
        return None if isinstance(found, CaughtException) else found

    def attempt(self, what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | CaughtException:
        """Do the same as `run`, but return `CaughtException` instead of None if the function raised."""
        try:
            return function(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 - the boundary to the user's job
            self.report(what, problem)
            return CaughtException(type(problem).__name__)

    def report(self, what: str, problem: BaseException) -> None:
        """Count an exception, and log the first of its kind, with its stack trace at DEBUG."""
        if isinstance(problem, self.expected):
            return
        kind = f"{what}: {type(problem).__name__}"
        self.caught[kind] += 1
        if self.caught[kind] == 1:
            # Only the first line: py4j puts the whole stack trace of the JVM into the text.
            text = self._shown(str(problem).strip()).split("\n", 1)[0]
            LOG.warning("openlineage: %s failed, the job goes on: %s: %s", what, type(problem).__name__, text)
            if LOG.isEnabledFor(logging.DEBUG):
                trace = "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))
                LOG.debug("openlineage: %s\n%s", what, self._shown(trace))

    def _shown(self, text: str) -> str:
        if self.redaction is None:
            # Imported here, because the hook on the context imports this module on the user's thread.
            from openlineage_pyspark.facets.redaction.redact import Redaction

            self.redaction = Redaction()
        return self.redaction.message(text)
