"""What all runs of an application share, from what its context and the settings say; and its own run."""

from __future__ import annotations

import datetime as dt

import attrs
from openlineage_pyspark.facets.model.run import Failure, Gap, Outcome, Parent, RunReference
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.probe.client import ContextFacts
from openlineage_pyspark.listener.settings.settings import Settings, load
from openlineage_pyspark.listener.start.application import application_from_facts, event_options

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
FACTS = ContextFacts(
    "local-1", 1767225600000, "4.3.0", "me", None, {"spark.app.name": "My App", "spark.master": "local[2]"}
)
PARENT = RunReference("01941f29-7c00-7000-8000-000000000009", "airflow", "dag.task")


def settings(**keys: str) -> Settings:
    return load({f"spark.openlineage.{key}": value for key, value in keys.items()}, {}, ())


def test_an_application_has_the_contexts_name_and_time_and_is_its_own_root() -> None:
    application = application_from_facts(FACTS, settings(namespace="team"))

    assert (application.name, application.namespace, application.started) == (
        "my_app",
        "team",
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
    )
    assert (application.run.name, application.root, application.parent) == ("my_app", application.run, None)
    assert dict(application.engine.application)["master"] == "local[2]"


def test_each_registration_has_a_run_of_its_own_and_it_is_the_same_one_every_time() -> None:
    first, second = (application_from_facts(FACTS, settings(), attempt).run.run_id for attempt in (1, 2))

    assert first != second
    assert application_from_facts(FACTS, settings()).run.run_id == first


def test_what_started_an_application_is_the_parent_of_its_run_and_the_root_of_all() -> None:
    chosen = attrs.evolve(settings(), parent=PARENT)
    application = application_from_facts(FACTS, chosen)

    assert application.name == "dag.task.my_app"
    assert (application.parent, application.root) == (Parent(PARENT, PARENT), PARENT)


def test_texts_of_the_settings_are_redacted_before_they_are_options() -> None:
    chosen = attrs.evolve(settings(**{"job.tags": "label:canary-c4n4ry"}), job_documentation="the canary-c4n4ry job")
    options = event_options(chosen, Redaction(known=("canary-c4n4ry",)))

    assert [(tag.key, tag.value) for tag in options.job_tags] == [("label", "***")]
    assert options.job_documentation == "the *** job"


def test_the_text_of_an_edge_is_composed_unless_that_of_the_last_step_is_asked_for() -> None:
    chosen = (settings(), settings(**{"columnLineage.descriptions": "last"}))

    assert [event_options(each, Redaction()).descriptions for each in chosen] == ["composed", "last"]


def test_fields_of_structs_are_told_if_they_are_asked_for() -> None:
    chosen = (settings(), settings(**{"columnLineage.structFields": "true"}))

    assert [event_options(each, Redaction()).struct_fields for each in chosen] == [False, True]


def test_the_applications_own_run_begins_with_it_and_ends_with_what_was_lost() -> None:
    application = application_from_facts(FACTS, settings())
    start = application.started_state()
    end = application.ended_state(Outcome("FAIL", "no", "Traceback"), NOW, (Gap("events", "lost"),), 7)
    good = application.ended_state(Outcome("COMPLETE"), NOW, (), 0)

    assert (start.event_type, start.event_time, start.job.type) == ("START", application.started, "APPLICATION")
    assert (end.event_type, end.event_time, end.run_id) == ("FAIL", NOW, start.run_id)
    assert (end.failure, end.gaps, end.operators) == (Failure("no", "PYTHON", "Traceback"), (Gap("events", "lost"),), 7)
    assert (good.event_type, good.failure, good.gaps) == ("COMPLETE", None, ())
