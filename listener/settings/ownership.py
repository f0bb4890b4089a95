"""Whether a configuration file that nobody names is this user's own, so that nobody else can put keys into it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_ACCESS_LIST = "system.posix_acl_access"


def why_not_own(path: Path, file: os.stat_result) -> str:
    """
    Return why somebody else than this user and root may have made or changed a file; nothing if nobody may.

    A file that is only found decides where lineage goes and which code sends it. So it counts only if all that leads to
    it is this user's or root's: the file, the folder that holds it, each link on the path, and each folder above.
    Nobody else may write the file and its folder. Folders above may have the sticky bit (`/tmp`), because then nobody
    else can rename what is in them.
    """
    if not hasattr(os, "geteuid"):
        return ""
    try:
        return _problem(path, file) or next(_problems_above(path), "")
    except OSError as problem:
        return f"is in a place whose owner is unknown ({problem.strerror})"


def _problems_above(path: Path) -> Iterator[str]:
    seen: set[Path] = set()
    paths = [path.absolute()]
    holders = [path.resolve().parent.stat()]
    while paths:
        named = paths.pop()
        for step in (named, *named.parents):
            if step in seen:
                continue
            seen.add(step)
            status = step.lstat()
            if stat.S_ISLNK(status.st_mode):
                # Anyone who can replace the link has as much power as one who can replace the file.
                holders.append(step.parent.stat())
                paths.append(step.parent / step.readlink())
                if status.st_uid not in (os.geteuid(), 0):
                    yield f"is behind the link {step}, which belongs to another user"
            elif stat.S_ISDIR(status.st_mode):
                holds = any(os.path.samestat(status, holder) for holder in holders)
                if problem := _problem(step, status, sticky=not holds):
                    yield f"is in {step}, which {problem}"


def _problem(path: Path, status: os.stat_result, *, sticky: bool = False) -> str:
    """Return why somebody else may write a file or folder; in a sticky folder, only its owner can rename a file."""
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    others = stat.S_IWOTH if _is_private(path, status.st_gid) else stat.S_IWOTH | stat.S_IWGRP
    if sticky and status.st_mode & stat.S_ISVTX:
        return ""
    return "can be written by others (chmod go-w)" if status.st_mode & others else ""


def _is_private(path: Path, group: int) -> bool:
    """Return whether a group is the one of its name that many systems make for each user, and no list adds others."""
    import grp
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
        # The bits of the group are then those of everybody on the list.
        has_list = hasattr(os, "listxattr") and _ACCESS_LIST in os.listxattr(path)
    except (KeyError, OSError):
        return False
    return found.gr_name == name and {*found.gr_mem} <= {name} and not has_list
