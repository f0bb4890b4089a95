package openlineage.pyspark;

import java.util.ArrayList;
import java.util.HashMap;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/**
 * Sums up what the tasks of an execution, or of an RDD-only job, read and wrote.
 *
 * The key is an execution's id, or -1 - id for an RDD-only job. Used only by the listener queue's single thread.
 */
final class TaskTotals {
  /** The indices of the totals of an owner. */
  static final int ROWS_WRITTEN = 0;
  static final int BYTES_WRITTEN = 1;
  static final int ROWS_READ = 2;
  private final HashMap totals = new HashMap();
  private final HashMap ownerOfStage = new HashMap();
  private final HashMap stagesOfJob = new HashMap();
  private final HashMap rddOfOwner = new HashMap();

  /** Returns the key of an RDD-only job. */
  static long ofRddJob(int job) {
    return -1L - job;
  }

  /** Counts the stages of a job for its owner from now on. */
  void begin(SparkListenerJobStart job, long owner) {
    ArrayList ids = new ArrayList();
    scala.collection.Iterator stages = ((scala.collection.Iterable) job.stageInfos()).iterator();
    while (stages.hasNext()) {
      Integer id = Integer.valueOf(((StageInfo) stages.next()).stageId());
      ids.add(id);
      ownerOfStage.put(id, Long.valueOf(owner));
    }
    stagesOfJob.put(Integer.valueOf(job.jobId()), ids);
    StageInfo last = RddJobs.lastStage(job);
    // The first RDD of a stage is the one that it computes.
    scala.collection.Iterator rdds = last == null ? null : ((scala.collection.Iterable) last.rddInfos()).iterator();
    if (owner >= 0 && rdds != null && rdds.hasNext()) {
      rddOfOwner.put(Long.valueOf(owner), Integer.valueOf(((RDDInfo) rdds.next()).id()));
    }
  }

  void add(StageInfo stage) {
    Long owner = (Long) ownerOfStage.get(Integer.valueOf(stage.stageId()));
    TaskMetrics metrics = stage.taskMetrics();
    if (owner == null || metrics == null) return;
    long rows = metrics.outputMetrics().recordsWritten();
    long bytes = metrics.outputMetrics().bytesWritten();
    long read = owner.longValue() < 0 ? rowsRead(stage) : 0L;
    if (rows == 0L && bytes == 0L && read == 0L) return;
    long[] sums = (long[]) totals.get(owner);
    if (sums == null) {
      sums = new long[3];
      totals.put(owner, sums);
    }
    sums[ROWS_WRITTEN] += rows;
    sums[BYTES_WRITTEN] += bytes;
    sums[ROWS_READ] += read;
  }

  /** Removes the stages of a job; its owner keeps what they counted. */
  void end(int job) {
    ArrayList stages = (ArrayList) stagesOfJob.remove(Integer.valueOf(job));
    for (int i = 0; stages != null && i < stages.size(); i++) ownerOfStage.remove(stages.get(i));
  }

  /** Removes and returns the totals of an owner; null if its tasks counted nothing. */
  long[] remove(long owner) {
    return (long[]) totals.remove(Long.valueOf(owner));
  }

  /** Removes and returns the number of the RDD that the last job of an execution computed; null if it had no job. */
  Integer removeRdd(long execution) {
    return (Integer) rddOfOwner.remove(Long.valueOf(execution));
  }

  /** Returns how much a stage read, if none of it came from Spark's own cache. */
  private static long rowsRead(StageInfo stage) {
    scala.collection.Iterator rdds = ((scala.collection.Iterable) stage.rddInfos()).iterator();
    while (rdds.hasNext()) {
      if (((RDDInfo) rdds.next()).storageLevel().isValid()) return 0L;
    }
    return stage.taskMetrics().inputMetrics().recordsRead();
  }
}
