"""What was read in the texts of statements is kept, and read again as it was."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.predict.caching.readings import kept_readings
from openlineage_pyspark.workbench.predict.from_text.reading import Known, read_statement

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = (
    "INSERT OVERWRITE TABLE out PARTITION (d = '1') SELECT a, sum(b) OVER (PARTITION BY c) FROM nope WHERE e > 1",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.v.w = s.v WHEN NOT MATCHED THEN INSERT *",
    "SELECT a.*, CASE WHEN b.x THEN md5(b.y) END AS k FROM one a JOIN two b USING (id) GROUP BY ALL",
    "FROM a INSERT INTO b SELECT x INSERT INTO c SELECT y",
    "no statement (",
    "CREATE TABLE t (a INT, b STRING)",
)
KNOWN = Known({"one": ("id", "q")}, {"nope": {"c", "a"}})


@pytest.mark.parametrize("text", TEXTS)
def test_a_kept_reading_is_the_reading(tmp_path: Path, text: str) -> None:
    expected = [read_statement(text, known) for known in (None, KNOWN)]
    for _ in range(2):
        with kept_readings(tmp_path) as read:
            assert [read(text, known, "") for known in (None, KNOWN)] == expected
    with sqlite3.connect(tmp_path / "answers.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM readings").fetchone() == (2,)
        connection.execute("UPDATE readings SET document = x'00'")
    connection.close()
    with kept_readings(tmp_path) as read:
        assert read(text, None, "") == expected[0]


@pytest.mark.slow
def test_a_kept_reading_needs_no_parser(tmp_path: Path) -> None:
    asked = f"""
import sys
from pathlib import Path
from openlineage_pyspark.workbench.predict.caching.readings import kept_readings
with kept_readings(Path({str(tmp_path)!r})) as read:
    read({TEXTS[0]!r}, None, "")
print("sqlglot" in sys.modules)
"""
    told = [subprocess.run([sys.executable, "-Ic", asked], capture_output=True, check=True, text=True) for _ in "ab"]
    assert [each.stdout for each in told] == ["True\n", "False\n"]


def test_without_a_folder_nothing_is_kept() -> None:
    with kept_readings(None) as read:
        assert read is read_statement
