"""The line that shows that a command is at work."""

from __future__ import annotations

import io
import os
import re
import select
import sys

import pytest
from openlineage_pyspark.command.progress import Progress

CLEARED = "\x1b[2K\r"


def test_it_is_shown_after_a_second_of_silence_and_gives_way_to_what_is_printed() -> None:
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, "upstream", clock=lambda: now[0])

    progress.draw()
    assert stream.getvalue() == ""
    now[0] = 3.4
    progress.draw()
    assert stream.getvalue() == "\x1b[2Kupstream is at work, 3 s\r"
    progress.printed("an answer\n")
    progress.draw()
    assert stream.getvalue().endswith(f"3 s\r{CLEARED}")


def test_it_waits_while_a_question_waits_for_its_answer() -> None:
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, "recover", clock=lambda: now[0])

    progress.printed("apply it? ")
    now[0] = 60.0
    progress.draw()

    assert stream.getvalue() == ""


@pytest.mark.slow
def test_a_command_shows_it_on_a_terminal_and_leaves_nothing_behind() -> None:
    pty = pytest.importorskip("pty")
    code = """if True:
        import sys, time
        from openlineage_pyspark.command.progress import working
        with working("it"):
            time.sleep(1.6)
            print("done")"""
    child, terminal = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-Ic", code])  # noqa: S606 (no shell is needed)
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.waitpid(child, 0)
    assert re.search(rb"it is at work, \d+ s\r\x1b\[2K\rdone\r\n$", shown)
