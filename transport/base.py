"""What a transport is, and the two ways in which it fails."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from openlineage_pyspark.transport.errors import DeliveryError
from openlineage_pyspark.transport.options import KEY_PREFIX, Option, TransportConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

__all__ = ["KEY_PREFIX", "Reached", "Transport", "TransportConfigError", "TransportError"]

_LONGEST_ANSWER = 300


class TransportError(DeliveryError):
    """An event was not delivered.

    Args:
        message: what failed and where, the same text each time it fails so; no credential.
        retryable: True where the same event may go through later.
        status: the status of the answer, where there was one (HTTP).
        answer: the text of the answer; it is shortened to 300 characters.
        retry_after: seconds that the receiver asks to wait before the next attempt, uncapped; None where it
            does not say (`Retry-After` of HTTP).
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        status: int | None = None,
        answer: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        flat = " ".join(answer.split())
        self.answer = flat if len(flat) <= _LONGEST_ANSWER else flat[: _LONGEST_ANSWER - 3] + "..."
        super().__init__(f"{message}: {self.answer}" if self.answer else message)


class Reached(NamedTuple):
    """What a receiver answered to a question that changes nothing.

    Args:
        said: what was asked, and the answer.
        doubt: why that does not prove that events are welcome; empty where it speaks for it.
    """

    said: str
    doubt: str = ""


class Transport(abc.ABC):
    """A way to hand events to a receiver.

    To add one to this package, copy `memory.py` and name the class in `registry.py`. Another package subclasses this
    and names the class in the entry point group `openlineage_pyspark.transports`.

    Attributes:
        OPTIONS: each option that `from_options` reads, and those of other OpenLineage clients that it does not read
            yet (`not_yet`). Any other name given by the user costs a warning. The class must be cheap to import,
            because all options are listed for documents and suggestions: import a client library where it is used.
        CONNECTIONS: from how many threads `send` may be called at once, each time with an event of another run.
        SPOOLED: whether the receiver can be away for a while, so that events are kept on disk until it has them.
    """

    OPTIONS: ClassVar[tuple[Option[Any], ...]] = ()
    CONNECTIONS: int = 1
    SPOOLED: bool = False

    @property
    def destination(self) -> str:
        """Where events go, without any credential: what was left behind for another one is not sent here."""
        return type(self).__name__

    @property
    def held(self) -> int:
        """How many of the events that were sent last would be lost with this process: the spool keeps them so long.

        It is asked for after each event and after `close`, and answers at once.
        """
        return 0

    @classmethod
    def from_options(cls, _options: Mapping[str, object], /) -> Self:
        """Make a transport from its configuration; this one is for a transport without options.

        Args:
            _options: the options below `spark.openlineage.transport`, nested; values from a
                properties file are text, those from YAML typed.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        return cls()

    @abc.abstractmethod
    def send(self, event: Event) -> None:
        """Deliver one event, in one attempt; it may block.

        Raises:
            TransportError: the event was not delivered.
        """

    def reach(self) -> Reached | None:
        """Ask the receiver something that changes nothing there, to learn whether it lets this client in.

        Returns:
            its answer; None where nothing can be asked without sending an event.

        Raises:
            TransportError: there was no answer, or the client is refused.
        """
        return None

    @abc.abstractmethod
    def close(self, timeout: float, /) -> None:
        """Let go of files and connections; no event follows.

        Args:
            timeout: seconds that it may take.
        """
