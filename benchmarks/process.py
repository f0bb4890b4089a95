"""What Linux reports about a process: its processor time and its peak memory."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """
    Return the processor time in seconds, user and system, of all threads of a process; this works for a zombie too.

    Args:
        pid: the process id.
    """
    # The name, in parentheses, may contain spaces: count from after it (proc_pid_stat(5)).
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """
    Return the peak memory of a process so far (VmHWM), in MiB.

    Args:
        pid: the process id.
    """
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"/proc/{pid}/status has no VmHWM: the process has ended")


def command(pid: int) -> str:
    """
    Return the name of the program that a process runs.

    Args:
        pid: the process id.
    """
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
