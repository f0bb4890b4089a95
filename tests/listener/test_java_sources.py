"""The probe's sources are compiled as one, which holds all that they hold."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.listener.probe import class_cache, java_sources

ONE = "package a.b;\n\nimport java.util.List;\nimport x.One;\n\n/** Uses `import y;`. */\npublic final class A {}\n"
TWO = "// Why.\npackage a.b;\n\nimport java.util.List;\n\nfinal class B {}\n"


def test_sources_are_joined_below_one_package_and_each_import_once() -> None:
    assert java_sources.joined_sources([ONE, TWO]) == (
        "package a.b;\n"
        "import java.util.List;\nimport x.One;\n"
        "\n\n/** Uses `import y;`. */\npublic final class A {}\n"
        "// Why.\n\n\nfinal class B {}\n"
    )


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("package a.b;\nimport scala.collection.List;\n", "two classes are imported as List"),
        ("package a.c;\n", "2 packages"),
    ],
)
def test_sources_that_do_not_fit_are_refused(other: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        java_sources.joined_sources([ONE, other])


def test_the_unit_holds_every_class_of_every_source_and_one_public_class() -> None:
    unit = java_sources.compilation_unit()
    classes = r"^(?:public )?final class (\w+)"
    expected = [name for text in java_sources.sources().values() for name in re.findall(classes, text, re.MULTILINE)]

    assert re.findall(classes, unit, re.MULTILINE) == expected
    assert {name.removesuffix(".java") for name in java_sources.sources()} <= set(expected)
    assert re.findall(r"^public .*class (\w+)", unit, re.MULTILINE) == ["Probe"]
    assert unit.count("\npackage ") + unit.startswith("package ") == 1


@pytest.mark.parametrize("name", sorted(java_sources.sources()))
def test_a_change_of_any_source_gives_classes_of_another_key(name: str) -> None:
    texts = java_sources.sources()
    changed = {**texts, name: texts[name] + "// another\n"}
    units = [java_sources.joined_sources(sources.values()) for sources in (texts, changed)]

    assert len({class_cache.cache_key(unit, "OpenJDK", "17", "") for unit in units}) == 2


@pytest.mark.parametrize("name", sorted(java_sources.sources()))
def test_a_source_is_plain_java_in_short_lines(name: str) -> None:
    """An old Janino compiles the sources, so they have no generics, lambdas or `var`."""
    lines = java_sources.sources()[name].splitlines()

    assert [line for line in lines if len(line) > 120] == []
    assert [line for line in lines if re.search(r"<[A-Z]\w*>|->.*[;{]$|^\s*var ", line.split("//")[0])] == []
