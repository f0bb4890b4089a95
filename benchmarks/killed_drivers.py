"""
Count what kill -9 of a whole driver loses: jobs of small writes, each killed at a random moment, then replayed.

The receiver fails one request in ten until the kill. Each job reports when a write has returned; in the end, the
write's START and COMPLETE must be at the receiver. Those of the very last write may be missing, because Spark tells its
listeners about the end of a write a moment after the write has returned.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import requests
from delivery import receiver, report

_HERE = Path(__file__).resolve().parent
_CONF = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.openlineage.transport.type": "http"}
_JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("killed").getOrCreate()
for number in range(1000):
    spark.range(10).write.parquet(f"out/{number}")
    print(number, flush=True)
"""


def kill_one(folder: Path, seconds: float) -> Counter[str]:
    """
    Start a driver, kill it some time after its first write, replay what it left, and count.

    Args:
        folder: a folder for this driver only.
        seconds: the time from the first write to the kill.
    """
    (folder / "job.py").write_text(_JOB)
    with receiver() as url:
        requests.post(f"{url}/fate", data="0.1", timeout=10)
        conf = _CONF | {
            "spark.openlineage.transport.url": url,
            "spark.openlineage.spool.path": str(folder / "spool"),
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}",
        }
        bin_folder = Path(sys.executable).parent
        options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        with subprocess.Popen(
            [str(bin_folder / "spark-submit"), *options, "job.py"],
            cwd=folder,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ) as driver:
            if driver.stdout is None:
                raise RuntimeError("the driver has no output")
            # Spark's own wrapper may print something first.
            printed = [driver.stdout.readline()]
            while printed[-1] and not printed[-1].strip().isdigit():
                printed.append(driver.stdout.readline())
            time.sleep(seconds)
            # Both Java and Python.
            os.killpg(driver.pid, signal.SIGKILL)
            printed += driver.stdout.read().split("\n")[:-1]
            returned = [int(line) for line in printed if line.strip().isdigit()]
        requests.post(f"{url}/fate", data="0", timeout=10)
        replay = [str(bin_folder / "openlineage-pyspark"), "replay", "--spool", str(folder / "spool"), "--to", url]
        # If there is nothing to replay, there may be no spool.
        subprocess.run(replay, capture_output=True, check=False, timeout=600)
        outputs = requests.get(f"{url}/outputs", timeout=60).json()
        return judge(returned, outputs, report(url))


def judge(returned: list[int], outputs: dict[str, str], taken: list[list[str]]) -> Counter[str]:
    """
    Count what is missing and what is wrong.

    Args:
        returned: the numbers of the writes that had returned.
        outputs: the dataset that each run writes.
        taken: the events that the receiver got.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    seen = set()
    for run, kind, identity in taken:
        if identity not in seen:
            seen.add(identity)
            kinds[run].append(kind)
    of_write = {int(Path(name).name): kinds[run] for run, name in outputs.items()}
    missing = {number: 2 - len(of_write.get(number, [])) for number in returned}
    last = missing.pop(returned[-1])
    return Counter(
        {
            "events": len(seen),
            "writes returned": len(returned),
            "missing of the last one": last,
            "lost": sum(missing.values()),
            "out of order": sum(each not in (["START"], ["START", "COMPLETE"]) for each in kinds.values()),
            "repeats": len(taken) - len(seen),
        }
    )


def main() -> int:
    """Kill drivers, print the sums as JSON, and return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20, help="how many drivers are killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    draw = random.Random(options.seed)  # noqa: S311 - moments, not secrets
    total: Counter[str] = Counter()
    for _ in range(options.moments):
        folder = Path(tempfile.mkdtemp(prefix="killed-"))
        try:
            found = kill_one(folder, draw.uniform(0.0, 8.0))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps(found), file=sys.stderr, flush=True)
        total.update(found)
    print(json.dumps({"moments": options.moments, **total}))
    return int(bool(total["lost"] or total["out of order"]))


if __name__ == "__main__":
    sys.exit(main())
