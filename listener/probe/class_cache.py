"""
A cache of the probe's bytecode in the user's cache directory, kept from one application to the next.

Compiling the probe competes with the creation of the SparkContext for the processor. The bytecode runs in the user's
driver, so a file is used only if this user owns it, nobody else can access it, and its SHA-256 matches.
`spark.openlineage.classCache.enabled=false` turns the cache off.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

_KEPT = 8


def directory() -> Path | None:
    """
    Return the directory of the cache in the user's cache directory; None if there is no home or files have no owners.

    It has only the probe's classes: what else the package caches may be open to others.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return base / "openlineage-pyspark" / "probe" if base.is_absolute() and hasattr(os, "geteuid") else None


def cache_key(source: str, vm: str, version: str, class_path: str) -> str:
    """
    Return the name of the cache file for a set of classes; it changes with the source, the JVM and the jars.

    Args:
        source: source text of all the classes.
        vm: name of the JVM.
        version: version of the JVM.
        class_path: class path that they are compiled against. The size and modification time of its files count too.
    """
    digest = hashlib.sha256("\0".join((source, vm, version)).encode())
    for entry in class_path.split(os.pathsep):
        digest.update(f"\0{entry}\0{_stamp(Path(entry))}".encode())
    return digest.hexdigest()


def cached_classes(place: Path, name: str) -> dict[str, bytes] | None:
    """
    Return the classes of a file in the cache; None if there is no such file, or it can't be trusted.

    Args:
        place: directory of the cache.
        name: name of the file, as `cache_key` returns it.

    Returns:
        The bytecode by class name.
    """
    try:
        descriptor = os.open(place / name, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            if not (_is_own(place.lstat()) and _is_own(os.fstat(descriptor))):
                return None
            digest, _, content = file.read().partition(b"\n")
    except OSError:
        return None
    if digest != hashlib.sha256(content).hexdigest().encode():
        return None
    return {class_: base64.b64decode(text) for class_, text in json.loads(content).items()}


def store(place: Path, name: str, classes: Mapping[str, bytes]) -> None:
    """
    Write classes into the cache, and remove its oldest files. If the file can't be written, nothing is cached.

    Args:
        place: directory of the cache; created if it does not exist.
        name: name of the file, as `cache_key` returns it.
        classes: the bytecode by class name.
    """
    content = json.dumps({class_: base64.b64encode(code).decode() for class_, code in classes.items()}).encode()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(place.lstat()):
            return
        descriptor, made = tempfile.mkstemp(dir=place)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            Path(made).replace(place / name)
        finally:
            Path(made).unlink(missing_ok=True)
        newest = sorted(place.iterdir(), key=lambda kept: kept.stat().st_mtime_ns, reverse=True)
        for old in newest[_KEPT:]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def _stamp(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return "absent"
    return f"{found.st_size} {found.st_mtime_ns}"


def _is_own(found: os.stat_result) -> bool:
    """Return whether a file or directory belongs to this user, and nobody else can access it."""
    return found.st_uid == os.geteuid() and found.st_mode & 0o077 == 0
