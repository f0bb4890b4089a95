"""Where spools lie: a directory for each application, and the lock that tells that its owner lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path

from openlineage_pyspark.transport.errors import DeliveryError

DATABASE = "events.sqlite"
LOCK = "lock"
UNREADABLE = ".unreadable"
"""What the name of a directory ends with once its database could not be read."""

# The same of one that is being deleted.
_REMOVED = ".removed"

# Directories that this process holds: a POSIX lock does not hold against its own process, and is lost when any
# descriptor of its file is closed there.
_HELD: dict[Path, int] = {}
_mutex = threading.Lock()


class SpoolError(DeliveryError):
    """The spool can't be used: what failed, where, and why.

    Args:
        message: that.
        damaged: whether the database is not what it should be, so that trying again is of no use.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


def default_root() -> Path:
    """Give the spool's root where none is configured: below `$XDG_STATE_HOME`, or `~/.local/state`.

    Raises:
        SpoolError: the user has no home.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError as exc:
        raise SpoolError(f"there is no home directory for it ({exc})") from exc
    return base / "openlineage-pyspark" / "spool"


def directories(root: Path) -> list[Path]:
    """Give the directories of applications below a spool's root that belong to this user, the oldest first."""
    try:
        found = [entry for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
        own = [entry for entry in found if entry.stat(follow_symlinks=False).st_uid == os.getuid()]
    except OSError:
        return []
    return sorted(
        Path(entry.path).absolute()
        for entry in own
        if not entry.name.endswith((UNREADABLE, _REMOVED)) and (Path(entry.path) / DATABASE).exists()
    )


def hold(directory: Path, *, new: bool = False) -> bool:
    """Lock a directory; False where somebody holds it already, or it is gone.

    Args:
        directory: the directory.
        new: whether there is no database in it yet.

    Raises:
        OSError: it can't be locked.
    """
    with _mutex:
        return directory not in _HELD and _lock(directory, new=new)


def _lock(directory: Path, *, new: bool) -> bool:
    try:
        descriptor = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    except OSError:
        os.close(descriptor)
        raise
    if not (new or (directory / DATABASE).exists()):
        # Its owner was just removing it.
        os.close(descriptor)
        return False
    _HELD[directory] = descriptor
    return True


def release(directory: Path) -> None:
    """Unlock a directory that this process holds; for any other it does nothing."""
    with _mutex:
        descriptor = _HELD.pop(directory, None)
        if descriptor is not None:
            os.close(descriptor)


def holds(directory: Path) -> bool:
    """Tell whether this process holds a directory."""
    return directory in _HELD


def is_held(directory: Path) -> bool:
    """Tell whether any process holds a directory."""
    with _mutex:
        return directory in _HELD or _is_locked(directory)


def _is_locked(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def remove(directory: Path) -> None:
    """Delete a directory that this process holds; under another name, so that nobody looks into it meanwhile."""
    doomed = directory.with_name(directory.name + _REMOVED)
    with contextlib.suppress(OSError):
        directory.rename(doomed)
        for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK):
            (doomed / name).unlink(missing_ok=True)
        doomed.rmdir()
