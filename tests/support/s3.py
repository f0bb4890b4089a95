"""A real server of S3's protocol: S3Proxy, one Java process, which keeps its objects in a folder."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import attrs
import pytest
import requests

from support.maven import fetched
from support.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVER = "org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies"
# Spark's version -> Hadoop's client of S3, with those parts of Amazon's that it needs: all of them are 600 MB.
CLIENT = {
    "3.5": (
        "org.apache.hadoop:hadoop-aws:3.3.4",
        *(f"com.amazonaws:aws-java-sdk-{part}:1.12.262" for part in ("s3", "sts", "dynamodb")),
    ),
    "4.3": (
        "org.apache.hadoop:hadoop-aws:3.5.0",
        *(f"software.amazon.awssdk:{part}:2.35.4" for part in ("s3-transfer-manager", "sts")),
    ),
}
NOT_NEEDED = ("software.amazon.awssdk:bundle", "com.amazonaws:aws-java-sdk-bundle")
BUCKET = "lineage"
KEY, SECRET, REGION = "tester", "secret-of-tests", "us-east-1"
START_SECONDS = 240


@attrs.define
class Server:
    """
    A server with one bucket, which asks for a key.

    Args:
        jar: of the server.
        folder: of its own, with the bucket's objects.
        port: where it listens.
    """

    jar: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def bucket(self) -> Path:
        """Return the folder that holds the bucket's objects."""
        return self.folder / "data" / BUCKET

    @property
    def conf(self) -> dict[str, str]:
        """Return the Spark properties of Hadoop's client."""
        values = {
            "endpoint": f"http://127.0.0.1:{self.port}",
            "endpoint.region": REGION,
            "access.key": KEY,
            "secret.key": SECRET,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
        }
        return {f"spark.hadoop.fs.s3a.{key}": value for key, value in values.items()}

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.bucket.mkdir(parents=True)
        properties = {
            "s3proxy.endpoint": f"http://127.0.0.1:{self.port}",
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.folder / "data"),
        }
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        (self.folder / "server.properties").write_text(text)
        log = self.folder / "server.log"
        with log.open("ab") as opened:
            command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", str(self.jar), "org.gaul.s3proxy.Main"]
            command += ["--properties", "server.properties"]
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=opened, stderr=opened)
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the server of S3 did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    def put(self, name: str, data: bytes) -> None:
        """Write an object of the bucket."""
        path = f"/{BUCKET}/{quote(name)}"
        headers = signed("PUT", f"127.0.0.1:{self.port}", path, data)
        answer = requests.put(f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text

    def _answers(self) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/", timeout=2).status_code == 403
        except requests.RequestException:
            return False


@contextlib.contextmanager
def serving(make_folder: Callable[[str], Path]) -> Iterator[Server]:
    """
    Run a server, which a test gets; its jar is fetched.

    Args:
        make_folder: makes a folder of that name, as `tmp_path_factory.mktemp` does.
    """
    server = Server(fetched(SERVER, make_folder("maven")), make_folder("s3"), free_ports(1)[0])
    try:
        server.start()
        yield server
    finally:
        server.stop()


def signed(method: str, host: str, path: str, data: bytes) -> dict[str, str]:
    """Return the headers of a request with its signature (AWS Signature Version 4)."""
    now = f"{dt.datetime.now(dt.timezone.utc):%Y%m%dT%H%M%SZ}"
    digest = hashlib.sha256(data).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(headers)
    lines = "".join(f"{key}:{value}\n" for key, value in headers.items())
    request = hashlib.sha256(f"{method}\n{path}\n\n{lines}\n{names}\n{digest}".encode()).hexdigest()
    scope = (now[:8], REGION, "s3", "aws4_request")
    key = f"AWS4{SECRET}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    of = "/".join(scope)
    signature = hmac.digest(key, f"AWS4-HMAC-SHA256\n{now}\n{of}\n{request}".encode(), "sha256").hex()
    said = f"AWS4-HMAC-SHA256 Credential={KEY}/{of}, SignedHeaders={names}, Signature={signature}"
    return {"x-amz-content-sha256": digest, "x-amz-date": now, "Authorization": said}
