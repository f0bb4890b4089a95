"""
The one place in the listener that may catch everything, so that a fault in it costs lineage and never the user's job.

What is caught is logged once a kind and counted; `DeliveryCounts` does the same for what is shipped.
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
class Caught:
    """
    What a function raised.

    Args:
        name: of the exception's class. Its message is not kept, for anything may stand in it.
    """

    name: str


class Guard:
    """
    Runs what must not raise, and remembers what did.

    Attributes:
        caught: how often what was caught, by what was being done and its type.
        redaction: what is taken out of the texts that are logged, once the configuration is known.
    """

    def __init__(self) -> None:
        """Begin with nothing caught."""
        self.caught: Counter[str] = Counter()
        self.redaction: Redaction | None = None

    def run(self, what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """
        Call a function and return what it returns, or None where it raised.

        Args:
            what: what is being done, for the log line.
            function: what to call.
            args: for it.
            kwargs: for it.
        """
        found = self.attempt(what, function, *args, **kwargs)
        return None if isinstance(found, Caught) else found

    def attempt(self, what: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Caught:
        """As `run`, and of what raised it tells the kind."""
        try:
            return function(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 - the boundary to the user's job
            self.report(what, problem)
            return Caught(type(problem).__name__)

    def report(self, what: str, problem: BaseException) -> None:
        """Count a problem; log the first of its kind, with its trace at DEBUG."""
        kind = f"{what}: {type(problem).__name__}"
        self.caught[kind] += 1
        if self.caught[kind] == 1:
            # py4j puts the whole stack trace of the JVM into the text.
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
