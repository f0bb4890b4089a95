"""Where spools are: one directory for each application, with a lock that its owner holds while it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
import time
from pathlib import Path

from openlineage_pyspark.errors import SpoolError

DATABASE = "events.sqlite"
LOCK = "lock"
UNREADABLE = ".unreadable"
"""Suffix of the name of a directory whose database could not be read."""

_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK)

# Suffix of the name of a directory that is being deleted.
_REMOVED = ".removed"

# A process that checks whether a directory is held locks it for a moment (`is_held`), so `hold` tries several times.
_ATTEMPTS = 5
_PAUSE_SECONDS = 0.02

# Device and inode of a lock file: the same whatever path leads to it.
_Identity = tuple[int, int]

# The directories that this process holds, with the descriptor and the identity of the lock. A POSIX lock does not
# exclude its own process, and is lost as soon as the process closes any descriptor of the file.
_HELD: dict[Path, tuple[int, _Identity]] = {}
_mutex = threading.Lock()


def default_root() -> Path:
    """
    Return the spool's root if none is configured: below `$XDG_STATE_HOME`, else `~/.local/state`.

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
    return [path for path in _own(root) if not path.name.endswith(UNREADABLE)]


def unreadable_directories(root: Path) -> list[Path]:
    """Return this user's directories that were set aside because their database was damaged, oldest first."""
    return [path for path in _own(root) if path.name.endswith(UNREADABLE)]


def _own(root: Path) -> list[Path]:
    try:
        found = list(root.absolute().iterdir())
    except OSError:
        return []
    return sorted(path for path in found if not path.name.endswith(_REMOVED) and _is_own(path))


def _is_own(directory: Path) -> bool:
    # Another process may be removing it at this moment.
    with contextlib.suppress(OSError):
        state = directory.lstat()
        return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and (directory / DATABASE).exists()
    return False


def bytes_of(directory: Path) -> int:
    """Return the bytes that a directory takes on disk, ignoring files that can't be inspected."""
    total = 0
    for name in _FILES:
        with contextlib.suppress(OSError):
            total += (directory / name).lstat().st_size
    return total


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
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        with _mutex:
            if _is_ours(directory):
                return False
            if _lock(directory, new=new):
                return True
    return False


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
    state = os.fstat(descriptor)
    _HELD[directory] = (descriptor, (state.st_dev, state.st_ino))
    return True


def _is_ours(directory: Path) -> bool:
    """Return whether this process holds a directory, by this path or by another that leads to it."""
    if directory in _HELD:
        return True
    try:
        state = (directory / LOCK).stat()
    except OSError:
        return False
    return any(held == (state.st_dev, state.st_ino) for _, held in _HELD.values())


def release(directory: Path) -> None:
    """Unlock a directory; do nothing if this process does not hold it."""
    with _mutex:
        held = _HELD.pop(directory, None)
        if held is not None:
            os.close(held[0])


def holds(directory: Path) -> bool:
    """Return whether this process holds a directory."""
    with _mutex:
        return _is_ours(directory)


def is_held(directory: Path) -> bool:
    """Return whether any process holds a directory."""
    with _mutex:
        return _is_ours(directory) or _is_locked(directory)


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
        for name in _FILES:
            (doomed / name).unlink(missing_ok=True)
        doomed.rmdir()
