package openlineage.pyspark;

import java.io.IOException;
import java.util.TimeZone;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Reports the settings of a session that change what a statement means.
 *
 * Spark records with each execution what its session has set. The current catalog and schema are those at the time when
 * the execution's event is received. No catalog is accessed.
 */
final class SessionSettings {
  private static final String ZONE = "spark.sql.session.timeZone";
  private final Vocabulary vocabulary;
  private final SQLConf defaults = new SQLConf();

  SessionSettings(Vocabulary vocabulary) {
    this.vocabulary = vocabulary;
  }

  /** Returns them as JSON. `own`: what the session had set when the execution began, from Spark's event. */
  String of(Object own, Object session) throws IOException {
    Object shared = Reflection.call(Reflection.call(session, "sharedState"), "conf");
    JsonText text = new JsonText();
    text.writeStartObject();
    for (int i = 0; i < vocabulary.settings.size(); i++) {
      String[] setting = (String[]) vocabulary.settings.get(i);
      String known = preset(setting[0]);
      String value = value(setting[0], own, shared);
      if (value == null && setting[1].equals("always")) value = known;
      boolean reported = value != null && (setting[1].equals("always") || !value.equalsIgnoreCase(known));
      if (reported) text.writeStringField(setting[0], value);
    }
    place(text, session, own, shared);
    text.writeEndObject();
    return text.end();
  }

  /** Returns the value that a session or its application has set; null if neither has. */
  private static String value(String key, Object own, Object shared) {
    Object value = Chain.lookUp(own, key);
    if (value != null) return value.toString();
    return shared instanceof SparkConf && ((SparkConf) shared).contains(key) ? ((SparkConf) shared).get(key) : null;
  }

  /** Returns Spark's own value of a setting; null if this version has no such setting. */
  private String preset(String key) {
    if (key.equals(ZONE)) return TimeZone.getDefault().getID();
    try {
      return defaults.getConfString(key);
    } catch (RuntimeException unknown) {
      return null;
    }
  }

  private static void place(JsonText text, Object session, Object own, Object shared) throws IOException {
    Object manager = Reflection.call(Reflection.call(session, "sessionState"), "catalogManager");
    String catalog = (String) option(Reflection.call(manager, "_currentCatalogName"));
    if (catalog == null) catalog = value("spark.sql.defaultCatalog", own, shared);
    boolean another = catalog != null && !catalog.equals("spark_catalog");
    if (another) text.writeStringField("catalog", catalog);
    Object names = option(Reflection.call(manager, "_currentNamespace"));
    Object schema = names;
    if (names instanceof String[]) {
      StringBuffer joined = new StringBuffer();
      String[] parts = (String[]) names;
      for (int i = 0; i < parts.length; i++) joined.append(i == 0 ? "" : ".").append(parts[i]);
      schema = joined.toString();
    } else if (!another) {
      schema = Reflection.call(Reflection.call(manager, "v1SessionCatalog"), "currentDb");
    }
    if (schema != null && (another || !schema.equals("default"))) text.writeStringField("schema", schema.toString());
  }

  private static Object option(Object found) {
    if (!(found instanceof scala.Option)) return null;
    return ((scala.Option) found).isEmpty() ? null : ((scala.Option) found).get();
  }
}
