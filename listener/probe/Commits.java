package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructField;

/**
 * Finds the commits to tables that an execution may have made: only from objects in memory, by their private fields.
 * Getters of Iceberg and Delta Lake that may load metadata are not called.
 */
final class Commits {
  private static final int MOST = 100;
  private static final int MOST_TEXT = 10000;
  // Delta Lake's commands that commit, and may do so without a task that writes rows.
  private static final List WRITING =
      Arrays.asList(
          new String[] {
            "RestoreTableCommand", "CreateDeltaTableCommand", "ConvertToDeltaCommand", "OptimizeTableCommand"
          });
  // The streaming query and its batch; null for any other execution.
  private final Object query;
  private final Object batch;
  private final long began;
  private final long ended;
  private final JsonText commits;
  private final Set seen = Collections.newSetFromMap(new IdentityHashMap());
  private int count = 0;

  private Commits(QueryExecution execution, long began, long ended) throws IOException {
    query = Reflection.call(execution, "queryId");
    batch = Reflection.call(execution, "currentBatchId");
    this.began = began;
    this.ended = ended;
    commits = new JsonText();
    commits.writeStartArray();
  }

  /**
   * Returns the commits as a JSON array; null if there are none. `nodes`: those of the physical plan; `wrote`: whether
   * tasks of the execution, or of an execution inside it, have written rows.
   */
  static String of(QueryExecution execution, ArrayList nodes, long began, long ended, boolean wrote)
      throws IOException {
    Commits found = new Commits(execution, began, ended);
    String application = String.valueOf(Chain.read(execution, "sparkSession.sparkContext.applicationId", null));
    for (int i = 0; i < nodes.size(); i++) found.iceberg(nodes.get(i), application);
    Object plan = Reflection.call(execution, "analyzed");
    found.call(plan);
    found.delta(wrote || (plan != null && WRITING.contains(plan.getClass().getSimpleName())));
    return found.count == 0 ? null : found.end();
  }

  private String end() throws IOException {
    commits.writeEndArray();
    return commits.end();
  }

  /**
   * Writes the snapshots that this application created in this time, in the table or branch that a node writes. The
   * snapshots of a streaming query are marked with its batch, and belong to no other execution.
   */
  private void iceberg(Object node, String application) throws IOException {
    Object write = IcebergTables.writeOf(node);
    Object table = IcebergTables.tableOf(write);
    Object metadata = IcebergTables.metadata(table);
    if (metadata == null || !seen.add(metadata)) return;
    Object branch = Reflection.field(write, "branch");
    ArrayList snapshots = IcebergTables.between(metadata, branch, began, ended);
    for (int i = 0; i < snapshots.size() && count < MOST; i++) {
      Object snapshot = snapshots.get(i);
      Object summary = Reflection.call(snapshot, "summary");
      Object marked = Chain.lookUp(summary, "spark.sql.streaming.queryId");
      Object epoch = Chain.lookUp(summary, "spark.sql.streaming.epochId");
      if (!application.equals(Chain.lookUp(summary, "spark.app.id"))) continue;
      if (marked != null && !(same(marked, query) && same(epoch, batch))) continue;
      Object parent = Reflection.call(snapshot, "parentId");
      if (parent == null) parent = IcebergTables.replaced(table);
      begin("iceberg", Reflection.field(metadata, "location"), Reflection.call(snapshot, "snapshotId"), parent);
      commits.writeTextField("id", Reflection.field(metadata, "uuid"));
      commits.writeTextField("table", Reflection.call(table, "name"));
      commits.writeTextField("operation", Reflection.call(snapshot, "operation"));
      commits.writeTextField("branch", branch);
      commits.writeTextField("query", marked);
      commits.writeWholeField("time", Reflection.call(snapshot, "timestampMillis"));
      commits.writeWholeField("rows", Chain.lookUp(summary, "added-records"));
      commits.writeWholeField("bytes", Chain.lookUp(summary, "added-files-size"));
      commits.writeEndObject();
    }
  }

  /** Writes the snapshot that a CALL has made current: it may be an older one, to which the table is rolled back. */
  private void call(Object plan) throws IOException {
    if (plan == null || !plan.getClass().getSimpleName().equals("Call")) return;
    Object metadata = IcebergTables.called(plan);
    Object[] log = metadata == null ? new Object[0] : IcebergTables.log(metadata);
    if (log.length == 0) return;
    Object last = log[log.length - 1];
    Object time = Reflection.call(last, "timestampMillis");
    if (!(time instanceof Long) || ((Long) time).longValue() < began || ((Long) time).longValue() > ended) return;
    Object id = Reflection.call(last, "snapshotId");
    Object snapshot = IcebergTables.snapshot(metadata, id);
    Object made = Reflection.call(snapshot, "timestampMillis");
    boolean older = made instanceof Long && ((Long) made).longValue() < began;
    boolean again = false;
    for (int i = 0; older && i < log.length - 1; i++) again = again || same(id, Reflection.call(log[i], "snapshotId"));
    Object before = log.length < 2 ? null : Reflection.call(log[log.length - 2], "snapshotId");
    begin("iceberg", Reflection.field(metadata, "location"), id, before);
    commits.writeTextField("id", Reflection.field(metadata, "uuid"));
    commits.writeTextField("operation", again ? "rollback" : Reflection.call(snapshot, "operation"));
    commits.writeWholeField("time", time);
    commits.writeEndObject();
  }

  private static boolean same(Object one, Object other) {
    return String.valueOf(one).equals(String.valueOf(other));
  }

  /** Writes the version of each Delta table that this JVM has committed in this time. */
  private void delta(boolean wrote) throws IOException {
    ArrayList logs = DeltaLogs.changed(began);
    for (int i = 0; i < logs.size() && count < MOST; i++) {
      DeltaLogs log = (DeltaLogs) logs.get(i);
      long version = log.committed(began, ended, wrote);
      if (version < 0) continue;
      begin("delta", log.path, Long.valueOf(version), version == 0 ? null : Long.valueOf(version - 1));
      commits.writeTextField("id", log.id());
      if (batch != null && log.has(query, batch)) commits.writeTextField("query", query);
      commits.writeWholeField("time", log.time(version));
      generated(log.generated());
      commits.writeEndObject();
    }
  }

  private void generated(ArrayList fields) throws IOException {
    if (fields.isEmpty()) return;
    commits.writeArrayFieldStart("generated");
    for (int i = 0; i < fields.size() && i < MOST; i++) {
      StructField field = (StructField) fields.get(i);
      commits.writeStartObject();
      commits.writeStringField("name", field.name());
      commits.writeStringField("type", Encoder.spelling(field.dataType()));
      commits.writeStringField("expression", JsonText.cut(Chain.generation(field), MOST_TEXT));
      commits.writeEndObject();
    }
    commits.writeEndArray();
  }

  private void begin(String format, Object location, Object version, Object parent) throws IOException {
    count++;
    commits.writeStartObject();
    commits.writeStringField("format", format);
    commits.writeStringField("location", String.valueOf(location));
    commits.writeStringField("version", String.valueOf(version));
    commits.writeTextField("parent", parent);
  }
}
