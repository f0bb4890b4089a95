package openlineage.pyspark;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Encodes one plan: every tree node once, in order of discovery, without recursion over the tree. */
final class Encoder {
  private static final int DEEPEST_VALUE = 12;
  private static final int LONGEST_TEXT = 10000;
  private static final int LONGEST_QUERY = 100000;
  private static final int LONGEST_SQL = 2000;
  private static final int MOST_KEYS = 200;
  private static final int CALL_SITE_DEPTH = 4;
  // The joins with the columns of both sides.
  private static final List JOINING_ALL =
      Arrays.asList(new String[] {"INNER", "CROSS", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER"});
  // How Spark spells the type of a table without columns: most tables that a command creates have this type.
  private static final String NO_COLUMNS = "{\"type\":\"struct\",\"fields\":[]}";
  private static final String FRAME_VIEW = "_pyspark_";
  private static final Pattern FRAME_VIEWS = Pattern.compile(FRAME_VIEW + "[0-9a-f]{32}");
  private static final Method PYTHON_CONTEXT = pythonContextMethod();
  private final Vocabulary vocabulary;
  private final Object session;
  private final long began;
  // Tree node -> its place among the nodes; waiting nodes are encoded in the order of their places.
  private final IdentityHashMap places = new IdentityHashMap();
  private final ArrayDeque work = new ArrayDeque();
  // The expressions whose SQL is needed: those that an operator holds directly.
  private final IdentityHashMap wanted = new IdentityHashMap();
  private final IdentityHashMap nodeClasses = new IdentityHashMap();
  private final IdentityHashMap placeOfClass = new IdentityHashMap();
  private final JsonText classes;
  // A type is looked up by its value first, because spelling it out takes time.
  private final IdentityHashMap placeOfType = new IdentityHashMap();
  private final HashMap placeOfSpelling = new HashMap();
  private final ArrayList types = new ArrayList();
  private final HashMap nameOfAttribute = new HashMap();
  private final JsonText attributes;
  // All nodes, and their number. If a fault leaves a node half written, it is discarded.
  private JsonText node;
  private int encoded = 0;
  // Whether the plan is a statement that Spark has rewritten into the replacement of whole files.
  private boolean replacesRows;
  // Whether it is not an operator; whether it is a relation whose output states the columns of its table.
  private boolean inExpression;
  private boolean saysColumns;
  private Throwable unread;
  private TreeNode silentLiteral;
  // Of types, in characters.
  private long length = 0;
  private boolean cut = false;
  /** Returns whether the stack was too small for Catalyst's recursion. */
  boolean overflowed = false;

  /** `began`: when the plan's execution began, in milliseconds since the epoch. */
  Encoder(Vocabulary vocabulary, Object session, long began) throws IOException {
    this.vocabulary = vocabulary;
    this.session = session;
    this.began = began;
    node = new JsonText();
    classes = new JsonText();
    classes.writeStartArray();
    attributes = new JsonText();
    attributes.writeStartArray();
  }

  /** Returns the plan as PROTOCOL.md describes it. */
  String encode(LogicalPlan plan) throws IOException {
    replacesRows = plan instanceof ReplaceData;
    place(plan, false);
    while (!work.isEmpty()) {
      if (encoded >= vocabulary.maxNodes || length + node.length() + attributes.length() > vocabulary.maxBytes) {
        cut = true;
        break;
      }
      if (encoded++ > 0) node.writeRaw(',');
      encode((TreeNode) work.removeFirst());
    }
    return join();
  }

  private String join() throws IOException {
    JsonText plan = new JsonText();
    plan.writeStartObject();
    plan.writeRawField("classes", classes.end());
    plan.writeArrayFieldStart("types");
    for (int i = 0; i < types.size(); i++) plan.writeString((String) types.get(i));
    plan.writeEndArray();
    plan.writeRawField("attributes", attributes.end());
    plan.writeObjectFieldStart("session");
    Object conf = Chain.read(session, "sessionState.conf", null);
    boolean known = conf instanceof SQLConf;
    plan.writeStringField("warehouse", known ? ((SQLConf) conf).warehousePath() : null);
    // Not the catalog's class: reading it opens the metastore, which the job itself may never use.
    String catalog = known ? ((SQLConf) conf).getConfString("spark.sql.catalogImplementation") : null;
    plan.writeStringField("catalog", catalog);
    plan.writeBooleanField("caseSensitive", known && ((SQLConf) conf).caseSensitiveAnalysis());
    plan.writeEndObject();
    plan.writeBooleanField("cut", cut);
    plan.writeArrayFieldStart("nodes");
    if (encoded > 0) plan.writeRawValue(node.end());
    for (int i = encoded; i < places.size(); i++) plan.writeNull();
    plan.writeEndArray();
    return withStableNames(plan.end());
  }

  /** Returns a plan in which PySpark's views for the frames in a statement have numbers instead of random names. */
  private static String withStableNames(String plan) {
    if (plan.indexOf(FRAME_VIEW) < 0) return plan;
    HashMap numbers = new HashMap();
    StringBuffer text = new StringBuffer();
    Matcher found = FRAME_VIEWS.matcher(plan);
    while (found.find()) {
      if (!numbers.containsKey(found.group())) numbers.put(found.group(), String.valueOf(numbers.size() + 1));
      found.appendReplacement(text, FRAME_VIEW + numbers.get(found.group()));
    }
    return found.appendTail(text).toString();
  }

  /** Returns the place of a node, which will be encoded in its turn. */
  private int place(TreeNode node, boolean sqlWanted) {
    Integer at = (Integer) places.get(node);
    if (at == null) {
      at = Integer.valueOf(places.size());
      places.put(node, at);
      work.addLast(node);
      if (sqlWanted) wanted.put(node, Boolean.TRUE);
    }
    return at.intValue();
  }

  /** Writes one node; if it can't be read, its class, the reason and, if possible, its children. */
  private void encode(TreeNode tree) throws IOException {
    long begin = node.length();
    Throwable problem;
    try {
      write(tree);
      return;
    } catch (Exception refused) {
      problem = refused;
    } catch (StackOverflowError tooDeep) {
      overflowed = true;
      problem = tooDeep;
    } catch (LinkageError broken) {
      problem = broken;
    }
    try {
      broken(tree, problem, begin, true);
    } catch (Exception childless) {
      broken(tree, problem, begin, false);
    } catch (StackOverflowError childless) {
      broken(tree, problem, begin, false);
    } catch (LinkageError childless) {
      broken(tree, problem, begin, false);
    }
  }

  /** Writes what is known about a node that can't be read, instead of what has been written of it. */
  private void broken(TreeNode tree, Throwable problem, long begin, boolean children) throws IOException {
    node = node.from(begin);
    node.writeStartArray();
    node.writeNumber(place(classOf(tree)));
    if (tree instanceof LogicalPlan) node.writeNull();
    node.writeStartArray();
    node.writeEndArray();
    node.writeStartObject();
    node.writeStringField("broken", problem.getClass().getName());
    if (children) {
      node.writeFieldName("children");
      value(node, tree.children(), false, 0);
    }
    node.writeEndObject();
    node.writeEndArray();
  }

  private void write(TreeNode tree) throws IOException {
    NodeClass class_ = classOf(tree);
    inExpression = !(tree instanceof LogicalPlan);
    boolean inPlan = !inExpression || class_.ofMerge;
    saysColumns = false;
    unread = null;
    node.writeStartArray();
    node.writeNumber(place(class_));
    if (class_.transparent) node.writeString("=");
    else if (!inExpression) output((LogicalPlan) tree);
    node.writeStartArray();
    if (tree instanceof Literal) literal((Literal) tree);
    else arguments(tree, class_, inPlan);
    node.writeEndArray();
    boolean named = class_.named && ((Expression) tree).resolved();
    boolean shown = wanted.containsKey(tree);
    if (shown && replacesRows) wantReplacement(tree);
    if (named || shown || unread != null || !class_.rows.isEmpty()) {
      node.writeStartObject();
      if (named) name((NamedExpression) tree);
      if (shown) shown((Expression) tree);
      if (unread != null) node.writeStringField("broken", unread.getClass().getName());
      readings(node, tree, class_.rows, inPlan, 0);
      node.writeEndObject();
    }
    node.writeEndArray();
  }

  /** Requests the SQL of the value in `if (condition) value else column`, Spark's form of what an UPDATE sets. */
  private void wantReplacement(TreeNode tree) {
    Object child = tree instanceof Alias ? ((Alias) tree).child() : null;
    if (child instanceof If) wanted.put(((If) child).trueValue(), Boolean.TRUE);
  }

  /** Writes the SQL of an expression that an operator holds directly, and the line of Python that made it. */
  private void shown(Expression expression) throws IOException {
    sql(expression);
    String site = callSite(expression);
    if (site != null) node.writeStringField("c", site);
  }

  private void arguments(TreeNode tree, NodeClass class_, boolean inPlan) throws IOException {
    int arity = tree.productArity();
    for (int i = 0; i < arity; i++) {
      if (class_.reads(i)) value(node, tree.productElement(i), inPlan, 0);
      else code(tree.productElement(i));
    }
  }

  /** Writes the class of the Spark ML model whose code an argument is; nothing is written for other code. */
  private void code(Object code) throws IOException {
    String name = code == null ? "" : code.getClass().getName();
    int end = name.indexOf('$');
    String around = end < 0 ? name : name.substring(0, end);
    if (around.startsWith("org.apache.spark.ml.") && around.endsWith("Model")) node.writeString(around);
    else node.writeNull();
  }

  /** Writes only values that can affect columns: a number may be an ordinal. */
  private void literal(Literal literal) throws IOException {
    if (literal.value() instanceof Boolean) node.writeBoolean(((Boolean) literal.value()).booleanValue());
    else if (canAffectColumns(literal)) number(node, literal.value());
    else node.writeNull();
  }

  private static boolean canAffectColumns(Literal literal) {
    Object value = literal.value();
    boolean whole = value instanceof Integer || value instanceof Long || value instanceof Short;
    return whole || value instanceof Boolean;
  }

  private void name(NamedExpression named) throws IOException {
    int type = placeOfTypeOf((Expression) named);
    node.writeNumberField("id", named.exprId().id());
    node.writeStringField("n", named.name());
    if (type >= 0) node.writeNumberField("t", type);
  }

  private void sql(Expression expression) throws IOException {
    Expression shown = expression;
    // A pivoted aggregate has its own alias below the one from Spark.
    while (shown instanceof Alias) shown = ((Alias) shown).child();
    List parts = parts(shown);
    if (parts == null) return;
    node.writeFieldName("s");
    ExpressionText.write(node, parts, LONGEST_SQL);
  }

  /** Returns the parts of an expression's SQL; null if it has none. */
  private List parts(Expression expression) {
    try {
      return ExpressionText.of(expression);
    } catch (Exception unmarked) {
      return plain(expression);
    } catch (StackOverflowError tooDeep) {
      overflowed = true;
      return plain(expression);
    } catch (LinkageError unmarked) {
      return plain(expression);
    }
  }

  /** Returns the SQL as one part, in which attributes can't be distinguished from the rest. */
  private List plain(Expression expression) {
    try {
      return Collections.singletonList(new StringBuilder(expression.sql()));
    } catch (Exception unprintable) {
      return null;
    } catch (StackOverflowError tooDeep) {
      overflowed = true;
      return null;
    }
  }

  /** Returns the line of Python that made an expression; null before Spark 4, and for what no Python function made. */
  private static String callSite(Expression expression) {
    // Spark may have added aliases and casts around it.
    for (int depth = 0; PYTHON_CONTEXT != null && depth < CALL_SITE_DEPTH; depth++) {
      scala.Option said = pythonContext(expression.origin());
      if (said != null && !said.isEmpty()) {
        String site = String.valueOf(((scala.Tuple2) said.get())._2());
        int end = site.indexOf('\n');
        return JsonText.cut(end < 0 ? site : site.substring(0, end), LONGEST_SQL);
      }
      if (expression.children().size() != 1) return null;
      expression = (Expression) expression.children().head();
    }
    return null;
  }

  private static scala.Option pythonContext(Origin origin) {
    try {
      return (scala.Option) PYTHON_CONTEXT.invoke(origin, new Object[0]);
    } catch (Exception unreadable) {
      return null;
    }
  }

  private static Method pythonContextMethod() {
    try {
      return Origin.class.getMethod("pysparkErrorContext", new Class[0]);
    } catch (NoSuchMethodException beforeSpark4) {
      return null;
    }
  }

  private void output(LogicalPlan plan) throws IOException {
    if (plan instanceof Join && JOINING_ALL.contains(((Join) plan).joinType().sql())) {
      node.writeString("+");
      return;
    }
    scala.collection.Iterable output = outputOf(plan);
    if (output == null) {
      node.writeNull();
      return;
    }
    node.writeStartArray();
    scala.collection.Iterator it = output.iterator();
    saysColumns = it.hasNext() && (plan instanceof LogicalRelation || plan instanceof HiveTableRelation);
    while (it.hasNext()) column((Attribute) it.next());
    node.writeEndArray();
  }

  private scala.collection.Iterable outputOf(LogicalPlan plan) {
    try {
      return (scala.collection.Iterable) plan.output();
    } catch (Exception problem) {
      unread = problem;
    } catch (StackOverflowError problem) {
      overflowed = true;
      unread = problem;
    } catch (LinkageError problem) {
      unread = problem;
    }
    return null;
  }

  private void column(Attribute column) throws IOException {
    if (!column.resolved()) {
      node.writeNull();
      return;
    }
    attribute(column);
    long id = column.exprId().id();
    if (nameOfAttribute.get(Long.valueOf(id)).equals(column.name())) {
      node.writeNumber(id);
    } else {
      node.writeStartArray();
      node.writeNumber(id);
      node.writeString(column.name());
      node.writeEndArray();
    }
  }

  /** Records the name and type of an attribute once; it may have another name elsewhere. */
  private void attribute(Attribute attribute) throws IOException {
    Long id = Long.valueOf(attribute.exprId().id());
    if (nameOfAttribute.containsKey(id) || !attribute.resolved()) return;
    String name = attribute.name();
    int type = placeOfType(attribute.dataType());
    String comment = comment(attribute);
    attributes.writeStartArray();
    attributes.writeNumber(id.longValue());
    attributes.writeString(name);
    attributes.writeNumber(type);
    if (comment != null) attributes.writeString(comment);
    attributes.writeEndArray();
    nameOfAttribute.put(id, name);
  }

  private static String comment(Attribute attribute) {
    try {
      return attribute.metadata().contains("comment") ? attribute.metadata().getString("comment") : null;
    } catch (RuntimeException notText) {
      return null;
    }
  }

  /** Returns what is known about a node's class; at the first node of a class, the plan describes the class. */
  private NodeClass classOf(TreeNode tree) throws IOException {
    NodeClass known = (NodeClass) nodeClasses.get(tree.getClass());
    if (known == null) {
      known = vocabulary.nodeClass(tree);
      nodeClasses.put(tree.getClass(), known);
    }
    return known;
  }

  private int place(NodeClass class_) throws IOException {
    Integer at = (Integer) placeOfClass.get(class_);
    if (at != null) return at.intValue();
    classes.writeRawValue(class_.told);
    at = Integer.valueOf(placeOfClass.size());
    placeOfClass.put(class_, at);
    return at.intValue();
  }

  /** Returns -1 if the type can't be determined: finding it recurses over the expression, which may be deep. */
  private int placeOfTypeOf(Expression expression) {
    try {
      return placeOfType(expression.dataType());
    } catch (Exception unresolved) {
      return -1;
    } catch (StackOverflowError tooDeep) {
      overflowed = true;
      return -1;
    }
  }

  private int placeOfType(DataType type) {
    Integer at = (Integer) placeOfType.get(type);
    if (at != null) return at.intValue();
    String spelling = spelling(type);
    at = (Integer) placeOfSpelling.get(spelling);
    if (at == null) {
      at = Integer.valueOf(types.size());
      types.add(spelling);
      placeOfSpelling.put(spelling, at);
      length += spelling.length();
    }
    placeOfType.put(type, at);
    return at.intValue();
  }

  /** Returns the JSON of a type that has fields or elements, and the name of any other. */
  static String spelling(DataType type) {
    if (type instanceof StructType && ((StructType) type).isEmpty()) return NO_COLUMNS;
    boolean nested = type instanceof StructType || type instanceof ArrayType || type instanceof MapType;
    return nested ? type.json() : type.catalogString();
  }

  /**
   * Writes a value of any class. `inPlan`: whether an operator holds it, so that the SQL of its expressions is needed;
   * `depth`: in how many values it is nested.
   */
  void value(JsonText out, Object o, boolean inPlan, int depth) throws IOException {
    if (o == null || depth > DEEPEST_VALUE) {
      out.writeNull();
    } else if (o instanceof Attribute && ((Attribute) o).resolved()) {
      attribute((Attribute) o);
      out.writeNumber(((Attribute) o).exprId().id());
    } else if (o instanceof TreeNode) {
      refer(out, (TreeNode) o, inPlan && o instanceof Expression && !classOf((TreeNode) o).ofMerge);
    } else if (o instanceof scala.Option) {
      value(out, ((scala.Option) o).isEmpty() ? null : ((scala.Option) o).get(), inPlan, depth);
    } else if (o instanceof DataType) {
      type(out, placeOfType((DataType) o));
    } else if (o instanceof String) {
      text(out, (String) o, LONGEST_TEXT);
    } else if (o instanceof Boolean) {
      out.writeBoolean(((Boolean) o).booleanValue());
    } else if (o instanceof Number) {
      number(out, o);
    } else if (o instanceof scala.collection.Map) {
      keys(out, ((scala.collection.Map) o).keysIterator());
    } else if (o instanceof java.util.Map) {
      keys(out, null);
    } else if (o instanceof scala.collection.Iterable) {
      sequence(out, ((scala.collection.Iterable) o).iterator(), inPlan, depth);
    } else if (o instanceof Object[]) {
      array(out, (Object[]) o, inPlan, depth);
    } else if (o instanceof java.net.URI || o instanceof Enum || o instanceof org.apache.hadoop.fs.Path) {
      out.writeString(o.toString());
    } else if (o.getClass().getName().startsWith("scala.Tuple")) {
      tuple(out, (scala.Product) o, inPlan, depth);
    } else if (inExpression && vocabulary.rows(o.getClass()).isEmpty()) {
      out.writeNull();
    } else {
      describe(out, o, inPlan, depth);
    }
  }

  /** Writes a text, or the beginning of a long one in a form that distinguishes it from a whole text. */
  private static void text(JsonText out, String text, int longest) throws IOException {
    if (text.length() <= longest) {
      out.writeString(text);
      return;
    }
    out.writeStartObject();
    out.writeStringField("cut", text.substring(0, longest));
    out.writeEndObject();
  }

  /** Writes a reference to a node. One literal represents all literals that are not described. */
  private void refer(JsonText out, TreeNode referred, boolean sqlWanted) throws IOException {
    boolean silent = !sqlWanted && referred instanceof Literal && !canAffectColumns((Literal) referred);
    if (silent && silentLiteral == null) silentLiteral = referred;
    int place = place(silent ? silentLiteral : referred, sqlWanted);
    // No node below the root contains the root.
    if (place == 0) out.writeNull();
    else out.writeNumber(-place);
  }

  private static void type(JsonText out, int place) throws IOException {
    out.writeStartObject();
    out.writeNumberField("t", place);
    out.writeEndObject();
  }

  private static void number(JsonText out, Object number) throws IOException {
    out.writeStartObject();
    out.writeStringField("n", number.toString());
    out.writeEndObject();
  }

  /** Writes the keys of a map, or none; never its values, which may be secret. */
  private static void keys(JsonText out, scala.collection.Iterator keys) throws IOException {
    out.writeStartObject();
    out.writeArrayFieldStart("keys");
    for (int i = 0; keys != null && keys.hasNext() && i < MOST_KEYS; i++) out.writeString(String.valueOf(keys.next()));
    out.writeEndArray();
    out.writeEndObject();
  }

  private void sequence(JsonText out, scala.collection.Iterator it, boolean inPlan, int depth) throws IOException {
    out.writeStartArray();
    long start = out.length();
    while (it.hasNext()) {
      if (!item(out, it.next(), start, inPlan, depth)) break;
    }
    out.writeEndArray();
  }

  private void array(JsonText out, Object[] values, boolean inPlan, int depth) throws IOException {
    out.writeStartArray();
    long start = out.length();
    for (int i = 0; i < values.length; i++) {
      if (!item(out, values[i], start, inPlan, depth)) break;
    }
    out.writeEndArray();
  }

  /** Writes an item of a sequence that began at `start`; returns whether more may follow. Rows are never read. */
  private boolean item(JsonText out, Object o, long start, boolean inPlan, int depth) throws IOException {
    if (o instanceof InternalRow) return false;
    if (out.length() - start > vocabulary.maxBytes) {
      cut = true;
      out.writeNull();
      return false;
    }
    value(out, o, inPlan, depth + 1);
    return true;
  }

  private void tuple(JsonText out, scala.Product tuple, boolean inPlan, int depth) throws IOException {
    out.writeStartArray();
    for (int i = 0; i < tuple.productArity(); i++) value(out, tuple.productElement(i), inPlan, depth + 1);
    out.writeEndArray();
  }

  private void describe(JsonText out, Object o, boolean inPlan, int depth) throws IOException {
    out.writeStartObject();
    out.writeStringField("o", o.getClass().getName());
    readings(out, o, vocabulary.rows(o.getClass()), inPlan, depth + 1);
    out.writeEndObject();
  }

  /** Writes a field for each reading that Python requests for this class. */
  private void readings(JsonText out, Object o, ArrayList rows, boolean inPlan, int depth) throws IOException {
    for (int i = 0; i < rows.size(); i++) {
      String[] row = (String[]) rows.get(i);
      String chain = row[1];
      Object read = read(o, chain);
      // For a node, null is written too: it may replace an argument of the same name.
      if (read == null && !(o instanceof TreeNode)) continue;
      out.writeFieldName(row[0]);
      if (read instanceof String && chain.startsWith("#long:")) text(out, (String) read, LONGEST_QUERY);
      else value(out, read, inPlan, depth);
    }
  }

  private static String textOf(Object value) {
    return value == null ? "" : value.toString();
  }

  private Object read(Object o, String chain) {
    // Later snapshots of the table may be in memory by now.
    if (chain.equals("#snapshot")) return textOf(IcebergTables.at(o, began));
    if (chain.startsWith("#where:")) {
      return Options.where(Chain.read(o, chain.substring(7), session), o, session, vocabulary.where);
    }
    if (chain.equals("#whereOf")) return Options.whereOf(o, vocabulary.where);
    // Writing a schema takes longer than everything else that is read from a table.
    if (chain.equals("#schema")) return saysColumns ? null : Reflection.call(o, "schema");
    return Chain.read(o, chain, session);
  }
}
