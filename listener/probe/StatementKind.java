package openlineage.pyspark;

import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;
import scala.runtime.AbstractFunction0;

/** The kind of a statement, as the session's own parser reads it from the text, without any catalog. */
final class StatementKind {
  /** The kind of a text that the parser rejects, or for which there is no parser. */
  static final StatementKind UNKNOWN = new StatementKind("", false, 0);
  /** Prefixes of the class names of parsed statements that write. */
  private static final String[] WRITING = {
    "Clone", "Create", "Delete", "Insert", "Merge", "Overwrite", "Replace", "Update"
  };
  private static final String[] INSERTING = {"Insert", "Overwrite"};
  /** Simple class name of the parsed statement, below its CTEs. */
  final String root;
  final boolean writes;
  final int inserts;

  private StatementKind(String root, boolean writes, int inserts) {
    this.root = root;
    this.writes = writes;
    this.inserts = inserts;
  }

  static StatementKind of(String text, Object session) {
    try {
      LogicalPlan parsed = parsed(text, session);
      return parsed == null ? UNKNOWN : of(parsed);
    } catch (StackOverflowError tooDeep) {
      return UNKNOWN;
    }
  }

  /** Returns what a session's parser makes of a text, or null. */
  static LogicalPlan parsed(String text, Object session) {
    Object state = Reflection.call(session, "sessionState");
    Object parser = Reflection.call(state, "sqlParser");
    Object conf = Reflection.call(state, "conf");
    if (!(parser instanceof ParserInterface) || !(conf instanceof SQLConf)) return null;
    // The parser reads its configuration from the thread's session, and the listener's thread has none.
    return (LogicalPlan) SQLConf.withExistingConf((SQLConf) conf, new Parsing((ParserInterface) parser, text));
  }

  private static StatementKind of(LogicalPlan parsed) {
    LogicalPlan root = parsed;
    if (parsed.getClass().getSimpleName().equals("UnresolvedWith")) {
      root = (LogicalPlan) ((scala.collection.Iterable) parsed.children()).head();
    }
    return new StatementKind(root.getClass().getSimpleName(), count(root, WRITING) > 0, count(root, INSERTING));
  }

  /** Counts the statements of such classes: the root itself, or the children of a union, as in a multi-insert. */
  private static int count(LogicalPlan root, String[] beginnings) {
    if (begins(root, beginnings)) return 1;
    if (!root.getClass().getSimpleName().equals("Union")) return 0;
    int found = 0;
    scala.collection.Iterator children = ((scala.collection.Iterable) root.children()).iterator();
    while (children.hasNext()) {
      if (begins(children.next(), beginnings)) found++;
    }
    return found;
  }

  private static boolean begins(Object plan, String[] beginnings) {
    String name = plan.getClass().getSimpleName();
    for (int i = 0; i < beginnings.length; i++) {
      if (name.startsWith(beginnings[i])) return true;
    }
    return false;
  }
}

/** Parses a text; returns null if the parser rejects it. */
final class Parsing extends AbstractFunction0 {
  private final ParserInterface parser;
  private final String text;

  Parsing(ParserInterface parser, String text) {
    this.parser = parser;
    this.text = text;
  }

  public Object apply() {
    try {
      return parser.parsePlan(text);
    } catch (Exception refused) {
      return null;
    } catch (LinkageError refused) {
      return null;
    }
  }
}
