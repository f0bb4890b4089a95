"""Adapters for the transports of openlineage-python: they send one event at a time and report its outcome."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.attempt import ForeignError, attempt, place_of
from openlineage_pyspark.transport.base import Transport, sender_of
from openlineage_pyspark.transport.http.answer import (
    LASTING_STATUSES,
    PASSING_STATUSES,
    RETRY_OPTIONS,
    may_pass,
    passing_statuses,
    seconds_to_wait,
)
from openlineage_pyspark.transport.options import PYTHON, TYPE, Option, number, text

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

# The limit on one event for transports that have their own queue.
_LONGEST_WAIT_SECONDS = 60.0


class ForeignTransport(Transport):
    """
    A transport of openlineage-python; `send` waits for the outcome of each event.

    Args:
        foreign: the transport of openlineage-python.
        shown: where it sends events, without credentials.
        passing: the statuses below 500 after which the same event may be accepted later.
        sender: see `Transport.sender`.
    """

    NEEDS: ClassVar[tuple[str, str] | None] = None
    """The module that must be installed, and the package that provides it."""
    SPOOLED = True

    def __init__(self, foreign: Any, shown: str, passing: frozenset[int] = PASSING_STATUSES, sender: str = "") -> None:
        self._sender = sender
        self._foreign = foreign
        self._shown = shown
        self._passing = passing
        self._used = False

    @property
    def destination(self) -> str:
        """Where the transport sends events, without credentials."""
        return self._shown

    @property
    def sender(self) -> str:
        """What identifies the sender, among the options."""
        return self._sender

    def send(self, event: Event) -> None:
        """
        Send the event through the transport.

        Raises:
            TransportError: it failed. If the exception has an HTTP status, that decides whether the error is retryable,
                as in the http transport; without a status the receiver has not judged the event, so it is
                retryable. An event that openlineage-python's classes can't represent is a final error.
        """
        from openlineage_pyspark.transport.openlineage.run_event import run_event

        try:
            made = run_event(event.body)
        except (AttributeError, LookupError, TypeError, ValueError) as exc:
            message = f"{self._shown} only takes events of openlineage-python, which this is not ({place_of(exc)})"
            raise TransportError(message, retryable=False) from None
        self._used = True
        problem = attempt(functools.partial(self._emit, made), self._failed)
        if problem is not None:
            raise problem

    def close(self, timeout: float, /) -> None:
        """
        Close the transport if it was used.

        Args:
            timeout: the limit, in seconds.
        """
        # An unused one may open its connection only to close it.
        if self._used:
            self._foreign.close(timeout)

    def _emit(self, made: object) -> None:
        self._foreign.emit(made)
        finish = getattr(self._foreign, "wait_for_completion", None)
        if finish is not None and not finish(_LONGEST_WAIT_SECONDS):
            raise TransportError(f"{self._shown} did not receive the event in time", retryable=True)

    def _failed(self, error: Exception) -> TransportError:
        status, headers = _answer(error)
        # The exception's text is not shown: it may hold a key, or the whole event.
        message = f"{self._shown} answered {status}" if status else f"{self._shown} failed with {place_of(error)}"
        return TransportError(
            message,
            retryable=status is None or may_pass(status, "", self._passing),
            status=status,
            retry_after=seconds_to_wait(headers),
            lasting=status in LASTING_STATUSES,
        )

    @classmethod
    def _made(cls, config: dict[str, Any]) -> Any:
        """
        Make the transport with openlineage-python's own factory.

        Args:
            config: its options under the client's own names, including `type`.

        Raises:
            TransportConfigError: a package that it needs is missing, or it refuses its options.
        """
        kind = config["type"]
        if cls.NEEDS is not None and not _is_there(cls.NEEDS[0]):
            problem = f"is {kind!r}, which needs the package {cls.NEEDS[1]}"
            raise TransportConfigError("type", problem, f"Run pip install {cls.NEEDS[1]}.")
        from openlineage.client import transport

        made: list[Any] = []
        failure = attempt(lambda: made.append(transport.get_default_factory().create(config)))
        if failure is not None:
            why = failure.place if isinstance(failure, ForeignError) else failure.message
            problem = f"is {kind!r}, which openlineage-python can't create from these options ({why})"
            remedy = "See its options: https://openlineage.io/docs/client/python/configuration."
            raise TransportConfigError("type", problem, remedy)
        return made[0]


class DatadogTransport(ForeignTransport):
    """
    Datadog.

    It is `openlineage.client.transport.datadog`.
    """

    _KEY = Option(
        "apiKey", text, text="The API key; or set the environment variable `DD_API_KEY`.", default="", source=PYTHON,
        also=("apikey",),
    )  # fmt: skip
    _SITE = Option(
        "site", text, text="The site, or its URL; or set the environment variable `DD_SITE`.",
        default="datadoghq.com", source=PYTHON,
    )  # fmt: skip
    _TIMEOUT = Option("timeout", number("seconds"), text="Seconds to wait for an answer.", default=5.0, source=PYTHON)
    OPTIONS = (
        _KEY,
        _SITE,
        _TIMEOUT,
        *RETRY_OPTIONS,
    )

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from the options of the OpenLineage Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        key = cls._KEY.read(options) or os.environ.get("DD_API_KEY")
        if not key:
            raise TransportConfigError("apiKey", "is not set", "Set it, or the environment variable DD_API_KEY.")
        site = cls._SITE.given(options) or os.environ.get("DD_SITE") or cls._SITE.default
        config = {
            "type": "datadog",
            "apiKey": key,
            "site": site,
            "timeout": cls._TIMEOUT.read(options),
            # One attempt per event, and never in the background, where its outcome would be lost.
            "retry": {"total": 0, "connect": 0, "read": 0, "status_forcelist": []},
            "async_transport_rules": {},
        }
        shown = f"datadog at {without_secrets(site)}"
        return cls(cls._made(config), shown, passing_statuses(options), sender_of(key=key))


class GcpLineageTransport(ForeignTransport):
    """
    Google Cloud's lineage API; needs `pip install google-cloud-datacatalog-lineage`.

    It is `openlineage.client.transport.gcplineage`.
    """

    _PROJECT = Option(
        "projectId", text, text="The Google Cloud project.", default="", example="<your project>", also=("project_id",)
    )
    _LOCATION = Option("location", text, text="The location, such as `us-central1`.", default="")
    _CREDENTIALS = Option(
        "credentialsFile", text, text="The file with the key of the service account.", default="", example="key.json",
        also=("credentials_path",),
    )  # fmt: skip
    OPTIONS = (_PROJECT, _LOCATION, _CREDENTIALS)
    NEEDS = ("google.cloud.datacatalog_lineage_v1", "google-cloud-datacatalog-lineage")

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        project = cls._PROJECT.required(options, "Set it to the Google Cloud project.")
        location, credentials = cls._LOCATION.read(options), cls._CREDENTIALS.read(options)
        config = {
            "type": "gcplineage",
            "project_id": project,
            **({"location": location} if location else {}),
            **({"credentials_path": credentials} if credentials else {}),
            "async_transport_rules": {},
        }
        foreign = cls._made(config)
        return cls(foreign, f"gcplineage at {foreign.parent}", sender=sender_of(credentials=credentials))


class DataZoneTransport(ForeignTransport):
    """
    Amazon DataZone; needs `pip install boto3`.

    It is `openlineage.client.transport.amazon_datazone`.
    """

    _DOMAIN = Option("domainId", text, text="The id of the domain.", default="", example="<your domain>")
    _PLACES = (
        Option("region", text, text="The AWS region.", default="", example="eu-west-1"),
        Option("endpointOverride", text, text="Another endpoint.", default="", example="https://vpce.example.com"),
    )
    OPTIONS = (_DOMAIN, *_PLACES)
    NEEDS = ("boto3", "boto3")

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        domain = cls._DOMAIN.required(options, "Set it to the domain's id.")
        given = {option.name: value for option in cls._PLACES if (value := option.read(options))}
        return cls(cls._made({"type": "amazon_datazone_api", "domainId": domain, **given}), f"DataZone domain {domain}")


class ClassTransport(ForeignTransport):
    """A transport class for openlineage-python, named by its import path."""

    OPTIONS = (Option("<option>", text, text="As the class reads it.", default=""),)

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from options that only the class knows; they are passed on unchanged.

        Raises:
            TransportConfigError: the class is missing, or refuses the options.
        """
        path = TYPE.required(options, "Set it to the path of a class.")
        # Otherwise openlineage-python would log the path, which may be a secret in the wrong option.
        if not _is_there(path.partition(".")[0]):
            problem = "looks like the path of a class, but there is no such package"
            raise TransportConfigError("type", problem, "Install the package, or correct the path.")
        # Only the class knows which options name the receiver, and which the sender.
        given = {name: value for name, value in _plain(options).items() if name != TYPE.name}
        return cls(cls._made(_plain(options)), path, sender=sender_of(options=given))


def _is_there(module: str) -> bool:
    if sys.modules.get(module) is not None:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    # Raised for a module in a package that is not installed.
    except ImportError:
        return False


def _plain(options: Mapping[str, object]) -> dict[str, Any]:
    return {name: _plain(value) if isinstance(value, Mapping) else value for name, value in options.items()}


def _answer(error: BaseException) -> tuple[int | None, Mapping[str, str]]:
    """Return the HTTP status and headers of the answer that an exception or its cause holds, else None and {}."""
    found: BaseException | None = error
    while found is not None:
        response = getattr(found, "response", None)
        if isinstance(response, Mapping):
            # An exception of botocore.
            meta = response.get("ResponseMetadata", {})
            return meta.get("HTTPStatusCode"), {
                name.title(): text for name, text in meta.get("HTTPHeaders", {}).items()
            }
        if isinstance(status := getattr(response, "status_code", None), int):
            return status, getattr(response, "headers", {})
        # In google.api_core `code` is an HTTP status; other clients have their own codes there.
        if isinstance(code := getattr(found, "code", None), int) and 300 <= code < 600:
            return int(code), {}
        found = found.__cause__
    return None, {}
