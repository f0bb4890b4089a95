package openlineage.pyspark;

import java.io.Writer;
import java.util.Arrays;

/** Collects what is written to it as a text; unlike a `StringWriter`, without taking a lock each time. */
final class TextWriter extends Writer {
  private char[] written = new char[1024];
  private int length = 0;

  public void write(char[] text, int begin, int count) {
    int end = length + count;
    if (end > written.length) written = Arrays.copyOf(written, Math.max(end, 2 * written.length));
    System.arraycopy(text, begin, written, length, count);
    length = end;
  }

  public void flush() {
    // Nothing is held back.
  }

  public void close() {
    // Nothing is open.
  }

  int length() {
    return length;
  }

  /** Discards what was written after this length. */
  void cut(int shorter) {
    length = shorter;
  }

  public String toString() {
    return new String(written, 0, length);
  }
}
