package openlineage.pyspark;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.internal.SessionState;

/** Analyzes statements with the session's own parser and analyzer, without running them. */
final class Analysis {
  /**
   * Returns the analyzed plan of a statement. If Python refuses its kind, the statement is only parsed, and the kind is
   * returned as a text.
   */
  static Object of(Vocabulary vocabulary, String statement, Object session) throws Exception {
    SessionState state = (SessionState) Reflection.call(session, "sessionState");
    LogicalPlan parsed = state.sqlParser().parsePlan(statement);
    String kind = parsed.nodeName();
    if (vocabulary.refused.contains(kind)) return kind;
    return state.executePlan(parsed, CommandExecutionMode.SKIP()).analyzed();
  }
}
