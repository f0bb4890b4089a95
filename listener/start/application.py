"""What is known of the application: its own run, its parents, and the engine that it runs on."""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path
from typing import Any

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.events.ids import run_id
from openlineage_pyspark.facets.events.options import EventOptions, Owner, Tag
from openlineage_pyspark.facets.events.providers import providers
from openlineage_pyspark.facets.model.run import Engine, Parent, RunReference
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.client import ContextFacts, Probe
from openlineage_pyspark.listener.runs.assemble import Application
from openlineage_pyspark.listener.runs.job_names import application_name
from openlineage_pyspark.listener.settings.settings import Settings
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.transport import Delivery
from openlineage_pyspark.transport.delivery.fan_out import FanOut


def pipeline_of(
    application: Application, settings: Settings, probe: Probe, delivery: Delivery | FanOut, guard: Guard
) -> Pipeline:
    """
    The pipeline for one application, made ready but not started.

    Args:
        application: what its runs belong to.
        settings: what is configured.
        probe: what is heard.
        delivery: what ships.
        guard: what catches.
    """
    redaction = application.redaction
    guard.redaction = redaction
    options = EventOptions(
        disabled=settings.disabled_facets,
        dataset_lineage_enabled=settings.dataset_lineage_enabled,
        descriptions_enabled=settings.descriptions_enabled,
        schema_size_limit=settings.schema_size_limit,
        owners=tuple(Owner(redaction.text(name), type_) for type_, name in settings.job_owners),
        job_tags=tuple(Tag(t.key, redaction.text(t.value), t.source) for t in settings.job_tags),
        run_tags=tuple(Tag(t.key, redaction.text(t.value), t.source) for t in settings.run_tags),
        job_documentation=redaction.text(settings.job_documentation or "") or None,
        max_bytes=settings.event_max_bytes,
        redaction=redaction,
    )
    parent = Parent(settings.parent, settings.root or settings.parent) if settings.parent else None
    return Pipeline(probe, application, parent, options, providers(), delivery, guard)


def application_of(facts: ContextFacts, settings: Settings, time: int = 1) -> Application:
    """
    What every run of the application shares.

    Args:
        facts: what its SparkContext says of it.
        settings: what is configured.
        time: the how-manieth registration; a run that has ended can't begin again, so each has one of its own.
    """
    identity = "application" if time == 1 else f"application {time}"
    started = datetime.datetime.fromtimestamp(facts.start_milliseconds / 1000, datetime.timezone.utc)
    own_name = naming.snake_case(settings.app_name or facts.conf.get("spark.app.name", "")) or "unknown"
    name = application_name(own_name, settings.parent.name if settings.parent else None)
    own = settings.application_run_id or run_id(started, facts.application_id, identity)
    run = RunReference(own, settings.namespace, name)
    captured = tuple((key, facts.conf[key]) for key in settings.captured_properties if key in facts.conf)
    known = secret_values(facts.conf, os.environ, sys.argv[1:], settings.transport)
    hide_in_logs(known)
    return Application(
        id=facts.application_id,
        started=started,
        namespace=settings.namespace,
        name=name,
        run=run,
        root=settings.root or settings.parent or run,
        engine=Engine(facts.version, _details(facts), captured),
        metastore=facts.metastore,
        reads=settings.reads_enabled,
        rdds=not settings.rdd_events_disabled,
        source_location=script_location(),
        append_dataset_name=settings.append_dataset_name,
        replace_dots=settings.replace_dot_with_underscore,
        redaction=Redaction(settings.mask_literals, known),
    )


def script_location() -> str | None:
    """URI of the script that the interpreter was started with; None in a shell or notebook."""
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
