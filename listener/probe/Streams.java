package openlineage.pyspark;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Writes the records of streaming queries, whose classes differ between Spark versions. */
final class Streams {
  private static final String STARTED = "QueryStartedEvent";
  private static final String PROGRESS = "QueryProgressEvent";
  private static final String TERMINATED = "QueryTerminatedEvent";
  private static final String EXCEPTION = "org.apache.spark.sql.streaming.StreamingQueryException";
  private static final int MOST_SOURCES = 100;
  private static final int LONGEST_DESCRIPTION = 2000;
  /** A longer offset is left out, because half of it would not be JSON. */
  private static final int LONGEST_OFFSET = 65536;
  /** The most characters of the offsets of one record; what comes after them is left out. */
  private static final int MOST_OFFSETS = 500000;
  /** The directory of a query's state, below its checkpoint. */
  private static final String STATE = "/state";
  /** Represents an offset that is left out; a separate object. */
  private static final String CUT = new String("");

  /** Returns the record of the start, the progress or the end of a query's run; null for any other event. */
  static String record(SparkListenerEvent event) throws IOException {
    String name = event.getClass().getSimpleName();
    if (name.equals(PROGRESS)) return progress(Reflection.call(event, "progress"));
    if (!name.equals(STARTED) && !name.equals(TERMINATED)) return null;
    Object run = Reflection.call(event, "runId");
    if (run == null) return null;
    JsonText record = JsonText.record("stream");
    record.writeStringField("event", name);
    record.writeNumberField("time", System.currentTimeMillis());
    record.writeStringField("run", run.toString());
    record.writeTextField("query", Reflection.call(event, "id"));
    record.writeTextField("name", Reflection.call(event, "name"));
    Object exception = Reflection.call(event, "exception");
    if (exception instanceof scala.Option && !((scala.Option) exception).isEmpty()) {
      String text = String.valueOf(((scala.Option) exception).get());
      int line = text.indexOf('\n');
      Failures.write(record, EXCEPTION, line < 0 ? text : text.substring(0, line), text);
    }
    return record.end();
  }

  /** Writes which micro-batch an execution is, and of which query. */
  static void batch(JsonText record, Object execution) throws IOException {
    Object id = Reflection.call(execution, "currentBatchId");
    Object query = Reflection.call(execution, "queryId");
    if (!(id instanceof Long) || query == null) return;
    Object state = Reflection.call(execution, "checkpointLocation");
    record.writeObjectFieldStart("batch");
    record.writeNumberField("id", ((Long) id).longValue());
    record.writeStringField("query", query.toString());
    if (state instanceof String && ((String) state).endsWith(STATE)) {
      String place = (String) state;
      record.writeStringField("checkpoint", place.substring(0, place.length() - STATE.length()));
    }
    record.writeEndObject();
  }

  /** Returns the record of a StreamingQueryProgress. The user's observed metrics are data, and are not read. */
  private static String progress(Object progress) throws IOException {
    Object run = Reflection.call(progress, "runId");
    Object batch = Reflection.call(progress, "batchId");
    if (run == null || !(batch instanceof Long)) return null;
    JsonText record = JsonText.record("progress");
    record.writeNumberField("time", System.currentTimeMillis());
    record.writeStringField("run", run.toString());
    record.writeTextField("query", Reflection.call(progress, "id"));
    record.writeTextField("name", Reflection.call(progress, "name"));
    record.writeNumberField("batch", ((Long) batch).longValue());
    record.writeTextField("began", Reflection.call(progress, "timestamp"));
    record.writeWholeField("rows", Reflection.call(progress, "numInputRows"));
    durations(record, Reflection.call(progress, "durationMs"));
    Object times = Reflection.call(progress, "eventTime");
    if (times instanceof Map) record.writeTextField("watermark", ((Map) times).get("watermark"));
    sources(record, Reflection.call(progress, "sources"));
    Object sink = Reflection.call(Reflection.call(progress, "sink"), "description");
    if (sink != null) record.writeStringField("sink", JsonText.cut(sink.toString(), LONGEST_DESCRIPTION));
    return record.end();
  }

  private static void durations(JsonText record, Object durations) throws IOException {
    if (!(durations instanceof Map)) return;
    record.writeWholeField("duration", ((Map) durations).get("triggerExecution"));
    // Only a trigger that has run a batch has spent time on it.
    if (((Map) durations).get("addBatch") != null) record.writeBooleanField("executed", true);
  }

  private static void sources(JsonText record, Object sources) throws IOException {
    if (!(sources instanceof Object[])) return;
    Object[] all = (Object[]) sources;
    long room = MOST_OFFSETS;
    record.writeArrayFieldStart("sources");
    for (int i = 0; i < all.length && i < MOST_SOURCES; i++) {
      record.writeStartObject();
      Object description = Reflection.call(all[i], "description");
      record.writeStringField("description", JsonText.cut(String.valueOf(description), LONGEST_DESCRIPTION));
      record.writeWholeField("rows", Reflection.call(all[i], "numInputRows"));
      String from = offset(Reflection.call(all[i], "startOffset"), room);
      if (from != null) room -= from.length();
      String to = offset(Reflection.call(all[i], "endOffset"), room);
      if (to != null) room -= to.length();
      boolean cut = from == CUT || to == CUT;
      if (from != CUT) record.writeTextField("from", from);
      if (to != CUT) record.writeTextField("to", to);
      if (cut) record.writeBooleanField("cut", true);
      record.writeEndObject();
    }
    record.writeEndArray();
    if (all.length > MOST_SOURCES) record.writeBooleanField("cut", true);
  }

  /** Returns an offset; null if there is none, and CUT if it is too long. */
  private static String offset(Object offset, long room) {
    if (!(offset instanceof String)) return null;
    String text = (String) offset;
    return text.length() > LONGEST_OFFSET || text.length() > room ? CUT : text;
  }
}
