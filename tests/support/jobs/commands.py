"""
Calls commands one after the other in one process, so that those which ask a Spark share its JVM.

Each line of the standard input is the JSON of one call: its `folder`, and its `arguments`. What the command writes gets
into the files `stdout` and `stderr` of the folder `out`, and the exit code, as a line, to the standard output.
"""

import contextlib
import json
import os
import sys
from pathlib import Path

from openlineage_pyspark.command.main import main

# What the JVM writes to its standard output does not get between the codes.
codes = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
for line in sys.stdin:
    call = json.loads(line)
    os.chdir(call["folder"])
    out = Path(call["out"])
    with (
        (out / "stdout").open("w", encoding="utf-8") as told,
        (out / "stderr").open("w", encoding="utf-8") as said,
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(said),
    ):
        try:
            code = main(call["arguments"])
        except SystemExit as end:
            code = end.code
    codes.write(f"{json.dumps(code)}\n")
    codes.flush()
