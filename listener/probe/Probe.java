// The listener's part inside the driver's JVM. Kept as source and compiled there with Janino, which every Spark
// ships, against whatever Spark and Scala it finds: hence plain Java without generics or lambdas.
package openlineage.pyspark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import com.codahale.metrics.Counter;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.StringUtils;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Hears executions, encodes each analyzed plan once, and keeps the records until Python takes them. */
public final class Probe extends SparkListener {
  /** What may wait for Python is at most one part in so many of the driver's heap, which is the job's. */
  private static final long SHARE_OF_HEAP = 16L;
  private final LinkedBlockingQueue records = new LinkedBlockingQueue();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicLong lost = new AtomicLong();
  private final Vocabulary vocabulary;
  private final long maxWaiting;
  private final boolean reads;
  // Spark's own count of the events that it did not tell; touched by the thread that takes records only.
  private SparkContext context;
  private Counter dropped;
  private long droppedBefore;
  private long droppedTold;
  // What was taken last, until the next call tells that it has arrived.
  private String batch;
  private long batchNumber;
  // Touched by the listener queue's one thread only. A job of RDDs alone stands under -1 - its id.
  private final HashMap plans = new HashMap();
  private final HashMap moved = new HashMap();
  private final HashMap ownerOfStage = new HashMap();
  private final HashMap stagesOfJob = new HashMap();
  private final HashSet rddJobs = new HashSet();

  public Probe(String table, int maxNodes, long maxBytes, long maxWaiting, boolean reads) {
    this.vocabulary = new Vocabulary(table, maxNodes, maxBytes);
    this.maxWaiting = Math.min(maxWaiting, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
    this.reads = reads;
  }

  /** Look up running jobs in this context, and tell with the records what it drops of the events on a queue. */
  public void watch(SparkContext context, String queue) {
    this.context = context;
    dropped = context.listenerBus().metrics().metricRegistry().counter("queue." + queue + ".numDroppedEvents");
    droppedBefore = dropped.getCount();
  }

  /**
   * The records that wait, one a line, oldest first, below a line with the number of the batch; empty when none came
   * within the time. A batch that is not acknowledged is given once more: its answer was lost with a connection.
   */
  public synchronized String take(long acknowledged, long waitMillis) throws InterruptedException {
    if (acknowledged < batchNumber) return batch;
    batch = null;
    String taken = next(waitMillis);
    if (taken.length() == 0) return "";
    batchNumber++;
    batch = batchNumber + "\n" + taken;
    return batch;
  }

  private String next(long waitMillis) throws InterruptedException {
    String first = (String) records.poll(waitMillis, TimeUnit.MILLISECONDS);
    StringBuilder out = new StringBuilder();
    long now = dropped == null ? 0L : dropped.getCount() - droppedBefore;
    if (now > droppedTold) {
      droppedTold = now;
      out.append("{\"k\":\"dropped\",\"count\":").append(now).append("}\n");
    }
    if (first == null) return out.toString();
    out.append(first);
    waiting.addAndGet(-first.length());
    while (out.length() < 4000000) {
      String next = (String) records.poll();
      if (next == null) break;
      waiting.addAndGet(-next.length());
      out.append('\n').append(next);
    }
    return out.toString();
  }

  /** Make a `take` that waits return at once. */
  public void wake() { records.add(""); }

  /** How many records were dropped because nobody took them. */
  public long lost() { return lost.get(); }

  /** The encoding of a plan that is not being run: for lineage without execution. */
  public String encode(LogicalPlan plan, Object session) {
    return DeepEncoding.of(vocabulary, session, plan);
  }

  private void put(String record) {
    if (waiting.get() + record.length() > maxWaiting) { lost.incrementAndGet(); return; }
    waiting.addAndGet(record.length());
    records.add(record);
  }

  private void fault(String where, Throwable problem) {
    StringBuilder b = new StringBuilder("{\"k\":\"fault\",\"where\":");
    Json.text(b, where);
    b.append(",\"message\":");
    Json.text(b, told(problem));
    put(b.append('}').toString());
  }

  /** An error of the JVM would stop the user's SparkContext; what this class itself has used up is free again. */
  private static String told(Throwable problem) {
    boolean own = problem instanceof StackOverflowError || problem instanceof OutOfMemoryError;
    if (problem instanceof VirtualMachineError && !own) throw (VirtualMachineError) problem;
    try { return Json.cut(problem.getClass().getName() + ": " + problem.getMessage(), 2000); }
    catch (RuntimeException unreadable) { return problem.getClass().getName(); }
  }

  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof SparkListenerSQLExecutionStart) start((SparkListenerSQLExecutionStart) event);
      else if (event instanceof SparkListenerSQLExecutionEnd) end((SparkListenerSQLExecutionEnd) event);
      else if (event.getClass().getName().indexOf("StreamingQueryListener$Query") >= 0) stream(event);
    } catch (Throwable problem) { fault("onOtherEvent", problem); }
  }

  public void onJobStart(SparkListenerJobStart event) {
    try {
      String execution = event.properties() == null ? null : event.properties().getProperty("spark.sql.execution.id");
      Long owner = execution == null ? rddJob(event.jobId()) : Long.valueOf(execution);
      ArrayList ids = new ArrayList();
      StageInfo last = null;
      scala.collection.Iterator stages = ((scala.collection.Iterable) event.stageInfos()).iterator();
      while (stages.hasNext()) {
        StageInfo stage = (StageInfo) stages.next();
        ids.add(Integer.valueOf(stage.stageId()));
        ownerOfStage.put(Integer.valueOf(stage.stageId()), owner);
        if (last == null || stage.stageId() > last.stageId()) last = stage;
      }
      stagesOfJob.put(Integer.valueOf(event.jobId()), ids);
      if (execution == null && last != null) rddStart(event, last);
    } catch (Throwable problem) { fault("onJobStart", problem); }
  }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    try {
      StageInfo stage = event.stageInfo();
      Long owner = (Long) ownerOfStage.get(Integer.valueOf(stage.stageId()));
      TaskMetrics metrics = stage.taskMetrics();
      if (owner == null || metrics == null) return;
      long read = owner.longValue() < 0 ? RddJob.recordsRead(stage) : 0L;
      long records = metrics.outputMetrics().recordsWritten();
      long bytes = metrics.outputMetrics().bytesWritten();
      if (records == 0L && bytes == 0L && read == 0L) return;
      long[] sum = (long[]) moved.get(owner);
      if (sum == null) { sum = new long[3]; moved.put(owner, sum); }
      sum[0] += records;
      sum[1] += bytes;
      sum[2] += read;
    } catch (Throwable problem) { fault("onStageCompleted", problem); }
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    try {
      ArrayList stages = (ArrayList) stagesOfJob.remove(Integer.valueOf(event.jobId()));
      for (int i = 0; stages != null && i < stages.size(); i++) ownerOfStage.remove(stages.get(i));
      long[] sum = (long[]) moved.remove(rddJob(event.jobId()));
      if (!rddJobs.remove(Integer.valueOf(event.jobId()))) return;
      StringBuilder b = new StringBuilder("{\"k\":\"rdd_end\",\"job\":").append(event.jobId()).append(",\"time\":").append(event.time());
      Object failure = Reflection.call(event.jobResult(), "exception");
      if (failure instanceof Throwable) error(b, (Throwable) failure);
      if (sum != null) b.append(",\"written\":[").append(sum[0]).append(',').append(sum[1]).append("],\"read\":").append(sum[2]);
      put(b.append('}').toString());
    } catch (Throwable problem) { fault("onJobEnd", problem); }
  }

  private static Long rddJob(int job) { return Long.valueOf(-1L - job); }

  private void rddStart(SparkListenerJobStart event, StageInfo last) {
    Object stage = RddJob.finalStage(context, event.jobId());
    Object function = Reflection.call(stage, "func");
    Object write = function == null ? null : RddJob.write(function);
    // Of a job that has ended already, the event's own words are all there is.
    boolean writes = write != null || (stage == null && last.details().indexOf("SparkHadoopWriter") >= 0);
    // Spark SQL looks at files itself, for their schema.
    boolean reader = reads && function != null && !last.details().startsWith("org.apache.spark.sql.");
    if (!writes && !reader) return;
    StringBuilder b = new StringBuilder("{\"k\":\"rdd_start\",\"job\":").append(event.jobId()).append(",\"time\":").append(event.time());
    b.append(",\"write\":").append(writes).append(",\"path\":");
    Json.text(b, RddJob.path(write));
    b.append(",\"format\":");
    Json.text(b, RddJob.format(write));
    b.append(",\"sources\":");
    Object sources = stage == null ? RddJob.named(last) : RddSources.of(Reflection.call(stage, "rdd"), true);
    new Encoder(vocabulary, null).value(b, sources, false, 0);
    rddJobs.add(Integer.valueOf(event.jobId()));
    put(b.append('}').toString());
  }

  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    put("{\"k\":\"application_end\",\"time\":" + event.time() + "}");
  }

  private void start(SparkListenerSQLExecutionStart event) {
    long id = event.executionId();
    long root = root(event);
    QueryExecution execution = SQLExecution.getQueryExecution(id);
    StringBuilder b = new StringBuilder("{\"k\":\"start\",\"id\":").append(id).append(",\"root\":").append(root).append(",\"time\":").append(event.time());
    // Without any plan to show, its analysis may have failed: see `unresolved`.
    if (execution != null && event.sparkPlanInfo().nodeName().length() > 0) plan(b, id, null, execution);
    put(b.append('}').toString());
  }

  private static long root(SparkListenerSQLExecutionStart event) {
    scala.Option root = (scala.Option) event.rootExecutionId();
    return root.isEmpty() ? event.executionId() : ((Long) root.get()).longValue();
  }

  private void end(SparkListenerSQLExecutionEnd event) {
    Long id = Long.valueOf(event.executionId());
    QueryExecution execution = event.qe();
    StringBuilder b = new StringBuilder("{\"k\":\"end\",\"id\":").append(id).append(",\"time\":").append(event.time());
    scala.Option name = event.executionName();
    String action = name == null || name.isEmpty() ? null : String.valueOf(name.get());
    if (action != null) { b.append(",\"name\":"); Json.text(b, action); }
    scala.Option failure = event.executionFailure();
    scala.Option message = event.errorMessage();
    boolean failed = failure != null && !failure.isEmpty();
    if (failed) error(b, (Throwable) failure.get());
    else if (message != null && !message.isEmpty() && String.valueOf(message.get()).length() > 0) {
      failed = true;
      b.append(",\"error\":{\"class\":\"\",\"message\":");
      Json.text(b, String.valueOf(message.get()));
      b.append(",\"stack\":\"\"}");
    }
    Object sent = plans.remove(id);
    if (execution != null && failed && "analyze".equals(action)) unresolved(b, execution);
    else if (execution != null) {
      Object analyzed = analyzed(execution);
      if (sent == null || (analyzed != null && ((Integer) sent).intValue() != System.identityHashCode(analyzed))) plan(b, id.longValue(), action, execution);
      plans.remove(id);
      if (!failed) new Metrics(b).read(execution);
    }
    long[] sum = (long[]) moved.remove(id);
    if (sum != null) b.append(",\"written\":[").append(sum[0]).append(',').append(sum[1]).append(']');
    put(b.append('}').toString());
  }

  private static Object analyzed(QueryExecution execution) {
    try { return execution.analyzed(); }
    catch (Exception unresolved) { return null; }
    catch (StackOverflowError tooDeep) { return null; }
  }

  /** Whether the rows of an action go on under the plan's own exprIds, in plans that no longer hold it. */
  private static boolean leavesRows(String action) { return action != null && action.indexOf("heckpoint") >= 0; }

  /** What can be told of an execution's plan: a fault in it costs the plan, never the record. */
  private void plan(StringBuilder b, long id, String action, QueryExecution execution) {
    try { analyzed(b, id, action, execution); }
    catch (Throwable problem) {
      String text = told(problem);
      b.append(",\"fault\":");
      Json.text(b, text);
    }
  }

  /**
   * An analysis error, which Spark 4 tells as an execution of its own. Its plan must not be asked for: Spark would put
   * the stack of whoever asks into the exception, which the user's thread has in its hands.
   */
  private static void unresolved(StringBuilder b, QueryExecution execution) {
    b.append(",\"unresolved\":");
    Json.text(b, execution.logical().getClass().getName());
    sqlText(b, execution);
  }

  private void analyzed(StringBuilder b, long id, String action, QueryExecution execution) {
    Object analyzed = analyzed(execution);
    if (analyzed == null) { unresolved(b, execution); return; }
    LogicalPlan plan = (LogicalPlan) analyzed;
    boolean stream = Reflection.has(execution, "currentBatchId");
    b.append(",\"command\":").append(plan instanceof Command).append(",\"class\":");
    Json.text(b, plan.getClass().getName());
    if (stream) { b.append(",\"stream\":"); Json.text(b, String.valueOf(Reflection.call(execution, "runId"))); }
    sqlText(b, execution);
    if (!stream && commands(plan) && "ALL".equals(String.valueOf(execution.mode()))) {
      // Only the result of a command is fetched: the command itself was an execution of its own.
      b.append(",\"read\":true");
      return;
    }
    // A plain read is of interest only where reads are asked for, or where rows leave the plan under its own ids.
    if (!commands(plan) && !stream && !reads) { b.append(",\"read\":true"); if (!leavesRows(action)) return; }
    // Not the plan itself: where Spark drops events, its end may never be heard.
    plans.put(Long.valueOf(id), Integer.valueOf(System.identityHashCode(plan)));
    String encoded = DeepEncoding.of(vocabulary, Reflection.call(execution, "sparkSession"), plan);
    b.append(",\"plan\":").append(encoded);
  }

  /** Whether the plan is a command, or several of a multi-insert, perhaps under the CTEs that they share. */
  private static boolean commands(LogicalPlan plan) {
    for (int depth = 0; depth < 3; depth++) {
      if (plan instanceof Command) return true;
      scala.collection.Iterator children = ((scala.collection.Iterable) plan.children()).iterator();
      if (!children.hasNext()) return false;
      plan = (LogicalPlan) children.next();
    }
    return false;
  }

  private static void sqlText(StringBuilder b, QueryExecution execution) {
    LogicalPlan plan = execution.logical();
    scala.Option text = plan.origin().sqlText();
    String key = ",\"sql\":";
    for (int depth = 0; (text == null || text.isEmpty()) && depth < 3; depth++) {
      // The statement's own node may have been made anew without its text; its query was not.
      key = ",\"querySql\":";
      scala.collection.Iterator below = ((scala.collection.Iterable) (plan.children().isEmpty() ? plan.innerChildren() : plan.children())).iterator();
      Object next = below.hasNext() ? below.next() : null;
      if (!(next instanceof LogicalPlan)) return;
      plan = (LogicalPlan) next;
      // A relation that Spark has kept from an earlier statement has that one's text.
      if (plan.children().isEmpty() && !(plan instanceof Command)) return;
      text = plan.origin().sqlText();
    }
    if (text == null || text.isEmpty()) return;
    b.append(",\"text\":").append(System.identityHashCode(text.get())).append(key);
    Json.text(b, String.valueOf(text.get()));
  }

  private void stream(SparkListenerEvent event) {
    String name = event.getClass().getSimpleName();
    StringBuilder b = new StringBuilder("{\"k\":\"stream\",\"event\":");
    Json.text(b, name);
    b.append(",\"time\":").append(System.currentTimeMillis());
    Object run = Reflection.call(event, "runId");
    Object id = Reflection.call(event, "id");
    if (run == null) return;
    b.append(",\"run\":"); Json.text(b, String.valueOf(run));
    b.append(",\"id\":"); Json.text(b, String.valueOf(id));
    Object query = Reflection.call(event, "name");
    if (query != null) { b.append(",\"name\":"); Json.text(b, String.valueOf(query)); }
    Object exception = Reflection.call(event, "exception");
    if (exception instanceof scala.Option && !((scala.Option) exception).isEmpty()) {
      String text = String.valueOf(((scala.Option) exception).get());
      b.append(",\"error\":{\"class\":\"org.apache.spark.sql.streaming.StreamingQueryException\",\"message\":");
      int line = text.indexOf('\n');
      Json.text(b, line < 0 ? text : text.substring(0, line));
      b.append(",\"stack\":");
      Json.text(b, text);
      b.append('}');
    }
    put(b.append('}').toString());
  }

  private static void error(StringBuilder b, Throwable problem) {
    String message = null;
    String trace = "";
    Throwable shown = problem;
    try {
      Throwable cause = problem;
      for (int depth = 0; cause != null && depth < 20; depth++, cause = cause.getCause())
        if (cause.getClass().getName().endsWith(".PythonException")) shown = cause;
      message = problem.getMessage() == null ? problem.toString() : problem.getMessage();
      java.io.StringWriter out = new java.io.StringWriter();
      // Its message is the Python traceback.
      if (shown.getClass().getName().endsWith(".PythonException")) out.write(String.valueOf(shown.getMessage()));
      else problem.printStackTrace(new java.io.PrintWriter(out));
      trace = out.toString();
    } catch (RuntimeException unreadable) { if (message == null) message = problem.getClass().getName(); }
    b.append(",\"error\":{\"class\":");
    Json.text(b, shown.getClass().getName());
    b.append(",\"message\":");
    Json.text(b, Json.cut(message, 20000));
    b.append(",\"stack\":");
    Json.text(b, Json.cut(trace, 40000));
    b.append('}');
  }
}

/** What Python asks the probe to read of values that are not tree nodes, and the bounds of a plan. */
final class Vocabulary {
  final HashMap described = new HashMap();
  final HashMap skipped = new HashMap();
  final HashSet transparent = new HashSet();
  final int maxNodes;
  final long maxBytes;

  Vocabulary(String table, int maxNodes, long maxBytes) {
    this.maxNodes = maxNodes;
    this.maxBytes = maxBytes;
    String[] lines = table.split("\n");
    for (int i = 0; i < lines.length; i++) {
      String[] part = lines[i].split("\t");
      if (part.length < 2) continue;
      if (part[0].equals("describe")) {
        ArrayList rows = (ArrayList) described.get(part[1]);
        if (rows == null) { rows = new ArrayList(); described.put(part[1], rows); }
        rows.add(new String[] {part[2], part[3]});
      } else if (part[0].equals("skip")) {
        HashSet names = (HashSet) skipped.get(part[1]);
        if (names == null) { names = new HashSet(); skipped.put(part[1], names); }
        names.add(part[2]);
      } else if (part[0].equals("transparent")) transparent.add(part[1]);
    }
  }

  private final HashMap found = new HashMap();

  /** The rows of the class, of its superclasses and of its interfaces. */
  synchronized ArrayList rows(Class type) {
    ArrayList rows = (ArrayList) found.get(type);
    if (rows == null) {
      rows = new ArrayList();
      collect(type, rows, new HashSet());
      found.put(type, rows);
    }
    return rows;
  }

  private void collect(Class type, ArrayList rows, HashSet seen) {
    if (type == null || !seen.add(type)) return;
    ArrayList own = (ArrayList) described.get(type.getName());
    if (own != null) rows.addAll(own);
    collect(type.getSuperclass(), rows, seen);
    Class[] interfaces = type.getInterfaces();
    for (int i = 0; i < interfaces.length; i++) collect(interfaces[i], rows, seen);
  }
}

/** Encodes a plan, on a thread with a larger stack where Catalyst's own recursion over an expression needs one. */
final class DeepEncoding extends Thread {
  private static final long STACK = 16L << 20;
  private final Encoder encoder;
  private final LogicalPlan plan;
  private String encoded;

  private DeepEncoding(Encoder encoder, LogicalPlan plan) {
    super(null, null, "openlineage-deep", STACK);
    this.encoder = encoder;
    this.plan = plan;
  }

  static String of(Vocabulary vocabulary, Object session, LogicalPlan plan) {
    Encoder encoder = new Encoder(vocabulary, session);
    String encoded = encoder.encode(plan);
    if (!encoder.overflowed) return encoded;
    DeepEncoding deep = new DeepEncoding(new Encoder(vocabulary, session), plan);
    deep.setDaemon(true);
    try { deep.start(); deep.join(); }
    catch (InterruptedException ending) { Thread.currentThread().interrupt(); return encoded; }
    catch (OutOfMemoryError threadless) { return encoded; }
    return deep.encoded == null ? encoded : deep.encoded;
  }

  public void run() {
    try { encoded = encoder.encode(plan); }
    catch (Exception unreadable) { encoded = null; }
    catch (Error unreadable) { encoded = null; }
  }
}

/** Encodes one plan: every tree node once, in the order of discovery, without recursion over the tree. */
final class Encoder {
  private final Vocabulary vocabulary;
  private final Object session;
  private final ArrayList pieces = new ArrayList();
  private final ArrayDeque work = new ArrayDeque();
  private final IdentityHashMap index = new IdentityHashMap();
  private final IdentityHashMap wanted = new IdentityHashMap();
  private final LinkedHashMap classes = new LinkedHashMap();
  private final ArrayList classRows = new ArrayList();
  private final HashMap typeIndex = new HashMap();
  private final IdentityHashMap typeSeen = new IdentityHashMap();
  private final ArrayList types = new ArrayList();
  private final HashMap names = new HashMap();
  private final StringBuilder attributes = new StringBuilder();
  private long bytes = 0;
  private boolean cut = false;
  private Throwable unread;
  boolean overflowed = false;

  Encoder(Vocabulary vocabulary, Object session) { this.vocabulary = vocabulary; this.session = session; }

  String encode(LogicalPlan plan) {
    reference(plan, false);
    int done = 0;
    while (!work.isEmpty()) {
      if (done >= vocabulary.maxNodes || bytes > vocabulary.maxBytes) { cut = true; break; }
      TreeNode node = (TreeNode) work.removeFirst();
      StringBuilder b = new StringBuilder(64);
      try { node(b, node); }
      catch (Exception problem) { b = broken(node, problem); }
      catch (StackOverflowError problem) { overflowed = true; b = broken(node, problem); }
      catch (LinkageError problem) { b = broken(node, problem); }
      pieces.set(((Integer) index.get(node)).intValue(), b);
      bytes += b.length();
      done++;
    }
    return join();
  }

  private StringBuilder broken(TreeNode node, Throwable problem) {
    StringBuilder b = new StringBuilder("[").append(type(node)).append(",null,[],{\"broken\":");
    Json.text(b, problem.getClass().getName());
    int whole = b.length();
    try {
      b.append(",\"children\":");
      value(b, node.children(), false, 0);
    } catch (Exception childless) { b.setLength(whole); }
    catch (StackOverflowError childless) { b.setLength(whole); }
    catch (LinkageError childless) { b.setLength(whole); }
    return b.append("}]");
  }

  private String join() {
    StringBuilder out = new StringBuilder((int) Math.min(bytes + 65536, 1L << 30));
    out.append("{\"classes\":[");
    for (int i = 0; i < classRows.size(); i++) { if (i > 0) out.append(','); out.append(classRows.get(i)); }
    out.append("],\"types\":[");
    for (int i = 0; i < types.size(); i++) { if (i > 0) out.append(','); Json.text(out, (String) types.get(i)); }
    out.append("],\"attributes\":{").append(attributes).append("},\"session\":{\"warehouse\":");
    Json.text(out, string(Reflection.chain(session, "sessionState.conf.warehousePath", null)));
    // Not the catalog's own class: to ask for that opens the metastore, which the job itself may have no use for.
    Object conf = Reflection.chain(session, "sessionState.conf", null);
    out.append(",\"catalog\":");
    Json.text(out, conf instanceof SQLConf ? ((SQLConf) conf).getConfString("spark.sql.catalogImplementation") : null);
    out.append("},\"cut\":").append(cut).append(",\"nodes\":[");
    for (int i = 0; i < pieces.size(); i++) { if (i > 0) out.append(','); Object p = pieces.get(i); out.append(p == null ? "null" : p); }
    return out.append("]}").toString();
  }

  private static String string(Object o) { return o == null ? null : o.toString(); }

  private int reference(TreeNode node, boolean text) {
    Integer at = (Integer) index.get(node);
    if (at == null) {
      at = Integer.valueOf(pieces.size());
      index.put(node, at);
      pieces.add(null);
      work.addLast(node);
      if (text) wanted.put(node, Boolean.TRUE);
    }
    return at.intValue();
  }

  private int type(TreeNode node) {
    Class type = node.getClass();
    Integer at = (Integer) classes.get(type);
    if (at != null) return at.intValue();
    at = Integer.valueOf(classRows.size());
    StringBuilder row = new StringBuilder("[");
    Json.text(row, type.getName());
    row.append(node instanceof LogicalPlan ? ",\"P\",[" : node instanceof Expression ? ",\"E\",[" : ",\"T\",[");
    String[] fields;
    // Whoever can't name its arguments can't give them either, and is marked then.
    try { fields = Reflection.elementNames(node); }
    catch (Exception unnamed) { fields = new String[0]; }
    catch (LinkageError unnamed) { fields = new String[0]; }
    for (int i = 0; i < fields.length; i++) { if (i > 0) row.append(','); Json.text(row, fields[i]); }
    row.append("]]");
    classes.put(type, at);
    classRows.add(row);
    return at.intValue();
  }

  private void node(StringBuilder b, TreeNode node) {
    b.append('[').append(type(node)).append(',');
    // What a MERGE assigns stands one level deeper than what other operators hold.
    boolean plan = node instanceof LogicalPlan || node instanceof Assignment || node.getClass().getName().indexOf("MergeRows$") >= 0;
    unread = null;
    if (node instanceof LogicalPlan) output(b, (LogicalPlan) node); else b.append("null");
    b.append(",[");
    String simple = node.getClass().getSimpleName();
    HashSet skip = (HashSet) vocabulary.skipped.get(simple);
    String[] fields = skip == null ? null : Reflection.elementNames(node);
    int arity = node.productArity();
    if (node instanceof Literal) { literal(b, (Literal) node); arity = 0; }
    for (int i = 0; i < arity; i++) {
      if (i > 0) b.append(',');
      if (skip != null && (i >= fields.length || skip.contains(fields[i]))) b.append("null");
      else value(b, node.productElement(i), plan, 0);
    }
    b.append("],{");
    boolean first = true;
    if (node instanceof NamedExpression && ((Expression) node).resolved()) {
      NamedExpression named = (NamedExpression) node;
      b.append("\"id\":").append(named.exprId().id()).append(",\"n\":");
      Json.text(b, named.name());
      int type = typeOf((Expression) node);
      if (type >= 0) b.append(",\"t\":").append(type);
      first = false;
    }
    if (wanted.containsKey(node)) {
      String text = sql((Expression) node);
      if (text != null) { if (!first) b.append(','); first = false; b.append("\"s\":"); Json.text(b, text); }
    }
    if (unread != null) { b.append(first ? "" : ",").append("\"broken\":"); Json.text(b, unread.getClass().getName()); first = false; }
    ArrayList rows = vocabulary.rows(node.getClass());
    for (int i = 0; i < rows.size(); i++) {
      String[] row = (String[]) rows.get(i);
      if (!first) b.append(',');
      first = false;
      Json.text(b, row[0]);
      b.append(':');
      value(b, Reflection.chain(node, row[1], session), plan, 0);
    }
    b.append("}]");
  }

  /** -1 where the type can't be told: it recurses over the expression, which may be deep. */
  private int typeOf(Expression expression) {
    try { return type(expression.dataType()); }
    catch (Exception unresolved) { return -1; }
    catch (StackOverflowError tooDeep) { overflowed = true; return -1; }
  }

  private static void literal(StringBuilder b, Literal literal) {
    Object value = literal.value();
    if (value instanceof Integer || value instanceof Long || value instanceof Short) { b.append("{\"n\":\"").append(value).append("\"}"); return; }
    if (value instanceof Boolean) { b.append(value); return; }
    b.append("null");
  }

  private String sql(Expression expression) {
    try {
      Expression shown = expression instanceof Alias ? ((Alias) expression).child() : expression;
      return Json.cut(shown.sql(), 2000);
    } catch (Exception unprintable) { return null; }
    catch (StackOverflowError tooDeep) { overflowed = true; return null; }
  }

  private void output(StringBuilder b, LogicalPlan plan) {
    if (vocabulary.transparent.contains(plan.getClass().getName())) { b.append("\"=\""); return; }
    scala.collection.Iterable output = null;
    try { output = (scala.collection.Iterable) plan.output(); }
    catch (Exception problem) { unread = problem; }
    catch (StackOverflowError problem) { overflowed = true; unread = problem; }
    catch (LinkageError problem) { unread = problem; }
    if (output == null) { b.append("null"); return; }
    b.append('[');
    scala.collection.Iterator it = output.iterator();
    boolean first = true;
    while (it.hasNext()) {
      Attribute a = (Attribute) it.next();
      if (!first) b.append(',');
      first = false;
      if (!a.resolved()) { b.append("null"); continue; }
      Long id = Long.valueOf(a.exprId().id());
      attribute(a);
      String known = (String) names.get(id);
      if (known.equals(a.name())) b.append(id);
      else { b.append('[').append(id).append(','); Json.text(b, a.name()); b.append(']'); }
    }
    b.append(']');
  }

  private void attribute(Attribute a) {
    Long id = Long.valueOf(a.exprId().id());
    if (names.containsKey(id) || !a.resolved()) return;
    StringBuilder row = new StringBuilder(attributes.length() > 0 ? "," : "");
    row.append('"').append(id).append("\":[");
    Json.text(row, a.name());
    row.append(',').append(type(a.dataType()));
    try {
      if (a.metadata().contains("comment")) { row.append(','); Json.text(row, a.metadata().getString("comment")); }
    } catch (RuntimeException notText) { row.append(",null"); }
    attributes.append(row).append(']');
    names.put(id, a.name());
    bytes += row.length();
  }

  private int type(DataType type) {
    Integer at = (Integer) typeSeen.get(type);
    if (at != null) return at.intValue();
    String text = type instanceof StructType || type instanceof ArrayType || type instanceof MapType ? type.json() : type.catalogString();
    at = (Integer) typeIndex.get(text);
    if (at == null) {
      at = Integer.valueOf(types.size());
      types.add(text);
      typeIndex.put(text, at);
      bytes += text.length();
    }
    typeSeen.put(type, at);
    return at.intValue();
  }

  void value(StringBuilder b, Object o, boolean inPlan, int depth) {
    if (o == null || depth > 12) { b.append("null"); return; }
    if (o instanceof Attribute && ((Attribute) o).resolved()) { attribute((Attribute) o); b.append(((Attribute) o).exprId().id()); return; }
    if (o instanceof TreeNode) { b.append("{\"r\":").append(reference((TreeNode) o, inPlan && o instanceof Expression)).append('}'); return; }
    if (o instanceof scala.Option) { value(b, ((scala.Option) o).isEmpty() ? null : ((scala.Option) o).get(), inPlan, depth); return; }
    if (o instanceof DataType) { b.append("{\"t\":").append(type((DataType) o)).append('}'); return; }
    if (o instanceof String) { Json.text(b, Json.cut((String) o, 10000)); return; }
    if (o instanceof Boolean) { b.append(o); return; }
    if (o instanceof Number) { b.append("{\"n\":\"").append(o).append("\"}"); return; }
    if (o instanceof scala.collection.Map) { keys(b, ((scala.collection.Map) o).keysIterator()); return; }
    if (o instanceof java.util.Map) { b.append("{\"keys\":").append(((java.util.Map) o).size()).append('}'); return; }
    if (o instanceof scala.collection.Iterable) { sequence(b, ((scala.collection.Iterable) o).iterator(), inPlan, depth); return; }
    if (o instanceof Object[]) { array(b, (Object[]) o, inPlan, depth); return; }
    if (o instanceof java.net.URI || o instanceof Enum || o.getClass().getName().equals("org.apache.hadoop.fs.Path")) { Json.text(b, o.toString()); return; }
    if (o.getClass().getName().startsWith("scala.Tuple")) { product(b, (scala.Product) o, inPlan, depth); return; }
    describe(b, o, inPlan, depth);
  }

  private void keys(StringBuilder b, scala.collection.Iterator it) {
    b.append("{\"keys\":[");
    for (int i = 0; it.hasNext() && i < 200; i++) { if (i > 0) b.append(','); Json.text(b, String.valueOf(it.next())); }
    b.append("]}");
  }

  private void sequence(StringBuilder b, scala.collection.Iterator it, boolean inPlan, int depth) {
    b.append('[');
    boolean first = true;
    int start = b.length();
    while (it.hasNext()) {
      Object o = it.next();
      if (o instanceof InternalRow) break; // rows are never read
      if (!first) b.append(',');
      first = false;
      if (b.length() - start > vocabulary.maxBytes) { cut = true; b.append("null"); break; }
      value(b, o, inPlan, depth + 1);
    }
    b.append(']');
  }

  private void array(StringBuilder b, Object[] values, boolean inPlan, int depth) {
    b.append('[');
    for (int i = 0; i < values.length && i < 1000; i++) { if (i > 0) b.append(','); value(b, values[i], inPlan, depth + 1); }
    b.append(']');
  }

  private void product(StringBuilder b, scala.Product tuple, boolean inPlan, int depth) {
    b.append('[');
    for (int i = 0; i < tuple.productArity(); i++) { if (i > 0) b.append(','); value(b, tuple.productElement(i), inPlan, depth + 1); }
    b.append(']');
  }

  private void describe(StringBuilder b, Object o, boolean inPlan, int depth) {
    b.append("{\"o\":");
    Json.text(b, o.getClass().getName());
    ArrayList rows = vocabulary.rows(o.getClass());
    for (int i = 0; i < rows.size(); i++) {
      String[] row = (String[]) rows.get(i);
      b.append(',');
      Json.text(b, row[0]);
      b.append(':');
      value(b, Reflection.chain(o, row[1], session), inPlan, depth + 1);
    }
    b.append('}');
  }
}

/** Reads the metrics of an execution's physical plan: what its scans read and what its writes wrote. */
final class Metrics {
  private final StringBuilder b;
  private boolean first = true;

  Metrics(StringBuilder b) { this.b = b; }

  void read(QueryExecution execution) {
    b.append(",\"metrics\":[");
    int start = b.length();
    try {
      ArrayDeque work = new ArrayDeque();
      IdentityHashMap seen = new IdentityHashMap();
      work.add(execution.executedPlan());
      while (!work.isEmpty() && seen.size() < 20000) {
        Object node = work.removeFirst();
        if (node == null || seen.put(node, Boolean.TRUE) != null) continue;
        visit(node);
        String simple = node.getClass().getSimpleName();
        if (simple.equals("AdaptiveSparkPlanExec")) { work.add(Reflection.call(node, "executedPlan")); }
        else if (simple.endsWith("QueryStageExec")) { work.add(Reflection.call(node, "plan")); }
        else if (simple.equals("CommandResultExec")) { work.add(Reflection.call(node, "commandPhysicalPlan")); }
        all(work, Reflection.call(node, "children"));
        all(work, Reflection.call(node, "subqueries"));
      }
    } catch (Exception unreadable) { b.setLength(start); }
    catch (StackOverflowError tooDeep) { b.setLength(start); }
    catch (LinkageError unreadable) { b.setLength(start); }
    b.append(']');
  }

  private static void all(ArrayDeque work, Object sequence) {
    if (!(sequence instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) sequence).iterator();
    while (it.hasNext()) { Object o = it.next(); if (o != null) work.add(o); }
  }

  private void visit(Object node) {
    String simple = node.getClass().getSimpleName();
    Object command = simple.equals("DataWritingCommandExec") ? Reflection.call(node, "cmd") : null;
    boolean writes = command != null || Reflection.has(node, "commitProgress");
    boolean scans = simple.indexOf("Scan") >= 0 && !simple.startsWith("InMemory");
    if (!writes && !scans) return;
    Object metrics = Reflection.call(command != null ? command : node, "metrics");
    if (!first) b.append(',');
    first = false;
    b.append("{\"c\":");
    Json.text(b, simple);
    b.append(",\"w\":").append(writes).append(",\"ids\":[");
    if (scans) ids(Reflection.call(node, "output"));
    b.append("],\"m\":{");
    boolean f = true;
    if (metrics instanceof scala.collection.Map) {
      scala.collection.Iterator it = ((scala.collection.Map) metrics).iterator();
      while (it.hasNext()) {
        scala.Tuple2 pair = (scala.Tuple2) it.next();
        String name = String.valueOf(pair._1());
        if (!name.startsWith("num") && !name.equals("filesSize")) continue;
        Object value = Reflection.call(pair._2(), "value");
        if (!(value instanceof Long)) continue;
        if (!f) b.append(',');
        f = false;
        Json.text(b, name);
        b.append(':').append(value);
      }
    }
    Object progress = writes && command == null ? Reflection.call(node, "commitProgress") : null;
    if (progress instanceof scala.Option && !((scala.Option) progress).isEmpty()) {
      Object rows = Reflection.call(((scala.Option) progress).get(), "numOutputRows");
      if (rows instanceof Long) { if (!f) b.append(','); b.append("\"committedRows\":").append(rows); }
    }
    b.append("}}");
  }

  private void ids(Object output) {
    if (!(output instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) output).iterator();
    boolean f = true;
    while (it.hasNext()) {
      Object o = it.next();
      if (!(o instanceof Attribute)) continue;
      if (!f) b.append(',');
      f = false;
      b.append(((Attribute) o).exprId().id());
    }
  }
}

/** Reads what has no common type over the Spark versions: by method name, and nothing but getters. */
final class Reflection {
  private static final HashMap METHODS = new HashMap();
  private static final HashMap NAMES = new HashMap();
  private static final Object ABSENT = new Object();

  static boolean has(Object o, String name) { return method(o.getClass(), name) != null; }

  static Object call(Object o, String name) {
    if (o == null) return null;
    java.lang.reflect.Method m = method(o.getClass(), name);
    if (m == null) return null;
    try { return m.invoke(o, new Object[0]); }
    catch (Exception refused) { return null; }
    catch (LinkageError refused) { return null; }
  }

  /** A constructor's parameter that a class, or one that it extends, keeps for itself. */
  static Object field(Object o, String name) {
    for (Class c = o == null ? null : o.getClass(); c != null; c = c.getSuperclass()) {
      java.lang.reflect.Field[] fields = c.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (!fields[i].getName().equals(name) && !fields[i].getName().endsWith("$$" + name)) continue;
        try { fields[i].setAccessible(true); return fields[i].get(o); }
        catch (Exception closed) { return null; }
      }
    }
    return null;
  }

  private static synchronized java.lang.reflect.Method method(Class type, String name) {
    String key = type.getName() + "#" + System.identityHashCode(type) + "#" + name;
    Object known = METHODS.get(key);
    if (known == null) {
      known = ABSENT;
      for (Class c = type; c != null && known == ABSENT; c = c.getSuperclass()) {
        try {
          java.lang.reflect.Method m = c == type ? open(c, name) : c.getDeclaredMethod(name, new Class[0]);
          m.setAccessible(true);
          known = m;
        } catch (NoSuchMethodException absent) { continue; }
        catch (RuntimeException closed) { continue; }
        catch (LinkageError broken) { continue; }
      }
      METHODS.put(key, known);
    }
    return known == ABSENT ? null : (java.lang.reflect.Method) known;
  }

  private static java.lang.reflect.Method open(Class type, String name) throws NoSuchMethodException {
    try { return type.getMethod(name, new Class[0]); }
    catch (NoSuchMethodException own) { return type.getDeclaredMethod(name, new Class[0]); }
  }

  /** A chain such as `location.rootPaths`, `options[url]`, or one of the readings that need more than a getter. */
  static Object chain(Object o, String chain, Object session) {
    if (chain.equals("#defaultPath")) return defaultPath(o, session);
    if (chain.startsWith("#table:")) return ofCatalog("getTableMetadata", chain(o, chain.substring(7), null), session);
    if (chain.startsWith("#path:")) return ofCatalog("defaultTablePath", call(o, chain.substring(6)), session);
    if (chain.equals("#sessionTable")) return ofCatalog("getTableMetadata", sessionTable(o), session);
    if (chain.equals("#sessionPath")) return ofCatalog("defaultTablePath", sessionTable(o), session);
    if (chain.equals("#rddSources")) return RddSources.of(o, false);
    if (chain.equals("#text")) return o.toString();
    Object at = o;
    String[] steps = chain.split("\\.");
    for (int i = 0; i < steps.length && at != null; i++) {
      String step = steps[i];
      int bracket = step.indexOf('[');
      String name = bracket < 0 ? step : step.substring(0, bracket);
      if (name.length() > 0) at = call(at, name);
      if (at instanceof scala.Option) at = ((scala.Option) at).isEmpty() ? null : ((scala.Option) at).get();
      if (bracket >= 0 && at != null) at = lookUp(at, chain.substring(chain.indexOf('[') + 1, chain.indexOf(']')));
      if (bracket >= 0) break;
    }
    return at;
  }

  private static Object lookUp(Object map, String key) {
    if (map instanceof scala.collection.Map) {
      scala.collection.Iterator it = ((scala.collection.Map) map).iterator();
      while (it.hasNext()) {
        scala.Tuple2 pair = (scala.Tuple2) it.next();
        if (key.equalsIgnoreCase(String.valueOf(pair._1()))) return pair._2();
      }
      return null;
    }
    if (map instanceof java.util.Map) {
      Iterator it = ((java.util.Map) map).entrySet().iterator();
      while (it.hasNext()) {
        java.util.Map.Entry pair = (java.util.Map.Entry) it.next();
        if (key.equalsIgnoreCase(String.valueOf(pair.getKey()))) return pair.getValue();
      }
    }
    return null;
  }

  /** Where a managed table that is still to be made will lie, from the session's catalog. */
  private static Object defaultPath(Object table, Object session) {
    Object uri = call(call(table, "storage"), "locationUri");
    if (uri instanceof scala.Option && !((scala.Option) uri).isEmpty()) return null;
    if ("VIEW".equals(call(call(table, "tableType"), "name"))) return null;
    return ofCatalog("defaultTablePath", call(table, "identifier"), session);
  }

  /** The session catalog's own identifier of a table that a DataSource V2 command names in `spark_catalog`. */
  private static Object sessionTable(Object resolved) {
    if (!"spark_catalog".equals(call(call(resolved, "catalog"), "name"))) return null;
    Object identifier = call(resolved, "identifier");
    Object namespace = call(identifier, "namespace");
    if (!(namespace instanceof String[]) || ((String[]) namespace).length != 1) return null;
    return new TableIdentifier(String.valueOf(call(identifier, "name")), scala.Option.apply(((String[]) namespace)[0]));
  }

  /** What the session's catalog says of a table's identifier; null where there is no such table or database. */
  private static Object ofCatalog(String question, Object identifier, Object session) {
    Object catalog = call(call(session, "sessionState"), "catalog");
    if (catalog == null || identifier == null) return null;
    java.lang.reflect.Method[] methods = catalog.getClass().getMethods();
    for (int i = 0; i < methods.length; i++) {
      Class[] parameters = methods[i].getParameterTypes();
      if (!methods[i].getName().equals(question) || parameters.length != 1 || !parameters[0].isInstance(identifier)) continue;
      try { return methods[i].invoke(catalog, new Object[] {identifier}); }
      catch (Exception absent) { return null; }
    }
    return null;
  }

  static synchronized String[] elementNames(Object product) {
    String[] names = (String[]) NAMES.get(product.getClass());
    if (names != null) return names;
    scala.Product p = (scala.Product) product;
    names = new String[p.productArity()];
    java.lang.reflect.Method byName = null;
    try { byName = product.getClass().getMethod("productElementName", new Class[] {Integer.TYPE}); } catch (NoSuchMethodException scala212) { byName = null; }
    for (int i = 0; i < names.length; i++) {
      names[i] = "_" + i;
      if (byName != null) try { names[i] = String.valueOf(byName.invoke(product, new Object[] {Integer.valueOf(i)})); } catch (Exception unnamed) { continue; }
    }
    if (byName == null) fromFields(p, names);
    NAMES.put(product.getClass(), names);
    return names;
  }

  /** Scala 2.12 keeps the parameters of a case class as fields in their order, behind those of its lazy values. */
  private static void fromFields(scala.Product p, String[] names) {
    HashSet lazy = new HashSet();
    java.lang.reflect.Method[] methods = p.getClass().getDeclaredMethods();
    for (int i = 0; i < methods.length; i++) {
      String name = methods[i].getName();
      if (name.endsWith("$lzycompute")) lazy.add(name.substring(0, name.length() - "$lzycompute".length()));
    }
    java.lang.reflect.Field[] fields = p.getClass().getDeclaredFields();
    int at = 0;
    for (int i = 0; i < fields.length && at < names.length; i++) {
      String name = fields[i].getName();
      if (java.lang.reflect.Modifier.isStatic(fields[i].getModifiers()) || name.startsWith("bitmap$") || lazy.contains(name)) continue;
      int qualified = name.lastIndexOf("$$");
      names[at++] = qualified < 0 ? name : name.substring(qualified + 2);
    }
  }
}

/** A job that no SQL execution owns. Only of one that is still running can the RDD and the function be had. */
final class RddJob {
  /** The stage with the job's result; null where the job has ended. */
  static Object finalStage(SparkContext context, int job) {
    Object jobs = context.dagScheduler().jobIdToActiveJob();
    scala.Option active = (scala.Option) ((scala.collection.Map) jobs).get(Integer.valueOf(job));
    return active.isEmpty() ? null : Reflection.call(active.get(), "finalStage");
  }

  /** What the function of Spark's one Hadoop writer holds of the write's configuration; null of another function. */
  static Object write(Object function) {
    java.lang.reflect.Field[] fields = function.getClass().getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      try {
        fields[i].setAccessible(true);
        Object held = fields[i].get(function);
        for (Class c = held == null ? null : held.getClass(); c != null; c = c.getSuperclass())
          if (c.getName().equals("org.apache.spark.internal.io.HadoopWriteConfigUtil")) return held;
      } catch (Exception closed) { continue; }
    }
    return null;
  }

  /** In full: the one of the new API is as the user wrote it. The writer has asked for the file system already. */
  static String path(Object write) {
    Object conf = Reflection.call(Reflection.field(write, "conf"), "value");
    String given = conf instanceof Configuration ? ((Configuration) conf).get("mapreduce.output.fileoutputformat.outputdir") : null;
    if (given == null) return null;
    Path path = new Path(given);
    try { return path.getFileSystem((Configuration) conf).makeQualified(path).toString(); }
    catch (java.io.IOException unreachable) { return given; }
  }

  static String format(Object write) {
    Object format = Reflection.field(write, "outputFormat");
    return format instanceof Class ? ((Class) format).getName() : null;
  }

  /** The paths that RDDs bear as their names. */
  static Object named(StageInfo stage) {
    ArrayList found = new ArrayList();
    scala.collection.Iterator rdds = ((scala.collection.Iterable) stage.rddInfos()).iterator();
    while (rdds.hasNext()) {
      String name = ((RDDInfo) rdds.next()).name();
      if (name.indexOf('/') >= 0 && !found.contains(name)) found.add(name);
    }
    return found.toArray();
  }

  /** How much a stage read, where none of it came from Spark's own cache. */
  static long recordsRead(StageInfo stage) {
    scala.collection.Iterator rdds = ((scala.collection.Iterable) stage.rddInfos()).iterator();
    while (rdds.hasNext()) if (((RDDInfo) rdds.next()).storageLevel().isValid()) return 0L;
    return stage.taskMetrics().inputMetrics().recordsRead();
  }
}

/** What an RDD's rows come from, by what its ancestors were made of; no partition is computed. */
final class RddSources {
  /** The RDDs whose rows were in the driver itself. */
  private static final String LOCAL = "ParallelCollectionRDD EmptyRDD";

  /** `submitted`: whether Spark has worked out the partitions, and a file can be told from a directory. */
  static Object of(Object start, boolean submitted) {
    ArrayList found = new ArrayList();
    HashSet known = new HashSet();
    ArrayDeque work = new ArrayDeque();
    IdentityHashMap seen = new IdentityHashMap();
    work.add(start);
    while (!work.isEmpty() && seen.size() < 5000) {
      Object rdd = work.removeFirst();
      if (seen.put(rdd, Boolean.TRUE) != null) continue;
      String simple = rdd.getClass().getSimpleName();
      int before = work.size();
      if (Reflection.has(rdd, "rdds")) each(work, Reflection.call(rdd, "rdds"));
      else if (Reflection.has(rdd, "prev")) add(work, Reflection.call(rdd, "prev"));
      else dependencies(work, rdd);
      if (simple.equals("FileScanRDD")) files(rdd, found, known);
      else if (rdd instanceof HadoopRDD) hadoop(rdd, submitted ? "inputSplit" : null, found, known);
      else if (rdd instanceof NewHadoopRDD) hadoop(rdd, submitted ? "serializableHadoopSplit" : null, found, known);
      else if (simple.equals("JDBCRDD")) jdbc(rdd, found);
      else if (work.size() == before && LOCAL.indexOf(simple) < 0 && known.add("?" + simple)) found.add("?" + simple);
    }
    return found.toArray();
  }

  private static void add(ArrayDeque work, Object o) { if (o != null) work.add(o); }

  private static void each(ArrayDeque work, Object sequence) {
    if (!(sequence instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) sequence).iterator();
    while (it.hasNext()) add(work, it.next());
  }

  private static void dependencies(ArrayDeque work, Object rdd) {
    Object all = Reflection.call(rdd, "dependencies");
    if (!(all instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) all).iterator();
    while (it.hasNext()) add(work, Reflection.call(it.next(), "rdd"));
  }

  /** Several files are the directories that they lie in, a single file is itself. */
  private static void files(Object rdd, ArrayList found, HashSet known) {
    Object partitions = Reflection.call(rdd, "filePartitions");
    if (!(partitions instanceof scala.collection.Iterable)) return;
    LinkedHashSet files = new LinkedHashSet();
    scala.collection.Iterator it = ((scala.collection.Iterable) partitions).iterator();
    while (it.hasNext() && files.size() < 10000) {
      Object each = Reflection.call(it.next(), "files");
      for (int i = 0; each instanceof Object[] && i < ((Object[]) each).length; i++) {
        Object path = Reflection.call(((Object[]) each)[i], "filePath");
        // Its own text is that of a URL, with percent signs for whatever is no part of one.
        files.add(String.valueOf(path != null && Reflection.has(path, "toPath") ? Reflection.call(path, "toPath") : path));
      }
    }
    Iterator paths = files.iterator();
    while (paths.hasNext()) {
      String path = (String) paths.next();
      if (files.size() > 1) path = path.substring(0, path.lastIndexOf('/'));
      if (known.add(path)) found.add(path);
    }
  }

  private static void jdbc(Object rdd, ArrayList found) {
    Object options = Reflection.field(rdd, "options");
    Object url = Reflection.call(options, "url");
    Object table = Reflection.call(options, "tableOrQuery");
    if (url != null && table != null) found.add(new Object[] {url, table});
    else found.add("?JDBCRDD");
  }

  /** The input paths; in place of a file, where that can be told, the directory that it lies in. */
  private static void hadoop(Object rdd, String split, ArrayList found, HashSet known) {
    Object conf = Reflection.call(rdd, "getConf");
    String all = conf instanceof Configuration ? ((Configuration) conf).get("mapreduce.input.fileinputformat.inputdir") : null;
    if (all == null) {
      String name = "?" + rdd.getClass().getSimpleName();
      if (known.add(name)) found.add(name);
      return;
    }
    HashSet files = new HashSet();
    if (split != null) splits(Reflection.field(rdd, "partitions_"), split, files);
    String[] paths = StringUtils.split(all);
    for (int i = 0; i < paths.length; i++) {
      String path = StringUtils.unEscapeString(paths[i]);
      if (files.contains(path)) path = path.substring(0, path.lastIndexOf('/'));
      if (known.add(path)) found.add(path);
    }
  }

  private static void splits(Object partitions, String split, HashSet files) {
    if (!(partitions instanceof Object[])) return;
    for (int i = 0; i < ((Object[]) partitions).length && i < 1000; i++) {
      Object of = Reflection.call(Reflection.call(((Object[]) partitions)[i], split), "value");
      Object one = Reflection.call(of, "getPath");
      if (one != null) files.add(String.valueOf(one));
      Object several = Reflection.call(of, "getPaths");
      for (int k = 0; several instanceof Object[] && k < ((Object[]) several).length && k < 1000; k++) files.add(String.valueOf(((Object[]) several)[k]));
    }
  }
}

/** Text as JSON. */
final class Json {
  static String cut(String s, int most) { return s == null || s.length() <= most ? s : s.substring(0, most) + "..."; }

  static void text(StringBuilder b, String s) {
    if (s == null) { b.append("null"); return; }
    b.append('"');
    int length = s.length();
    for (int i = 0; i < length; i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c >= ' ' && c < 0xd800) b.append(c);
      else {
        String hex = Integer.toHexString(c);
        b.append("\\u");
        for (int k = hex.length(); k < 4; k++) b.append('0');
        b.append(hex);
      }
    }
    b.append('"');
  }
}
