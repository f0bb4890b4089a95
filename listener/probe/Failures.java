package openlineage.pyspark;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.SparkThrowable;
import org.apache.spark.SparkThrowableHelper;

/** Describes exceptions, both of the user's job and of the probe itself. */
final class Failures {
  private static final int LONGEST_MESSAGE = 20000;
  private static final int LONGEST_STACK = 40000;
  private static final int MOST_RAISED = 20;
  private static final int MOST_FRAMES = 200;
  private static final String EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions.";

  /** Describes an exception. JVM errors are rethrown, except those after which the probe's resources are free again. */
  static String brief(Throwable problem) {
    boolean own = problem instanceof StackOverflowError || problem instanceof OutOfMemoryError;
    if (problem instanceof VirtualMachineError && !own) throw (VirtualMachineError) problem;
    try {
      return JsonText.cut(problem.getClass().getName() + ": " + problem.getMessage(), 2000);
    } catch (RuntimeException unreadable) {
      return problem.getClass().getName();
    }
  }

  /** Writes why a job or an execution failed; for a failure in Python, Python's own message and traceback. */
  static void write(JsonText record, Throwable problem) throws IOException {
    String message = null;
    String stack = "";
    Throwable shown = problem;
    ArrayList raised = new ArrayList();
    try {
      Throwable cause = problem;
      for (; cause != null && raised.size() < MOST_RAISED; cause = cause.getCause()) {
        raised.add(cause);
        if (isPythons(cause)) shown = cause;
      }
      message = problem.getMessage() == null ? problem.toString() : problem.getMessage();
      stack = isPythons(shown) ? String.valueOf(shown.getMessage()) : stackOf(problem);
    } catch (RuntimeException unreadable) {
      // A user-defined exception may fail to return its message.
      if (message == null) message = problem.getClass().getName();
    }
    begin(record, shown.getClass().getName(), message, stack);
    record.writeArrayFieldStart("raised");
    boolean ofRows = false;
    for (int i = 0; i < raised.size(); i++) {
      Throwable one = (Throwable) raised.get(i);
      ofRows = ofRows || handlesRows(one);
      raised(record, one, ofRows, i == 0 ? null : (Throwable) raised.get(i - 1));
      // The exception that failed a job was raised in a task, even if its own stack does not show that.
      ofRows = ofRows || messageOf(one).startsWith("Job aborted due to stage failure");
    }
    record.writeEndArray();
    record.writeEndObject();
  }

  /** Writes a failure of which only the text is known. */
  static void write(JsonText record, String className, String message, String stack) throws IOException {
    begin(record, className, message, stack);
    record.writeEndObject();
  }

  private static void begin(JsonText record, String className, String message, String stack) throws IOException {
    record.writeObjectFieldStart("error");
    record.writeStringField("class", className);
    record.writeStringField("message", JsonText.cut(message, LONGEST_MESSAGE));
    record.writeStringField("stack", JsonText.cut(stack, LONGEST_STACK));
  }

  /** Writes one exception of a chain. `ofRows`: whether it or an outer one was raised where rows are handled. */
  private static void raised(JsonText record, Throwable one, boolean ofRows, Throwable around) throws IOException {
    record.writeStartObject();
    record.writeStringField("class", one.getClass().getName());
    record.writeStringField("message", JsonText.cut(messageOf(one), LONGEST_MESSAGE));
    record.writeBooleanField("ofRows", ofRows);
    record.writeStringField("frames", frames(one, around));
    if (one instanceof SparkThrowable) condition(record, (SparkThrowable) one);
    record.writeEndObject();
  }

  /** Writes Spark's condition, if the exception has one and Spark knows its text. */
  private static void condition(JsonText record, SparkThrowable one) throws IOException {
    String condition;
    String template;
    String state;
    Map parameters;
    try {
      condition = one.getErrorClass();
      if (condition == null) return;
      template = SparkThrowableHelper.errorReader().getMessageTemplate(condition);
      state = one.getSqlState();
      parameters = one.getMessageParameters();
    } catch (Exception unknown) {
      return;
    } catch (LinkageError another) {
      return;
    }
    record.writeStringField("condition", condition);
    record.writeStringField("template", template);
    if (state != null) record.writeStringField("state", state);
    record.writeObjectFieldStart("parameters");
    Iterator entries = parameters == null ? null : parameters.entrySet().iterator();
    while (entries != null && entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      String name = String.valueOf(entry.getKey());
      record.writeStringField(name, JsonText.cut(String.valueOf(entry.getValue()), LONGEST_MESSAGE));
    }
    record.writeEndObject();
  }

  private static String messageOf(Throwable problem) {
    try {
      return problem.getMessage() == null ? "" : problem.getMessage();
    } catch (RuntimeException unreadable) {
      return "";
    }
  }

  /** Returns whether an exception was raised in a task, or where an expression is evaluated. */
  private static boolean handlesRows(Throwable problem) {
    if (isPythons(problem)) return true;
    StackTraceElement[] frames = problem.getStackTrace();
    boolean ofJob = messageOf(problem).startsWith("Job ");
    for (int i = 0; i < frames.length; i++) {
      String at = frames[i].getClassName();
      if (at.startsWith("org.apache.spark.executor.Executor$TaskRunner")) return true;
      if (at.startsWith("org.apache.spark.scheduler.Task") && frames[i].getMethodName().equals("run")) return true;
      if (at.startsWith("org.apache.spark.api.python.BasePythonRunner")) return true;
      if (at.startsWith("org.apache.spark.sql.catalyst.encoders.ExpressionEncoder$")) return true;
      if (at.startsWith(EXPRESSIONS) && evaluates(at, frames[i].getMethodName())) return true;
      // Newer versions of Spark raise the exception of a task itself, below the frames of the driver.
      if (!ofJob && at.equals("org.apache.spark.scheduler.DAGScheduler")) {
        if (frames[i].getMethodName().equals("runJob")) return true;
      }
    }
    return false;
  }

  private static boolean evaluates(String type, String method) {
    if (method.indexOf("eval") >= 0 || method.indexOf("Eval") >= 0) return true;
    return type.indexOf("GeneratedClass") >= 0;
  }

  private static boolean isPythons(Throwable problem) {
    return problem.getClass().getName().endsWith(".PythonException");
  }

  /** Returns the frames of a stack trace, without those at the end that the outer exception also has. */
  private static String frames(Throwable problem, Throwable around) {
    StackTraceElement[] own = problem.getStackTrace();
    StackTraceElement[] outer = around == null ? new StackTraceElement[0] : around.getStackTrace();
    int same = 0;
    while (same < own.length && same < outer.length) {
      if (!own[own.length - 1 - same].equals(outer[outer.length - 1 - same])) break;
      same++;
    }
    StringBuilder text = new StringBuilder();
    int shown = Math.min(own.length - same, MOST_FRAMES);
    for (int i = 0; i < shown; i++) text.append("\tat ").append(own[i]).append('\n');
    if (shown < own.length) text.append("\t... ").append(own.length - shown).append(" more\n");
    return text.toString();
  }

  private static String stackOf(Throwable problem) {
    StringWriter out = new StringWriter();
    problem.printStackTrace(new PrintWriter(out));
    return out.toString();
  }
}
