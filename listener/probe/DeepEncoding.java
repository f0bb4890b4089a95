package openlineage.pyspark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Encodes a plan, on a thread with a larger stack if Catalyst's own recursion over an expression needs it. */
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

  /** Returns the encoding of a plan, in which nodes that were too deep for both threads are marked as broken. */
  static String of(Vocabulary vocabulary, Object session, LogicalPlan plan, long began) throws IOException {
    Encoder encoder = new Encoder(vocabulary, session, began);
    String encoded = encoder.encode(plan);
    if (!encoder.overflowed) return encoded;
    DeepEncoding deep = new DeepEncoding(new Encoder(vocabulary, session, began), plan);
    deep.setDaemon(true);
    try {
      deep.start();
      deep.join();
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
      return encoded;
    } catch (OutOfMemoryError threadless) {
      return encoded;
    }
    return deep.encoded == null ? encoded : deep.encoded;
  }

  public void run() {
    try {
      encoded = encoder.encode(plan);
    } catch (Exception unreadable) {
      encoded = null;
    } catch (Error unreadable) {
      encoded = null;
    }
  }
}
