"""Paths with wildcards, of Python's `glob` and of Spark's readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.dryrun.script.patterns import has_wildcards, is_matched, may_overlap
from openlineage_pyspark.workbench.dryrun.script.places import data_place
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.script.stage import Stage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "pattern", "deep", "expected"),
    [
        ("/in/a.csv", "/in/*.csv", False, True),
        ("/in/2026/a.csv", "/in/*.csv", False, False),
        ("/in/2026", "/in/*", False, True),
        ("/in/2026/a.csv", "/in/*/[ab].csv", False, True),
        ("/in/.hidden", "/in/*", False, False),
        ("/in/.hidden", "/in/.*", False, True),
        ("/in/a/b/c.csv", "/in/**/*.csv", True, True),
        ("/in/c.csv", "/in/**/*.csv", True, True),
        ("/in/a/b/c.csv", "/in/**/*.csv", False, False),
        ("/in/a/c.csv", "/in/**/*.csv", False, True),
        ("/in", "/in/**", True, True),
        ("/in/a/b", "/in/**", True, True),
        ("/in/[a].csv", "/in/[a].csv", False, True),
    ],
)
def test_a_pattern_of_python_matches_as_glob_does(path: str, pattern: str, deep: object, expected: object) -> None:
    assert is_matched(path, pattern, deep=bool(deep)) is expected


@pytest.mark.parametrize(
    ("known", "read", "expected"),
    [
        ("/in/a.csv", "/in/*.csv", True),
        ("/in/2026/a.csv", "/in/*", True),
        ("/in/2026", "/in/*/*.csv", True),
        ("/other/a.csv", "/in/*.csv", False),
        ("/in", "/in/*.csv", False),
        ("/in/2024/a", "/in/{2025,2026}/*", False),
        ("/in/2026/a", "/in/{2025,2026}/*", True),
        ("/in/2026/a", "/in/{2025,202{6,7}}", True),
        ("/in/b", "/in/[^b]", False),
        ("/in/*/orders", "/in/2026/orders", True),
        ("/in/*/orders", "/in/2026/rates", False),
        ("/in/*/orders", "/in/*/orders", True),
    ],
)
def test_a_pattern_of_spark_finds_what_it_reads(known: str, read: str, expected: object) -> None:
    assert may_overlap(known, read) is expected


def test_a_stand_in_is_no_wildcard() -> None:
    assert [has_wildcards(each) for each in ("/in/{day}", "/in/{a,b}", "/in/x?", "/in/x")] == [False, True, True, False]


A, B = (("a", "INT"),), (("b", "INT"),)
PARTED = (("id", "INT"), ("Day", "DATE"))


@pytest.mark.parametrize(
    ("known", "read", "base", "columns"),
    [
        ({"s3://lake/in/a.csv": A, "s3://lake/in/b.csv": A}, "s3a://lake/in/*.csv", "", A),
        ({"s3://lake/in/a.csv": A, "s3://lake/in/b.csv": B}, "s3a://lake/in/*.csv", "", None),
        ({"s3://lake/in/a.csv": A, "s3://lake/in/b.csv": B}, "s3a://lake/in/a*", "", A),
        ({"s3://lake/*/in": A}, "s3a://lake/be/in", "", A),
        ({"s3://lake/*/in": A}, "s3a://lake/*/in", "", A),
        ({"s3://lake/*/in": PARTED}, "s3a://lake/be/in/day=2026-01-01", "", (("id", "INT"),)),
        ({"s3://lake/*/in": PARTED}, "s3a://lake/be/in/day=2026-01-01", "s3a://lake/be/in", PARTED),
        ({"file/in/orders": PARTED}, "/in/orders/day=*", "", (("id", "INT"),)),
        ({"file/in/orders": PARTED}, "/in/orders/day=*/*.parquet", "", (("id", "INT"),)),
        ({"file/in/orders": PARTED}, "/in/orders/day=*", "/in/orders", PARTED),
        ({"file/in/orders": PARTED}, "/in/orders", "", PARTED),
    ],
)
def test_files_that_a_pattern_reads_have_the_columns_that_they_share(
    tmp_path: Path, known: dict[str, tuple[tuple[str, str], ...]], read: str, base: str, columns: object
) -> None:
    here = str(tmp_path)
    request = ScriptRequest("job.py", f"{here}/job.py", "", (), here, here, here, columns=known)
    with (tmp_path / "records").open("wb") as out:
        place = data_place("parquet", {}, (read,), here)
        assert Stage(request, out.fileno()).columns_of(place, header=True, inferred=True, base=base) == columns
