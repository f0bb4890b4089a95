"""
The exceptions that this package raises on purpose. This module imports nothing.

    openlineage_pyspark.Error
    ├── LineageError
    │   ├── RegistrationError     the listener could not be attached to a session
    │   │   └── NotConfiguredError    lineage is not configured, or is switched off
    │   ├── ProbeError            the driver's JVM refused a call of the listener, or does not answer
    │   └── TextError             an SQL file or a git revision can't be read (also a ValueError)
    ├── StoreError                a lineage store can't be opened, read or written
    │   ├── NameNotFoundError     the store has nothing of this name
    │   │   └── AmbiguousNameError    the store has several of this name
    │   └── QueryError            a user's query can't be answered
    ├── RecoveryError             a recovery plan can't be applied
    │   ├── StepFailedError       a step of it was started, and it is unknown whether it was completed
    │   └── CheckpointError       a checkpoint can't be reset
    ├── EventError                an event file can't be read
    │   ├── InvalidEventError     an event lacks what the specification requires (also a ValueError)
    │   └── SchemaError           events can't be checked against JSON Schemas
    ├── DeliveryError
    │   ├── TransportError        an event was not delivered
    │   ├── TransportConfigError  an option of a transport can't be used (also a ValueError)
    │   └── SpoolError            the spool can't be used
    └── MissingExtraError         an extra is not installed (also an ImportError)
"""

from __future__ import annotations

_LONGEST_ANSWER = 300


class Error(Exception):
    """Base class of the exceptions of this package. The message says what failed, where, and what to do."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to rebuild it in another process, with all of its fields."""
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[Error], args: tuple[object, ...]) -> Error:
    """Return an exception without calling its constructor, which takes other arguments than `args`."""
    return kind.__new__(kind, *args)


class LineageError(Error):
    """The lineage of an application, a query or a file can't be determined."""


class RegistrationError(LineageError):
    """The listener could not be attached to the session."""


class NotConfiguredError(RegistrationError):
    """Lineage is not configured, or is switched off."""


class ProbeError(LineageError):
    """The driver's JVM can't load the probe, refuses a call or does not answer."""


class TextError(LineageError, ValueError):
    """
    An SQL file can't be read, or git does not know a revision.

    Args:
        message: what can't be read, and why.
        path: the file or folder; empty for a revision.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class StoreError(Error):
    """A lineage store can't be opened, read or written, or a question to it is invalid."""


class NameNotFoundError(StoreError):
    """
    No dataset, job, run or version in the store has the name.

    Args:
        message: what was not found, and similar names.
        ref: the name.
        candidates: similar names, or the names that it may mean.
        listing: the command that lists all names, if the message does not.
    """

    def __init__(self, message: str, *, ref: str = "", candidates: tuple[str, ...] = (), listing: str = "") -> None:
        super().__init__(message)
        self.ref = ref
        self.candidates = candidates
        self.listing = listing


class AmbiguousNameError(NameNotFoundError):
    """More than one dataset, job, run or version in the store has the name."""


class QueryError(StoreError):
    """
    A user's query can't be answered.

    Args:
        message: why not.
        query: the query.
    """

    def __init__(self, message: str, *, query: str = "") -> None:
        super().__init__(message)
        self.query = query


class RecoveryError(Error):
    """A recovery plan can't be applied."""


class StepFailedError(RecoveryError):
    """
    A step of a recovery plan was started, and it is unknown whether it was completed.

    Args:
        message: what to check, and how to continue.
        step: the number of the step, from 1.
        statement: the statement that was started; empty if there is none.
    """

    def __init__(self, message: str, *, step: int, statement: str = "") -> None:
        super().__init__(message)
        self.step = step
        self.statement = statement


class CheckpointError(RecoveryError):
    """A checkpoint can't be reset."""


class EventError(Error):
    """
    An event file can't be read at all.

    Args:
        message: which file, why, and what to do.
        place: the file.
    """

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class InvalidEventError(EventError, ValueError):
    """
    A text or a value is not a valid OpenLineage event.

    Args:
        reason: what is missing or wrong, according to the specification.
        place: the key of the event that is missing or wrong, such as `run.runId`; empty for several.
    """

    def __init__(self, reason: str, *, place: str = "") -> None:
        super().__init__(reason, place=place)
        self.reason = reason


class SchemaError(EventError):
    """Events can't be checked against JSON Schemas: their folder holds none, or one refers to another that it lacks."""


class DeliveryError(Error):
    """Base class of `TransportError`, `TransportConfigError` and `SpoolError`."""


class TransportError(DeliveryError):
    """
    An event was not delivered.

    Args:
        message: what failed and where, without credentials; the same failure always has the same text.
        retryable: whether the same event may be delivered later.
        status: the HTTP status of the answer; None if there was no answer.
        answer: the text of the answer; it is cut to 300 characters.
        lasting: whether the cause is the client, the address or the installation, and not the event: a refused key, a
            wrong path, a missing jar. It stays until somebody fixes it, so the event is kept and retried slowly.
        retry_after: the seconds that the receiver asks to wait before the next attempt (`Retry-After` of HTTP),
            uncapped; None if it does not ask.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        status: int | None = None,
        answer: str = "",
        retry_after: float | None = None,
        lasting: bool = False,
    ) -> None:
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        self.lasting = lasting
        flat = " ".join(answer.split())
        self.answer = flat if len(flat) <= _LONGEST_ANSWER else flat[: _LONGEST_ANSWER - 3] + "..."
        super().__init__(f"{message}: {self.answer}" if self.answer else message)


class TransportConfigError(DeliveryError, ValueError):
    """
    An option of a transport can't be used.

    Args:
        option: the option below `spark.openlineage.transport`, such as `auth.apiKey`.
        problem: what is wrong with it, as a clause without a full stop.
        remedy: what to do, as a sentence.
    """

    PREFIX = "spark.openlineage.transport"

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(f"{self.PREFIX}.{option} {problem}. {remedy}")
        self.option = option
        self.problem = problem
        self.remedy = remedy


class SpoolError(DeliveryError):
    """
    The spool can't be used.

    Args:
        message: what failed, where, and why.
        damaged: whether the database is damaged, so that another attempt would fail too.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


class MissingExtraError(Error, ImportError):
    """
    A part of this package needs an extra that is not installed.

    Args:
        extra: the name of the extra.
        missing: its packages that are not installed.
        remedy: the command that installs them.
    """

    def __init__(self, extra: str, missing: tuple[str, ...], remedy: str) -> None:
        lacking = f" (missing: {', '.join(missing)})" if missing else ""
        super().__init__(f"the extra {extra} is not installed{lacking}: {remedy}")
        self.extra = extra
        self.missing = missing
        self.remedy = remedy
