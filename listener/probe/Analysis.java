package openlineage.pyspark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.internal.SessionState;

/** Analyzes statements with the session's own parser and analyzer, without running them. */
final class Analysis {
  /**
   * Returns the analyzed plan of a statement. Returns the kind of the statement instead, a text, if Python refuses that
   * kind; then the statement is only parsed.
   */
  static Object of(Vocabulary vocabulary, String statement, Object session) throws Exception {
    SessionState state = (SessionState) Reflection.call(session, "sessionState");
    LogicalPlan parsed = state.sqlParser().parsePlan(statement);
    String kind = parsed.nodeName();
    if (vocabulary.refused.contains(kind)) return kind;
    return state.executePlan(parsed, CommandExecutionMode.SKIP()).analyzed();
  }
}
