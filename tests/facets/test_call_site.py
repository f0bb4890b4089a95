"""The line of the user's Python: how PySpark names it, and what an event says of it."""

from __future__ import annotations

import importlib.resources
import json

import attrs
import pytest
from jsonschema import Draft202012Validator
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import CallSite, RedactedState, RunState
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.listener.probe.records import call_site

SCRIPT = "file:///home/ann/my%20jobs/etl.py"


@pytest.mark.parametrize(
    ("text", "site"),
    [
        ("/home/ann/etl.py:12", CallSite("/home/ann/etl.py", 12)),
        ("/home/ann/etl.py:12\n/home/ann/main.py:3", CallSite("/home/ann/etl.py", 12)),
        ("C:\\jobs\\etl.py:12", CallSite("C:\\jobs\\etl.py", 12)),
        ("line 5 in cell [3]", CallSite("cell [3]", 5)),
        ("collect at /home/ann/etl.py:12", CallSite("/home/ann/etl.py", 12, "collect")),
        ("/home/a nn at/etl.py:1", CallSite("/home/a nn at/etl.py", 1)),
        ("", None),
        ("etl.py", None),
        ("etl.py:x", None),
        ("etl.py:12345678901", None),
    ],
)
def test_a_line_is_read_as_pyspark_writes_it(text: str, site: CallSite | None) -> None:
    assert call_site(text) == site


@pytest.mark.parametrize(
    ("file", "script", "name"),
    [
        ("/home/ann/my jobs/etl.py", SCRIPT, "etl.py"),
        ("/home/ann/my jobs/lib/load.py", SCRIPT, "lib/load.py"),
        ("/home/ann/my jobs/lib/../etl.py", SCRIPT, "etl.py"),
        ("/home/ann/other/load.py", SCRIPT, "load.py"),
        ("/home/ann/my jobs two/load.py", SCRIPT, "load.py"),
        ("/home/ann/my jobs/etl.py", None, "etl.py"),
        ("/home/ann/my jobs/etl.py", "s3://bucket/etl.py", "etl.py"),
        ("C:\\Users\\ann\\etl.py", None, "etl.py"),
        ("cell [3]", None, "cell [3]"),
        ("<stdin>", None, "<stdin>"),
        (f"/home/ann/my jobs/{'d/' * 200}x.py", SCRIPT, f".../{'d/' * 96}x.py"),
    ],
)
def test_no_folder_outside_of_the_scripts_own_is_told(file: str, script: str | None, name: str) -> None:
    told = CallSite(file, 7, "sql").relative(script)
    assert told == CallSite(name, 7, "sql")
    assert str(told) == f"{name}:7"


@pytest.mark.parametrize(
    ("file", "script", "uri"),
    [
        ("etl.py", SCRIPT, "file:///home/ann/my%20jobs/etl.py#L7"),
        ("lib/a b.py", SCRIPT, "file:///home/ann/my%20jobs/lib/a%20b.py#L7"),
        # It may lie in any folder.
        ("load.py", SCRIPT, None),
        ("cell [3]", SCRIPT, None),
        ("<stdin>", SCRIPT, None),
        ("...d/x.py", SCRIPT, None),
        ("etl.py", None, None),
    ],
)
def test_a_line_in_the_scripts_folder_has_a_uri(file: str, script: str | None, uri: str | None) -> None:
    assert CallSite(file, 7).location(script) == uri


def test_a_run_tells_its_line_in_a_facet_with_a_schema_and_in_the_url_if_that_has_it(
    full_run: tuple[RunState, RunState],
) -> None:
    site = CallSite("nightly.py", 12, "saveAsTable")
    job = attrs.evolve(full_run[0].job, source_location=site.location(full_run[0].job.source_location))
    state = attrs.evolve(full_run[0], call_site=site, job=job)
    event = json.loads(serialise(build_event(RedactedState(state), EventOptions())))
    facet = event["run"]["facets"]["pyspark_call_site"]
    assert {name: value for name, value in facet.items() if not name.startswith("_")} == {
        "file": "nightly.py",
        "line": 12,
        "function": "saveAsTable",
    }
    name = "schemas/PySparkCallSiteRunFacet.json"
    schema = json.loads(importlib.resources.files("openlineage_pyspark.facets.events").joinpath(name).read_text())
    own = schema["$defs"]["PySparkCallSiteRunFacet"]["allOf"][1]
    assert list(Draft202012Validator(own).iter_errors(facet)) == []
    assert event["job"]["facets"]["sourceCodeLocation"]["url"] == "file:///jobs/nightly.py#L12"


def test_a_secret_in_the_name_of_a_file_is_removed(full_run: tuple[RunState, RunState]) -> None:
    state = attrs.evolve(full_run[0], call_site=CallSite("hunter2hunter2/etl.py", 12, "sql"))
    shown = redacted(state, Redaction(known=("hunter2hunter2",)))
    assert shown.call_site == CallSite("***/etl.py", 12, "sql")
