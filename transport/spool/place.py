"""Where spools are: one directory for each application, with a lock that its owner holds while it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path

DATABASE = "events.sqlite"
LOCK = "lock"
UNREADABLE = ".unreadable"
"""Suffix of the name of a directory whose database could not be read."""

# Suffix of the name of a directory that is being deleted.
_REMOVED = ".removed"

# The directories that this process holds, with the descriptor of the lock. A POSIX lock does not exclude its own
# process, and is lost as soon as the process closes any descriptor of the file.
_HELD: dict[Path, int] = {}
_mutex = threading.Lock()


class SpoolError(Exception):
    """
    The spool can't be used.

    Args:
        message: what failed, where, and why.
        damaged: whether the database is damaged, so that trying again is of no use.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


def default_root() -> Path:
    """
    Return the spool's root for when none is configured: below `$XDG_STATE_HOME`, else `~/.local/state`.

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
    """Return the directories of this user's applications below a spool's root, oldest first."""
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
    """
    Lock a directory for this process.

    Args:
        directory: the directory.
        new: whether there is no database in it yet.

    Returns:
        False if a process holds it already, or it is gone.

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
        # Its owner was removing it at that moment.
        os.close(descriptor)
        return False
    _HELD[directory] = descriptor
    return True


def release(directory: Path) -> None:
    """Unlock a directory; do nothing if this process does not hold it."""
    with _mutex:
        descriptor = _HELD.pop(directory, None)
        if descriptor is not None:
            os.close(descriptor)


def holds(directory: Path) -> bool:
    """Return whether this process holds a directory."""
    return directory in _HELD


def is_held(directory: Path) -> bool:
    """Return whether any process holds a directory."""
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
    """Delete a directory that this process holds; rename it first, so that nobody opens it in the meantime."""
    doomed = directory.with_name(directory.name + _REMOVED)
    with contextlib.suppress(OSError):
        directory.rename(doomed)
        for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK):
            (doomed / name).unlink(missing_ok=True)
        doomed.rmdir()
