"""
The process of the JVM in which several scripts run, one after the other, in a Spark without data.

The process writes one line, with the port and the secret of its gateway, and ends when its standard input ends.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session


def main() -> None:
    """Run the JVM; the arguments are a file with Spark's properties and our own, and the descriptor for the line."""
    given, out = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2])
    classes = None if given["classes"] is None else Path(given["classes"])
    try:
        with throw_away_session(given["conf"], classes=classes, purpose="scripts") as spark:
            found = spark.sparkContext._gateway.gateway_parameters
            _write_line(out, {"port": int(found.port), "secret": str(found.auth_token)})
            sys.stdin.buffer.read()
            if classes is None:
                # The JVM ends with its process group.
                os._exit(0)
    except (LineageError, OSError) as problem:
        _write_line(out, {"failed": str(problem)})


def _write_line(out: int, line: dict[str, object]) -> None:
    os.write(out, f"{json.dumps(line)}\n".encode())
    os.close(out)


if __name__ == "__main__":
    main()
