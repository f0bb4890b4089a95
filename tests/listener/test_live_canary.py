"""
No secret that a job has, and no value of its rows, gets into an event, a line of the log or a file of the spool.

The places stand in canaries.yaml. Two real jobs have a canary in each of them: the first sends to a receiver that
refuses some events for good and repeats their headers; the second masks literals, and its receiver is away, so that
all events stay in the spool. Plain literals are the control: the same search finds each of them in the first job.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import yaml

pytestmark = pytest.mark.any_spark

PLACES = yaml.safe_load(Path(__file__).with_name("canaries.yaml").read_text(encoding="utf-8"))
SECRETS, ROWS, LITERALS = PLACES["secrets"], PLACES["rows"], PLACES["literals"]
TOKEN = "t0" + hashlib.sha256(b"token").hexdigest()[:18]


def canary(place: dict) -> str:
    """Give the secret of a place: letters and digits, so that it looks the same nearly everywhere."""
    return "c4" + hashlib.sha256(place["place"].encode()).hexdigest()[:14]


def filled(place: dict, template: str, number: int) -> str:
    return template.replace("{canary}", canary(place)).replace("{out}", f"place_{number}_end")


def forms(secret: str) -> list[bytes]:
    """Give the texts that a secret can be recognised by: itself, in any case, and three ways to stand in base64."""
    shifted = (base64.b64encode(b"\0" * shift + secret.encode())[4 if shift else 0 :] for shift in range(3))
    # The last letters depend on what follows.
    return [
        secret.encode().lower(),
        quote(secret).encode().lower(),
        *(text.rstrip(b"=")[:-2].lower() for text in shifted),
    ]


def holds(content: bytes, secret: str) -> bool:
    low = content.lower()
    return any(form in low for form in forms(secret))


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes events; some it refuses, and repeats in its answer what came with them."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        came_with = f"{self.path}\n{self.headers}"
        if self.path.startswith("/token"):
            self._answer(200, json.dumps({"access_token": TOKEN, "expires_in": 3600}))
            return
        self.server.seen.append(came_with)
        if self.server.is_away:
            self._answer(503, came_with)
        elif json.loads(body)["eventType"] == "FAIL":
            self.server.bodies.append(body)
            self._answer(422, came_with)
        else:
            self.server.bodies.append(body)
            self._answer(201, "")

    def _answer(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A receiver and what came to it."""

    daemon_threads = True

    def __init__(self, *, is_away: bool) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.is_away = is_away
        self.bodies: list[bytes] = []
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def receiver(*, is_away: bool) -> Iterator[Server]:
    server = Server(is_away=is_away)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@attrs.frozen
class Ran:
    """
    A job with canaries that has ended.

    Args:
        job: what it was and said.
        server: where it sent to.
        places: that it had canaries in.
        kind: `default` or `masked`.
    """

    job: Any
    server: Server
    places: list[dict]
    kind: str

    @property
    def outcomes(self) -> dict[str, str | None]:
        """The text of each step's exception, None where it went well."""
        return json.loads((self.job.folder / "outcomes.json").read_text("utf-8"))

    @property
    def spool(self) -> list[Path]:
        return [file for file in (self.job.folder / "spool").rglob("*") if file.is_file()]

    @property
    def events(self) -> list[dict]:
        bodies = list(self.server.bodies)
        for database in self.spool:
            if database.suffix == ".sqlite" or database.name.endswith(".db"):
                with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
                    bodies += [row[0] for row in connection.execute("SELECT body FROM waiting ORDER BY rowid")]
        return [json.loads(body) for body in bodies]

    def left_behind(self) -> bytes:
        """All that the listener has written or sent, but the headers and the query, where its own secrets belong."""
        parts = [*self.server.bodies, *(file.read_bytes() for file in self.spool)]
        parts.append((self.job.folder / "listener.log").read_bytes())
        parts += [line.encode() for line in self.job.said()]
        parts += [json.dumps(event).encode() for event in self.events]
        return b"\n".join(parts)

    def found(self, places: list[dict]) -> list[str]:
        content = self.left_behind()
        return [place["place"] for place in places if holds(content, canary(place))]


def chosen(places: list[dict], *, is_all: bool) -> list[dict]:
    """Return the places around the job, and each third statement of it, or all: a statement takes a second."""
    statements = [place for place in places if {"sql", "python"} & place.keys()]
    asked = statements if is_all else statements[::3]
    return [place for place in places if place not in statements or place in asked]


def run(
    jobs: Any, tmp_path_factory: pytest.TempPathFactory, server: Server, kind: str, secrets: list[dict], conf: dict
) -> Ran:
    places = [*secrets, PLACES["login"][kind], *(ROWS if kind == "default" else ()), *LITERALS]
    arguments, environment, steps = [], {}, []
    for number, place in enumerate(places):
        conf |= {key: filled(place, value, number) for key, value in place.get("conf", {}).items()}
        environment |= {key: filled(place, value, number) for key, value in place.get("environment", {}).items()}
        arguments += [filled(place, place["argument"], number)] if "argument" in place else []
        kinds = [name for name in ("sql", "python") if name in place]
        steps += [{"place": place["place"], name: filled(place, place[name], number)} for name in kinds]
    file = tmp_path_factory.mktemp("steps") / "steps.json"
    file.write_text(json.dumps(steps), "utf-8")
    common = {
        "spark.sql.ansi.enabled": "true",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": server.url,
        "spark.openlineage.capturedProperties": "spark.master,spark.shop.db_password,spark.shop.endpoint",
        "spark.openlineage.spool.path": "spool",
    }
    job = jobs.run("canaries.py", str(file), *arguments, conf=common | conf, environment=environment, lineage=False)
    return Ran(job, server, places, kind)


@pytest.fixture(scope="module")
def secrets(*, is_all: bool) -> list[dict]:
    """Give the places of secrets that the jobs have."""
    return chosen(SECRETS, is_all=is_all)


@pytest.fixture(scope="module")
def by_default(jobs: Any, tmp_path_factory: pytest.TempPathFactory, secrets: list[dict]) -> Iterator[Ran]:
    """Give the job whose receiver refuses some events."""
    with receiver(is_away=False) as server:
        login = {
            "spark.openlineage.transport.auth.type": "oauth2",
            "spark.openlineage.transport.auth.tokenEndpoint": f"{server.url}/token",
            "spark.openlineage.transport.auth.clientId": "shop",
        }
        yield run(jobs, tmp_path_factory, server, "default", secrets, login)


@pytest.fixture(scope="module")
def masked(jobs: Any, tmp_path_factory: pytest.TempPathFactory, secrets: list[dict]) -> Iterator[Ran]:
    """Give the job that masks literals, and whose receiver is away."""
    with receiver(is_away=True) as server:
        login = {
            "spark.openlineage.transport.auth.type": "api_key",
            "spark.openlineage.maskLiterals": "true",
            "spark.openlineage.flush.timeoutInMillis": "3000",
        }
        yield run(jobs, tmp_path_factory, server, "masked", secrets, login)


@pytest.fixture(params=["by_default", pytest.param("masked", marks=pytest.mark.long)])
def ran(real_spark: None, request: pytest.FixtureRequest) -> Ran:
    """Each of the two jobs."""
    return request.getfixturevalue(request.param)


def test_every_place_has_a_canary_of_its_own() -> None:
    places = [*SECRETS, *PLACES["login"].values(), *ROWS, *LITERALS]

    assert len({canary(place) for place in places}) == len({place["place"] for place in places}) == len(places)
    assert len(SECRETS) >= 80


def test_each_step_of_the_job_went_as_it_was_to_go(ran: Ran) -> None:
    """Those that fail are meant to, and their exceptions are part of the message of the last one."""
    wrong = [
        f"{place['place']}: {ran.outcomes.get(place['place'], 'never ran')}"
        for place in ran.places
        if {"sql", "python"} & place.keys()
        and (ran.outcomes.get(place["place"], "") is None) == place.get("fails", False)
    ]

    assert wrong == []
    assert ran.job.code == 1


def test_each_statement_that_is_a_run_has_its_event(ran: Ran) -> None:
    """Otherwise nothing would be found because nothing was sent."""
    terminal = [event for event in ran.events if event["eventType"] in ("COMPLETE", "FAIL")]
    named = [f"{output['namespace']} {output['name']}" for event in terminal for output in event["outputs"]]
    missing = []
    for number, place in enumerate(ran.places):
        name = filled(place, place.get("event", "{out}"), number)
        if {"sql", "python"} & place.keys() and name != "none" and not any(name in text for text in named):
            missing.append(f"{place['place']}: {name}")

    assert missing == []


def test_what_surrounds_the_job_was_really_there(ran: Ran) -> None:
    """Configuration, environment and command line stood in the exception that ended the script, before what failed."""
    surroundings = str(ran.outcomes["surroundings"])
    outside = [place for place in ran.places if {"conf", "environment", "argument"} & place.keys()]

    assert [place["place"] for place in outside if canary(place) not in surroundings] == []
    (last,) = [event for event in ran.events if event["eventType"] == "FAIL" and "." not in event["job"]["name"]]
    error = last["run"]["facets"]["errorMessage"]
    assert error["stackTrace"].count("Traceback (most recent call last):") > sum(1 for p in ran.places if "fails" in p)
    assert ("'spark.hadoop.fs.s3a.secret.key': '***'" in error["message"]) == (ran.kind == "default")


@pytest.mark.long
def test_the_transport_used_its_own_secrets(by_default: Ran, masked: Ran) -> None:
    """They are in the headers and the address of every post, and the receiver has repeated them in its answers."""
    own = [place for place in SECRETS if "spark.openlineage" in str(place.get("conf"))]
    key = canary(PLACES["login"]["masked"])

    assert len(own) == 2
    for server, login in ((by_default.server, TOKEN), (masked.server, key)):
        assert all(canary(place) in seen for place in own for seen in server.seen)
        assert all(login in seen for seen in server.seen)


def test_no_canary_is_found_in_any_event_log_line_or_spool_file(ran: Ran) -> None:
    assert ran.found([*SECRETS, *PLACES["login"].values()]) == []
    assert not holds(ran.left_behind(), TOKEN)


def test_no_value_of_a_row_is_found_although_each_was_quoted(by_default: Ran) -> None:
    quoted = [place["place"] for place in ROWS if canary(place) in str(by_default.outcomes[place["place"]])]
    failed = [event["run"]["facets"]["errorMessage"] for event in by_default.events if event["eventType"] == "FAIL"]

    assert quoted == [place["place"] for place in ROWS]
    assert by_default.found(ROWS) == []
    assert [error["message"] for error in failed if not error["message"].strip("* ")] == []
    shown = "\n".join(error["message"] for error in failed)
    assert 'The value *** of the type "STRING" cannot be cast to "INT"' in shown
    assert "LookupError: *** (withheld" in shown


def test_the_same_search_finds_every_plain_literal_where_they_are_kept(by_default: Ran) -> None:
    """The control: what is searched is all there, and the search sees it."""
    assert by_default.found(LITERALS) == [place["place"] for place in LITERALS]


@pytest.mark.long
def test_no_plain_literal_is_found_where_literals_are_masked(masked: Ran) -> None:
    assert masked.found(LITERALS) == []


def test_the_spool_had_something_in_it_and_is_its_owners_alone(ran: Ran) -> None:
    """Dead letters in the one, all events in the other."""
    content = b"".join(file.read_bytes() for file in ran.spool)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (ran.job.folder / "spool", *ran.spool)]

    assert b'"eventType":"FAIL"' in content
    assert [oct(mode) for mode in modes if mode & 0o077] == []


@pytest.mark.parametrize("place", SECRETS[:1], ids=lambda place: place["place"])
def test_the_search_knows_a_secret_in_capitals_in_a_url_and_in_base64(place: dict) -> None:
    secret = canary(place)

    for text in (
        secret,
        secret.upper(),
        *(base64.b64encode(f"{'x' * n}:{secret}:y".encode()).decode() for n in range(3)),
    ):
        assert holds(f"before {text} after".encode(), secret)
    assert not holds(b"something else", secret)
