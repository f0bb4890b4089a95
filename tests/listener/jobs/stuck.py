"""Forks processes that hang in C and terminates them, and then hangs in C itself, all without giving up the GIL."""

import ctypes
import multiprocessing
import os
import signal
import time
from pathlib import Path

from pyspark.sql import SparkSession

c = ctypes.CDLL(None)
# Its functions keep the GIL while they run.
c_with_gil = ctypes.PyDLL(None)
forks = multiprocessing.get_context("fork")


def exit_code(process):
    time.sleep(0.5)
    process.terminate()
    process.join(30)
    return process.exitcode


spark = SparkSession.builder.appName("stuck").getOrCreate()
spark.range(3).count()

process = forks.Process(target=c.pause)
process.start()
print("by a fork:", exit_code(process))

child = c_with_gil.fork()
if child == 0:
    c_with_gil.pause()
time.sleep(0.5)
os.kill(child, signal.SIGTERM)
print("by a fork in C:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

process = forks.Process(target=c_with_gil.pause)
process.start()
print("with the GIL held:", exit_code(process), flush=True)

# The listener has nothing to tell any more: from now on it can't run.
time.sleep(1)
Path("ready").touch()
c_with_gil.pause()
