// Operators, a command and a connector that nobody but the job knows, and an operator that fails whoever reads it on
// the listener's queue. Compiled with Janino in the job's driver, hence plain Java without generics or lambdas.
// SCALA_SEQ and SCALA_INDEXED_SEQ stand for Scala's sequences, which Scala 2.13 moved.
package foreign;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Nil$;

/** An operator without a rule. */
public class Mystery extends LogicalPlan {
  protected final LogicalPlan child;

  public Mystery(LogicalPlan child) { this.child = child; }

  protected LogicalPlan over(LogicalPlan child) { return new Mystery(child); }

  public SCALA_SEQ children() { return Nil$.MODULE$.$colon$colon(child); }
  public SCALA_SEQ output() { return child.output(); }
  public TreeNode withNewChildrenInternal(SCALA_INDEXED_SEQ children) { return over((LogicalPlan) children.apply(0)); }
  public int productArity() { return 1; }
  public Object productElement(int at) { return child; }
  public boolean canEqual(Object other) { return other instanceof Mystery; }
}

/** An operator that fails, or holds up, whoever reads it on the listener's queue. */
public class Trap extends Mystery {
  private static boolean slept;
  private final String way;

  public Trap(LogicalPlan child, String way) { super(child); this.way = way; }

  protected LogicalPlan over(LogicalPlan child) { return new Trap(child, way); }

  public SCALA_SEQ children() { spring(); return super.children(); }
  public SCALA_SEQ output() { spring(); return super.output(); }
  public int productArity() { return 2; }
  public Object productElement(int at) { spring(); return at == 0 ? (Object) child : way; }

  private void spring() {
    if (Thread.currentThread().getName().indexOf("openlineage") < 0) return;
    if (way.equals("exception")) throw new IllegalStateException("the trap");
    if (way.equals("linkage")) throw new NoClassDefFoundError("the/Trap");
    if (way.equals("stack")) deeper(0);
    if (way.startsWith("sleep ") && !slept) { slept = true; sleep(Long.parseLong(way.substring(6))); }
  }

  private static int deeper(int depth) { return deeper(depth + 1) + 1; }

  private static void sleep(long milliseconds) {
    try { Thread.sleep(milliseconds); } catch (InterruptedException over) { Thread.currentThread().interrupt(); }
  }
}

/** A command without a rule, that writes rows. */
public class Smuggle extends LogicalPlan implements RunnableCommand {
  private final Dataset rows;
  private final String path;

  public Smuggle(Dataset rows, String path) { this.rows = rows; this.path = path; }

  public SCALA_SEQ run(SparkSession session) { rows.write().json(path); return Nil$.MODULE$; }
  public SCALA_SEQ children() { return Nil$.MODULE$; }
  public SCALA_SEQ output() { return Nil$.MODULE$; }
  public TreeNode withNewChildrenInternal(SCALA_INDEXED_SEQ children) { return this; }
  public int productArity() { return 2; }
  public Object productElement(int at) { return at == 0 ? (Object) rows : path; }
  public boolean canEqual(Object other) { return other instanceof Smuggle; }
  public Statistics stats() { return super.stats(); }
  public SCALA_SEQ nodePatterns() { return Nil$.MODULE$; }
  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(SCALA_SEQ none) {}
}

/** A connector that hands out five rows, and takes rows to a path. */
public class Elsewhere implements RelationProvider, CreatableRelationProvider {
  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    return new Five(context);
  }

  public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
    rows.write().json(String.valueOf(options.apply("to")));
    return new Five(context);
  }
}

class Five extends BaseRelation implements TableScan {
  private final SQLContext context;

  Five(SQLContext context) { this.context = context; }

  public SQLContext sqlContext() { return context; }
  public StructType schema() { return new StructType().add("id", "bigint"); }
  public RDD buildScan() { return context.range(5L).toDF().rdd(); }
}

/** A plan of many operators over ranges, of which the planner drops all but one. */
public class Many {
  public LogicalPlan plan(Range some, Range none, int operators) {
    scala.collection.immutable.List parts = Nil$.MODULE$;
    for (int count = 2; count < operators; count += 3) {
      LogicalPlan fresh = (LogicalPlan) none.newInstance();
      parts = parts.$colon$colon(SubqueryAlias$.MODULE$.apply("a", new Filter(Literal$.MODULE$.FalseLiteral(), fresh)));
    }
    return new Union(parts.$colon$colon(some).toIndexedSeq(), false, false);
  }
}

/** Takes the operators out again, so that the job can be run. */
public class Forget extends Rule {
  public TreeNode apply(TreeNode plan) { return ((LogicalPlan) plan).transformDown(new Child()); }
}

class Child extends scala.runtime.AbstractPartialFunction {
  public boolean isDefinedAt(Object plan) { return plan instanceof Mystery; }
  public Object applyOrElse(Object plan, scala.Function1 otherwise) {
    return plan instanceof Mystery ? ((Mystery) plan).child : otherwise.apply(plan);
  }
}
