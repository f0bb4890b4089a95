"""Check whether a configuration file that is not named explicitly is this user's own: no other user may write it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_ACCESS_LIST = "system.posix_acl_access"


def why_not_own(path: Path, file: os.stat_result) -> str:
    """
    Return why a user other than this one and root may have created or changed a file; empty if none may.

    A file that nobody names decides where lineage goes and which code sends it. So it is read only if everything on the
    way to it belongs to this user or to root: the file, its folder, each link on the path, and each folder above. No
    other user may write the file and its folder. Folders above may have the sticky bit (`/tmp`), because then no other
    user can rename their entries.
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
    """Return why another user may write a file or folder; in a sticky folder, only its owner can rename a file."""
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    others = stat.S_IWOTH if _is_private(path, status.st_gid) else stat.S_IWOTH | stat.S_IWGRP
    if sticky and status.st_mode & stat.S_ISVTX:
        return ""
    return "can be written by others (chmod go-w)" if status.st_mode & others else ""


def _is_private(path: Path, group: int) -> bool:
    """Return whether a group is the private one that many systems create for a user, and no access list adds others."""
    import grp
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
        # With an access list, the group's bits apply to everyone on it.
        has_list = hasattr(os, "listxattr") and _ACCESS_LIST in os.listxattr(path)
    except (KeyError, OSError):
        return False
    return found.gr_name == name and {*found.gr_mem} <= {name} and not has_list
