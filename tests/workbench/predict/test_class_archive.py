"""The archive of the classes that Spark's JVM loads."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.predict.class_archive import ClassArchive, class_archive


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    (folder := tmp_path / "jars").mkdir()
    (folder / "spark.jar").write_bytes(b"1")
    return folder


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a Java 17."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(mode=0o755)
    (home / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="17.0.15"\n')
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home


def jvm(code: str) -> subprocess.Popen[bytes]:
    """Start a process that runs some code when its standard input ends, as the JVM writes its archive then."""
    return subprocess.Popen([sys.executable, "-c", f"import sys; sys.stdin.read(); {code}"], stdin=subprocess.PIPE)


def made(archive: ClassArchive) -> Path:
    """Return the file that the JVM is to make."""
    return Path(archive.options[1].partition("=")[2])


def written(folder: Path, jars: Path, purpose: str) -> Path:
    archive = class_archive(folder, jars, purpose)
    assert archive is not None
    archive.write(jvm(f"open({str(made(archive))!r}, 'w').write('classes')"))
    return archive.path


@pytest.mark.usefixtures("java")
def test_the_first_jvm_makes_the_archive_and_the_next_one_uses_it(tmp_path: Path, jars: Path) -> None:
    path = written(tmp_path / "cache", jars, "sql")
    assert [each.name for each in (tmp_path / "cache").iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    again = class_archive(tmp_path / "cache", jars, "sql")
    assert again == ClassArchive(path, is_made=False)
    assert again.options == ("-Xlog:all=off:stdout", f"-XX:SharedArchiveFile={path}")


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"])
@pytest.mark.parametrize("option", ["-XX:SharedArchiveFile=/a.jsa", "-XX:ArchiveClassesAtExit=/a.jsa", "-Xshare:off"])
def test_no_archive_is_used_beside_one_that_the_environment_names(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch, variable: str, option: str
) -> None:
    monkeypatch.setenv(variable, f"-Dx=y {option}")
    assert class_archive(tmp_path / "cache", jars, "sql") is None
    monkeypatch.setenv(variable, "-Dx=y")
    assert class_archive(tmp_path / "cache", jars, "sql") is not None


@pytest.mark.usefixtures("java")
def test_another_purpose_and_other_jars_have_another_archive(tmp_path: Path, jars: Path, java: Path) -> None:
    paths = {written(tmp_path / "cache", jars, "sql"), written(tmp_path / "cache", jars, "scripts")}
    (jars / "spark.jar").write_bytes(b"22")
    paths.add(written(tmp_path / "cache", jars, "sql"))
    (java / "release").write_text('JAVA_VERSION="21"\n')
    paths.add(written(tmp_path / "cache", jars, "sql"))
    assert len(paths) == 4
    assert {*(tmp_path / "cache").iterdir()} == paths


@pytest.mark.usefixtures("java")
def test_archives_that_were_not_used_for_the_longest_time_are_removed(tmp_path: Path, jars: Path) -> None:
    folder = tmp_path / "cache"
    paths = []
    for number in range(5):
        paths.append(written(folder, jars, str(number)))
        os.utime(paths[-1], (1000 + number, 1000 + number))
    (foreign := folder / "mine.jsa").touch()
    (part := folder / "spark-classes-0.jsa.1.part").touch()
    os.utime(part, (0, 0))
    # The first one was removed when the fifth was written; now it is written again, and the second one is the oldest.
    assert not paths[0].exists()
    assert written(folder, jars, "0") == paths[0]
    assert {*folder.iterdir()} == {paths[0], *paths[2:], foreign}


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("code", ["pass", "sys.exit(1)"])
def test_a_jvm_that_writes_nothing_leaves_nothing(tmp_path: Path, jars: Path, code: str) -> None:
    archive = class_archive(tmp_path / "cache", jars, "sql")
    assert archive is not None
    archive.write(jvm(code))
    assert [*(tmp_path / "cache").iterdir()] == []


@pytest.mark.usefixtures("java")
def test_a_jvm_that_is_given_up_leaves_no_part(tmp_path: Path, jars: Path) -> None:
    archive = class_archive(tmp_path / "cache", jars, "sql")
    assert archive is not None
    made(archive).write_bytes(b"a part")
    process = jvm("pass")
    archive.give_up(process)
    assert process.returncode == -9
    assert [*(tmp_path / "cache").iterdir()] == []


@pytest.mark.usefixtures("java")
def test_a_folder_that_becomes_read_only_costs_the_archive_alone(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    archive = class_archive(tmp_path / "cache", jars, "sql")
    path = written(tmp_path / "cache", jars, "scripts")
    assert archive is not None
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    archive.write(jvm("pass"))
    assert class_archive(tmp_path / "cache", jars, "sql") is None
    assert class_archive(tmp_path / "cache", jars, "scripts") == ClassArchive(path, is_made=False)


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("is_there", [True, False])
def test_what_others_can_write_is_not_used(tmp_path: Path, jars: Path, *, is_there: bool) -> None:
    """An archive holds code, which runs as this user."""
    folder = tmp_path / "cache"
    changed = written(folder, jars, "sql") if is_there else folder
    changed.chmod(0o777)
    assert class_archive(folder, jars, "sql") is None


@pytest.mark.parametrize("release", ['JAVA_VERSION="11.0.2"', 'JAVA_VERSION="1.8.0_292"', "", "JAVA_VERSION=x"])
def test_a_java_without_such_archives_gets_none(tmp_path: Path, jars: Path, java: Path, release: str) -> None:
    (java / "release").write_text(release)
    assert class_archive(tmp_path / "cache", jars, "sql") is None


def test_a_java_whose_version_is_not_known_gets_none(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert class_archive(tmp_path / "cache", jars, "sql") is None
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert class_archive(tmp_path / "cache", jars, "sql") is None


@pytest.mark.usefixtures("java")
def test_a_folder_with_a_space_gets_none_since_options_of_java_are_divided_there(tmp_path: Path, jars: Path) -> None:
    assert class_archive(tmp_path / "a cache", jars, "sql") is None
