"""What starts the jobs of this folder, with the listener and without it, and receivers that misbehave."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from support.alone import Alone, Recordings
from support.spark_jobs import Ended, Jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@attrs.frozen
class Pair:
    """
    One job, with the listener and without it.

    Args:
        heard: with the listener.
        alone: without.
    """

    heard: Ended
    alone: Alone

    def same(self) -> bool:
        """Whether the listener has changed neither the exit code nor what the job says; the texts are shown if so."""
        assert (self.heard.code, self.heard.stdout) == (self.alone.code, self.alone.stdout)
        return True


@attrs.frozen
class Faults:
    """
    Runs jobs of the folder `jobs`, by `python` where nothing else is said: `spark-submit` mixes the two streams.

    Args:
        jobs: what starts them.
        recordings: what they give without the listener.
    """

    jobs: Jobs
    recordings: Recordings

    def run(self, script: str, *arguments: str, conf: dict[str, str] | None = None, **how: Any) -> Ended:
        """Run a job with the listener; the arguments are those of `Jobs.run`."""
        return self.jobs.run(script, *arguments, conf=conf, **{"submit": False, **how})

    def pair(self, script: str, *arguments: str, conf: dict[str, str] | None = None, **how: Any) -> Pair:
        """Run a job with the listener, and see what it gives without."""
        return Pair(self.run(script, *arguments, conf=conf, **how), self.alone(script, *arguments, conf=conf, **how))

    def alone(self, script: str, *arguments: str, conf: dict[str, str] | None = None, **how: Any) -> Alone:
        """Return what a job gives without the listener."""
        # Without a transport, no other key of the listener counts.
        own = {key: value for key, value in (conf or {}).items() if not key.startswith("spark.openlineage.")}
        return self.recordings.of(self.jobs, script, *arguments, conf=own, **{"submit": False, **how})


@pytest.fixture(scope="session")
def faults(real_spark: None, alone: Recordings, tmp_path_factory: pytest.TempPathFactory) -> Faults:
    """Give what runs jobs of the folder `jobs`, on a real Spark."""
    return Faults(Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp), alone)


@attrs.frozen
class Wire:
    """
    Behaviours of a receiver.

    Args:
        answering: makes one of the answer that each request gets.
        hanging: takes a request and says nothing.
        closing: hangs up in the middle of a request.
        unsteady: takes every other request, and asks to come back for those between.
    """

    answering: Any
    hanging: Any
    closing: Any
    unsteady: Any


class Receiver(socketserver.ThreadingTCPServer):
    """A receiver on loopback, below HTTP: what it does with a request is up to its behaviour."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, behave: Callable[[Receiver, socket.socket], None], tls: ssl.SSLContext | None = None) -> None:
        self.behave = behave
        self.tls = tls
        self.asked = 0
        self.taken: list[bytes] = []
        self.released = threading.Event()
        super().__init__(("127.0.0.1", 0), _Exchange)

    @property
    def url(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: clients hang up here, and are hung up on."""


class _Exchange(socketserver.BaseRequestHandler):
    server: Receiver

    def handle(self) -> None:
        tls = self.server.tls
        connection = self.request if tls is None else tls.wrap_socket(self.request, server_side=True)
        self.server.behave(self.server, connection)


def read_request(receiver: Receiver, connection: socket.socket) -> bytes | None:
    """Read one whole request; give its body, None where the client has hung up."""
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(65536)
        if not piece:
            return None
        text += piece
    receiver.asked += 1
    head, _, body = text.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    length = int(fields.get(b"content-length", 0))
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    return body


def answering(text: bytes) -> Callable[[Receiver, socket.socket], None]:
    """Give the behaviour that gives each request one answer; `URL` in it is the receiver's own."""

    def behave(receiver: Receiver, connection: socket.socket) -> None:
        while read_request(receiver, connection) is not None:
            connection.sendall(text.replace(b"URL", receiver.url.encode()))
            if b"Content-Length: 0" not in text:
                connection.shutdown(socket.SHUT_RDWR)
                return

    return behave


def hanging(receiver: Receiver, connection: socket.socket) -> None:
    """Take a request and say nothing."""
    read_request(receiver, connection)
    receiver.released.wait()


def unsteady(receiver: Receiver, connection: socket.socket) -> None:
    """Take every other request."""
    while (body := read_request(receiver, connection)) is not None:
        takes = receiver.asked % 2 == 0
        if takes:
            receiver.taken.append(body)
        status = b"201 Created" if takes else b"503 Service Unavailable"
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status)


def closing(receiver: Receiver, connection: socket.socket) -> None:
    """Hang up in the middle of the request."""
    receiver.asked += 1
    connection.recv(10)
    connection.close()


@pytest.fixture(scope="session")
def receivers() -> Iterator[Callable[..., Receiver]]:
    """Give what starts a receiver of a behaviour, and stops it in the end."""
    with contextlib.ExitStack() as stack:

        def start(behave: Callable[[Receiver, socket.socket], None], tls: ssl.SSLContext | None = None) -> Receiver:
            server = stack.enter_context(Receiver(behave, tls))
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            stack.callback(server.shutdown)
            stack.callback(server.released.set)
            return server

        yield start


@pytest.fixture(scope="session")
def wire() -> Wire:
    """Give the behaviours."""
    return Wire(answering, hanging, closing, unsteady)
