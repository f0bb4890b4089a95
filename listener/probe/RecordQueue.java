package openlineage.pyspark;

import com.codahale.metrics.Counter;
import java.io.IOException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Keeps the records until Python takes them, up to a limit. */
final class RecordQueue {
  /** Waiting records may take at most this fraction (1/n) of the driver's heap, which belongs to the job. */
  private static final long SHARE_OF_HEAP = 16L;
  /** A batch is at most this many characters plus one record long. */
  private static final int BATCH = 4000000;
  private final LinkedBlockingQueue records = new LinkedBlockingQueue();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicLong lost = new AtomicLong();
  private final long maxWaiting;
  // Spark's own count of the events that it dropped; used only by the thread that takes records.
  private Counter dropped;
  private long droppedBefore;
  private long droppedReported;
  // The last batch that was taken, until the next call acknowledges it.
  private String[] batch;
  private long batchNumber;

  RecordQueue(long maxWaiting) {
    this.maxWaiting = Math.min(maxWaiting, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
  }

  /** Reports the number of this counter from now on. */
  void watch(Counter dropped) {
    this.dropped = dropped;
    droppedBefore = dropped.getCount();
  }

  /** Returns whether there was room for the record; if not, it is counted as lost. */
  boolean add(String record) {
    if (waiting.get() + record.length() > maxWaiting) {
      lost.incrementAndGet();
      return false;
    }
    waiting.addAndGet(record.length());
    records.add(record);
    return true;
  }

  /** Makes a waiting `take` return at once. */
  void wake() {
    records.add("");
  }

  /** Returns how many records were dropped because nobody took them. */
  long lost() {
    return lost.get();
  }

  /**
   * Returns the head of a batch: its number and how many pieces it has; empty if no record came in time. The batch is
   * the waiting records, one per line, oldest first. A batch that was not acknowledged is returned again: its answer
   * was lost with a connection.
   */
  synchronized String take(long acknowledged, long waitMillis) throws InterruptedException, IOException {
    if (acknowledged == batchNumber) {
      batch = null;
      String taken = next(waitMillis);
      if (taken.length() == 0) return "";
      batchNumber++;
      batch = Pieces.of(taken);
    }
    return batchNumber + " " + batch.length;
  }

  /** Returns one piece of the last batch; the first one is 0. */
  synchronized String piece(int number) {
    return batch[number];
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
