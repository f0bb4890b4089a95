"""Transports of openlineage-python, by their own names and options, one event at a time and with a known outcome."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.attempt import ForeignError, attempt, place_of
from openlineage_pyspark.transport.base import Transport, TransportConfigError, TransportError
from openlineage_pyspark.transport.http.answer import (
    PASSING_STATUSES,
    RETRY_OPTIONS,
    may_pass,
    passing_statuses,
    seconds_to_wait,
)
from openlineage_pyspark.transport.options import PYTHON, TYPE, Option, not_yet, number, text

if TYPE_CHECKING:
    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

# What a transport that queues on its own may take for one event.
_LONGEST_WAIT_SECONDS = 60.0


class ForeignTransport(Transport):
    """Send events through a transport of openlineage-python, and wait for the outcome of each.

    Args:
        foreign: that transport.
        shown: where it sends events, without any credential.
        passing: the statuses below 500 after which the same event may be accepted later.
    """

    NEEDS: ClassVar[tuple[str, str] | None] = None
    """The module that must be installed, and the package that brings it."""
    SPOOLED = True

    def __init__(self, foreign: Any, shown: str, passing: frozenset[int] = PASSING_STATUSES) -> None:
        self._foreign = foreign
        self._shown = shown
        self._passing = passing
        self._used = False

    @property
    def destination(self) -> str:
        """Where the transport sends to."""
        return self._shown

    def send(self, event: Event) -> None:
        """Give the event to the transport.

        Raises:
            TransportError: it failed. Where the exception tells a status, that decides whether it is retryable
                as it does over HTTP; without one the receiver has not judged the event, and a retry could help.
                An event that openlineage-python's classes can't hold is final.
        """
        from openlineage_pyspark.transport.openlineage.run_event import run_event

        try:
            made = run_event(event.body)
        except (AttributeError, LookupError, TypeError, ValueError) as exc:
            message = f"{self._shown} takes events of openlineage-python, and this is none ({place_of(exc)})"
            raise TransportError(message, retryable=False) from None
        self._used = True
        problem = attempt(functools.partial(self._emit, made), self._failed)
        if problem is not None:
            raise problem

    def close(self, timeout: float, /) -> None:
        """Close the transport."""
        # Some make their connection only to close it.
        if self._used:
            self._foreign.close(timeout)

    def _emit(self, made: object) -> None:
        self._foreign.emit(made)
        finish = getattr(self._foreign, "wait_for_completion", None)
        if finish is not None and not finish(_LONGEST_WAIT_SECONDS):
            raise TransportError(f"{self._shown} has not got the event in time", retryable=True)

    def _failed(self, error: Exception) -> TransportError:
        status, headers = _answer(error)
        # Not the text of the exception: it may hold a key, or the whole event.
        message = f"{self._shown} answered {status}" if status else f"{self._shown} failed with {place_of(error)}"
        return TransportError(
            message,
            retryable=status is None or may_pass(status, passing=self._passing),
            status=status,
            retry_after=seconds_to_wait(headers),
        )

    @classmethod
    def _made(cls, config: dict[str, Any]) -> Any:
        """Make the transport by openlineage-python's own factory.

        Args:
            config: its options under the client's own names, `type` among them.

        Raises:
            TransportConfigError: what it needs is missing, or it refuses its options.
        """
        kind = config["type"]
        if cls.NEEDS is not None and not _is_there(cls.NEEDS[0]):
            problem = f"is {kind!r}, which needs the package {cls.NEEDS[1]}"
            raise TransportConfigError("type", problem, f"Run pip install {cls.NEEDS[1]}.")
        from openlineage.client.transport import get_default_factory

        made: list[Any] = []
        failure = attempt(lambda: made.append(get_default_factory().create(config)))
        if failure is not None:
            why = failure.place if isinstance(failure, ForeignError) else failure.message
            problem = f"is {kind!r}, which openlineage-python can't make of these options ({why})"
            remedy = "See its options: https://openlineage.io/docs/client/python/configuration."
            raise TransportConfigError("type", problem, remedy)
        return made[0]


_ASYNC_RULES = not_yet("async_transport_rules.<option>", "Which events to send in the background; here all are.")


class DatadogTransport(ForeignTransport):
    """Datadog.

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
        not_yet("max_queue_size", "How many events may wait."),
        not_yet("max_concurrent_requests", "How many requests may be under way at once."),
        _ASYNC_RULES,
    )

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """Make one from the options of the OpenLineage Python client.

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
            # One attempt an event, and never in the background: its outcome would be lost.
            "retry": {"total": 0, "connect": 0, "read": 0, "status_forcelist": []},
            "async_transport_rules": {},
        }
        return cls(cls._made(config), f"datadog at {without_secrets(site)}", passing_statuses(options))


class GcpLineageTransport(ForeignTransport):
    """Google Cloud's lineage API; needs `pip install google-cloud-datacatalog-lineage`.

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
    OPTIONS = (_PROJECT, _LOCATION, _CREDENTIALS, _ASYNC_RULES)
    NEEDS = ("google.cloud.datacatalog_lineage_v1", "google-cloud-datacatalog-lineage")

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """Make one from the options of the OpenLineage Java or Python client.

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
        return cls(foreign, f"gcplineage at {foreign.parent}")


class DataZoneTransport(ForeignTransport):
    """Amazon DataZone; needs `pip install boto3`.

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
        """Make one from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        domain = cls._DOMAIN.required(options, "Set it to the domain's id.")
        given = {option.name: value for option in cls._PLACES if (value := option.read(options))}
        return cls(cls._made({"type": "amazon_datazone_api", "domainId": domain, **given}), f"DataZone domain {domain}")


class ClassTransport(ForeignTransport):
    """What a transport class for openlineage-python does, named by its path."""

    OPTIONS = (Option("<option>", text, text="As the class reads it.", default=""),)

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """Make one from options that only the class knows; they are passed on as they are.

        Raises:
            TransportConfigError: the class can't be made of them.
        """
        path = TYPE.required(options, "Set it to the path of a class.")
        # Else the path may be anything, and openlineage-python would log it.
        if not _is_there(path.partition(".")[0]):
            problem = "looks like the path of a class, but there is no such package"
            raise TransportConfigError("type", problem, "Install the package, or mend the path.")
        return cls(cls._made(_plain(options)), path)


def _is_there(module: str) -> bool:
    if sys.modules.get(module) is not None:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    # Of a module within a package that is not there either.
    except ImportError:
        return False


def _plain(options: Mapping[str, object]) -> dict[str, Any]:
    return {name: _plain(value) if isinstance(value, Mapping) else value for name, value in options.items()}


def _answer(error: BaseException) -> tuple[int | None, Mapping[str, str]]:
    """Return the status of the answer that an exception, or what caused it, tells of; and the answer's headers."""
    found: BaseException | None = error
    while found is not None:
        response = getattr(found, "response", None)
        if isinstance(response, Mapping):
            # Of botocore.
            meta = response.get("ResponseMetadata", {})
            return meta.get("HTTPStatusCode"), {
                name.title(): text for name, text in meta.get("HTTPHeaders", {}).items()
            }
        if isinstance(status := getattr(response, "status_code", None), int):
            return status, getattr(response, "headers", {})
        # Of google.api_core, where it is a status; other clients have codes of their own there.
        if isinstance(code := getattr(found, "code", None), int) and 300 <= code < 600:
            return int(code), {}
        found = found.__cause__
    return None, {}
