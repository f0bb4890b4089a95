"""A job with hooks of its own in every place where the listener has one; all that they are told is printed."""

import atexit
import os
import signal
import sys
import threading

from pyspark.sql import SparkSession

HEARD = """
package hooks;
public class Heard extends org.apache.spark.scheduler.SparkListener {
  private final java.util.concurrent.atomic.AtomicInteger jobs = new java.util.concurrent.atomic.AtomicInteger();
  private final java.util.concurrent.atomic.AtomicInteger queries = new java.util.concurrent.atomic.AtomicInteger();
  public void onJobStart(org.apache.spark.scheduler.SparkListenerJobStart event) { jobs.incrementAndGet(); }
  public void onOtherEvent(org.apache.spark.scheduler.SparkListenerEvent event) {
    if (event.getClass().getSimpleName().equals("SparkListenerSQLExecutionEnd")) queries.incrementAndGet();
  }
  public String toString() { return jobs.get() + " jobs, " + queries.get() + " queries"; }
}
"""


class Hook:
    """Prints what an exception hook is given."""

    def __call__(self, kind, problem, trace):
        print("hook", kind.__name__, problem, trace.tb_lineno > 0)


def terminated(number, _frame):
    print("handler", signal.Signals(number).name)


def excepthook_of_threads(told):
    print("thread hook", told.exc_type.__name__, told.exc_value)


def last():
    spark.range(4).write.json("late")
    print("atexit, before the session", sys.excepthook is hook, signal.getsignal(signal.SIGTERM) is terminated)


def listener():
    """Give a listener of the user's own, on the bus."""
    jvm = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(HEARD)
    heard = compiler.getClassLoader().loadClass("hooks.Heard").getConstructors()[0].newInstance(none)
    spark.sparkContext._jsc.sc().addSparkListener(heard)
    return heard


hook = sys.excepthook = Hook()
threading.excepthook = excepthook_of_threads
atexit.register(last)
signal.signal(signal.SIGTERM, terminated)
spark = SparkSession.builder.appName("hooks").getOrCreate()
none = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, 0)
own = listener()
atexit.register(print, "atexit, after the session")
signal.signal(signal.SIGUSR1, terminated)

spark.range(5).write.json("out")
print("rows", spark.read.json("out").count())
os.kill(os.getpid(), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
print("listener", own.toString())
raise ValueError("no such luck")
