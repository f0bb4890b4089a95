"""Make the application and its worker from the facts of a SparkContext and the settings."""

from __future__ import annotations

import datetime
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.events.options import EventOptions, Owner, Tag
from openlineage_pyspark.facets.events.providers import providers
from openlineage_pyspark.facets.model.run import Engine, Parent, RunReference, Submission
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.call_sites import CallSites
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.client import ContextFacts, Probe
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.open_run import application_name, run_id
from openlineage_pyspark.listener.settings.settings import Settings
from openlineage_pyspark.listener.start import last_words
from openlineage_pyspark.listener.start.script_end import is_interactive
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.listener.worker import Worker
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.worker import Delivery

_PROGRAM = ("pyspark", "pipelines", "cli.py")
_SPECS = ("spark-pipeline.yml", "spark-pipeline.yaml")
_UNNAMED = frozenset({"", "pyspark-shell", "pysparkshell", "cli.py"})
_LAUNCHER = "org.apache.spark.deploy.SparkSubmit"
# Set for the driver by spark-submit, which starts Python (org.apache.spark.deploy.PythonRunner).
_STARTED_BY_SUBMIT = "PYSPARK_GATEWAY_PORT"


def worker_of(
    facts: ContextFacts, settings: Settings, probe: Probe, delivery: Delivery | FanOut, guard: Guard, attempt: int
) -> Worker:
    """
    Return the worker for one application; it is not started yet.

    Args:
        facts: the SparkContext's facts about the application.
        settings: the application's settings.
        probe: supplies the records.
        delivery: ships the events.
        guard: catches faults; from now on it redacts what it logs.
        attempt: 1 for the first registration of the application, 2 for the next.
    """
    secrets = secret_values(facts.conf, os.environ, sys.argv[1:], settings.transport)
    hide_in_logs(secrets)
    redaction = guard.redaction = Redaction(settings.mask_literals, secrets, settings.row_values_in_errors)
    application = application_from_facts(facts, settings, attempt)
    options = event_options(settings, redaction)
    entrust = last_words.entrusting(probe, settings, facts.conf.get("spark.app.name", ""))
    sites = CallSites(probe.is_running)
    pipeline = Pipeline(application, options, providers(), delivery, guard, entrust, sites.of)
    if settings.call_sites == "none":
        return Worker(probe, application, pipeline, delivery, guard, is_interactive)
    return Worker(probe, application, pipeline, delivery, guard, is_interactive, sites.look)


def event_options(settings: Settings, redaction: Redaction) -> EventOptions:
    """
    Return the options for the content of events.

    Args:
        settings: the application's settings.
        redaction: applied to the application's texts, including those from the settings.
    """
    return EventOptions(
        disabled=settings.disabled_facets,
        dataset_lineage_enabled=settings.dataset_lineage_enabled,
        descriptions_enabled=settings.descriptions_enabled,
        descriptions=settings.descriptions,
        struct_fields=settings.struct_fields,
        steps=settings.steps,
        schema_size_limit=settings.schema_size_limit,
        owners=tuple(Owner(redaction.text(name), type_) for type_, name in settings.job_owners),
        job_tags=tuple(Tag(t.key, redaction.text(t.value), t.source) for t in settings.job_tags),
        run_tags=tuple(Tag(t.key, redaction.text(t.value), t.source) for t in settings.run_tags),
        job_documentation=redaction.text(settings.job_documentation or "") or None,
        max_bytes=settings.event_max_bytes,
        redaction=redaction,
    )


def application_from_facts(facts: ContextFacts, settings: Settings, attempt: int = 1) -> Application:
    """
    Return the application: the facts that all its runs share.

    Args:
        facts: the SparkContext's facts about the application.
        settings: the application's settings.
        attempt: 1 for the first registration, 2 for the next. A run that has ended can't start again, so each
            registration gets its own run.
    """
    identity = "application" if attempt == 1 else f"application {attempt}"
    started = datetime.datetime.fromtimestamp(facts.start_milliseconds / 1000, datetime.timezone.utc)
    given = settings.app_name or named_by_pipeline(facts.conf.get("spark.app.name", ""))
    own_name = naming.snake_case(given) or "unknown"
    name = application_name(own_name, settings.parent.name if settings.parent else None)
    own = settings.application_run_id or run_id(started, facts.application_id, identity)
    run = RunReference(own, settings.namespace, name)
    captured = tuple((key, facts.conf[key]) for key in settings.captured_properties if key in facts.conf)
    parent = Parent(settings.parent, settings.root or settings.parent) if settings.parent else None
    return Application(
        id=facts.application_id,
        started=started,
        namespace=settings.namespace,
        name=name,
        run=run,
        root=settings.root or settings.parent or run,
        engine=Engine(facts.version, _details(facts), captured),
        parent=parent,
        metastore=facts.metastore,
        reads=settings.reads_enabled,
        rdds=not settings.rdd_events_disabled,
        source_location=script_location(),
        call_sites=settings.call_sites,
        append_command=settings.append_command,
        append_dataset_name=settings.append_dataset_name,
        replace_dots=settings.replace_dot_with_underscore,
        trimming=settings.trimming,
        views=settings.views_enabled,
        submission=submission(facts.conf, os.environ),
        batch_interval=settings.streaming_interval,
    )


def script_location() -> str | None:
    """Return the URI of the script that the interpreter was started with; None in a shell or notebook."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(path).absolute().as_uri() if isinstance(path, str) and Path(path).is_file() else None


def _details(facts: ContextFacts) -> tuple[tuple[str, str], ...]:
    conf = facts.conf
    found: dict[str, Any] = {
        "master": conf.get("spark.master"),
        "appName": conf.get("spark.app.name"),
        "applicationId": facts.application_id,
        "deployMode": conf.get("spark.submit.deployMode", "client"),
        "driverHost": conf.get("spark.driver.host"),
        "userName": facts.user,
        "uiWebUrl": facts.ui,
    }
    return tuple((key, str(value)) for key, value in found.items() if value)


# The name of a declarative pipeline, which `spark-pipelines` runs under the name of its own program.


def named_by_pipeline(application: str) -> str:
    """Return the name of the application, or of the pipeline that this process runs if the application has no name."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if application.lower() not in _UNNAMED or not isinstance(main, str) or Path(main).parts[-3:] != _PROGRAM:
        return application
    return pipeline_name(sys.argv[1:], Path.cwd()) or application


def pipeline_name(arguments: Sequence[str], folder: Path) -> str | None:
    """
    Return the name in the specification of a pipeline; None if it can't be read.

    Args:
        arguments: the arguments of the program.
        folder: where the program runs; without `--spec`, the specification is there, or in a folder around it.
    """
    given = [text.removeprefix("--spec=") for text in arguments if text.startswith("--spec=")]
    given += [text for option, text in itertools.pairwise(arguments) if option == "--spec"]
    if given:
        path: Path | None = folder / given[0]
    else:
        around = (each / name for each in (folder, *folder.parents) for name in _SPECS)
        path = next((each for each in around if each.is_file()), None)
    return None if path is None else _name_in(path)


def _name_in(path: Path) -> str | None:
    try:
        spec = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
    name = spec.get("name") if isinstance(spec, dict) else None
    return name.strip() or None if isinstance(name, str) else None


# How the application was started: the command that would start it again.


def submission(conf: Mapping[str, str], environ: Mapping[str, str]) -> Submission | None:
    """Return how this process was started; None in a shell or a notebook, which no command repeats."""
    if not isinstance(getattr(sys.modules.get("__main__"), "__file__", None), str):
        return None
    parent = _words_of(os.getppid()) if _STARTED_BY_SUBMIT in environ else None
    words = started_by(parent, [sys.executable, *sys.orig_argv[1:]], environ)
    try:
        folder = str(Path.cwd())
    except OSError:
        # It was removed.
        folder = ""
    return Submission(words, folder, conf.get("spark.submit.deployMode", "client"))


def started_by(parent: Sequence[str] | None, own: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return the words of the command that started the driver; none if they are unknown.

    Args:
        parent: the command line of the JVM that started this Python; None if it was started by itself, empty if its
            command line can't be read.
        own: the command line of this Python.
        environ: the environment, for SPARK_HOME.
    """
    if parent is None:
        return tuple(own)
    if _LAUNCHER not in parent:
        # A cluster manager started the driver, or the command line can't be read.
        return ()
    home = environ.get("SPARK_HOME", "").strip()
    program = str(Path(home) / "bin" / "spark-submit") if home else "spark-submit"
    return (program, *parent[list(parent).index(_LAUNCHER) + 1 :])


def _words_of(process: int) -> list[str]:
    """Return the command line of a process; empty where there is no /proc."""
    try:
        text = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return []
    return text.rstrip("\0").split("\0")
