package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** What Python requests from values that are not tree nodes, and the limits of a plan. */
final class Vocabulary {
  /** Simple class name -> names of the arguments that are never read. */
  final HashMap skipped = new HashMap();
  /** Simple class names of the operators whose output is that of their first child. */
  final HashSet transparent = new HashSet();
  /** Simple class names of the parsed statements that are not analyzed. */
  final HashSet refused = new HashSet();
  /** The settings of a session that are reported: the key of each, and `always` if its default is reported too. */
  final ArrayList settings = new ArrayList();
  /** The options, in lower case, whose values state where a source is. */
  final HashSet where = new HashSet();
  final int maxNodes;
  final long maxBytes;
  // Class name -> its own entries; class -> its own and its inherited entries.
  private final HashMap described = new HashMap();
  private final HashMap found = new HashMap();
  private final HashMap nodeClasses = new HashMap();

  Vocabulary(String table, int maxNodes, long maxBytes) {
    this.maxNodes = maxNodes;
    this.maxBytes = maxBytes;
    String[] lines = table.split("\n");
    for (int i = 0; i < lines.length; i++) add(lines[i].split("\t"));
  }

  private void add(String[] line) {
    if (line[0].equals("describe")) {
      ArrayList rows = (ArrayList) described.get(line[1]);
      if (rows == null) {
        rows = new ArrayList();
        described.put(line[1], rows);
      }
      rows.add(new String[] {line[2], line[3]});
    } else if (line[0].equals("skip")) {
      HashSet names = (HashSet) skipped.get(line[1]);
      if (names == null) {
        names = new HashSet();
        skipped.put(line[1], names);
      }
      names.add(line[2]);
    } else if (line[0].equals("transparent")) {
      transparent.add(line[1]);
    } else if (line[0].equals("refuse")) {
      refused.add(line[1]);
    } else if (line[0].equals("setting")) {
      settings.add(new String[] {line[1], line[2]});
    } else if (line[0].equals("where")) {
      where.add(line[1]);
    }
  }

  /** Returns what all tree nodes of a node's class have in common. */
  synchronized NodeClass nodeClass(TreeNode tree) throws IOException {
    NodeClass known = (NodeClass) nodeClasses.get(tree.getClass());
    if (known == null) {
      known = new NodeClass(tree, this);
      nodeClasses.put(tree.getClass(), known);
    }
    return known;
  }

  /** Returns the entries of a class, its superclasses and its interfaces: each a reading's name and its chain. */
  synchronized ArrayList rows(Class type) {
    ArrayList rows = (ArrayList) found.get(type);
    if (rows == null) {
      rows = new ArrayList();
      collect(type, rows, new HashSet());
      found.put(type, rows);
    }
    return rows;
  }

  private void collect(Class type, ArrayList rows, HashSet seen) {
    if (type == null || !seen.add(type)) return;
    ArrayList own = (ArrayList) described.get(type.getName());
    if (own != null) rows.addAll(own);
    collect(type.getSuperclass(), rows, seen);
    Class[] interfaces = type.getInterfaces();
    for (int i = 0; i < interfaces.length; i++) collect(interfaces[i], rows, seen);
  }
}
