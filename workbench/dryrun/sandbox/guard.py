"""
Keep a script from doing harm: an audit hook refuses everything that acts outside of the process, and reports the line.

Python is not a sandbox: malicious code can bypass a hook. The hook protects against scripts that act as in
production, such as by deleting a folder, calling a service or reading a key, and reports each attempt.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.sandbox.effects import folder_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_PROCESSES = (
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn",
    "subprocess.Popen", "os.kill", "os.killpg", "signal.pthread_kill",
)  # fmt: skip
_CHANGES = (
    "os.chflags", "os.chmod", "os.chown", "os.link", "os.lockf", "os.mkdir", "os.remove", "os.rename",
    "os.rmdir", "os.symlink", "os.truncate", "os.utime", "shutil.chown", "shutil.copyfile",
    "shutil.copymode", "shutil.copystat", "shutil.copytree", "shutil.make_archive", "shutil.move", "shutil.rmtree",
    "shutil.unpack_archive", "tempfile.mkdtemp", "tempfile.mkstemp",
)  # fmt: skip
_WITHIN = ("os.chmod", "os.chown", "os.mkdir", "os.remove", "os.rmdir", "os.utime")
_READS = ("os.listdir", "os.scandir", "os.listxattr", "os.getxattr", "glob.glob")
_NETWORK = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
            "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request", "ftplib.connect", "smtplib.connect",
            "http.client.connect", "imaplib.open", "poplib.connect", "telnetlib.Telnet.open")  # fmt: skip
# The kernel lets a process change these of a file, whatever it may not write (`landlock.py`).
_ATTRIBUTES_IN_C = re.compile(r"[fl]?(?:chmod|chown|setxattr|removexattr|utimes?)(?:at)?|futimens|utimensat|futimesat")
# Python 3.10 has the name as bytes.
_IN_MEMORY = (":memory:", b":memory:")
_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SECRETS = re.compile(
    r"/proc/[^/]+/(?:environ|mem|maps|cmdline|fd)\b|/\.(?:ssh|aws|azure|kube|docker|gnupg|databricks|databrickscfg|netrc|"
    r"pgpass|pypirc|npmrc|git-credentials|snowflake|boto|s3cfg|config/gcloud|env)(?:/|$|\.)|"
    r"/id_(?:rsa|dsa|ecdsa|ed25519)|/etc/(?:shadow|sudoers|krb5)|\.(?:pem|p12|jks|keytab)$"
)
_READABLE = ("/usr/", "/etc/", "/lib", "/opt/", "/sys/", "/proc/", "/dev/", "/bin/", "/var/lib/", "/tmp/")  # noqa: S108
# The path without links, because the package of a clone is a link.
_OURS = os.path.realpath(Path(__file__).parents[3]) + os.sep


class RefusedError(PermissionError):
    """Raised for an action that a script may not take in a dry run."""


class AuditHook:
    """
    The audit hook. Like any audit hook in Python, it can't be removed again.

    Args:
        stage: records the refusals.
        port: the port of the JVM on this machine.
        sparks_folder: the folder through which PySpark passes values to the JVM.
    """

    def __init__(self, stage: Stage, port: int, sparks_folder: str) -> None:
        request = stage.request
        self._stage = stage
        self._port = port
        self._writable = tuple(os.path.realpath(each) + os.sep for each in (request.scratch, sparks_folder))
        own = (request.begins, str(Path(request.path).parent), *request.python_path, sys.prefix, sys.base_prefix)
        own_folders = (os.path.realpath(each) + os.sep for each in own)
        self._readable = (*own_folders, *self._writable, _OURS, *_READABLE)
        self._checks: dict[str, Callable[[tuple[Any, ...]], str | None]] = {
            "open": self._opened,
            **dict.fromkeys(_CHANGES, self._changed),
            **dict.fromkeys(_WITHIN, self._changed_within),
            **dict.fromkeys(("os.setxattr", "os.removexattr"), self._changed_attribute),
            **dict.fromkeys(_READS, self._read),
            **dict.fromkeys(_NETWORK, lambda given: self._reached("connect to", given)),
            "socket.bind": lambda given: self._reached("listen on", given),
            "ctypes.dlsym": _called_in_c,
            "sqlite3.connect": lambda given: None if given[0] in _IN_MEMORY else self._changed(given),
        }
        # Per thread: a check in one thread does not affect another.
        self._within = threading.local()

    def install(self) -> None:
        """Install the hook, for the rest of the process."""
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        check = self._checks.get(event)
        if check is None and event not in _PROCESSES:
            return
        if getattr(self._within, "check", False):
            return
        self._within.check = True
        try:
            wanted = f"start or end a process ({event})" if check is None else check(arguments)
            if wanted is not None:
                self._stage.problem("REFUSED", f"the script tried to {wanted}, which a dry run does not allow")
        finally:
            self._within.check = False
        if wanted is not None:
            raise RefusedError(f"openlineage-pyspark lineage does not let a script {wanted}")

    def _opened(self, arguments: tuple[Any, ...]) -> str | None:
        path, mode, flags = (*arguments, None, None, None)[:3]
        if isinstance(path, int):
            return None
        is_write = bool(flags & _WRITES) if isinstance(flags, int) else any(c in str(mode or "") for c in "wax+")
        if is_write:
            return self._changed((path,))
        found = _path(path)
        refused = self._refused(found)
        if refused is None and found is not None:
            self._stage.opens(found)
        return refused

    def _changed(self, arguments: tuple[Any, ...]) -> str | None:
        """Return a description of changing the path in the first argument, if that is refused; None if allowed."""
        path = _path(arguments[0] if arguments else None)
        if path is None or f"{path}{os.sep}".startswith(self._writable) or path == os.devnull:
            return None
        return f"write or remove {path}"

    def _changed_within(self, arguments: tuple[Any, ...]) -> str | None:
        """Do what `_changed` does; the last argument is the descriptor of the folder to which the path is relative."""
        path = arguments[0]
        if not isinstance(path, str | bytes | os.PathLike):
            return self._changed_attribute(arguments)
        return self._changed((os.path.join(folder_of(arguments[-1]), os.fsdecode(path)),))  # noqa: PTH118 (texts)

    def _changed_attribute(self, arguments: tuple[Any, ...]) -> str | None:
        """Do what `_changed` does; the first argument may be a descriptor, even of a file that is only read."""
        file = arguments[0]
        return self._changed((folder_of(file) if isinstance(file, int) else file,))

    def _read(self, arguments: tuple[Any, ...]) -> str | None:
        return self._refused(_path(arguments[0] if arguments else None))

    def _refused(self, path: str | None) -> str | None:
        """Return a description of reading a path, if that is refused; None if allowed."""
        if path is None or path.startswith(self._writable):
            return None
        if _SECRETS.search(path):
            return f"read {path}"
        return None if path.startswith(self._readable) or f"{path}{os.sep}" in self._readable else f"read {path}"

    def _reached(self, verb: str, arguments: tuple[Any, ...]) -> str | None:
        """Return a description of using an address, if that is refused; None if allowed."""
        address = next((each for each in arguments if isinstance(each, (tuple, str, bytes))), None)
        if isinstance(address, tuple) and len(address) >= 2:
            host, port = str(address[0]), address[1]
            # Libraries bind any port of this machine to find out what the system supports.
            if host in _LOCAL and port in (self._port, 0):
                return None
            return f"{verb} {host}:{port}"
        if isinstance(address, str) and address in _LOCAL:
            return None
        shown = address.decode(errors="replace") if isinstance(address, bytes) else address
        return f"{verb} {str(shown)[:200]}"


def _called_in_c(arguments: tuple[Any, ...]) -> str | None:
    """Return a description of calling a function of a compiled library, if that is refused; None if allowed."""
    name = str(arguments[1])
    return f"change a file ({name} of a compiled library)" if _ATTRIBUTES_IN_C.fullmatch(name) else None


def _path(value: Any) -> str | None:
    """Return a path without links; None for a value that is not a path, such as a descriptor."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    return os.path.realpath(value) if isinstance(value, str) and value else None
