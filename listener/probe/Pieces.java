package openlineage.pyspark;

import java.util.ArrayList;

/**
 * Cuts a text into pieces that Python reads one by one. py4j writes an answer of more than 8,192 bytes in two parts,
 * and TCP holds the second one back until the other side acknowledges the first, some 40 ms later (Nagle's algorithm).
 */
final class Pieces {
  /** How long a piece is at most, in bytes as py4j writes them; the answer's own marks need a few more. */
  private static final int BYTES = 8000;

  private Pieces() {}

  /** Returns the pieces of a text: at least one. */
  static String[] of(String text) {
    ArrayList pieces = new ArrayList();
    int begin = 0;
    int bytes = 0;
    for (int at = 0; at < text.length(); at++) {
      int more = written(text.charAt(at));
      if (bytes + more > BYTES) {
        pieces.add(text.substring(begin, at));
        begin = at;
        bytes = 0;
      }
      bytes += more;
    }
    pieces.add(text.substring(begin));
    return (String[]) pieces.toArray(new String[0]);
  }

  /** Returns how many bytes py4j writes for a character: it escapes backslashes and line ends, and writes UTF-8. */
  private static int written(char character) {
    if (character == '\\' || character == '\n' || character == '\r') return 2;
    return character < 0x80 ? 1 : character < 0x800 ? 2 : 3;
  }
}
