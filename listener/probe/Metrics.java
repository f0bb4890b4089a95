package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.QueryExecution;

/** Reads the metrics of an execution's physical plan: what its scans read and what its writes wrote. */
final class Metrics {
  private static final int MOST_NODES = 20000;
  private static final String NONE = "[]";
  private final JsonText metrics;
  private final ArrayDeque work = new ArrayDeque();
  private final ArrayList nodes;

  private Metrics(ArrayList nodes) throws IOException {
    metrics = new JsonText();
    this.nodes = nodes;
  }

  /** Returns the metrics as a JSON array, and adds the plan's nodes; an empty array if the plan can't be read. */
  static String of(QueryExecution execution, ArrayList nodes) throws IOException {
    try {
      return new Metrics(nodes).read(execution);
    } catch (Exception unreadable) {
      return NONE;
    } catch (StackOverflowError tooDeep) {
      return NONE;
    } catch (LinkageError unreadable) {
      return NONE;
    }
  }

  private String read(QueryExecution execution) throws IOException {
    metrics.writeStartArray();
    IdentityHashMap seen = new IdentityHashMap();
    add(execution.executedPlan());
    while (!work.isEmpty() && seen.size() < MOST_NODES) {
      Object node = work.removeFirst();
      if (seen.put(node, Boolean.TRUE) != null) continue;
      nodes.add(node);
      visit(node);
      String simple = node.getClass().getSimpleName();
      if (simple.equals("AdaptiveSparkPlanExec")) add(Reflection.call(node, "executedPlan"));
      else if (simple.endsWith("QueryStageExec")) add(Reflection.call(node, "plan"));
      else if (simple.equals("CommandResultExec")) add(Reflection.call(node, "commandPhysicalPlan"));
      addAll(Reflection.call(node, "children"));
      addAll(Reflection.call(node, "subqueries"));
    }
    return metrics.end();
  }

  private void add(Object node) {
    if (node != null) work.add(node);
  }

  private void addAll(Object sequence) {
    if (!(sequence instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) sequence).iterator();
    while (it.hasNext()) add(it.next());
  }

  private void visit(Object node) throws IOException {
    String simple = node.getClass().getSimpleName();
    Object command = simple.equals("DataWritingCommandExec") ? Reflection.call(node, "cmd") : null;
    boolean writes = command != null || Reflection.has(node, "commitProgress");
    boolean scans = simple.indexOf("Scan") >= 0 && !simple.startsWith("InMemory");
    if (!writes && !scans) return;
    metrics.writeStartObject();
    metrics.writeBooleanField("w", writes);
    metrics.writeArrayFieldStart("ids");
    if (scans) ids(Reflection.call(node, "output"));
    metrics.writeEndArray();
    if (scans) metrics.writeTextField("version", version(node));
    metrics.writeObjectFieldStart("m");
    numbers(Reflection.call(command != null ? command : node, "metrics"));
    if (writes && command == null) committed(Reflection.call(node, "commitProgress"));
    metrics.writeEndObject();
    metrics.writeEndObject();
  }

  /** Returns the version of its table that a batch scan has read; null if it is unknown. */
  private static Object version(Object node) {
    if (node.getClass().getSimpleName().indexOf("MicroBatch") >= 0) return null;
    Object snapshot = IcebergTables.scanned(Reflection.call(node, "scan"));
    return snapshot == null ? DeltaLogs.scanned(Reflection.call(node, "relation")) : snapshot;
  }

  private void ids(Object output) throws IOException {
    if (!(output instanceof scala.collection.Iterable)) return;
    scala.collection.Iterator it = ((scala.collection.Iterable) output).iterator();
    while (it.hasNext()) {
      Object column = it.next();
      if (column instanceof Attribute) metrics.writeNumber(((Attribute) column).exprId().id());
    }
  }

  private void numbers(Object byName) throws IOException {
    if (!(byName instanceof scala.collection.Map)) return;
    scala.collection.Iterator it = ((scala.collection.Map) byName).iterator();
    while (it.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) it.next();
      String name = String.valueOf(pair._1());
      if (!name.startsWith("num") && !name.equals("filesSize")) continue;
      Object value = Reflection.call(pair._2(), "value");
      if (value instanceof Long) metrics.writeNumberField(name, ((Long) value).longValue());
    }
  }

  private void committed(Object progress) throws IOException {
    if (!(progress instanceof scala.Option) || ((scala.Option) progress).isEmpty()) return;
    Object rows = Reflection.call(((scala.Option) progress).get(), "numOutputRows");
    if (rows instanceof Long) metrics.writeNumberField("committedRows", ((Long) rows).longValue());
  }
}
