"""The base class of transports."""

from __future__ import annotations

import abc
import json
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from openlineage_pyspark.transport.options import Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self


def sender_of(**parts: object) -> str:
    """
    Return the text for `Transport.sender`; empty if nothing identifies the sender.

    Args:
        parts: what identifies it, as values that JSON can represent; empty ones are left out.
    """
    given = {name: part for name, part in parts.items() if part}
    return json.dumps(given, sort_keys=True, default=str) if given else ""


class Reached(NamedTuple):
    """
    A receiver's answer to a request that changes nothing there.

    Args:
        said: the request and the answer.
        doubt: why the answer does not show that events would be accepted; empty if it does show that.
    """

    said: str
    doubt: str = ""


class Transport(abc.ABC):
    """
    A transport: it hands events to one kind of receiver.

    To add one to this package, copy `memory.py` and name the class in `registry.py`. Another package subclasses this
    and names the class in the entry point group `openlineage_pyspark.transports`.

    Attributes:
        OPTIONS: the options that `from_options` reads. Any other option that the user sets is logged as a warning. The
            class must be cheap to import, because documents and suggestions list the options of all transports: import
            a client library where it is used.
        CONNECTIONS: the number of threads that may call `send` at the same time, each with an event of another run.
        SPOOLED: whether events are kept on disk until they are delivered, because the receiver may be unavailable for a
            while.
    """

    OPTIONS: ClassVar[tuple[Option[Any], ...]] = ()
    CONNECTIONS: int = 1
    SPOOLED: bool = False

    @property
    def destination(self) -> str:
        """
        Return where events go, without credentials.

        Spooled events are sent only to the destination that they were spooled for.
        """
        return type(self).__name__

    @property
    def sender(self) -> str:
        """
        Return the identity of this sender at its destination, made from its key, headers and parameters.

        Spooled events are sent only by the sender that spooled them, because the destination does not identify their
        owner. The text may hold secrets; the spool stores a salted hash of it. It must be the same for each
        application with the same configuration.
        """
        return ""

    @property
    def held(self) -> int:
        """
        Return how many of the events sent last would be lost if this process died; the spool keeps them for so long.

        It is read after each event and after `close`, and must not block.
        """
        return 0

    @classmethod
    def from_options(cls, _options: Mapping[str, object], /) -> Self:
        """
        Make a transport from its configuration; this default is for a transport without options.

        Args:
            _options: the options below `spark.openlineage.transport`, nested. Values from a properties file are texts;
                values from YAML have types.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        return cls()

    @abc.abstractmethod
    def send(self, event: Event) -> None:
        """
        Deliver one event in one attempt; this call may block.

        Args:
            event: the event.

        Raises:
            TransportError: the event was not delivered.
        """

    def reach(self) -> Reached | None:
        """
        Send the receiver a request that changes nothing, to learn whether it accepts this client.

        Returns:
            The answer; None if the receiver has no such request.

        Raises:
            TransportError: there was no answer, or the receiver refuses this client.
        """
        return None

    @abc.abstractmethod
    def close(self, timeout: float, /) -> None:
        """
        Close files and connections; no event follows.

        Args:
            timeout: the limit, in seconds.
        """
