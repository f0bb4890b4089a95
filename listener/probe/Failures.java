package openlineage.pyspark;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;

/** Describes exceptions, both of the user's job and of the probe itself. */
final class Failures {
  private static final int LONGEST_MESSAGE = 20000;
  private static final int LONGEST_STACK = 40000;

  /** Describes an exception. JVM errors are rethrown, except those where what the probe used up is free again. */
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
    try {
      Throwable cause = problem;
      for (int depth = 0; cause != null && depth < 20; depth++, cause = cause.getCause()) {
        if (isPythons(cause)) shown = cause;
      }
      message = problem.getMessage() == null ? problem.toString() : problem.getMessage();
      stack = isPythons(shown) ? String.valueOf(shown.getMessage()) : stackOf(problem);
    } catch (RuntimeException unreadable) {
      // A user-defined exception may fail to return its message.
      if (message == null) message = problem.getClass().getName();
    }
    String className = shown.getClass().getName();
    write(record, className, JsonText.cut(message, LONGEST_MESSAGE), JsonText.cut(stack, LONGEST_STACK));
  }

  static void write(JsonText record, String className, String message, String stack) throws IOException {
    record.writeObjectFieldStart("error");
    record.writeStringField("class", className);
    record.writeStringField("message", message);
    record.writeStringField("stack", stack);
    record.writeEndObject();
  }

  private static boolean isPythons(Throwable problem) {
    return problem.getClass().getName().endsWith(".PythonException");
  }

  private static String stackOf(Throwable problem) {
    StringWriter out = new StringWriter();
    problem.printStackTrace(new PrintWriter(out));
    return out.toString();
  }
}
