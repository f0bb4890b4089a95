"""
Let the kernel refuse what the audit hook can't see: compiled libraries write files and open connections by themselves.

Landlock is a part of Linux (since 5.13; connections: 6.7; signals: 6.12) by which a process gives up rights for good.
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The numbers of the system calls are the same on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_FOR_VERSION = 1
_BENEATH_PATH, _OF_PORT = 1, 2
_NO_NEW_PRIVILEGES = 38
# EXECUTE, WRITE_FILE, REMOVE_DIR, REMOVE_FILE, and the seven MAKE_*. The kernel does not refuse to read.
_EXECUTE, _WRITE_FILE = 1 << 0, 1 << 1
_REMOVE_FILE, _MAKE_FILE = 1 << 5, 1 << 8
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_TRUNCATE = 1 << 14
# The version of the kernel's interface that knows a right -> the right: to link between folders, and to truncate.
_LATER_CHANGES = {2: 1 << 13, 3: _TRUNCATE}
_MEMORY = "/dev/shm"  # noqa: S108 (not for temporary files of ours)
_BIND, _CONNECT = 1 << 0, 1 << 1
_SIGNALS = 1 << 1
_KNOWS_CONNECTIONS, _KNOWS_SIGNALS = 4, 6


def restrict_this_thread(writable: Iterable[str], port: int) -> bool:
    """
    Forbid this thread, and the threads that it starts, to write, to connect, to start programs and to end others.

    It is for good.

    Args:
        writable: the only folders in which files may be written or removed.
        port: the only port to which a TCP connection may be opened, on any machine: the kernel knows no addresses.

    Returns:
        Whether the kernel now refuses these: only Linux can, and a container may forbid the request.
    """
    if not sys.platform.startswith("linux"):
        return False
    version = _call(_CREATE_RULESET, None, 0, _ASK_FOR_VERSION)
    if version < 1:
        return False
    changes = _CHANGES | sum(right for since, right in _LATER_CHANGES.items() if version >= since)
    handled = struct.pack("<Q", changes | _EXECUTE)
    if version >= _KNOWS_CONNECTIONS:
        handled += struct.pack("<Q", _BIND | _CONNECT)
    if version >= _KNOWS_SIGNALS:
        handled += struct.pack("<Q", _SIGNALS)
    rules = _call(_CREATE_RULESET, handled, len(handled), 0)
    if rules < 0:
        return False
    try:
        for folder in writable:
            _allow_beneath(rules, folder, changes)
        # Only these rights can be granted for a file.
        _allow_beneath(rules, os.devnull, (_WRITE_FILE | _TRUNCATE) & changes)
        # Pools of threads have semaphores, which are files in memory.
        if os.path.ismount(_MEMORY):
            _allow_beneath(rules, _MEMORY, (_WRITE_FILE | _REMOVE_FILE | _MAKE_FILE | _TRUNCATE) & changes)
        if version >= _KNOWS_CONNECTIONS:
            # Libraries bind any port of this machine to find out what the system supports.
            for of_port, right in ((port, _CONNECT), (0, _BIND)):
                _call(_ADD_RULE, rules, _OF_PORT, struct.pack("<QQ", right, of_port), 0)
        ctypes.CDLL(None).prctl(*map(ctypes.c_ulong, (_NO_NEW_PRIVILEGES, 1, 0, 0, 0)))
        return _call(_RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _allow_beneath(rules: int, path: str, rights: int) -> None:
    """Add a rule that grants rights to everything beneath a path."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _call(_ADD_RULE, rules, _BENEATH_PATH, struct.pack("<Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Call the kernel, and return its answer, which is negative if it refuses."""
    # By default, ctypes passes a number as a C int, which is only a part of a register.
    whole = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *whole))
