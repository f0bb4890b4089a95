package openlineage.pyspark;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Spells paths as Hadoop does: whole, absolute, without `//` and `..`. No file is looked at. */
final class Paths {
  /** Returns a path that a user wrote, as text or as a URI, or a sequence of them, qualified. */
  static Object qualified(Object given, Object session) {
    if (given instanceof scala.collection.Iterable) {
      ArrayList found = new ArrayList();
      scala.collection.Iterator it = ((scala.collection.Iterable) given).iterator();
      while (it.hasNext()) found.add(qualified(it.next(), session));
      return found.toArray();
    }
    Path path = path(given);
    Configuration conf = configuration(session);
    return path == null || conf == null ? given : qualified(path, conf).toString();
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
    // A whole one needs no file system, which would perhaps have to be connected first.
    if (path.toUri().getScheme() != null && path.toUri().getAuthority() != null) return path;
    try {
      return path.getFileSystem(conf).makeQualified(path);
    } catch (IOException unknownScheme) {
      return path;
    } catch (RuntimeException unusable) {
      return path;
    }
  }

  private static Path path(Object given) {
    try {
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
