package openlineage.pyspark;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;

/**
 * Cuts a text into pieces that Python reads one by one. py4j writes an answer of more than 8,192 bytes in two parts,
 * and TCP holds the second one back until the other side acknowledges the first, some 40 ms later (Nagle's algorithm).
 */
final class Pieces {
  /** The maximum length of a piece, in bytes as py4j writes them; the marks of the answer need a few more. */
  private static final int BYTES = 8000;
  /** The maximum number of characters of a piece; most of them take one byte. */
  private static final int LIKELY = 7800;

  /** Returns the pieces of a text: at least one. */
  static String[] of(String text) {
    ArrayList pieces = new ArrayList();
    int begin = 0;
    do {
      int end = end(text, begin);
      pieces.add(text.substring(begin, end));
      begin = end;
    } while (begin < text.length());
    return (String[]) pieces.toArray(new String[0]);
  }

  /** Returns where a piece ends that begins there: counting its bytes one by one is slow, and seldom needed. */
  private static int end(String text, int begin) {
    int likely = Math.min(begin + LIKELY, text.length());
    if (written(text.substring(begin, likely)) <= BYTES) return likely;
    int bytes = 0;
    for (int at = begin; at < likely; at++) {
      bytes += written(text.charAt(at));
      if (bytes > BYTES) return at;
    }
    return likely;
  }

  private static int written(String piece) {
    int bytes = piece.getBytes(StandardCharsets.UTF_8).length;
    for (int at = piece.indexOf('\\'); at >= 0; at = piece.indexOf('\\', at + 1)) bytes++;
    for (int at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) bytes++;
    for (int at = piece.indexOf('\r'); at >= 0; at = piece.indexOf('\r', at + 1)) bytes++;
    return bytes;
  }

  /** Returns how many bytes py4j writes for a character: it escapes backslashes and line ends, and writes UTF-8. */
  private static int written(char character) {
    if (character == '\\' || character == '\n' || character == '\r') return 2;
    return character < 0x80 ? 1 : character < 0x800 ? 2 : 3;
  }
}
