"""Bytecode is kept for the next application, and believed only where nobody else can have touched it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.listener.probe import class_cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLASSES = {"a.B": bytes(range(256)), "a.B$C": b""}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a cache with classes under the name `k`."""
    made = tmp_path / "home" / "cache"
    class_cache.store(made, "k", CLASSES)
    return made


def test_what_was_stored_is_loaded(place: Path) -> None:
    assert class_cache.cached_classes(place, "k") == CLASSES
    assert class_cache.cached_classes(place, "other") is None


def test_the_cache_is_its_owners_alone(place: Path) -> None:
    assert [path.name for path in place.iterdir()] == ["k"]
    assert (place.stat().st_mode & 0o777, (place / "k").stat().st_mode & 0o777) == (0o700, 0o600)


def rewritten(place: Path) -> None:
    content = (place / "k").read_bytes()
    (place / "k").write_bytes(content[:-10] + b"x" + content[-9:])


def cut(place: Path) -> None:
    (place / "k").write_bytes((place / "k").read_bytes()[:100])


def emptied(place: Path) -> None:
    (place / "k").write_bytes(b"")


def open_to_others(place: Path) -> None:
    (place / "k").chmod(0o644)


def in_an_open_directory(place: Path) -> None:
    place.chmod(0o770)


def linked(place: Path) -> None:
    (place / "k").rename(place.parent / "elsewhere")
    (place / "k").symlink_to(place.parent / "elsewhere")


@pytest.mark.parametrize("change", [rewritten, cut, emptied, open_to_others, in_an_open_directory, linked])
def test_a_file_that_may_have_been_touched_is_not_believed(place: Path, change: Callable[[Path], None]) -> None:
    change(place)

    assert class_cache.cached_classes(place, "k") is None


@pytest.mark.parametrize("change", [rewritten, cut, emptied, open_to_others, linked])
def test_what_is_not_believed_is_replaced(place: Path, change: Callable[[Path], None]) -> None:
    change(place)
    class_cache.store(place, "k", CLASSES)

    assert class_cache.cached_classes(place, "k") == CLASSES


def test_a_directory_that_is_open_to_others_is_not_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    class_cache.store(tmp_path, "k", CLASSES)

    assert list(tmp_path.iterdir()) == []


def test_classes_are_kept_beside_what_else_is_cached_and_open_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build from a clone keeps the page's library there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = class_cache.directory()
    assert place is not None
    (place.parent / "build").mkdir(parents=True)
    place.parent.chmod(0o755)

    class_cache.store(place, "k", CLASSES)

    assert class_cache.cached_classes(place, "k") == CLASSES


def test_a_place_that_can_not_be_written_costs_the_cache_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    class_cache.store(tmp_path / "file" / "below", "k", CLASSES)

    assert class_cache.cached_classes(tmp_path / "file" / "below", "k") is None


def test_the_oldest_make_room(place: Path) -> None:
    for number in range(20):
        class_cache.store(place, f"k{number:02}", CLASSES)
        os.utime(place / f"k{number:02}", (number, number))

    class_cache.store(place, "last", CLASSES)
    assert sorted(path.name for path in place.iterdir())[-3:] == ["k18", "k19", "last"]
    assert len(list(place.iterdir())) == 8


def test_a_key_changes_with_the_source_the_jvm_and_the_jars(tmp_path: Path) -> None:
    jar = tmp_path / "spark.jar"
    jar.write_bytes(b"one")
    os.utime(jar, (1, 1))
    path = os.pathsep.join([str(jar), str(tmp_path / "absent.jar")])
    key = class_cache.cache_key("class A {}", "OpenJDK", "17", path)

    assert key == class_cache.cache_key("class A {}", "OpenJDK", "17", path)
    others = {
        class_cache.cache_key("class A { }", "OpenJDK", "17", path),
        class_cache.cache_key("class A {}", "J9", "17", path),
        class_cache.cache_key("class A {}", "OpenJDK", "21", path),
        class_cache.cache_key("class A {}", "OpenJDK", "17", str(jar)),
    }
    os.utime(jar, (1, 2))
    others.add(class_cache.cache_key("class A {}", "OpenJDK", "17", path))
    jar.write_bytes(b"three")
    os.utime(jar, (1, 1))
    others.add(class_cache.cache_key("class A {}", "OpenJDK", "17", path))
    assert len(others - {key}) == 6


@pytest.mark.parametrize(("base", "expected"), [("/caches", "/caches/openlineage-pyspark/probe"), ("relative", None)])
def test_the_place_is_the_users_cache(monkeypatch: pytest.MonkeyPatch, base: str, expected: str | None) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    found = class_cache.directory()

    assert (None if found is None else str(found)) == expected


def test_without_xdg_the_place_is_below_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert class_cache.directory() == tmp_path / ".cache" / "openlineage-pyspark" / "probe"
