package openlineage.pyspark;

import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;
import scala.runtime.AbstractFunction0;

/** What the session's own parser says of a statement's text: pure parsing, which asks no catalog. */
final class StatementKind {
  /** Of a text that the parser refuses, or that there is no parser for. */
  static final StatementKind UNKNOWN = new StatementKind("", false, 0);
  /** What the classes of parsed statements begin with, where these write. */
  private static final String[] WRITING = {
    "Clone", "Create", "Delete", "Insert", "Merge", "Overwrite", "Replace", "Update"
  };
  private static final String[] INSERTING = {"Insert", "Overwrite"};
  /** Simple class name of what is parsed, below its CTEs. */
  final String root;
  final boolean writes;
  final int inserts;

  private StatementKind(String root, boolean writes, int inserts) {
    this.root = root;
    this.writes = writes;
    this.inserts = inserts;
  }

  static StatementKind of(String text, Object session) {
    Object state = Reflection.call(session, "sessionState");
    Object parser = Reflection.call(state, "sqlParser");
    Object conf = Reflection.call(state, "conf");
    if (!(parser instanceof ParserInterface) || !(conf instanceof SQLConf)) return UNKNOWN;
    try {
      // The listener's thread has no session of its own, and the parser asks the thread's for its configuration.
      Object parsed = SQLConf.withExistingConf((SQLConf) conf, new Parsing((ParserInterface) parser, text));
      return parsed == null ? UNKNOWN : of((LogicalPlan) parsed);
    } catch (StackOverflowError tooDeep) {
      return UNKNOWN;
    }
  }

  private static StatementKind of(LogicalPlan parsed) {
    LogicalPlan root = parsed;
    if (parsed.getClass().getSimpleName().equals("UnresolvedWith")) {
      root = (LogicalPlan) ((scala.collection.Iterable) parsed.children()).head();
    }
    return new StatementKind(root.getClass().getSimpleName(), count(root, WRITING) > 0, count(root, INSERTING));
  }

  /** How many statements of such classes the root is, or puts together: a multi-insert is a union of them. */
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

/** Parses a text; gives null where the parser refuses it. */
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
