package openlineage.pyspark;

import java.net.Socket;
import java.net.SocketException;
import java.util.Collection;

/** The connections between Python and this JVM. */
final class Connections {
  /**
   * Lets TCP send all parts of long answers at once on the open connections, instead of holding back the second part
   * until Python acknowledges the first (TCP_NODELAY). Returns whether this succeeded.
   */
  static boolean sendAtOnce(Object server) {
    // py4j has no getter for them.
    Object open = Reflection.field(server, "connections");
    if (!(open instanceof Collection)) return false;
    Object[] connections = ((Collection) open).toArray();
    boolean could = false;
    for (int i = 0; i < connections.length; i++) {
      Object socket = Reflection.call(connections[i], "getSocket");
      try {
        if (!(socket instanceof Socket)) return false;
        ((Socket) socket).setTcpNoDelay(true);
        could = true;
      } catch (SocketException closed) {
        // The thread of the connection has ended in the meantime.
        continue;
      }
    }
    return could;
  }
}
