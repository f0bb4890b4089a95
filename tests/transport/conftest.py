"""A real HTTP receiver on loopback, that answers as it is told."""

from __future__ import annotations

import gzip
import selectors
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# A minute's worth.
_DRIPS = 600


@attrs.frozen
class Answer:
    """What the receiver does with one request: a status and text, a hang, or a closed connection.

    With `announced_bytes` above the text's length the answer stays half, and a hang comes after it. What `drips`,
    the headers or the text, comes one byte every tenth of a second.
    """

    status: int = 201
    text: str = ""
    headers: dict[str, str] = attrs.field(factory=dict)
    hang: bool = False
    close: bool = False
    announced_bytes: int | None = None
    drips: str = ""


@attrs.frozen
class Received:
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    client: str | None = None
    """The name in the client's certificate."""


class Receiver(ThreadingHTTPServer):
    """Answers 201, unless `answers` says what comes next; `received` holds the requests.

    It is a proxy too, which leads every tunnel to `tunnel_end`.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.received: list[Received] = []
        self.tunnel_end = ("", 0)
        self.released = threading.Event()
        self.cut_off = threading.Event()
        """Whether a client has hung up before the end of what dripped."""
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
        self.server.received.append(self.noted(body))
        answer = self.server.answers.popleft() if self.server.answers else Answer()
        silent = answer.hang and answer.announced_bytes is None
        if silent:
            self.server.released.wait(300)
        if silent or answer.close:
            self.close_connection = True
            return
        if answer.drips == "headers":
            self.drip(f"HTTP/1.1 {answer.status} \r\nX-Long: {'x' * _DRIPS}")
        self.send_response_only(answer.status)
        for name, value in {"Date": self.date_time_string(), **answer.headers}.items():
            self.send_header(name, value)
        text = answer.text.encode()
        self.send_header("Content-Length", str(answer.announced_bytes or len(text)))
        self.end_headers()
        if answer.drips == "text":
            self.drip(answer.text)
        else:
            self.wfile.write(text)
        self.close_connection = answer.announced_bytes is not None
        if answer.hang:
            self.server.released.wait(300)

    def drip(self, text: str) -> None:
        try:
            for byte in text.encode():
                self.wfile.write(bytes([byte]))
                self.server.released.wait(0.1)
        except ConnectionError:
            self.server.cut_off.set()
            raise

    def do_GET(self) -> None:
        self.server.received.append(self.noted(b"GET"))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self) -> None:
        self.server.received.append(self.noted(b"CONNECT"))
        if self.server.answers:
            self.send_error(self.server.answers.popleft().status)
            return
        with socket.create_connection(self.server.tunnel_end, timeout=30) as end:
            self.send_response_only(200)
            self.end_headers()
            pipe(self.connection, end)
        self.close_connection = True

    def noted(self, body: bytes) -> Received:
        return Received(self.path, dict(self.headers), body, self.client_address[1], self._client())

    def _client(self) -> str | None:
        certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject: Any = (certificate or {}).get("subject", ())
        names: Iterator[dict[str, str]] = (dict(part) for part in subject)
        return next((name["commonName"] for name in names if "commonName" in name), None)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


def pipe(one: socket.socket, other: socket.socket) -> None:
    with selectors.DefaultSelector() as ready:
        ready.register(one, selectors.EVENT_READ, (one, other))
        ready.register(other, selectors.EVENT_READ, (other, one))
        while events := ready.select(30):
            for key, _ in events:
                source, sink = key.data
                data = source.recv(65536)
                if not data:
                    return
                sink.sendall(data)


class TlsReceiver(Receiver):
    """A receiver that proves who it is, and asks who is there.

    Args:
        certificates: the server's, and the authority's for clients.
        clients_named: whether it lets clients in without a certificate.
    """

    def __init__(self, certificates: Certificates, *, clients_named: bool = False) -> None:
        super().__init__()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.authority)
        context.load_cert_chain(certificates.server)
        context.verify_mode = ssl.CERT_REQUIRED if clients_named else ssl.CERT_OPTIONAL
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}"


@attrs.frozen
class Certificates:
    """Files in the PEM format, made anew: each certificate with its key, those of a client in other forms too."""

    authority: Path
    server: Path
    client: Path
    client_certificate: Path
    client_key: Path
    locked_key: Path
    store: Path
    password: str


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command, which makes the certificates")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=120)

    def together(name: str) -> None:
        (folder / f"{name}.pem").write_text((folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text())

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=private authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    names = {"server": "subjectAltName=IP:127.0.0.1,DNS:marquez.invalid", "client": "keyUsage=digitalSignature"}
    for name, extension in names.items():
        # Python 3.13 and later ask for what RFC 5280 does.
        (folder / f"{name}.cnf").write_text(f"{extension}\nauthorityKeyIdentifier=keyid\n")
        openssl("req", *key[:-2], "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN=the {name}")
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.cnf", "-out", f"{name}.crt",
        )  # fmt: skip
        together(name)
    password = "-".join(("pass", "canary"))
    openssl("pkey", "-in", "client.key", "-aes256", "-passout", f"pass:{password}", "-out", "locked.key")
    openssl("pkcs12", "-export", "-in", "client.pem", "-passout", f"pass:{password}", "-out", "client.p12")
    return Certificates(
        folder / "ca.pem", folder / "server.pem", folder / "client.pem", folder / "client.crt", folder / "client.key",
        folder / "locked.key", folder / "client.p12", password,
    )  # fmt: skip


@pytest.fixture
def tls_receiver(certificates: Certificates) -> Iterator[Receiver]:
    with serving(TlsReceiver(certificates)) as server:
        yield server


@pytest.fixture
def strict_receiver(certificates: Certificates) -> Iterator[Receiver]:
    """Yield a receiver that refuses clients without a certificate."""
    with serving(TlsReceiver(certificates, clients_named=True)) as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as server:
        yield server


@pytest.fixture
def second_receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as server:
        yield server


@contextmanager
def serving(server: Receiver) -> Iterator[Receiver]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def answer() -> type[Answer]:
    return Answer
