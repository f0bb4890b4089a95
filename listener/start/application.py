"""Make the application and its worker from the facts of a SparkContext and the settings."""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path
from typing import Any

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.events.options import EventOptions, Owner, Tag
from openlineage_pyspark.facets.events.providers import providers
from openlineage_pyspark.facets.model.run import Engine, Parent, RunReference
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.call_sites import CallSites
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.client import ContextFacts, Probe
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.open_run import application_name, run_id
from openlineage_pyspark.listener.settings.settings import Settings
from openlineage_pyspark.listener.start import last_words
from openlineage_pyspark.listener.start.pipeline_spec import named_by_pipeline
from openlineage_pyspark.listener.start.script_end import is_interactive
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.listener.start.submission import submission
from openlineage_pyspark.listener.worker import Worker
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.worker import Delivery


def worker_of(
    facts: ContextFacts, settings: Settings, probe: Probe, delivery: Delivery | FanOut, guard: Guard, attempt: int = 1
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
