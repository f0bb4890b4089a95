package openlineage.pyspark;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/** Writes the records of jobs outside of SQL executions. Only a running job still has its RDD and its function. */
final class RddJobs {
  private final Vocabulary vocabulary;
  private final boolean reads;
  private SparkContext context;
  // The jobs whose start was recorded. Used only by the listener queue's single thread.
  private final HashSet begun = new HashSet();

  RddJobs(Vocabulary vocabulary, boolean reads) {
    this.vocabulary = vocabulary;
    this.reads = reads;
  }

  void watch(SparkContext context) {
    this.context = context;
  }

  /** Returns the record of a job's start; null for a job that does not matter. */
  String start(SparkListenerJobStart event) throws IOException {
    StageInfo last = lastStage(event);
    if (last == null) return null;
    Object stage = finalStage(event.jobId());
    Object function = Reflection.call(stage, "func");
    Object write = function == null ? null : write(function);
    // For a job that has already ended, only the content of the event is left.
    boolean writes = write != null || (stage == null && last.details().indexOf("SparkHadoopWriter") >= 0);
    // Spark SQL runs such jobs to find the schema of files.
    boolean reader = reads && function != null && !last.details().startsWith("org.apache.spark.sql.");
    if (!writes && !reader) return null;
    Object sources = stage == null ? pathsIn(last) : RddSources.of(Reflection.call(stage, "rdd"), true);
    JsonText record = JsonText.record("rdd_start");
    record.writeNumberField("job", event.jobId());
    record.writeNumberField("time", event.time());
    record.writeBooleanField("write", writes);
    if (Executions.savesModel(last.details())) record.writeBooleanField("model", true);
    record.writeStringField("path", path(write));
    record.writeStringField("format", format(write));
    record.writeFieldName("sources");
    new Encoder(vocabulary, null, 0L).value(record, sources, false, 0);
    begun.add(Integer.valueOf(event.jobId()));
    return record.end();
  }

  /** Returns the record of a job's end; null if its start has none. `totals`: what its tasks counted, or null. */
  String end(SparkListenerJobEnd event, long[] totals) throws IOException {
    if (!begun.remove(Integer.valueOf(event.jobId()))) return null;
    JsonText record = JsonText.record("rdd_end");
    record.writeNumberField("job", event.jobId());
    record.writeNumberField("time", event.time());
    Object failure = Reflection.call(event.jobResult(), "exception");
    if (failure instanceof Throwable) Failures.write(record, (Throwable) failure);
    if (totals != null) {
      Executions.writeWritten(record, totals);
      record.writeNumberField("read", totals[TaskTotals.ROWS_READ]);
    }
    return record.end();
  }

  /** Returns the stage of a job that has the result; null if it has no stage. */
  static StageInfo lastStage(SparkListenerJobStart event) {
    StageInfo last = null;
    scala.collection.Iterator stages = ((scala.collection.Iterable) event.stageInfos()).iterator();
    while (stages.hasNext()) {
      StageInfo stage = (StageInfo) stages.next();
      if (last == null || stage.stageId() > last.stageId()) last = stage;
    }
    return last;
  }

  /** Returns the job's result stage; null if the job has ended. */
  private Object finalStage(int job) {
    Object jobs = context.dagScheduler().jobIdToActiveJob();
    scala.Option active = (scala.Option) ((scala.collection.Map) jobs).get(Integer.valueOf(job));
    return active.isEmpty() ? null : Reflection.call(active.get(), "finalStage");
  }

  /** Returns the write configuration that the function of Spark's Hadoop writer holds; null for any other function. */
  private static Object write(Object function) {
    Field[] fields = function.getClass().getDeclaredFields();
    for (int i = 0; i < fields.length; i++) {
      try {
        fields[i].setAccessible(true);
        Object held = fields[i].get(function);
        for (Class c = held == null ? null : held.getClass(); c != null; c = c.getSuperclass()) {
          if (c.getName().equals("org.apache.spark.internal.io.HadoopWriteConfigUtil")) return held;
        }
      } catch (Exception closed) {
        continue;
      }
    }
    return null;
  }

  /** Returns the path in full: the new API keeps it as the user wrote it. The writer already uses the file system. */
  private static String path(Object write) {
    Object conf = Reflection.call(Reflection.field(write, "conf"), "value");
    if (!(conf instanceof Configuration)) return null;
    String given = ((Configuration) conf).get("mapreduce.output.fileoutputformat.outputdir");
    if (given == null) return null;
    Path path = new Path(given);
    try {
      return path.getFileSystem((Configuration) conf).makeQualified(path).toString();
    } catch (IOException unreachable) {
      return given;
    }
  }

  private static String format(Object write) {
    Object format = Reflection.field(write, "outputFormat");
    return format instanceof Class ? ((Class) format).getName() : null;
  }

  /** Returns the paths that RDDs have as their names. */
  private static Object pathsIn(StageInfo stage) {
    ArrayList found = new ArrayList();
    scala.collection.Iterator rdds = ((scala.collection.Iterable) stage.rddInfos()).iterator();
    while (rdds.hasNext()) {
      String name = ((RDDInfo) rdds.next()).name();
      if (name.indexOf('/') >= 0 && !found.contains(name)) found.add(name);
    }
    return found.toArray();
  }
}
