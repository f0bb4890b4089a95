"""What a job has hooked into the interpreter and into Spark is called as it is without the listener."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.any_spark


@pytest.mark.long
def test_hooks_of_the_users_own_are_called_with_the_same_and_in_the_same_order(faults: Any) -> None:
    pair = faults.pair("hooks.py")

    assert pair.same()
    assert pair.heard.code == 1
    assert pair.heard.stdout.splitlines() == [
        "rows 5",
        "handler SIGTERM",
        "handler SIGUSR1",
        "thread hook ZeroDivisionError division by zero",
        pair.heard.stdout.splitlines()[4],
        "hook ValueError no such luck True",
        "atexit, after the session",
        "atexit, before the session True True",
    ]
    assert pair.heard.stdout.splitlines()[4].startswith("listener ")
    assert [event["eventType"] for event in pair.heard.application()] == ["START", "FAIL"]
    written = [event["outputs"][0]["name"].rpartition("/")[2] for event in pair.heard.queries()]
    assert written == ["out", "out", "late", "late"]
    assert pair.heard.events()[-1] == pair.heard.application()[-1]
