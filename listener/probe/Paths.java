package openlineage.pyspark;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Spells paths as Hadoop does: complete, absolute, without `//` and `..`. No file is accessed. */
final class Paths {
  /** Returns a path that a user wrote, as text, as a URI or as Hadoop's path, or a sequence of them, qualified. */
  static Object qualified(Object given, Object session) {
    if (!(given instanceof scala.collection.Iterable)) {
      return spelled(given, isUnqualified(given) ? configuration(session) : null);
    }
    ArrayList found = new ArrayList();
    // One for all paths: it is a copy of all settings.
    Configuration conf = null;
    scala.collection.Iterator it = ((scala.collection.Iterable) given).iterator();
    while (it.hasNext()) {
      Object each = it.next();
      if (conf == null && isUnqualified(each)) conf = configuration(session);
      found.add(spelled(each, conf));
    }
    return found.toArray();
  }

  private static boolean isUnqualified(Object given) {
    Path path = path(given);
    return path != null && !isWhole(path);
  }

  private static Object spelled(Object given, Configuration conf) {
    Path path = path(given);
    if (path == null) return given;
    if (isWhole(path)) return path.toString();
    return conf == null ? given : qualified(path, conf).toString();
  }

  /** Returns a path of this machine, qualified. */
  static Object qualifiedLocal(Object given, Object session) {
    Path path = path(given);
    Configuration conf = configuration(session);
    if (path == null || conf == null) return given;
    try {
      return FileSystem.getLocal(conf).makeQualified(path).toString();
    } catch (IOException noFileSystem) {
      return path.toString();
    } catch (IllegalArgumentException elsewhere) {
      return path.toString();
    }
  }

  static Configuration configuration(Object session) {
    Object conf = Reflection.call(Reflection.call(session, "sessionState"), "newHadoopConf");
    return conf instanceof Configuration ? (Configuration) conf : null;
  }

  static Path qualified(Path path, Configuration conf) {
    if (isWhole(path)) return path;
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException unknownScheme) {
      return path;
    } catch (RuntimeException unusable) {
      return path;
    }
  }

  /** Returns whether a path needs no file system, which might have to be connected first. */
  private static boolean isWhole(Path path) {
    URI uri = path.toUri();
    return uri.getScheme() != null && (uri.getAuthority() != null || "file".equals(uri.getScheme()));
  }

  /** Returns Hadoop's path for a path as text, as a URI or as such a path; null for anything else. */
  static Path path(Object given) {
    try {
      if (given instanceof Path) return (Path) given;
      if (given instanceof URI) return new Path((URI) given);
      return given instanceof String ? new Path((String) given) : null;
    } catch (IllegalArgumentException noPath) {
      return null;
    }
  }

  /** Returns which of the root paths of a file index are files, as far as the index has them in memory. */
  static Object rootFiles(Object index) {
    Object roots = Reflection.call(index, "rootPaths");
    Object files = Reflection.field(index, "cachedLeafFiles");
    if (!(roots instanceof scala.collection.Iterable) || !(files instanceof scala.collection.Map)) return null;
    ArrayList found = new ArrayList();
    scala.collection.Iterator it = ((scala.collection.Iterable) roots).iterator();
    while (it.hasNext()) {
      Object root = it.next();
      if (((scala.collection.Map) files).contains(root)) found.add(root.toString());
    }
    return found.toArray();
  }
}
