package openlineage.pyspark;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;

/** Reads the options of a source that state where it is; the values of all others stay in the JVM. */
final class Options {
  private static final int MOST = 50;
  private static final int LONGEST = 1000;

  /** Returns pairs of an option's name and value from a map; null if it is not a map, or has no such option. */
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

  /**
   * Returns the same from the first map with such options that a connector's relation keeps, under any name, or that an
   * object of the connector keeps for it.
   */
  static Object[] whereOf(Object relation, HashSet wanted) {
    return whereOf(relation, relation.getClass().getPackage(), wanted);
  }

  private static Object[] whereOf(Object holder, Package within, HashSet wanted) {
    Object[] found = null;
    for (Class c = holder.getClass(); found == null && c != null && c != Object.class; c = c.getSuperclass()) {
      if (c.getName().startsWith("org.apache.spark.sql.execution.")) return null;
      Field[] fields = c.getDeclaredFields();
      for (int i = 0; i < fields.length && found == null; i++) {
        if (!Modifier.isStatic(fields[i].getModifiers())) found = whereIn(holder, fields[i], within, wanted);
      }
    }
    return found;
  }

  /** Returns the same from a field: a map, or an object of a package, whose own objects are not searched. */
  private static Object[] whereIn(Object holder, Field field, Package within, HashSet wanted) {
    Class type = field.getType();
    if (scala.collection.Map.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type)) {
      return where(Reflection.field(holder, field.getName()), wanted);
    }
    if (within == null || type.isEnum() || !within.equals(type.getPackage())) return null;
    Object held = Reflection.field(holder, field.getName());
    return held == null ? null : whereOf(held, null, wanted);
  }

  /** Returns the same from a relation's options, and from the session's settings for the connector of its table. */
  static Object[] where(Object options, Object relation, Object session, HashSet wanted) {
    Object[] found = where(options, wanted);
    Object table = Reflection.call(relation, "table");
    if (table == null) return found;
    String connector = table.getClass().getName().toLowerCase(Locale.ROOT);
    ArrayList all = new ArrayList();
    HashSet given = new HashSet();
    for (int i = 0; found != null && i < found.length; i++) {
      all.add(found[i]);
      given.add(setting((String) ((Object[]) found[i])[0]));
    }
    for (Iterator names = wanted.iterator(); names.hasNext(); ) {
      String name = (String) names.next();
      int end = name.startsWith("spark.") ? name.indexOf('.', 6) : -1;
      if (end < 0 || connector.indexOf(name.substring(6, end)) < 0 || given.contains(setting(name))) continue;
      add(all, name, Chain.read(relation, "#conf:" + name, session), wanted);
    }
    return all.isEmpty() ? null : all.toArray();
  }

  /** Returns the connector's setting that a name means, such as `database` for `spark.mongodb.read.database`. */
  private static String setting(String name) {
    return name.toLowerCase(Locale.ROOT).replaceFirst("^spark\\.\\w+\\.((read|write)\\.)?", "");
  }
}
