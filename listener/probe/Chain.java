package openlineage.pyspark;

import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads the value at the end of a chain from Python's table: getters joined by dots, or a special reading. */
final class Chain {
  private static final String GENERATION = "delta.generationExpression";
  // Chain -> its steps.
  private static final HashMap STEPS = new HashMap();

  /** Returns the end of a chain that begins at a value, or null; `session`: the plan's, for its catalog. */
  static Object read(Object o, String chain, Object session) {
    return chain.startsWith("#") ? special(o, chain, session) : follow(o, chain);
  }

  private static Object special(Object o, String chain, Object session) {
    if (chain.equals("#defaultPath")) return defaultPath(o, session);
    if (chain.startsWith("#table:")) return inCatalog("getTableMetadata", read(o, argument(chain), null), session);
    if (chain.startsWith("#path:")) return inCatalog("defaultTablePath", Reflection.call(o, argument(chain)), session);
    if (chain.equals("#sessionTable")) return inCatalog("getTableMetadata", sessionTable(o), session);
    if (chain.equals("#sessionPath")) return inCatalog("defaultTablePath", sessionTable(o), session);
    if (chain.equals("#rddSources")) return RddSources.of(o, false);
    if (chain.equals("#text")) return o.toString();
    if (chain.startsWith("#long:")) return read(o, argument(chain), session);
    if (chain.equals("#sinkPath")) return sinkPath(o);
    if (chain.equals("#calledTable")) return IcebergTables.called(o);
    if (chain.equals("#variables")) return variables(session);
    if (chain.equals("#namesInValues")) return InlineTables.names(o, session);
    if (chain.equals("#variablesInUse")) return hasVariables(session) ? variables(session) : null;
    if (chain.equals("#database")) return database(o, session);
    if (chain.startsWith("#pathOf:")) return Paths.qualified(read(o, argument(chain), session), session);
    if (chain.startsWith("#localPathOf:")) return Paths.qualifiedLocal(read(o, argument(chain), session), session);
    if (chain.equals("#tableLocation")) return tableLocation(o, "storage.locationUri", "identifier", session);
    if (chain.startsWith("#locationOf:")) {
      String[] chains = argument(chain).split(":");
      return tableLocation(o, chains[0], chains[1], session);
    }
    if (chain.startsWith("#conf:")) return lookUp(follow(session, "sessionState.conf.getAllConfs"), argument(chain));
    if (chain.equals("#isMetadata")) return Boolean.valueOf(IcebergTables.isMetadata(IcebergTables.tableOf(o)));
    if (chain.equals("#rootFiles")) return Paths.rootFiles(o);
    if (chain.startsWith("#catalog:")) return ofCatalog(o, argument(chain), session);
    if (chain.startsWith("#generated:")) return generated(follow(o, argument(chain)));
    return null;
  }

  private static Object follow(Object o, String chain) {
    Object at = o;
    String[] steps = steps(chain);
    for (int i = 0; i < steps.length && at != null; i++) {
      String step = steps[i];
      int bracket = step.indexOf('[');
      String name = bracket < 0 ? step : step.substring(0, bracket);
      if (name.startsWith("@")) at = Reflection.field(at, name.substring(1));
      else if (name.length() > 0) at = Reflection.call(at, name);
      if (at instanceof scala.Option) at = ((scala.Option) at).isEmpty() ? null : ((scala.Option) at).get();
      if (bracket < 0) continue;
      // A key is always the last step, and may contain dots.
      return at == null ? null : lookUp(at, chain.substring(chain.indexOf('[') + 1, chain.indexOf(']')));
    }
    return at;
  }

  private static synchronized String[] steps(String chain) {
    String[] steps = (String[]) STEPS.get(chain);
    if (steps == null) {
      steps = chain.split("\\.");
      STEPS.put(chain, steps);
    }
    return steps;
  }

  private static String argument(String chain) {
    return chain.substring(chain.indexOf(':') + 1);
  }

  /** Returns where a stream's file sink writes: Spark 3.5 keeps the path as the user wrote it, perhaps relative. */
  private static Object sinkPath(Object sink) {
    Object path = Reflection.call(sink, "basePath");
    Object conf = Reflection.call(sink, "hadoopConf");
    if (!(path instanceof Path) || !(conf instanceof Configuration)) return null;
    return Paths.qualified((Path) path, (Configuration) conf);
  }

  /** Returns a number that distinguishes the variables of one session from those of another. */
  private static Object variables(Object session) {
    Object known = follow(session, "sessionState.catalogManager.tempVariableManager");
    return known == null ? null : Integer.valueOf(System.identityHashCode(known));
  }

  /** Returns whether a session may have variables; those of a running script are not among them. */
  static boolean hasVariables(Object session) {
    Object known = follow(session, "sessionState.catalogManager.tempVariableManager");
    return known != null && !Boolean.TRUE.equals(Reflection.call(known, "isEmpty"));
  }

  /** Returns the value of a key, ignoring case. */
  static Object lookUp(Object map, String key) {
    if (map instanceof scala.collection.Map) {
      scala.collection.Iterator it = ((scala.collection.Map) map).iterator();
      while (it.hasNext()) {
        scala.Tuple2 pair = (scala.Tuple2) it.next();
        if (key.equalsIgnoreCase(String.valueOf(pair._1()))) return pair._2();
      }
    } else if (map instanceof Map) {
      Iterator it = ((Map) map).entrySet().iterator();
      while (it.hasNext()) {
        Map.Entry pair = (Map.Entry) it.next();
        if (key.equalsIgnoreCase(String.valueOf(pair.getKey()))) return pair.getValue();
      }
    }
    return null;
  }

  /** Returns the database of a table whose identifier has none: the session's current one. */
  private static Object database(Object identifier, Object session) {
    Object given = follow(identifier, "database");
    return given == null ? follow(session, "sessionState.catalog.getCurrentDatabase") : given;
  }

  /**
   * Returns the location of a table as a URI, qualified: a relative one is below that of the table's database.
   *
   * `o`: what has the location, as a URI or as a user wrote it, and the table's identifier.
   */
  private static Object tableLocation(Object o, String location, String identifier, Object session) {
    Object given = follow(o, location);
    Path path = Paths.path(given);
    if (path == null) return given;
    URI uri = path.toUri();
    if (uri.isAbsolute()) return uri;
    Configuration conf = Paths.configuration(session);
    if (path.isAbsolute()) return conf == null ? uri : Paths.qualified(path, conf).toUri();
    // Such a table is next to the one that the catalog would create for the name.
    Object beside = inCatalog("defaultTablePath", follow(o, identifier), session);
    return beside instanceof URI ? new Path(new Path((URI) beside).getParent(), path).toUri() : uri;
  }

  /** Returns the name and the expression of each column of a schema that Delta Lake computes; null if there is none. */
  private static Object generated(Object schema) {
    ArrayList found = generatedFields(schema);
    for (int i = 0; i < found.size(); i++) {
      StructField field = (StructField) found.get(i);
      found.set(i, new Object[] {field.name(), generation(field)});
    }
    return found.isEmpty() ? null : found.toArray();
  }

  /** Returns the fields of a schema that Delta Lake computes. */
  static ArrayList generatedFields(Object schema) {
    ArrayList found = new ArrayList();
    StructField[] fields = schema instanceof StructType ? ((StructType) schema).fields() : new StructField[0];
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].metadata().contains(GENERATION)) found.add(fields[i]);
    }
    return found;
  }

  /** Returns the expression of a field that Delta Lake computes. */
  static String generation(StructField field) {
    return field.metadata().getString(GENERATION);
  }

  /** Returns a setting of a catalog in the session's configuration. */
  private static Object ofCatalog(Object catalog, String key, Object session) {
    Object name = Reflection.call(catalog, "name");
    Object settings = follow(session, "sessionState.conf.getAllConfs");
    return name == null || settings == null ? null : lookUp(settings, "spark.sql.catalog." + name + "." + key);
  }

  /** Returns where the session's catalog will put a managed table that does not exist yet. */
  private static Object defaultPath(Object table, Object session) {
    Object uri = Reflection.call(Reflection.call(table, "storage"), "locationUri");
    if (uri instanceof scala.Option && !((scala.Option) uri).isEmpty()) return null;
    if ("VIEW".equals(Reflection.call(Reflection.call(table, "tableType"), "name"))) return null;
    return inCatalog("defaultTablePath", Reflection.call(table, "identifier"), session);
  }

  /** Returns the session catalog's identifier of a table in `spark_catalog` that a DataSource V2 command names. */
  private static Object sessionTable(Object resolved) {
    if (!"spark_catalog".equals(Reflection.call(Reflection.call(resolved, "catalog"), "name"))) return null;
    Object identifier = Reflection.call(resolved, "identifier");
    Object namespace = Reflection.call(identifier, "namespace");
    if (!(namespace instanceof String[]) || ((String[]) namespace).length != 1) return null;
    String name = String.valueOf(Reflection.call(identifier, "name"));
    return new TableIdentifier(name, scala.Option.apply(((String[]) namespace)[0]));
  }

  /** Returns the session catalog's description of a table; null if there is no such table. */
  private static Object inCatalog(String question, Object identifier, Object session) {
    Object catalog = Reflection.call(Reflection.call(session, "sessionState"), "catalog");
    if (catalog == null || identifier == null) return null;
    Method method = Reflection.method(catalog.getClass(), question, identifier);
    try {
      return method == null ? null : method.invoke(catalog, new Object[] {identifier});
    } catch (Exception absent) {
      return null;
    }
  }
}
