package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.DropField;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.KnownNullable;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UpdateFields;
import org.apache.spark.sql.catalyst.expressions.WithField;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.types.Metadata;

/**
 * The SQL of one expression, in which each attribute can be told from the text around it. Spark writes the SQL of a
 * copy of the expression in which marks stand in for attributes, and for what it has no readable SQL for: subqueries,
 * lambda functions, and the arithmetic that it makes of time windows.
 */
final class ExpressionText extends scala.runtime.AbstractPartialFunction {
  // An identifier, which Spark does not quote. No text of the user contains it by chance.
  private static final String MARK = "ol" + Long.toHexString(Double.doubleToLongBits(Math.random())) + "_";
  // Where an expression has no SQL, Spark writes an exprId and a suffix after an attribute.
  private static final Pattern MARKED = Pattern.compile(MARK + "(\\d+)_(?:#\\d+L?)?");
  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  // Expressions that not every version of Spark has.
  private static final String SQL_FUNCTION = "org.apache.spark.sql.catalyst.analysis.SQLScalarFunction";
  private static final String SESSION_VARIABLE = "org.apache.spark.sql.catalyst.expressions.VariableReference";
  private static final String ARROW = " -> "; // of a lambda function
  private static final long DAY = 86400000000L;
  private static final long[] UNITS = {DAY, 3600000000L, 60000000L, 1000000L, 1000L, 1L};
  private static final String[] UNIT_NAMES = {"day", "hour", "minute", "second", "millisecond", "microsecond"};
  private static final ExprId MARK_ID = new ExprId(0L, new UUID(0L, 0L));
  private static final scala.collection.immutable.Seq NONE =
      (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$;
  // What the marks stand for: each has a list of parts.
  private final ArrayList marked = new ArrayList();
  private final HashMap variables = new HashMap();

  private ExpressionText() {}

  /** Returns the parts of an expression's SQL: an `Attribute`, a text (`StringBuilder`) or a subquery (`String`). */
  static List of(Expression expression) {
    return new ExpressionText().parts(expression);
  }

  /** Writes the parts, of which texts have at most `longest` characters together: see PROTOCOL.md. */
  static void write(JsonText out, List parts, int longest) throws IOException {
    if (parts.size() == 1 && parts.get(0) instanceof StringBuilder) {
      out.writeString(JsonText.cut(parts.get(0).toString(), longest));
      return;
    }
    out.writeStartArray();
    int left = longest;
    for (int i = 0; i < parts.size(); i++) {
      Object part = parts.get(i);
      String text = part instanceof Attribute ? ((Attribute) part).sql() : part.toString();
      boolean isText = part instanceof StringBuilder;
      left -= text.length();
      if (left < 0) {
        out.writeString(isText ? JsonText.cut(text, text.length() + left) : "...");
        break;
      }
      if (isText) {
        out.writeString(text);
        continue;
      }
      out.writeStartArray();
      if (part instanceof Attribute) out.writeNumber(((Attribute) part).exprId().id());
      out.writeString(text);
      out.writeEndArray();
    }
    out.writeEndArray();
  }

  private List parts(Expression expression) {
    if (expression instanceof AttributeReference) return Collections.singletonList(expression);
    return split(((Expression) expression.transformDown(this)).sql());
  }

  /** Returns a text in which marks stand in for some parts as its parts. */
  private List split(String sql) {
    ArrayList parts = new ArrayList();
    Matcher found = MARKED.matcher(sql);
    int at = 0;
    while (found.find()) {
      text(parts, sql.substring(at, found.start()));
      addAll(parts, (List) marked.get(Integer.parseInt(found.group(1))));
      at = found.end();
    }
    text(parts, sql.substring(at));
    return parts;
  }

  private static void addAll(List parts, List more) {
    for (int i = 0; i < more.size(); i++) {
      if (more.get(i) instanceof StringBuilder) text(parts, more.get(i).toString());
      else parts.add(more.get(i));
    }
  }

  /** Adds a text; texts that follow each other become one. */
  private static void text(List parts, String text) {
    Object last = parts.isEmpty() ? null : parts.get(parts.size() - 1);
    if (last instanceof StringBuilder) ((StringBuilder) last).append(text);
    else if (text.length() > 0) parts.add(new StringBuilder(text));
  }

  public boolean isDefinedAt(Object node) {
    return true;
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (node instanceof AttributeReference) return mark(node, Collections.singletonList(node));
    if (node instanceof OuterReference) return mark(node, parts((Expression) ((OuterReference) node).e()));
    if (node instanceof PlanExpression) return mark(node, subquery((PlanExpression) node));
    if (node instanceof InSubquery) return mark(node, in((InSubquery) node));
    if (node instanceof NamedLambdaVariable) return mark(node, variable((NamedLambdaVariable) node));
    if (node instanceof LambdaFunction) return mark(node, lambda((LambdaFunction) node));
    if (node instanceof GetStructField) return mark(node, field(node, ((GetStructField) node).extractFieldName()));
    if (node instanceof GetArrayStructFields) {
      return mark(node, field(node, ((GetArrayStructFields) node).field().name()));
    }
    if (node instanceof UpdateFields) return mark(node, updated((UpdateFields) node));
    if (node.getClass().getName().equals(SQL_FUNCTION)) return mark(node, sqlFunction((Expression) node));
    if (node.getClass().getName().equals(SESSION_VARIABLE)) return mark(node, sessionVariable((Expression) node));
    // Such a function shows its parameters, but its only child is what replaces it.
    boolean replaced = node instanceof InheritAnalysisRules && !(node instanceof AggregateFunction);
    if (replaced) return mark(node, call((InheritAnalysisRules) node));
    List window = node instanceof CreateNamedStruct ? window((CreateNamedStruct) node) : null;
    if (window == null && node instanceof CreateNamedStruct) window = session((CreateNamedStruct) node);
    return window == null ? node : mark(node, window);
  }

  private List field(Object access, String name) {
    ArrayList parts = new ArrayList();
    addAll(parts, parts((Expression) ((Expression) access).children().head()));
    text(parts, "." + quoted(name));
    return parts;
  }

  /** Returns the calls of `withField` and `dropFields` by which a struct is changed; their SQL lacks the names. */
  private List updated(UpdateFields update) {
    ArrayList parts = new ArrayList();
    addAll(parts, parts(update.structExpr()));
    scala.collection.Seq changes = update.fieldOps();
    for (int i = 0; i < changes.size(); i++) {
      Object change = changes.apply(i);
      if (change instanceof WithField) {
        text(parts, ".withField(" + literal(((WithField) change).name()) + ", ");
        addAll(parts, parts(((WithField) change).valExpr()));
        text(parts, ")");
      } else if (change instanceof DropField) {
        text(parts, ".dropFields(" + literal(((DropField) change).name()) + ")");
      }
    }
    return parts;
  }

  private static String literal(String name) {
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static String quoted(String name) {
    return PLAIN_NAME.matcher(name).matches() ? name : "`" + name.replace("`", "``") + "`";
  }

  /** Returns the call of a function in SQL with its arguments; its own text has its parameters in their place. */
  private List sqlFunction(Expression function) {
    ArrayList parts = new ArrayList();
    String sql = function.sql();
    scala.collection.Seq inputs = (scala.collection.Seq) Reflection.call(function, "inputs");
    text(parts, sql.substring(0, sql.indexOf('(') + 1));
    for (int i = 0; i < inputs.size(); i++) {
      if (i > 0) text(parts, ", ");
      addAll(parts, parts((Expression) inputs.apply(i)));
    }
    text(parts, ")");
    return parts;
  }

  /** Returns the name of a session variable; its own text has its value, which may be a secret. */
  private static List sessionVariable(Expression variable) {
    Object identifier = Reflection.call(variable, "identifier");
    return Collections.singletonList(new StringBuilder(quoted((String) Reflection.call(identifier, "name"))));
  }

  private List call(InheritAnalysisRules function) {
    scala.collection.Seq parameters = function.parameters();
    scala.collection.immutable.List marks = (scala.collection.immutable.List) (Object) NONE;
    for (int i = parameters.size() - 1; i >= 0; i--) {
      Expression parameter = (Expression) parameters.apply(i);
      marks = marks.$colon$colon(mark(parameter, parts(parameter)).name());
    }
    return split(function.makeSQLString(marks));
  }

  private AttributeReference mark(Object node, List parts) {
    Expression of = (Expression) node;
    String name = MARK + marked.size() + "_";
    marked.add(parts);
    return new AttributeReference(name, of.dataType(), true, Metadata.empty(), MARK_ID, NONE);
  }

  /** Returns the part of the statement that a subquery was parsed from; a DataFrame's has none. */
  private static List subquery(PlanExpression subquery) {
    Origin origin = subquery.origin();
    ArrayList parts = new ArrayList();
    if (subquery instanceof Exists) text(parts, "EXISTS ");
    boolean known = origin.sqlText().isDefined() && origin.startIndex().isDefined() && origin.stopIndex().isDefined();
    String sql = known ? (String) origin.sqlText().get() : "";
    int start = known ? ((Number) origin.startIndex().get()).intValue() : 0;
    int end = known ? ((Number) origin.stopIndex().get()).intValue() + 1 : 0;
    // The parser counts code points.
    if (!known || start < 0 || end <= start || end > sql.codePointCount(0, sql.length())) {
      text(parts, "(SELECT ...)");
      return parts;
    }
    parts.add(sql.substring(sql.offsetByCodePoints(0, start), sql.offsetByCodePoints(0, end)));
    return parts;
  }

  private List in(InSubquery in) {
    ArrayList parts = new ArrayList();
    scala.collection.Seq values = in.values();
    text(parts, values.size() > 1 ? "((" : "(");
    for (int i = 0; i < values.size(); i++) {
      if (i > 0) text(parts, ", ");
      addAll(parts, parts((Expression) values.apply(i)));
    }
    text(parts, values.size() > 1 ? ") IN " : " IN ");
    parts.addAll(subquery(in.query()));
    text(parts, ")");
    return parts;
  }

  /** Returns a lambda function as SQL writes it; Spark calls it a function of its body and its variables. */
  private List lambda(LambdaFunction lambda) {
    ArrayList parts = new ArrayList();
    scala.collection.Seq names = lambda.arguments();
    text(parts, names.size() == 1 ? "" : "(");
    for (int i = 0; i < names.size(); i++) {
      if (i > 0) text(parts, ", ");
      addAll(parts, parts((Expression) names.apply(i)));
    }
    text(parts, names.size() == 1 ? ARROW : ")" + ARROW);
    addAll(parts, parts(lambda.function()));
    return parts;
  }

  /** Returns the name of a lambda variable, without the number by which PySpark makes names differ in a session. */
  private List variable(NamedLambdaVariable variable) {
    Object id = variable.exprId();
    String name = (String) variables.get(id);
    if (name == null) {
      String own = variable.name().replaceAll("_\\d+$", "");
      name = own;
      for (int i = 2; variables.containsValue(name); i++) name = own + i;
      variables.put(id, name);
    }
    return Collections.singletonList(new StringBuilder(name));
  }

  /** Returns the call of `window` that Spark has replaced by a struct of its start and its end; null for any other. */
  private List window(CreateNamedStruct struct) {
    scala.collection.Seq children = struct.children();
    if (children.size() != 4) return null;
    Expression start = (Expression) children.apply(1);
    Expression end = conversion((Expression) children.apply(3));
    Remainder remainder = (Remainder) first(start, Remainder.class);
    if (conversion(start) == null || remainder == null || !(end instanceof Add)) return null;
    if (!(remainder.left() instanceof Subtract)) return null;
    Expression time = conversion(((Subtract) remainder.left()).left());
    Long origin = number(((Subtract) remainder.left()).right());
    Long slide = number(remainder.right());
    Long length = number(((Add) end).right());
    if (time == null || origin == null || slide == null || length == null) return null;
    ArrayList parts = new ArrayList();
    text(parts, "window(");
    addAll(parts, parts(time));
    text(parts, ", '" + interval(length.longValue()) + "'");
    boolean shifted = origin.longValue() != 0;
    if (shifted || !slide.equals(length)) text(parts, ", '" + interval(slide.longValue()) + "'");
    if (shifted) text(parts, ", '" + interval(origin.longValue()) + "'");
    text(parts, ")");
    return parts;
  }

  /** Returns the call of `session_window` that Spark has replaced by a struct; null for any other struct. */
  private List session(CreateNamedStruct struct) {
    scala.collection.Seq children = struct.children();
    if (children.size() != 4) return null;
    Expression time = conversion(conversion((Expression) children.apply(1)));
    Expression end = conversion(conversion((Expression) children.apply(3)));
    if (end instanceof Cast) end = ((Cast) end).child();
    if (time == null || end == null || end.children().size() != 2) return null;
    Expression gap = (Expression) end.children().last();
    if (gap instanceof Cast) gap = ((Cast) gap).child();
    ArrayList parts = new ArrayList();
    text(parts, "session_window(");
    addAll(parts, parts(time));
    text(parts, ", ");
    addAll(parts, parts(gap));
    text(parts, ")");
    return parts;
  }

  /** Returns what a conversion between a time and a number converts; null if an expression is none. */
  private static Expression conversion(Expression expression) {
    Expression at = expression instanceof KnownNullable ? ((KnownNullable) expression).child() : expression;
    return at instanceof PreciseTimestampConversion ? ((PreciseTimestampConversion) at).child() : null;
  }

  private static Expression first(Expression expression, Class type) {
    if (type.isInstance(expression)) return expression;
    scala.collection.Seq children = expression.children();
    for (int i = 0; i < children.size(); i++) {
      Expression found = first((Expression) children.apply(i), type);
      if (found != null) return found;
    }
    return null;
  }

  private static Long number(Expression expression) {
    Object value = expression instanceof Literal ? ((Literal) expression).value() : null;
    return value instanceof Long ? (Long) value : null;
  }

  /** Returns microseconds as SQL writes an interval: `1 hour 30 minutes`. */
  private static String interval(long microseconds) {
    StringBuilder text = new StringBuilder(microseconds < 0 ? "-" : "");
    long left = Math.abs(microseconds);
    for (int i = 0; i < UNITS.length; i++) {
      long count = left / UNITS[i];
      left %= UNITS[i];
      if (count == 0) continue;
      if (text.length() > 1) text.append(' ');
      text.append(count).append(' ').append(UNIT_NAMES[i]).append(count == 1 ? "" : "s");
    }
    return text.length() == 0 ? "0 seconds" : text.toString();
  }
}
