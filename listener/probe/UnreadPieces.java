package openlineage.pyspark;

import java.util.LinkedHashMap;

/** The answers that Python has not read to their last piece yet, each under a number. */
final class UnreadPieces {
  /** How many are kept at most. Only simultaneous requests need theirs; a request that is aborted leaves one behind. */
  private static final int MOST = 64;

  private final LinkedHashMap unread = new LinkedHashMap();
  private int last = 0;

  /** Returns how many pieces a text has, the number under which the others are kept, and the first one. */
  String first(String text) {
    String[] pieces = Pieces.of(text);
    return pieces.length + " " + (pieces.length > 1 ? keep(pieces) : 0) + " " + pieces[0];
  }

  /** Returns a text as the only piece. */
  static String whole(String text) {
    return "1 0 " + text;
  }

  private synchronized int keep(String[] pieces) {
    if (unread.size() >= MOST) unread.remove(unread.keySet().iterator().next());
    unread.put(Integer.valueOf(++last), pieces);
    return last;
  }

  /** Returns a piece of the answer under a number, and removes the answer after the last one; null if it is gone. */
  synchronized String piece(int number, int at) {
    String[] pieces = (String[]) unread.get(Integer.valueOf(number));
    if (pieces == null) return null;
    if (at == pieces.length - 1) unread.remove(Integer.valueOf(number));
    return pieces[at];
  }
}
