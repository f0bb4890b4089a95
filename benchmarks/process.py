"""What Linux says of a process: the processor time that it took and the most memory that it held."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """
    The processor time, user and system, of all threads of a process; that of a zombie is still there.

    Args:
        pid: its id.
    """
    # The name, in brackets, may hold spaces: count from behind it (proc_pid_stat(5)).
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """
    The most memory that a process held so far (VmHWM), in MiB.

    Args:
        pid: its id.
    """
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"/proc/{pid}/status has no VmHWM: the process has ended")


def command(pid: int) -> str:
    """
    The name of the program that a process runs.

    Args:
        pid: its id.
    """
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
