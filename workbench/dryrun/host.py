"""
The process of the JVM in which several scripts run, one after the other: it has a Spark without data.

It writes one line, with the port and the secret of its gateway, and ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.predict.session import throw_away_session


def main() -> None:
    """Run the JVM; the arguments are the file of Spark's properties, and the descriptor for the line."""
    conf, out = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2])
    try:
        with throw_away_session(conf) as spark:
            found = spark.sparkContext._gateway.gateway_parameters
            _tell(out, {"port": int(found.port), "secret": str(found.auth_token)})
            sys.stdin.buffer.read()
            # The JVM ends with its group.
            os._exit(0)
    except LineageError as problem:
        _tell(out, {"failed": str(problem)})


def _tell(out: int, line: dict[str, object]) -> None:
    os.write(out, f"{json.dumps(line)}\n".encode())
    os.close(out)


if __name__ == "__main__":
    main()
