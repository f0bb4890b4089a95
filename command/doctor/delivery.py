"""Check the configuration, and what results from it: keys, their sources, transport, receiver and spool."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.command.delivery.configured import needs_driver, open_without_driver
from openlineage_pyspark.command.delivery.senders import is_of_another_sender, of_another_sender, senders
from openlineage_pyspark.command.delivery.spool import contents, unreadable
from openlineage_pyspark.command.doctor.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.errors import SpoolError, TransportConfigError, TransportError
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.settings.catalog import find_key, why_without_effect
from openlineage_pyspark.listener.settings.given import SPARK_CONF
from openlineage_pyspark.listener.settings.kinds import LIST, TAGS, UUID
from openlineage_pyspark.listener.settings.reading import FREE_NAMES, TRANSPORT
from openlineage_pyspark.listener.settings.sources import read_sources
from openlineage_pyspark.listener.start.delivery import sender, spool_root
from openlineage_pyspark.listener.start.secrets import PREFIX_OF_LOG, secret_values
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.base import Reached, Transport
from openlineage_pyspark.transport.composite import CompositeTransport, independent_parts
from openlineage_pyspark.transport.file.transport import FileTransport
from openlineage_pyspark.transport.registry import built_in_transports
from openlineage_pyspark.transport.spool.store import DEAD_LETTER_SECONDS
from openlineage_pyspark.transport.values import nearest
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openlineage_pyspark.command.delivery.configured import Configured
    from openlineage_pyspark.command.delivery.spark_conf import SparkConf
    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.spool.content import Content

_JAVA_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
_JAVA_JAR = "openlineage-spark"
# The keys whose text is not secret; in addition to these, numbers, switches, lists and ids are shown.
_HARMLESS = frozenset(
    {
        "namespace", "appName", "parentJobNamespace", "parentJobName", "rootParentJobNamespace", "rootParentJobName",
        "spool.path",
    }
)  # fmt: skip
# The last parts of the transport options that hold an address; its credentials and its query are not shown.
_ADDRESSES = frozenset({"url", "location", "endpoint", "topicName"})
# A secret or an address may have been put into one of these by mistake, so only words like those that it accepts are
# shown.
_WORDS = {
    "transport.auth.type": frozenset({"api_key", "bearer", "jwt", "oauth2", "none"}),
    "transport.compression": frozenset({"gzip", "none"}),
}
_TYPE = "transport.type"
_PART = re.compile(r"transport\.transports\.[^.]+\.")
_NOT_SHOWN = "<not shown>"
_CLOSE_SECONDS = 1.0
# A receiver that does not answer for this long is a problem, whatever timeout a job would have.
_REACH_SECONDS = 10.0


@attrs.frozen
class OpenedTransport:
    """
    The configured transport, as far as it can be created.

    Args:
        transport: the transport; None if none is configured, or its options can't be used.
        problem: why they can't be used; None if they can.
        warnings: further diagnostics about the options.
    """

    transport: Transport | None = None
    problem: TransportConfigError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def has_known_type(self) -> bool:
        """Whether its type names a transport; otherwise the type may be anything, and is not shown."""
        return self.problem is None or self.problem.option != "type"


@contextmanager
def opened_transport(settings: Settings) -> Iterator[OpenedTransport]:
    """
    Yield the configured transport, and close it afterwards.

    Args:
        settings: the settings that name it; without a type there is none.
    """
    if "type" not in settings.transport:
        yield OpenedTransport()
        return
    with _warnings() as warnings:
        try:
            opened = OpenedTransport(open_without_driver(settings.transport))
        except TransportConfigError as problem:
            opened = OpenedTransport(problem=problem)
    try:
        yield attrs.evolve(opened, warnings=tuple(warnings))
    finally:
        if (transport := opened.transport) is not None:
            attempt(lambda: transport.close(_CLOSE_SECONDS))


@attrs.frozen
class SetKey:
    """
    A key that is set.

    Args:
        name: its dotted name, without prefix.
        value: its value or, in angle brackets, why that is not shown.
        source: where it is set.
    """

    name: str
    value: str
    source: str


def set_keys(configured: Configured, environ: Mapping[str, str], opened: OpenedTransport) -> list[SetKey]:
    """
    Return the lineage keys that are set, sorted by name; for a key that is set twice, the value that applies.

    Args:
        configured: the configuration that a job would get.
        environ: the environment.
        opened: the transport, whose type is shown if it names a transport.
    """
    conf, holding = configured.conf, dict(configured.settings.sources)
    redaction = Redaction(known=secret_values(conf.values, environ, (), configured.settings.transport))
    found = {
        given.name: SetKey(
            given.name,
            redaction.text(_shown(given.name, given.value, opened)),
            conf.sources.get(given.label, SPARK_CONF) if given.origin == SPARK_CONF else given.origin,
        )
        for layer in read_sources(conf.values, environ, configured.search)
        for given in layer.given
        if holding.get(given.name) == given.origin
    }
    return sorted(found.values(), key=lambda key: key.name)


def _shown(name: str, value: object, opened: OpenedTransport) -> str:
    key = find_key(name)
    if key is None:
        return "<no effect here>" if why_without_effect(name) else "<unknown key>"
    try:
        converted = key.kind.convert(value)
    except (ValueError, TypeError):
        return "<not usable>"
    if name.startswith(TRANSPORT) and name.rpartition(".")[2] in _ADDRESSES and FREE_NAMES.isdisjoint(name.split(".")):
        return without_secrets(str(value))
    harmless = (
        name in _HARMLESS
        or key.kind in (LIST, TAGS, UUID)
        or isinstance(converted, int | float)
        or (name == _TYPE and opened.has_known_type)
        or _is_word(name, str(value).strip())
    )
    return str(value) if harmless else _NOT_SHOWN


def _is_word(name: str, value: str) -> bool:
    """Return whether a value is one of the words that an option takes, or one of them misspelled."""
    while part := _PART.match(name):
        name = f"transport.{name[part.end() :]}"
    known = built_in_transports() if name == _TYPE else _WORDS.get(name, ())
    return nearest(value, known) is not None


def look_at_configuration(conf: SparkConf, settings: Settings, opened: OpenedTransport) -> Iterator[Diagnosis]:
    """
    Check the keys: whether lineage is enabled, and which keys have no effect.

    Args:
        conf: the Spark configuration.
        settings: the settings that result from it and the other sources.
        opened: the transport that they name.
    """
    if conf.problem:
        level = PROBLEM if conf.problem.startswith("can't") else WARNING
        yield Diagnosis(level, "Spark's defaults", f"{conf.file} {conf.problem}", "Fix it, or name another file.")
    for warning in settings.warnings:
        yield Diagnosis(WARNING, "configuration", warning)
    if settings.disabled:
        source = dict(settings.sources).get("disabled", "")
        remedy = "Set spark.openlineage.disabled to false, or remove it."
        yield Diagnosis(PROBLEM, "configuration", f"lineage is switched off ({source})", remedy)
    elif "type" not in settings.transport:
        remedy = (
            "Set spark.openlineage.transport.type in spark-defaults.conf, openlineage.yml or with --conf. "
            "What the job sets in its own code is not visible here; pass it to doctor with --conf KEY=VALUE."
        )
        yield Diagnosis(PROBLEM, "configuration", "no transport is set, so there is no lineage", remedy)
    else:
        name = str(settings.transport["type"])
        name = name if opened.has_known_type or _is_word(_TYPE, name) else _NOT_SHOWN
        yield Diagnosis(OK, "configuration", f"lineage is switched on, with the transport {name}")


def look_at_java_listener(conf: SparkConf) -> Iterator[Diagnosis]:
    """Check whether the Java integration is configured too."""
    if _JAVA_LISTENER in conf.values.get("spark.extraListeners", ""):
        found = f"spark.extraListeners names it ({conf.sources['spark.extraListeners']}), so this listener stays off"
        remedy = f"Remove {_JAVA_LISTENER} from spark.extraListeners."
        yield Diagnosis(PROBLEM, "Java listener", found, remedy)
    for key in ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"):
        if _JAVA_JAR in conf.values.get(key, ""):
            found = f"{key} brings its jar ({conf.sources[key]}), which is not needed"
            yield Diagnosis(NOTE, "Java listener", found)


def look_at_delivery(settings: Settings, opened: OpenedTransport) -> Iterator[Diagnosis]:
    """Check the transport, its receiver, and the spool in front of it."""
    if opened.problem is not None:
        yield Diagnosis(PROBLEM, "transport", str(opened.problem))
    for warning in opened.warnings:
        yield Diagnosis(WARNING, "transport", warning)
    if opened.transport is not None:
        yield from _look_at_receiver(opened.transport)
        yield from _look_at_spool(settings, opened.transport)


def _look_at_receiver(transport: Transport) -> Iterator[Diagnosis]:
    """Check whether the receiver responds, with requests that change nothing."""
    if isinstance(transport, CompositeTransport):
        for part in transport.parts:
            yield from _look_at_receiver(part.transport)
        return
    if needs_driver(transport):
        found = f"{transport.destination} can only be reached by the driver's own Hadoop client, not from here"
        yield Diagnosis(NOTE, "receiver", found)
        return
    answers: list[Reached | None] = []
    problem = _ask(transport, answers)
    if problem is not None:
        yield Diagnosis(PROBLEM, "receiver", str(problem), _remedy(problem))
    elif isinstance(transport, FileTransport):
        yield Diagnosis(OK, "receiver", f"{transport.destination} can be written")
    elif answers[0] is None:
        found = f"{transport.destination}: its options are valid; it can't be checked without sending an event"
        yield Diagnosis(NOTE, "receiver", found)
    elif answers[0].doubt:
        remedy = "Compare url and endpoint with the receiver's documentation."
        yield Diagnosis(WARNING, "receiver", f"{answers[0].said}: {answers[0].doubt}", remedy)
    else:
        yield Diagnosis(OK, "receiver", f"{answers[0].said}: it is reachable and did not refuse the login")


def _ask(transport: Transport, answers: list[Reached | None]) -> TransportError | None:
    """Query the receiver on a separate thread, which is abandoned if there is no answer in time."""
    problems: list[TransportError] = []

    def ask() -> None:
        problem = attempt(lambda: answers.append(transport.reach()))
        problems.extend([problem] if problem is not None else [])

    if sys.stderr.isatty():
        complain(f"asking {transport.destination}, for at most {_REACH_SECONDS:.0f} s")
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_REACH_SECONDS)
    if not (answers or problems):
        return TransportError(f"{transport.destination} did not answer within {_REACH_SECONDS:.0f} s", retryable=True)
    return problems[0] if problems else None


def _remedy(problem: TransportError) -> str:
    if problem.status in (401, 403) or problem.message.startswith("the token endpoint"):
        return "Check transport.auth.type and the key or secret that belongs to it."
    if problem.status is None:
        return "Check transport.url, the network and the receiver. With a spool, events wait until it is reachable."
    return "Check the receiver's log. With a spool, events wait until it accepts them."


def _look_at_spool(settings: Settings, transport: Transport) -> Iterator[Diagnosis]:
    """Check whether events are kept on disk, and what earlier applications left there."""
    try:
        root = spool_root(settings, transport)
    except SpoolError as problem:
        yield Diagnosis(PROBLEM, "spool", str(problem), "Set spark.openlineage.spool.path to a local directory.")
        return
    if root is None:
        if transport.SPOOLED:
            found = "off: events in memory are lost if the process is killed or the receiver stays unreachable"
            yield Diagnosis(WARNING, "spool", found, "Remove spark.openlineage.spool.path=none.")
        else:
            yield Diagnosis(NOTE, "spool", "off, as this transport needs none")
        return
    if reason := _why_unwritable(root):
        remedy = "Set spark.openlineage.spool.path to a local directory that this user can write to."
        yield Diagnosis(PROBLEM, "spool", f"{root} can't be written ({reason}): events are kept in memory only", remedy)
        return
    diagnoses = list(_of_contents(root, contents(root), independent_parts(transport), settings))
    yield from diagnoses or [Diagnosis(OK, "spool", f"{root}: no events are waiting")]


def _of_contents(
    root: Path, held: Sequence[Content], parts: Sequence[Transport], settings: Settings
) -> Iterator[Diagnosis]:
    for each in held:
        if each.problem:
            yield Diagnosis(PROBLEM, "spool", f"{each.directory} can't be read: {each.problem}", "Move it away.")
    yield from _of_waiting(root, [each for each in held if each.waiting and not each.in_use], parts, settings)
    dead = sum(each.dead for each in held)
    if dead:
        remedy = (
            "To see why: openlineage-pyspark spool ls --dead. To try again: openlineage-pyspark replay --dead. "
            f"They are deleted after {DEAD_LETTER_SECONDS // 86_400} days."
        )
        yield Diagnosis(PROBLEM, "spool", f"{root}: {counted(dead, 'event')} refused for good", remedy)
    damaged = unreadable(root)
    if damaged:
        remedy = "To delete it: openlineage-pyspark spool rm ID --yes"
        yield Diagnosis(PROBLEM, "spool", f"{root}: damaged and set aside: {', '.join(damaged)}", remedy)


def _of_waiting(
    root: Path, left: Sequence[Content], parts: Sequence[Transport], settings: Settings
) -> Iterator[Diagnosis]:
    """Yield what is to be done about the events of earlier applications, by who can send them."""
    meant = [
        (each, part) for each in left for part in parts
        if each.is_meant_for(part.destination, sender(settings, part))
    ]  # fmt: skip
    by_driver = {each.directory for each, part in meant if needs_driver(part)}
    ours = {each.directory for each, _ in meant} - by_driver

    def waiting(are_counted: Callable[[Path], bool], found: str, remedy: str) -> Iterator[Diagnosis]:
        count = sum(each.waiting for each in left if are_counted(each.directory))
        if count:
            yield Diagnosis(WARNING, "spool", f"{root}: {counted(count, 'event')} {found}", remedy)

    remedy = "The next application sends them. To send them now: openlineage-pyspark replay"
    yield from waiting(ours.__contains__, "of earlier applications waiting", remedy)
    remedy = "The next application sends them. To send them elsewhere: openlineage-pyspark replay --to URL"
    yield from waiting(by_driver.__contains__, "waiting for the next driver's Hadoop client", remedy)
    strangers = [each for each in left if is_of_another_sender(each, senders(parts, settings))]
    for sentence in of_another_sender(strangers):
        found, _, remedy = sentence.partition("; ")
        yield Diagnosis(WARNING, "spool", f"{root}: {found}", f"{remedy[:1].upper()}{remedy[1:]}")
    known = ours | by_driver | {each.directory for each in strangers}
    remedy = "To list them: openlineage-pyspark spool ls. To send them: openlineage-pyspark replay --to URL"
    yield from waiting(lambda directory: directory not in known, "waiting for other receivers", remedy)


def _why_unwritable(root: Path) -> str:
    """Return why a directory can't be written or created; find out by creating an empty one, and remove that again."""
    existing = next(path for path in (root.absolute(), *root.absolute().parents) if os.access(path, os.F_OK))
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=existing):
            return ""
    except OSError as problem:
        return str(problem.strerror or problem)


class _KeptWarnings(logging.Handler):
    """Keeps the warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage().removeprefix(PREFIX_OF_LOG))


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings that the transports would log."""
    kept = _KeptWarnings()
    logger = logging.getLogger("openlineage_pyspark.transport")
    logger.addHandler(kept)
    try:
        yield kept.texts
    finally:
        logger.removeHandler(kept)
