package openlineage.pyspark;

import java.io.IOException;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Writes the records of streaming queries, whose classes differ between Spark versions. */
final class Streams {
  private static final String STARTED = "QueryStartedEvent";
  private static final String TERMINATED = "QueryTerminatedEvent";
  private static final String EXCEPTION = "org.apache.spark.sql.streaming.StreamingQueryException";

  /** Returns the record of the start or end of a query's run; null for any other event. */
  static String record(SparkListenerEvent event) throws IOException {
    String name = event.getClass().getSimpleName();
    if (!name.equals(STARTED) && !name.equals(TERMINATED)) return null;
    Object run = Reflection.call(event, "runId");
    if (run == null) return null;
    JsonText record = JsonText.record("stream");
    record.writeStringField("event", name);
    record.writeNumberField("time", System.currentTimeMillis());
    record.writeStringField("run", run.toString());
    Object query = Reflection.call(event, "name");
    if (query != null) record.writeStringField("name", query.toString());
    Object exception = Reflection.call(event, "exception");
    if (exception instanceof scala.Option && !((scala.Option) exception).isEmpty()) {
      String text = String.valueOf(((scala.Option) exception).get());
      int line = text.indexOf('\n');
      Failures.write(record, EXCEPTION, line < 0 ? text : text.substring(0, line), text);
    }
    return record.end();
  }
}
