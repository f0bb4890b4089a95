"""Breaks what the listener stands on, with a write before and after each time; the argument says what is broken."""

import ctypes
import gc
import socket
import sys
import threading
import time
from pathlib import Path

from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

LIMIT = 60
builder = SparkSession.builder.appName("breaks")


def write(session, name):
    session.range(5).selectExpr("id", "id * 2 AS twice").write.json(name)
    print(name, session.read.json(name).count())


def wait_until(reached):
    end = time.monotonic() + LIMIT
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(reached.__name__)
        time.sleep(0.02)


def kill_threads():
    """End each thread of the listener as nothing but the interpreter's own API can."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("openlineage")]
    print(len(threads), "threads of the listener", file=sys.stderr)
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))

    def all_are_dead():
        return not any(thread.is_alive() for thread in threads)

    # A thread that waits for a lock dies when it is woken: by the next write's events.
    write(spark, "woken")
    wait_until(all_are_dead)


def break_connections():
    """Shut every connection to the JVM but this thread's."""
    client = spark.sparkContext._gateway._gateway_client
    own = client.get_thread_connection()
    broken = 0
    for found in gc.get_objects():
        if type(found) is ClientServerConnection and found is not own and found.socket is not None:
            found.socket.shutdown(socket.SHUT_RDWR)
            broken += 1
    print(broken, "connections broken", file=sys.stderr)


def stop_while_it_writes():
    """Stop the session in the middle of a write of another thread."""
    session = SparkSession.getActiveSession()

    def slowly():
        try:
            session.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L)").write.json("never")
        except Py4JError:
            print("the write failed")

    writer = threading.Thread(target=slowly)
    writer.start()

    def a_task_runs():
        return bool(session.sparkContext.statusTracker().getActiveStageIds())

    wait_until(a_task_runs)
    session.stop()
    writer.join(LIMIT)
    print("rows", len(list(Path("never").glob("part-*"))))


BREAKS = {"threads": kill_threads, "connections": break_connections, "stop": stop_while_it_writes}

spark = builder.getOrCreate()
write(spark, "before")
BREAKS[sys.argv[1]]()
spark = builder.getOrCreate()
write(spark, "after")
write(spark, "last")
print("end")
