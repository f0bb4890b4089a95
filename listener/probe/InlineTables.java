package openlineage.pyspark;

import java.util.ArrayList;
import java.util.Locale;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * Finds the variables in VALUES. While Spark analyzes a statement, it replaces VALUES by rows, and the variables in it
 * by their values.
 */
final class InlineTables {
  /** Longer texts are not parsed. */
  private static final int LONGEST = 200000;

  /**
   * Returns the rows of a VALUES that name something, which can only be a variable; null if the node is none, or if no
   * variable can be in it. A column of a row is an array: whether the expression is only a name, and all names in it.
   */
  static Object names(Object node, Object session) {
    Origin origin = ((TreeNode) node).origin();
    if (origin.sqlText().isEmpty()) return null;
    boolean isScript = ((String) origin.sqlText().get()).toLowerCase(Locale.ROOT).indexOf("begin") >= 0;
    if (!isScript && !Chain.hasVariables(session)) return null;
    String part = Statements.part(origin);
    if (part == null || part.length() > LONGEST) return null;
    try {
      Object table = inlineTable(StatementKind.parsed(part, session));
      return table == null ? null : rows((scala.collection.Iterable) Reflection.call(table, "rows"));
    } catch (StackOverflowError tooDeep) {
      return null;
    }
  }

  private static Object inlineTable(LogicalPlan parsed) {
    LogicalPlan at = parsed;
    // Only an alias can be above it.
    while (at != null && !at.getClass().getSimpleName().equals("UnresolvedInlineTable")) {
      scala.collection.Iterator below = ((scala.collection.Iterable) at.children()).iterator();
      at = below.hasNext() ? (LogicalPlan) below.next() : null;
    }
    return at;
  }

  private static Object[] rows(scala.collection.Iterable rows) {
    ArrayList found = new ArrayList();
    scala.collection.Iterator it = rows.iterator();
    while (it.hasNext()) {
      ArrayList columns = new ArrayList();
      boolean named = false;
      scala.collection.Iterator expressions = ((scala.collection.Iterable) it.next()).iterator();
      while (expressions.hasNext()) {
        Expression expression = (Expression) expressions.next();
        ArrayList names = new ArrayList();
        names.add(Boolean.valueOf(expression instanceof UnresolvedAttribute));
        collect(expression, names);
        named |= names.size() > 1;
        columns.add(names.toArray());
      }
      if (named) found.add(columns.toArray());
    }
    return found.toArray();
  }

  private static void collect(Expression expression, ArrayList names) {
    if (expression instanceof UnresolvedAttribute) names.add(((UnresolvedAttribute) expression).sql());
    scala.collection.Iterator it = ((scala.collection.Iterable) expression.children()).iterator();
    while (it.hasNext()) collect((Expression) it.next(), names);
  }
}
