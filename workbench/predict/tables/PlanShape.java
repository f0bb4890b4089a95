package openlineage.pyspark;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Writes everything in an analyzed plan that decides what it computes: operators and expressions, with all arguments.
 *
 * The result is used to compare two plans, so nothing is left out silently: what can't be written is marked as such. An
 * expression whose value Spark only knows when it runs is marked too.
 */
public final class PlanShape {
    // The text of an object whose class does not override toString().
    private static final Pattern NO_TEXT = Pattern.compile("(?s).*@[0-9a-f]{3,}.*|.*\\$\\$Lambda.*");
    private static final int MOST_NODES = 200000;
    private final ArrayList nodes = new ArrayList();
    private final IdentityHashMap places = new IdentityHashMap();

    public PlanShape() {}

    /** Returns the plan as JSON: its nodes, of which the first one is the root. Empty if it is too large. */
    public String of(LogicalPlan plan) {
        try {
            PlanShape shape = new PlanShape();
            shape.place(plan);
            StringBuilder text = new StringBuilder("[");
            for (int at = 0; at < shape.nodes.size(); at++) {
                if (at > MOST_NODES) {
                    return "";
                }
                text.append(at == 0 ? "" : ",\n");
                shape.write(text, (TreeNode) shape.nodes.get(at));
            }
            return text.append("]").toString();
        } catch (StackOverflowError tooDeep) {
            return "";
        }
    }

    private int place(TreeNode node) {
        Integer at = (Integer) places.get(node);
        if (at == null) {
            at = Integer.valueOf(nodes.size());
            places.put(node, at);
            nodes.add(node);
        }
        return at.intValue();
    }

    private void write(StringBuilder text, TreeNode node) {
        text.append("{\"c\":");
        quote(text, simpleName(node.getClass()));
        text.append(",\"a\":{");
        String[] names = argumentNames(node);
        for (int at = 0; at < names.length; at++) {
            text.append(at == 0 ? "" : ",");
            quote(text, names[at]);
            text.append(":");
            value(text, node.productElement(at), 0);
        }
        text.append("}");
        if (node instanceof LogicalPlan) {
            output(text, (LogicalPlan) node);
        } else if (node instanceof Expression) {
            facts(text, (Expression) node);
        }
        text.append("}");
    }

    private static String[] argumentNames(TreeNode node) {
        String[] names = new String[node.productArity()];
        for (int at = 0; at < names.length; at++) {
            names[at] = "_" + at;
        }
        try {
            Method byPlace = node.getClass().getMethod("productElementName", new Class[] {Integer.TYPE});
            for (int at = 0; at < names.length; at++) {
                names[at] = String.valueOf(byPlace.invoke(node, new Object[] {Integer.valueOf(at)}));
            }
        } catch (NoSuchMethodException scala212) {
            fromFields(node.getClass(), names);
        } catch (ReflectiveOperationException unnamed) {
            return names;
        }
        return names;
    }

    /** Scala 2.12 keeps the parameters of a case class as fields, in order, after those of its lazy values. */
    private static void fromFields(Class type, String[] names) {
        HashSet lazy = new HashSet();
        Method[] methods = type.getDeclaredMethods();
        for (int at = 0; at < methods.length; at++) {
            lazy.add(methods[at].getName());
        }
        Field[] fields = type.getDeclaredFields();
        for (int at = 0, named = 0; at < fields.length && named < names.length; at++) {
            String name = fields[at].getName();
            boolean isOwn = !Modifier.isStatic(fields[at].getModifiers()) && !name.startsWith("bitmap$");
            if (isOwn && !lazy.contains(name + "$lzycompute")) {
                int qualified = name.lastIndexOf("$$");
                names[named++] = qualified < 0 ? name : name.substring(qualified + 2);
            }
        }
    }

    private void output(StringBuilder text, LogicalPlan plan) {
        try {
            StringBuilder written = new StringBuilder(",\"o\":[");
            scala.collection.Iterator columns = plan.output().iterator();
            for (boolean first = true; columns.hasNext(); first = false) {
                Attribute column = (Attribute) columns.next();
                written.append(first ? "[" : ",[").append(column.exprId().id()).append(",");
                quote(written, column.name());
                written.append(",");
                quote(written, column.dataType().json());
                written.append("]");
            }
            text.append(written.append("]"));
        } catch (Exception unresolved) {
            text.append(",\"x\":true");
        }
    }

    private void facts(StringBuilder text, Expression expression) {
        try {
            boolean isStable = expression.deterministic();
            String type = expression.dataType().json();
            text.append(isStable ? "" : ",\"nd\":true").append(",\"t\":");
            quote(text, type);
            if (expression instanceof NamedExpression) {
                text.append(",\"id\":").append(((NamedExpression) expression).exprId().id());
            }
        } catch (Exception untyped) {
            // A list of sort orders, a frame and a generator have no type, and nothing needs it.
            text.append(",\"t\":\"\"");
        }
    }

    private void value(StringBuilder text, Object value, int depth) {
        if (depth > 50) {
            opaque(text, value);
        } else if (value == null) {
            text.append("null");
        } else if (value instanceof AttributeReference) {
            text.append("[\"a\",").append(((Attribute) value).exprId().id()).append("]");
        } else if (value instanceof TreeNode) {
            text.append("[\"r\",").append(place((TreeNode) value)).append("]");
        } else if (value instanceof Boolean) {
            text.append(value.toString());
        } else if (value instanceof ExprId) {
            text.append("[\"e\",").append(((ExprId) value).id()).append("]");
        } else if (value instanceof DataType) {
            pair(text, "t", ((DataType) value).json());
        } else if (value instanceof InternalRow) {
            plain(text, value);
        } else if (value instanceof Table) {
            pair(text, "table", nameOf((Table) value));
        } else if (value instanceof CatalogPlugin) {
            pair(text, "catalog", ((CatalogPlugin) value).name());
        } else if (value instanceof CatalogTable) {
            pair(text, "v1", ((CatalogTable) value).identifier().unquotedString());
        } else if (value instanceof scala.Option) {
            scala.Option option = (scala.Option) value;
            if (option.isEmpty()) {
                text.append("[\"o\"]");
            } else {
                text.append("[\"o\",");
                value(text, option.get(), depth + 1);
                text.append("]");
            }
        } else {
            several(text, value, depth);
        }
    }

    /** The source that a script loads in a dry run has no name of its own: what it reads, and how, replaces it. */
    private static String nameOf(Table table) {
        try {
            return String.valueOf(table.getClass().getMethod("reading", new Class[0]).invoke(table, new Object[0]));
        } catch (ReflectiveOperationException ordinary) {
            return table.name();
        }
    }

    private void several(StringBuilder text, Object value, int depth) {
        if (value instanceof CaseInsensitiveStringMap) {
            pairs(text, ((CaseInsensitiveStringMap) value).asCaseSensitiveMap());
        } else if (value instanceof Map) {
            pairs(text, (Map) value);
        } else if (value instanceof scala.collection.Map || value instanceof scala.collection.Set) {
            items(text, "set", ((scala.collection.Iterable) value).iterator(), depth, true);
        } else if (value instanceof scala.collection.Iterable) {
            items(text, "l", ((scala.collection.Iterable) value).iterator(), depth, false);
        } else if (value.getClass().isArray()) {
            text.append("[\"l\"");
            for (int at = 0; at < Array.getLength(value); at++) {
                text.append(",");
                value(text, Array.get(value, at), depth + 1);
            }
            text.append("]");
        } else if (value instanceof RDD || value instanceof scala.Function1) {
            opaque(text, value);
        } else if (value instanceof scala.Product) {
            text.append("[\"p\",");
            quote(text, simpleName(value.getClass()));
            scala.collection.Iterator parts = ((scala.Product) value).productIterator();
            boolean function = value.getClass().getSimpleName().equals("SQLFunction");
            while (parts.hasNext()) {
                Object part = parts.next();
                // The time at which a function was created changes no result.
                if (!function || !(part instanceof Long)) {
                    text.append(",");
                    value(text, part, depth + 1);
                }
            }
            text.append("]");
        } else {
            plain(text, value);
        }
    }

    private void items(StringBuilder text, String kind, scala.collection.Iterator items, int depth, boolean sorted) {
        ArrayList written = new ArrayList();
        while (items.hasNext()) {
            StringBuilder each = new StringBuilder();
            value(each, items.next(), depth + 1);
            written.add(each.toString());
        }
        if (sorted) {
            Collections.sort(written);
        }
        text.append("[");
        quote(text, kind);
        for (int at = 0; at < written.size(); at++) {
            text.append(",").append((String) written.get(at));
        }
        text.append("]");
    }

    private static void pairs(StringBuilder text, Map map) {
        pair(text, "m", new TreeMap(map).toString());
    }

    private static void plain(StringBuilder text, Object value) {
        String written = String.valueOf(value);
        if (NO_TEXT.matcher(written).matches()) {
            opaque(text, value);
        } else {
            text.append("[\"v\",");
            quote(text, simpleName(value.getClass()));
            text.append(",");
            quote(text, written);
            text.append("]");
        }
    }

    private static void opaque(StringBuilder text, Object value) {
        pair(text, "?", value.getClass().getName());
    }

    private static void pair(StringBuilder text, String kind, String written) {
        text.append("[");
        quote(text, kind);
        text.append(",");
        quote(text, written);
        text.append("]");
    }

    private static String simpleName(Class type) {
        String name = type.getName();
        int end = name.endsWith("$") ? name.length() - 1 : name.length();
        int dot = name.lastIndexOf('.', end - 1);
        return name.startsWith("org.apache.spark.sql.catalyst.") ? name.substring(dot + 1, end) : name.substring(0, end);
    }

    private static void quote(StringBuilder text, String written) {
        text.append('"');
        for (int at = 0; at < written.length(); at++) {
            char each = written.charAt(at);
            if (each == '"' || each == '\\') {
                text.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                String hex = Integer.toHexString(each);
                text.append("\\u").append("0000", 0, 4 - hex.length()).append(hex);
            } else {
                text.append(each);
            }
        }
        text.append('"');
    }
}
