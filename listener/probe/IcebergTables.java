package openlineage.pyspark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Reads only what Iceberg keeps in memory about a table: no getter that may load metadata is called. */
final class IcebergTables {
  private static final String PACKAGE = "org.apache.iceberg.";
  private static final int MOST = 10000;
  private static final long SKEW = 60000L;

  /** Returns Iceberg's write, or its table that a DELETE or TRUNCATE changes, in a node of a physical plan; or null. */
  static Object writeOf(Object node) {
    Object batch = Reflection.call(node, "batchWrite");
    // A micro-batch's write is an inner object of Iceberg's write.
    if (batch != null) return own(Reflection.field(Reflection.call(batch, "writeSupport"), "this$0"));
    Object write = own(Reflection.call(node, "write"));
    String name = node.getClass().getSimpleName();
    boolean table = name.equals("DeleteFromTableExec") || name.equals("TruncateTableExec");
    return write != null || !table ? write : own(Reflection.call(node, "table"));
  }

  private static Object own(Object o) {
    return o != null && o.getClass().getName().startsWith(PACKAGE) ? o : null;
  }

  /** Returns the table of one of Iceberg's writes, scans or Spark tables. */
  static Object tableOf(Object o) {
    Object table = own(Reflection.field(o, "table"));
    return table == null ? own(Reflection.field(o, "icebergTable")) : table;
  }

  /** Returns the metadata of a table as it is in memory; null if there is none. */
  static Object metadata(Object table) {
    Object operations = Reflection.call(table, "operations");
    if (own(operations) == null) operations = Reflection.field(table, "ops");
    if (operations == null) return null;
    // The metadata that a transaction has created, which may not be published yet.
    if (transaction(operations) != null) return metadataIn(transaction(operations), "current");
    Object metadata = metadataIn(operations, "currentMetadata");
    return metadata == null ? metadataIn(operations, "current") : metadata;
  }

  private static Object metadataIn(Object o, String field) {
    Object metadata = Reflection.field(o, field);
    return metadata != null && metadata.getClass().getName().equals(PACKAGE + "TableMetadata") ? metadata : null;
  }

  private static Object transaction(Object operations) {
    String name = operations == null ? "" : operations.getClass().getName();
    return name.startsWith(PACKAGE + "BaseTransaction$") ? Reflection.field(operations, "this$0") : null;
  }

  /** Returns the id of the snapshot that was current before a transaction replaced a table; null if there is none. */
  static Object replaced(Object table) {
    Object base = metadataIn(transaction(Reflection.call(table, "operations")), "base");
    return base == null ? null : Reflection.call(head(base, null), "snapshotId");
  }

  /** Returns the snapshot that a branch or tag points to, or the current one; null if there is none in memory. */
  static Object head(Object metadata, Object ref) {
    Object id = Reflection.field(metadata, "currentSnapshotId");
    if (ref != null) {
      Object refs = Reflection.field(metadata, "refs");
      Object found = refs instanceof Map ? ((Map) refs).get(ref.toString()) : null;
      // A missing main branch means the table itself.
      if (found == null && !"main".equals(ref)) return null;
      if (found != null) id = Reflection.call(found, "snapshotId");
    }
    return snapshot(metadata, id);
  }

  /** Returns a snapshot by its id; null if it is not in memory. */
  static Object snapshot(Object metadata, Object id) {
    Object byId = Reflection.field(metadata, "snapshotsById");
    return byId instanceof Map && id != null ? ((Map) byId).get(id) : null;
  }

  /**
   * Returns the id of the snapshot at which a Spark table is read; null if it has none. `began`: when the execution
   * that reads it began; it does not read what was committed later.
   */
  static Object at(Object sparkTable, long began) {
    Object table = tableOf(sparkTable);
    if (isMetadata(table)) return null;
    Object pinned = Reflection.field(sparkTable, "snapshot");
    Object explicit = Reflection.call(pinned, "snapshotId");
    if (explicit == null) explicit = Reflection.field(sparkTable, "snapshotId");
    if (explicit != null) return text(explicit);
    Object metadata = metadata(table);
    Object snapshot = metadata == null ? null : head(metadata, Reflection.field(sparkTable, "branch"));
    for (int i = 0; snapshot != null && time(snapshot) > began && i < MOST; i++) {
      snapshot = snapshot(metadata, Reflection.call(snapshot, "parentId"));
    }
    return snapshot == null || time(snapshot) > began ? null : text(Reflection.call(snapshot, "snapshotId"));
  }

  /** Returns the id of the snapshot that a scan has read, as its report or the scan itself states; or null. */
  static Object scanned(Object scan) {
    if (own(scan) == null || isMetadata(tableOf(scan))) return null;
    Object id = Reflection.call(Reflection.call(Reflection.field(scan, "scanReportSupplier"), "get"), "snapshotId");
    if (id == null) id = Reflection.call(Reflection.field(scan, "snapshot"), "snapshotId");
    if (id == null) id = Reflection.field(scan, "snapshotId");
    if (id == null) id = Reflection.field(scan, "endSnapshotId");
    return id == null ? null : text(id);
  }

  private static String text(Object id) {
    return "-1".equals(id.toString()) ? null : id.toString();
  }

  /** Returns whether a table is one of Iceberg's metadata tables, such as the snapshots or files of another table. */
  static boolean isMetadata(Object table) {
    for (Class c = table == null ? null : table.getClass(); c != null; c = c.getSuperclass()) {
      if (c.getName().equals(PACKAGE + "BaseMetadataTable")) return true;
    }
    return false;
  }

  /** Returns the snapshots of a branch that were created between two times (milliseconds since the epoch), in order. */
  static ArrayList between(Object metadata, Object branch, long from, long to) {
    ArrayList found = new ArrayList();
    Object snapshot = head(metadata, branch);
    for (int i = 0; snapshot != null && i < MOST; i++) {
      long time = time(snapshot);
      // The clocks of several writers may differ.
      if (time < from - SKEW) break;
      if (time >= from && time <= to) found.add(snapshot);
      snapshot = snapshot(metadata, Reflection.call(snapshot, "parentId"));
    }
    Collections.reverse(found);
    return found;
  }

  /** Returns the metadata of the table that a CALL of Iceberg's procedures names, if its catalog has it; or null. */
  static Object called(Object call) {
    Object procedure = own(Reflection.call(call, "procedure"));
    Object catalog = Reflection.field(procedure, "tableCatalog");
    Object parameters = Reflection.call(procedure, "parameters");
    Object args = Reflection.call(call, "args");
    if (!(parameters instanceof Object[]) || !(args instanceof scala.collection.Seq)) return null;
    for (int i = 0; i < ((Object[]) parameters).length && i < ((scala.collection.Seq) args).size(); i++) {
      if (!"table".equals(Reflection.call(((Object[]) parameters)[i], "name"))) continue;
      Object value = Reflection.call(((scala.collection.Seq) args).apply(i), "value");
      return value == null ? null : metadata(cached(catalog, value.toString().replace("`", "")));
    }
    return null;
  }

  /**
   * Returns whether a table was made since an execution began; null if its catalog keeps no tables in memory. A catalog
   * keeps what it makes, without the metadata at first; a table that was made has no earlier metadata and no snapshot.
   */
  static Boolean isNew(Object catalog, Object identifier, long began) {
    Object name = Reflection.call(identifier, "name");
    Object namespace = Reflection.call(identifier, "namespace");
    Map tables = own(catalog) == null ? null : cache(catalog);
    if (tables == null || name == null || !(namespace instanceof String[])) return null;
    StringBuilder path = new StringBuilder();
    String[] parts = (String[]) namespace;
    for (int i = 0; i < parts.length; i++) path.append(parts[i]).append('.');
    Object table = cached(catalog, path.append(name).toString());
    Object metadata = metadata(table);
    if (metadata == null) return Boolean.valueOf(table != null);
    Object earlier = Reflection.field(metadata, "previousFiles");
    Object updated = Reflection.field(metadata, "lastUpdatedMillis");
    if (head(metadata, null) != null || (earlier instanceof List && !((List) earlier).isEmpty())) return Boolean.FALSE;
    return updated instanceof Long ? Boolean.valueOf(((Long) updated).longValue() >= began - SKEW) : null;
  }

  /** Returns the table of a name that one of Iceberg's catalogs for Spark has in memory; null if it has none. */
  private static Object cached(Object catalog, String name) {
    String own = String.valueOf(Reflection.call(catalog, "name")) + ".";
    String wanted = name.startsWith(own) ? name.substring(own.length()) : name;
    Map tables = cache(catalog);
    if (tables == null) return null;
    Iterator it = tables.entrySet().iterator();
    while (it.hasNext()) {
      Map.Entry entry = (Map.Entry) it.next();
      if (wanted.equalsIgnoreCase(String.valueOf(entry.getKey()))) return entry.getValue();
    }
    return null;
  }

  /** Returns the tables that one of Iceberg's catalogs for Spark has in memory; null if it keeps none. */
  private static Map cache(Object catalog) {
    Object inner = Reflection.field(catalog, "icebergCatalog");
    // Iceberg's session catalog contains a catalog for Iceberg's tables alone.
    Object innermost = Reflection.field(inner, "icebergCatalog");
    Object cache = Reflection.field(innermost == null ? inner : innermost, "tableCache");
    Object tables = Reflection.call(cache, "asMap");
    return tables instanceof Map ? (Map) tables : null;
  }

  /** Returns the entries of a table's log of current snapshots; none if they are not in memory. */
  static Object[] log(Object metadata) {
    Object log = Reflection.field(metadata, "snapshotLog");
    return log instanceof List ? ((List) log).toArray() : new Object[0];
  }

  private static long time(Object snapshot) {
    Object time = Reflection.call(snapshot, "timestampMillis");
    return time instanceof Long ? ((Long) time).longValue() : 0L;
  }
}
