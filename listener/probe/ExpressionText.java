package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryOperator;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.DropField;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FrameLessOffsetWindowFunction;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.KnownNullable;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MultiLikeBase;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.TaggingExpression;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UpdateFields;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.WindowSpecDefinition;
import org.apache.spark.sql.catalyst.expressions.WithField;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.AnyValue;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The SQL of one expression, in which each attribute can be distinguished from the text around it. Spark writes the SQL
 * of a copy of the expression, in which marks replace attributes and everything for which Spark has no readable SQL:
 * subqueries, lambda functions, and its arithmetic for time windows.
 */
final class ExpressionText extends scala.runtime.AbstractPartialFunction {
  // An identifier, which Spark does not quote. The user's text does not contain it by chance.
  private static final String MARK = "ol" + Long.toHexString(Double.doubleToLongBits(Math.random())) + "_";
  // Where an expression has no SQL, Spark writes an exprId and a suffix after an attribute.
  private static final Pattern MARKED = Pattern.compile(MARK + "(\\d+)_(?:#\\d+L?)?");
  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  // Expressions that some versions of Spark do not have.
  private static final String SQL_FUNCTION = "org.apache.spark.sql.catalyst.analysis.SQLScalarFunction";
  private static final String SESSION_VARIABLE = "org.apache.spark.sql.catalyst.expressions.VariableReference";
  private static final String ARROW = " -> "; // of a lambda function
  // What Spark calls around a CHAR or VARCHAR, without a meaning for the user.
  private static final List LENGTH_CHECKS =
      Arrays.asList(new String[] {"readSidePadding", "charTypeWriteSideCheck", "varcharTypeWriteSideCheck"});
  private static final String IGNORE_NULLS = " IGNORE NULLS";
  private static final String GROUPING_ID = "spark_grouping_id"; // the column that Spark adds for GROUPING SETS
  private static final String PIVOTED = "__pivot_"; // the beginning of a name that Spark generates
  private static final long DAY = 86400000000L;
  private static final long[] UNITS = {DAY, 3600000000L, 60000000L, 1000000L, 1000L, 1L};
  private static final String[] UNIT_NAMES = {"day", "hour", "minute", "second", "millisecond", "microsecond"};
  private static final Class[] IS_DISTINCT = {Boolean.TYPE};
  private static final HashMap WRITERS = new HashMap();
  private static final ExprId MARK_ID = new ExprId(0L, new UUID(0L, 0L));
  private static final scala.collection.immutable.Seq NONE =
      (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$;
  // What the marks replace: for each, a list of parts.
  private final ArrayList marked = new ArrayList();
  private final HashMap variables = new HashMap();
  // The function whose parameters are being written; null outside of one.
  private Expression replacing;
  // The condition on the rows of a column of a PIVOT, if the expression is an aggregate of one.
  private EqualNullSafe pivot;

  private ExpressionText() {}

  /**
   * Returns the parts of an expression's SQL: an `Attribute`, a `FieldText`, a text (`StringBuilder`) or a subquery
   * (`String`); or one `StructText` alone.
   */
  static List of(Expression expression) {
    return new ExpressionText().pivoted(expression);
  }

  /** Writes the parts, whose texts have at most `longest` characters together: see PROTOCOL.md. */
  static void write(JsonText out, List parts, int longest) throws IOException {
    if (parts.size() == 1 && parts.get(0) instanceof StringBuilder) {
      out.writeString(JsonText.cut(parts.get(0).toString(), longest));
      return;
    }
    out.writeStartArray();
    write(out, parts, longest, longest);
    out.writeEndArray();
  }

  /** Writes parts, whose texts have at most `left` characters, and the fields of structs at most `more` in addition. */
  private static void write(JsonText out, List parts, int left, int more) throws IOException {
    for (int i = 0; i < parts.size(); i++) {
      Object part = parts.get(i);
      if (part instanceof StructText) {
        write(out, (StructText) part, left, more);
        return;
      }
      Object named = part instanceof FieldText ? ((FieldText) part).attribute : part;
      String text = named instanceof Attribute ? sql((Attribute) named) : part.toString();
      boolean isText = part instanceof StringBuilder;
      left -= text.length();
      if (left < 0) {
        out.writeString(isText ? JsonText.cut(text, text.length() + left) : "...");
        return;
      }
      if (isText) {
        out.writeString(text);
        continue;
      }
      out.writeStartArray();
      if (named instanceof Attribute) out.writeNumber(((Attribute) named).exprId().id());
      out.writeString(text);
      if (part instanceof FieldText) {
        List path = ((FieldText) part).path;
        for (int k = 0; k < path.size(); k++) out.writeString((String) path.get(k));
      }
      out.writeEndArray();
    }
  }

  /** Writes a struct: a list of its parts, and a list of names and parts of the fields for which there is room. */
  private static void write(JsonText out, StructText struct, int left, int more) throws IOException {
    out.writeStartArray();
    out.writeStartArray();
    write(out, struct.whole, left, 0);
    out.writeEndArray();
    for (int i = 0; i < struct.names.size(); i++) {
      List value = (List) struct.values.get(i);
      more -= length(value, more);
      if (more < 0) break;
      out.writeStartArray();
      out.writeString((String) struct.names.get(i));
      write(out, value, Integer.MAX_VALUE, Integer.MAX_VALUE);
      out.writeEndArray();
    }
    out.writeEndArray();
  }

  /** Returns how many characters parts have, including the fields of structs; or any number above `most`. */
  private static int length(List parts, int most) {
    int found = 0;
    for (int i = 0; i < parts.size() && found <= most; i++) {
      Object part = parts.get(i);
      if (part instanceof StructText) {
        found += length(((StructText) part).whole, most);
        List values = ((StructText) part).values;
        for (int k = 0; k < values.size() && found <= most; k++) found += length((List) values.get(k), most);
      } else {
        Object named = part instanceof FieldText ? ((FieldText) part).attribute : part;
        found += named instanceof Attribute ? sql((Attribute) named).length() : part.toString().length();
      }
    }
    return found;
  }

  /** Returns `Attribute.sql`; without asking Spark, which searches each name, if no part of it can need quotes. */
  private static String sql(Attribute attribute) {
    if (!(attribute instanceof AttributeReference) || !isPlain(attribute.name())) return attribute.sql();
    StringBuilder sql = new StringBuilder();
    scala.collection.Iterator qualifiers = attribute.qualifier().iterator();
    while (qualifiers.hasNext()) {
      String qualifier = (String) qualifiers.next();
      if (!isPlain(qualifier)) return attribute.sql();
      sql.append(qualifier).append('.');
    }
    return sql.append(attribute.name()).toString();
  }

  private static boolean isPlain(String name) {
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_';
      if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return name.length() > 0;
  }

  /** Returns the parts of an attribute; for the one that states the grouping set of a row, the user's function. */
  private static List attribute(AttributeReference attribute) {
    boolean groups = GROUPING_ID.equals(attribute.name());
    return Collections.singletonList(groups ? new StringBuilder("grouping_id()") : (Object) attribute);
  }

  private List parts(Expression expression) {
    if (expression instanceof AttributeReference) return attribute((AttributeReference) expression);
    if (expression instanceof Literal) return Collections.singletonList(new StringBuilder(expression.sql()));
    List parts = replaced(expression);
    if (parts == null) parts = composed(expression);
    return parts == null ? split(((Expression) expression.transformDown(this)).sql()) : parts;
  }

  /**
   * Returns an operation of two operands, or a call of a function, from the parts of its children, in Spark's form:
   * copying the expression takes longer. Returns null for an expression whose text has another form.
   */
  private List composed(Expression expression) {
    Class writer = writer(expression.getClass());
    if (writer == BinaryOperator.class) return operation((BinaryOperator) expression);
    if (writer == Expression.class) return call(expression.prettyName() + "(", expression);
    if (writer != AggregateExpression.class || ((AggregateExpression) expression).filter().isDefined()) return null;
    AggregateFunction function = ((AggregateExpression) expression).aggregateFunction();
    if (writer(function.getClass()) != AggregateFunction.class) return null;
    boolean distinct = ((AggregateExpression) expression).isDistinct();
    return call(function.prettyName() + (distinct ? "(DISTINCT " : "("), function);
  }

  private List operation(BinaryOperator operation) {
    ArrayList parts = new ArrayList();
    text(parts, "(");
    addAll(parts, parts((Expression) operation.left()));
    text(parts, " " + operation.sqlOperator() + " ");
    addAll(parts, parts((Expression) operation.right()));
    text(parts, ")");
    return parts;
  }

  private List call(String begin, Expression function) {
    ArrayList parts = new ArrayList();
    text(parts, begin);
    scala.collection.Iterator children = function.children().iterator();
    while (children.hasNext()) {
      addAll(parts, parts((Expression) children.next()));
      if (children.hasNext()) text(parts, ", ");
    }
    text(parts, ")");
    return parts;
  }

  /** Returns the class by whose method the expressions of a class write their SQL. */
  private static Class writer(Class type) {
    synchronized (WRITERS) {
      Class writer = (Class) WRITERS.get(type);
      if (writer == null) {
        boolean aggregates = AggregateFunction.class.isAssignableFrom(type);
        try {
          writer = type.getMethod("sql", aggregates ? IS_DISTINCT : new Class[0]).getDeclaringClass();
        } catch (NoSuchMethodException never) {
          writer = type;
        }
        WRITERS.put(type, writer);
      }
      return writer;
    }
  }

  /** Returns the parts of a text in which marks replace some of them. */
  private List split(String sql) {
    Matcher found = MARKED.matcher(sql);
    if (found.matches()) return (List) marked.get(Integer.parseInt(found.group(1)));
    found.reset();
    ArrayList parts = new ArrayList();
    int at = 0;
    while (found.find()) {
      text(parts, sql.substring(at, found.start()));
      addAll(parts, (List) marked.get(Integer.parseInt(found.group(1))));
      at = found.end();
    }
    text(parts, sql.substring(at));
    return parts;
  }

  /** Adds parts; within a text, a struct has no fields. */
  private static void addAll(List parts, List more) {
    for (int i = 0; i < more.size(); i++) {
      Object part = more.get(i);
      if (part instanceof StructText) addAll(parts, ((StructText) part).whole);
      else if (part instanceof StringBuilder) text(parts, part.toString());
      else parts.add(part);
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
    if (node instanceof SpecifiedWindowFrame) return readable((SpecifiedWindowFrame) node);
    boolean own = node instanceof AttributeReference;
    List parts = own ? attribute((AttributeReference) node) : replaced((Expression) node);
    return parts == null ? node : mark(node, parts);
  }

  /** Returns a frame as users write it: Spark writes negative numbers, and casts of them, as `-2 FOLLOWING`. */
  private static Expression readable(SpecifiedWindowFrame frame) {
    Expression lower = preceding(frame.lower());
    Expression upper = preceding(frame.upper());
    boolean same = lower == frame.lower() && upper == frame.upper();
    return same ? frame : new SpecifiedWindowFrame(frame.frameType(), lower, upper);
  }

  private static Expression preceding(Expression bound) {
    Expression at = bound instanceof Cast ? ((Cast) bound).child() : bound;
    if (at instanceof UnaryMinus) return at;
    Object value = at instanceof Literal ? ((Literal) at).value() : null;
    if (!(value instanceof Integer || value instanceof Long) || ((Number) value).longValue() >= 0) return bound;
    long count = -((Number) value).longValue();
    if (count > Integer.MAX_VALUE) return new UnaryMinus(new Literal(Long.valueOf(count), at.dataType()));
    return new UnaryMinus(new Literal(Integer.valueOf((int) count), DataTypes.IntegerType));
  }

  /** Returns the parts of an expression whose SQL in Spark is unreadable or lacks its attributes; else null. */
  private List replaced(Expression node) {
    if (node instanceof UnresolvedAttribute) return named((UnresolvedAttribute) node);
    if (node instanceof TaggingExpression) return parts((Expression) ((UnaryExpression) node).child());
    if (node instanceof OuterReference) return parts((Expression) ((OuterReference) node).e());
    if (node instanceof PlanExpression) return subquery((PlanExpression) node);
    if (node instanceof InSubquery) return in((InSubquery) node);
    if (node instanceof NamedLambdaVariable) return variable((NamedLambdaVariable) node);
    if (node instanceof LambdaFunction) return lambda((LambdaFunction) node);
    if (node instanceof GetStructField) return field((GetStructField) node);
    if (node instanceof GetArrayStructFields) {
      List array = parts(((GetArrayStructFields) node).child());
      return field(array, -1, ((GetArrayStructFields) node).field().name());
    }
    if (node instanceof Cast) {
      List struct = cast((Cast) node);
      if (struct != null) return struct;
    }
    if (node instanceof If) {
      List value = chosen((If) node);
      if (value != null) return value;
    }
    if (node instanceof GetArrayItem) {
      List value = pivot((GetArrayItem) node);
      if (value != null) return value;
    }
    if (node instanceof AggregateExpression) {
      AggregateFunction function = ((AggregateExpression) node).aggregateFunction();
      if (function instanceof PivotFirst) return values((PivotFirst) function);
      boolean chooses = function instanceof First || function instanceof Last || function instanceof AnyValue;
      if (chooses && ignoresNulls(function)) return ignoring((AggregateExpression) node);
    }
    if (node instanceof MultiLikeBase) return likes((MultiLikeBase) node);
    if (node instanceof PreciseTimestampConversion) {
      List time = windowTime((PreciseTimestampConversion) node);
      if (time != null) return time;
    }
    if (node instanceof WindowExpression) {
      WindowExpression window = (WindowExpression) node;
      if (window.windowFunction() instanceof FrameLessOffsetWindowFunction) return offset(window);
    }
    if (node instanceof StaticInvoke && LENGTH_CHECKS.contains(((StaticInvoke) node).functionName())) {
      return parts((Expression) ((StaticInvoke) node).arguments().head());
    }
    if (node instanceof UpdateFields) return updated((UpdateFields) node);
    if (node.getClass().getName().equals(SQL_FUNCTION)) return sqlFunction(node);
    if (node.getClass().getName().equals(SESSION_VARIABLE)) return sessionVariable(node);
    // Such a function shows its parameters, but its only child is its replacement.
    boolean replaced = node instanceof InheritAnalysisRules && !(node instanceof AggregateFunction);
    if (replaced) return call((InheritAnalysisRules) node);
    List window = node instanceof CreateNamedStruct ? window((CreateNamedStruct) node) : null;
    if (window == null && node instanceof CreateNamedStruct) window = session((CreateNamedStruct) node);
    if (window == null && node instanceof CreateNamedStruct) window = struct((CreateNamedStruct) node);
    return window;
  }

  private List field(GetStructField access) {
    return field(parts(access.child()), access.ordinal(), access.extractFieldName());
  }

  /** Returns a field of a struct: its expression if that is known. `ordinal`: its position, or -1 in an array. */
  private static List field(List struct, int ordinal, String name) {
    Object only = struct.size() == 1 ? struct.get(0) : null;
    if (only instanceof StructText && ordinal >= 0 && ordinal < ((StructText) only).values.size()) {
      return (List) ((StructText) only).values.get(ordinal);
    }
    if (only instanceof Attribute || only instanceof FieldText) {
      return Collections.singletonList(FieldText.of(only, name));
    }
    ArrayList parts = new ArrayList();
    addAll(parts, struct);
    text(parts, "." + quoted(name));
    return parts;
  }

  /** Returns the call that builds a struct, with its fields. */
  private List struct(CreateNamedStruct struct) {
    String function = struct.prettyName();
    // This is Spark's name for a struct that no function call has created.
    boolean named = function.equals("named_struct");
    ArrayList whole = new ArrayList();
    StructText found = new StructText(whole);
    StructField[] fields = ((StructType) struct.dataType()).fields();
    scala.collection.Seq children = struct.children();
    text(whole, function + "(");
    for (int i = 0; i < fields.length; i++) {
      if (i > 0) text(whole, ", ");
      if (named) text(whole, ((Expression) children.apply(2 * i)).sql() + ", ");
      Expression value = (Expression) children.apply(2 * i + 1);
      while (value instanceof Alias) value = ((Alias) value).child();
      addAll(whole, parts(value));
      if (!named && !isCalled(value, fields[i].name(), i)) text(whole, " AS " + quoted(fields[i].name()));
      // To write a struct, Spark 3.5 casts each field, even to its own type.
      found.add(fields[i].name(), parts(withoutCast(value)));
    }
    text(whole, ")");
    return Collections.singletonList(found);
  }

  /** Returns whether a field of a struct has the name that it has without an alias. */
  private static boolean isCalled(Expression value, String name, int place) {
    if (value instanceof Attribute) return ((Attribute) value).name().equals(name);
    if (value instanceof GetStructField) return ((GetStructField) value).extractFieldName().equals(name);
    return name.equals("col" + (place + 1));
  }

  /** Returns the child of a cast to the child's own type, else the expression itself. */
  private static Expression withoutCast(Expression expression) {
    if (!(expression instanceof Cast)) return expression;
    Expression child = ((Cast) expression).child();
    return child.dataType().sql().equals(expression.dataType().sql()) ? child : expression;
  }

  /** Returns the cast of a struct to another one, which takes fields by their positions; null for any other cast. */
  private List cast(Cast cast) {
    DataType to = cast.dataType();
    if (!(to instanceof StructType) || !(cast.child().dataType() instanceof StructType)) return null;
    List child = parts(cast.child());
    StructField[] before = ((StructType) cast.child().dataType()).fields();
    StructField[] after = ((StructType) to).fields();
    ArrayList whole = new ArrayList();
    StructText found = new StructText(whole);
    text(whole, "CAST(");
    addAll(whole, child);
    text(whole, " AS " + to.sql() + ")");
    for (int i = 0; i < after.length && i < before.length; i++) {
      List value = field(child, i, before[i].name());
      if (!before[i].dataType().sql().equals(after[i].dataType().sql())) {
        ArrayList converted = new ArrayList();
        text(converted, "CAST(");
        addAll(converted, value);
        text(converted, " AS " + after[i].dataType().sql() + ")");
        value = converted;
      }
      found.add(after[i].name(), value);
    }
    return Collections.singletonList(found);
  }

  /**
   * Returns what a condition that Spark has generated chooses: the struct that Spark takes apart and rebuilds to write
   * it, unless that is null; or the values of a column of a PIVOT. Null for any other condition.
   */
  private List chosen(If condition) {
    Expression test = condition.predicate();
    if (test instanceof IsNull && condition.falseValue() instanceof CreateNamedStruct) {
      scala.collection.Seq children = condition.falseValue().children();
      for (int i = 1; i < children.size(); i += 2) {
        if (!takesApart((Expression) children.apply(i), ((IsNull) test).child())) return null;
      }
      return isNull(condition.trueValue()) ? parts(condition.falseValue()) : null;
    }
    // In the user's own expression, the condition has another origin than the whole.
    boolean made = test instanceof EqualNullSafe && test.origin().equals(condition.origin());
    if (!made || !isNull(condition.falseValue())) return null;
    if (pivot != null && !pivot.semanticEquals(test)) return null;
    pivot = (EqualNullSafe) test;
    return parts(condition.trueValue());
  }

  private static boolean isNull(Expression expression) {
    while (expression instanceof Cast) expression = ((Cast) expression).child();
    return expression instanceof Literal && ((Literal) expression).value() == null;
  }

  /** Returns whether an expression reads a field of a struct. */
  private static boolean takesApart(Expression expression, Expression struct) {
    boolean isField = expression instanceof GetStructField;
    if (isField && ((GetStructField) expression).child().semanticEquals(struct)) return true;
    scala.collection.Seq children = expression.children();
    for (int i = 0; i < children.size(); i++) {
      if (takesApart((Expression) children.apply(i), struct)) return true;
    }
    return false;
  }

  /** Returns the parts of an expression; for an aggregate over the values of a column of a PIVOT, the column. */
  private List pivoted(Expression expression) {
    List parts = parts(expression);
    return pivot == null ? parts : ofPivot(parts, parts(pivot.left()), pivot.right());
  }

  private static List ofPivot(List aggregate, List column, Expression value) {
    ArrayList parts = new ArrayList();
    text(parts, "(");
    addAll(parts, aggregate);
    text(parts, " FOR ");
    while (value instanceof Cast) value = ((Cast) value).child();
    if (value.dataType() instanceof StructType) {
      StructField[] fields = ((StructType) value.dataType()).fields();
      for (int i = 0; i < fields.length; i++) {
        if (i > 0) text(parts, " AND ");
        Object one = new GetStructField(value, i, scala.Option.apply(null)).eval(null);
        equal(parts, field(column, i, fields[i].name()), new Literal(one, fields[i].dataType()));
      }
    } else {
      equal(parts, column, value);
    }
    text(parts, ")");
    return parts;
  }

  private static void equal(List parts, List column, Expression value) {
    addAll(parts, column);
    text(parts, isNull(value) ? " IS NULL" : " = " + value.sql());
  }

  /** Returns the aggregate of a PIVOT for each value, as the fields of a struct. */
  private List values(PivotFirst pivot) {
    StructText found = new StructText(parts(pivot.valueColumn()));
    scala.collection.Seq values = pivot.pivotColumnValues();
    for (int i = 0; i < values.size(); i++) {
      Literal value = new Literal(values.apply(i), pivot.pivotColumn().dataType());
      found.add("[" + i + "]", ofPivot(parts(pivot.valueColumn()), parts(pivot.pivotColumn()), value));
    }
    return Collections.singletonList(found);
  }

  /** Returns LIKE ANY and similar operators with their patterns, which Spark leaves out. */
  private List likes(MultiLikeBase like) {
    ArrayList parts = new ArrayList();
    String name = like.getClass().getSimpleName();
    text(parts, "(");
    addAll(parts, parts((Expression) like.children().head()));
    text(parts, (name.startsWith("Not") ? " NOT" : "") + " LIKE " + (name.endsWith("Any") ? "ANY" : "ALL") + " (");
    scala.collection.Seq patterns = (scala.collection.Seq) Reflection.call(like, "patterns");
    for (int i = 0; i < patterns.size(); i++) {
      text(parts, (i == 0 ? "" : ", ") + literal(String.valueOf(patterns.apply(i))));
    }
    text(parts, "))");
    return parts;
  }

  /** Returns the call of `window_time` that Spark has replaced; null for any other conversion. */
  private List windowTime(PreciseTimestampConversion conversion) {
    if (!(conversion.child() instanceof Subtract)) return null;
    Expression end = conversion(((Subtract) conversion.child()).left());
    Long less = number(((Subtract) conversion.child()).right());
    if (!(end instanceof GetStructField) || less == null || less.longValue() != 1) return null;
    ArrayList parts = new ArrayList();
    text(parts, "window_time(");
    addAll(parts, parts(((GetStructField) end).child()));
    text(parts, ")");
    return parts;
  }

  private static boolean ignoresNulls(Expression function) {
    return Boolean.TRUE.equals(Reflection.call(function, "ignoreNulls"));
  }

  /** Returns an aggregate that ignores nulls, which Spark's SQL does not show. */
  private List ignoring(AggregateExpression aggregate) {
    EqualNullSafe before = pivot;
    AggregateFunction function = aggregate.aggregateFunction();
    Expression child = (Expression) function.children().head();
    scala.collection.immutable.List none = (scala.collection.immutable.List) (Object) NONE;
    scala.collection.immutable.List of = none.$colon$colon(mark(child, parts(child)));
    ArrayList parts = new ArrayList();
    addAll(parts, split(((AggregateFunction) function.withNewChildren(of)).sql(aggregate.isDistinct())));
    if (aggregate.filter().isDefined()) {
      text(parts, " FILTER (WHERE ");
      addAll(parts, parts((Expression) aggregate.filter().get()));
      text(parts, ")");
    }
    // Spark itself lets an aggregate of a PIVOT ignore the nulls that represent other values.
    if (pivot == before) text(parts, IGNORE_NULLS);
    return parts;
  }

  /** Returns LAG or LEAD over its window, without the frame that Spark derives from the offset. */
  private List offset(WindowExpression window) {
    ArrayList parts = new ArrayList();
    WindowSpecDefinition spec = window.windowSpec();
    addAll(parts, parts(window.windowFunction()));
    text(parts, (ignoresNulls(window.windowFunction()) ? IGNORE_NULLS : "") + " OVER (");
    list(parts, "PARTITION BY ", spec.partitionSpec());
    list(parts, spec.partitionSpec().isEmpty() ? "ORDER BY " : " ORDER BY ", spec.orderSpec());
    text(parts, ")");
    return parts;
  }

  private void list(List parts, String words, scala.collection.Seq expressions) {
    for (int i = 0; i < expressions.size(); i++) {
      text(parts, i == 0 ? words : ", ");
      addAll(parts, parts((Expression) expressions.apply(i)));
    }
  }

  /** Returns which of the values of a PIVOT an expression takes; null for any other item of an array. */
  private static List pivot(GetArrayItem item) {
    Expression array = item.child();
    Object at = item.ordinal() instanceof Literal ? ((Literal) item.ordinal()).value() : null;
    if (at == null || !(array instanceof Attribute) || !((Attribute) array).name().startsWith(PIVOTED)) return null;
    return Collections.singletonList(FieldText.of(array, "[" + at + "]"));
  }

  /** Returns the calls of `withField` and `dropFields` that change a struct; their SQL in Spark lacks the names. */
  private List updated(UpdateFields update) {
    List struct = parts(update.structExpr());
    ArrayList whole = new ArrayList();
    addAll(whole, struct);
    HashMap changed = new HashMap();
    scala.collection.Seq changes = update.fieldOps();
    for (int i = 0; i < changes.size(); i++) {
      Object change = changes.apply(i);
      if (change instanceof WithField) {
        List value = parts(((WithField) change).valExpr());
        changed.put(((WithField) change).name().toLowerCase(), value);
        text(whole, ".withField(" + literal(((WithField) change).name()) + ", ");
        addAll(whole, value);
        text(whole, ")");
      } else if (change instanceof DropField) {
        text(whole, ".dropFields(" + literal(((DropField) change).name()) + ")");
      }
    }
    return Collections.singletonList(changed(update, struct, whole, changed));
  }

  /** Returns a struct with changed fields; all others are those of the original struct. */
  private static StructText changed(UpdateFields update, List struct, List whole, HashMap changed) {
    StructText found = new StructText(whole);
    StructType type = (StructType) update.structExpr().dataType();
    StructField[] fields = ((StructType) update.dataType()).fields();
    for (int i = 0; i < fields.length; i++) {
      String name = fields[i].name();
      List value = (List) changed.get(name.toLowerCase());
      if (value == null && !type.getFieldIndex(name).isDefined()) break;
      found.add(name, value == null ? field(struct, type.fieldIndex(name), name) : value);
    }
    return found;
  }

  private static String literal(String name) {
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static String quoted(String name) {
    return PLAIN_NAME.matcher(name).matches() ? name : "`" + name.replace("`", "``") + "`";
  }

  /** Returns the call of a function in SQL with its arguments; its own text has the parameters instead. */
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

  /**
   * Returns the call of a function. Its parameters are not resolved if a method of Spark 3.5's DataFrames has created
   * it: then their columns are those with the same names in its replacement.
   */
  private List call(InheritAnalysisRules function) {
    Expression around = replacing;
    if (((Expression) function).resolved()) replacing = (Expression) function;
    try {
      return called(function);
    } finally {
      replacing = around;
    }
  }

  private List called(InheritAnalysisRules function) {
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
    DataType type = of.resolved() ? of.dataType() : DataTypes.NullType;
    return new AttributeReference(name, type, true, Metadata.empty(), MARK_ID, NONE);
  }

  /** Returns the attribute that a name means in the parameters of a function; the name, if that is ambiguous. */
  private List named(UnresolvedAttribute unresolved) {
    Attribute found = null;
    String name = unresolved.name();
    ArrayList pending = new ArrayList();
    if (replacing != null) pending.add(replacing);
    while (!pending.isEmpty()) {
      Expression at = (Expression) pending.remove(pending.size() - 1);
      scala.collection.Iterator children = at.children().iterator();
      while (children.hasNext()) pending.add(children.next());
      if (!(at instanceof AttributeReference) || !((Attribute) at).name().equalsIgnoreCase(name)) continue;
      Attribute other = (Attribute) at;
      boolean several = found != null && found.exprId().id() != other.exprId().id();
      if (several) return Collections.singletonList(new StringBuilder(name));
      found = other;
    }
    return Collections.singletonList(found == null ? (Object) new StringBuilder(name) : found);
  }

  /** Returns the part of the statement from which a subquery was parsed; a DataFrame's subquery has none. */
  private static List subquery(PlanExpression subquery) {
    ArrayList parts = new ArrayList();
    if (subquery instanceof Exists) text(parts, "EXISTS ");
    String part = Statements.part(subquery.origin());
    if (part == null) text(parts, "(SELECT ...)");
    else parts.add(part);
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
    // After the function, its names are free again.
    for (int i = 0; i < names.size(); i++) variables.remove(((NamedLambdaVariable) names.apply(i)).exprId());
    return parts;
  }

  /** Returns the name of a lambda variable, without the number by which PySpark keeps names unique in a session. */
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
