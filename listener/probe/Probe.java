// The part of the listener that runs inside the driver's JVM. All its sources are compiled there with Janino, which
// every Spark ships, against whatever Spark and Scala are there: hence plain Java without generics or lambdas.
package openlineage.pyspark;

import com.codahale.metrics.Counter;
import java.io.IOException;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.sql.catalyst.catalog.DropTableEvent;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** Receives Spark's events, and keeps a record of each one that matters until Python takes it: see PROTOCOL.md. */
public final class Probe extends SparkListener {
  private final Vocabulary vocabulary;
  private final RecordQueue records;
  private final Executions executions;
  private final RddJobs rddJobs;
  private final TaskTotals totals = new TaskTotals();
  private final UnreadPieces unread = new UnreadPieces();
  private LastWords lastWords;

  public Probe(String table, int maxNodes, long maxBytes, long maxWaiting, boolean reads) {
    vocabulary = new Vocabulary(table, maxNodes, maxBytes);
    records = new RecordQueue(maxWaiting);
    executions = new Executions(vocabulary, reads);
    rddJobs = new RddJobs(vocabulary, reads);
  }

  /** Looks up running jobs in this context from now on, and reports how many events it drops from a queue. */
  public void watch(SparkContext context, String queue) {
    rddJobs.watch(context);
    Counter dropped = context.listenerBus().metrics().metricRegistry().counter("queue." + queue + ".numDroppedEvents");
    records.watch(dropped);
  }

  /** Keeps last words for a Python process from now on, in case it is killed: see `LastWords`. */
  public void speakFor(long python, String[] command, String kept, long seconds) throws IOException {
    lastWords = new LastWords(python, command, kept, seconds);
    Runtime.getRuntime().addShutdownHook(lastWords);
  }

  /** Replaces the last words; empty if there are none. */
  public void entrust(String words) {
    lastWords.set(words);
  }

  /** Returns the head of a batch of records: see `RecordQueue.take`. */
  public String take(long acknowledged, long waitMillis) throws InterruptedException, IOException {
    return records.take(acknowledged, waitMillis);
  }

  /** Returns whether an execution has not ended yet. */
  public boolean isRunning(long execution) {
    return Executions.isRunning(execution);
  }

  /** Returns one piece of the last batch; the first one is 0. */
  public String piece(int number) {
    return records.piece(number);
  }

  /** Makes a waiting `take` return at once. */
  public void wake() {
    records.wake();
  }

  /** Returns how many records were dropped because nobody took them. */
  public long lost() {
    return records.lost();
  }

  /** Returns whether answers of any length are sent at once from now on: see `Connections`. */
  public boolean sendAtOnce(Object server) {
    return Connections.sendAtOnce(server);
  }

  /** Returns the first piece of the encoding of a plan that is not being run, or all of it: see `UnreadPieces`. */
  public String encode(LogicalPlan plan, Object session, boolean whole) throws IOException {
    String encoded = DeepEncoding.of(vocabulary, session, plan, System.currentTimeMillis());
    return whole ? UnreadPieces.whole(encoded) : unread.first(encoded);
  }

  /** Returns another piece of an encoding; null if it was removed. */
  public String encoded(int number, int piece) {
    return unread.piece(number, piece);
  }

  /** Returns the analyzed plan of a statement that is not run; or its kind, if it is refused. */
  public Object analyzed(String statement, Object session) throws Exception {
    return Analysis.of(vocabulary, statement, session);
  }

  /** Returns the encoding of that plan, as `encode` does; if the statement is refused, no piece and its kind. */
  public String encodeStatement(String statement, Object session, boolean whole) throws Exception {
    Object analyzed = analyzed(statement, session);
    return analyzed instanceof String ? "0 0 " + analyzed : encode((LogicalPlan) analyzed, session, whole);
  }

  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof SparkListenerSQLExecutionStart) {
        SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
        if (!records.add(executions.start(start))) executions.forget(start.executionId());
      } else if (event instanceof SparkListenerSQLExecutionEnd) {
        SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
        long id = end.executionId();
        put(executions.end(end, totals.remove(id), totals.removeRdd(id)));
      } else if (event instanceof DropTableEvent) {
        put(dropped((DropTableEvent) event));
      } else {
        put(Streams.record(event));
      }
    } catch (Throwable problem) {
      fault("onOtherEvent", problem);
    }
  }

  public void onJobStart(SparkListenerJobStart event) {
    try {
      String execution = event.properties() == null ? null : event.properties().getProperty("spark.sql.execution.id");
      totals.begin(event, execution == null ? TaskTotals.ofRddJob(event.jobId()) : Long.parseLong(execution));
      if (execution == null) put(rddJobs.start(event));
    } catch (Throwable problem) {
      fault("onJobStart", problem);
    }
  }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    try {
      totals.add(event.stageInfo());
    } catch (Throwable problem) {
      fault("onStageCompleted", problem);
    }
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    try {
      totals.end(event.jobId());
      put(rddJobs.end(event, totals.remove(TaskTotals.ofRddJob(event.jobId()))));
    } catch (Throwable problem) {
      fault("onJobEnd", problem);
    }
  }

  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    try {
      JsonText record = JsonText.record("application_end");
      record.writeNumberField("time", event.time());
      put(record.end());
    } catch (Throwable problem) {
      fault("onApplicationEnd", problem);
    }
  }

  private static String dropped(DropTableEvent event) throws IOException {
    JsonText record = JsonText.record("table_dropped");
    record.writeStringField("database", event.database());
    record.writeStringField("table", event.name());
    return record.end();
  }

  private void put(String record) {
    if (record != null) records.add(record);
  }

  private void fault(String where, Throwable problem) {
    String message = Failures.brief(problem);
    try {
      JsonText record = JsonText.record("fault");
      record.writeStringField("where", where);
      record.writeStringField("message", message);
      put(record.end());
    } catch (IOException never) {
      // Writing to a text never fails.
      return;
    }
  }
}
