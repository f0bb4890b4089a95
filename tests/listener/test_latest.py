"""The memory of the latest values."""

from __future__ import annotations

from openlineage_pyspark.listener.latest import Latest


def test_the_value_that_was_put_first_is_forgotten_and_one_that_is_put_again_is_not() -> None:
    latest: Latest[str, int] = Latest(2)
    latest.put("a", 1)
    latest.put("b", 2)
    latest.put("a", 3)

    latest.put("c", 4)

    assert list(latest.items()) == [("a", 3), ("c", 4)]
