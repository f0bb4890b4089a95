package openlineage.pyspark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** What all tree nodes of one class have in common: it is determined once, for all plans. */
final class NodeClass {
  /** The description of the class in a plan. */
  final String told;
  /** Whether it is an action of a MERGE, whose values and conditions are nested deeper than other expressions. */
  final boolean ofMerge;
  final boolean named;
  /** Whether the output is that of the first child. */
  final boolean transparent;
  /** What Python requests: see `Vocabulary.rows`. */
  final ArrayList rows;
  private final String[] arguments;
  private final HashSet skipped;

  NodeClass(TreeNode tree, Vocabulary vocabulary) throws IOException {
    Class type = tree.getClass();
    arguments = arguments(tree);
    told = told(tree, arguments);
    named = tree instanceof NamedExpression;
    boolean ofSpark = tree instanceof Assignment || tree instanceof MergeAction;
    ofMerge = ofSpark || type.getName().indexOf("MergeRows$") >= 0 || type.getName().indexOf(".DeltaMerge") >= 0;
    transparent = vocabulary.transparent.contains(type.getName());
    rows = vocabulary.rows(type);
    skipped = (HashSet) vocabulary.skipped.get(type.getSimpleName());
  }

  /** Returns whether the argument at a place is read. */
  boolean reads(int argument) {
    return skipped == null || (argument < arguments.length && !skipped.contains(arguments[argument]));
  }

  private static String told(TreeNode tree, String[] arguments) throws IOException {
    JsonText text = new JsonText();
    text.writeStartArray();
    text.writeString(tree.getClass().getName());
    text.writeString(tree instanceof LogicalPlan ? "P" : tree instanceof Expression ? "E" : "T");
    text.writeStartArray();
    for (int i = 0; i < arguments.length; i++) text.writeString(arguments[i]);
    text.writeEndArray();
    text.writeEndArray();
    return text.end();
  }

  /** Returns no names for a node that can't name its arguments: reading them fails too, which marks it as broken. */
  private static String[] arguments(TreeNode tree) {
    try {
      return Reflection.elementNames(tree);
    } catch (Exception unnamed) {
      return new String[0];
    } catch (LinkageError unnamed) {
      return new String[0];
    }
  }
}
