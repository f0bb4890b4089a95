package openlineage.pyspark;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;

/** Reads those options of a source that say where it is; the values of no others leave the JVM. */
final class Options {
  private static final int MOST = 50;
  private static final int LONGEST = 1000;

  /** Returns pairs of an option's name and its value, of a map; null if it is none, or has no such option. */
  static Object[] where(Object map, HashSet wanted) {
    ArrayList found = new ArrayList();
    if (map instanceof scala.collection.Map) {
      scala.collection.Iterator it = ((scala.collection.Map) map).iterator();
      while (it.hasNext()) {
        scala.Tuple2 pair = (scala.Tuple2) it.next();
        add(found, pair._1(), pair._2(), wanted);
      }
    } else if (map instanceof Map) {
      Iterator it = ((Map) map).entrySet().iterator();
      while (it.hasNext()) {
        Map.Entry pair = (Map.Entry) it.next();
        add(found, pair.getKey(), pair.getValue(), wanted);
      }
    }
    return found.isEmpty() ? null : found.toArray();
  }

  private static void add(ArrayList found, Object name, Object value, HashSet wanted) {
    if (!(name instanceof String) || !(value instanceof String) || found.size() >= MOST) return;
    if (!wanted.contains(((String) name).toLowerCase(Locale.ROOT))) return;
    found.add(new Object[] {name, JsonText.cut((String) value, LONGEST)});
  }

  /** Returns the same of the first map that a relation of a connector keeps, whatever that calls it. */
  static Object[] whereOf(Object relation, HashSet wanted) {
    if (relation.getClass().getName().startsWith("org.apache.spark.sql.execution.")) return null;
    for (Class c = relation.getClass(); c != null && c != Object.class; c = c.getSuperclass()) {
      Field[] fields = c.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        boolean map = scala.collection.Map.class.isAssignableFrom(fields[i].getType());
        if (Modifier.isStatic(fields[i].getModifiers())) continue;
        if (!map && !Map.class.isAssignableFrom(fields[i].getType())) continue;
        Object[] found = where(Reflection.field(relation, fields[i].getName()), wanted);
        if (found != null) return found;
      }
    }
    return null;
  }
}
