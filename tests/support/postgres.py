"""A real PostgreSQL, if the machine has one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.ports import free_ports
from support.table_services import running

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = "org.postgresql:postgresql:42.7.7"
OWNER, DATABASE = "tests", "shop"
_NOBODY = 65534
_SETTINGS = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off")


@contextlib.contextmanager
def postgres() -> Iterator[int]:
    """Run a server with the database of `OWNER`, who needs no password, and give its port; skip if there is none."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: Debian's package is called postgresql")
    # It does not run as root, and another user can't enter pytest's folders.
    user = _NOBODY if os.geteuid() == 0 else None
    folder, port = Path(tempfile.mkdtemp(prefix="postgres-")), free_ports(1)[0]
    try:
        if user is not None:
            os.chown(folder, user, -1)
        made = ["--pgdata", str(folder / "data"), "--username", OWNER, "--auth", "trust", "--no-sync"]
        subprocess.run([str(programs / "initdb"), *made], cwd=folder, user=user, check=True, capture_output=True)
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        command = [str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), *settings]
        with running(command, folder, port, user=user):
            at = ["--host", "127.0.0.1", "--port", str(port), "--username", OWNER]
            subprocess.run([str(programs / "createdb"), *at, DATABASE], check=True, capture_output=True)
            yield port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """Return the folder of the server's programs; Debian does not put them on the path."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    return max(found, default=None if on_path is None else Path(on_path).resolve().parent)
