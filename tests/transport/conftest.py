"""A real HTTP receiver on loopback, that answers as it is told."""

from __future__ import annotations

import gzip
import sys
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen
class Answer:
    """What the receiver does with one request: a status and text, a hang, or a closed connection.

    With `announced_bytes` above the text's length the answer stays half, and a hang comes after it.
    """

    status: int = 201
    text: str = ""
    headers: dict[str, str] = attrs.field(factory=dict)
    hang: bool = False
    close: bool = False
    announced_bytes: int | None = None


@attrs.frozen
class Received:
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


class Receiver(ThreadingHTTPServer):
    """Answers 201, unless `answers` says what comes next; `received` holds the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.received: list[Received] = []
        self.released = threading.Event()
        super().__init__(("127.0.0.1", 0), _Exchange)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent where the client has hung up, which is its right."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.received.append(Received(self.path, dict(self.headers), body, self.client_address[1]))
        answer = self.server.answers.popleft() if self.server.answers else Answer()
        silent = answer.hang and answer.announced_bytes is None
        if silent:
            self.server.released.wait(30)
        if silent or answer.close:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        text = answer.text.encode()
        self.send_header("Content-Length", str(answer.announced_bytes or len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.close_connection = answer.announced_bytes is not None
        if answer.hang:
            self.server.released.wait(30)

    def do_GET(self) -> None:
        self.server.received.append(Received(self.path, dict(self.headers), b"GET", self.client_address[1]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def answer() -> type[Answer]:
    return Answer
