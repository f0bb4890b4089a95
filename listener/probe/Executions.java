package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** Writes the records of SQL executions, each with its analyzed plan at the start or, failing that, at the end. */
final class Executions {
  private static final Pattern NAME = Pattern.compile("\\w{1,100}");
  private static final Pattern ACTION = Pattern.compile("\\w{1,100} at .{1,4000}\\.py:\\d{1,9}");
  // The reader of a model is a class within it.
  private static final Pattern MODEL_READER =
      Pattern.compile("(org\\.apache\\.spark\\.ml\\.[\\w.]{1,200})\\$\\w{1,100}Reader\\.load\\(");
  private static final String ANY_MODEL = "org.apache.spark.ml.Model";
  private static final int MOST_FRAMES = 200;
  private final Vocabulary vocabulary;
  private final boolean reads;
  private final Statements statements = new Statements();
  private final SessionSettings settings;
  // Execution -> identity of the plan that was sent. Not the plan itself: if Spark drops events, the execution's end
  // may never arrive. Used only by the listener queue's single thread.
  private final HashMap sent = new HashMap();
  // Execution -> when it began, and the outermost execution around it; and the outermost ones whose tasks wrote.
  private final HashMap begun = new HashMap();
  private final HashSet wrote = new HashSet();
  // Execution that was over when its start was received -> what its session had set.
  private final HashMap set = new HashMap();

  Executions(Vocabulary vocabulary, boolean reads) {
    this.vocabulary = vocabulary;
    this.reads = reads;
    settings = new SessionSettings(vocabulary);
  }

  String start(SparkListenerSQLExecutionStart event) throws IOException {
    long id = event.executionId();
    QueryExecution execution = SQLExecution.getQueryExecution(id);
    JsonText record = JsonText.record("start");
    record.writeNumberField("id", id);
    record.writeNumberField("root", root(event));
    begun.put(Long.valueOf(id), new long[] {event.time(), root(event)});
    record.writeNumberField("time", event.time());
    callSite(record, event);
    if (savesModel(event.details())) record.writeBooleanField("model", true);
    boolean loads = loadedModel(record, event.details());
    // If there is no plan, the analysis may have failed: see `unresolved`.
    if (execution != null && event.sparkPlanInfo().nodeName().length() > 0) plan(record, id, loads, execution);
    Object own = Reflection.call(event, "modifiedConfigs");
    if (execution != null) session(record, own, execution);
    else set.put(Long.valueOf(id), own);
    return record.end();
  }

  /** Returns whether a write or a job began in Spark ML while it saved a model. */
  static boolean savesModel(String stack) {
    int writer = stack == null ? -1 : stack.indexOf("org.apache.spark.ml.util.MLWriter.save");
    return writer >= 0 || (stack != null && stack.indexOf("org.apache.spark.ml.util.DefaultParamsWriter") >= 0);
  }

  /**
   * Writes the class of the model that Spark ML loads, if a read began in its stack, and the classes above it. Returns
   * whether it loads a model.
   */
  private static boolean loadedModel(JsonText record, String stack) throws IOException {
    Matcher frame = MODEL_READER.matcher(stack == null ? "" : stack);
    if (!frame.find()) return false;
    record.writeFieldName("loads");
    record.writeStartArray();
    try {
      Class model = Class.forName(frame.group(1), false, SparkListenerSQLExecutionStart.class.getClassLoader());
      for (; model != null && !model.getName().equals(ANY_MODEL); model = model.getSuperclass()) {
        record.writeString(model.getName());
      }
    } catch (ClassNotFoundException unknown) {
      record.writeString(frame.group(1));
    } catch (LinkageError unknown) {
      record.writeString(frame.group(1));
    }
    record.writeEndArray();
    return true;
  }

  /** Writes the settings of the session: a fault here loses only the settings. */
  private void session(JsonText record, Object own, QueryExecution execution) throws IOException {
    String told;
    try {
      told = settings.of(own, Reflection.call(execution, "sparkSession"));
    } catch (RuntimeException problem) {
      return;
    } catch (LinkageError problem) {
      return;
    }
    record.writeRawField("session", told);
  }

  /** Writes the method that Python has called, and the calling line if PySpark has reported it. */
  private static void callSite(JsonText record, SparkListenerSQLExecutionStart event) throws IOException {
    String method = event.details() == null ? "" : calledFromPython(event.details().split("\n", MOST_FRAMES));
    if (NAME.matcher(method).matches()) record.writeStringField("call", method);
    String said = event.description();
    if (said != null && ACTION.matcher(said).matches()) record.writeStringField("site", said);
  }

  /** Returns the method that py4j has called in a stack, the innermost frame first; empty if it has called none. */
  private static String calledFromPython(String[] stack) {
    String called = "";
    for (int i = 0; i < stack.length; i++) {
      if (stack[i].startsWith("py4j.")) return called;
      int open = stack[i].indexOf('(');
      // Between the two are the frames of Java's reflection.
      if (open < 0 || stack[i].indexOf("reflect.") >= 0) continue;
      called = stack[i].substring(stack[i].lastIndexOf('.', open) + 1, open);
    }
    return "";
  }

  /** Returns whether an execution has not ended yet. */
  static boolean isRunning(long id) {
    return SQLExecution.getQueryExecution(id) != null;
  }

  /** Lets the record of an execution's end have the plan, since the record of its start is lost. */
  void forget(long id) {
    sent.remove(Long.valueOf(id));
  }

  /**
   * Returns the record of an execution's end.
   *
   * @param totals what the execution's tasks counted, or null
   * @param rdd the number of the RDD that its last job computed, or null
   */
  String end(SparkListenerSQLExecutionEnd event, long[] totals, Integer rdd) throws IOException {
    Long id = Long.valueOf(event.executionId());
    QueryExecution execution = event.qe();
    String action = text(event.executionName());
    boolean checkpoint = "checkpoint".equals(action) || "localCheckpoint".equals(action);
    JsonText record = JsonText.record("end");
    record.writeNumberField("id", event.executionId());
    record.writeNumberField("time", event.time());
    if (checkpoint) record.writeBooleanField("checkpoint", true);
    if (checkpoint && rdd != null) record.writeNumberField("rdd", rdd.intValue());
    boolean failed = failure(record, event);
    Object identity = sent.remove(id);
    Object own = set.remove(id);
    if (own != null && execution != null) session(record, own, execution);
    if (execution != null && failed && "analyze".equals(action)) {
      unresolved(record, execution);
    } else if (execution != null) {
      Object analyzed = analyzed(execution);
      boolean another = analyzed != null && !Integer.valueOf(System.identityHashCode(analyzed)).equals(identity);
      // Spark reports no start of a write inside a statement if its analysis fails: the statement fails with it.
      boolean part = analyzed == null && !begun.containsKey(id);
      if ((identity == null || another) && !part) plan(record, event.executionId(), checkpoint, execution);
      sent.remove(id);
      if (!failed) performed(record, event, totals);
      if (!failed) found(record, execution, analyzed);
      if (!failed) made(record, (long[]) begun.get(id), analyzed);
    }
    if (totals != null) writeWritten(record, totals);
    begun.remove(id);
    wrote.remove(id);
    return record.end();
  }

  /** Writes the metrics of an execution, and the commits that it may have made. */
  private void performed(JsonText record, SparkListenerSQLExecutionEnd event, long[] totals) throws IOException {
    ArrayList nodes = new ArrayList();
    record.writeRawField("metrics", Metrics.of(event.qe(), nodes));
    long[] start = (long[]) begun.get(Long.valueOf(event.executionId()));
    if (start == null) return;
    Long root = Long.valueOf(start[1]);
    if (totals != null && totals[TaskTotals.ROWS_WRITTEN] > 0 && begun.containsKey(root)) wrote.add(root);
    String commits = Commits.of(event.qe(), nodes, start[0], event.time(), wrote.contains(root));
    if (commits != null) record.writeRawField("commits", commits);
  }

  /** Writes the columns that Spark found for a CREATE TABLE that lists none. */
  private static void found(JsonText record, QueryExecution execution, Object analyzed) throws IOException {
    if (analyzed == null || !analyzed.getClass().getSimpleName().equals("CreateDataSourceTableCommand")) return;
    Object listed = Chain.read(analyzed, "table.schema", null);
    if (!(listed instanceof StructType) || !((StructType) listed).isEmpty()) return;
    Object table = Chain.read(analyzed, "#table:table.identifier", execution.sparkSession());
    Object schema = Reflection.call(table, "schema");
    if (schema instanceof StructType) record.writeStringField("schema", ((StructType) schema).json());
  }

  /** Writes whether a CREATE TABLE IF NOT EXISTS made its table, if a catalog of Iceberg has it in memory. */
  private static void made(JsonText record, long[] start, Object analyzed) throws IOException {
    if (start == null || analyzed == null || !analyzed.getClass().getSimpleName().startsWith("CreateTable")) return;
    boolean unless = Boolean.TRUE.equals(Reflection.call(analyzed, "ignoreIfExists"));
    if (!unless && !Boolean.TRUE.equals(Reflection.call(analyzed, "ifNotExists"))) return;
    Object name = Reflection.call(analyzed, "name");
    Boolean made = IcebergTables.isNew(Reflection.call(name, "catalog"), Reflection.call(name, "identifier"), start[0]);
    if (made != null) record.writeBooleanField("made", made.booleanValue());
  }

  static void writeWritten(JsonText record, long[] totals) throws IOException {
    record.writeArrayFieldStart("written");
    record.writeNumber(totals[TaskTotals.ROWS_WRITTEN]);
    record.writeNumber(totals[TaskTotals.BYTES_WRITTEN]);
    record.writeEndArray();
  }

  private static long root(SparkListenerSQLExecutionStart event) {
    scala.Option root = (scala.Option) event.rootExecutionId();
    return root.isEmpty() ? event.executionId() : ((Long) root.get()).longValue();
  }

  private static String text(scala.Option option) {
    return option == null || option.isEmpty() ? null : String.valueOf(option.get());
  }

  /** Writes why an execution failed, and returns whether it did. */
  private static boolean failure(JsonText record, SparkListenerSQLExecutionEnd event) throws IOException {
    scala.Option failure = event.executionFailure();
    if (failure != null && !failure.isEmpty()) {
      Failures.write(record, (Throwable) failure.get());
      return true;
    }
    String message = text(event.errorMessage());
    if (message == null || message.length() == 0) return false;
    Failures.write(record, "", message, "");
    return true;
  }

  /** Returns the analyzed plan; null if its analysis failed, which Spark 4 shows without a request for it. */
  private static Object analyzed(QueryExecution execution) {
    Object attempt = Reflection.field(Reflection.field(execution, "lazyAnalyzed"), "tryT");
    if (attempt instanceof scala.util.Failure) return null;
    try {
      return execution.analyzed();
    } catch (Exception unresolved) {
      return null;
    } catch (StackOverflowError tooDeep) {
      return null;
    }
  }

  /** Writes what is known about an execution's plan: a fault here loses the plan, never the record. */
  private void plan(JsonText record, long id, boolean outlives, QueryExecution execution) throws IOException {
    try {
      describe(record, id, outlives, execution);
    } catch (Throwable problem) {
      record.writeStringField("fault", Failures.brief(problem));
    }
  }

  /**
   * Writes an analysis error, which Spark 4 reports as a separate execution. Its plan must not be requested: Spark
   * would put the caller's stack into the exception that the user's thread holds.
   */
  private void unresolved(JsonText record, QueryExecution execution) throws IOException {
    record.writeStringField("unresolved", execution.logical().getClass().getName());
    statements.write(record, execution, true);
  }

  /** Writes the plan's fields. Each value is read before its field is begun, so a fault leaves the record intact. */
  private void describe(JsonText record, long id, boolean outlives, QueryExecution execution) throws IOException {
    Object analyzed = analyzed(execution);
    if (analyzed == null) {
      unresolved(record, execution);
      return;
    }
    LogicalPlan plan = (LogicalPlan) analyzed;
    boolean stream = Reflection.has(execution, "currentBatchId");
    boolean commands = hasCommands(plan);
    record.writeBooleanField("command", plan instanceof Command);
    record.writeStringField("class", plan.getClass().getName());
    if (stream) {
      record.writeStringField("stream", String.valueOf(Reflection.call(execution, "runId")));
      Streams.batch(record, execution);
    }
    statements.write(record, execution, commands);
    // Only the result of a command is fetched: the command itself was a separate execution.
    boolean fetch = !stream && commands && "ALL".equals(String.valueOf(execution.mode()));
    // A plain read matters only if reads are requested, or if what it reads outlives the plan: rows, under the plan's
    // exprIds, or a model.
    boolean read = !stream && !commands && !reads;
    if (fetch || read) record.writeBooleanField("read", true);
    if (fetch || (read && !outlives)) return;
    sent.put(Long.valueOf(id), Integer.valueOf(System.identityHashCode(plan)));
    long[] start = (long[]) begun.get(Long.valueOf(id));
    Object session = Reflection.call(execution, "sparkSession");
    record.writeRawField("plan", DeepEncoding.of(vocabulary, session, plan, start == null ? 0L : start[0]));
  }

  /** Returns whether the plan is a command, or the commands of a multi-insert, perhaps below the CTEs they share. */
  private static boolean hasCommands(LogicalPlan plan) {
    for (int depth = 0; depth < 3; depth++) {
      if (plan instanceof Command) return true;
      scala.collection.Iterator children = ((scala.collection.Iterable) plan.children()).iterator();
      if (!children.hasNext()) return false;
      plan = (LogicalPlan) children.next();
    }
    return false;
  }
}
