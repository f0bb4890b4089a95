package openlineage.pyspark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** The log of a Delta table, as Delta Lake keeps it in memory: the current snapshot, and the latest commit files. */
final class DeltaLogs {
  private static final String LOG = "org.apache.spark.sql.delta.DeltaLog$";
  /** How far the clock of a file system may differ from that of this machine, in milliseconds. */
  private static final long SKEW = 2000L;
  /** The path of the table. */
  final Path path;
  private final Object snapshot;
  private final long updated;
  private final ArrayList commits = new ArrayList();

  private DeltaLogs(Path path, Object captured) {
    this.path = path;
    snapshot = Reflection.field(captured, "snapshot");
    Object time = Reflection.field(captured, "updateTimestamp");
    updated = time instanceof Long ? ((Long) time).longValue() : 0L;
    Object deltas = Reflection.field(Reflection.field(snapshot, "logSegment"), "deltas");
    scala.collection.Iterator it =
        deltas instanceof scala.collection.Iterable ? ((scala.collection.Iterable) deltas).iterator() : null;
    while (it != null && it.hasNext()) {
      Object file = it.next();
      if (file instanceof FileStatus) commits.add(file);
    }
  }

  /**
   * Returns the logs that Delta Lake has in memory, and to which somebody may have committed since a time; none if the
   * job does not use Delta Lake.
   */
  static ArrayList changed(long since) {
    ArrayList found = new ArrayList();
    Object cache = Reflection.call(module(), "deltaLogCache");
    if (cache instanceof scala.Option) cache = ((scala.Option) cache).isEmpty() ? null : ((scala.Option) cache).get();
    Object byKey = Reflection.call(cache, "asMap");
    if (!(byKey instanceof Map)) return found;
    Iterator logs = ((Map) byKey).values().iterator();
    while (logs.hasNext()) {
      Object log = logs.next();
      Object path = Reflection.field(log, "dataPath");
      Object captured = Reflection.field(log, "currentSnapshot");
      Object segment = Reflection.field(Reflection.field(captured, "snapshot"), "logSegment");
      Object latest = Reflection.field(segment, "lastCommitFileModificationTimestamp");
      boolean older = latest instanceof Long && ((Long) latest).longValue() < since - SKEW;
      if (path instanceof Path && captured != null && !older) found.add(new DeltaLogs((Path) path, captured));
    }
    return found;
  }

  /** Returns the version at which a relation of files is read; null if it is not one of Delta Lake's. */
  static Object scanned(Object relation) {
    Object index = Reflection.call(relation, "location");
    if (index == null || !index.getClass().getName().startsWith("org.apache.spark.sql.delta.")) return null;
    Object version = Reflection.call(index, "version");
    return version instanceof Long && ((Long) version).longValue() >= 0 ? version : null;
  }

  private static Object module() {
    try {
      Class type = Class.forName(LOG, false, DeltaLogs.class.getClassLoader());
      Field module = type.getField("MODULE$");
      return module.get(null);
    } catch (Exception absent) {
      return null;
    } catch (LinkageError absent) {
      return null;
    }
  }

  /**
   * Returns the version that this JVM has committed between two times; -1 if there is none, or if it is unknown.
   *
   * Only a snapshot that comes from a commit of this JVM has the checksum of its transaction in memory. If a later
   * snapshot has replaced it, the version is that of the only commit file of this time, if rows were written.
   */
  long committed(long began, long ended, boolean wrote) {
    boolean here = path.toUri().getScheme() == null || "file".equals(path.toUri().getScheme());
    long slack = here ? 0L : SKEW;
    ArrayList during = new ArrayList();
    for (int i = commits.size() - 1; i >= 0; i--) {
      FileStatus file = (FileStatus) commits.get(i);
      long time = file.getModificationTime();
      if (time < began - slack) break;
      if (time <= ended + slack) during.add(Long.valueOf(version(file)));
    }
    Object current = Reflection.field(snapshot, "version");
    // On another machine's file system, this machine's clock only shows when the snapshot was last looked at.
    boolean inTime = here || (updated >= began && updated <= ended);
    if (inTime && during.contains(current) && transaction() != null) return ((Long) current).longValue();
    return wrote && during.size() == 1 ? ((Long) during.get(0)).longValue() : -1L;
  }

  private Object checksum() {
    Object checksum = Reflection.field(snapshot, "checksumOpt");
    if (!(checksum instanceof scala.Option) || ((scala.Option) checksum).isEmpty()) return null;
    return ((scala.Option) checksum).get();
  }

  /** Returns the id of the table, which a later table of the same name does not have; null if it is not in memory. */
  Object id() {
    return Reflection.field(Reflection.field(checksum(), "metadata"), "id");
  }

  /** Returns the fields that Delta Lake computes from others with each write. */
  ArrayList generated() {
    // Each snapshot reads its metadata when it is created, and keeps it in this field.
    Object read = Reflection.field(snapshot, "_reconstructedProtocolMetadataAndICT");
    return Chain.generatedFields(Reflection.call(Reflection.field(read, "metadata"), "schema"));
  }

  private Object transaction() {
    Object id = Reflection.field(checksum(), "txnId");
    return id instanceof scala.Option && !((scala.Option) id).isEmpty() ? ((scala.Option) id).get() : null;
  }

  /** Returns whether the table has this batch of a streaming query, by the transactions in its checksum. */
  boolean has(Object query, Object batch) {
    Object option = Reflection.field(checksum(), "setTransactions");
    if (!(option instanceof scala.Option) || ((scala.Option) option).isEmpty()) return false;
    scala.collection.Iterator it = ((scala.collection.Iterable) ((scala.Option) option).get()).iterator();
    while (it.hasNext()) {
      Object transaction = it.next();
      boolean same = String.valueOf(query).equals(Reflection.call(transaction, "appId"));
      if (same && batch.equals(Reflection.call(transaction, "version"))) return true;
    }
    return false;
  }

  /** Returns when a version was committed, by the clock of its file system; null if that is unknown. */
  Object time(long version) {
    for (int i = 0; i < commits.size(); i++) {
      FileStatus file = (FileStatus) commits.get(i);
      if (version(file) == version) return Long.valueOf(file.getModificationTime());
    }
    return null;
  }

  private static long version(FileStatus file) {
    String name = file.getPath().getName();
    int dot = name.indexOf('.');
    try {
      return Long.parseLong(dot < 0 ? name : name.substring(0, dot));
    } catch (NumberFormatException foreign) {
      return -1L;
    }
  }
}
