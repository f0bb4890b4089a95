package openlineage.pyspark;

import java.lang.reflect.InvocationTargetException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Product;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The tables that a script's session knows without their connectors: each has a name and a schema, and no rows.
 *
 * The classes in this file are the catalogs that find them: one for each catalog that a script names, and one in front
 * of Spark's own. Statements are only analyzed, so nothing ever asks for rows.
 */
public final class DeclaredTables {
    private static final String SEPARATOR = "\0";
    private static final ConcurrentHashMap TABLES = new ConcurrentHashMap();

    private final ParserInterface parser;

    /** What Python calls: each method of an object is one message to the JVM, if no argument is an array. */
    public DeclaredTables(ParserInterface parser) {
        this.parser = parser;
    }

    /** Forgets all tables: those of an earlier session in this JVM. */
    public void clear() {
        TABLES.clear();
    }

    /** Declares a table by its columns in DDL; it replaces an earlier one of the same name. */
    public void put(
            String catalog, String namespace, String name, String columns, String partitions, boolean isFilledInPart)
            throws ParseException {
        Identifier identifier = Identifier.of(parts(namespace), name);
        StructType schema = parser.parseTableSchema(columns);
        Table table = new DeclaredTable(catalog, identifier, schema, parts(partitions), isFilledInPart);
        TABLES.put(key(catalog, identifier), table);
    }

    /** Forgets a table, and returns whether it was declared. */
    public boolean drop(String catalog, String namespace, String name) {
        return TABLES.remove(key(catalog, Identifier.of(parts(namespace), name))) != null;
    }

    /** Returns what makes the calls of a function whose name alone is known; Spark casts NullType to other types. */
    public AbstractFunction1 function(String name, DataType type) {
        return new UnknownFunction(name, type);
    }

    /** Returns the columns of a schema in one text: the name of each, and its type in DDL. */
    public String columns(StructType schema) {
        StringBuilder found = new StringBuilder();
        StructField[] fields = schema.fields();
        for (int at = 0; at < fields.length; at++) {
            add(found, fields[at].name());
            add(found, fields[at].dataType().sql());
        }
        return found.toString();
    }

    /** Returns the current catalog and the current database, in one text. */
    public String current(SparkSession session) {
        StringBuilder found = new StringBuilder();
        add(found, session.catalog().currentCatalog());
        add(found, session.catalog().currentDatabase());
        return found.toString();
    }

    /** Returns the parsed plan of a statement; if it can't be parsed, the reason in one text. */
    public Object parsed(String statement) {
        try {
            return parser.parsePlan(statement);
        } catch (Throwable problem) {
            return refused(problem);
        }
    }

    /** Returns what a method of an object returns for two arguments; if Spark refuses that, the reason in one text. */
    public Object attempt(Object asked, String method, String statement, Object session) {
        try {
            return asked.getClass().getMethod(method, new Class[] {String.class, Object.class})
                    .invoke(asked, new Object[] {statement, session});
        } catch (InvocationTargetException problem) {
            return refused(problem.getCause());
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** Returns the reason why Spark refuses a statement, as a text: to read an exception costs Python many calls. */
    private static String refused(Throwable problem) {
        StringBuilder found = new StringBuilder("refused").append(SEPARATOR);
        String code = problem instanceof SparkThrowable ? ((SparkThrowable) problem).getErrorClass() : "INTERNAL_ERROR";
        String message = problem instanceof SparkThrowable ? problem.getMessage() : problem.toString();
        if (problem instanceof StackOverflowError) {
            message = "it is nested too deeply for Spark: make several statements of it, such as temporary views";
        }
        add(found, problem instanceof ParseException ? "" : "sql");
        add(found, code == null ? "" : code);
        add(found, message == null ? "" : message);
        if (problem instanceof AnalysisException) {
            addDetails(found, (AnalysisException) problem);
        }
        return found.toString();
    }

    /** Adds the position of an error, and the parameters of its message. */
    private static void addDetails(StringBuilder found, AnalysisException refusal) {
        add(found, refusal.line().isDefined() ? String.valueOf(refusal.line().get()) : "");
        add(found, refusal.startPosition().isDefined() ? String.valueOf(refusal.startPosition().get()) : "");
        Map parameters = refusal.getMessageParameters();
        if (parameters != null) {
            for (Object each : parameters.entrySet()) {
                add(found, String.valueOf(((Map.Entry) each).getKey()));
                add(found, String.valueOf(((Map.Entry) each).getValue()));
            }
        }
    }

    /** Adds a part to a text; the character that ends each part is escaped within it. */
    private static void add(StringBuilder text, String part) {
        text.append(part.replace("\\", "\\b").replace("\0", "\\0")).append(SEPARATOR);
    }

    /** Returns the expression of the only column of a query; null if it has no subquery, and so reads nothing. */
    public Object value(LogicalPlan plan) {
        if (plan.subqueriesAll().isEmpty()) {
            return null;
        }
        return ((Expression) plan.expressions().head()).children().head();
    }

    /** Returns a plan with expressions instead of variables; names and values have the same order. */
    public Object withValues(LogicalPlan plan, String names, Object[] values) {
        Values given = new Values(parts(names), values);
        LogicalPlan replaced = (LogicalPlan) plan.transformAllExpressionsWithSubqueries(given);
        boolean isAlone = replaced instanceof Command && replaced.children().isEmpty();
        return isAlone ? withQuery((Product) replaced, given) : replaced;
    }

    /** Returns a command with expressions instead of variables in its query: an analyzed command has no children. */
    private static Object withQuery(Product command, Values given) {
        Object[] parts = new Object[command.productArity()];
        for (int at = 0; at < parts.length; at++) {
            Object part = command.productElement(at);
            boolean isPlan = part instanceof LogicalPlan;
            parts[at] = isPlan ? ((LogicalPlan) part).transformAllExpressionsWithSubqueries(given) : part;
        }
        try {
            return command.getClass().getConstructors()[0].newInstance(parts);
        } catch (Exception unreadable) {
            return command;
        }
    }

    /** Returns the parts of a text in which they are joined as `add` joins them. */
    private static String[] parts(String text) {
        String[] found = text.isEmpty() ? new String[0] : text.substring(0, text.length() - 1).split(SEPARATOR, -1);
        for (int at = 0; at < found.length; at++) {
            found[at] = found[at].replace("\\0", "\0").replace("\\b", "\\");
        }
        return found;
    }

    static Table find(String catalog, Identifier identifier) {
        return (Table) TABLES.get(key(catalog, identifier));
    }

    /** Returns a name in lower case, except for a path in it, such as that of parquet.`/Lake/Orders`. */
    private static String key(String catalog, Identifier identifier) {
        String name = identifier.name();
        boolean isPath = name.indexOf(":/") > 0 || name.startsWith("/");
        String before = String.join(".", identifier.namespace());
        return (catalog + "." + before + ".").toLowerCase() + (isPath ? name : name.toLowerCase());
    }

    /** Makes the call of a function that can't be read: Spark's own expression for a function in Python. */
    public static final class UnknownFunction extends AbstractFunction1 {
        private static final Integer ROW_BY_ROW = Integer.valueOf(100);
        private final String name;
        private final DataType type;

        UnknownFunction(String name, DataType type) {
            this.name = name;
            this.type = type;
        }

        public Object apply(Object arguments) {
            try {
                // The type of a sequence in its signature depends on the version of Scala.
                return PythonUDF.class.getConstructors()[0].newInstance(new Object[] {
                    name, null, type, arguments, ROW_BY_ROW, Boolean.TRUE, NamedExpression$.MODULE$.newExprId()
                });
            } catch (ReflectiveOperationException problem) {
                throw new IllegalStateException(problem);
            }
        }
    }

    /** Replaces references to variables by the expressions that a SET has given them. */
    public static final class Values extends AbstractPartialFunction {
        private final String[] names;
        private final Object[] values;

        Values(String[] names, Object[] values) {
            this.names = names;
            this.values = values;
        }

        public boolean isDefinedAt(Object expression) {
            return find(expression) != null;
        }

        public Object applyOrElse(Object expression, Function1 otherwise) {
            Object found = find(expression);
            return found == null ? otherwise.apply(expression) : found;
        }

        private Object find(Object expression) {
            String name = variable(expression);
            for (int at = 0; at < names.length; at++) {
                if (names[at].equalsIgnoreCase(name)) {
                    return values[at];
                }
            }
            return null;
        }

        /** Returns the name of a variable; null for any other expression. Spark 3.5 has no class of variables. */
        private static String variable(Object expression) {
            if (!expression.getClass().getSimpleName().equals("VariableReference")) {
                return null;
            }
            try {
                Object identifier = expression.getClass().getMethod("identifier", new Class[0]).invoke(expression, new Object[0]);
                return ((Identifier) identifier).name();
            } catch (Exception unreadable) {
                return null;
            }
        }
    }

    /** One declared table. */
    public static final class DeclaredTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns {
        private final String name;
        private final boolean isOfFiles;
        private final StructType schema;
        private final String[] partitions;
        private final boolean isFilledInPart;

        DeclaredTable(
                String catalog, Identifier identifier, StructType schema, String[] partitions, boolean isFilledInPart) {
            this.name = catalog + "." + identifier.toString();
            this.isOfFiles = "spark_catalog".equals(catalog);
            this.schema = schema;
            this.partitions = partitions;
            this.isFilledInPart = isFilledInPart;
        }

        public String name() {
            return name;
        }

        public StructType schema() {
            return schema;
        }

        public Transform[] partitioning() {
            Transform[] found = new Transform[partitions.length];
            for (int at = 0; at < partitions.length; at++) {
                found[at] = Expressions.identity(partitions[at]);
            }
            return found;
        }

        public MetadataColumn[] metadataColumns() {
            return isOfFiles ? new MetadataColumn[] {new FileMetadata()} : new MetadataColumn[0];
        }

        public Set capabilities() {
            Set found = new HashSet();
            found.add(TableCapability.BATCH_READ);
            found.add(TableCapability.BATCH_WRITE);
            found.add(TableCapability.MICRO_BATCH_READ);
            found.add(TableCapability.TRUNCATE);
            found.add(TableCapability.OVERWRITE_BY_FILTER);
            found.add(TableCapability.OVERWRITE_DYNAMIC);
            if (isFilledInPart) {
                found.add(TableCapability.ACCEPT_ANY_SCHEMA);
            }
            return found;
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            throw new UnsupportedOperationException(name + " is declared alone: there is nothing to read");
        }

        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            throw new UnsupportedOperationException(name + " is declared alone: nothing can be written");
        }
    }

    /** The hidden column with which Spark describes the file of each row of its own tables. */
    public static final class FileMetadata implements MetadataColumn {
        public String name() {
            return "_metadata";
        }

        public DataType dataType() {
            return StructType.fromDDL("file_path STRING, file_name STRING, file_size BIGINT, file_block_start BIGINT, "
                    + "file_block_length BIGINT, file_modification_time TIMESTAMP");
        }
    }

    /**
     * A catalog that a script names: every namespace exists, and so does every declared table.
     *
     * It has no functions, but can have some: Spark then names the one that it misses.
     */
    public static class Named implements FunctionCatalog, SupportsNamespaces, TableCatalog {
        private String name;

        public void initialize(String name, CaseInsensitiveStringMap options) {
            this.name = name;
        }

        public String name() {
            return name;
        }

        public Identifier[] listFunctions(String[] namespace) {
            return new Identifier[0];
        }

        public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
            throw new NoSuchFunctionException(identifier);
        }

        public Identifier[] listTables(String[] namespace) {
            return new Identifier[0];
        }

        public Table loadTable(Identifier identifier) throws NoSuchTableException {
            Table found = DeclaredTables.find(name, identifier);
            if (found == null) {
                throw new NoSuchTableException(identifier);
            }
            return found;
        }

        public Table loadTable(Identifier identifier, String version) throws NoSuchTableException {
            return loadTable(identifier);
        }

        public Table loadTable(Identifier identifier, long timestamp) throws NoSuchTableException {
            return loadTable(identifier);
        }

        public Table createTable(Identifier identifier, StructType schema, Transform[] partitions, Map properties) {
            throw new UnsupportedOperationException("createTable");
        }

        public Table alterTable(Identifier identifier, TableChange[] changes) {
            throw new UnsupportedOperationException("alterTable");
        }

        public boolean dropTable(Identifier identifier) {
            throw new UnsupportedOperationException("dropTable");
        }

        public void renameTable(Identifier from, Identifier to) {
            throw new UnsupportedOperationException("renameTable");
        }

        public boolean namespaceExists(String[] namespace) {
            return true;
        }

        public String[][] listNamespaces() {
            return new String[0][];
        }

        public String[][] listNamespaces(String[] namespace) {
            return new String[0][];
        }

        public Map loadNamespaceMetadata(String[] namespace) {
            return new ConcurrentHashMap();
        }

        public void createNamespace(String[] namespace, Map metadata) {}

        public void alterNamespace(String[] namespace, NamespaceChange[] changes) {}

        public boolean dropNamespace(String[] namespace, boolean cascade) {
            return true;
        }
    }

    /** Spark's own catalog, with the declared tables before those that it has. */
    public static class InFront extends DelegatingCatalogExtension {
        public Table loadTable(Identifier identifier) throws NoSuchTableException {
            Table found = DeclaredTables.find("spark_catalog", identifier);
            return found == null ? super.loadTable(identifier) : found;
        }

        public Table loadTable(Identifier identifier, String version) throws NoSuchTableException {
            return loadTable(identifier);
        }

        public Table loadTable(Identifier identifier, long timestamp) throws NoSuchTableException {
            return loadTable(identifier);
        }

        public boolean tableExists(Identifier identifier) {
            return DeclaredTables.find("spark_catalog", identifier) != null || super.tableExists(identifier);
        }
    }
}
