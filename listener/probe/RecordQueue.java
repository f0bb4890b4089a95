package openlineage.pyspark;

import com.codahale.metrics.Counter;
import java.io.IOException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Keeps the records until Python takes them, within a bound. */
final class RecordQueue {
  /** What may wait is at most one part in so many of the driver's heap, which is the job's. */
  private static final long SHARE_OF_HEAP = 16L;
  /** A batch is no longer than this and one record more, in characters. */
  private static final int BATCH = 4000000;
  private final LinkedBlockingQueue records = new LinkedBlockingQueue();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicLong lost = new AtomicLong();
  private final long maxWaiting;
  // Spark's own count of the events that it dropped; touched by the thread that takes records only.
  private Counter dropped;
  private long droppedBefore;
  private long droppedReported;
  // What was taken last, until the next call says that it has arrived.
  private String batch;
  private long batchNumber;

  RecordQueue(long maxWaiting) {
    this.maxWaiting = Math.min(maxWaiting, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
  }

  /** Report what this counter counts from now on. */
  void watch(Counter dropped) {
    this.dropped = dropped;
    droppedBefore = dropped.getCount();
  }

  void add(String record) {
    if (waiting.get() + record.length() > maxWaiting) {
      lost.incrementAndGet();
      return;
    }
    waiting.addAndGet(record.length());
    records.add(record);
  }

  /** Make a `take` that waits return at once. */
  void wake() {
    records.add("");
  }

  /** How many records were dropped because nobody took them. */
  long lost() {
    return lost.get();
  }

  /**
   * The records that wait, one a line, oldest first, below a line with the number of the batch; empty when none came
   * within the time. A batch that is not acknowledged is given once more: its answer was lost with a connection.
   */
  synchronized String take(long acknowledged, long waitMillis) throws InterruptedException, IOException {
    if (acknowledged < batchNumber) return batch;
    batch = null;
    String taken = next(waitMillis);
    if (taken.length() == 0) return "";
    batchNumber++;
    batch = batchNumber + "\n" + taken;
    return batch;
  }

  private String next(long waitMillis) throws InterruptedException, IOException {
    String first = (String) records.poll(waitMillis, TimeUnit.MILLISECONDS);
    StringBuilder out = new StringBuilder();
    long now = dropped == null ? 0L : dropped.getCount() - droppedBefore;
    if (now > droppedReported) {
      droppedReported = now;
      out.append(droppedRecord(now)).append('\n');
    }
    if (first == null) return out.toString();
    out.append(first);
    waiting.addAndGet(-first.length());
    while (out.length() < BATCH) {
      String next = (String) records.poll();
      if (next == null) break;
      waiting.addAndGet(-next.length());
      out.append('\n').append(next);
    }
    return out.toString();
  }

  private static String droppedRecord(long count) throws IOException {
    JsonText record = JsonText.record("dropped");
    record.writeNumberField("count", count);
    return record.end();
  }
}
