package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.IdentityHashMap;
import java.util.Locale;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.QueryExecution;

/** Writes the text and the kind of the statement that an execution comes from. */
final class Statements {
  /** Longer texts are not parsed. */
  private static final int LONGEST = 200000;
  /** How many statements are remembered, with their texts. */
  private static final int MOST = 16;
  // Text -> its StatementKind. All executions of a statement have the same text object.
  private final IdentityHashMap kinds = new IdentityHashMap();
  private final ArrayDeque texts = new ArrayDeque();

  /** `commands`: whether the execution runs commands, which may have been recreated, or be one of several. */
  void write(JsonText record, QueryExecution execution, boolean commands) throws IOException {
    LogicalPlan logical = execution.logical();
    String text = text(logical);
    boolean own = text != null;
    if (!own) text = queryText(logical);
    if (text == null) return;
    // If the text is that of the command itself, only the number of its inserts is unknown.
    boolean asked = commands && text.length() <= LONGEST && (!own || repeats(text, "insert"));
    StatementKind kind = asked ? kind(text, execution) : StatementKind.UNKNOWN;
    record.writeNumberField("text", System.identityHashCode(text));
    if (own) record.writeStringField("sql", text);
    else record.writeStringField("querySql", text);
    if (kind == StatementKind.UNKNOWN) return;
    record.writeObjectFieldStart("statement");
    record.writeStringField("class", kind.root);
    record.writeBooleanField("writes", kind.writes);
    record.writeNumberField("inserts", kind.inserts);
    record.writeEndObject();
  }

  /** Returns the part of a statement's text from which a node was parsed, or null. */
  static String part(Origin origin) {
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty()) return null;
    String sql = (String) origin.sqlText().get();
    int start = ((Number) origin.startIndex().get()).intValue();
    int end = ((Number) origin.stopIndex().get()).intValue() + 1;
    // The parser counts code points.
    int points = sql.codePointCount(0, sql.length());
    if (start < 0 || end <= start || end > points) return null;
    if (points == sql.length()) return sql.substring(start, end);
    return sql.substring(sql.offsetByCodePoints(0, start), sql.offsetByCodePoints(0, end));
  }

  private static String text(LogicalPlan plan) {
    scala.Option text = plan.origin().sqlText();
    return text == null || text.isEmpty() ? null : (String) text.get();
  }

  /** Returns the text of the query in a plan: Spark may recreate a command without its text, but its query keeps it. */
  private static String queryText(LogicalPlan plan) {
    for (int depth = 0; depth < 3; depth++) {
      Object children = plan.children().isEmpty() ? plan.innerChildren() : plan.children();
      scala.collection.Iterator below = ((scala.collection.Iterable) children).iterator();
      Object next = below.hasNext() ? below.next() : null;
      if (!(next instanceof LogicalPlan)) return null;
      plan = (LogicalPlan) next;
      // A relation that Spark kept from an earlier statement has that statement's text.
      if (plan.children().isEmpty() && !(plan instanceof Command)) return null;
      String text = text(plan);
      if (text != null) return text;
    }
    return null;
  }

  private static boolean repeats(String text, String word) {
    String lower = text.toLowerCase(Locale.ROOT);
    return lower.indexOf(word) != lower.lastIndexOf(word);
  }

  private StatementKind kind(String text, QueryExecution execution) {
    StatementKind kind = (StatementKind) kinds.get(text);
    if (kind == null) {
      kind = StatementKind.of(text, Reflection.call(execution, "sparkSession"));
      if (texts.size() >= MOST) kinds.remove(texts.removeFirst());
      texts.addLast(text);
      kinds.put(text, kind);
    }
    return kind;
  }
}
