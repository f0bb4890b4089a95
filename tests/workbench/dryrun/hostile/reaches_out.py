"""Wants everything that a script may not do, one after the other, and catches what it gets for it."""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
here = Path(__file__).parent


def wanted(action):
    try:
        action()
    except BaseException as problem:
        print(type(problem), file=sys.stderr)


os.remove(here / "victim.txt")
shutil.rmtree(here)
subprocess.run(["touch", str(here / "started")])
os.system(f"touch {here / 'started'}")
wanted(lambda: subprocess.Popen(["touch", str(here / "started")]))
wanted(lambda: os.execv("/bin/true", ["true"]))
wanted(lambda: os.posix_spawn("/bin/true", ["true"], {}))
wanted(os.fork)
wanted(lambda: socket.create_connection(("192.0.2.1", 80), 1))
wanted(lambda: socket.getaddrinfo("example.invalid", 80))
wanted(lambda: Path("~/.ssh/id_rsa").expanduser().read_text())
wanted(lambda: open("/proc/self/environ").read())
wanted(lambda: os.open(str(here / "written"), os.O_CREAT | os.O_WRONLY))
wanted(lambda: os.kill(os.getppid(), 9))
with open(here / "report.html", "w") as report:
    report.write("kept in the scratch folder")
assert open(here / "report.html").read() == "kept in the scratch folder"
spark.read.schema("a INT").parquet("in").write.parquet("out")
